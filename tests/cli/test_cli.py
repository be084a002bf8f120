# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""The command: what it prints, and exit code 2 with a clear message for every bad input."""

import json
import random

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tvm.cli import main


def small_model(rows=2, depth=4, columns=3):
    rng = np.random.default_rng(0)
    weight = numpy_helper.from_array(rng.standard_normal((depth, columns), dtype=np.float32), "w")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Relu", ["h"], ["y"]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, depth])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, columns])
    graph = helper.make_graph(nodes, "small", [x], [y], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    onnx.save(small_model(), str(folder / "small.onnx"))
    library = folder / "small.so"
    assert main(["compile", str(folder / "small.onnx"), "-o", str(library), "--json"]) == 0
    return folder, library


def fails(capsys, *argv):
    """Exit code 2; returns the message."""
    capsys.readouterr()
    assert main([str(a) for a in argv]) == 2
    message = capsys.readouterr().err
    assert message.strip()
    return message


def test_run_writes_the_right_outputs(compiled, capsys):
    folder, library = compiled
    x = np.arange(8, dtype=np.float32).reshape(2, 4) - 4
    np.save(folder / "x.npy", x)
    argv = ["run", str(library), "--input", str(folder / "x.npy"), "--output"]
    assert main([*argv, str(folder / "y.npz")]) == 0
    weight = numpy_helper.to_array(small_model().graph.initializer[0])
    with np.load(folder / "y.npz") as z:
        np.testing.assert_allclose(z["y"], np.maximum(x @ weight, 0), rtol=1e-5, atol=1e-5)


def test_precision_changes_the_result_a_little(tmp_path):
    onnx.save(small_model(160, 128, 128), str(tmp_path / "large.onnx"))
    x = np.random.default_rng(1).standard_normal((160, 128)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    compiling = ["compile", str(tmp_path / "large.onnx"), "--precision"]
    found = []
    for precision in ("float32", "bf16"):
        library = tmp_path / f"{precision}.so"
        assert main([*compiling, precision, "-o", str(library)]) == 0
        run = ["run", str(library), "--input", str(tmp_path / "x.npy"), "--output"]
        assert main([*run, str(tmp_path / "y.npz")]) == 0
        with np.load(tmp_path / "y.npz") as z:
            found.append(z["y"])
    assert 0 < np.abs(found[0] - found[1]).max() < 2e-2 * np.abs(found[0]).max()
    with pytest.raises(SystemExit):
        main([*compiling, "fp4", "-o", str(tmp_path / "fp4.so")])


def test_bench_and_inspect_print_json(compiled, capsys):
    folder, library = compiled
    capsys.readouterr()
    assert main(["bench", str(library), "--seconds", "0.1", "--json", "--profile"]) == 0
    stats = json.loads(capsys.readouterr().out)
    assert stats["calls"] >= 5 and stats["median"] > 0 and stats["kernels"]
    assert main(["inspect", str(folder / "small.onnx"), "--json"]) == 0
    model = json.loads(capsys.readouterr().out)
    assert model["operators"] == {"MatMul": 1, "Relu": 1} and model["nodes"] == 2
    assert model["inputs"] == [{"name": "x", "dtype": "float", "shape": [2, 4]}]
    assert main(["inspect", str(library), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["file"] == str(library) and data["digest_ok"] and data["target"]
    assert data["vm_functions"] == [
        {
            "name": "main",
            "num_args": 1,
            "params": ["x"],
            "kind": "bytecode",
            "inputs": [{"name": "x", "dtype": "float32", "shape": [2, 4]}],
            "outputs": [{"name": "y", "dtype": "float32", "shape": [2, 3]}],
        }
    ]
    assert [c["dtype"] for c in data["constants"]] == ["float32"]
    assert main(["inspect", str(library)]) == 0
    shown = capsys.readouterr().out
    assert "x: float32[2, 4]" in shown and "y: float32[2, 3]" in shown


@pytest.mark.parametrize("cached", [False, True])
def test_compile_prints_json(tmp_path, capsys, cached):
    def graph(name, nodes, inputs=()):
        out = helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])
        return helper.make_graph(nodes, name, list(inputs), [out])

    branches = {
        "then_branch": graph("t", [helper.make_node("Neg", ["x"], ["t"])]),
        "else_branch": graph(
            "e", [helper.make_node("Exp", ["x"], ["h"]), helper.make_node("Neg", ["h"], ["e"])]
        ),
    }
    inputs = [
        helper.make_tensor_value_info("c", TensorProto.BOOL, []),
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]),
    ]
    node = helper.make_node("If", ["c"], ["y"], **branches)
    model, library = tmp_path / "m.onnx", tmp_path / "m.so"
    onnx.save(helper.make_model(graph("y", [node], inputs), ir_version=8), str(model))
    for _ in range(1 + cached):
        capsys.readouterr()
        assert main(["compile", str(model), "-o", str(library), "--json"]) == 0
        data = json.loads(capsys.readouterr().out)
    assert data["library"] == str(library) and data["bytes"] == library.stat().st_size
    assert data["nodes"] == 4 and data["seconds"] > 0


