# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""The command against paths, numbers and pipes that are not what they should be."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tvm.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attack")
    info = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3])  # noqa: E731
    # An output may be called like a parameter of numpy's own writer.
    nodes = [helper.make_node("Neg", ["x"], ["file"])]
    graph = helper.make_graph(nodes, "g", [info("x")], [info("file")])
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), folder / "m.onnx")
    np.save(folder / "x.npy", np.ones((2, 3), np.float32))
    assert main(["compile", str(folder / "m.onnx"), "-o", str(folder / "m.so")]) == 0
    return folder


def fails(capsys, *argv):
    capsys.readouterr()
    assert main([str(a) for a in argv]) == 2
    message = capsys.readouterr().err
    assert "InternalError" not in message
    return message


def test_compiled_mode(folder, capsys):
    library = folder / "native.so"
    argv = ["compile", str(folder / "m.onnx"), "-o", str(library), "--exec-mode", "compiled"]
    assert main(argv) == 0
    argv = ["run", str(library), "--input", str(folder / "x.npy"), "--output", str(folder / "y")]
    assert main(argv) == 0
    with np.load(folder / "y") as outputs:  # exactly the path that was asked for
        np.testing.assert_array_equal(outputs["file"], -np.ones((2, 3), np.float32))
    with pytest.raises(SystemExit) as caught:
        main([*argv[:3], "--exec-mode", "other"])
    assert caught.value.code == 2


def test_modes_do_not_share_a_cache_entry(folder, tmp_path, monkeypatch):
    from tvm.driver.onnx import compile_onnx

    monkeypatch.setenv("TVM_CACHE_DIR", str(tmp_path))
    for _ in range(2):
        for mode in ("bytecode", "compiled"):
            text = compile_onnx(folder / "m.onnx", exec_mode=mode).as_text()
            assert ("@main num_inputs=1 vm_tir_func;" in text) == (mode == "compiled")
    with pytest.raises(ValueError, match="exec_mode"):
        compile_onnx(folder / "m.onnx", exec_mode="other")


def test_outputs_that_are_no_files(folder, capsys, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for output in (tmp_path, tmp_path / "no" / "o.so", "", pipe):
        fails(capsys, "compile", folder / "m.onnx", "-o", output)
        fails(capsys, "run", folder / "m.so", "--input", folder / "x.npy", "--output", output)
    assert pipe.is_fifo()


def test_the_library_writer_replaces_files_only(folder, tmp_path):
    from tvm.driver.onnx import compile_onnx

    executable = compile_onnx(folder / "m.onnx")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, tmp_path / "no" / "o.so"):
        with pytest.raises(ValueError, match="expected the path of a file|there is no folder"):
            executable.export_library(str(path))
    assert pipe.is_fifo()


def test_inputs_are_not_overwritten(folder, capsys, tmp_path):
    for name in ("m.onnx", "m.so", "x.npy"):
        shutil.copy(folder / name, tmp_path / name)
    (tmp_path / "link").symlink_to("m.onnx")
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    for output in ("m.onnx", "link"):
        fails(capsys, "compile", tmp_path / "m.onnx", "-o", tmp_path / output)
    for output in ("m.so", "x.npy"):
        argv = ["run", tmp_path / "m.so", "--input", tmp_path / "x.npy", "--output"]
        assert "overwrite" in fails(capsys, *argv, tmp_path / output)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_numbers_out_of_range(folder, capsys):
    library, x = folder / "m.so", folder / "x.npy"
    for threads in ("0", "-1", "99999999999999"):
        assert "--threads" in fails(capsys, "run", library, "--input", x, "--threads", threads)
    for seconds in ("nan", "-1", "inf"):
        assert "--seconds" in fails(capsys, "bench", library, "--seconds", seconds)
    for peak in ("nan", "0", "inf"):
        assert "--peak" in fails(capsys, "explain", folder / "m.onnx", "--peak", peak)
    twice = fails(capsys, "run", library, "--input", f"x={x}", "--input", f"x={x}")
    assert "given twice" in twice


def test_a_target_without_a_generator_is_no_cpu(folder, capsys):
    argv = ["compile", folder / "m.onnx", "-o", folder / "gpu.so", "--target"]
    assert "`cuda`" in fails(capsys, *argv, "cuda")
    fails(capsys, *argv, "")


def test_output_that_nobody_takes(folder, child_env):
    command = [sys.executable, "-m", "tvm", "inspect", str(folder / "m.so"), "--json"]
    env = child_env()
    read, write = os.pipe()
    os.close(read)
    gone = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, env=env, text=True)
    os.close(write)
    assert (gone.returncode, gone.stderr) == (141, "")
    taken = subprocess.run(command, capture_output=True, env=env, text=True)
    assert taken.returncode == 0 and json.loads(taken.stdout)
