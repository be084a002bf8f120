# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Statements of the graph dialect."""

from __future__ import annotations

import ast
from typing import Any

from tvm import relax
from tvm.ir import Call, Expr, PrimType, TupleType, Type
from tvm.ir.expr import EqualOp, is_prim_expr
from tvm.ir.expr import Var as IRVar
from tvm.script.ir_builder import relax as R
from tvm.script.ir_builder.base import IRBuilder, IRBuilderFrame
from tvm.script.ir_builder.relax.frame import BindingBlockFrame
from tvm.script.ir_builder.relax.ops import to_expr, to_type
from tvm.script.parser.core import dispatch
from tvm.script.parser.core.parser import Parser

from .functions import current_state
from .markers import MatchCastPair
from .types import as_type

_VOID_MESSAGE = (
    "Non-void relax expressions must be bound to a variable, but expression of type {} was used as "
    "a statement."
)


# --- values and variables -------------------------------------------------------------------------


def _is_declaration(self: Parser, value: Any) -> bool:
    """True for the fresh variable that ``T.int64()`` makes."""
    return (
        isinstance(value, IRVar)
        and is_prim_expr(value)
        and not isinstance(value, relax.DataflowVar)
        and not self.var_table.exist(value)
    )


def _declare_symbol(self: Parser, node: ast.AST, name: str, value: IRVar) -> IRVar:
    state = current_state(self)
    known = state.scope.symbols.get(name)
    if known is not None:
        if str(known.ty.dtype) != str(value.ty.dtype):
            self.report_error(
                node,
                f"Symbolic variable {name} is declared with type {value.ty.dtype}, but the "
                f"signature uses it with type {known.ty.dtype}",
            )
        return known
    IRBuilder.name(name, value)
    state.scope.symbols[name] = value
    state.names.setdefault(name, value)
    return value


def _number(value: Any, ty: Type | None) -> Expr:
    """Literal of a script: a scalar where its type says so, else a constant tensor."""
    if isinstance(ty, PrimType):
        return relax.prim_value(value, ty.dtype)
    if isinstance(ty, relax.TensorType) and ty.dtype is not None:
        return relax.const(value, ty.dtype.dtype)
    return relax.const(value)


def _is_plain(value: Any) -> bool:
    """True for Python values that stay what they are: modules, types, functions, text, ..."""
    if isinstance(value, (Expr, MatchCastPair, EqualOp, bool, int, float, tuple)):
        return False
    return not hasattr(value, "asobject") or isinstance(value, Type) or hasattr(value, "as_ty")


def bind_value(
    self: Parser, node: ast.AST, name: str, value: Any, annotation: Type | None = None
) -> Any:
    """Give a name its meaning: a new binding for values of the program, else the Python value."""
    if _is_plain(value):
        return value
    if isinstance(value, MatchCastPair):
        var = R.emit_match_cast(value.value, value.ty)
        if annotation is not None and annotation != var.ty:
            self.report_error(node, _mismatch(name, annotation, var.ty))
        IRBuilder.name(name, var)
        return var
    if _is_declaration(self, value):
        return _declare_symbol(self, node, name, value)
    if isinstance(value, (bool, int, float)):
        value = _number(value, annotation)
    value = to_expr(value)
    if isinstance(value, relax.Function) and annotation is None:
        annotation = value.ty
    var = R.emit(value, annotation)
    IRBuilder.name(name, var)
    return var


def _mismatch(name: str, annotation: Type, found: Type) -> str:
    return f"variable {name} is annotated with type {annotation}, but its value has type {found}"


def _split(self: Parser, value: Any) -> Any:
    """Fields of a tuple value, for ``a, b = value``."""
    if not isinstance(value, Expr) or is_prim_expr(value):
        return value
    if isinstance(value, relax.Tuple):
        return list(value.fields)
    if not isinstance(value, IRVar):
        value = R.emit(value)
    if not isinstance(value.ty, TupleType):
        raise TypeError(f"cannot unpack a value of type {value.ty}")
    return [relax.TupleGetItem(value, i) for i in range(len(value.ty.fields))]


# --- assignments ----------------------------------------------------------------------------------


@dispatch.register("relax", "Assign")
def _visit_assign(self: Parser, node: ast.Assign) -> None:
    if len(node.targets) != 1:
        self.report_error(node, "Consequential assignments like 'a = b = c' are not supported.")
    target = node.targets[0]
    value = self.eval_expr(node.value)
    if isinstance(target, (ast.Tuple, ast.List)):
        value = _split(self, value)
    self.eval_assign(target, value, bind_value)


@dispatch.register("relax", "AnnAssign")
def _visit_ann_assign(self: Parser, node: ast.AnnAssign) -> None:
    if node.value is None:
        self.report_error(node, "a variable needs a value: `x: R.Tensor(..) = value`")
    annotation = self.visit_tvm_annotation(node.annotation)
    value = self.eval_expr(node.value)

    def bind(parser, target, name, item):
        return bind_value(parser, target, name, item, annotation)

    self.eval_assign(node.target, value, bind)


