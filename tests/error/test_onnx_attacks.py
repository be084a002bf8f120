# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Models that once crashed, hung, read outside of a tensor or gave wrong numbers."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import tvm
from tvm import relax
from tvm.error import OpNotImplemented
from tvm.relax.frontend.onnx import from_onnx


def f32(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def model(nodes, inputs, weights=None, outputs=("y",), opset=18, extents=None):
    def info(name, array):
        dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
        shape = list(array.shape) if extents is None else extents
        return helper.make_tensor_value_info(name, dtype, shape)

    graph = helper.make_graph(
        nodes,
        "g",
        [info(name, array) for name, array in inputs.items()],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in (weights or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def node(op, inputs, outputs=("y",), **attrs):
    return helper.make_node(op, list(inputs), list(outputs), name="n0", **attrs)


def run(proto, inputs, exec_mode="bytecode"):
    vm = relax.VirtualMachine(tvm.compile(from_onnx(proto), "llvm", exec_mode=exec_mode), tvm.cpu())
    result = vm["main"](*(tvm.runtime.tensor(v) for v in inputs.values()))
    return result.numpy() if hasattr(result, "numpy") else [r.numpy() for r in result]


def refused(proto, *parts, kind=(ValueError, TypeError, OpNotImplemented)):
    """The import fails with a text that has all the parts."""
    with pytest.raises(kind) as caught:
        from_onnx(proto)
    for part in parts:
        assert part in str(caught.value), str(caught.value)


INDEX = np.zeros((2, 2), np.int64)
BAD_OPERANDS = {
    "scatter writes past the data": (
        node("ScatterElements", "xiu"),
        {"x": f32(2, 2), "i": np.zeros((1, 5000), np.int64), "u": f32(1, 5000)},
    ),
    "scatter reads past the updates": (
        node("ScatterElements", "xiu"),
        {"x": f32(2, 2), "i": INDEX, "u": f32(1, 2)},
    ),
    "scatter_nd reads past the indices": (
        node("ScatterND", "xiu"),
        {"x": f32(2, 2), "i": np.zeros((2, 1), np.int64), "u": f32(900, 2)},
    ),
    "scatter_nd writes past a row": (
        node("ScatterND", "xiu"),
        {"x": f32(2, 2), "i": np.zeros((2, 1), np.int64), "u": f32(2, 900)},
    ),
    "gather_elements reads past a row": (
        node("GatherElements", "xi"),
        {"x": f32(2, 2), "i": np.zeros((1, 50), np.int64)},
    ),
    "gather_nd batches": (
        node("GatherND", "xi", batch_dims=1),
        {"x": f32(2, 2), "i": np.zeros((500, 1), np.int64)},
    ),
    "gather of nothing": (
        node("Gather", "xi"),
        {"x": f32(0, 2), "i": np.zeros((2,), np.int64)},
    ),
    "gather_elements of nothing": (node("GatherElements", "xi"), {"x": f32(0, 2), "i": INDEX}),
    "per-channel scale": (
        node("DequantizeLinear", "xsz"),
        {"x": np.zeros((2, 300), np.uint8), "s": f32(3), "z": np.zeros(3, np.uint8)},
    ),
    "scale of blocks": (
        node("DequantizeLinear", "xsz", axis=0, block_size=2),
        {"x": np.zeros((300, 2), np.uint8), "s": f32(3, 2), "z": np.zeros((3, 2), np.uint8)},
    ),
    "lstm state": (
        node("LSTM", ["x", "w", "r", "", "", "h"], hidden_size=4),
        {"x": f32(3, 2, 3), "w": f32(1, 16, 3), "r": f32(1, 16, 4), "h": f32(1, 1, 1)},
    ),
    "lstm direction": (
        node("LSTM", "xwr", hidden_size=4, direction="sideways"),
        {"x": f32(3, 2, 3), "w": f32(1, 16, 3), "r": f32(1, 16, 4)},
    ),
    "bias": (node("Conv", "xwb"), {"x": f32(1, 3, 4, 4), "w": f32(2, 3, 3, 3), "b": f32(3)}),
    "types": (node("Add", "xw"), {"x": f32(3), "w": np.zeros(3)}),
    "type of a condition": (node("And", "xw"), {"x": f32(3), "w": f32(3)}),
    "number of inputs": (node("Relu", "xw"), {"x": f32(3), "w": f32(3)}),
    "attribute type": (node("Softmax", "x", axis=1.5), {"x": f32(3, 3)}),
    "block size": (node("DepthToSpace", "x", blocksize=0), {"x": f32(1, 4, 2, 2)}),
    "position of nothing": (node("ArgMax", "x"), {"x": f32(0, 3)}),
    "no element type": (node("Cast", "x", to=99), {"x": f32(3)}),
}


@pytest.mark.parametrize("case", BAD_OPERANDS)
def test_operands_that_do_not_fit_are_refused_by_name(case):
    bad, inputs = BAD_OPERANDS[case]
    refused(model([bad], inputs), bad.op_type, "'n0'")


@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap"])
def test_padding_that_has_nothing_to_repeat(mode):
    pad = node("Pad", "xp", mode=mode)
    refused(model([pad], {"x": f32(0)}, {"p": np.array([1, 1])}, opset=19), "Pad", "'n0'")


def test_reflection_needs_enough_elements():
    refused(
        model([node("Pad", "xp", mode="reflect")], {"x": f32(3)}, {"p": np.array([7, 8])}), "n0"
    )


@pytest.mark.parametrize("exec_mode", ["bytecode", "compiled"])
@pytest.mark.parametrize(
    ("nodes", "inputs", "expected"),
    [
        ([node("MatMul", "xw")], {"x": f32(0, 3), "w": f32(3, 2)}, np.zeros((0, 2), np.float32)),
        ([node("MatMul", "xw")], {"x": f32(2, 0), "w": f32(0, 2)}, np.zeros((2, 2), np.float32)),
        ([node("Tile", "xr")], {"x": f32(0, 2)}, np.zeros((0, 4), np.float32)),
        ([node("ReduceSum", "xa", keepdims=0)], {"x": f32(3, 0)}, np.zeros((0,), np.float32)),
        ([node("GlobalAveragePool", "x")], {"x": f32(0, 3, 2, 2)}, np.zeros((0, 3, 1, 1), "f4")),
    ],
)
def test_loops_over_nothing(nodes, inputs, expected, exec_mode):
    weights = {"r": np.array([3, 2])} if nodes[0].op_type == "Tile" else {}
    weights |= {"a": np.array([0])} if nodes[0].op_type == "ReduceSum" else {}
    got = run(model(nodes, inputs, weights), inputs, exec_mode)
    np.testing.assert_array_equal(got, expected)


def test_a_reshape_of_no_elements_keeps_its_zero():
    proto = model([node("Reshape", "xs", allowzero=1)], {"x": f32(0, 3)}, {"s": np.array([3, 0])})
    assert run(proto, {"x": f32(0, 3)}).shape == (3, 0)


def test_top_zero_elements():
    proto = model([node("TopK", "xk", "vi")], {"x": f32(3, 5)}, {"k": np.array([0])}, "vi")
    assert [v.shape for v in run(proto, {"x": f32(3, 5)})] == [(3, 0), (3, 0)]


def test_a_step_longer_than_any_extent():
    limits = {"s": [0], "e": [2**63 - 1], "a": [1], "t": [2**63 - 1]}
    weights = {k: np.array(v, np.int64) for k, v in limits.items()}
    x = f32(4, 5)
    got = run(model([node("Slice", "xseat")], {"x": x}, weights), {"x": x})
    np.testing.assert_array_equal(got, x[:, :1])


def test_integers_stay_integers():
    base = np.array([3, -3, 2, 0, -1, 1, 7])
    power = np.array([39, 39, 62, 0, -3, -2, 100])
    inputs = {"b": base, "e": power}
    want = []
    for b, e in zip(base.tolist(), power.tolist()):
        exact = b**e if e >= 0 else {1: 1, -1: -1 if e % 2 else 1}.get(b, 0)
        want.append((exact + 2**63) % 2**64 - 2**63)
    assert run(model([node("Pow", "be")], inputs), inputs).tolist() == want

    fill = {"p": np.array([1, 1]), "v": np.array(2**62 + 1)}
    x = np.array([5])
    assert run(model([node("Pad", "xpv")], {"x": x}, fill), {"x": x}).tolist() == [
        2**62 + 1,
        5,
        2**62 + 1,
    ]

    low = np.iinfo(np.int64).min
    constants = {"a": np.array([low, -7, 7]), "b": np.array([2, 2, -2])}
    folded = model([node("Div", "ab", "q"), node("Add", "qx")], {"x": x}, constants)
    assert run(folded, {"x": np.array([0])}).tolist() == [-(2**62), -3, -3]


def test_log_sum_exp_of_infinities():
    x = np.array([[1, np.inf], [-np.inf, -np.inf], [0, 0]], np.float32)
    proto = model([node("ReduceLogSumExp", "xa", keepdims=0)], {"x": x}, {"a": np.array([1])})
    np.testing.assert_allclose(run(proto, {"x": x}), [np.inf, -np.inf, np.log(2)], rtol=1e-6)


@pytest.mark.parametrize("op", ["Add", "LeakyRelu", "Softplus", "Elu"])
def test_long_chains_do_not_grow_without_end(op):
    """Operators that read an operand twice, written into each other, doubled with each step."""
    count, nodes, x = 40, [], f32(2, 3)
    for i in range(count):
        operands = ["x" if i == 0 else f"v{i}"] * (2 if op == "Add" else 1)
        nodes.append(helper.make_node(op, operands, [f"v{i + 1}"]))
    got = run(model(nodes, {"x": x}, outputs=(f"v{count}",)), {"x": x})
    if op == "Add":
        np.testing.assert_allclose(got, x * 2.0**count, rtol=1e-6)
    assert got.shape == x.shape


def test_messages_print_plain_extents():
    proto = model([node("Flatten", "x")], {"x": f32(1, 2, 3)}, extents=["n", 2, 3])
    refused(proto, "(n, 2, 3)", "Flatten node 'n0'")


@pytest.mark.parametrize("location", ["../secret.bin", "{folder}/secret.bin", "link.bin", "absent"])
def test_external_data_outside_of_the_folder(tmp_path, location):
    (tmp_path / "secret.bin").write_bytes(f32(4, 3).tobytes())
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "link.bin").symlink_to("../secret.bin")
    proto = model([node("MatMul", "xw")], {"x": f32(2, 4)})
    weight = proto.graph.initializer.add(name="w", data_type=1, dims=[4, 3])
    weight.data_location = TensorProto.EXTERNAL
    weight.external_data.add(key="location", value=location.format(folder=tmp_path))
    (inner / "m.onnx").write_bytes(proto.SerializeToString())
    with pytest.raises(ValueError, match="external data is refused"):
        from_onnx(inner / "m.onnx")


def test_names_and_versions():
    x = {"x": f32(3)}
    refused(model([node("Relu", "x"), node("Neg", "x")], x), "'y'", "another value")
    refused(model([node("Relu", "x", "x")], x, outputs="x"), "'x'", "another value")
    for opset in (0, -1, 9999, 2**62):
        refused(model([node("Relu", "x")], x, opset=opset), f"opset {opset} is not known")
    text = model([node("Relu", "x")], x)
    text.graph.input[0].type.tensor_type.elem_type = TensorProto.STRING
    refused(text, "'x'", "STRING")
    shapeless = model([node("Relu", "x")], x)
    shapeless.graph.input[0].type.tensor_type.ClearField("shape")
    refused(shapeless, "'x' states no shape")


def test_extents_of_inputs():
    x = {"x": f32(3), "z": f32(3)}
    add = [node("Add", "xz")]
    refused(model(add, x, extents=[-5]), "'x'", "-1 for an open one", "[-5]")
    refused(model(add, x, extents=[2**62]), "n0", "no memory can hold")
    # Open extents are unlike each other, and so are names that look alike as identifiers.
    proto = model(add, x)
    for value, name in zip(proto.graph.input, ("a-b", "a_b")):
        value.type.tensor_type.shape.dim[0].dim_param = name
    first, second = (p.ty.shape[0] for p in from_onnx(proto)["main"].params)
    assert not first.same_as(second)
    for value, name in zip(proto.graph.input, ("?", "")):
        value.type.tensor_type.shape.dim[0].dim_param = name
    first, second = (p.ty.shape[0] for p in from_onnx(proto)["main"].params)
    assert (first.name, second.name) == ("d0", "d1")
    for value in proto.graph.input:
        value.type.tensor_type.shape.dim[0].dim_param = "n"
    first, second = (p.ty.shape[0] for p in from_onnx(proto)["main"].params)
    assert first.same_as(second)


@pytest.mark.parametrize("shape", [["a"], [2.5], None, 3, [None], [-1], [2**63], [2**70]])
def test_shapes_that_are_none(tmp_path, shape):
    from tvm.driver.onnx import compile_onnx

    proto = model([node("Relu", "x")], {"x": f32(3)}, extents=["n"])
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    for build in (
        lambda: from_onnx(proto, shape_dict={"x": shape}),
        lambda: compile_onnx(tmp_path / "m.onnx", shape_dict={"x": shape}),
    ):
        with pytest.raises((TypeError, ValueError), match="expected .*, got") as caught:
            build()
        assert "'x'" in str(caught.value)
