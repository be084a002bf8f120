# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""``tvm explain`` counts what kernels of every kind have to do: work that is known by hand."""

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tvm.cli import main


def weight(name, value):
    return numpy_helper.from_array(np.asarray(value), name)


def normal(*shape):
    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32) / 8


def explain(tmp_path, capsys, nodes, inputs, output, weights, *argv):
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs]
    result = helper.make_tensor_value_info(output[0], TensorProto.FLOAT, output[1])
    graph = helper.make_graph(nodes, "g", values, [result], weights)
    path = str(tmp_path / "model.onnx")
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    capsys.readouterr()
    given = ["--peak", "100", "--bandwidth", "10", "--repeat", "1", "--json"]
    assert main(["explain", path, *given, *argv]) == 0
    data = json.loads(capsys.readouterr().out)
    return data, [k for k in data["kernels"] if k["flops"] is not None]


def convolution(tmp_path, capsys, channels, size):
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])]
    shape = [1, channels, size, size]
    weights = [weight("w", normal(channels, channels, 3, 3))]
    return explain(tmp_path, capsys, nodes, [("x", shape)], ("y", shape), weights)


def test_winograd_counts_as_a_convolution(tmp_path, capsys):
    channels, size = 128, 28
    data, kernels = convolution(tmp_path, capsys, channels, size)
    (kernel,) = [k for k in kernels if k["rule"] == "winograd"]
    work = 2 * size * size * channels * channels * 9
    assert kernel["flops"] == work
    # It multiplies at 36 points where a convolution does so 144 times.
    assert kernel["bound_flops"] == work / 4
    assert kernel["bound_seconds"] >= work / 4 / 100e9
    assert kernel["type"] == "float32"
    assert data["machine"]["gflops_of"]["float32"] == 100


def test_a_border_is_no_work(tmp_path, capsys):
    _, kernels = convolution(tmp_path, capsys, 8, 5)
    products = [k for k in kernels if k["flops"]]
    assert [k["flops"] for k in products] == [2 * 5 * 5 * 8 * 8 * 9]
    assert products[0]["bound_flops"] == products[0]["flops"]


def test_attention(tmp_path, capsys):
    heads, rows, size = 4, 48, 32
    shape = [1, heads, rows, size]
    nodes = [
        helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["q", "kt"], ["s"]),
        helper.make_node("Softmax", ["s"], ["p"], axis=-1),
        helper.make_node("MatMul", ["p", "v"], ["y"]),
    ]
    inputs = [(name, shape) for name in "qkv"]
    _, kernels = explain(tmp_path, capsys, nodes, inputs, ("y", shape), [])
    (kernel,) = [k for k in kernels if k["rule"] == "attention"]
    scores = heads * rows * rows
    # Two products, and of each score a maximum, a subtraction, exp, a sum and a division.
    assert kernel["flops"] == scores * (2 * size + 2 * size + 5)
    assert kernel["bytes"] == 4 * 4 * heads * rows * size


def test_a_convolution_of_bytes_is_one_whatever_its_indices_multiply(tmp_path, capsys):
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "xz"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "s", "xz"], ["xf"]),
        helper.make_node("DequantizeLinear", ["wq", "s", "wz"], ["wf"]),
        helper.make_node("Conv", ["xf", "wf"], ["y"], pads=[1, 1, 1, 1]),
    ]
    weights = [
        weight("s", np.float32(0.02)),
        weight("xz", np.uint8(0)),
        weight("wq", np.random.default_rng(0).integers(-127, 128, (32, 16, 3, 3)).astype(np.int8)),
        weight("wz", np.int8(0)),
    ]
    shapes = [("x", [1, 16, 8, 8])], ("y", [1, 32, 8, 8])
    _, kernels = explain(tmp_path, capsys, nodes, *shapes, weights)
    (kernel,) = [k for k in kernels if k["rule"] == "contraction"]
    assert kernel["type"] == "int8"


def test_products_of_bytes_have_a_bound_of_their_own(tmp_path, capsys):
    rows, k, n = 64, 128, 96
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "xs", "xz"], ["xf"]),
        helper.make_node("DequantizeLinear", ["wq", "ws", "wz"], ["wf"]),
        helper.make_node("MatMul", ["xf", "wf"], ["y"]),
    ]
    scale = np.float32(0.02)
    weights = [
        weight("xs", scale),
        weight("xz", np.uint8(128)),
        weight("wq", np.random.default_rng(0).integers(-127, 128, (k, n)).astype(np.int8)),
        weight("ws", scale),
        weight("wz", np.int8(0)),
    ]
    data, kernels = explain(tmp_path, capsys, nodes, [("x", [rows, k])], ("y", [rows, n]), weights)
    (kernel,) = [k_ for k_ in kernels if k_["type"] == "int8"]
    products = 2 * rows * n * k
    assert products <= kernel["flops"] <= products + 8 * rows * n
    # Bytes go in, 32 bits come out.
    assert kernel["bytes"] < rows * k + (k + 16) * n + 4 * rows * n + 4 * 4 * n
    peak = data["machine"]["gflops_of"]["int8"]
    if kernel["bound"] == "compute":
        assert kernel["bound_seconds"] == pytest.approx(kernel["flops"] / (peak * 1e9))


def test_bf16_products(tmp_path, capsys):
    rows, k, n = 256, 128, 96
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    data, kernels = explain(
        tmp_path,
        capsys,
        nodes,
        [("x", [rows, k])],
        ("y", [rows, n]),
        [weight("w", normal(k, n))],
        "--precision",
        "bf16",
    )
    (kernel,) = [k_ for k_ in kernels if k_["type"] == "bfloat16"]
    assert kernel["flops"] == 2 * rows * n * k
    assert data["machine"]["gflops_of"]["bfloat16"] > 0


def test_lstm(tmp_path, capsys):
    steps, size, hidden = 2, 24, 32
    nodes = [helper.make_node("LSTM", ["x", "w", "r", "b"], ["y", "h"], hidden_size=hidden)]
    weights = [
        weight("w", normal(1, 4 * hidden, size)),
        weight("r", normal(1, 4 * hidden, hidden)),
        weight("b", normal(1, 8 * hidden)),
    ]
    _, kernels = explain(
        tmp_path, capsys, nodes, [("x", [steps, 1, size])], ("h", [1, 1, hidden]), weights
    )
    products = 2 * steps * 4 * hidden * (size + hidden)
    total = sum(k["flops"] for k in kernels)
    assert products <= total <= products + 20 * steps * 4 * hidden
    assert all(k["bound_flops"] == k["flops"] for k in kernels)
