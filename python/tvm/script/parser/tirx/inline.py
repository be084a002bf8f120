# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Functions whose body is parsed where they are called: ``T.inline`` and ``T.macro``."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any

from tvm.script.ir_builder.base import IRBuilder
from tvm.script.parser.core.diagnostics import Diagnostics
from tvm.script.parser.core.parser import Parser
from tvm.script.parser.core.source import Source


class InlineReturn(BaseException):
    """Ends the walk over an inlined body; carries the value. No error, so nothing reports it."""

    def __init__(self, value: Any) -> None:
        super().__init__("return outside of an inlined function")
        self.value = value


class InlineFunction:
    """A function that is parsed anew at each call.

    Names in it are looked up where it is defined, at the time of the call; those of a macro that
    is not hygienic where it is called.

    Args:
        node: Its definition.
        source: Source of the definition.
        frames: Gives the scopes of the definition, outermost first.
        signature: Its parameters.
        hygienic: False to look names up at the call.
        func: The Python function, if there is one.
    """

    def __init__(
        self,
        node: ast.FunctionDef,
        source: Source,
        frames: Callable[[], list[dict[str, Any]]],
        signature: inspect.Signature,
        hygienic: bool = True,
        func: Callable | None = None,
    ) -> None:
        self.node = node
        self.source = source
        self.frames = frames
        self.signature = signature
        self.hygienic = hygienic
        self.__wrapped__ = func
        self.__name__ = node.name
        self.__doc__ = ast.get_docstring(node)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind as a method."""
        if instance is None:
            return self
        return lambda *args, **kwargs: self(instance, *args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the body with these arguments into what is being built.

        Raises:
            ValueError: Nothing is being built.
            TypeError: The arguments do not fit.
        """
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        parser = Parser.current()
        if parser is None:
            if not IRBuilder.is_in_scope():
                raise ValueError(f"{self.__name__} can only be called while IR is being built")
            parser = Parser(self.source, s_tir=False, absent_params=frozenset(), pyfuncs={})
        frames = self.frames() if self.hygienic else list(parser.var_table.frames)
        with (
            parser.as_current(),
            parser.with_diag_source(self.source, _call_site()),
            parser.with_frames([*frames, dict(bound.arguments)]),
            parser.with_dispatch_token("tirx"),
            parser.inlined(),
        ):
            try:
                parser.visit_body(self.node.body)
            except InlineReturn as result:
                return result.value
        return None


def _call_site() -> Any:
    """Place of the statement that is being built."""
    from tvm.script.ir_builder import _ffi_api

    return _ffi_api.IRBuilderCurrentSpan()


def inline_of_function(func: Callable, hygienic: bool = True) -> InlineFunction:
    """Make an inline function of a Python function."""
    source = Source(func)
    node = only_function(source)
    cells = dict(zip(func.__code__.co_freevars, func.__closure__ or ()))

    def frames() -> list[dict[str, Any]]:
        closure = {}
        for name, cell in cells.items():
            try:
                closure[name] = cell.cell_contents
            except ValueError:  # not assigned yet
                continue
        return [func.__globals__, base_names(), closure]

    return InlineFunction(node, source, frames, inspect.signature(func), hygienic, func)


def base_names() -> dict[str, Any]:
    """Names that mean something else in functions of scripts than in Python."""
    from .entry import script_range

    return {"range": script_range}


def only_function(source: Source) -> ast.FunctionDef:
    """The function that a source defines.

    Raises:
        DiagnosticError: It defines none, e.g. that of a lambda.
    """
    tree = source.as_ast()
    for stmt in tree.body:
        if isinstance(stmt, ast.FunctionDef):
            return stmt
    place = tree.body[0] if tree.body else ast.Module([], [])
    raise Diagnostics(source).error(place, "expected the definition of a function (`def`)")


def inline_of_node(parser: Parser, node: ast.FunctionDef, hygienic: bool = True) -> InlineFunction:
    """Make an inline function of a definition inside of a script."""
    frames = list(parser.var_table.frames)  # the scopes themselves: later names are seen
    return InlineFunction(
        node, parser.source, lambda: frames, _signature(parser, node.args), hygienic
    )


def _signature(parser: Parser, arguments: ast.arguments) -> inspect.Signature:
    """Parameters of a definition, defaults evaluated."""
    kinds = inspect.Parameter
    params = []
    positional = [*arguments.posonlyargs, *arguments.args]
    missing = len(positional) - len(arguments.defaults)
    for i, item in enumerate(positional):
        kind = (
            kinds.POSITIONAL_ONLY if i < len(arguments.posonlyargs) else kinds.POSITIONAL_OR_KEYWORD
        )
        default = kinds.empty
        if i >= missing:
            default = parser.eval_expr(arguments.defaults[i - missing])
        params.append(inspect.Parameter(item.arg, kind, default=default))
    if arguments.vararg:
        params.append(inspect.Parameter(arguments.vararg.arg, kinds.VAR_POSITIONAL))
    for item, value in zip(arguments.kwonlyargs, arguments.kw_defaults):
        default = kinds.empty if value is None else parser.eval_expr(value)
        params.append(inspect.Parameter(item.arg, kinds.KEYWORD_ONLY, default=default))
    if arguments.kwarg:
        params.append(inspect.Parameter(arguments.kwarg.arg, kinds.VAR_KEYWORD))
    return inspect.Signature(params)
