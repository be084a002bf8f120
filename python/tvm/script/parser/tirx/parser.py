# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Statements of primitive functions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from tvm import tirx
from tvm.ir import Call, FuncType, GlobalVar, PrimType, Var
from tvm.ir.expr import Expr, is_prim_expr
from tvm.script.ir_builder import tirx as T
from tvm.script.ir_builder.base import IRBuilder, IRBuilderFrame, meta_var
from tvm.script.ir_builder.ir import IRModuleFrame
from tvm.script.ir_builder.tirx import frame as _frames
from tvm.script.ir_builder.tirx.buffers import scalar_buffer
from tvm.script.ir_builder.tirx.control import assert_message
from tvm.script.ir_builder.tirx.values import (
    LetAnnotation,
    ScalarVar,
    VectorAnnotation,
    annotation_type,
    as_expr,
    as_value,
)
from tvm.script.parser.core import dispatch
from tvm.script.parser.core.evaluator import _BINARY, _COMPARE, _UNARY
from tvm.script.parser.core.parser import Parser

from . import function as _function
from .binding import bind_value, declare_scalar, enter_rest_of_scope
from .inline import InlineReturn, inline_of_node

_LOOP_KINDS = (
    "Expect the for loop to be one of the following: range, T.serial, T.grid, T.parallel, "
    "T.vectorized, T.unroll, T.thread_binding"
)


@dispatch.register("tirx", "FunctionDef")
def _visit_nested_function(self: Parser, node: ast.FunctionDef) -> None:
    _function.visit_function(self, node)


@dispatch.register("tir.inline", "FunctionDef")
def _visit_inline(self: Parser, node: ast.FunctionDef) -> None:
    self.var_table.add(node.name, inline_of_node(self, node))


@dispatch.register("tir.macro", "FunctionDef")
def _visit_macro(self: Parser, node: ast.FunctionDef) -> None:
    hygienic = bool(self.decorator_options(node).get("hygienic", True))
    self.var_table.add(node.name, inline_of_node(self, node, hygienic))


@dispatch.register_load(ScalarVar)
def _load_scalar(self: Parser, value: ScalarVar) -> Expr:
    del self
    return value.asobject()


# --- calls -----------------------------------------------------------------------------------


@dispatch.register("tirx", "call")
def _call(
    self: Parser, node: ast.Call, function: Callable, args: list, kwargs: dict[str, Any]
) -> Any:
    """Calls of module functions are calls of TIRx, whatever they are given."""
    if isinstance(function, (Expr, ScalarVar)) and not isinstance(function, GlobalVar):
        if is_prim_expr(as_value(function)):
            raise TypeError("A primitive-valued expression cannot be called")
    if not isinstance(function, GlobalVar):
        return function(*args, **kwargs)
    if kwargs:
        raise TypeError("functions of a module take no keyword arguments")
    del self, node
    function = _declared(function)
    ret = function.ty.ret_type if isinstance(function.ty, FuncType) else PrimType("void")
    values = [arg if tirx.is_buffer(arg) else as_expr(arg) for arg in args]
    return Call(function, values, ret_ty=ret)


def _declared(var: GlobalVar) -> GlobalVar:
    """The module's own variable of that name."""
    for frame in IRBuilder.current().frames:
        if isinstance(frame, IRModuleFrame) and var.name_hint in frame.global_vars:
            return frame.global_vars[var.name_hint]
    return var


def _register_region_operators() -> None:
    """Slices of buffers are vectors where they are operands."""
    region = tirx.BufferRegion
    region._dispatch_type = region
    for table in (_BINARY, _COMPARE):
        for kind, function in table.items():
            for index in (0, 1):
                dispatch.register_op(region, kind, index)(
                    lambda left, right, function=function: function(as_value(left), as_value(right))
                )
    for kind, function in _UNARY.items():
        dispatch.register_op(region, kind, 0)(
            lambda value, function=function: function(as_value(value))
        )


_register_region_operators()

# --- loops and branches ------------------------------------------------------------------------


@dispatch.register("tirx", "For")
def _visit_for(self: Parser, node: ast.For) -> None:
    loops = self.eval_expr(node.iter)
    if isinstance(loops, range):
        loops = T.serial(loops.start, loops.stop, step=None if loops.step == 1 else loops.step)
    if not isinstance(loops, _frames.ForFrame):
        self.report_error(node.iter, _LOOP_KINDS)
    if node.orelse:
        self.report_error(node.orelse[0], "`else` of a loop is not supported")
    loops.__enter__()
    with _closing(loops), self.var_table.with_frame():
        variables = list(loops.vars)
        value = variables[0] if len(variables) == 1 else variables
        self.eval_assign(node.target, value, _name_loop_vars)
        self.visit_body(node.body)


