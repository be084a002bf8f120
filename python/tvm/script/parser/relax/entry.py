# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Decorators of the graph dialect."""

from __future__ import annotations

import inspect
import sys
from typing import Any

from tvm.script.parser.core.entry import parse
from tvm.script.parser.core.scope import capture, is_in_module_class, require_function
from tvm.script.parser.core.source import Source


def function(
    f=None, *, pure: bool = True, private: bool = False, check_well_formed: bool = True
) -> Any:
    """Parse a function as a graph-level function.

    Used as a decorator, with or without options. In the class of a module, the module is parsed as
    a whole and the function stays as it is until then.

    Args:
        f: The function.
        pure: Calls of it have no effect.
        private: It gets no global symbol.
        check_well_formed: Refuse a function that breaks the rules of the dialect.

    Returns:
        The function.
    """
    where = sys._getframe(1)
    if is_in_module_class(where):
        return f if f is not None else _leave_alone

    def decorate(func, frame=None):
        require_function(func)
        names = capture(func, frame or sys._getframe(1))
        return parse(func, names, check_well_formed=check_well_formed)

    if f is not None:
        return decorate(f, where)
    decorate.dispatch_token = "relax"
    return decorate


def _leave_alone(func):
    return func


_leave_alone.dispatch_token = "relax"
function.dispatch_token = "relax"


class RelaxMacro:
    """Function whose statements are inlined where it is called.

    Args:
        func: The function.
        names: Names visible where it is defined.
        hygienic: Its free names mean what they mean there, not where it is called.
    """

    def __init__(self, func, names: dict, hygienic: bool) -> None:
        self.source = Source(func)
        self.names = names
        self.hygienic = hygienic
        self.signature = inspect.signature(func)
        self.__name__ = func.__name__

    def __call__(self, *args, **kwargs):
        from .statements import expand_macro

        return expand_macro(self, args, kwargs)


def macro(*args, hygienic: bool = True):
    """Make a function whose statements are inlined where it is called.

    A call gives what the last ``return`` of the macro gives.

    Args:
        args: The function, when used without options.
        hygienic: Free names mean what they mean at the definition, not at the call.
    """
    where = sys._getframe(1)

    def decorate(func, frame=None):
        require_function(func)
        return RelaxMacro(func, capture(func, frame or sys._getframe(1)), hygienic)

    if len(args) == 1 and inspect.isfunction(args[0]):
        return decorate(args[0], where)
    if args:
        raise ValueError("R.macro takes its options by keyword: @R.macro(hygienic=..)")
    return decorate
