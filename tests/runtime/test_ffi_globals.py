# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""What the Python layer asks of the compiler by name exists, and so does what lowering emits."""

import ast
import importlib
import re
from pathlib import Path

import pytest

import tvm
from tvm._lazy import FFINamespace
from tvm_ffi import get_global_func

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "tvm"
SOURCES = sorted(p for p in PACKAGE.rglob("*.py") if "__pycache__" not in p.parts)
# Names that a program registers itself, if it wants the behaviour behind them.
OPTIONAL = re.compile(
    r"^(s_tir\.schedule\.|vm\.builtin\.hexagon|relax\.ext\.|tvm_callback_|tvm\.rpc\.server\.)"
)
# What is known to be missing. A name that appears must leave this list.
PENDING = {"tirx.transform.FP8ComputeLegalize"}  # 8-bit floats have no code generation yet


def exists(name: str) -> bool:
    return get_global_func(name, allow_missing=True) is not None


def namespace_of(path: Path, name: str) -> str | None:
    """Prefix of global functions that a module's variable `name` stands for."""
    module = ".".join(path.relative_to(ROOT / "python").with_suffix("").parts)
    module = module.removesuffix(".__init__")
    value = getattr(importlib.import_module(module), name, None)
    # A module `_ffi_api` forwards to the namespace it holds.
    value = getattr(value, "_api", value) if not isinstance(value, FFINamespace) else value
    if not isinstance(value, FFINamespace):
        return None
    return object.__getattribute__(value, "_FFINamespace__prefix")


def literal_prefix(call) -> str | None:
    """The prefix in FFINamespace("prefix")."""
    if (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "FFINamespace"
        and call.args
        and isinstance(call.args[0], ast.Constant)
    ):
        return call.args[0].value
    return None


def required_names(path: Path):
    """Global functions that a file names, with the lines."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            prefix = literal_prefix(node.value)
            if prefix is None and isinstance(node.value, ast.Name):
                if not re.fullmatch(r"_\w*api\w*|_driver", node.value.id):
                    continue
                prefix = namespace_of(path, node.value.id)
            if prefix is not None:
                yield f"{prefix}.{node.attr}", node.lineno
        elif isinstance(node, ast.Call):
            func = node.func
            name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
            if name != "get_global_func" or not node.args:
                continue
            optional = len(node.args) > 1 or any(k.arg == "allow_missing" for k in node.keywords)
            if not optional and isinstance(node.args[0], ast.Constant):
                yield node.args[0].value, node.lineno


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_functions_that_python_calls_are_registered(path):
    text = path.read_text(encoding="utf-8")
    if "api" not in text and "get_global_func" not in text and "FFINamespace" not in text:
        return
    missing = sorted(
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for name, line in required_names(path)
        if not exists(name) and not OPTIONAL.match(name) and name not in PENDING
    )
    assert not missing, "\n".join(missing)


def test_pending_functions_are_still_missing():
    assert not [name for name in PENDING if exists(name)]


def test_the_scan_sees_names():
    names = {name for name, _ in required_names(PACKAGE / "relax" / "exec_builder.py")}
    assert "relax.ExecBuilderEmitCall" in names
    assert not exists("relax.NoSuchFunction")


def test_functions_that_lowering_emits_are_registered():
    """Each runtime function that an operator row or a Relax pass names is there."""
    wanted = set()
    pattern = re.compile(r'"((?:relax\.run|vm\.builtin|vm\.native|tvm\.contrib)\.[a-z0-9_.]+)"')
    for source in sorted((ROOT / "src" / "relax").rglob("*.cc")):
        for line in source.read_text(encoding="utf-8").splitlines():
            if line.lstrip().startswith("//"):
                continue
            wanted.update(n for n in pattern.findall(line) if not n.endswith("."))
    assert "relax.run.unique" in wanted
    assert "vm.builtin.match_shape" in wanted
    missing = sorted(n for n in wanted if not exists(n) and not OPTIONAL.match(n))
    assert not missing, missing


def test_a_missing_function_is_named():
    with pytest.raises(AttributeError, match="there is no global function tirx.NoSuchFunction"):
        tvm.tirx._ffi_api.NoSuchFunction  # noqa: B018
