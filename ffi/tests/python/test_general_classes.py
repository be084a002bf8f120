# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Without the shortcut for plain classes, as in interpreters it does not know, all works alike."""

import subprocess
import sys
from pathlib import Path

from child_process import python_environment

HERE = Path(__file__).resolve().parent
FILES = ("test_object.py", "test_container.py", "test_function.py", "test_enums.py")


def run(*arguments, **extra):
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=python_environment(**extra),
        cwd=HERE,
    )


def test_the_shortcut_is_taken_or_not_as_asked():
    # A plain class is no longer tracked by the cycle collector.
    code = (
        "import gc, tvm_ffi.testing as t; print(gc.is_tracked(t.create_object("
        "'testing.TestIntPair', a=1, b=2)))"
    )
    general = run("-c", code, TVM_FFI_PLAIN_CLASSES="0")
    assert general.stdout.strip() == "True", general.stderr
    if sys.version_info < (3, 15) and getattr(sys, "_is_gil_enabled", lambda: True)():
        assert run("-c", code, TVM_FFI_PLAIN_CLASSES="1").stdout.strip() == "False"


def test_general_ways():
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", *FILES, TVM_FFI_PLAIN_CLASSES="0")
    assert done.returncode == 0, done.stdout + done.stderr
