# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Weights of 4 and 8 bits under float activations: they stay as small, and the numbers are right."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

import tvm
from tvm import relax
from tvm.error import OpNotImplemented
from tvm.relax.expr_functor import visitor
from tvm.relax.frontend.onnx import from_onnx

MICROSOFT = "com.microsoft"
KINDS = {"int4": TensorProto.INT4, "uint4": TensorProto.UINT4}


def real(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def whole(kind, shape, seed=0):
    low, high = {"int4": (-8, 8), "uint4": (0, 16), "int8": (-128, 128), "uint8": (0, 256)}[kind]
    return np.random.default_rng(seed).integers(low, high, shape)


def tensor(name, values, kind=None):
    """An initializer; of 4 bits where `kind` says so."""
    if kind in KINDS:
        return helper.make_tensor(name, KINDS[kind], values.shape, values.reshape(-1))
    return numpy_helper.from_array(np.asarray(values, kind), name)


def make_model(nodes, x, constants):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_empty_tensor_value_info("y")],
        constants,
    )
    domains = [helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=domains, ir_version=10)


def compiled(model, pipeline="default"):
    return tvm.compile(from_onnx(model), "llvm", relax_pipeline=pipeline)


def answer(executable, x):
    return relax.VirtualMachine(executable, tvm.cpu())["main"](tvm.runtime.tensor(x)).numpy()


def expected(model, x):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"x": x})[0]


@visitor
class Constants(relax.PyExprVisitor):
    """The constants of functions, each once."""

    def __init__(self):
        super().__init__()
        self.found = []

    def visit_constant_(self, op):
        if not any(op.same_as(other) for other in self.found):
            self.found.append(op)


def constant_bytes(mod):
    """Bytes of the constants that the kernels of a module read."""
    target = tvm.target.Target("llvm")
    mod = relax.get_pipeline("zero", target)(mod)
    visitor = Constants()
    for func in mod.functions.values():
        if isinstance(func, relax.Function):
            visitor.visit_expr(func)
    return sum(op.data.numpy().nbytes for op in visitor.found)


def check(model, x, most=None, tolerance=2e-5):
    """Both pipelines against onnxruntime; `most` bounds the bytes of all constants."""
    want = expected(model, x)
    for pipeline in ("default", "plain"):
        got = answer(compiled(model, pipeline), x)
        assert got.shape == want.shape and got.dtype == want.dtype
        assert np.abs(got - want).max() <= tolerance * np.abs(want).max()
    if most is not None:
        assert constant_bytes(from_onnx(model)) <= most


def scales(kind, shape, axis, block):
    """Scales and zero points for a weight of a shape: one, one for each channel, or blocks."""
    if axis is None:
        size = ()
    elif block == 0:
        size = (shape[axis],)
    else:
        size = tuple(-(-e // block) if d == axis else e for d, e in enumerate(shape))
    return np.abs(real(*size, seed=3)) * np.float32(0.1) + np.float32(0.01), whole(kind, size, 4)


BLOCKS = {
    "one scale": (None, 0),
    "columns": (1, 0),
    "blocks of 16": (0, 16),
    "blocks of 32": (0, 32),
    "blocks of 40": (0, 40),
    "one block": (0, 512),
}


@pytest.mark.parametrize("kind", ["int4", "uint4", "int8", "uint8"])
@pytest.mark.parametrize("blocks", BLOCKS.values(), ids=BLOCKS)
@pytest.mark.parametrize("rows", [1, 37])
def test_products_keep_their_weight(kind, blocks, rows):
    axis, block = blocks
    k, n = 200, 70
    s, z = scales(kind, (k, n), axis, block)
    attrs = {} if axis is None else {"axis": axis, "block_size": block}
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s", "z"], ["f"], **attrs),
        helper.make_node("MatMul", ["x", "f"], ["y"]),
    ]
    x = real(rows, k)
    constants = [tensor("w", whole(kind, (k, n)), kind), tensor("s", s), tensor("z", z, kind)]
    size = k * 128 * (4 if kind.endswith("4") else 8) // 8  # columns are padded to registers
    check(make_model(nodes, x, constants), x, size + (s.size + z.size) * 2 * 5)


@pytest.mark.parametrize("block", [0, 16])
@pytest.mark.parametrize("zero", [False, True])
def test_gemm_of_a_transposed_weight(block, zero):
    n, k = 33, 64
    s, z = scales("int4", (n, k), 1 if block else 0, block)
    attrs = {"axis": 1 if block else 0, "block_size": block}
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s", "z"][: 2 + zero], ["f"], **attrs),
        helper.make_node("Gemm", ["x", "f", "b"], ["g"], transB=1, alpha=0.5),
        helper.make_node("Relu", ["g"], ["y"]),
    ]
    x = real(3, k)
    constants = [tensor("w", whole("int4", (n, k)), "int4"), tensor("s", s), tensor("b", real(n))]
    if zero:
        constants.append(tensor("z", z, "int4"))
    check(make_model(nodes, x, constants), x, k * 64 + 2000)


