# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Products in bfloat16 on request: what is narrow, and how close the results are."""

import ml_dtypes
import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.relax import op


def build(shapes, make, dtype="float32"):
    bb = relax.BlockBuilder()
    params = [relax.Var(f"p{i}", relax.TensorType(list(s), dtype)) for i, s in enumerate(shapes)]
    with bb.function("main", params):
        with bb.dataflow():
            out = bb.emit_output(make(bb.emit, *params))
        bb.emit_func_output(out)
    return bb.get()


def rand(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def narrowed(mod):
    return calls(
        tvm.ir.transform.Sequential(
            [relax.transform.Normalize(), relax.transform.NarrowProducts()]
        )(mod)
    )


def calls(after):
    """Operators and the element types of their results."""
    relax.analysis.well_formed(after)

    def dtype(ty):
        fields = ty.fields if isinstance(ty, relax.TupleType) else [ty]
        (only,) = {str(f.dtype.dtype) for f in fields}
        return only

    return [
        (b.value.op.name.removeprefix("relax."), dtype(b.var.ty))
        for block in after["main"].body.blocks
        for b in block.bindings
        if isinstance(b.value, tvm.ir.Call)
    ]


def run(mod, inputs, precision, pipeline="default"):
    executable = tvm.compile(mod, "llvm", relax_pipeline=pipeline, precision=precision)
    vm = relax.VirtualMachine(executable, tvm.cpu())
    return vm["main"](*[tvm.runtime.tensor(x) for x in inputs]).numpy()


def two_layers(emit, x):
    y = emit(op.nn.gelu(emit(op.matmul(x, relax.const(rand(48, 64, seed=1) / 7)))))
    z = emit(op.matmul(y, relax.const(rand(64, 64, seed=2) / 8)))
    return emit(op.nn.softmax(emit(op.add(z, y))))


def convolutions(emit, x):
    y = emit(op.nn.relu(emit(op.nn.conv2d(x, relax.const(rand(16, 3, 3, 3)), padding=1))))
    y = emit(op.nn.conv2d(y, relax.const(rand(16, 1, 3, 3, seed=1)), padding=1, groups=16))
    return emit(op.nn.conv2d(y, relax.const(rand(8, 16, 1, 1, seed=2))))


def transposed(emit, x):
    y = emit(op.nn.conv2d_transpose(x, relax.const(rand(3, 8, 2, 2)), strides=2))
    return emit(op.nn.conv2d(emit(op.nn.relu(y)), relax.const(rand(4, 8, 1, 1, seed=1))))


def selections(emit, x):
    """Values that are only moved or selected on the way from one convolution to the next."""
    y = emit(op.nn.conv2d(x, relax.const(rand(16, 3, 3, 3)), padding=1))
    y = emit(op.nn.max_pool2d(y, (3, 3), (2, 2), padding=(1, 1)))
    y = emit(op.image.resize2d(y, (10, 12), method="nearest_neighbor"))
    halves = emit(op.split(y, 2, axis=1))
    left, right = (emit(relax.TupleGetItem(halves, i)) for i in range(2))
    left = emit(op.nn.conv2d(left, relax.const(rand(8, 8, 3, 3, seed=1)), padding=1))
    return emit(op.add(left, right))


NETWORKS = {
    "selections": (selections, (1, 3, 79, 81)),
    "layers": (two_layers, (500, 48)),
    "convolutions": (convolutions, (1, 3, 60, 70)),
    "transposed": (transposed, (1, 3, 110, 120)),
}


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("pipeline", ["default", "plain"])
def test_results_are_close_and_keep_their_type(name, pipeline):
    make, shape = NETWORKS[name]
    mod, x = build([shape], make), rand(*shape, seed=9)
    exact, got = run(mod, [x], "float32"), run(mod, [x], "bf16", pipeline)
    assert got.dtype == np.float32 and got.shape == exact.shape
    error = np.abs(got - exact).max() / np.abs(exact).max()
    assert 0 < error < 2e-2  # 0 would mean that nothing was narrow
    cosine = (got * exact).sum() / np.sqrt((got**2).sum() * (exact**2).sum())
    assert cosine > 0.999


def test_values_that_products_read_are_narrow_where_they_are_made():
    assert narrowed(build([(500, 48)], two_layers)) == [
        ("astype", "bfloat16"),  # x
        ("astype", "bfloat16"),  # a weight
        ("matmul", "float32"),
        ("nn.gelu", "float32"),
        ("astype", "bfloat16"),
        ("astype", "bfloat16"),  # a weight
        ("matmul", "float32"),
        ("astype", "float32"),  # the sum reads what is kept
        ("add", "float32"),
        ("nn.softmax", "float32"),
    ]


def test_moved_values_are_narrow_before_they_move():
    def make(emit, x):
        y = emit(op.permute_dims(emit(op.nn.relu(x)), [1, 0]))
        return emit(op.matmul(y, x))

    found = narrowed(build([(160, 160)], make))
    assert ("permute_dims", "bfloat16") in found and ("permute_dims", "float32") not in found


def test_selected_values_are_narrow_before_they_are_selected():
    assert narrowed(build([(1, 3, 79, 81)], selections)) == [
        ("astype", "bfloat16"),  # x
        ("astype", "bfloat16"),  # a weight
        ("nn.conv2d", "float32"),
        ("astype", "bfloat16"),
        ("nn.max_pool2d", "bfloat16"),
        ("image.resize2d", "bfloat16"),
        ("split", "bfloat16"),
        ("astype", "bfloat16"),  # a weight
        ("nn.conv2d", "float32"),
        ("astype", "float32"),  # the half that the sum reads
        ("add", "float32"),
    ]


def test_depthwise_convolutions_read_narrow_values_and_multiply_wide_ones():
    def make(emit, x):
        y = emit(op.nn.conv2d(x, relax.const(rand(16, 1, 3, 3, seed=1)), padding=1, groups=16))
        return emit(op.nn.conv2d(y, relax.const(rand(8, 16, 1, 1, seed=2))))

    mod = build([(1, 16, 120, 150)], make)
    assert narrowed(mod) == [
        ("astype", "bfloat16"),  # x
        ("nn.conv2d", "float32"),
        ("astype", "bfloat16"),
        ("astype", "bfloat16"),  # the weight of the product
        ("nn.conv2d", "float32"),
    ]


def test_winograd_multiplies_wide_where_that_is_less_work():
    """The weight is not rounded either: the error is that of the input alone."""
    weight = rand(64, 64, 3, 3) / 24

    def make(emit, x):
        y = emit(op.nn.conv2d(x, relax.const(weight), padding=1))
        return emit(op.nn.conv2d(y, relax.const(rand(8, 64, 1, 1, seed=2))))

    mod, x = build([(1, 64, 56, 56)], make), rand(1, 64, 56, 56)
    target = tvm.target.Target(
        {"kind": "llvm", "mcpu": "cooperlake", "mattr": ["-avx512fp16"], "num-cores": 1}
    )
    found = {}
    for on in (True, False):
        with target, tvm.transform.PassContext(config={"kernels.winograd": on}):
            lowered = relax.get_pipeline("zero", target, precision="bf16")(mod)
        funcs = [f for f in lowered.functions.values() if isinstance(f, tvm.tirx.PrimFunc)]
        found[on] = [str(f.attrs["kernel_rule"]) for f in funcs]
    assert "winograd" in found[True] and "winograd" not in found[False]
    exact, got = run(mod, [x], "float32"), run(mod, [x], "bf16")
    assert 0 < np.abs(got - exact).max() / np.abs(exact).max() < 1e-2


def test_kernels_convert_by_the_instruction_of_the_processor():
    mod = build([(500, 48)], two_layers)
    target = {"kind": "llvm", "mcpu": "cooperlake", "mattr": ["-avx512fp16"]}
    for precision, wanted in (("bf16", True), ("float32", False)):
        executable = tvm.compile(mod, target, precision=precision)
        code = executable.mod.imports[0].inspect_source("s")
        assert ("vcvtneps2bf16" in code) == wanted


def test_results_of_the_function_are_not_rounded():
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType([160, 160], "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit_output(op.nn.relu(x))
            z = bb.emit_output(op.matmul(y, y))
        bb.emit_func_output(relax.Tuple([y, z]))
    executable = tvm.compile(bb.get(), "llvm", precision="bf16")
    value = rand(160, 160)
    first, second = relax.VirtualMachine(executable, tvm.cpu())["main"](tvm.runtime.tensor(value))
    np.testing.assert_array_equal(first.numpy(), np.maximum(value, 0))
    exact = first.numpy() @ first.numpy()
    assert 0 < np.abs(second.numpy() - exact).max() < 1e-2 * exact.max()


def test_integers_and_other_types_are_left():
    shapes = [(160, 130), (130, 150)]
    mod = build(shapes, lambda emit, x, w: emit(op.matmul(x, w)), "float64")
    assert narrowed(mod) == [("matmul", "float64")]


def test_precisions_that_do_not_exist():
    mod = build([(5, 48)], two_layers)
    with pytest.raises(ValueError, match="precision must be float32 or bf16, got fp4"):
        tvm.compile(mod, "llvm", precision="fp4")
    with pytest.raises(ValueError, match="needs the name of a pipeline"):
        tvm.compile(mod, "llvm", relax_pipeline=relax.transform.Normalize(), precision="bf16")


def test_what_a_norm_gives_to_a_sum_is_not_rounded():
    def make(emit, x):
        one, zero = (relax.const(np.full(48, v, np.float32)) for v in (1, 0))
        y = emit(op.nn.layer_norm(x, one, zero, axes=[-1]))
        return emit(op.add(emit(op.matmul(y, relax.const(rand(48, 48)))), y))

    found = narrowed(build([(1000, 48)], make))
    assert found[0] == ("nn.layer_norm", "float32") and found[1] == ("astype", "bfloat16")
    assert ("astype", "float32") not in found


def one_row(emit, x):
    y = emit(op.nn.relu(emit(op.matmul(x, relax.const(rand(256, 320, seed=1) / 16)))))
    return emit(op.matmul(y, relax.const(rand(320, 50, seed=2) / 18)))


@pytest.mark.parametrize("shape", [(1, 256), (1, 1, 256), (256,)])
@pytest.mark.parametrize("pipeline", ["default", "plain"])
def test_of_a_product_of_one_row_only_the_weight_is_rounded(shape, pipeline):
    x = rand(*shape, seed=3)
    first = (rand(256, 320, seed=1) / 16).astype(ml_dtypes.bfloat16).astype(np.float64)
    second = (rand(320, 50, seed=2) / 18).astype(np.float64)  # small: float32
    want = np.maximum(x.astype(np.float64) @ first, 0) @ second
    got = run(build([shape], one_row), [x], "bf16", pipeline)
    assert got.shape == want.shape
    # Rounding x as well costs 2e-3.
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-4 * np.abs(want).max())


def test_one_row_is_two_rows_of_a_narrow_product_and_a_small_one_stays_wide():
    calls = narrowed(build([(1, 256)], one_row))
    assert [dtype for name, dtype in calls if name == "matmul"] == ["float32", "float32"]
    assert calls.count(("astype", "bfloat16")) == 3  # the weight, x in its rows and to round it
    assert ("sum", "float32") in calls
    # Rows that share a weight are worth rounding.
    several = narrowed(build([(24, 256)], one_row))
    assert several.count(("astype", "bfloat16")) == 4 and ("sum", "float32") not in several


def test_one_row_of_special_values():
    dense = np.full((256, 256), 0.5, np.float32)
    for value in (np.inf, -np.inf, np.nan):
        x = np.ones((1, 256), np.float32)
        x[0, 7] = value
        got = run(
            build([(1, 256)], lambda emit, a: emit(op.matmul(a, relax.const(dense)))), [x], "bf16"
        )
        np.testing.assert_array_equal(got, np.full((1, 256), value, np.float32))


def attention(emit, x):
    """A layer whose products of two activations are few beside those with weights."""
    q, k, v = (emit(op.matmul(x, relax.const(rand(64, 64, seed=s) / 8))) for s in (1, 2, 3))
    scores = emit(op.nn.softmax(emit(op.matmul(q, emit(op.permute_dims(k, [1, 0]))))))
    y = emit(op.matmul(emit(op.matmul(scores, v)), relax.const(rand(64, 512, seed=4) / 8)))
    return emit(op.matmul(y, relax.const(rand(512, 64, seed=5) / 22)))


def test_scores_stay_wide_where_they_are_few_and_averages_do_not():
    """An error of scores goes through exponentials, those of averages cancel."""
    found = narrowed(build([(32, 64)], attention))
    assert ("permute_dims", "float32") in found  # keys are read by a wide product alone
    # x, the five weights, v, the softmax, the weighted values and what is between the last two.
    assert found.count(("astype", "bfloat16")) == 10
    assert ("astype", "float32") not in found


def test_scores_of_a_large_share_are_narrow():
    found = narrowed(build([(512, 64)], attention))
    assert ("permute_dims", "bfloat16") in found
    assert found.count(("astype", "bfloat16")) == 10 + 2  # q, k


@pytest.mark.parametrize("swapped", [False, True])
def test_a_softmax_is_seen_through_what_stands_before_the_product(swapped):
    def make(emit, x):
        y = emit(op.matmul(x, relax.const(rand(256, 320, seed=1))))
        p = emit(op.nn.softmax(emit(op.strided_slice(y, [1], [0], [64]))))
        p = emit(op.where(relax.const(np.ones((1, 64), bool)), p, relax.const(0.0, "float32")))
        p = emit(op.reshape(p, (64, 64)))
        v = emit(op.strided_slice(y, [1], [64], [128]))
        if swapped:
            return emit(op.matmul(v, emit(op.permute_dims(p, [1, 0]))))
        return emit(op.matmul(p, v))

    found = narrowed(build([(64, 256)], make))
    assert found.count(("astype", "bfloat16")) == 4
    # As few multiply-adds of what is no softmax stay.
    plain = build([(64, 256)], lambda emit, x: emit(op.matmul(*halves(emit, x))))
    assert narrowed(plain).count(("astype", "bfloat16")) == 2


def halves(emit, x):
    y = emit(op.matmul(x, relax.const(rand(256, 320, seed=1))))
    return [emit(op.strided_slice(y, [1], [i], [i + 64])) for i in (0, 64)]


def test_small_convolutions_stay_wide_and_their_weights_exact():
    """A wide product between narrow ones reads what it would in float32."""

    def make(emit, x):
        y = emit(op.nn.conv2d(x, relax.const(rand(64, 64, 3, 3, seed=1)), padding=1))
        y = emit(op.nn.conv2d(emit(op.nn.relu(y)), relax.const(rand(2, 64, 1, 1, seed=2))))
        return emit(op.nn.conv2d_transpose(y, relax.const(rand(2, 2, 2, 2, seed=3)), strides=2))

    found = narrowed(build([(1, 64, 16, 16)], make))
    assert found == [
        ("astype", "bfloat16"),  # x
        ("astype", "bfloat16"),  # its weight
        ("nn.conv2d", "float32"),
        ("nn.relu", "float32"),
        ("nn.conv2d", "float32"),
        ("nn.conv2d_transpose", "float32"),
    ]


def test_early_products_that_fit_stay_wide():
    """Of several that are small enough, not all of which fit, those that more layers follow."""

    def make(emit, x):
        y = emit(op.matmul(x, relax.const(rand(64, 4, seed=1))))  # 0.6 %
        y = emit(op.matmul(y, relax.const(rand(4, 200, seed=2))))  # 1.9 %
        y = emit(op.matmul(y, relax.const(rand(200, 200, seed=3))))
        return emit(op.matmul(y, relax.const(rand(200, 2, seed=4))))  # 0.9 %

    found = narrowed(build([(64, 64)], make))
    assert found[0] == ("matmul", "float32") and found.count(("astype", "bfloat16")) == 6


def test_a_weight_that_is_computed_of_constants_is_one():
    """Two hundredths of the time are too many for a product with a weight."""

    def make(emit, x):
        y = emit(op.matmul(x, relax.const(rand(64, 512, seed=1))))
        w = emit(op.multiply(relax.const(rand(512, 1, seed=2)), relax.const(2.0, "float32")))
        return emit(op.matmul(y, w))

    assert narrowed(build([(80, 64)], make)).count(("astype", "bfloat16")) == 4


def test_one_row_costs_what_its_matrix_does():
    """Its multiply-adds are few, but it waits for memory."""

    def make(emit, x):
        y = emit(op.matmul(x, relax.const(rand(512, 512, seed=1))))
        y = emit(op.mean(y, axis=[0], keepdims=True))
        return emit(op.matmul(y, relax.const(rand(512, 130, seed=2))))

    found = narrowed(build([(64, 512)], make))
    assert ("sum", "float32") in found


def test_a_function_of_few_multiply_adds_gains_nothing():
    assert ("astype", "bfloat16") not in narrowed(build([(200, 48)], two_layers))
    assert ("astype", "bfloat16") not in narrowed(build([(1, 3, 40, 40)], convolutions))
    assert ("astype", "bfloat16") in narrowed(build([(1, 256)], one_row))  # fewer bytes


@tvm.instrument.pass_instrument
class AfterNarrowing:
    """The module as it is after the products are narrowed."""

    def run_after_pass(self, mod, info):
        if info.name == "NarrowProducts":
            self.mod = mod


def test_products_that_nothing_reads_do_not_count():
    """A scale that becomes part of a weight leaves the product with the weight itself behind."""

    def make(emit, x):
        y = emit(op.nn.conv2d(x, relax.const(rand(64, 64, 3, 3, seed=1)), padding=1))
        y = emit(op.multiply(y, relax.const(rand(64, 1, 1, seed=2))))
        return emit(op.nn.conv2d(y, relax.const(rand(5, 64, 1, 1, seed=3))))  # 0.9 %

    target, watch = tvm.target.Target("llvm"), AfterNarrowing()
    with target, tvm.transform.PassContext(instruments=[watch]):
        relax.get_pipeline("zero", target, precision="bf16")(build([(1, 64, 16, 16)], make))
    found = calls(watch.mod)
    assert [name for name, _ in found].count("nn.conv2d") == 2
    assert found.count(("astype", "bfloat16")) == 4


def test_unknown_shapes_leave_no_product_wide():
    bb = relax.BlockBuilder()
    rows = tvm.tirx.Var("n", "int64")
    x = relax.Var("x", relax.TensorType([rows, 64], "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit(op.matmul(x, relax.const(rand(64, 512, seed=1))))
            out = bb.emit_output(op.matmul(y, relax.const(rand(512, 4, seed=2))))
        bb.emit_func_output(out)
    assert narrowed(bb.get()).count(("astype", "bfloat16")) == 4
