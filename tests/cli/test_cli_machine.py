# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""The command on a machine that refuses things: full disks, closed streams, interrupts, no compiler."""

import json
import os
import pty
import resource
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import onnx
import pytest

from tvm.cli import main


@pytest.fixture(scope="module")
def folder(make_chain, tmp_path_factory):
    folder = tmp_path_factory.mktemp("machine")
    chain = make_chain(4, 16)
    onnx.save(chain.model(), folder / "m.onnx")
    np.save(folder / "x.npy", chain.x)
    assert main(["compile", str(folder / "m.onnx"), "-o", str(folder / "m.so")]) == 0
    return folder


@pytest.fixture
def tvm(folder, child_env):
    """Function that runs the command in another process, in the folder of the files."""

    def run(*argv, env=None, **options):
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        return subprocess.run(
            [sys.executable, "-m", "tvm", *map(str, argv)],
            cwd=folder,
            env=child_env(**env or {}),
            text=True,
            timeout=120,
            **streams,
        )

    return run


def refused(done, *parts):
    """Exit code 2, and one message with all the parts."""
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr and "InternalError" not in done.stderr, done.stderr
    assert done.stderr.count("tvm: error: ") == 1, done.stderr
    for part in parts:
        assert part in done.stderr
    return done.stderr


# A process for which no file gets longer than this stands for a full disk. It must not write bytecode:
# Python would take half a file for the whole.
FULL_DISK = {
    "preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300)),
    "env": {"PYTHONDONTWRITEBYTECODE": "1"},
}


@pytest.mark.parametrize(
    "argv",
    [
        ("compile", "m.onnx", "-o", "out.so"),
        ("run", "m.so", "--input", "x.npy", "--output", "out.npz"),
        ("explain", "m.onnx", "--html", "out.html", "--peak", "1", "--bandwidth", "1"),
    ],
)
def test_a_full_disk(tvm, folder, argv):
    before = sorted(os.listdir(folder))
    refused(tvm(*argv, **FULL_DISK))
    assert sorted(os.listdir(folder)) == before  # no half of a file


def test_an_earlier_output_survives_a_full_disk(tvm, folder, tmp_path):
    out = tmp_path / "y.npz"
    assert tvm("run", "m.so", "--input", "x.npy", "--output", out).returncode == 0
    before = out.read_bytes()
    done = tvm("run", "m.so", "--input", "x.npy", "--output", out, **FULL_DISK)
    refused(done, f"{out}: cannot be written: ")
    assert out.read_bytes() == before and os.listdir(tmp_path) == ["y.npz"]


def test_results_that_cannot_be_printed(tvm):
    for argv in (["inspect", "m.so"], ["inspect", "m.so", "--json"], ["inspect", "no", "--json"]):
        with open("/dev/full", "w") as full:
            refused(tvm(*argv, stdout=full))
    refused(tvm("inspect", "m.so", preexec_fn=lambda: os.close(1)), "standard output is closed")


def test_nobody_listens_to_stderr(tvm, tmp_path):
    out = tmp_path / "m.so"
    argv = ["compile", "m.onnx", "-o", out]
    for options in (
        {"preexec_fn": lambda: (os.close(0), os.close(2))},
        {"stderr": open("/dev/full", "w")},  # noqa: SIM115 - closed with the test
    ):
        done = tvm(*argv, **options)
        assert done.returncode == 0 and out.exists() and str(out) in done.stdout
        out.unlink()


def test_json_mode_answers_in_json(tvm):
    for argv in (
        ["run", "absent"],
        ["run"],
        ["run", "m.so", "--threads", "x"],
        ["bench", "m.onnx"],
        ["compile", "m.so", "-o", "x.so"],
    ):
        done = tvm(*argv, "--json")
        message = json.loads(done.stdout)["error"]
        assert message and f"tvm: error: {message}" in refused(done)


def test_no_folder_for_temporary_files(tvm, tmp_path):
    done = tvm("compile", "m.onnx", "-o", tmp_path / "m.so", env={"TMPDIR": tmp_path / "absent"})
    refused(done, "set TMPDIR")


def test_no_compiler_driver(tvm, tmp_path):
    done = tvm("compile", "m.onnx", "-o", tmp_path / "m.so", env={"PATH": tmp_path, "CC": None})
    refused(done, "set CC")
    done = tvm("compile", "m.onnx", "-o", tmp_path / "m.so", env={"CC": "false"})
    refused(done, "Compilation error", "Command line: ")
    assert not list(tmp_path.iterdir())


def test_no_home(tvm, tmp_path):
    env = {"HOME": None, "XDG_CACHE_HOME": None, "TVM_CACHE_DIR": None, "TVM_TUNE_DB": None}
    for home in (None, tmp_path / "absent" / "home"):
        done = tvm("compile", "m.onnx", "-o", tmp_path / "m.so", env={**env, "HOME": home})
        assert done.returncode == 0, done.stderr


def test_a_cache_that_cannot_be_written(tvm, folder, tmp_path):
    done = tvm("compile", "m.onnx", "-o", tmp_path / "m.so", env={"TVM_CACHE_DIR": "m.onnx"})
    assert done.returncode == 0 and "the compile cache is off" in done.stderr


