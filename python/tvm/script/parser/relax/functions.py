# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Function definitions of the graph dialect: signatures, symbols, nested functions."""

from __future__ import annotations

import ast
from contextlib import contextmanager
from typing import Any, TypeVar

from tvm import relax
from tvm.ir import IRModule, PrimType, Type
from tvm.ir.expr import is_prim_expr
from tvm.script.ir_builder import relax as R
from tvm.script.ir_builder.base import IRBuilder
from tvm.script.ir_builder.ir import decl_function
from tvm.script.ir_builder.relax.frame import BindingBlockFrame, FunctionFrame
from tvm.script.parser.core import dispatch
from tvm.script.parser.core.entry import WELL_FORMED_CHECKS
from tvm.script.parser.core.parser import Parser
from tvm.script.parser.core.scope import UndefinedVariable

from .types import SymbolScope, annotation_symbols, as_type

_OPTIONS = {"pure": True, "private": False, "check_well_formed": True}


class FunctionState:
    """What is known of a function while its statements are visited.

    Args:
        names: Names of the function's own scope.
        scope: Its symbolic dimensions.
    """

    def __init__(self, names: dict[str, Any], scope: SymbolScope) -> None:
        self.names = names
        self.scope = scope


def _options(self: Parser, node: ast.FunctionDef) -> dict[str, Any]:
    return {**_OPTIONS, **self.decorator_options(node)}


@contextmanager
def _symbols(self: Parser):
    """Scope of the function's symbols; new ones become names of the function."""
    names = self.var_table.frames[-1]

    def lookup(name: str):
        try:
            return self.var_table.lookup(name)
        except UndefinedVariable:
            raise KeyError(name) from None

    scope = SymbolScope(lookup)
    scope.names = names
    with scope:
        yield FunctionState(names, scope)


def _arguments(self: Parser, node: ast.FunctionDef) -> list[ast.arg]:
    spec = node.args
    for item, what in ((spec.vararg, "*"), (spec.kwarg, "**")):
        if item is not None:
            self.report_error(item, f"a relax function takes no {what}{item.arg} parameter")
    if spec.defaults or any(d is not None for d in spec.kw_defaults):
        self.report_error(node, "parameters of a relax function have no defaults")
    args = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
    for item in args:
        if item.annotation is None:
            self.report_error(item, "Type annotation is required for function parameters.")
    return args


def _type_of(self: Parser, node: ast.expr, value: Any, scope: SymbolScope) -> Type:
    with self.errors_at(node):
        return as_type(value, scope)


def _return_type(value: Any, scope: SymbolScope) -> Type:
    """Type of the result; text in it names symbols that a parameter defines."""
    with scope.closed():
        return as_type(value, scope)


def _signature(self: Parser, node: ast.FunctionDef, state: FunctionState):
    """Parameters and result type.

    A parameter may use symbols that a later one defines, so that the symbols come first.
    """
    args = _arguments(self, node)
    self.check_params(args)
    params: dict[str, relax.Var] = {}
    waiting = []

    def define(item: ast.arg, value: Any) -> None:
        ty = _type_of(self, item.annotation, value, state.scope)
        params[item.arg] = self.annotate(relax.Var(item.arg, ty), item)
        self.var_table.add(item.arg, params[item.arg])

    for item in args:
        with self.errors_at(item.annotation):
            value = self.annotation_of(item.annotation)
        if isinstance(value, Type) or not annotation_needs_symbols(value):
            define(item, value)
        else:
            waiting.append((item, value))
    names = {item.arg for item in args}
    for _, value in waiting:
        for name in annotation_symbols(value):
            if name not in names:
                state.scope.dim(name)
    _bind_symbols(self, state)
    for item, value in waiting:
        define(item, value)
    ret = None
    if node.returns is not None:
        with self.errors_at(node.returns):
            ret = _return_type(self.annotation_of(node.returns), state.scope)
    return [params[item.arg] for item in args], ret


