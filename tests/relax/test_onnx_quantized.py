# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Quantised ONNX operators against onnxruntime, by the integer pipeline and by plain loops."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

import tvm
from tvm import relax
from tvm.error import OpNotImplemented
from tvm.relax.frontend.onnx import from_onnx

MICROSOFT = "com.microsoft"


def make_model(nodes, inputs, weights, *, opset=17, outputs=("y",)):
    """Model whose inputs have the shapes and types of arrays; outputs are typed by inference."""
    kinds = {str(k): v for k, v in ((np.dtype(d), n) for d, n in _KINDS)}
    values = [
        helper.make_tensor_value_info(k, kinds[str(v.dtype)], v.shape) for k, v in inputs.items()
    ]
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    constants = [numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items()]
    graph = helper.make_graph(nodes, "g", values, results, constants)
    domains = [helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=domains, ir_version=9)


_KINDS = [
    ("float32", TensorProto.FLOAT),
    ("uint8", TensorProto.UINT8),
    ("int8", TensorProto.INT8),
    ("int32", TensorProto.INT32),
    ("bool", TensorProto.BOOL),
]


def expected(model, inputs):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    # Its fusions round what is multiplied by weights of 4 bits.
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    data = model if isinstance(model, str) else model.SerializeToString()
    session = ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def answer(model, inputs, pipeline="default"):
    executable = tvm.compile(from_onnx(model), "llvm", relax_pipeline=pipeline)
    vm = relax.VirtualMachine(executable, tvm.cpu())
    result = vm["main"](*[tvm.runtime.tensor(v) for v in inputs.values()])
    return [r.numpy() for r in ([result] if hasattr(result, "numpy") else result)]


def check(model, inputs, quanta=0, share=0.0):
    """Integers equal onnxruntime's but for a share of elements off by so many quanta."""
    want = expected(model, inputs)
    for pipeline in ("default", "plain"):
        got = answer(model, inputs, pipeline)
        assert len(got) == len(want)
        for g, w in zip(got, want):
            assert g.dtype == w.dtype and g.shape == w.shape
            if np.issubdtype(w.dtype, np.floating):
                np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-5 * np.abs(w).max())
                continue
            # Plain loops compute in float32 what the others compute in integers.
            slack = max(quanta, 1 if pipeline == "plain" else 0)
            off = np.abs(g.astype(np.int64) - w.astype(np.int64))
            assert off.max() <= slack
            assert (off > 0).mean() <= max(share, 0.02 if pipeline == "plain" else 0)


def whole(dtype, shape, seed=0):
    limits = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(limits.min, limits.max + 1, shape).astype(dtype)


def real(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def scale(value):
    return np.array(value, np.float32)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_quantize_and_dequantize(dtype, axis):
    x = real(3, 4, 5) * 3
    x[0, 0, :] = [0.25, 0.75, 1.25, -0.25, 1000]  # ties, and more than there are numbers
    count = 1 if axis is None else x.shape[axis]
    s = np.full(count, 0.5, np.float32) if axis is not None else scale(0.5)
    zero = np.full(count, 3, dtype) if axis is not None else np.array(3, dtype)
    attrs = {} if axis is None else {"axis": axis}
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], **attrs),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"], **attrs),
    ]
    model = make_model(nodes, {"x": x}, {"s": s, "z": zero}, outputs=["q", "y"])
    check(model, {"x": x})


def test_missing_zero_points_are_zero():
    x = np.abs(real(2, 3))
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s"], ["y"]),
    ]
    check(make_model(nodes, {"x": x}, {"s": scale(0.01)}, outputs=["q", "y"]), {"x": x})


def test_output_dtype_and_sixteen_bits():
    x = real(2, 3)
    node = helper.make_node(
        "QuantizeLinear", ["x", "s"], ["y"], output_dtype=TensorProto.INT16, axis=0
    )
    model = make_model([node], {"x": x}, {"s": scale(0.001)}, opset=21)
    check(model, {"x": x})