def test_blocks_that_cut_words_are_dequantized():
    k, n = 30, 20
    s, z = scales("int4", (k, n), 0, 3)
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s", "z"], ["f"], axis=0, block_size=3),
        helper.make_node("MatMul", ["x", "f"], ["y"]),
    ]
    x = real(2, k)
    constants = [tensor("w", whole("int4", (k, n)), "int4"), tensor("s", s), tensor("z", z, "int4")]
    check(make_model(nodes, x, constants), x)


def test_batches_and_one_weight_of_two_products():
    k = 64
    s, z = scales("int4", (k, k), 0, 32)
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s", "z"], ["f"], axis=0, block_size=32),
        helper.make_node("MatMul", ["x", "f"], ["t"]),
        helper.make_node("MatMul", ["t", "f"], ["y"]),
    ]
    x = real(2, 3, k)
    constants = [tensor("w", whole("int4", (k, k)), "int4"), tensor("s", s), tensor("z", z, "int4")]
    check(make_model(nodes, x, constants), x, k * k // 2 + 2 * 2 * k * 5, 1e-4)


@pytest.mark.parametrize("kind", ["int4", "int8", "uint8"])
@pytest.mark.parametrize("channels", [False, True])
@pytest.mark.parametrize("size", [1, 3])
def test_convolutions_keep_their_weight(kind, channels, size):
    shape = (24, 16, size, size)
    s, z = scales(kind, shape, 0 if channels else None, 0)
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s", "z"], ["f"], axis=0),
        helper.make_node("Conv", ["x", "f", "b"], ["c"], pads=[size // 2] * 4),
        helper.make_node("Relu", ["c"], ["y"]),
    ]
    x = real(1, 16, 9, 11)
    constants = [tensor("w", whole(kind, shape), kind), tensor("s", s), tensor("z", z, kind)]
    constants.append(tensor("b", real(24)))
    elements = 32 * 16 * size * size  # columns are padded to registers
    most = elements * (2 if kind == "uint8" or kind == "int8" else 1) + 1000
    check(make_model(nodes, x, constants), x, most)


def test_values_with_scales_below_zero_keep_their_order():
    q, s = np.arange(-8, 8, dtype=np.int8).reshape(1, 1, 4, 4), np.float32(-0.5)
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["f"]),
        helper.make_node("Relu", ["f"], ["r"]),
        helper.make_node("MaxPool", ["f"], ["p"], kernel_shape=[2, 2]),
        helper.make_node("ReduceMax", ["p"], ["m"], keepdims=0),
        helper.make_node("Add", ["x", "r"], ["a"]),
        helper.make_node("Mul", ["a", "m"], ["y"]),
    ]
    x = real(1, 1, 4, 4)
    check(make_model(nodes, x, [tensor("w", q), tensor("s", s)]), x)


def test_depthwise_convolution():
    s, z = scales("int8", (16, 1, 3, 3), 0, 0)
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s", "z"], ["f"], axis=0),
        helper.make_node("Conv", ["x", "f"], ["y"], group=16, pads=[1, 1, 1, 1]),
    ]
    x = real(1, 16, 9, 11)
    constants = [tensor("w", whole("int8", (16, 1, 3, 3)), "int8"), tensor("s", s)]
    check(make_model(nodes, x, [*constants, tensor("z", z, "int8")]), x)


