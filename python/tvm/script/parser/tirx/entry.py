# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Decorators of primitive functions."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

from tvm.script.ir_builder import tirx as _builder
from tvm.script.ir_builder.base import IRBuilder
from tvm.script.parser.core.entry import parse
from tvm.script.parser.core.parser import Parser
from tvm.script.parser.core.scope import capture, is_in_module_class, require_function

from .inline import InlineFunction, inline_of_function


def prim_func(
    func: Callable | None = None,
    *,
    private: bool = False,
    check_well_formed: bool = True,
    s_tir: bool = False,
    persistent: bool = False,
) -> Any:
    """Parse a function as a PrimFunc.

    Used as a decorator, with or without options. In a class that becomes an IRModule it leaves the
    function alone. While an IRBuilder is open, calling it without a function opens a frame.

    Args:
        func: The function.
        private: It is not visible outside of its module.
        check_well_formed: Refuse a function that uses variables wrongly.
        s_tir: It is of the schedulable dialect.
        persistent: It is a persistent kernel.
    """
    outer = sys._getframe(1)

    def decorate(func: Callable, frame=None) -> Any:
        require_function(func)
        frame = frame or sys._getframe(1)
        if is_in_module_class(frame):
            return func
        return parse(func, capture(func, frame), check_well_formed=check_well_formed, s_tir=s_tir)

    if func is not None:
        return decorate(func, outer)
    if IRBuilder.is_in_scope() and Parser.current() is None:
        return _builder.prim_func(private, s_tir, persistent)
    decorate.dispatch_token = "tirx"
    return decorate


def inline(func: Callable) -> InlineFunction:
    """Make a helper whose body is parsed at each call.

    Names in it are looked up where it is defined, at the time of the call. A ``return`` gives the
    call a value.
    """
    require_function(func)
    return inline_of_function(func)


def macro(*args: Any, hygienic: bool = True) -> Any:
    """Make a helper whose body is parsed at each call.

    Args:
        args: The function, when used as a decorator without options.
        hygienic: Look names up where the helper is defined; else where it is called.
    """

    def decorate(func: Callable) -> InlineFunction:
        require_function(func)
        return inline_of_function(func, hygienic)

    if args:
        if len(args) == 1 and inspect.isfunction(args[0]):
            return decorate(args[0])
        raise ValueError(
            "T.macro takes no positional arguments: use @T.macro or @T.macro(hygienic=..)"
        )
    decorate.dispatch_token = "tir.macro"
    return decorate


def meta_class(cls: type) -> type:
    """Mark a class whose objects live while a script is parsed.

    Its ``__init__`` is plain Python that may build IR (``T.alloc_buffer(..)``); methods that are
    parsed carry ``@T.inline``.
    """
    if not inspect.isclass(cls):
        raise TypeError(f"Expect a class, but got: {cls}")
    cls.__tvm_meta_class__ = True
    return cls


def script_range(*args: Any) -> Any:
    """``range`` of scripts: Python's for Python integers, a serial loop otherwise."""
    if all(type(arg) is int for arg in args):
        return range(*args)
    if not 1 <= len(args) <= 3:
        raise TypeError(f"range expected 1 to 3 arguments, got {len(args)}")
    start, stop, step = (*args, None, None)[:3]
    return _builder.serial(start, stop, step=step)


prim_func.dispatch_token = "tirx"
inline.dispatch_token = "tir.inline"
macro.dispatch_token = "tir.macro"
