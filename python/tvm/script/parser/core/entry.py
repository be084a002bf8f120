# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Entry of the parser."""

from __future__ import annotations

import ast
import importlib
import importlib.util
from collections.abc import Callable
from typing import Any, TypeVar

from tvm.error import DiagnosticError
from tvm.ir import IRModule
from tvm.script.ir_builder.base import IRBuilder

from .parser import Parser
from .source import Source

_WELL_FORMED_HELP = (
    "Program is not well-formed. If this is deliberate, consider setting check_well_formed in the "
    "top-level decorator to False (e.g., @I.ir_module(check_well_formed=False) or "
    "@R.function(check_well_formed=False))."
)

# Names of dialect modules in programs given as text; more are added by `register_dialect`.
DIALECT_NAMES: dict[str, tuple[str, ...]] = {
    "ir": ("I", "ir"),
    "tirx": ("T", "tir", "tirx"),
    "relax": ("R", "relax"),
}
DIALECTS: dict[str, Any] = {}

# Called with what was parsed (an IRModule or a function); each raises if it is malformed.
WELL_FORMED_CHECKS: list[Callable[[Any], None]] = []


class DefaultNames(dict):
    """Names that every program given as text sees: tvm, I, T, R, Tx, Axis, TypeVar and aliases.

    A dialect is imported when a program mentions it.
    """

    def __contains__(self, name: object) -> bool:
        return dict.__contains__(self, name) or self._find(name)

    def _find(self, name: object) -> bool:
        if name == "tvm":
            self[name] = importlib.import_module("tvm")
        elif name == "TypeVar":
            self[name] = TypeVar
        elif name == "Tx":
            self[name] = _dialect("tirx").tile
        elif name == "Axis":
            if importlib.util.find_spec("tvm.tirx.layout") is None:
                return False  # layouts are not part of this build
            self[name] = importlib.import_module("tvm.tirx.layout").Axis
        else:
            for dialect, aliases in DIALECT_NAMES.items():
                if name in aliases:
                    self[name] = _dialect(dialect)
                    break
        return dict.__contains__(self, name)


def _dialect(name: str) -> Any:
    module = DIALECTS.get(name)
    return importlib.import_module(f"tvm.script.{name}") if module is None else module


def parse(
    program: str | Any,
    extra_vars: dict[str, Any] | None = None,
    check_well_formed: bool = True,
    s_tir: bool = False,
    absent_params: set[str] | None = None,
    *,
    source: Source | None = None,
    **options: Any,
) -> Any:
    """Parse a program.

    Args:
        program: Source text, or a Python function or class whose source can be found. Parsing
            evaluates parts of it as Python: treat programs as code.
        extra_vars: Names the program may use, on top of the dialects (I, T, R, ..).
        check_well_formed: Refuse programs that use variables wrongly.
        s_tir: Primitive functions are of the schedulable dialect unless they say otherwise.
        absent_params: Optional parameters of a function that are left out.
        source: The program's source, if it is known already.
        options: Further options, which dialects read from the parser.

    Returns:
        An IRModule or a function.

    Raises:
        DiagnosticError: The program is wrong; the message shows where.
    """
    if source is None:
        source = Source(program)
    names: dict[str, Any] = DefaultNames() if isinstance(program, str) else {}
    names.update(extra_vars or {})
    parser = Parser(source, s_tir=s_tir, absent_params=frozenset(absent_params or ()), **options)
    pyfuncs: dict[str, Any] = {}
    parser.options["pyfuncs"] = pyfuncs
    with IRBuilder() as builder:
        parser.parse(names)
        if builder.result is None:
            raise parser.diagnostics.error(
                ast.Module([], []), "the program defines neither a module nor a function"
            )
    result = builder.get()
    if pyfuncs and isinstance(result, IRModule):
        result.pyfuncs = pyfuncs
    if check_well_formed:
        _check(parser, result)
    return result


def _check(parser: Parser, result: Any) -> None:
    for check in WELL_FORMED_CHECKS:
        try:
            check(result)
        except DiagnosticError:
            raise
        except Exception as err:
            raise parser.diagnostics.error(
                ast.Module([], []),
                f"{_WELL_FORMED_HELP}\n\nTraceback: {type(err).__name__}: {err}",
            ) from err


def register_dialect(name: str, module: Any, aliases: tuple[str, ...] | None = None) -> None:
    """Offer another dialect as ``tvm.script.<name>`` and to programs given as text.

    Args:
        name: Its name, by which programs refer to it.
        module: Module (or object) with its names.
        aliases: Further names.
    """
    import sys

    import tvm.script

    DIALECTS[name] = module
    DIALECT_NAMES[name] = (name, *(aliases or DIALECT_NAMES.get(name, ())))
    sys.modules[f"tvm.script.{name}"] = module
    setattr(tvm.script, name, module)
