# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""The stub of the extension module fits the module, and the package has no type errors."""

import importlib.util
import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from child_process import python_environment

import tvm_ffi
from tvm_ffi import core

PACKAGE = Path(tvm_ffi.__file__).parent
FFI = Path(__file__).resolve().parents[2]
needs_mypy = pytest.mark.skipif(
    importlib.util.find_spec("mypy") is None, reason="mypy is not installed"
)


def run_mypy(*arguments):
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=FFI,
        env=python_environment(),
    )


def test_package_is_marked_typed():
    assert (PACKAGE / "py.typed").is_file()
    assert (PACKAGE / "core.pyi").is_file()


def test_public_names_of_the_module_have_stubs():
    """A quick form of what stubtest does below, for environments without mypy."""
    import ast

    tree = ast.parse((PACKAGE / "core.pyi").read_text())
    stubs = {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    defined = {
        name
        for name, value in vars(core).items()
        if (inspect.isclass(value) or callable(value))
        and getattr(value, "__module__", None) == core.__name__
        and not name.startswith("_")
    }
    assert len(defined) > 20
    assert defined <= stubs


@needs_mypy
def test_stub_fits_the_module():
    done = run_mypy("mypy.stubtest", "--mypy-config-file", "pyproject.toml",
                    "--ignore-unused-allowlist", "--allowlist", "tests/python/stub_allowlist.txt", "tvm_ffi.core")  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@needs_mypy
def test_package_has_no_type_errors():
    done = run_mypy("mypy", "--config-file", "pyproject.toml")
    assert done.returncode == 0, done.stdout + done.stderr
