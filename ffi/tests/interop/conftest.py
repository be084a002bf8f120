# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Extension libraries built against our headers and against those of the released wheel."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))  # child_process.py
if importlib.util.find_spec("tvm_ffi") is None:
    sys.path.insert(0, str(HERE.parents[1] / "python"))

from tvm_ffi import libinfo  # noqa: E402

CXX = os.environ.get("CXX", "c++")


class Release:
    """The environment with the released wheel."""

    def __init__(self, python: Path) -> None:
        self.python = str(python)
        # In which its interpreter finds its own packages.
        self.environment = {
            k: v for k, v in os.environ.items() if not k.startswith(("TVM_", "PYTHON"))
        }
        code = (
            "import os, tvm_ffi\n"
            "from tvm_ffi import libinfo\n"
            "print(libinfo.find_include_path(), libinfo.find_libtvm_ffi())\n"
            "print(os.path.dirname(os.path.dirname(tvm_ffi.__file__)))\n"
        )
        done = subprocess.run(
            [self.python, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env=self.environment,
        )
        self.include, self.library, self.site_packages = done.stdout.split()


@pytest.fixture(scope="session")
def release() -> Release:
    """The released wheel, or a skip that says how to get it."""
    default = HERE.parents[1] / "build" / "release-venv"
    venv = Path(os.environ.get("TVM_FFI_RELEASE_VENV", default))
    python = venv / "bin" / "python"
    if not python.exists():
        pytest.skip(
            f"no environment with the released wheel in {venv}: run tests/interop/"
            "make_release_venv.sh, or name one in TVM_FFI_RELEASE_VENV"
        )
    return Release(python)


@pytest.fixture(scope="session")
def build(tmp_path_factory):
    """Function that compiles the extension: build(side, include folders, library)."""
    if shutil.which(CXX) is None:
        pytest.skip(f"no C++ compiler {CXX}")
    folder = tmp_path_factory.mktemp("interop")

    def compile_extension(side: str, includes: list[str], library: str) -> str:
        output = str(folder / f"{side}.so")
        command = [CXX, "-std=c++17", "-O1", "-fPIC", "-shared", f'-DSIDE="{side}"']
        command += [f"-I{path}" for path in includes]
        command += [str(HERE / "extension.cc"), "-o", output]
        command += [f"-L{Path(library).parent}", "-ltvm_ffi"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return output

    return compile_extension


@pytest.fixture(scope="session")
def own_extension(build) -> str:
    """Extension compiled against our headers."""
    return build("own", libinfo.include_paths(), libinfo.find_libtvm_ffi())


@pytest.fixture(scope="session")
def released_extension(build, release) -> str:
    """Extension compiled against the released headers."""
    return build("rel", [release.include], release.library)
