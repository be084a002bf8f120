# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Kernels written with the compute language, called from graph-level functions."""

from __future__ import annotations

from tvm.ir import Expr
from tvm.ir.expr import is_prim_expr

from .expr import Constant, ShapeExpr, Tuple
from .ty import TensorType


def gen_call_tir_inputs(func, *args, **kwargs):
    """Run a function over te tensors on Relax arguments.

    Args:
        func: The function; returns one te tensor or several.
        args: Relax tensors, scalars, shapes, nested lists and dicts.
        kwargs: The same by keyword.

    Returns:
        (PrimFunc, inputs, output type or list of types, extra scalars or None).
    """
    from tvm import te

    inputs, placeholders = [], []

    def convert(value):
        if isinstance(value, Expr):
            if is_prim_expr(value):
                return value
            if isinstance(value, ShapeExpr):
                return list(value.values)
            if isinstance(value, Tuple):
                return [convert(f) for f in value.fields]
            if isinstance(value.ty, TensorType) or isinstance(value, Constant):
                for seen, tensor in zip(inputs, placeholders):
                    if seen.same_as(value):
                        return tensor
                ty = value.ty
                if ty.shape is None:
                    raise ValueError(f"emit_te needs tensors of known shape, but got {ty}")
                name = getattr(value, "name", None) or "p"
                tensor = te.placeholder(list(ty.shape.values), str(ty.dtype.dtype), str(name))
                inputs.append(value)
                placeholders.append(tensor)
                return tensor
            raise TypeError(f"emit_te cannot take a value of type {value.ty}")
        if isinstance(value, (list, tuple)):
            return [convert(v) for v in value]
        if isinstance(value, dict):
            return {k: convert(v) for k, v in value.items()}
        return value

    outs = func(*(convert(a) for a in args), **{k: convert(v) for k, v in kwargs.items()})
    many = isinstance(outs, (list, tuple)) or not hasattr(outs, "op")
    outputs = list(outs) if many else [outs]
    symbols = _extra_symbols(placeholders, outputs)
    prim = te.create_prim_func([*placeholders, *outputs, *symbols])
    prim = prim.without_attr("global_symbol")
    types = [TensorType(list(t.shape), str(t.dtype)) for t in outputs]
    out_ty = types if len(types) > 1 else types[0]
    return prim, inputs, out_ty, symbols or None


def _extra_symbols(placeholders, outputs) -> list:
    """Symbolic variables of the outputs that no placeholder's shape gives."""
    from tvm.ir import Var

    given = []
    for t in placeholders:
        given += [d for d in t.shape if isinstance(d, Var)]
    extra = []
    for t in outputs:
        for d in t.shape:
            if isinstance(d, Var) and not any(d.same_as(g) for g in [*given, *extra]):
                extra.append(d)
    return extra


__all__ = ["gen_call_tir_inputs"]
