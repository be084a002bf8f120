# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Evaluates nodes whose inputs are all known, with numpy.

Meant for the arithmetic of shapes; what would make large new constants is left to the compiler.
"""

from __future__ import annotations

import math

import numpy as np

_FOLDERS: dict = {}
MAX_ELEMENTS = 1 << 16


def folder(*names: str):
    def register(fn):
        for name in names:
            _FOLDERS[name] = fn
        return fn

    return register


def fold(node):
    """Outputs as arrays, or ``None`` when the node is not one to fold."""
    fn = _FOLDERS.get(node.op)
    if fn is None or node.proto.domain not in ("", "ai.onnx") or not node.inputs:
        return None
    arrays = [v for v in node.inputs if v is not None]
    small = sum(a.size for a in arrays) <= MAX_ELEMENTS
    if not small and node.op not in (
        "Identity",
        "Unsqueeze",
        "Squeeze",
        "Reshape",
        "Shape",
        "Size",
    ):
        return None
    with np.errstate(all="ignore"):
        result = fn(node)
    return None if result is None else [np.asarray(r) for r in result]


_BINARY = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Equal": np.equal,
    "And": np.logical_and,
    "Or": np.logical_or,
}
_UNARY = {
    "Neg": np.negative,
    "Abs": np.abs,
    "Floor": np.floor,
    "Ceil": np.ceil,
    "Sqrt": np.sqrt,
    "Not": np.logical_not,
    "Reciprocal": np.reciprocal,
}


@folder(*_BINARY)
def _binary(node):
    if node.version < 7 and {"axis", "broadcast"} & {a.name for a in node.proto.attribute}:
        return None
    return [_BINARY[node.op](node.value(0), node.value(1))]


@folder(*_UNARY)
def _unary(node):
    x = node.value(0)
    return None if node.op == "Reciprocal" and x.dtype.kind in "iu" else [_UNARY[node.op](x)]


@folder("Div")
def _div(node):
    a, b = node.value(0), node.value(1)
    if a.dtype.kind not in "iu":
        return [a / b]
    if (b == 0).any():
        node.fail("integer division by zero")
    quotient = a // b
    if a.dtype.kind == "i":  # toward zero, where numpy rounds down
        quotient = quotient + ((quotient * b != a) & ((a < 0) != (b < 0)))
    return [quotient.astype(a.dtype)]


@folder("Identity")
def _identity(node):
    return [node.value(0)]


@folder("Shape")
def _shape(node):
    return [shape_slice(node, node.value(0).shape)]


def shape_slice(node, extents) -> np.ndarray:
    """The extents that a Shape node asks for."""
    start, end = node.attr("start", 0), node.attr("end", None)
    return np.array(list(extents)[start:end], np.int64)


@folder("Size")
def _size(node):
    return [np.array(node.value(0).size, np.int64)]


@folder("Cast")
def _cast(node):
    from .convert_math import cast_type

    node.ignore("saturate", "round_mode")
    return [node.value(0).astype(cast_type(node))]


@folder("Unsqueeze")
def _unsqueeze(node):
    axes = node.ints(1) if node.has(1) else node.attr("axes")
    x = node.value(0)
    rank = x.ndim + len(axes)
    for axis in sorted(node.axis(a, rank) for a in axes):
        x = np.expand_dims(x, axis)
    return [x]


@folder("Squeeze")
def _squeeze(node):
    x = node.value(0)
    axes = node.ints(1) if node.has(1) else node.attr("axes", None)
    return [np.squeeze(x) if axes is None else np.squeeze(x, tuple(axes))]


@folder("Reshape")
def _reshape(node):
    x, target = node.value(0), node.ints(1) if node.has(1) else node.attr("shape")
    keep_zero = node.attr("allowzero", 0)
    target = [x.shape[i] if e == 0 and not keep_zero else e for i, e in enumerate(target)]
    return [x.reshape(target)]


@folder("Transpose")
def _transpose(node):
    return [np.transpose(node.value(0), node.attr("perm", None))]


@folder("Concat")
def _concat(node):
    return [np.concatenate(list(node.inputs), node.attr("axis"))]


@folder("Gather")
def _gather(node):
    x, index, axis = node.value(0), node.value(1), node.attr("axis", 0)
    extent = x.shape[axis]
    if ((index < -extent) | (index >= extent)).any():
        node.fail(f"an index is out of range for extent {extent}: {index.tolist()}")
    return [np.take(x, index, axis)]


@folder("Slice")
def _slice(node):
    x = node.value(0)
    starts = node.ints(1) if node.has(1) else node.attr("starts")
    ends = node.ints(2) if node.has(2) else node.attr("ends")
    axes = node.ints(3) if node.has(3) else node.attr("axes", None) or list(range(len(starts)))
    steps = node.ints(4) if node.has(4) else [1] * len(starts)
    index = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps):
        if step == 0:
            node.fail("a step of 0")
        extent = x.shape[axis]
        if step < 0 and end < -extent:
            end = None  # past the front: python would count it from the end
        index[axis] = slice(start, end, step)
    return [x[tuple(index)]]


@folder("Where")
def _where(node):
    return [np.where(node.value(0), node.value(1), node.value(2))]


@folder("Expand")
def _expand(node):
    x = node.value(0)
    if any(e < 0 for e in node.ints(1)) or math.prod(e for e in node.ints(1) if e) > 1 << 60:
        node.fail(f"no shape: {node.ints(1)}")
    shape = np.broadcast_shapes(x.shape, tuple(node.ints(1)))
    return [np.broadcast_to(x, shape)] if math.prod(shape) <= MAX_ELEMENTS else None


@folder("ConstantOfShape")
def _constant_of_shape(node):
    value = np.asarray(node.attr("value", np.zeros(1, np.float32)))
    shape = node.ints(0)
    if any(e < 0 for e in shape):
        node.fail(f"negative extent in shape {shape}")
    if math.prod(shape) > MAX_ELEMENTS * 64:
        node.fail(f"a constant of shape {shape} is too large")
    return [np.full(shape, value.reshape(-1)[0], value.dtype)]


@folder("Range")
def _range(node):
    start, limit, delta = (node.scalar(i) for i in range(3))
    if delta == 0 or not all(math.isfinite(v) for v in (start, limit, delta)):
        node.fail(f"there is no range from {start} to {limit} in steps of {delta}")
    whole = isinstance(start, int)
    count = max(0, -((start - limit) // delta) if whole else math.ceil((limit - start) / delta))
    if count > MAX_ELEMENTS * 64:
        node.fail("the range is too long")
    return [(start + np.arange(count) * delta).astype(node.value(0).dtype)]


@folder("ReduceProd", "ReduceSum", "ReduceMax", "ReduceMin")
def _reduce(node):
    fn = {"ReduceProd": np.prod, "ReduceSum": np.sum, "ReduceMax": np.max, "ReduceMin": np.min}
    axes = node.ints(1) if node.has(1) else node.attr("axes", None)
    if axes is None and node.attr("noop_with_empty_axes", 0):
        return [node.value(0)]
    x = node.value(0)
    if x.size == 0:
        return None
    keep = bool(node.attr("keepdims", 1))
    return [fn[node.op](x, tuple(axes) if axes else None, keepdims=keep).astype(x.dtype)]


@folder("Min", "Max")
def _extremum(node):
    fn = np.minimum if node.op == "Min" else np.maximum
    result = node.value(0)
    for value in node.inputs[1:]:
        result = fn(result, value)
    return [result]