def test_blocks_of_other_values():
    """Blocks along each axis, of a constant and of an input, and back."""
    x = real(4, 6, 10)
    nodes, constants = [], []
    for axis in (0, 1, -1):
        s, z = scales("int8", x.shape, axis % 3, 4)
        constants += [tensor(f"s{axis}", np.abs(s)), tensor(f"z{axis}", z // 4, "int8")]
        names = [f"s{axis}", f"z{axis}"]
        source = nodes[-1].output[0] if nodes else "x"
        attrs = {"axis": axis, "block_size": 4}
        nodes.append(helper.make_node("QuantizeLinear", [source, *names], [f"q{axis}"], **attrs))
        nodes.append(helper.make_node("DequantizeLinear", [f"q{axis}", *names], ["y"], **attrs))
        nodes[-1].output[0] = "y" if axis == -1 else f"f{axis}"
    check(make_model(nodes, x, constants), x)


def nbits(k, n, block, bits, zero, seed=0):
    """Bytes, scales and zero points of MatMulNBits, and the weight [k, n] they stand for."""
    rng = np.random.default_rng(seed)
    blocks = -(-k // block)
    q = rng.integers(0, 1 << bits, (n, blocks * block)).astype(np.uint8)
    z = rng.integers(0, 1 << bits, (n, blocks)).astype(np.uint8)
    s = (rng.random((n, blocks)) * 0.1 + 0.01).astype(np.float32)
    s[::3] *= -1  # as quantizers give that map the largest element to -8

    def packed(values):
        if bits == 8:
            return values
        values = np.pad(values, ((0, 0), (0, values.shape[1] % 2)))
        return values[:, ::2] | values[:, 1::2] << 4

    points = z if zero else np.full_like(z, 1 << (bits - 1))
    difference = q.astype(np.float32) - np.repeat(points, block, 1)
    weight = (difference * np.repeat(s, block, 1))[:, :k].T
    return packed(q).reshape(n, blocks, -1), s, packed(z), weight


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("block", [16, 32, 128])
@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize("rows", [(1,), (2, 5)])
def test_matmul_nbits(bits, block, zero, rows):
    k, n = 208, 40
    q, s, z, weight = nbits(k, n, block, bits, zero)
    x, bias = real(*rows, k), real(n)
    node = helper.make_node(
        "MatMulNBits",
        ["x", "q", "s", "z" if zero else "", "", "b"],
        ["y"],
        domain=MICROSOFT,
        K=k,
        N=n,
        bits=bits,
        block_size=block,
    )
    constants = [tensor("q", q), tensor("s", s.reshape(-1)), tensor("b", bias)]
    if zero:
        constants.append(tensor("z", z.reshape(-1)))
    model = make_model([node], x, constants)
    want = x @ weight + bias
    for pipeline in ("default", "plain"):
        got = answer(compiled(model, pipeline), x)
        assert np.abs(got - want).max() <= 2e-5 * np.abs(want).max()
    most = (k * bits // 8 + 5 * s.shape[1]) * 64 + 1000
    assert constant_bytes(from_onnx(model)) <= most
    # onnxruntime rounds products of 8 bits, and not those of 4.
    tolerance = 1e-4 if bits == 4 else 2e-2
    assert np.abs(expected(model, x) - want).max() <= tolerance * np.abs(want).max()


def test_matmul_nbits_with_zero_points_of_floats():
    k, n, block = 64, 24, 32
    q, s, _, _ = nbits(k, n, block, 4, False)
    x = real(3, k)
    attrs = {"K": k, "N": n, "bits": 4, "block_size": block}
    node = helper.make_node("MatMulNBits", ["x", "q", "s", "z"], ["y"], domain=MICROSOFT, **attrs)
    for points in (np.full((n, 2), 7.0), np.full((n, 2), 6.75)):
        constants = [tensor("q", q), tensor("s", s), tensor("z", points.astype(np.float32))]
        values = np.stack([q & 15, q >> 4], -1).reshape(n, k) - points[0, 0]
        want = x @ (values * np.repeat(s, block, 1)).T
        got = answer(compiled(make_model([node], x, constants)), x)
        assert np.abs(got - want).max() <= 2e-5 * np.abs(want).max()


def test_what_matmul_nbits_refuses():
    k, n, block = 64, 24, 32
    q, s, z, _ = nbits(k, n, block, 4, True)
    x = real(3, k)
    constants = [tensor("q", q), tensor("s", s), tensor("z", z)]
    constants.append(tensor("g", np.arange(k, dtype=np.int32)))

    def attempt(inputs=("x", "q", "s", "z"), **attrs):
        attrs = {"K": k, "N": n, "bits": 4, "block_size": block} | attrs
        node = helper.make_node("MatMulNBits", inputs, ["y"], domain=MICROSOFT, **attrs)
        from_onnx(make_model([node], x, constants))

    with pytest.raises(OpNotImplemented, match="g_idx"):
        attempt(("x", "q", "s", "z", "g"))
    with pytest.raises(OpNotImplemented, match="bits=2"):
        attempt(bits=2)
    with pytest.raises(ValueError, match=r"must hold 24 x 96 bytes"):
        attempt(K=192)
    with pytest.raises(ValueError, match="must hold 24 x 4 floats"):
        attempt(("x", "q", "s"), block_size=16)
    with pytest.raises(ValueError, match="no whole number of bytes"):
        attempt(block_size=33)
    with pytest.raises(ValueError, match="must hold 24 x 2 floats"):
        attempt(("x", "q", "z"))


def lowered(x_shape, q, scale, zero, axis, block):
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(list(x_shape), "float32"))
    constants = [relax.const(np.asarray(v)) for v in (q, scale, zero)]
    with bb.function("main", [x]):
        with bb.dataflow():
            w = bb.emit(relax.op.dequantize(*constants, "float32", axis, block))
            out = bb.emit_output(relax.op.matmul(x, w))
        bb.emit_func_output(out)
    mod = bb.get()
    passes = [relax.transform.Normalize(), relax.transform.LowerQuantization()]
    mod = tvm.ir.transform.Sequential(passes)(mod)
    relax.analysis.well_formed(mod)
    mod = relax.transform.DeadCodeElimination()(mod)
    return [b.value for b in mod["main"].body.blocks[0].bindings]


def test_what_becomes_of_the_graph():
    """The product takes bits, scales and zero points; narrow numbers take 4 bits of any type."""
    q = whole("int4", (64, 24)).astype(np.int8)
    (call,) = lowered((1, 64), q, np.full((2, 24), 0.5, np.float32), np.int8(1), 0, 32)
    assert call.op.name == "relax.nn.low_bit_matmul"
    assert (call.attrs.bits, call.attrs.block_size) == (4, 32)
    weight, scale, zero = (arg.data.numpy() for arg in call.args[1:])
    assert weight.shape == (32, 24) and weight.dtype == np.uint8
    np.testing.assert_array_equal(weight[5] & 15, q[9] + 8)  # row 1 of word 1
    np.testing.assert_array_equal(weight[5] >> 4, q[13] + 8)
    assert scale.shape == () and scale == 0.5  # all the same
    assert zero == 9
    q = whole("uint8", (64, 24)).astype(np.uint8)
    (call,) = lowered((1, 64), q, real(24) ** 2 + 1, np.uint8(3), 1, 0)
    assert call.attrs.bits == 8
    np.testing.assert_array_equal(call.args[1].data.numpy(), q)


def test_scales_of_rows_are_left_to_folding():
    q = whole("int8", (64, 24)).astype(np.int8)
    names = [c.op.name for c in lowered((1, 64), q, real(64) ** 2 + 1, np.int8(3), 0, 0)]
    assert names == ["relax.dequantize", "relax.matmul"]


def test_exported_library_holds_few_bytes(tmp_path):
    k = n = 256
    s, z = scales("int4", (k, n), 0, 32)
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s", "z"], ["f"], axis=0, block_size=32),
        helper.make_node("MatMul", ["x", "f"], ["y"]),
    ]
    x = real(1, k)
    constants = [tensor("w", whole("int4", (k, n)), "int4"), tensor("s", s), tensor("z", z, "int4")]
    model = make_model(nodes, x, constants)
    path = str(tmp_path / "m.so")
    compiled(model).export_library(path)
    assert (tmp_path / "m.so").stat().st_size < k * n * 4 // 2
    loaded = tvm.runtime.load_module(path)
    got = relax.VirtualMachine(loaded, tvm.cpu())["main"](tvm.runtime.tensor(x)).numpy()
    want = expected(model, x)
    assert np.abs(got - want).max() <= 2e-5 * np.abs(want).max()


def test_mapped_weights(tmp_path):
    k, n = 99, 101
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["f"], axis=0, block_size=16),
        helper.make_node("MatMul", ["x", "f"], ["y"]),
    ]
    x = real(2, k)
    s, _ = scales("int4", (k, n), 0, 16)
    model = make_model(nodes, x, [tensor("w", whole("int4", (k, n)), "int4"), tensor("s", s)])
    path = str(tmp_path / "m.onnx")
    onnx.save(model, path)
    got = answer(tvm.compile(from_onnx(path), "llvm"), x)
    want = expected(model, x)
    assert np.abs(got - want).max() <= 2e-5 * np.abs(want).max()