def test_runtime_only(tvm):
    env = {"TVM_USE_RUNTIME_LIB": "1"}
    for argv in (["compile", "m.onnx", "-o", "x.so"], ["explain", "m.onnx"]):
        refused(tvm(*argv, env=env), "needs the compiler", "TVM_USE_RUNTIME_LIB=1")
    for argv in (
        ["run", "m.so", "--input", "x.npy"],
        ["bench", "m.so", "--seconds", "0"],
        ["inspect", "m.so"],
        ["inspect", "m.onnx"],
    ):
        assert tvm(*argv, env=env).returncode == 0


def test_defects_show_where_on_request(monkeypatch, capsys, folder):
    def fail(*_):
        raise KeyError("broken")

    monkeypatch.setattr("tvm.cli.inspect.inspect_onnx", fail)
    monkeypatch.delenv("TVM_BACKTRACE", raising=False)
    assert main(["inspect", str(folder / "m.onnx")]) == 2
    message = capsys.readouterr().err
    assert "a defect of tvm" in message and "Traceback" not in message
    monkeypatch.setenv("TVM_BACKTRACE", "1")
    assert main(["inspect", str(folder / "m.onnx")]) == 2
    assert "Traceback" in capsys.readouterr().err


def start(folder, env, *argv, **options):
    # What a shell starts in the background ignores the signal, and so would this process.
    return subprocess.Popen(
        [sys.executable, "-m", "tvm", *map(str, argv)],
        cwd=folder,
        env=env,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **options,
    )


def test_interrupted_measurement(folder, child_env):
    process = start(
        folder, child_env(), "bench", "m.so", "--seconds", "600", stderr=subprocess.PIPE, text=True
    )
    assert process.stderr.readline().startswith("measuring")
    process.send_signal(signal.SIGINT)
    _, text = process.communicate(timeout=120)
    assert process.returncode == 130
    assert text.endswith("tvm: error: interrupted\n") and "Traceback" not in text


def test_interrupted_compilation(make_chain, tmp_path, child_env):
    """It ends long before the compilation would, and leaves nothing."""
    onnx.save(make_chain(64, 32).model(layers=60, step=8), tmp_path / "m.onnx")
    argv = ["compile", "m.onnx", "-o", "m.so"]
    # The first file of the dump tells that the compiler is at work.
    dump = tmp_path / "dump"
    process = start(tmp_path, child_env(TVM_DUMP=dump), *argv, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not (dump.exists() and any(dump.iterdir())):
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, text = process.communicate(timeout=120)
    assert process.returncode == 130, text
    assert "interrupted" in text and "Traceback" not in text and "writing" not in text
    assert sorted(os.listdir(tmp_path)) == ["dump", "m.onnx"]


def on_a_terminal(folder, env, *argv):
    """Exit code, and what is shown where stderr is a terminal."""
    leader, follower = pty.openpty()
    process = start(folder, env, *argv, stderr=follower, stdout=subprocess.DEVNULL)
    os.close(follower)
    shown = b""
    with open(leader, "rb", buffering=0) as reader:
        try:
            while data := reader.read(4096):
                shown += data
        except OSError:  # the other end has gone
            pass
    return process.wait(120), shown.decode(errors="replace")


def test_bars_on_a_terminal(folder, child_env, tmp_path):
    env = child_env(TERM="xterm")
    code, shown = on_a_terminal(folder, env, "bench", "m.so", "--seconds", "1.5")
    assert code == 0 and "\u2501" in shown and "calls" in shown
    code, shown = on_a_terminal(folder, env, "compile", "m.onnx", "-o", tmp_path / "m.so")
    assert code == 0 and "\u2501" in shown and "writing" in shown
    code, shown = on_a_terminal(folder, env, "compile", "m.onnx", "-o", tmp_path / "m.so", "--json")
    assert code == 0 and shown == ""


def test_names_of_libraries(tvm, folder, tmp_path):
    for name in ("модель ü.so", "no_suffix", "lib.so.6", "a b.bin"):
        path = str(tmp_path / name)
        assert main(["compile", str(folder / "m.onnx"), "-o", path]) == 0
        assert main(["run", path, "--input", str(folder / "x.npy")]) == 0
    shutil.copy(folder / "m.onnx", os.fsencode(tmp_path) + b"/\xff.onnx")
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.onnx")
    assert tvm("inspect", odd, "--json").returncode == 0
    refused(tvm("compile", odd, "-o", odd + ".so"), "is not UTF-8")


def test_two_processes_write_one_library(folder, child_env, tmp_path):
    argv = ["compile", "m.onnx", "-o", tmp_path / "m.so"]
    both = [start(folder, child_env(), *argv, stderr=subprocess.PIPE) for _ in range(2)]
    for process in both:
        error = process.communicate(timeout=120)[1]
        assert process.returncode == 0, error
    assert os.listdir(tmp_path) == ["m.so"]
    assert main(["run", str(tmp_path / "m.so"), "--input", str(folder / "x.npy")]) == 0
