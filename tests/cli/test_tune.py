# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""``tvm compile --tune`` from end to end: real candidates, real processes."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time

import numpy as np
import onnx
import pytest

import tvm
from tvm.cli import main
from tvm.driver.onnx import compile_onnx


@pytest.fixture
def chain(make_chain):
    return make_chain(32, 96)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("TVM_CACHE_DIR", str(folder))
    monkeypatch.delenv("TVM_TUNE_DB", raising=False)
    return folder


@pytest.fixture
def path(tmp_path, chain):
    file = tmp_path / "mlp.onnx"
    onnx.save(chain.model(), str(file))
    return file


def lines(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_tune_explain_and_compile_again(cache, path, tmp_path, capsys, chain):
    library = str(tmp_path / "mlp.so")
    start = time.monotonic()
    assert main(["compile", str(path), "-o", library, "--tune", "20", "--json"]) == 0
    spent = time.monotonic() - start
    data = json.loads(capsys.readouterr().out)["tuning"]
    # The library is built in this time as well, on a machine that may be busy.
    assert data["seconds"] < 30 and spent < 90
    assert data["database"] == str(cache / "tune.jsonl") and not data["interrupted"]
    assert len(data["kernels"]) == 2 and data["tuned"] <= data["untuned"]
    for kernel in data["kernels"]:
        assert kernel["tried"] >= 2 and 0 < kernel["tuned"] <= kernel["untuned"] < 1
        assert kernel["rule"] == "contraction" and not kernel["failed"]
    loaded = tvm.runtime.load_module(library)
    np.testing.assert_allclose(
        chain.answer(loaded), chain.reference(chain.model()), rtol=1e-4, atol=1e-5
    )
    records = lines(cache / "tune.jsonl")
    assert {r["version"] for r in records} == {1} and len({r["key"] for r in records}) == 2
    # The default file counts without any option: the compiled model is found by what it says.
    stats = tvm.get_global_func("driver.CacheStats")
    before = stats()["hits"]
    np.testing.assert_allclose(
        chain.answer(compile_onnx(path)), chain.reference(chain.model()), rtol=1e-4, atol=1e-5
    )
    assert stats()["hits"] == before + 1
    given = ["--peak", "100", "--bandwidth", "10", "--repeat", "1", "--json"]
    assert main(["explain", str(path), *given]) == 0
    rows = json.loads(capsys.readouterr().out)["kernels"]
    shown = [r["tuned"] for r in rows if r["rule"] == "contraction"]
    assert len(shown) == 2 and all(t["gain"] >= 1 for t in shown)
    assert main(["explain", str(path), "--tune-db", "off", *given]) == 0
    rows = json.loads(capsys.readouterr().out)["kernels"]
    assert all(r["tuned"] is None for r in rows)


def choose(file, key_of, index):
    """Write a file that chooses a candidate for each kernel of the model."""
    from tvm.tune import _ffi_api as tune

    target = tvm.target.Target({"kind": "llvm", "mcpu": "native"})
    for func in key_of:
        found = tune.Candidates(func, target, 64)
        result = {"rule": found["rule"], "knobs": found["knobs"][index], "date": "2026-01-01"}
        result |= {"seconds": 1.0, "untuned_seconds": 2.0, "tried": 64}
        tune.Append(str(file), tune.KernelKey(func, target), target, result)


def groups(path):
    """The kernels of a model as the tuner sees them."""
    seen = []

    def measure(tasks, target):
        seen.extend(task["func"] for task in tasks)

    with tvm.tune._session(None, measure):
        compile_onnx(path)
    return seen


def test_the_model_cache_follows_the_file(cache, path, tmp_path, monkeypatch, chain):
    stats = tvm.get_global_func("driver.CacheStats")

    def compiled_again():
        before = stats()["hits"], stats()["stores"]
        got = chain.answer(compile_onnx(path))
        np.testing.assert_allclose(got, chain.reference(chain.model()), rtol=1e-4, atol=1e-5)
        return stats()["stores"] > before[1]

    assert compiled_again() and not compiled_again()
    kernels = groups(path)
    assert len(kernels) == 2
    file = tmp_path / "chosen.jsonl"
    monkeypatch.setenv("TVM_TUNE_DB", str(file))
    assert not compiled_again()  # no file yet: nothing is chosen
    choose(file, kernels, 1)
    assert compiled_again() and not compiled_again()
    choose(file, kernels, 2)
    assert compiled_again() and not compiled_again()
    monkeypatch.setenv("TVM_TUNE_DB", "off")
    assert not compiled_again()


def test_a_damaged_file_is_reported_and_lives_on(cache, path, tmp_path, capfd):
    file = tmp_path / "tune.jsonl"
    file.write_text('{"version": 99}\nnonsense\n')
    library = str(tmp_path / "mlp.so")
    argv = ["compile", str(path), "-o", library, "--tune", "15", "--tune-db", str(file)]
    assert main(argv) == 0
    shown = capfd.readouterr().err
    assert f"{file}:2: a damaged tuning record" in shown and "another version" in shown
    assert "tuning: " in shown and re.search(r"\d of 15 s: ", shown)
    assert file.read_text().startswith('{"version": 99}\nnonsense\n{')
    assert not (cache / "tune.jsonl").exists()


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--tune", "0"], "--tune expects a positive number"),
        (["--tune", "nan"], "--tune expects a positive number"),
        (["--tune", "inf"], "--tune expects a positive number"),
        (["--tune-db", "/nowhere/t.jsonl"], "/nowhere/t.jsonl: no such file"),
        (["--tune", "5", "--tune-db", "/nowhere/t.jsonl"], "there is no folder /nowhere"),
        (["--tune", "5", "--tune-db", "MODEL"], "would overwrite the input"),
    ],
)
def test_wrong_options(cache, path, tmp_path, capsys, argv, message):
    argv = [str(path) if a == "MODEL" else a for a in argv]
    assert main(["compile", str(path), "-o", str(tmp_path / "m.so"), *argv]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "m.so").exists()


