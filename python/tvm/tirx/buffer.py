# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Buffers: variables of buffer type, with access and views."""

from __future__ import annotations

from numbers import Integral

import tvm_ffi
from tvm import ir
from tvm.ir import PointerType, PrimType, Range, Type, Var
from tvm_ffi import core, register_object

from . import _ffi_api
from .expr import Add, BufferLoad, Ramp
from .stmt import BufferRegion, BufferStore


@register_object("tirx.BufferType")
class BufferType(Type):
    """Type of buffers: element type, extents, and how elements lie in memory."""

    def __init__(
        self,
        shape,
        dtype="float32",
        strides=None,
        elem_offset=None,
        storage_scope: str = "global",
        data_alignment: int = -1,
        offset_factor: int = 0,
        layout=None,
        allocated_addr=None,
        span=None,
    ) -> None:
        if isinstance(dtype, PrimType):
            dtype = dtype.dtype
        self.__init_handle_by_constructor__(
            _ffi_api.BufferType,
            tvm_ffi.dtype(dtype),
            _extents(shape),
            _extents(strides or ()),
            elem_offset,
            storage_scope,
            data_alignment,
            offset_factor,
            layout,
            allocated_addr,
            span,
        )


def _extents(values) -> list:
    if isinstance(values, (Integral, ir.Expr)):
        return [values]
    return list(values)


_TYPE_FIELDS = (
    "shape", "strides", "elem_offset", "data_alignment", "offset_factor", "layout",
    "allocated_addr",
)  # fmt: skip


class Buffer(Var):
    """Multi-dimensional view of memory: a variable whose type is a BufferType.

    Made by :py:func:`decl_buffer`.
    """

    def __init__(self, *_args, **_kwargs) -> None:
        raise TypeError("use tvm.tirx.decl_buffer to make a buffer")

    @property
    def buffer_type(self) -> BufferType:
        """The type."""
        return self.ty

    @property
    def dtype(self):
        """Element type."""
        return self.ty.dtype.dtype if isinstance(self.ty.dtype, PrimType) else self.ty.dtype

    @property
    def data(self):
        """Pointer to the memory."""
        return _ffi_api.BufferData(self)

    @property
    def axis_separators(self) -> list:
        """Always empty; kept for older code."""
        return []

    def scope(self) -> str:
        """Memory the buffer lies in, e.g. ``"global"``."""
        return self.ty.storage_scope

    def is_scalar(self) -> bool:
        """True for one element on one axis, as scalar variables of the script are stored."""
        shape = self.shape
        return len(shape) == 1 and isinstance(shape[0], ir.IntImm) and int(shape[0]) == 1

    def get_flattened_buffer(self) -> Buffer:
        """Buffer of one axis over the same elements."""
        return _ffi_api.BufferGetFlattenedBuffer(self)

    def with_type(self, **fields) -> Buffer:
        """Buffer of the same name whose type differs in some fields."""
        ty = self.ty
        values = {
            "dtype": self.dtype,
            "storage_scope": ty.storage_scope,
            **{name: getattr(ty, name) for name in _TYPE_FIELDS},
            **fields,
        }
        return _ffi_api.BufferFromType(self.name, BufferType(**values), self.span)

    def with_allocated_addr(self, allocated_addr) -> Buffer:
        """Buffer at fixed addresses."""
        return self.with_type(allocated_addr=list(allocated_addr))

    def with_dtype(self, dtype) -> Buffer:
        """Buffer of another element type and the same extents."""
        return self.with_type(dtype=dtype)

    def _indices(self, indices) -> list:
        if isinstance(indices, (list, tuple)) or type(indices).__name__ == "Array":
            return list(indices)
        return [indices]

    def offset_of(self, indices):
        """Element offsets of an index."""
        return _ffi_api.BufferOffsetOf(self, self._indices(indices))

    def elem_offset_of(self, indices, inner: bool = True):
        """Offset in elements of an index; without ``elem_offset`` if `inner`."""
        offset = _ffi_api.BufferElemOffset(self, self._indices(indices))
        return offset if inner else offset + self.elem_offset

    @property
    def byte_offset(self):
        """Bytes from the data pointer to the first element."""
        return self.elem_offset * self.dtype.itemsize

    def byte_offset_of(self, indices, inner: bool = True):
        """Offset in bytes of an index."""
        return self.elem_offset_of(indices, inner) * self.dtype.itemsize

    def access_ptr(self, access_mask, ptr_type="handle", content_lanes=1, offset=0, extent=None):
        """Pointer into the buffer for a call that reads or writes it.

        Args:
            access_mask: ``"r"``, ``"w"``, ``"rw"`` or the bits 1 and 2.
            ptr_type: Type of the pointer.
            content_lanes: Lanes the callee reads at once.
            offset: First element.
            extent: Number of elements; all that follow if left out.
        """
        if isinstance(access_mask, str):
            mask = 0
            for letter in access_mask:
                if letter not in "rw":
                    raise ValueError(f"Unknown access_mask {access_mask}")
                mask |= 1 if letter == "r" else 2
            access_mask = mask
        return _ffi_api.BufferAccessPtr(
            self, access_mask, ir.expr.as_type(ptr_type), content_lanes, offset, extent
        )

    def ptr_to(self, indices):
        """Address of an element."""
        from .op import address_of

        return address_of(BufferLoad(self, self._indices(indices)))

    def vload(self, begin, dtype=None, predicate=None):
        """Load a vector that starts at an index."""
        lanes = 1 if dtype is None else tvm_ffi.dtype(dtype).lanes // self.dtype.lanes
        return BufferLoad(self, _vector_index(self._indices(begin), lanes), predicate)

    def vstore(self, begin, value, predicate=None):
        """Store a vector that starts at an index."""
        value = ir.expr._as_expr(value)
        lanes = value.dtype.lanes // self.dtype.lanes
        return BufferStore(self, value, _vector_index(self._indices(begin), lanes), predicate)

    # Else Python would ask for the elements 0, 1, 2 .. without end.
    __iter__ = None

    def __getitem__(self, indices):
        """Element, or region if an index is a slice or the last axes are left out."""
        indices = list(indices) if isinstance(indices, tuple) else [indices]
        shape = self.shape
        if len(indices) > len(shape):
            raise IndexError(
                f"buffer {self.name} has {len(shape)} axes, got {len(indices)} indices"
            )
        stepped = any(isinstance(i, slice) and i.step not in (None, 1) for i in indices)
        region = len(indices) < len(shape) or any(isinstance(i, slice) for i in indices)
        if not region or (stepped and len(indices) == len(shape)):
            return BufferLoad(self, [_point(i, extent) for i, extent in zip(indices, shape)])
        ranges = []
        for axis, extent in enumerate(shape):
            index = indices[axis] if axis < len(indices) else slice(None)
            if isinstance(index, slice):
                if index.step not in (None, 1):
                    raise ValueError("a stepped slice needs an index for every axis")
                start = 0 if index.start is None else index.start
                stop = extent if index.stop is None else index.stop
                ranges.append(_between(start, stop))
            elif isinstance(index, Range):
                ranges.append(index)
            else:
                one = ir.IntImm(index.dtype, 1) if isinstance(index, ir.Expr) else 1
                ranges.append(Range.from_min_extent(index, one))
        return BufferRegion(self, ranges)


