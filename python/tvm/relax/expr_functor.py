# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Visitors and mutators of graph-level expressions, written in Python.

A subclass overrides the hooks it needs; the others walk on, and ``super().visit_call_(op)`` walks on
from within an override. Primitive expressions go to ``visit_expr_fallback_``.

::

    @mutator
    class ExpToTanh(PyExprMutator):
        def visit_call_(self, op):
            op = self.visit_expr_post_order(op)
            return relax.op.tanh(op.args[0]) if op.op.name == "relax.exp" else op


    new = ExpToTanh(mod).visit_expr(mod["main"])

A subclass of a decorated class derives from its ``_cls``. Nesting deeper than Python's recursion
limit raises RecursionError.
"""

from __future__ import annotations

from tvm.ir import Call, Expr, GlobalVar, Op
from tvm.ir import Var as IRVar
from tvm.ir.expr import is_prim_expr

from . import _ffi_api
from . import expr as rx
from .analysis import definable_tir_vars_in_type
from .block_builder import BlockBuilder

_HOOKS = (
    (rx.Constant, "constant"),
    (rx.Tuple, "tuple"),
    (rx.DataflowVar, "dataflow_var"),
    (rx.ShapeExpr, "shape_expr"),
    (rx.ExternFunc, "extern_func"),
    (GlobalVar, "global_var"),
    (rx.Function, "function"),
    (rx.SeqExpr, "seq_expr"),
    (rx.If, "if"),
    (Op, "op"),
    (rx.TupleGetItem, "tuple_getitem"),
    (rx.StringImm, "string_imm"),
    (rx.DataTypeImm, "data_type_imm"),
)


def _hook(expr) -> str:
    for cls, name in _HOOKS:
        if isinstance(expr, cls):
            return name
    if isinstance(expr, IRVar):
        return "var"
    if isinstance(expr, Call):
        op = expr.op
        if isinstance(op, Op) and is_prim_expr(expr) and not str(op.name).startswith("relax."):
            return "expr_fallback"
        return "call"
    return "expr_fallback"


class _Functor:
    def visit_expr(self, expr: Expr):
        """Visit an expression by its kind."""
        return getattr(self, f"visit_{_hook(expr)}_")(expr)

    def visit_binding(self, binding):
        """Visit a binding by its kind."""
        if isinstance(binding, rx.MatchCast):
            return self.visit_match_cast_(binding)
        return self.visit_var_binding_(binding)

    def visit_binding_block(self, block):
        """Visit a block by its kind."""
        if isinstance(block, rx.DataflowBlock):
            return self.visit_dataflow_block_(block)
        return self.visit_binding_block_(block)

    def visit_var_def(self, var):
        """Visit the definition of a variable."""
        if isinstance(var, rx.DataflowVar):
            return self.visit_dataflow_var_def_(var)
        return self.visit_var_def_(var)

    def visit_span(self, span):
        """Visit the source place of a node, or None; a mutator gives it to the node's successor."""
        return span


class PyExprVisitor(_Functor):
    """Walks expressions, bindings and definitions in program order."""

    def _leaf(self, op) -> None:
        self.visit_span(op.span)

    visit_constant_ = visit_var_ = visit_dataflow_var_ = visit_extern_func_ = _leaf
    visit_global_var_ = visit_string_imm_ = visit_data_type_imm_ = _leaf
    visit_expr_fallback_ = visit_var_def_ = visit_dataflow_var_def_ = _leaf

    def visit_op_(self, op) -> None:
        pass

    def visit_shape_expr_(self, op) -> None:
        self.visit_span(op.span)
        for value in op.values:
            self.visit_expr(value)

    def visit_tuple_(self, op) -> None:
        self.visit_span(op.span)
        for field in op.fields:
            self.visit_expr(field)

    def visit_tuple_getitem_(self, op) -> None:
        self.visit_span(op.span)
        self.visit_expr(op.tuple_value)

    def visit_call_(self, op) -> None:
        self.visit_span(op.span)
        self.visit_expr(op.op)
        for arg in op.args:
            self.visit_expr(arg)

    def visit_if_(self, op) -> None:
        self.visit_span(op.span)
        self.visit_expr(op.cond)
        self.visit_expr(op.true_branch)
        self.visit_expr(op.false_branch)

    def visit_function_(self, op) -> None:
        self.visit_span(op.span)
        for param in op.params:
            self.visit_var_def(param)
        self.visit_expr(op.body)

    def visit_seq_expr_(self, op) -> None:
        self.visit_span(op.span)
        for block in op.blocks:
            self.visit_binding_block(block)
        self.visit_expr(op.body)

    def visit_var_binding_(self, binding) -> None:
        self.visit_expr(binding.value)
        self.visit_var_def(binding.var)

    visit_match_cast_ = visit_var_binding_

    def visit_binding_block_(self, block) -> None:
        for binding in block.bindings:
            self.visit_binding(binding)

    visit_dataflow_block_ = visit_binding_block_


