# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Operators that move elements or look at shapes."""

from __future__ import annotations

import math

import numpy as np

from .convert_math import ops
from .fold import shape_slice
from .node import Node, _not_implemented, onnx_op


@onnx_op("Identity")
def identity(node: Node):
    return node.expr(0)


@onnx_op("Shape")
def shape(node: Node):
    extents = node.graph.extents(node.value(0))
    if extents is None or any(not isinstance(e, int) for e in extents):
        node.shape(0)  # raises the error that says so
    return shape_slice(node, extents)


@onnx_op("Size")
def size(node: Node):
    return np.array(int(np.prod(node.shape(0), dtype=np.int64)), np.int64)


@onnx_op("Reshape", since=1)
def reshape1(node: Node):
    node.ignore("consumed_inputs")
    return _reshape(node, node.attr("shape"), False)


@onnx_op("Reshape", since=5)
def reshape(node: Node):
    return _reshape(node, node.ints(1), bool(node.attr("allowzero", 0)))


def _reshape(node: Node, target: list[int], keep_zero: bool):
    source = node.shape(0)
    if not keep_zero:
        if any(e == 0 and i >= len(source) for i, e in enumerate(target)):
            node.fail(f"shape {target} copies an extent that {source} does not have")
        target = [source[i] if e == 0 else e for i, e in enumerate(target)]
    total = math.prod(source)
    known = math.prod(e for e in target if e != -1)
    if target.count(-1) > 1 or any(e < -1 for e in target):
        node.fail(f"shape {target} is not valid")
    if -1 in target:
        if known == 0 or total % known:
            node.fail(f"shape {target} does not fit {source}")
        target = [total // known if e == -1 else e for e in target]
    elif known != total:
        node.fail(f"shape {target} does not fit {source}")
    if total == 0:
        return np.zeros(target, node.dtype(0))  # no elements: all of it is known
    return ops().reshape(node.expr(0), target)


@onnx_op("Flatten")
def flatten(node: Node):
    source = node.shape(0)
    axis = node.attr("axis", 1)
    if axis != len(source):
        axis = node.axis(axis, len(source))
    rows = int(np.prod(source[:axis], dtype=np.int64))
    return ops().reshape(node.expr(0), [rows, int(np.prod(source[axis:], dtype=np.int64))])


@onnx_op("Transpose")
def transpose(node: Node):
    rank = node.ndim(0)
    perm = node.attr("perm", list(range(rank))[::-1])
    if sorted(perm) != list(range(rank)):
        node.fail(f"perm {perm} is no permutation of {rank} dimensions")
    value = node.value(0)
    if isinstance(value, np.ndarray):
        return np.ascontiguousarray(value.transpose(perm))
    return ops().permute_dims(value, perm)


@onnx_op("Unsqueeze")
def unsqueeze(node: Node):
    axes = node.ints(1) if node.has(1) else node.attr("axes")
    rank = node.ndim(0) + len(axes)
    axes = sorted(node.axis(a, rank) for a in axes)
    if len(set(axes)) != len(axes):
        node.fail(f"axes {axes} repeat")
    return ops().expand_dims(node.expr(0), axes)


@onnx_op("Squeeze")
def squeeze(node: Node):
    axes = node.ints(1) if node.has(1) else node.attr("axes", None)
    source = node.shape(0)
    if axes is not None:
        axes = [node.axis(a, len(source)) for a in axes]
        wrong = [a for a in axes if source[a] != 1]
        if wrong:
            node.fail(f"axes {wrong} of shape {source} do not have extent 1")
    return ops().squeeze(node.expr(0), axes)


@onnx_op("Concat")
def concat(node: Node):
    from tvm.relax import Tuple

    axis = node.attr("axis", 1) if node.version < 4 else node.attr("axis")
    axis = node.axis(axis, node.ndim(0))
    if len(node) == 1:
        return node.expr(0)
    return ops().concat(Tuple([node.expr(i) for i in range(len(node))]), axis)


@onnx_op("Split")
def split(node: Node):
    from tvm.relax import TupleGetItem

    axis = node.axis(node.attr("axis", 0), node.ndim(0))
    extent = node.shape(0)[axis]
    count = len(node.proto.output)
    parts = node.ints(1) if node.has(1) else node.attr("split", None)
    wanted = node.attr("num_outputs", count)
    if parts is None:
        if wanted != count or count < 1:
            node.fail(f"num_outputs {wanted} does not fit {count} outputs")
        piece = -(-extent // count)
        parts = [max(0, min(piece, extent - i * piece)) for i in range(count)]
    if len(parts) != count or sum(parts) != extent or any(p < 0 for p in parts):
        node.fail(f"parts {parts} do not split extent {extent} into {count} outputs")
    if count == 1:
        return [node.expr(0)]
    points = np.cumsum(parts)[:-1].tolist()
    result = node.emit(ops().split(node.expr(0), points, axis))
    return [node.emit(TupleGetItem(result, i)) for i in range(count)]


@onnx_op("Slice", since=1)
def slice1(node: Node):
    starts, ends = node.attr("starts"), node.attr("ends")
    return _slice(node, starts, ends, node.attr("axes", None), None)


@onnx_op("Slice", since=10)
def slice10(node: Node):
    axes = node.ints(3) if node.has(3) else None
    return _slice(node, node.ints(1), node.ints(2), axes, node.ints(4) if node.has(4) else None)


def _slice(node: Node, starts, ends, axes, steps):
    source = node.shape(0)
    axes = list(range(len(starts))) if axes is None else [node.axis(a, len(source)) for a in axes]
    steps = [1] * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps):
        node.fail(f"starts {starts}, ends {ends}, axes {axes}, steps {steps} differ in length")
    x = node.expr(0)
    forward = []
    for start, end, axis, step in zip(starts, ends, axes, steps):
        if step == 0:
            node.fail("a step of 0")
        extent = source[axis]
        # A step beyond the extent takes one element.
        step = max(min(step, extent + 1), -extent - 1)
        if step > 0:
            begin, stop, _ = slice(start, end, step).indices(extent)
            forward.append((axis, begin, max(begin, stop), step))
            continue
        begin = min(max(start + extent if start < 0 else start, -1), extent - 1)
        stop = max(end + extent if end < 0 else end, -1)
        index = np.arange(begin, stop, step, dtype=np.int64)
        x = node.emit(ops().take(x, node.graph.as_expr(index), axis))
    if not forward or all(b == 0 and e == source[a] and s == 1 for a, b, e, s in forward):
        return x
    a, b, e, s = (list(v) for v in zip(*forward))
    return ops().strided_slice(x, a, b, e, s, True)


@onnx_op("Gather")
def gather(node: Node):
    axis = node.axis(node.attr("axis", 0), node.ndim(0))
    extent = node.shape(0)[axis]
    index = node.value(1)
    if extent == 0 and 0 not in (node.graph.extents(node.expr(1)) or [0]):
        node.fail(f"reads elements along axis {axis}, which has extent 0")
    if isinstance(index, np.ndarray):
        if ((index < -extent) | (index >= extent)).any():
            node.fail(f"an index is out of range for extent {extent}")
    return ops().take(node.expr(0), wrap_indices(node, 1, extent), axis, "clip")


@onnx_op("GatherElements", since=11)
def gather_elements(node: Node):
    axis = node.axis(node.attr("axis", 0), node.ndim(0))
    return ops().gather_elements(
        node.expr(0), wrap_indices(node, 1, node.shape(0)[axis], "int64"), axis
    )


def wrap_indices(node: Node, position: int, extent, dtype: str | None = None):
    """Input ``position`` with negative indices counted from the end.

    Args:
        node: The node.
        position: Which input holds the indices.
        extent: Extent of the indexed dimension, or one per column of the indices.
        dtype: Integer type to cast to first; by default the input's own.
    """
    index = node.value(position)
    if isinstance(index, np.ndarray):
        index = index if dtype is None else index.astype(dtype)
        return node.graph.as_expr(np.where(index < 0, index + extent, index))
    found = node.dtype(position)
    if dtype not in (None, found):
        index, found = node.emit(ops().astype(index, dtype)), dtype
    zero = node.graph.as_expr(np.array(0, found))
    whole = node.graph.as_expr(np.array(extent, found))
    return node.emit(ops().where(ops().less(index, zero), ops().add(index, whole), index))


@onnx_op("GatherND", since=11)
def gather_nd(node: Node):
    batch = node.attr("batch_dims", 0)
    source = node.shape(0)
    node.rank(0, 1)
    least = min(node.rank(1, 1), len(source))
    if not 0 <= batch < least:
        node.fail(f"batch_dims must be in [0, {least}), found {batch}")
    width = node.shape(1)[-1]
    if not 1 <= width <= len(source) - batch:
        node.fail(f"an index of {width} numbers does not fit data of rank {len(source)}")
    extents = np.array(source[batch : batch + width], np.int64)
    index = wrap_indices(node, 1, extents, "int64")
    return ops().gather_nd(node.expr(0), index, batch)


@onnx_op("ScatterElements", "Scatter", since=9)
def scatter_elements(node: Node):
    axis = node.axis(node.attr("axis", 0), node.ndim(0))
    reduction = {"none": "update"}.get(r := node.attr("reduction", "none"), r)
    index = wrap_indices(node, 1, node.shape(0)[axis], "int64")
    return ops().scatter_elements(node.expr(0), index, node.expr(2), axis, reduction)


@onnx_op("ScatterND", since=11)
def scatter_nd(node: Node):
    reduction = {"none": "update"}.get(r := node.attr("reduction", "none"), r)
    rank = node.rank(0, 1)
    node.rank(1, 1)
    width = node.shape(1)[-1]
    if width > rank:
        node.fail(f"an index of {width} numbers does not fit data of rank {rank}")
    extents = np.array(node.shape(0)[:width], np.int64)
    index = wrap_indices(node, 1, extents, "int64")
    return ops().scatter_nd(node.expr(0), index, node.expr(2), reduction)


@onnx_op("Expand", since=8)
def expand(node: Node):
    source = node.shape(0)
    try:
        target = np.broadcast_shapes(tuple(source), tuple(node.ints(1)))
    except ValueError:
        node.fail(f"shape {source} does not broadcast to {node.ints(1)}")
    if list(target) == source:
        return node.expr(0)
    return ops().broadcast_to(node.expr(0), list(target))


@onnx_op("Tile", since=6)
def tile(node: Node):
    repeats = node.ints(1)
    if any(r < 0 for r in repeats) or len(repeats) != node.ndim(0):
        node.fail(f"repeats {repeats} must be {node.ndim(0)} numbers of at least 0")
    return ops().tile(node.expr(0), repeats)


@onnx_op("Pad", since=2)
def pad2(node: Node):
    return _pad(node, node.attr("pads"), node.attr("value", 0.0), None)


@onnx_op("Pad", since=11)
def pad11(node: Node):
    value = node.scalar(2) if node.has(2) else 0.0
    return _pad(node, node.ints(1), value, node.ints(3) if node.has(3) else None)


def _pad(node: Node, pads, value, axes):
    rank = node.ndim(0)
    axes = list(range(rank)) if axes is None else [node.axis(a, rank) for a in axes]
    if len(pads) != 2 * len(axes):
        node.fail(f"pads {pads} do not fit {len(axes)} axes")
    width = [0] * (2 * rank)
    for i, axis in enumerate(axes):
        width[2 * axis], width[2 * axis + 1] = pads[i], pads[len(axes) + i]
    modes = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "wrap": "circular"}
    mode = node.attr("mode", "constant")
    if mode not in modes:
        node.fail(f"mode {mode!r} is unknown")
    x = node.expr(0)
    crop = [(a, max(0, -width[2 * a]), max(0, -width[2 * a + 1])) for a in range(rank)]
    crop = [c for c in crop if c[1] or c[2]]
    if crop:
        source = node.shape(0)
        if any(source[axis] < low + high for axis, low, high in crop):
            node.fail(f"pads {pads} crop more than there is of {source}")
        a, b, e = zip(*((axis, low, source[axis] - high) for axis, low, high in crop))
        x = node.emit(ops().strided_slice(x, list(a), list(b), list(e), [1] * len(a), True))
        width = [max(0, w) for w in width]
    if mode == "constant" and isinstance(value, int) and value != int(float(value)):
        # The row's fill value is a float: pad zeros, and a mask that says where the value goes.
        inside = node.graph.as_expr(np.zeros(node.graph.static_shape(x, node), bool))
        mask = node.emit(ops().nn.pad(inside, width, 1.0, "constant"))
        filled = node.emit(ops().nn.pad(x, width, 0.0, "constant"))
        return ops().where(mask, node.graph.as_expr(node.full(value, 0)), filled)
    return ops().nn.pad(x, width, float(value), modes[mode])


