# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""A process never works with two copies of libtvm_ffi."""

import os
import shutil
import subprocess
import sys

import pytest
from child_process import python_environment

import tvm_ffi
from tvm_ffi import _paths, libinfo

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


@pytest.fixture
def copy(tmp_path):
    """A second file of the library, as another package would bring it."""
    return shutil.copy(libinfo.find_libtvm_ffi(), tmp_path)


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=python_environment(),
    )


def test_this_process_has_one_copy():
    (loaded,) = _paths.loaded_copies(_paths.library_name("tvm_ffi"))
    assert os.path.samefile(loaded, tvm_ffi.LIB._name)


def test_import_refuses_to_be_the_second(copy):
    done = run(f"import ctypes; ctypes.CDLL({copy!r})\nimport tvm_ffi")
    assert done.returncode == 1
    assert "ImportError: tvm_ffi would load" in done.stderr
    assert f"already uses another copy of the library, {copy};" in done.stderr


def test_import_uses_the_loaded_file():
    path = libinfo.find_libtvm_ffi()
    done = run(f"import ctypes; ctypes.CDLL({path!r})\nimport tvm_ffi; print(tvm_ffi.Array([1]))")
    assert done.stdout.strip() == "(1,)", done.stderr


def test_copy_loaded_later_stays_unused(copy):
    code = (
        f"import ctypes, tvm_ffi; ctypes.CDLL({copy!r}, ctypes.RTLD_GLOBAL)\n"
        "assert list(tvm_ffi.Array([1, 'a'])) == [1, 'a']\n"
        "try:\n    tvm_ffi.get_global_func('testing.no such function')\n"
        "except ValueError:\n    print('works')\n"
    )
    done = run(code)
    assert done.stdout.strip() == "works", done.stderr
    assert f"{copy} is a second copy of libtvm_ffi" in done.stderr
