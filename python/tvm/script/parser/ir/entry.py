# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Decorators of the module dialect."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

from tvm.ir import IRModule
from tvm.script.ir_builder import ir as _builder
from tvm.script.parser.core.entry import parse
from tvm.script.parser.core.scope import capture
from tvm.script.parser.core.source import Source


def ir_module(
    mod: type | None = None, *, check_well_formed: bool = True, s_tir: bool = False
) -> Any:
    """Parse a class as an IRModule.

    Used as a decorator, with or without options; called without arguments while an IRBuilder is
    open it opens a module frame instead.

    Args:
        mod: The class.
        check_well_formed: Refuse a module that uses variables wrongly.
        s_tir: Its primitive functions are of the schedulable dialect unless they say otherwise.

    Returns:
        The IRModule.
    """
    frame = sys._getframe(1)

    def decorate(cls: type, frame=None) -> IRModule:
        if not inspect.isclass(cls):
            raise TypeError(f"Expect a class, but got: {cls}")
        where = frame or sys._getframe(1)
        names = capture(cls, where)
        source = Source(cls, _line_of(where, cls))
        module = parse(cls, names, check_well_formed=check_well_formed, s_tir=s_tir, source=source)
        module.__name__ = cls.__name__
        return module

    if mod is not None:
        return decorate(mod, frame)
    from tvm.script.ir_builder.base import IRBuilder

    if IRBuilder.is_in_scope() and not _inside_parser():
        return _builder.ir_module()
    decorate.dispatch_token = "ir"
    return decorate


def _inside_parser() -> bool:
    from tvm.script.parser.core.parser import Parser

    return Parser.current() is not None


def _line_of(frame: Any, cls: type) -> int | None:
    """Line at which a decorated class starts, if the frame is just applying a decorator to it."""
    del cls
    return frame.f_lineno


def pyfunc(func: Callable) -> Callable:
    """Mark a function of a module as Python: it is kept in ``mod.pyfuncs`` as it is."""
    return func


ir_module.dispatch_token = "ir"
pyfunc.dispatch_token = "pyfunc"