@onnx_op("Trilu", since=14)
def trilu(node: Node):
    node.rank(0, 2)
    k = int(node.scalar(1)) if node.has(1) else 0
    return (ops().triu if node.attr("upper", 1) else ops().tril)(node.expr(0), k)


@onnx_op("OneHot", since=9)
def one_hot(node: Node):
    from tvm.relax import prim_value

    depth = int(node.scalar(1))
    if depth < 1:
        node.fail(f"depth must be at least 1, found {depth}")
    if node.const(2).size != 2:
        node.fail(f"values must hold two numbers, found {node.const(2).size}")
    off, on = node.const(2).reshape(-1)
    dtype = str(node.const(2).dtype)
    narrow = node.dtype(0) in ("int32", "int64")
    index = wrap_indices(node, 0, depth, None if narrow else "int64")
    on, off = (prim_value(v.item(), dtype) for v in (on, off))
    return ops().one_hot(index, on, off, depth, node.attr("axis", -1))


@onnx_op("ConstantOfShape", "Range")
def dynamic_constant(node: Node):
    node.fail("its inputs must be known while importing", _not_implemented())


@onnx_op("EyeLike", since=9)
def eye_like(node: Node):
    import onnx

    node.rank(0, 2, 2)
    rows, cols = node.shape(0)
    to = node.attr("dtype", None)
    dtype = node.dtype(0) if to is None else onnx.helper.tensor_dtype_to_np_dtype(to)
    return np.eye(rows, cols, node.attr("k", 0), dtype)