for _field in _TYPE_FIELDS:
    setattr(
        Buffer,
        _field,
        property(
            (lambda name: lambda self: getattr(self.ty, name))(_field),
            doc=f"Field ``{_field}`` of the type.",
        ),
    )


def _vector_index(indices: list, lanes: int) -> list:
    is_vector = isinstance(indices[-1], ir.Expr) and indices[-1].dtype.lanes != 1
    if lanes <= 1 or is_vector:
        return indices
    return [*indices[:-1], Ramp(indices[-1], 1, lanes)]


def _between(start, stop) -> Range:
    """Range of a slice: ``stop = start + n`` as written has the extent ``n`` as written."""
    if isinstance(stop, Add) and isinstance(start, ir.Expr):
        if tvm_ffi.structural_equal(stop.a, start):
            return Range.from_min_extent(start, stop.b)
    if not isinstance(start, ir.Expr) or isinstance(start, ir.IntImm):
        return Range(start, stop)
    from tvm.arith import Analyzer

    return Range.from_min_extent(start, Analyzer().simplify(stop - start))


def _point(index, extent):
    """Scalar index, or the vector of a stepped slice."""
    if isinstance(index, Range):
        index = slice(index.min, index.min + index.extent, None)
    if not isinstance(index, slice):
        return index
    start = 0 if index.start is None else index.start
    stop = extent if index.stop is None else index.stop
    step = 1 if index.step is None else index.step
    length = stop - start
    if isinstance(length, ir.Expr):
        if not isinstance(length, ir.IntImm):
            raise ValueError("a stepped slice needs a constant length")
        length = int(length)
    lanes = (length + int(step) - 1) // int(step)
    return start if lanes == 1 else Ramp(start, step, lanes)


# Variables of buffer type come back from C++ as buffers.
core._register_variant(
    ir.Var.__tvm_ffi_type_info__.type_index,
    "ty",
    BufferType.__tvm_ffi_type_info__.type_index,
    Buffer,
)


def decl_buffer(
    shape,
    dtype="float32",
    name: str = "buffer",
    data=None,
    strides=None,
    elem_offset=None,
    scope: str = "global",
    data_alignment: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "",
    layout=None,
    allocated_addr=None,
    span=None,
) -> Buffer:
    """Make a buffer.

    Args:
        shape: Extent per axis.
        dtype: Element type.
        name: Name.
        data: Pointer variable it views; only its memory scope is taken over, see DeclBuffer.
        strides: Elements between neighbours per axis; row-major if left out.
        elem_offset: Elements from the data pointer to the first element.
        scope: Memory it lies in.
        data_alignment: Alignment in bytes; -1 means the default.
        offset_factor: `elem_offset` is a multiple of it; 0 means not known.
        buffer_type: ``"auto_broadcast"`` or empty.
        layout: Layout of the elements.
        allocated_addr: Fixed addresses.
        span: Place in the source.
    """
    if buffer_type not in ("", "default", "auto_broadcast"):
        raise ValueError(f"unknown buffer_type {buffer_type!r}")
    if data is not None and isinstance(data.ty, PointerType):
        scope = data.ty.storage_scope
    if offset_factor and elem_offset is None:
        extents = _extents(shape)
        index = extents[0].dtype if extents and isinstance(extents[0], ir.Expr) else "int32"
        elem_offset = Var(f"{name}_elem_offset", index)
    ty = BufferType(
        shape,
        dtype,
        strides,
        elem_offset,
        scope,
        data_alignment,
        offset_factor,
        layout,
        allocated_addr,
    )
    return _ffi_api.BufferFromType(name, ty, span)


def is_buffer(value) -> bool:
    """Tell whether a value is a variable of buffer type."""
    return isinstance(value, Var) and isinstance(value.ty, BufferType)
