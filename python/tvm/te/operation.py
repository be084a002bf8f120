# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Definitions of tensors."""

from __future__ import annotations

import inspect
from numbers import Integral

import tvm_ffi
from tvm.ir import Range, Var
from tvm.tirx import IterVar, Stmt, convert, decl_buffer
from tvm.tirx.stmt import Evaluate

from . import _ffi_api
from .tensor import Tensor, TensorSlice


def _shape(shape) -> tuple:
    if isinstance(shape, Integral) or getattr(shape, "__iter__", None) is None:
        return (shape,)
    return tuple(shape)


def placeholder(shape, dtype=None, name: str = "placeholder") -> Tensor:
    """Tensor given from outside.

    Args:
        shape: Extents.
        dtype: Element type; float32 if left out.
        name: Name.
    """
    return _ffi_api.Placeholder(list(_shape(shape)), tvm_ffi.dtype(dtype or "float32"), name)


def _element(value):
    return value.asobject() if isinstance(value, TensorSlice) else convert(value)


def compute(shape, fcompute, name: str = "compute", tag: str = "", attrs=None, varargs_names=None):
    """Tensor whose elements are given by a formula.

    Args:
        shape: Extents.
        fcompute: ``fn(i, j, ..) -> element``, or a tuple of elements for several tensors.
        name: Name.
        tag: Mark for later passes.
        attrs: Further attributes.
        varargs_names: Names of the variables of ``*args``.

    Returns:
        The tensor, or a tuple of tensors.
    """
    shape = tuple(convert(s) if isinstance(s, Integral) else s for s in _shape(shape))
    names = _axis_names(fcompute, len(shape), varargs_names)
    axis = [IterVar((0, extent), axis_name, 0) for axis_name, extent in zip(names, shape)]
    body = fcompute(*[iv.var for iv in axis])
    many = isinstance(body, (list, tuple))
    values = [_element(value) for value in (body if many else [body])]
    op = _ffi_api.ComputeOp(name, tag, dict(attrs or {}), axis, values)
    outputs = tuple(op.output(i) for i in range(op.num_outputs))
    return outputs if many or len(outputs) > 1 else outputs[0]


def _axis_names(fcompute, ndim: int, varargs_names) -> list[str]:
    params = inspect.signature(fcompute).parameters.values()
    names = [p.name for p in params if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    variadic = [p.name for p in params if p.kind is p.VAR_POSITIONAL]
    if variadic:
        rest = ndim - len(names)
        if varargs_names is None:
            return [*names, *[f"i{i}" for i in range(rest)]]
        if len(varargs_names) != rest:
            raise RuntimeError(
                f"Number of varargs_names ({len(varargs_names)}) does not match number of "
                f"varargs ({rest})"
            )
        return [*names, *varargs_names]
    if len(names) != ndim:
        if not names and ndim:
            return [f"i{i}" for i in range(ndim)]
        raise ValueError(
            f"Number of args to fcompute does not match dimension, args={len(names)}, "
            f"dimension={ndim}"
        )
    return names


def reduce_axis(dom, name: str = "rv", thread_tag: str = "", span=None) -> IterVar:
    """Axis to reduce over.

    Args:
        dom: Range, or pair of bounds.
        name: Name.
    """
    return IterVar(dom, name, IterVar.CommReduce, thread_tag, span)


def thread_axis(dom=None, tag: str = "", name: str = "", span=None) -> IterVar:
    """Axis bound to hardware threads, e.g. of tag ``threadIdx.x``."""
    if isinstance(dom, str):
        tag, dom = dom, None
    if not tag:
        raise ValueError("tag must be given as Positional or keyword argument")
    return IterVar(dom, name or tag, IterVar.ThreadIndex, tag, span)


def var(name: str = "tindex", dtype="int32", span=None) -> Var:
    """Variable of an extent or index."""
    return Var(name, dtype, span)


size_var = var


def const(value, dtype="int32", span=None):
    """Constant."""
    from tvm.tirx import const as make

    return make(value, dtype, span)


def scan(init, update, state_placeholder, inputs=None, name="scan", tag="", attrs=None):
    """Recurrence along the first axis.

    Args:
        init: First state.
        update: State from the one before.
        state_placeholder: Placeholder of the state.
        inputs: Tensors read per step.

    Returns:
        The tensor of all states, or a list of them.
    """
    as_list = [[x] if isinstance(x, Tensor) else list(x) for x in (init, update, state_placeholder)]
    init, update, state_placeholder = as_list
    if not len(init) == len(update) == len(state_placeholder):
        raise ValueError("init, update, state_placeholder must have same length")
    axis = IterVar(Range(init[0].shape[0], update[0].shape[0]), f"{name}.idx", IterVar.Ordered)
    op = _ffi_api.ScanOp(
        name, tag, dict(attrs or {}), axis, init, update, state_placeholder, list(inputs or [])
    )
    outputs = [op.output(i) for i in range(len(update))]
    return outputs[0] if len(outputs) == 1 else outputs


def extern(
    shape,
    inputs,
    fcompute,
    name="extern",
    dtype=None,
    in_buffers=None,
    out_buffers=None,
    tag="",
    attrs=None,
):
    """Tensors computed by a statement.

    Args:
        shape: Extents of the result, or a list of extents.
        inputs: Tensors read.
        fcompute: ``fn(input buffers, output buffers) -> statement``.
        dtype: Element type, or one per result; that of the inputs if left out.
        in_buffers: Buffers of the inputs.
        out_buffers: Buffers of the results.
    """
    shape = _shape(shape)
    shapes = [shape] if not shape or not isinstance(shape[0], (list, tuple)) else list(shape)
    if in_buffers is None:
        in_buffers = [decl_buffer(t.shape, t.dtype, t.op.name) for t in inputs]
    elif not isinstance(in_buffers, (list, tuple)):
        in_buffers = [in_buffers]
    if out_buffers is None:
        if dtype is None:
            kinds = {str(t.dtype) for t in inputs}
            if len(kinds) != 1:
                raise ValueError("Cannot infer output type, please provide dtype argument")
            dtype = kinds.pop()
        dtypes = [dtype] * len(shapes) if isinstance(dtype, str) else list(dtype)
        out_buffers = [decl_buffer(s, d, name) for s, d in zip(shapes, dtypes)]
    elif not isinstance(out_buffers, (list, tuple)):
        out_buffers = [out_buffers]
    body = fcompute(list(in_buffers), list(out_buffers))
    if not isinstance(body, Stmt):
        body = Evaluate(body)
    op = _ffi_api.ExternOp(
        name, tag, dict(attrs or {}), list(inputs), list(in_buffers), list(out_buffers), body
    )
    outputs = [op.output(i) for i in range(len(out_buffers))]
    return outputs[0] if len(outputs) == 1 else outputs


def create_prim_func(ops, index_dtype_override: str | None = None):
    """Primitive function of a graph of tensors.

    Args:
        ops: Inputs and outputs, in the order of the parameters; variables become scalars.
        index_dtype_override: Data type of all indices.
    """
    if not isinstance(ops, (list, tuple)) and type(ops).__name__ != "Array":
        ops = [ops]
    return _ffi_api.CreatePrimFunc(list(ops), index_dtype_override)


AXIS_SEPARATOR = "axis_separator"
