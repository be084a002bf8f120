# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""``examples/cpp/run_model``: a program without Python and without the compiler."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tvm import relax


@pytest.fixture(scope="module")
def run_model(root):
    """Function that runs the program."""
    libraries = Path(os.environ.get("TVM_LIBRARY_PATH", root / "build" / "lib"))
    program = libraries.parent / "bin" / "run_model"
    if not program.exists():
        pytest.skip("run_model is not built")

    def run(*argv):
        command = [str(program), *map(str, argv)]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)

    return run


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType([2, 3], "float32"))
    with bb.function("main", [x]):
        y = bb.emit(relax.op.multiply(x, relax.const(np.float32(2))))
        bb.emit_func_output(relax.Tuple([y, bb.emit(relax.op.astype(y, "int64"))]))
    path = tmp_path_factory.mktemp("cpp") / "double.so"
    relax.build(bb.get(), "llvm").export_library(str(path))
    return path


def test_results(run_model, library, tmp_path):
    np.save(tmp_path / "x.npy", np.arange(6, dtype="float32").reshape(2, 3) - 2)
    done = run_model(library, tmp_path / "x.npy", "--repeat", "3", "--profile")
    assert done.returncode == 0, done.stderr
    assert "output.0: float32[2, 3] -4 -2 0 2 4 6\n" in done.stdout
    assert "output.1: int64[2, 3] -4 -2 0 2 4 6\n" in done.stdout
    assert "ms per call" in done.stdout


def test_it_maps_no_compiler(run_model):
    program = run_model().args[0]
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    assert "libtvm_runtime" in listed and "libtvm_ffi" in listed
    assert "libtvm_compiler" not in listed and "LLVM" not in listed and "python" not in listed


def header(text, data=b""):
    size = len(text).to_bytes(2, "little")
    return b"\x93NUMPY\x01\x00" + size + text.encode() + data


GOOD = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
ARRAYS = {
    "empty": (b"", "is not a .npy file"),
    "foreign": (b"\x7fELF" + bytes(60), "is not a .npy file"),
    "header that is cut": (header(GOOD)[:30], "is not a .npy file"),
    "data that is cut": (header(GOOD, bytes(20)), "20 bytes of data do not fit the shape (2, 3)"),
    "too much data": (header(GOOD, bytes(28)), "28 bytes of data do not fit"),
    "no type": (header("{}"), "has no descr"),
    "text": (header(GOOD.replace("<f4", "<U7"), bytes(24)), "cannot read type"),
    "big endian": (header(GOOD.replace("<f4", ">f4"), bytes(24)), "expected a little-endian"),
    "long double": (header(GOOD.replace("<f4", "<f16"), bytes(96)), "of up to 8 bytes"),
    "columns first": (header(GOOD.replace("False", "True"), bytes(24)), "expected a C-ordered"),
    "negative": (header(GOOD.replace("(2, 3)", "(-2, -3)"), bytes(24)), "extents of at least 0"),
    "no number": (header(GOOD.replace("(2, 3)", "(2, x)"), bytes(24)), "extents of at least 0"),
    "overflow": (
        header(GOOD.replace("(2, 3)", "(4294967296, 4294967296, 6)"), bytes(24)),
        "do not fit the shape",
    ),
    "beyond 64 bits": (header(GOOD.replace("2,", f"{2**70},"), bytes(24)), "at least 0"),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_that_are_refused(run_model, library, tmp_path, name):
    data, message = ARRAYS[name]
    (tmp_path / "x.npy").write_bytes(data)
    done = run_model(library, tmp_path / "x.npy")
    assert done.returncode == 2 and message in done.stderr, done.stderr


def test_what_does_not_fit_the_model(run_model, library, tmp_path):
    other = tmp_path / "other.so"
    other.write_bytes(library.read_bytes()[:1000])
    for argv, message in (
        ([library], "main expects 1 arguments (x), but 0"),
        ([library, "zeros:float32:2,3", "zeros:float32:2,3"], "but 2 arguments"),
        ([library, "zeros:float32:3,2"], "Expected 2, got 3"),
        ([library, "zeros:float64:2,3"], "float64"),
        ([library, "zeros:float32"], "ndim 2 but get 0"),
        ([library, "zeros:nonsense:1"], "nonsense"),
        ([library, "zeros:float32:-1"], "at least 0"),
        ([library, f"zeros:float32:{2**62},{2**62}"], "more bytes than an address can count"),
        ([library, "zeros:float32:2,3", "--function", "absent"], "no function absent"),
        ([library, "zeros:float32:2,3", "--repeat", "x"], "--repeat"),
        ([library, tmp_path / "absent.npy"], "cannot open"),
        ([tmp_path / "absent.so"], "absent.so"),
        ([other], "cut short"),
        ([], "usage"),
    ):
        done = run_model(*argv)
        assert done.returncode == 2 and message in done.stderr, (argv, done.stderr)