def _name_loop_vars(self: Parser, node: ast.expr, name: str, value: Any) -> Any:
    del self, node
    return IRBuilder.name(name, list(value) if isinstance(value, (list, tuple)) else value)


class _closing:
    """Leaves a frame that was entered: it builds its node, unless there was an error."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc) -> None:
        self.frame.__exit__(*exc)


@dispatch.register("tirx", "While")
def _visit_while(self: Parser, node: ast.While) -> None:
    if node.orelse:
        self.report_error(node.orelse[0], "`else` of a loop is not supported")
    condition = as_value(self.eval_expr(node.test))
    _require_condition(self, node.test, condition, "While")
    with T.While(condition), self.var_table.with_frame():
        self.visit_body(node.body)


@dispatch.register("tirx", "If")
def _visit_if(self: Parser, node: ast.If) -> None:
    condition = as_value(self.eval_expr(node.test))
    if not isinstance(condition, Expr):
        # Known while parsing: only the branch that is taken exists, and its names stay.
        self.visit_body(node.body if condition else node.orelse)
        return
    _require_condition(self, node.test, condition, "If")
    with T.If(condition):
        with T.Then(), self.var_table.with_frame():
            self.visit_body(node.body)
        if node.orelse:
            with T.Else(), self.var_table.with_frame():
                self.visit_body(node.orelse)


def _require_condition(self: Parser, node: ast.expr, condition: Any, what: str) -> None:
    if isinstance(condition, bool):
        return
    if is_prim_expr(condition) and condition.dtype.lanes == 1 and str(condition.dtype) == "bool":
        return
    found = f"{condition} of type {condition.ty}" if isinstance(condition, Expr) else condition
    self.report_error(node, f"{what} condition must be a boolean expression, but got {found}")


@dispatch.register("tirx", "With")
def _visit_with(self: Parser, node: ast.With) -> None:
    with ExitStack() as stack, self.var_table.with_frame():
        for item in node.items:
            scope = self.eval_expr(item.context_expr)
            if not hasattr(scope, "__enter__"):
                self.report_error(
                    item.context_expr, f"Invalid context expression in the with-statement: {scope}"
                )
            value = stack.enter_context(scope)
            if item.optional_vars is not None:
                self.eval_assign(item.optional_vars, value, _bind_with)
        self.visit_body(node.body)


def _bind_with(self: Parser, node: ast.expr, name: str, value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            _bind_with(self, node, f"{name}_{i}", item)
        return value
    if isinstance(value, (Var, tirx.IterVar)):
        IRBuilder.name(name, value)
    return value


# --- assignments -------------------------------------------------------------------------------


@dispatch.register("tirx", "Assign")
def _visit_assign(self: Parser, node: ast.Assign) -> None:
    if len(node.targets) != 1:
        self.report_error(node, "Consequential assignments like 'a = b = c' are not supported.")
    _assign(self, node.targets[0], self.eval_expr(node.value))


def _assign(self: Parser, target: ast.expr, value: Any) -> None:
    if isinstance(target, ast.Subscript):
        _store_item(self, target, value)
    elif isinstance(target, ast.Attribute):
        _store_attribute(self, target, value)
    elif isinstance(target, (ast.Tuple, ast.List)) and any(
        isinstance(item, (ast.Subscript, ast.Attribute)) for item in target.elts
    ):
        values = list(value)
        if len(values) != len(target.elts):
            self.report_error(
                target, f"{len(values)} values for {len(target.elts)} targets of an assignment"
            )
        for item, part in zip(target.elts, values):
            _assign(self, item, part)
    else:
        self.eval_assign(target, value, bind_value)


def _store_item(self: Parser, target: ast.Subscript, value: Any) -> None:
    container = self.eval_expr(target.value)
    index = self.eval_expr(target.slice)
    if tirx.is_buffer(container):
        T.buffer_store(container, value, list(index) if isinstance(index, tuple) else [index])
    elif isinstance(container, (Expr, tirx.BufferRegion)):
        self.report_error(target, f"cannot assign to an element of {container}: it is no buffer")
    else:
        container[index] = value


def _store_attribute(self: Parser, target: ast.Attribute, value: Any) -> None:
    owner = self.eval_expr(target.value)
    if isinstance(owner, Expr):
        self.report_error(target, f"cannot assign to attribute {target.attr} of {owner}")
    old = getattr(owner, target.attr, None)
    stored = scalar_buffer(old)
    if stored is not None and _is_number(value):
        T.buffer_store(stored, value, [0])
        return
    setattr(owner, target.attr, value.value if isinstance(value, meta_var) else value)


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, ScalarVar)) or is_prim_expr(as_value(value))


@dispatch.register("tirx", "AugAssign")
def _visit_aug_assign(self: Parser, node: ast.AugAssign) -> None:
    target = node.target
    loaded = ast.copy_location(type(target)(**{**vars(target), "ctx": ast.Load()}), target)
    value = self.eval_expr(
        ast.copy_location(ast.BinOp(left=loaded, op=node.op, right=node.value), node)
    )
    _assign(self, target, value)


@dispatch.register("tirx", "AnnAssign")
def _visit_ann_assign(self: Parser, node: ast.AnnAssign) -> None:
    if not isinstance(node.target, ast.Name):
        self.report_error(node.target, "only a name can be annotated")
    name = node.target.id
    annotation = self.visit_tvm_annotation(node.annotation)
    value = None if node.value is None else self.eval_expr(node.value)
    if isinstance(annotation, LetAnnotation):
        if node.value is None:
            self.report_error(node, "T.let annotation requires a value")
        bound = T.bind(value, annotation.ty)
        self.var_table.add(name, IRBuilder.name(name, bound))
        return
    if isinstance(annotation, VectorAnnotation):
        if node.value is not None:
            self.report_error(node, "Vector annotation does not support initial value")
        vector = T.alloc_local(annotation.shape, annotation.element)
        self.var_table.add(name, IRBuilder.name(name, vector))
        return
    try:
        ty = annotation_type(annotation)
    except TypeError as err:
        self.report_error(node.annotation, err)
    if not isinstance(ty, PrimType):
        self.report_error(
            node.annotation,
            "Use T.let[...] for non-PrimType annotations (e.g. PointerType, handle)",
        )
    self.var_table.add(name, declare_scalar(name, ty, value))


# --- other statements --------------------------------------------------------------------------


@dispatch.register("tirx", "Expr")
def _visit_expr(self: Parser, node: ast.Expr) -> None:
    value = self.eval_expr(node.value)
    if value is None or isinstance(value, str):  # a call for its effect; a comment
        return
    value = as_value(value)
    if isinstance(value, IRBuilderFrame):
        enter_rest_of_scope(value)
    elif isinstance(value, tirx.Stmt):
        T.add_to_parent(value)
    elif isinstance(value, (bool, int, float)) or (
        isinstance(value, Expr) and not tirx.is_buffer(value)
    ):
        T.evaluate(value)
    elif isinstance(value, Var):
        return  # e.g. a buffer that was declared without a name
    else:
        self.report_error(node, f"Parsing resulted in unexpected type {type(value)}")


@dispatch.register("tirx", "Assert")
def _visit_assert(self: Parser, node: ast.Assert) -> None:
    condition = as_value(self.eval_expr(node.test))
    message = "" if node.msg is None else self.eval_expr(node.msg)
    try:
        kind, parts = assert_message(message)
    except ValueError as err:
        self.report_error(node, err)
    if not isinstance(condition, Expr):
        if not condition:
            text = "".join(str(getattr(part, "value", part)) for part in parts)
            self.report_error(node, f"assertion failed: {text}")
        return
    T._ffi_api.AssertStmt(condition, kind, parts)


@dispatch.register("tirx", "Return")
def _visit_return(self: Parser, node: ast.Return) -> None:
    if self.inline_depths:
        value = None if node.value is None else self.eval_expr(node.value)
        if len(IRBuilder.current().frames) != self.inline_depths[-1]:
            self.report_error(
                node, "`return` of an inlined function cannot stand in a loop or branch"
            )
        raise InlineReturn(value)
    value = None if node.value is None else as_expr(self.eval_expr(node.value))
    if not isinstance(value, Expr):
        self.report_error(node, "Expression to be returned must be a Expr")
    T.Return(value)


@dispatch.register("tirx", "Break")
def _visit_break(self: Parser, node: ast.Break) -> None:
    del self, node
    T.Break()


@dispatch.register("tirx", "Continue")
def _visit_continue(self: Parser, node: ast.Continue) -> None:
    del self, node
    T.Continue()


@dispatch.register("tirx", "tvm_annotation")
def _annotation(self: Parser, node: ast.expr) -> Any:
    """Annotations may be text (PEP 563)."""
    return self.annotation_of(node)