def test_inspect_says_what_is_wrong_with_a_model(tmp_path, capsys):
    (tmp_path / "bad.onnx").write_bytes(small_model().SerializeToString()[:-1] + b"\xff")
    assert "not an ONNX model" in fails(capsys, "inspect", tmp_path / "bad.onnx")
    (tmp_path / "wire.onnx").write_bytes(b"\x0a\x01a\x3a\x02\x0a\x00\x0c")
    message = fails(capsys, "inspect", tmp_path / "wire.onnx")
    assert "not an ONNX model (8 bytes): wire type 4 at byte 7" in message


def test_inputs_that_do_not_fit(compiled, capsys):
    folder, library = compiled
    cases = {
        "float64": (np.zeros((2, 4)), "expected dtype float32"),
        "rank": (np.zeros((2, 4, 1), np.float32), "expected rank 2"),
        "extent": (np.zeros((2, 5), np.float32), "extents differ"),
    }
    for name, (array, message) in cases.items():
        np.save(folder / f"{name}.npy", array)
        assert message in fails(capsys, "run", library, "--input", folder / f"{name}.npy")
    np.savez(folder / "names.npz", other=np.zeros((2, 4), np.float32))
    assert "unknown: ['other'], missing: ['x']" in fails(
        capsys, "run", library, "--input", folder / "names.npz"
    )
    assert "missing: ['x']" in fails(capsys, "run", library)


@pytest.mark.parametrize("tenth", range(10))
def test_truncated_files(compiled, capsys, tmp_path, tenth):
    folder, library = compiled
    np.savez(folder / "in.npz", x=np.zeros((2, 4), np.float32))
    for source in (folder / "small.onnx", library, folder / "in.npz"):
        data = source.read_bytes()
        part = tmp_path / source.name
        part.write_bytes(data[: len(data) * tenth // 10])
        if source.suffix == ".onnx":
            argv = ["compile", part, "-o", tmp_path / "out.so"]
        elif source.suffix == ".so":
            argv = ["run", part, "--input", folder / "in.npz"]
        else:
            argv = ["run", library, "--input", part]
        fails(capsys, *argv)
        if source.suffix != ".npz":
            # A cut library may still show its headers; a cut model never parses.
            assert main(["inspect", str(part)]) in ((2,) if source.suffix == ".onnx" else (0, 2))


def test_random_foreign_and_missing_files(compiled, capsys, tmp_path):
    folder, library = compiled
    noise = tmp_path / "noise"
    noise.write_bytes(random.Random(0).randbytes(4096))
    picture = tmp_path / "picture.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(512))
    for path in (noise, picture, tmp_path / "absent"):
        fails(capsys, "compile", path, "-o", tmp_path / "o.so")
        fails(capsys, "run", path, "--input", path)
        fails(capsys, "bench", path)
        fails(capsys, "inspect", path)
    fails(capsys, "run", folder / "small.onnx")
    fails(capsys, "compile", library, "-o", tmp_path / "o.so")


def test_bad_options(compiled, capsys, tmp_path):
    folder, _ = compiled
    model, out = folder / "small.onnx", tmp_path / "o.so"
    assert "NAME=D0,D1" in fails(capsys, "compile", model, "-o", out, "--shape", "x")
    assert "inputs are ['x']" in fails(capsys, "compile", model, "-o", out, "--shape", "z=1,2")
    assert "rank 2" in fails(capsys, "compile", model, "-o", out, "--shape", "x=1,2,3")
    message = fails(capsys, "compile", model, "-o", out, "--target", "nosuch")
    assert "nosuch" in message