def test_interrupt_keeps_records_and_writes_the_library(cache, tmp_path, chain, child_env):
    library, file = tmp_path / "mlp.so", tmp_path / "t.jsonl"
    path, proto = tmp_path / "mlp.onnx", chain.model(layers=30, step=8)
    onnx.save(proto, str(path))
    argv = ["compile", str(path), "-o", str(library), "--tune", "600", "--tune-db", str(file)]
    process = subprocess.Popen(
        [sys.executable, "-m", "tvm", *argv],
        stderr=subprocess.PIPE,
        text=True,
        # What a shell starts in the background ignores the signal, and so would this process.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        env=child_env(),
    )
    # The first kernel has been measured; dozens are left.
    while process.poll() is None and not (file.exists() and file.read_text()):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, text = process.communicate(timeout=120)
    assert process.returncode == 0, text
    assert "interrupted" in text and library.exists()
    assert lines(file) and all(r["seconds"] > 0 for r in lines(file))
    want = chain.reference(proto)
    got = chain.answer(tvm.runtime.load_module(str(library)))
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-5 * np.abs(want).max())


def test_bar_on_a_terminal(cache, path, tmp_path, child_env):
    leader, follower = pty.openpty()
    argv = ["compile", str(path), "-o", str(tmp_path / "m.so"), "--tune", "3", "--tune-db", "off"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tvm", *argv],
        stderr=follower,
        stdout=subprocess.DEVNULL,
        env=child_env(TERM="xterm"),
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            data = os.read(leader, 4096)
        except OSError:  # the other end has gone
            break
        if not data:
            break
        shown += data
    os.close(leader)
    assert process.wait(120) == 0, shown
    text = shown.decode(errors="replace")
    assert "\u2501" in text and "candidates" in text and "tuning: " in text
    assert not (cache / "tune.jsonl").exists()
