# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Kernels with parameters that are fixed before they are parsed: ``T.jit``."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable
from typing import Any

from tvm.script.parser.core.entry import parse
from tvm.script.parser.core.scope import capture, require_function
from tvm.script.parser.core.source import Source

from .inline import only_function


class _Constexpr:
    """Annotation ``n: T.constexpr``: a Python value given to ``specialize``."""

    def __getitem__(self, _kind: Any) -> _Constexpr:
        return self

    def __repr__(self) -> str:
        return "T.constexpr"


class OptionalAnnotation:
    """``T.Optional[annotation]``: a parameter that may be left out.

    Args:
        annotation: Its annotation where it is present.
    """

    def __init__(self, annotation: Any) -> None:
        self.annotation = annotation


class _Optional:
    """``T.Optional[...]``; ``T.Optional(...)`` alike."""

    def __getitem__(self, annotation: Any) -> OptionalAnnotation:
        return OptionalAnnotation(annotation)

    def __call__(self, annotation: Any) -> OptionalAnnotation:
        return OptionalAnnotation(annotation)


constexpr = _Constexpr()
Optional = _Optional()


class JITKernel:
    """A kernel that becomes a PrimFunc once its constants are known.

    Args:
        func: The Python function.
        names: Names it sees.
        options: Options of the parse.
    """

    def __init__(self, func: Callable, names: dict[str, Any], options: dict[str, Any]) -> None:
        self.func = func
        self.__name__ = func.__name__
        self.__doc__ = func.__doc__
        self._names = names
        self._options = options
        self._cache: dict[Any, Any] = {}
        self.constexpr_params: list[str] = []
        self.optional_params: list[str] = []
        self._inspect(Source(func))

    def _inspect(self, source: Source) -> None:
        """Find the parameters that can be fixed."""
        function = only_function(source)
        for item in [*function.args.args, *function.args.kwonlyargs]:
            base = item.annotation
            if isinstance(base, ast.Constant) and isinstance(base.value, str):
                base = ast.parse(base.value, mode="eval").body
            if isinstance(base, (ast.Subscript, ast.Call)):
                base = base.value if isinstance(base, ast.Subscript) else base.func
            marker = self._value_of(base)
            if marker is constexpr:
                self.constexpr_params.append(item.arg)
            elif marker is Optional:
                self.optional_params.append(item.arg)

    def _value_of(self, node: ast.expr | None) -> Any:
        """Value of a dotted name, or None."""
        if isinstance(node, ast.Name):
            return self._names.get(node.id)
        if isinstance(node, ast.Attribute):
            return getattr(self._value_of(node.value), node.attr, None)
        return None

    def specialize(self, **constexprs: Any) -> Any:
        """PrimFunc for fixed constants.

        Args:
            constexprs: Value per ``T.constexpr`` parameter; None for ``T.Optional`` parameters
                that are left out.

        Raises:
            TypeError: A name is unknown, a constant is missing or not hashable, or an optional
                parameter gets something else than None.
        """
        name = self.__name__
        known = [*self.constexpr_params, *self.optional_params]
        unexpected = sorted(set(constexprs) - set(known))
        if unexpected:
            raise TypeError(
                f"{name}.specialize() got unexpected arg(s): {unexpected} "
                f"(specializable params are: {known})"
            )
        wrong = [key for key in self.optional_params if constexprs.get(key) is not None]
        if wrong:
            raise TypeError(
                f"{name}.specialize(): T.Optional parameters only accept None; got a value for "
                f"{wrong}"
            )
        values, missing = {}, []
        params = inspect.signature(self.func).parameters
        for key in self.constexpr_params:
            if key in constexprs:
                values[key] = constexprs[key]
            elif params[key].default is not inspect.Parameter.empty:
                values[key] = params[key].default
            else:
                missing.append(key)
        if missing:
            raise TypeError(
                f"{name}.specialize() missing constexpr arg(s) (no default provided): {missing}"
            )
        absent = frozenset(key for key in self.optional_params if key in constexprs)
        return self._parse(values, absent)

    def _parse(self, values: dict[str, Any], absent: frozenset[str]) -> Any:
        key = (tuple((name, type(value), value) for name, value in values.items()), absent)
        try:
            cached = self._cache.get(key)
        except TypeError:
            kinds = {name: type(value).__name__ for name, value in values.items()}
            raise TypeError(
                f"{self.__name__}.specialize(): all constexpr values must be hashable "
                f"(got: {kinds})"
            ) from None
        if cached is None:
            cached = parse(
                self.func,
                {**self._names, **values},
                absent_params=set(absent),
                is_jit=True,
                **self._options,
            )
            self._cache[key] = cached
        return cached


def jit(
    func: Callable | None = None,
    *,
    private: bool = False,
    check_well_formed: bool = True,
    s_tir: bool = False,
    persistent: bool = False,
) -> Any:
    """Make a kernel of a function whose ``T.constexpr`` parameters are fixed later.

    Args:
        func: The function.
        private: It is not visible outside of its module.
        check_well_formed: Refuse a function that uses variables wrongly.
        s_tir: It is of the schedulable dialect.
        persistent: It is a persistent kernel.
    """
    del private, persistent  # read from the decorator when the function is parsed
    outer = sys._getframe(1)
    options = {"check_well_formed": check_well_formed, "s_tir": s_tir}

    def decorate(func: Callable, frame=None) -> JITKernel:
        require_function(func)
        return JITKernel(func, capture(func, frame or sys._getframe(1)), options)

    if func is not None:
        return decorate(func, outer)
    decorate.dispatch_token = "tirx"
    return decorate


jit.dispatch_token = "tirx"