def annotation_needs_symbols(value: Any) -> bool:
    """True for annotations that name dimensions."""
    return hasattr(value, "bare") and hasattr(value, "_build")


def _bind_symbols(self: Parser, state: FunctionState) -> None:
    """Let the function's statements use its symbols, whatever name stands for the TypeVar."""
    visible = {
        name: value
        for frame in self.var_table.frames
        for name, value in frame.items()
        if isinstance(value, TypeVar)
    }
    for name, var in state.scope.symbols.items():
        state.names.setdefault(name, var)
    for name, value in visible.items():
        if value.__name__ in state.scope.symbols:
            state.names.setdefault(name, state.scope.symbols[value.__name__])


@dispatch.register("relax", "tvm_declare_function")
def _declare_function(self: Parser, node: ast.FunctionDef) -> Any:
    options = _options(self, node)
    with self.var_table.with_frame(), _symbols(self) as state:
        params, ret = _signature(self, node, state)
    func = relax.Function.create_empty(
        params, relax.AnyType() if ret is None else ret, bool(options["pure"])
    )
    return decl_function(node.name, func)


def enclosing_function() -> FunctionFrame | None:
    """Frame of the function that is being built."""
    for frame in reversed(list(IRBuilder.current().frames)):
        if isinstance(frame, FunctionFrame):
            return frame
    return None


@dispatch.register("relax", "FunctionDef")
def _visit_function_def(self: Parser, node: ast.FunctionDef) -> None:
    options = _options(self, node)
    outer = enclosing_function()
    names = self.var_table.frames[-1]
    own = None
    with (
        self.var_table.with_frame(),
        self.with_dispatch_token("relax"),
        _symbols(self) as state,
        R.function(bool(options["pure"]), bool(options["private"])) as frame,
    ):
        self.options.setdefault("relax_functions", []).append(state)
        try:
            R.func_name(node.name)
            params, ret = _signature(self, node, state)
            for var in params:
                R.builder._api.AddParam(var)
            if ret is not None:
                R.func_ret_ty(ret)
            if outer is not None and ret is not None:
                own = _local_var(
                    node.name, relax.FuncType([p.ty for p in params], ret, bool(options["pure"]))
                )
                if node.name not in state.names:
                    self.var_table.add(node.name, own)
            self.visit_body(node.body)
            if frame.output is None:
                self.report_error(
                    node,
                    "A Relax function must have a return value. Please use `return` to return an "
                    "Expr",
                )
        finally:
            self.options["relax_functions"].pop()
    if outer is None:
        return
    # A nested function is a value bound to a variable of its name.
    func = frame.result
    if own is None:
        own = R.emit(func)
        IRBuilder.name(node.name, own)
    else:
        R.emit_var_binding(relax.VarBinding(own, func))
    names[node.name] = own


def _local_var(name: str, ty: Type) -> relax.Var:
    frames = list(IRBuilder.current().frames)
    below = next((f for f in reversed(frames[:-1])), None)
    if isinstance(below, BindingBlockFrame) and below.is_dataflow:
        return relax.DataflowVar(name, ty)
    return relax.Var(name, ty)


def current_state(self: Parser) -> FunctionState:
    """State of the function whose statements are being visited."""
    return self.options["relax_functions"][-1]


def is_symbol(value: Any) -> bool:
    """True for a variable that can be a symbolic dimension."""
    return isinstance(value, relax.Var) and is_prim_expr(value) and isinstance(value.ty, PrimType)


def _check_well_formed(result: Any) -> None:
    """Rules of the dialect, for what the parser returns."""
    if isinstance(result, relax.Function) or (
        isinstance(result, IRModule)
        and any(isinstance(f, relax.Function) for f in result.functions.values())
    ):
        relax.analysis.well_formed(result)


WELL_FORMED_CHECKS.append(_check_well_formed)
