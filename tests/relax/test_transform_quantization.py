# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Arithmetic between dequantize and quantize on integers: what is made of it, and its numbers."""

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.relax import op


def lowered(mod):
    passed = tvm.ir.transform.Sequential(
        [relax.transform.Normalize(), relax.transform.LowerQuantization()]
    )(mod)
    relax.analysis.well_formed(passed)
    return relax.transform.DeadCodeElimination()(passed)


def operators(mod):
    """(operator, element type of its result) of each call in ``main``."""
    found = []
    for block in mod["main"].body.blocks:
        for b in block.bindings:
            if isinstance(b.value, tvm.ir.Call):
                name = b.value.op.name.removeprefix("relax.")
                found.append((name, str(b.var.ty.dtype.dtype)))
    return found


def build(params, make):
    bb = relax.BlockBuilder()
    variables = [relax.Var(n, relax.TensorType(list(s), d)) for n, s, d in params]
    with bb.function("main", variables):
        with bb.dataflow():
            out = bb.emit_output(make(bb.emit, *variables))
        bb.emit_func_output(out)
    return bb.get()


def run(mod, inputs, pipeline):
    vm = relax.VirtualMachine(tvm.compile(mod, "llvm", relax_pipeline=pipeline), tvm.cpu())
    return vm["main"](*[tvm.runtime.tensor(x) for x in inputs]).numpy()


def const(value, dtype):
    return relax.const(np.asarray(value, dtype))


def numbers(dtype, *shape, seed=0):
    limits = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(limits.min, limits.max + 1, shape).astype(dtype)


def dequantized(emit, x, scale=0.02, zero=100, dtype="uint8"):
    return emit(op.dequantize(x, const(scale, "float32"), const(zero, dtype)))


def weight(emit, *shape, seed=1):
    scales = np.linspace(0.01, 0.03, shape[0], dtype=np.float32)
    values = const(numbers("int8", *shape, seed=seed), "int8")
    zero = const(np.zeros(shape[0]), "int8")
    return emit(op.dequantize(values, const(scales, "float32"), zero, axis=0))


def quantized(emit, x, scale=0.51, zero=120, dtype="uint8"):
    return emit(op.quantize(x, const(scale, "float32"), const(zero, dtype), dtype))


def check(mod, inputs):
    """The integer pipeline against float32 loops: one step of rounding apart at most."""
    got, want = run(mod, inputs, "default"), run(mod, inputs, "plain")
    assert got.dtype == want.dtype and got.shape == want.shape
    off = np.abs(got.astype(np.float64) - want.astype(np.float64))
    if got.dtype.kind in "iu":
        assert off.max() <= 1 and (off > 0).mean() < 0.02
    else:
        assert off.max() <= 1e-4 * np.abs(want).max()


def test_convolution_with_border_bias_and_relu():
    def make(emit, x):
        y = emit(op.nn.conv2d(dequantized(emit, x), weight(emit, 6, 3, 3, 3), padding=1))
        bias = const(np.linspace(-9, 9, 6).reshape(1, 6, 1, 1), "float32")
        return quantized(emit, emit(op.nn.relu(emit(op.add(y, bias)))), zero=0)

    mod = build([("x", (1, 3, 7, 9), "uint8")], make)
    assert operators(lowered(mod)) == [
        ("nn.pad", "uint8"),
        ("nn.conv2d", "int32"),
        ("add", "int32"),
        ("astype", "float32"),
        ("multiply", "float32"),
        ("quantize", "uint8"),
    ]
    check(mod, [numbers("uint8", 1, 3, 7, 9)])


def test_matmul_of_a_transposed_weight():
    def make(emit, x):
        w = emit(op.permute_dims(weight(emit, 6, 5), [1, 0]))
        return quantized(emit, emit(op.matmul(dequantized(emit, x, zero=0), w)))

    mod = build([("x", (2, 4, 5), "uint8")], make)
    found = operators(lowered(mod))
    assert found == [
        ("matmul", "int32"),
        ("astype", "float32"),
        ("multiply", "float32"),
        ("quantize", "uint8"),
    ]
    check(mod, [numbers("uint8", 2, 4, 5)])