def test_constants_of_four_bits_and_of_blocks():
    q = np.random.default_rng(0).integers(-8, 8, (130, 128))
    weight = helper.make_tensor("w", TensorProto.INT4, q.shape, q.reshape(-1))
    s = np.abs(real(5, 128)) + 0.1
    x = real(2, 130)
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["f"], axis=0, block_size=32),
        helper.make_node("MatMul", ["x", "f"], ["y"]),
    ]
    model = make_model(nodes, {"x": x}, {"s": s}, opset=21)
    model.graph.initializer.append(weight)
    check(model, {"x": x})


def test_mapped_weights_of_four_bits(tmp_path):
    q = np.random.default_rng(0).integers(-8, 8, (99, 101))
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["f"], axis=1),
        helper.make_node("MatMul", ["x", "f"], ["y"]),
    ]
    x = real(2, 99)
    model = make_model(nodes, {"x": x}, {"s": np.abs(real(101))}, opset=21)
    model.graph.initializer.append(
        helper.make_tensor("w", TensorProto.INT4, q.shape, q.reshape(-1))
    )
    path = str(tmp_path / "m.onnx")
    onnx.save(model, path)
    np.testing.assert_allclose(
        answer(path, {"x": x})[0], expected(path, {"x": x})[0], rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("low", [-3.0, 0.5, -9.0])
def test_dynamic_quantize(low):
    x = np.clip(real(5, 7) + low, low, None)
    node = helper.make_node("DynamicQuantizeLinear", ["x"], ["y", "s", "z"])
    check(make_model([node], {"x": x}, {}, outputs=["y", "s", "z"]), {"x": x})


def test_dynamic_quantize_of_zeros():
    x = np.zeros((2, 3), np.float32)
    node = helper.make_node("DynamicQuantizeLinear", ["x"], ["y", "s", "z"])
    check(make_model([node], {"x": x}, {}, outputs=["y", "s", "z"]), {"x": x})


CONVOLUTIONS = {
    "padded": {},
    "no zero point": {"zero": 0},
    "no border, no bias": {"pads": [0, 0, 0, 0], "bias": False},
    "uneven border": {"pads": [0, 1, 2, 1]},
    "strided": {"attrs": {"strides": [2, 2]}},
    "dilated": {"attrs": {"dilations": [2, 2]}},
    "int8": {"dtype": "int8", "zero": -7},
    "one scale": {"channels": False},
    "uint8 weight that fits": {"weight": "uint8", "weight_zero": 128, "channels": False},
    "uint8 weight that does not": {"weight": "uint8", "weight_zero": 90, "channels": False},
    "depthwise": {"group": 16},
    "depthwise, more channels than a vector": {"group": 37},
    "grouped": {"group": 4},
}


@pytest.mark.parametrize("case", CONVOLUTIONS.values(), ids=CONVOLUTIONS)
def test_qlinear_conv(case):
    zero, pads = case.get("zero", 130), case.get("pads", [1, 1, 1, 1])
    dtype, kind, group = (
        case.get("dtype", "uint8"),
        case.get("weight", "int8"),
        case.get("group", 1),
    )
    ic, oc = (group, group) if group > 4 else (8, 16)
    channels = case.get("channels", True)
    weights = {
        "xs": scale(0.03),
        "xz": np.array(zero, dtype),
        "w": whole(kind, (oc, ic // group, 3, 3)),
        "ws": np.linspace(0.001, 0.02, oc, dtype=np.float32) if channels else scale(0.013),
        "wz": np.full(oc if channels else (), case.get("weight_zero", 0), kind),
        "ys": scale(0.7),
        "yz": np.array(10, dtype),
    }
    inputs = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"]
    if case.get("bias", True):
        weights["b"] = np.random.default_rng(1).integers(-9000, 9000, oc).astype(np.int32)
        inputs.append("b")
    x = whole(dtype, (1, ic, 9, 11), seed=2)
    node = helper.make_node(
        "QLinearConv", inputs, ["y"], pads=pads, group=group, **case.get("attrs", {})
    )
    # A weight whose zero point does not fit is left in float32.
    left = case.get("weight_zero") == 90
    check(make_model([node], {"x": x}, weights), {"x": x}, int(left), 0.02 * left)


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("columns", [False, True])
def test_qlinear_matmul(kind, columns):
    n = 17
    weights = {
        "as": scale(0.02),
        "az": np.array(100, "uint8"),
        "b": whole(kind, (33, n)),
        "bs": np.linspace(0.01, 0.03, n, dtype=np.float32) if columns else scale(0.01),
        "bz": np.full(n if columns else (), 0 if kind == "int8" else 77, kind),
        "ys": scale(0.5),
        "yz": np.array(128, "uint8"),
    }
    x = whole("uint8", (2, 5, 33))
    inputs = ["x", "as", "az", "b", "bs", "bz", "ys", "yz"]
    check(
        make_model([helper.make_node("QLinearMatMul", inputs, ["y"])], {"x": x}, weights), {"x": x}
    )


@pytest.mark.parametrize("zero", [None, 0, 100])
@pytest.mark.parametrize("weight_zero", [None, 0, 3, "columns"])
def test_matmul_integer(zero, weight_zero):
    weights = {"b": whole("int8", (33, 17))}
    inputs = ["x", "b", "", ""]
    if zero is not None:
        weights["az"], inputs[2] = np.array(zero, "uint8"), "az"
    if weight_zero is not None:
        value = np.arange(17) - 8 if weight_zero == "columns" else np.array(weight_zero)
        weights["bz"], inputs[3] = value.astype("int8"), "bz"
    x = whole("uint8", (5, 33))
    check(
        make_model([helper.make_node("MatMulInteger", inputs, ["y"])], {"x": x}, weights), {"x": x}
    )


def test_matmul_integer_of_two_inputs_with_zero_points():
    inputs = {
        "a": whole("uint8", (5, 33)),
        "b": whole("uint8", (33, 7), seed=1),
        "az": np.array(7, "uint8"),
        "bz": np.array(9, "uint8"),
    }
    node = helper.make_node("MatMulInteger", list(inputs), ["y"])
    check(make_model([node], inputs, {}), inputs)


@pytest.mark.parametrize("zero", [None, 100, "input"])
@pytest.mark.parametrize("pads", [[0, 0, 0, 0], [1, 2, 1, 0]])
def test_conv_integer(zero, pads):
    inputs, weights = {"x": whole("uint8", (1, 3, 6, 7))}, {"w": whole("int8", (5, 3, 3, 3))}
    names = ["x", "w"]
    if zero is not None:
        names.append("z")
        (inputs if zero == "input" else weights)["z"] = np.array(100, "uint8")
    node = helper.make_node("ConvInteger", names, ["y"], pads=pads)
    check(make_model([node], inputs, weights), inputs)


def test_dynamically_quantised_product():
    weights = {"w": whole("int8", (33, 17)), "ws": scale(0.02), "bias": real(17)}
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        helper.make_node("MatMulInteger", ["q", "w", "z"], ["p"]),
        helper.make_node("Cast", ["p"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["s", "ws"], ["both"]),
        helper.make_node("Mul", ["f", "both"], ["g"]),
        helper.make_node("Add", ["g", "bias"], ["y"]),
    ]
    x = real(2, 5, 33)
    check(make_model(nodes, {"x": x}, weights), {"x": x})


def microsoft(op, inputs, **attrs):
    return helper.make_node(op, inputs, ["y"], domain=MICROSOFT, **attrs)


def test_fused_dynamic_products():
    weights = {"w": whole("int8", (33, 17)), "ws": scale(0.02), "wz": np.array(0, "int8")}
    weights |= {"bias": real(17), "as": scale(0.03), "az": np.array(99, "uint8")}
    x, q = real(5, 33), whole("uint8", (5, 33))
    node = microsoft("DynamicQuantizeMatMul", ["x", "w", "ws", "wz", "bias"])
    check(make_model([node], {"x": x}, weights), {"x": x})
    node = microsoft("MatMulIntegerToFloat", ["x", "w", "as", "ws", "az", "wz", "bias"])
    check(make_model([node], {"x": q}, weights), {"x": q})


@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
def test_binary(op):
    inputs = {"a": whole("uint8", (2, 3, 4, 5)), "b": whole("uint8", (2, 3, 4, 5), seed=1)}
    weights = {"as": scale(0.0207), "az": np.array(120, "uint8"), "bs": scale(0.0311)}
    weights |= {"bz": np.array(90, "uint8"), "ys": scale(0.0413), "yz": np.array(128, "uint8")}
    node = microsoft(op, ["a", "as", "az", "b", "bs", "bz", "ys", "yz"])
    check(make_model([node], inputs, weights), inputs, 1, 0.02)


UNARY = {
    "QLinearSigmoid": {},
    "QLinearLeakyRelu": {"alpha": 0.1},
    "QLinearGlobalAveragePool": {"channels_last": 0},
    "QLinearAveragePool": {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]},
    "QLinearSoftmax": {"axis": -1, "opset": 13},
}


@pytest.mark.parametrize("op", UNARY)
def test_unary(op):
    x = whole("uint8", (2, 3, 8, 9))
    last = scale(1 / 256) if op in ("QLinearSigmoid", "QLinearSoftmax") else scale(0.03)
    weights = {"xs": scale(0.04), "xz": np.array(110, "uint8"), "ys": last}
    weights["yz"] = np.array(0 if op == "QLinearSoftmax" else 100, "uint8")
    node = microsoft(op, ["x", "xs", "xz", "ys", "yz"], **UNARY[op])
    check(make_model([node], {"x": x}, weights), {"x": x}, 1, 0.02)


def test_concat_and_where():
    inputs = {"a": whole("uint8", (2, 3, 4)), "b": whole("uint8", (2, 3, 4), seed=1)}
    weights = {"s": scale(0.0207), "z": np.array(3, "uint8"), "t": scale(0.0311)}
    node = microsoft("QLinearConcat", ["s", "z", "a", "s", "z", "b", "t", "z"], axis=1)
    check(make_model([node], inputs, weights), inputs, 1, 0.02)
    inputs = {"c": np.random.default_rng(0).random((2, 3, 4)) < 0.5, **inputs}
    node = microsoft("QLinearWhere", ["c", "a", "s", "z", "b", "t", "z", "s", "z"])
    check(make_model([node], inputs, weights), inputs, 1, 0.02)


@pytest.mark.parametrize("transposed", [0, 1])
@pytest.mark.parametrize("quantized", [False, True])
def test_qgemm(transposed, quantized):
    n, k = 17, 33
    weights = {
        "as": scale(0.02),
        "az": np.array(100, "uint8"),
        "b": whole("int8", (n, k) if transposed else (k, n)),
        "bs": np.linspace(0.01, 0.03, n, dtype=np.float32),
        "bz": np.zeros(n, "int8"),
        "c": np.random.default_rng(1).integers(-900, 900, n).astype(np.int32),
    }
    inputs = ["x", "as", "az", "b", "bs", "bz", "c"]
    if quantized:
        weights |= {"ys": scale(0.5), "yz": np.array(128, "uint8")}
        inputs += ["ys", "yz"]
    x = whole("uint8", (5, k))
    check(make_model([microsoft("QGemm", inputs, transB=transposed)], {"x": x}, weights), {"x": x})


def test_what_is_refused():
    x = real(2, 3)
    attention = microsoft("QAttention", ["x", "x", "x", "s", "s"], num_heads=1)
    with pytest.raises(OpNotImplemented, match=r"com.microsoft.QAttention"):
        from_onnx(make_model([attention], {"x": x}, {"s": scale(1)}))
    blocks = helper.make_node("QuantizeLinear", ["x", "s"], ["y"], block_size=2)
    with pytest.raises(ValueError, match="expects 2 numbers for axis 1 of the scale"):
        from_onnx(make_model([blocks], {"x": x}, {"s": real(2, 3)}, opset=21))
    blocks = helper.make_node("QuantizeLinear", ["x", "s"], ["y"], block_size=-2)
    with pytest.raises(ValueError, match="block_size must be at least 0"):
        from_onnx(make_model([blocks], {"x": x}, {"s": real(2, 2)}, opset=21))
    scales = microsoft("QLinearAdd", ["x", "s", "z", "x", "s", "z", "s", "z"])
    weights = {"s": real(2), "z": np.zeros(2, "uint8")}
    with pytest.raises(ValueError, match="must hold one number"):
        from_onnx(make_model([scales], {"x": whole("uint8", (3, 2))}, weights))
