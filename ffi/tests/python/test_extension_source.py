# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""The extension module compiles for the interfaces of CPython that this interpreter does not have."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tvm_ffi import libinfo

SOURCES = Path(__file__).resolve().parents[2] / "python"
CXX = os.environ.get("CXX") or shutil.which("clang++-22") or shutil.which("g++")

pytestmark = [
    pytest.mark.skipif(CXX is None, reason="no C++ compiler"),
    pytest.mark.skipif(importlib.util.find_spec("Cython") is None, reason="no Cython"),
    pytest.mark.skipif(not (SOURCES / "tvm_ffi/cython/core.pyx").exists(), reason="no source tree"),
]


def include_of(version: str) -> str | None:
    """Headers of a CPython, from the PATH or pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [f"python{version}", *pyenv.glob(f"{version}.*/bin/python{version}")]
    code = "import sysconfig; print(sysconfig.get_path('include'))"
    for candidate in candidates:
        try:
            done = subprocess.run(
                [candidate, "-c", code], capture_output=True, text=True, check=True, timeout=60
            )
        except (OSError, subprocess.SubprocessError):
            continue
        if (Path(done.stdout.strip()) / "Python.h").exists():
            return done.stdout.strip()
    return None


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """C++ text of the module."""
    output = tmp_path_factory.mktemp("cython") / "core.cpp"
    command = [sys.executable, "-m", "cython", "--cplus", "-3", "--module-name", "tvm_ffi.core"]
    subprocess.run(
        [*command, "tvm_ffi/cython/core.pyx", "-o", str(output)], cwd=SOURCES, check=True
    )
    return output


@pytest.mark.parametrize(
    ("version", "definition"),
    [
        ("3.10", "NDEBUG"),
        ("3.13", "NDEBUG"),
        ("3.12", "Py_LIMITED_API=0x030C0000"),
        ("3.13", "Py_LIMITED_API=0x030C0000"),
        ("3.13", "Py_GIL_DISABLED=1"),
    ],
)
def test_module_compiles(generated, version, definition):
    include = include_of(version)
    if include is None:
        pytest.skip(f"no headers of CPython {version}")
    command = [CXX, "-std=c++17", "-fsyntax-only", "-w", f"-D{definition}", f"-I{include}"]
    command += [f"-I{path}" for path in libinfo.include_paths()]
    command += [f"-I{SOURCES / 'tvm_ffi/cython'}", str(generated)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