@dispatch.register("relax", "tvm_annotation")
def _visit_annotation(self: Parser, node: ast.expr) -> Type:
    with self.errors_at(node):
        return as_type(self.annotation_of(node), current_state(self).scope)


# --- other statements -----------------------------------------------------------------------------


@dispatch.register("relax", "Expr")
def _visit_expr(self: Parser, node: ast.Expr) -> None:
    value = self.eval_expr(node.value)
    if value is None or isinstance(value, str):
        return
    if isinstance(value, MatchCastPair):
        self.report_error(node, "the result of R.match_cast must be bound to a variable")
    if not isinstance(value, (Expr, tuple, list)):
        return
    var = R.emit(value)
    if not (isinstance(var.ty, TupleType) and len(var.ty.fields) == 0):
        self.report_error(node, _VOID_MESSAGE.format(var.ty))
    IRBuilder.name("_", var)


@dispatch.register("relax", "Return")
def _visit_return(self: Parser, node: ast.Return) -> None:
    value = to_expr(None if node.value is None else self.eval_expr(node.value))
    expansions = self.options.get("relax_macros")
    if expansions:
        expansions[-1].append(value)
        return
    R.func_ret_value(value)


@dispatch.register("relax", "With")
def _visit_with(self: Parser, node: ast.With) -> None:
    with self.var_table.with_frame():
        outer = self.var_table.frames[-2]
        frames = []
        _enter(self, node, list(node.items), frames)
        inner = self.var_table.frames[-1]
    for frame in frames:
        if isinstance(frame, BindingBlockFrame):
            _rebind_outputs(frame, inner, outer)


def _enter(self: Parser, node: ast.With, items: list, frames: list) -> None:
    if not items:
        self.visit_body(node.body)
        return
    item = items.pop(0)
    frame = self.eval_expr(item.context_expr)
    if not isinstance(frame, IRBuilderFrame):
        self.report_error(item.context_expr, "Invalid context expression in the with-statement.")
    frames.append(frame)
    with frame:
        if item.optional_vars is not None:
            self.bind_target(item.optional_vars, frame, self.var_table.add)
        _enter(self, node, items, frames)


def _rebind_outputs(frame: BindingBlockFrame, inner: dict, outer: dict) -> None:
    """Names of a dataflow block's outputs stand for the variables that live on."""
    for old, new in zip(frame.inner_outputs, frame.output_vars):
        for name, value in inner.items():
            if isinstance(value, IRVar) and value.same_as(old):
                outer[name] = new


@dispatch.register("relax", "If")
def _visit_if(self: Parser, node: ast.If) -> None:
    if not node.orelse:
        self.report_error(node, "Empty body is not allowed for 'R.Else' statements.")
    condition = self.eval_expr(node.test)
    with R.If(condition) as choice:
        with self.var_table.with_frame(), R.Then():
            self.visit_body(node.body)
        with self.var_table.with_frame(), R.Else():
            self.visit_body(node.orelse)
    self.var_table.add(str(choice.var_name), choice.var)


@dispatch.register("relax", "call")
def _call(self: Parser, node: ast.Call, function: Any, args: list, kwargs: dict) -> Any:
    """Calls of functions of the program; anything else is Python's."""
    if isinstance(function, Expr):
        ty_args = kwargs.pop("ty_args", None)
        attrs = kwargs.pop("attrs", None)
        if kwargs:
            raise TypeError(f"a call of {function} takes no keyword {', '.join(sorted(kwargs))}")
        if ty_args is not None:
            ty_args = [to_type(t) for t in ty_args]
        return Call(function, [to_expr(a) for a in args], attrs, ty_args)
    return function(*args, **kwargs)


# --- macros ---------------------------------------------------------------------------------------


def expand_macro(macro, args: tuple, kwargs: dict) -> Any:
    """Visit a macro's statements in place of a call; gives what its last ``return`` gives.

    Raises:
        RuntimeError: The call is not part of a script.
    """
    parser = Parser.current()
    if parser is None:
        raise RuntimeError(f"macro {macro.__name__} can be called only in a script")
    bound = macro.signature.bind(*args, **kwargs)
    bound.apply_defaults()
    frames = [macro.names] if macro.hygienic else list(parser.var_table.frames)
    expansions = parser.options.setdefault("relax_macros", [])
    returned: list = []
    expansions.append(returned)
    try:
        with (
            parser.with_diag_source(macro.source),
            parser.with_frames([*frames, dict(bound.arguments)]),
            parser.with_dispatch_token("relax"),
        ):
            definition = macro.source.as_ast().body[0]
            parser.visit_body(definition.body)
    finally:
        expansions.pop()
    return returned[-1] if returned else None
