# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Definition of primitive functions: name, parameters, shape variables, result."""

from __future__ import annotations

import ast
from contextlib import contextmanager
from typing import Any, TypeVar

from tvm import tirx
from tvm.ir import IRModule, Var
from tvm.ir.expr import Expr, is_prim_expr
from tvm.script.ir_builder import ir as _ir_builder
from tvm.script.ir_builder import tirx as T
from tvm.script.ir_builder.base import IRBuilder
from tvm.script.ir_builder.tirx.buffers import using_shape_names
from tvm.script.parser.core import dispatch, entry
from tvm.script.parser.core.parser import Parser
from tvm.script.parser.core.scope import UndefinedVariable

from .inline import base_names
from .jit import OptionalAnnotation, constexpr


def visit_function(self: Parser, node: ast.FunctionDef) -> None:
    """Build a function."""
    options = self.decorator_options(node)
    frame = T.prim_func(
        bool(options.get("private", False)),
        bool(options.get("s_tir", self.options.get("s_tir", False))),
        bool(options.get("persistent", False)),
    )
    name, body = _name_and_body(self, node)
    with _scope_of(self, node), frame:
        T.func_name(name)
        _visit_signature(self, node)
        self.visit_body(body)


@dispatch.register("tirx", "tvm_declare_function")
def declare_function(self: Parser, node: ast.FunctionDef) -> Any:
    """Declare a function of a module by its signature."""
    name, _ = _name_and_body(self, node)
    with IRBuilder() as builder, _scope_of(self, node):
        with T.prim_func(is_private=True):
            _visit_signature(self, node)
            T.evaluate(0)
    return _ir_builder.decl_function(name, builder.get())


def _name_and_body(self: Parser, node: ast.FunctionDef) -> tuple[str, list[ast.stmt]]:
    """Name of a function: a leading ``T.func_name("..")`` gives one that is no identifier."""
    body = node.body
    first = body[0]
    if (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Call)
        and isinstance(first.value.func, ast.Attribute)
        and first.value.func.attr == "func_name"
        and len(first.value.args) == 1
        and isinstance(first.value.args[0], ast.Constant)
    ):
        return str(first.value.args[0].value), body[1:] or [ast.copy_location(ast.Pass(), first)]
    return node.name, body


@contextmanager
def _scope_of(self: Parser, node: ast.FunctionDef):
    """Names of a function; text in the shapes of its buffers names shape variables."""
    with (
        self.var_table.with_frame(),
        self.with_dispatch_token("tirx"),
        self.with_type_vars(),
    ):
        for name, value in base_names().items():
            self.var_table.add(name, value)
        names = _ShapeNames(self, node)
        with using_shape_names(names.resolve):
            _add_type_params(self, node, names)
            yield


def _add_type_params(self: Parser, node: ast.FunctionDef, names: _ShapeNames) -> None:
    """``def f[n: T.int64](..)``: shape variables of PEP 695."""
    for param in getattr(node, "type_params", None) or ():
        bound = getattr(param, "bound", None)
        var = self.type_var(param.name, "int64" if bound is None else self.eval_expr(bound).dtype)
        self.var_table.add(param.name, var)
    del names


class _ShapeNames:
    """Resolves text in shapes: parameters (also later ones), declarations in the body, new names.

    Args:
        parser: The parser.
        node: The function.
    """

    def __init__(self, parser: Parser, node: ast.FunctionDef) -> None:
        self.parser = parser
        self.params = {item.arg: item for item in node.args.args}
        self.declared = {
            stmt.targets[0].id: stmt.value for stmt in node.body if _declares_variable(stmt)
        }

    def resolve(self, text: str) -> Any:
        """Value of a shape's text: a name, or an expression of names."""
        if text.isidentifier():
            return self._name(text)
        tree = ast.parse(text, mode="eval")
        names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
        names = {name: self._name(name) for name in names if self._may_be_variable(name)}
        return self.parser.eval_expr(tree.body, names)

    def _may_be_variable(self, name: str) -> bool:
        """Not a module like ``T`` or another value that is known already."""
        value = self.parser.var_table.lookup(name, None)
        return value is None or isinstance(value, TypeVar) or is_prim_expr(value)

    def _name(self, name: str) -> Any:
        known = self.parser.type_vars
        if name not in known:
            known[name] = self._make(name)
            self.parser.var_table.add(name, known[name])
        return known[name]

    def _make(self, name: str) -> Any:
        param = self.params.get(name)
        if param is not None and param.annotation is not None:
            value = self.parser.visit_tvm_annotation(param.annotation)
            var = value if isinstance(value, Expr) else T.handle() if value is None else value()
            if is_prim_expr(var):
                return IRBuilder.name(name, var)
        if name in self.declared:
            var = self.parser.eval_expr(self.declared[name])
            if isinstance(var, Var) and is_prim_expr(var):
                return IRBuilder.name(name, var)
        value = self.parser.var_table.lookup(name, None)
        if is_prim_expr(value):
            return value
        return Var(name, "int64" if isinstance(value, TypeVar) else "int32")


def _declares_variable(stmt: ast.stmt) -> bool:
    """``n = T.int32()``."""
    return (
        isinstance(stmt, ast.Assign)
        and len(stmt.targets) == 1
        and isinstance(stmt.targets[0], ast.Name)
        and isinstance(stmt.value, ast.Call)
        and isinstance(stmt.value.func, ast.Attribute)
        and stmt.value.func.attr in T.DTYPES
        and not stmt.value.args
    )


def _visit_signature(self: Parser, node: ast.FunctionDef) -> None:
    arguments = node.args
    for extra in (arguments.vararg, arguments.kwarg, *arguments.posonlyargs):
        if extra is not None:
            self.report_error(extra, "only plain parameters are supported")
    args = [*arguments.args, *arguments.kwonlyargs]
    self.check_params(args)
    for item in args:
        if item.annotation is None:
            self.report_error(item, "Type annotation required for function parameters.")
        _add_param(self, item)
    if node.returns is not None:
        with self.errors_at(node.returns):
            result = self.visit_tvm_annotation(node.returns)
            if result is not None:
                T.func_ret(result)


def _add_param(self: Parser, item: ast.arg) -> None:
    name = item.arg
    absent = self.options.get("absent_params", frozenset())
    if name in absent:
        self.var_table.add(name, None)
        return
    with self.errors_at(item.annotation):
        annotation = self.visit_tvm_annotation(item.annotation)
    if annotation is constexpr:
        _require_constant(self, item)
        return
    if isinstance(annotation, OptionalAnnotation):
        if not _is_jit(self, item):
            self.report_error(item, "T.Optional parameter annotations are only supported by @T.jit")
        annotation = annotation.annotation
    shape_var = self.type_vars.get(name)
    with self.errors_at(item.annotation):
        param = T.arg(name, annotation if shape_var is None else shape_var)
    self.var_table.add(name, param)


def _require_constant(self: Parser, item: ast.arg) -> None:
    try:
        self.var_table.lookup(item.arg)
    except UndefinedVariable:
        self.report_error(
            item, f"the T.constexpr parameter {item.arg} has no value; use @T.jit and specialize"
        )


def _is_jit(self: Parser, item: ast.arg) -> bool:
    del item
    return bool(self.options.get("is_jit", False))


def _check(result: Any) -> None:
    """Refuse functions that use variables wrongly."""
    if isinstance(result, (IRModule, tirx.PrimFunc)):
        from tvm.tirx.analysis import verify_well_formed

        verify_well_formed(result, assert_mode=True)


entry.WELL_FORMED_CHECKS.append(_check)
