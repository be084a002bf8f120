# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Statements of a module class."""

from __future__ import annotations

import ast
from typing import Any

from tvm.ir import GlobalVar
from tvm.script.ir_builder import ir as _builder
from tvm.script.parser.core import dispatch
from tvm.script.parser.core.parser import Parser


class ModuleWithGlobalVars:
    """The module inside its own functions: ``cls.f`` is the GlobalVar of ``f``."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"Cannot find the function `{name}` in the current IRModule")


def find_class_stmts(body: list[ast.stmt]) -> tuple[list[ast.stmt], list[ast.FunctionDef]]:
    """Statements of a class body: those that are no functions, and the functions."""
    functions = [stmt for stmt in body if isinstance(stmt, ast.FunctionDef)]
    return [stmt for stmt in body if not isinstance(stmt, ast.FunctionDef)], functions


@dispatch.register("ir", "ClassDef")
def _visit_class_def(self: Parser, node: ast.ClassDef) -> None:
    self.decorator_options(node)  # refuses unknown ones
    if self.dispatch_tokens[-1] != "default":
        self.report_error(node, "a module can be defined at the outermost level only")
    others, functions = find_class_stmts(node.body)
    with self.var_table.with_frame(), _builder.ir_module(), self.with_dispatch_token("ir"):
        module = ModuleWithGlobalVars()
        self.var_table.add("cls", module)
        self.var_table.add(node.name, module)
        for stmt in others:
            self.visit(stmt)
        for function in functions:
            var = self.declare_function(function)
            if isinstance(var, GlobalVar):
                setattr(module, function.name, var)
                if self.var_table.lookup(function.name, None) is None:
                    self.var_table.add(function.name, var)
        helpers = [function for function in functions if not hasattr(module, function.name)]
        for function in helpers:
            self.visit(function)
        for function in functions:
            if function not in helpers:
                self.visit(function)


@dispatch.register("ir", "Assign")
def _visit_assign(self: Parser, node: ast.Assign) -> None:
    """``f = <function>``: a function made elsewhere becomes part of the module."""
    if len(node.targets) != 1:
        self.report_error(node, "Consequential assignments like 'a = b = c' are not supported.")
    target = node.targets[0]
    if not isinstance(target, ast.Name):
        self.report_error(target, "only a name can be assigned in a module")
    value = self.eval_expr(node.value)
    var = _builder.decl_function(target.id, value)
    _builder.def_function(target.id, value)
    self.var_table.add(target.id, var)
    setattr(self.var_table.lookup("cls"), target.id, var)


@dispatch.register("ir", "Expr")
def _visit_expr(self: Parser, node: ast.Expr) -> None:
    self.eval_expr(node.value)


@dispatch.register("default", "Assign")
def _visit_default_assign(self: Parser, node: ast.Assign) -> None:
    """Statements of Python in front of the program, e.g. ``n = TypeVar("n")``."""
    value = self.eval_expr(node.value)
    for target in node.targets:
        self.bind_target(target, value, self.var_table.add)


@dispatch.register("default", "Expr")
def _visit_default_expr(self: Parser, node: ast.Expr) -> None:
    self.eval_expr(node.value)


@dispatch.register("pyfunc", "tvm_declare_function")
def _declare_pyfunc(self: Parser, node: ast.FunctionDef) -> None:
    del self, node


@dispatch.register("pyfunc", "FunctionDef")
def _visit_pyfunc(self: Parser, node: ast.FunctionDef) -> None:
    """Run the definition as Python, with the names it sees here, and keep the function."""
    plain = ast.FunctionDef(
        **{
            **{field: getattr(node, field, None) for field in node._fields},
            "decorator_list": [],
        }
    )
    tree = ast.fix_missing_locations(ast.Module([ast.copy_location(plain, node)], []))
    names = self.var_table.get()
    exec(compile(tree, self.source.source_name, "exec"), names)
    self.options["pyfuncs"][node.name] = names[node.name]
