# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Object files of the tests, compiled once per compiler and set of flags."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[2] / "tests"))  # child_process.py
for name, folder in (
    ("tvm_ffi", HERE.parents[2] / "python"),
    ("tvm_ffi_orcjit", HERE.parent / "python"),
):
    if importlib.util.find_spec(name) is None:
        sys.path.insert(0, str(folder))

from child_process import python_environment  # noqa: E402

from tvm_ffi import libinfo  # noqa: E402

COMPILERS = [c for c in ("gcc", "clang-22", "clang-19", "clang") if shutil.which(c)][:2]


@pytest.fixture(scope="session")
def orcjit():
    """The package, or a skip that says what is missing."""
    try:
        import tvm_ffi_orcjit
    except RuntimeError as error:
        if "libtvm_ffi_orcjit" not in str(error):
            raise
        pytest.skip("libtvm_ffi_orcjit is not built: it needs LLVM 22 or newer (llvm-22-dev)")
    return tvm_ffi_orcjit


@pytest.fixture
def session(orcjit):
    """A session of its own for each test."""
    return orcjit.ExecutionSession()


@pytest.fixture(scope="session")
def compile_object(tmp_path_factory):
    """Function that compiles a source of this folder: compile_object(name, *flags, compiler)."""
    if not COMPILERS:
        pytest.skip("no C compiler found")
    folder = tmp_path_factory.mktemp("objects")
    made = {}

    def compile_once(source: str, *flags: str, compiler: str = COMPILERS[0]) -> str:
        key = (source, flags, compiler)
        if key not in made:
            output = str(folder / f"{len(made)}-{Path(source).stem}.o")
            command = [compiler, "-O1", "-fPIC", *flags, "-c", str(HERE / "sources" / source)]
            command += ["-std=c++17"] if source.endswith(".cc") else []
            command += [f"-I{path}" for path in libinfo.include_paths()] + ["-o", output]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            made[key] = output
        return made[key]

    return compile_once


@pytest.fixture(params=COMPILERS or ["none"])
def compiler(request):
    """Each compiler in turn."""
    return request.param


@pytest.fixture(scope="session")
def run_python(orcjit):
    """Function that runs code in an interpreter that finds the same packages."""

    def run(code: str, *args: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, "-c", code, *args],
            capture_output=True,
            text=True,
            check=False,
            env=python_environment(),
        )

    return run
