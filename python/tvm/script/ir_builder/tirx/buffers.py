# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Buffers and scalar variables of scripts."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, TypeVar

from tvm import tirx
from tvm.ir import PrimType, Range, Var

from . import _ffi_api
from .values import DType, ScalarVar, annotation_type, as_expr, as_value, is_scalar_load

# Turns the name of a shape variable into it while a program is parsed; see `using_shape_names`.
_RESOLVERS: list[Callable[[str], Any]] = []


class using_shape_names:  # noqa: N801 - used like a function
    """Context in which text in shapes is resolved by a function of the text."""

    def __init__(self, resolve: Callable[[str], Any]) -> None:
        self.resolve = resolve

    def __enter__(self) -> None:
        _RESOLVERS.append(self.resolve)

    def __exit__(self, *_exc) -> None:
        _RESOLVERS.pop()


def _dims(values: Any, known: dict[str, Var] | None = None) -> list:
    """Extents; names among them become variables."""
    if values is None:
        return []
    if isinstance(values, (str, TypeVar)) or getattr(values, "__iter__", None) is None:
        values = (values,)
    known = {} if known is None else known
    return [_dim(value, known) for value in values]


def _dim(value: Any, known: dict[str, Var]) -> Any:
    if isinstance(value, TypeVar):
        value = value.__name__
    if not isinstance(value, str):
        return as_value(value)
    if _RESOLVERS:
        return _RESOLVERS[-1](value)
    tree = ast.parse(value, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            known.setdefault(node.id, Var(node.id, "int32"))
    return eval(compile(tree, "<shape>", "eval"), {"__builtins__": {}}, dict(known))


def Buffer(  # noqa: N802 - public name
    shape: Any,
    dtype: Any = "float32",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = 0,
    offset_factor: int = 0,
    buffer_type: str = "",
    *,
    layout: Any = "default",
    allocated_addr: Any = None,
    axis_separators: Any = None,
) -> tirx.Buffer:
    """Buffer; as an annotation, a buffer parameter.

    Args:
        shape: Extents; a text names a shape variable.
        dtype: Element type.
        data: Pointer whose memory scope the buffer takes.
        strides: Elements between neighbours per axis; row-major if left out.
        elem_offset: Elements from the data pointer to the first element.
        scope: Memory it lies in.
        align: Alignment of the data pointer in bytes; 0 means the default.
        offset_factor: `elem_offset` is a multiple of it.
        buffer_type: ``"auto_broadcast"`` or empty.
        layout: Layout of the elements; ``"default"`` is row-major.
        allocated_addr: Fixed addresses.
    """
    del axis_separators
    known: dict[str, Var] = {}
    if isinstance(dtype, (DType, PrimType)):
        dtype = dtype.dtype
    if isinstance(layout, str) and layout == "default":
        layout = None
    if isinstance(elem_offset, (str, TypeVar)):
        elem_offset = _dim(elem_offset, known)
    return tirx.decl_buffer(
        _dims(shape, known),
        dtype,
        "buffer",
        data if isinstance(data, Var) else None,
        _dims(strides, known),
        as_value(elem_offset),
        scope,
        align or -1,
        offset_factor,
        buffer_type,
        layout,
        allocated_addr,
    )


buffer = Buffer


def alloc_buffer(
    shape: Any, dtype: Any = "float32", *args: Any, annotations: dict | None = None, **options: Any
) -> tirx.Buffer:
    """Allocate a buffer for the statements that follow.

    Args:
        shape: Extents.
        dtype: Element type.
        args: As of :py:func:`Buffer`.
        annotations: Hints.
        options: As of :py:func:`Buffer`.
    """
    made = Buffer(shape, dtype, *args, **options)
    return _ffi_api.AllocBuffer(made, annotations or {})


def alloc_shared(shape: Any, dtype: Any = "float32", **options: Any) -> tirx.Buffer:
    """Allocate in memory that a thread block shares."""
    return alloc_buffer(shape, dtype, scope="shared", **options)


def alloc_local(shape: Any, dtype: Any = "float32", **options: Any) -> tirx.Buffer:
    """Allocate in memory of one thread."""
    return alloc_buffer(shape, dtype, scope="local", **options)


def decl_buffer(
    shape: Any, dtype: Any = "float32", data: Any = None, *args: Any, **options: Any
) -> tirx.Buffer:
    """Declare a buffer over existing memory for the statements that follow.

    Args:
        shape: Extents.
        dtype: Element type.
        data: Pointer to the memory; memory is allocated if left out.
        args: As of :py:func:`Buffer`.
        options: As of :py:func:`Buffer`.
    """
    if data is None:
        return alloc_buffer(shape, dtype, None, *args, **options)
    if tirx.is_buffer(data):
        data = data.data
    if len(args) < 3 and "scope" not in options:
        options["scope"] = getattr(data.ty, "storage_scope", "global")
    made = Buffer(shape, dtype, None, *args, **options)
    return _ffi_api.DeclBuffer(made, data)


def alloc_scalar(dtype: Any, scope: str = "local") -> ScalarVar:
    """Declare a scalar variable.

    Args:
        dtype: Its type.
        scope: Memory it lies in.
    """
    return ScalarVar(alloc_buffer((1,), annotation_type(dtype), scope=scope))


def local_scalar(dtype: Any) -> ScalarVar:
    """Declare a scalar variable of one thread."""
    return alloc_scalar(dtype, "local")


def shared_scalar(dtype: Any) -> ScalarVar:
    """Declare a scalar variable of a thread block."""
    return alloc_scalar(dtype, "shared")


def decl_scalar(
    dtype: Any, data: Any, scope: str | None = None, elem_offset: Any = None, **options: Any
) -> ScalarVar:
    """Declare a scalar variable over existing memory.

    Args:
        dtype: Its type.
        data: Pointer to the memory.
        scope: Memory it lies in; that of the pointer if left out.
        elem_offset: Elements from the pointer to the variable.
    """
    if scope is not None:
        options["scope"] = scope
    return ScalarVar(
        decl_buffer((1,), annotation_type(dtype), data, elem_offset=elem_offset, **options)
    )


def scalar_buffer(value: Any) -> tirx.Buffer | None:
    """Buffer behind a scalar variable or its value, or None."""
    if isinstance(value, ScalarVar):
        return value.buffer
    return value.buffer if is_scalar_load(value) else None


def buffer_store(target: Any, value: Any, indices: Any, predicate: Any = None) -> None:
    """Write an element, or a vector of elements.

    Args:
        target: Buffer.
        value: The value; it is converted to the element type.
        indices: Index per axis; a slice of constant length makes a vector.
        predicate: Lanes to write.
    """
    if not isinstance(indices, (list, tuple)) and type(indices).__name__ != "Array":
        indices = [indices]
    points = [_index(index, axis, target, len(indices)) for axis, index in enumerate(indices)]
    value = as_expr(value)
    _ffi_api.BufferStore(target, value, points, predicate)


def _index(index: Any, axis: int, target: tirx.Buffer, count: int) -> Any:
    if isinstance(index, Range):
        index = slice(index.min, index.min + index.extent)
    if not isinstance(index, slice):
        return as_expr(index) if isinstance(index, int) else as_value(index)
    if axis + 1 != count:
        raise ValueError("Only the last index of a buffer access may be a slice.")
    start = 0 if index.start is None else as_value(index.start)
    stop = target.shape[axis] if index.stop is None else as_value(index.stop)
    step = 1 if index.step is None else int(index.step)
    lanes = _length(start, stop, step)
    return start if lanes == 1 else tirx.Ramp(start, step, lanes)


def _length(start: Any, stop: Any, step: int) -> int:
    """Number of elements of a slice with constant length."""
    length = stop - start
    if not isinstance(length, int):
        from tvm.arith import Analyzer

        length = Analyzer().simplify(length)
        if not isinstance(length, tirx.IntImm):
            raise ValueError(f"a slice that is a vector needs a constant length, got {length}")
        length = int(length)
    if step <= 0 or length <= 0:
        raise ValueError(f"a slice of length {length} and step {step} is no vector")
    return -(-length // step)


def buffer_var(dtype: Any, storage_scope: str = "global") -> Var:
    """Pointer variable to elements of a type."""
    from .values import handle

    return handle(dtype, storage_scope)


__all__ = [
    "Buffer", "alloc_buffer", "alloc_local", "alloc_scalar", "alloc_shared", "buffer",
    "buffer_store", "buffer_var", "decl_buffer", "decl_scalar", "local_scalar", "shared_scalar",
]  # fmt: skip
