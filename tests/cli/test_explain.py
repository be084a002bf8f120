# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""``tvm explain``: what it says of kernels whose work is known by hand."""

import json
from html.parser import HTMLParser

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tvm.cli import main

M, K, N = 64, 96, 160


def weight(name, *shape):
    rng = np.random.default_rng(0)
    return numpy_helper.from_array(rng.standard_normal(shape, dtype=np.float32), name)


def save(path, nodes, inputs, outputs, weights):
    infos = [
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in values]
        for values in (inputs, outputs)
    ]
    graph = helper.make_graph(nodes, "g", *infos, weights)
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), str(path))
    return str(path)


@pytest.fixture(scope="module")
def product(tmp_path_factory):
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Relu", ["h"], ["y"]),
    ]
    path = tmp_path_factory.mktemp("explain") / "product.onnx"
    return save(path, nodes, [("x", [M, K])], [("y", [M, N])], [weight("w", K, N)])


def explain(capsys, *argv):
    capsys.readouterr()
    given = ["--peak", "100", "--bandwidth", "10", "--repeat", "2", "--json"]
    assert main(["explain", *argv, *given]) == 0
    return json.loads(capsys.readouterr().out)


def test_counts_of_a_product_with_an_epilogue(product, capsys):
    data = explain(capsys, product)
    assert data["machine"]["gflops"] == 100 and data["machine"]["gbytes"] == 10
    kernels = [k for k in data["kernels"] if k["flops"] is not None]
    assert len(kernels) == 1
    (kernel,) = kernels
    # A multiplication and an addition for each product, one maximum for each result.
    assert kernel["flops"] == 2 * M * N * K + M * N
    assert kernel["bytes"] == 4 * (M * K + K * N + M * N)
    assert kernel["rule"] and kernel["rule"] not in ("plain", "as written")
    assert "panels" in kernel["layout"]
    assert kernel["bound"] == "compute"
    assert kernel["bound_seconds"] == pytest.approx(kernel["flops"] / 100e9)
    assert kernel["attained"] == pytest.approx(kernel["bound_seconds"] / kernel["seconds"])
    assert sum(k["share"] for k in data["kernels"]) == pytest.approx(1)


def test_the_kernels_of_a_precision(tmp_path, capsys):
    nodes, rows = [helper.make_node("MatMul", ["x", "w"], ["y"])], 4 * M
    path = tmp_path / "large.onnx"
    large = save(path, nodes, [("x", [rows, K])], [("y", [rows, N])], [weight("w", K, N)])
    data = explain(capsys, large, "--precision", "bf16")
    assert data["precision"] == "bf16" and explain(capsys, large)["precision"] == "float32"
    operands = [o for k in data["kernels"] for o in k["operands"]]
    assert any("bfloat16" in o for o in operands)


def test_a_lookup_counts_the_rows_it_reads(tmp_path, capsys):
    nodes = [
        helper.make_node("Cast", ["x"], ["i"], to=TensorProto.INT64),
        helper.make_node("Gather", ["table", "i"], ["y"], axis=0),
    ]
    path = save(
        tmp_path / "lookup.onnx",
        nodes,
        [("x", [3])],
        [("y", [3, 32])],
        [weight("table", 5000, 32)],
    )
    data = explain(capsys, path)
    rows = sum(k["bytes"] for k in data["kernels"] if k["bytes"] is not None)
    assert 2 * 3 * 32 * 4 <= rows < 10000
    assert all(k["bound"] in ("memory", None) for k in data["kernels"])


class Text(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.links = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [v for k, v in attrs if k in ("src", "href")]


def test_page_stands_alone(product, capsys, tmp_path):
    page = tmp_path / "page.html"
    data = explain(capsys, product, "--html", str(page))
    text = page.read_text()
    parser = Text()
    parser.feed(text)
    assert not parser.links and "script" not in parser.tags and "url(" not in text
    assert parser.tags.count("tr") == 1 + len(data["kernels"])
    for kernel in data["kernels"]:
        assert kernel["kernel"] in text


def test_table_and_measured_bounds(product, capsys):
    capsys.readouterr()
    assert main(["explain", product, "--repeat", "1"]) == 0
    shown = capsys.readouterr().out
    assert "of bound" in shown and "GFLOP/s" in shown and "panels" in shown


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--peak", "0"], "--peak expects a positive number"),
        (["--bandwidth", "-1"], "--bandwidth expects a positive number"),
        (["--repeat", "0"], "--repeat expects a positive number"),
        (["--threads", "0"], "--threads expects a number from 1"),
        (["--shape", "q=1"], "inputs are ['x']"),
    ],
)
def test_bad_arguments(product, capsys, argv, message):
    assert main(["explain", product, *argv]) == 2
    assert message in capsys.readouterr().err


def test_no_model(capsys, tmp_path):
    path = tmp_path / "noise.onnx"
    path.write_bytes(b"\x7fELF" + bytes(100))
    for name in (path, tmp_path / "absent.onnx"):
        assert main(["explain", str(name)]) == 2
        assert "ONNX model" in capsys.readouterr().err