def test_residual_addition_is_part_of_the_convolution():
    def make(emit, x):
        first = emit(op.nn.conv2d(dequantized(emit, x), weight(emit, 3, 3, 1, 1)))
        first = dequantized(emit, quantized(emit, first), 0.51, 120)
        y = emit(op.nn.conv2d(first, weight(emit, 3, 3, 3, 3), padding=1))
        y = dequantized(emit, quantized(emit, y), 0.51, 120)
        return quantized(emit, emit(op.nn.relu(emit(op.add(y, first)))), 0.4, 3)

    mod = build([("x", (1, 3, 7, 9), "uint8")], make)
    # Only the sum reads the second result, which is rounded in float32; the first one is bytes.
    found = [name for name, _ in operators(lowered(mod))]
    assert [found.count(name) for name in ("quantize", "round", "dequantize")] == [2, 1, 1], found
    fused = tvm.ir.transform.Sequential(
        list(relax._ffi_api.GetPipeline("zero", tvm.target.Target("llvm"), "float32"))
    )(mod)
    names = [
        str(v.name_hint) for v, f in fused.functions.items() if isinstance(f, tvm.tirx.PrimFunc)
    ]
    # Besides, the operand and the result change their layout.
    rest = [n for n in names if not n.startswith("permute_dims")]
    assert len(rest) == 2 and all("conv2d" in n for n in rest), names
    check(mod, [numbers("uint8", 1, 3, 7, 9)])


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("relu", [False, True])
def test_what_a_branch_adds_is_read_as_bytes(swapped, relu):
    """Of two convolutions that are added the first one adds; the other's result is stored."""

    def make(emit, x):
        x = dequantized(emit, x)
        branches = []
        for size in (1, 3):
            y = emit(op.nn.conv2d(x, weight(emit, 4, 3, size, size), padding=size // 2))
            branches.append(dequantized(emit, quantized(emit, y), 0.51, 120))
        y = emit(op.add(*reversed(branches) if swapped else branches))
        return quantized(emit, emit(op.nn.relu(y)) if relu else y, 0.4, 3)

    mod = build([("x", (1, 3, 7, 9), "uint8")], make)
    fused = tvm.ir.transform.Sequential(
        list(relax._ffi_api.GetPipeline("zero", tvm.target.Target("llvm"), "float32"))
    )(mod)
    kernels = {
        str(v.name_hint): f for v, f in fused.functions.items() if isinstance(f, tvm.tirx.PrimFunc)
    }
    results = [
        f.params[len(f.params) - 1].ty.dtype for name, f in kernels.items() if "conv2d" in name
    ]
    assert [str(dtype) for dtype in results] == ["uint8", "uint8"], kernels.keys()
    check(mod, [numbers("uint8", 1, 3, 7, 9)])


@pytest.mark.parametrize(
    "move",
    [
        lambda x: op.reshape(x, [1, -1]),
        lambda x: op.permute_dims(x, [0, 2, 3, 1]),
        lambda x: op.nn.max_pool2d(x, [3, 3], [2, 2], [1, 1, 1, 1]),
        lambda x: op.nn.relu(x),
        lambda x: op.strided_slice(x, [1], [1], [3]),
    ],
    ids=["reshape", "transpose", "max_pool", "relu", "slice"],
)
def test_elements_move_as_integers(move):
    mod = build(
        [("x", (1, 4, 6, 8), "uint8")],
        lambda emit, x: quantized(emit, emit(move(dequantized(emit, x))), 0.02, 100),
    )
    assert all(dtype == "uint8" for _, dtype in operators(lowered(mod)))
    check(mod, [numbers("uint8", 1, 4, 6, 8)])


def test_concat_rounds_before_it_moves():
    def make(emit, x, y):
        parts = [dequantized(emit, x), dequantized(emit, y, 0.03, 7)]
        return quantized(emit, emit(op.concat(relax.Tuple(parts), 1)), 0.02, 100)

    mod = build([("x", (2, 3), "uint8"), ("y", (2, 4), "uint8")], make)
    found = operators(lowered(mod))
    assert ("concat", "uint8") in found and ("concat", "float32") not in found
    assert [name for name, _ in found].count("quantize") == 1  # x has the scale already
    check(mod, [numbers("uint8", 2, 3), numbers("uint8", 2, 4, seed=1)])


def test_gathered_table_stays_small():
    def make(emit, rows):
        table = const(numbers("int8", 50, 8), "int8")
        return emit(op.take(dequantized(emit, table, 0.02, 3, "int8"), rows, axis=0))

    mod = build([("rows", (5,), "int64")], make)
    assert operators(lowered(mod)) == [("take", "int8"), ("dequantize", "float32")]
    check(mod, [np.array([3, 0, 49, 7, 3])])


@pytest.mark.parametrize("pads", [[0, 0, 0, 0], [1, 1, 1, 1], [2, 0, 1, 3]])
@pytest.mark.parametrize("strides", [1, 2])
@pytest.mark.parametrize("channels", [3, 16, 37])
@pytest.mark.parametrize("kernel", [1, 3, 5])
def test_depthwise(pads, strides, channels, kernel):
    def make(emit, x):
        y = op.nn.conv2d(
            dequantized(emit, x),
            weight(emit, channels, 1, kernel, kernel),
            strides=strides,
            padding=pads,
            groups=channels,
        )
        return quantized(emit, emit(y))

    shape = (1, channels, 6, 7)
    check(build([("x", shape, "uint8")], make), [numbers("uint8", *shape)])


def test_what_cannot_be_done_on_integers_stays():
    def make(emit, x, y):
        # Both vary: the zero points would have to be taken from both.
        return quantized(emit, emit(op.matmul(dequantized(emit, x), dequantized(emit, y))))

    mod = build([("x", (3, 4), "uint8"), ("y", (4, 5), "uint8")], make)
    assert ("matmul", "float32") in operators(lowered(mod))
    check(mod, [numbers("uint8", 3, 4), numbers("uint8", 4, 5, seed=1)])


def test_nothing_to_do_changes_nothing():
    mod = relax.transform.Normalize()(
        build([("x", (2, 3), "float32")], lambda emit, x: emit(op.nn.relu(x)))
    )
    tvm.ir.assert_structural_equal(lowered(mod), mod)
