# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Models that must be refused, with messages that say what and where."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tvm.error import OpNotImplemented
from tvm.relax.frontend.onnx import from_onnx


def model(nodes, shape=(2, 4), domains=(("", 17),), weights=()):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, list(shape))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", [x], [y], list(weights))
    imports = [helper.make_opsetid(d, v) for d, v in domains]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def node(op, inputs=("x",), **attrs):
    return helper.make_node(op, list(inputs), ["y"], name="n0", **attrs)


def test_all_unsupported_operators_are_named_at_once():
    nodes = [
        helper.make_node("Det", ["x"], ["a"]),
        helper.make_node("StringNormalizer", ["a"], ["b"]),
        helper.make_node("Relu", ["b"], ["y"]),
    ]
    with pytest.raises(OpNotImplemented, match="frontend ONNX: Det, StringNormalizer"):
        from_onnx(model(nodes))


def test_foreign_domain_is_not_taken_for_the_standard_one():
    foreign = helper.make_node("Relu", ["x"], ["y"], domain="com.example")
    with pytest.raises(OpNotImplemented, match="com.example.Relu"):
        from_onnx(model([foreign], domains=(("", 17), ("com.example", 1))))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (node("Transpose", perm=[0, 0]), "no permutation"),
        (node("Softmax", axis=7), "out of|range|axis"),
        (node("Relu", alpha=1.0), "attributes not understood.*alpha"),
        (node("Concat", ("x", "x"), axis=5), "axis 5 is out of range"),
        (node("Split", axis=1, num_outputs=3), "num_outputs 3 does not fit"),
        (node("Conv", ("x", "w")), "spatial|rank|weight"),
        (node("MatMul", ("x", "nowhere")), "reads 'nowhere'"),
    ],
)
def test_inconsistent_nodes(bad, message):
    weight = numpy_helper.from_array(np.zeros((3, 3), np.float32), "w")
    with pytest.raises(Exception, match=message):
        from_onnx(model([bad], weights=[weight]))


def test_shapes_that_do_not_fit_the_model():
    relu = model([node("Relu")])
    with pytest.raises(ValueError, match="rank 2"):
        from_onnx(relu, shape_dict={"x": [1, 2, 3]})
    with pytest.raises(ValueError, match="names \\['z'\\]"):
        from_onnx(relu, shape_dict={"z": [1]})
    with pytest.raises(TypeError, match="ModelProto"):
        from_onnx(b"model")


def test_damaged_initializer():
    weight = numpy_helper.from_array(np.zeros((3, 3), np.float32), "w")
    weight.raw_data = weight.raw_data[:-5]
    with pytest.raises(ValueError, match="'w'.*damaged"):
        from_onnx(model([node("MatMul", ("x", "w"))], shape=(2, 3), weights=[weight]))


def test_integer_division_truncates_exactly():
    import tvm
    from tvm import relax

    a = helper.make_tensor_value_info("a", TensorProto.INT64, [4])
    b = helper.make_tensor_value_info("b", TensorProto.INT64, [4])
    y = helper.make_tensor_value_info("y", TensorProto.INT64, [4])
    graph = helper.make_graph([helper.make_node("Div", ["a", "b"], ["y"])], "g", [a, b], [y])
    m = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    vm = relax.VirtualMachine(tvm.compile(from_onnx(m), "llvm"), tvm.cpu())
    x = np.array([-7, 7, 9007199254740993, -9007199254740993])
    d = np.array([2, -2, 1, 1])
    got = vm["main"](tvm.runtime.tensor(x), tvm.runtime.tensor(d)).numpy()
    assert got.tolist() == [-3, -3, 9007199254740993, -9007199254740993]


@pytest.mark.parametrize("opset", [11, 13])
def test_softmax_flattens_before_opset_13(opset):
    import tvm
    from tvm import relax

    axis = 1
    m = model([node("Softmax", axis=axis)], shape=(2, 3, 4), domains=(("", opset),))
    vm = relax.VirtualMachine(tvm.compile(from_onnx(m), "llvm"), tvm.cpu())
    x = np.random.default_rng(1).standard_normal((2, 3, 4)).astype(np.float32)
    axes = (1, 2) if opset < 13 else axis
    e = np.exp(x - x.max(axes, keepdims=True))
    got = vm["main"](tvm.runtime.tensor(x)).numpy()
    np.testing.assert_allclose(got, e / e.sum(axes, keepdims=True), rtol=1e-5)


def test_negative_indices_steps_and_empty_slices():
    import tvm
    from tvm import relax

    def const(values, name):
        return numpy_helper.from_array(np.array(values, np.int64), name)

    nodes = [
        helper.make_node("Slice", ["x", "s", "e", "a", "t"], ["r"]),
        helper.make_node("Gather", ["r", "i"], ["y"], axis=1),
    ]
    weights = [const([-1], "s"), const([-100], "e"), const([0], "a"), const([-1], "t")]
    m = model(nodes, shape=(3, 4), weights=[*weights, const([-1, 0], "i")])
    vm = relax.VirtualMachine(tvm.compile(from_onnx(m), "llvm"), tvm.cpu())
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(vm["main"](tvm.runtime.tensor(x)).numpy(), x[::-1][:, [-1, 0]])