def test_an_open_number_of_rows():
    k, n = 64, 40
    q, s, z, weight = nbits(k, n, 32, 4, True)
    attrs = {"K": k, "N": n, "bits": 4, "block_size": 32}
    node = helper.make_node("MatMulNBits", ["x", "q", "s", "z"], ["y"], domain=MICROSOFT, **attrs)
    model = make_model([node], real(1, k), [tensor("q", q), tensor("s", s), tensor("z", z)])
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "rows"
    executable = compiled(model)
    for rows in (1, 5):
        x = real(rows, k)
        want = x @ weight
        assert np.abs(answer(executable, x) - want).max() <= 2e-5 * np.abs(want).max()


def test_products_in_bfloat16_leave_the_weight():
    k, n = 64, 40
    q, s, z, weight = nbits(k, n, 32, 4, True)
    attrs = {"K": k, "N": n, "bits": 4, "block_size": 32}
    node = helper.make_node("MatMulNBits", ["x", "q", "s", "z"], ["y"], domain=MICROSOFT, **attrs)
    x = real(3, k)
    model = make_model([node], x, [tensor("q", q), tensor("s", s), tensor("z", z)])
    executable = tvm.compile(from_onnx(model), "llvm", precision="bf16")
    want = x @ weight
    assert np.abs(answer(executable, x) - want).max() <= 2e-5 * np.abs(want).max()