class PyExprMutator(_Functor):
    """Rewrites expressions; results are normalised and typed again.

    A node comes back as it was when nothing below it changed. ``builder_.emit`` adds bindings before
    the one that is being visited.

    Args:
        mod: Module in which functions may be added through ``builder_``.
    """

    def __init__(self, mod=None) -> None:
        self.builder_ = BlockBuilder(mod)
        self._remap: dict = {}

    def visit_expr(self, expr: Expr):
        """Visit an expression and normalise the result."""
        result = super().visit_expr(expr)
        if isinstance(result, (rx.SeqExpr, rx.Function)) or not isinstance(result, Expr):
            return result  # bodies were normalised binding by binding
        return self.builder_.normalize(result)

    def _leaf(self, op):
        return op

    visit_constant_ = visit_extern_func_ = visit_global_var_ = visit_op_ = _leaf
    visit_string_imm_ = visit_data_type_imm_ = visit_expr_fallback_ = _leaf
    visit_var_def_ = visit_dataflow_var_def_ = _leaf

    def visit_var_(self, op):
        return self.get_var_remap(op)

    visit_dataflow_var_ = visit_var_

    def visit_shape_expr_(self, op):
        values = [self.visit_expr(v) for v in op.values]
        return op if _same(values, op.values) else rx.ShapeExpr(values, self.visit_span(op.span))

    def visit_tuple_(self, op):
        fields = [self.visit_expr(f) for f in op.fields]
        return op if _same(fields, op.fields) else rx.Tuple(fields, self.visit_span(op.span))

    def visit_tuple_getitem_(self, op):
        value = self.visit_expr(op.tuple_value)
        if value.same_as(op.tuple_value):
            return op
        return rx.TupleGetItem(value, op.index, self.visit_span(op.span))

    def visit_call_(self, op):
        callee = self.visit_expr(op.op)
        args = [self.visit_expr(a) for a in op.args]
        if callee.same_as(op.op) and _same(args, op.args):
            return op
        return Call(callee, args, op.attrs, list(op.ty_args), self.visit_span(op.span))

    def visit_if_(self, op):
        cond = _ffi_api.BlockBuilderNormalizeArgument(self.builder_, self.visit_expr(op.cond))
        branches = [self.visit_with_new_scope(b) for b in (op.true_branch, op.false_branch)]
        if cond.same_as(op.cond) and _same(branches, [op.true_branch, op.false_branch]):
            return op
        return rx.If(cond, *branches, self.visit_span(op.span))

    def visit_function_(self, op):
        params = [self.visit_var_def(p) for p in op.params]
        for old, new in zip(op.params, params):
            if not new.same_as(old):
                self._remap[old] = new
        body = self.visit_with_new_scope(op.body, params)
        if body.same_as(op.body) and _same(params, op.params):
            return op
        span = self.visit_span(op.span)
        return rx.Function(params, body, op.ret_ty, op.is_pure, op.attrs, span)

    def visit_seq_expr_(self, op):
        blocks = [self.visit_binding_block(b) for b in op.blocks]
        blocks = [b for b in blocks if len(b.bindings) > 0]
        _ffi_api.BlockBuilderBeginBindingBlock(self.builder_)
        body = _ffi_api.BlockBuilderNormalizeArgument(self.builder_, self.visit_expr(op.body))
        tail = _ffi_api.BlockBuilderEndBlock(self.builder_)
        if len(tail.bindings) > 0:
            blocks.append(tail)
        if body.same_as(op.body) and _same(blocks, op.blocks):
            return op
        return rx.SeqExpr(blocks, body, self.visit_span(op.span))

    def _visit_bindings(self, block):
        for binding in block.bindings:
            self.visit_binding(binding)
        result = _ffi_api.BlockBuilderEndBlock(self.builder_)
        return block if _same(result.bindings, block.bindings) else result

    def visit_binding_block_(self, block):
        _ffi_api.BlockBuilderBeginBindingBlock(self.builder_)
        return self._visit_bindings(block)

    def visit_dataflow_block_(self, block):
        _ffi_api.BlockBuilderBeginDataflowBlock(self.builder_)
        return self._visit_bindings(block)

    def visit_var_binding_(self, binding) -> None:
        value = self.visit_expr(binding.value)
        var = self.visit_var_def(binding.var)
        if value.same_as(binding.value) and var.same_as(binding.var):
            self.builder_.emit_normalized(binding)
            return
        var = self.with_type(var, value.ty)
        if not var.same_as(binding.var):
            self._remap[binding.var] = var
        self.builder_.emit_normalized(rx.VarBinding(var, value, self.visit_span(binding.span)))

    def visit_match_cast_(self, binding) -> None:
        value = self.visit_expr(binding.value)
        value = _ffi_api.BlockBuilderNormalizeArgument(self.builder_, value)
        for symbol in definable_tir_vars_in_type(binding.ty):
            _ffi_api.BlockBuilderAddDefinition(self.builder_, symbol)
        var = self.visit_var_def(binding.var)
        if var.same_as(binding.var) and value.same_as(binding.value):
            self.builder_.emit_normalized(binding)
            return
        if not var.same_as(binding.var):
            self._remap[binding.var] = var
        span = self.visit_span(binding.span)
        self.builder_.emit_normalized(rx.MatchCast(var, value, binding.ty, span))

    def visit_expr_post_order(self, expr):
        """Rewrite the children, then normalise; the hook of the expression itself is not called."""
        return self.builder_.normalize(getattr(PyExprMutator, f"visit_{_hook(expr)}_")(self, expr))

    def visit_with_new_scope(self, expr, params=None):
        """Visit a body or branch in a scope of its own; returns a SeqExpr.

        Args:
            expr: The body.
            params: Parameters, when it is a function's.
        """
        if params is not None:
            self.builder_.begin_scope(params)
        else:
            _ffi_api.BlockBuilderBeginInnerScope(self.builder_)
        # What the body emits outside its own blocks lands in a block of its own.
        _ffi_api.BlockBuilderBeginBindingBlock(self.builder_)
        result = self.visit_expr(expr)
        prologue = _ffi_api.BlockBuilderEndBlock(self.builder_)
        if not isinstance(result, rx.SeqExpr):
            result = rx.SeqExpr([], result)
        if len(prologue.bindings) > 0:
            result = rx.SeqExpr([prologue, *result.blocks], result.body, result.span)
            result = self.builder_.normalize(result)
        self.builder_.end_scope()
        return result

    def lookup_binding(self, var):
        """What a variable is bound to, or None."""
        return self.builder_.lookup_binding(var)

    def with_type(self, var, ty):
        """The variable, or one like it, of that type."""
        if var.ty.same_as(ty) or var.ty == ty:
            return var
        kind = rx.DataflowVar if isinstance(var, rx.DataflowVar) else rx.Var
        return kind(var.name, ty, var.span)

    def set_var_remap(self, var, new_var) -> None:
        """Replace uses of a variable from now on."""
        self._remap[var] = new_var

    def get_var_remap(self, var):
        """What a variable is replaced by; itself when it is not."""
        return self._remap.get(var, var)


def _same(a, b) -> bool:
    return len(a) == len(b) and all(x.same_as(y) for x, y in zip(a, b))


def _decorated(cls, base):
    if not issubclass(cls, base):
        raise TypeError(f"expected a subclass of {base.__name__}, found {cls.__name__}")

    def refuse(sub, **_kwargs) -> None:
        raise TypeError(
            f"Inheritance from a decorated object `{cls.__name__}` is not allowed. "
            f"Please inherit from `{cls.__name__}._cls`."
        )

    fields = {"__doc__": cls.__doc__, "__module__": cls.__module__, "_cls": cls}
    derived = type(cls.__name__, (cls,), fields)
    derived.__init_subclass__ = classmethod(refuse)
    derived.__qualname__ = cls.__qualname__
    return derived


def visitor(cls):
    """Make a subclass of PyExprVisitor ready for use.

    Returns:
        The class to make objects of. It is final: derive from its ``_cls``.

    Raises:
        TypeError: The class is no visitor, or derives from a decorated class.
    """
    return _decorated(cls, PyExprVisitor)


def mutator(cls):
    """Make a subclass of PyExprMutator ready for use; see :func:`visitor`."""
    return _decorated(cls, PyExprMutator)
