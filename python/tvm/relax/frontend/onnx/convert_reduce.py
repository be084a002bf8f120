# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Reductions, softmax, arg-reductions, cumulative sums."""

from __future__ import annotations

import numpy as np

from .convert_math import ops, scalar
from .node import Node, onnx_op


def _axes(node: Node):
    """Axes by input or attribute; ``None`` for all; ``()`` for none."""
    axes = node.ints(1) if node.has(1) else node.attr("axes", None)
    rank = node.ndim(0)
    if not axes:
        return () if node.attr("noop_with_empty_axes", 0) else None
    node.attr("noop_with_empty_axes", 0)
    return [node.axis(a, rank) for a in axes]


@onnx_op(
    "ReduceSum",
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceProd",
    "ReduceL1",
    "ReduceL2",
    "ReduceSumSquare",
    "ReduceLogSum",
    "ReduceLogSumExp",
)
def reduce(node: Node):
    axes, keep = _axes(node), bool(node.attr("keepdims", 1))
    x = node.expr(0)
    if axes == ():
        return x
    name = node.op[len("Reduce") :]
    kind = node.dtype(0)
    if name in ("L2", "LogSum", "LogSumExp") and not kind.startswith(("float", "bfloat")):
        # Roots and logarithms of integers are taken in float64 and cut back.
        wide = node.emit(ops().astype(x, "float64"))
        return ops().astype(node.emit(_reduced(node, name, wide, axes, keep)), kind)
    return _reduced(node, name, x, axes, keep)


def _reduced(node: Node, name: str, x, axes, keep: bool):
    if name in ("Sum", "Mean", "Max", "Min", "Prod"):
        return getattr(ops(), name.lower())(x, axes, keep)
    if name == "L1":
        return ops().sum(ops().abs(x), axes, keep)
    if name in ("L2", "SumSquare"):
        total = node.emit(ops().sum(ops().multiply(x, x), axes, keep))
        return ops().sqrt(total) if name == "L2" else total
    if name == "LogSum":
        return ops().log(node.emit(ops().sum(x, axes, keep)))
    largest = node.emit(ops().max(x, axes, True))
    # An infinite largest element would be taken from itself.
    zero = node.emit(ops().zeros_like(largest))
    largest = node.emit(ops().where(ops().isinf(largest), zero, largest))
    total = node.emit(ops().sum(ops().exp(ops().subtract(x, largest)), axes, True))
    result = node.emit(ops().add(ops().log(total), largest))
    if keep:
        return result
    return ops().squeeze(result, axes if axes is not None else list(range(node.ndim(0))))


def _flattened(node: Node, fn):
    """Before opset 13: the dimensions from ``axis`` on are one."""
    axis = node.attr("axis", 1)
    x, shape = node.expr(0), node.shape(0)
    axis = node.axis(axis, len(shape)) if axis != len(shape) else axis
    outer = inner = 1
    for extent in shape[:axis]:
        outer *= extent
    for extent in shape[axis:]:
        inner *= extent
    if axis == len(shape) - 1:
        return fn(x, -1)
    y = node.emit(ops().reshape(x, [outer, inner]))
    return ops().reshape(node.emit(fn(y, -1)), shape)


@onnx_op("Softmax", since=1)
def softmax_flat(node: Node):
    return _flattened(node, ops().nn.softmax)


@onnx_op("LogSoftmax", since=1)
def log_softmax_flat(node: Node):
    return _flattened(node, ops().nn.log_softmax)


@onnx_op("Softmax", since=13)
def softmax(node: Node):
    return ops().nn.softmax(node.expr(0), node.attr("axis", -1))


@onnx_op("LogSoftmax", since=13)
def log_softmax(node: Node):
    return ops().nn.log_softmax(node.expr(0), node.attr("axis", -1))


@onnx_op("ArgMax", "ArgMin")
def arg_reduce(node: Node):
    node.expect("select_last_index", (0,), 0)
    fn = ops().argmax if node.op == "ArgMax" else ops().argmin
    axis = node.axis(node.attr("axis", 0), node.rank(0, 1))
    if node.graph.extents(node.expr(0))[axis] == 0:
        node.fail(f"axis {axis} has extent 0: there is no position to return")
    return fn(node.expr(0), axis, bool(node.attr("keepdims", 1)))


@onnx_op("CumSum", since=11)
def cumsum(node: Node):
    axis = node.axis(int(node.scalar(1)), node.ndim(0))
    x = node.expr(0)
    backwards = node.attr("reverse", 0)
    if backwards:
        x = node.emit(ops().flip(x, axis))
    x = node.emit(ops().cumsum(x, axis, None, bool(node.attr("exclusive", 0))))
    return ops().flip(x, axis) if backwards else x


@onnx_op("TopK", since=11)
def top_k(node: Node):
    k = int(node.scalar(1))
    node.ignore("sorted")
    axis, largest = node.axis(node.attr("axis", -1), node.ndim(0)), bool(node.attr("largest", 1))
    shape = node.shape(0)
    if not 0 <= k <= shape[axis]:
        node.fail(f"{k} elements are asked for; axis {axis} has {shape[axis]}")
    if k == 0:
        shape[axis] = 0
        return [np.zeros(shape, node.dtype(0)), np.zeros(shape, np.int64)]
    result = node.emit(ops().topk(node.expr(0), k, axis, "both", largest, "int64"))
    from tvm.relax import TupleGetItem

    return [node.emit(TupleGetItem(result, i)) for i in range(2)]


@onnx_op("LpNormalization")
def lp_normalization(node: Node):
    axis, p = node.axis(node.attr("axis", -1), node.ndim(0)), node.attr("p", 2)
    if p not in (1, 2):
        node.fail(f"p must be 1 or 2, got {p}")
    x = node.expr(0)
    if p == 1:
        norm = ops().sum(ops().abs(x), [axis], True)
    else:
        norm = ops().sqrt(ops().sum(ops().multiply(x, x), [axis], True))
    norm = node.emit(norm)
    safe = ops().where(ops().equal(norm, scalar(node, 0)), scalar(node, 1), norm)
    return ops().divide(x, safe)
