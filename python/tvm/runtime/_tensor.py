# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Tensors with memory of their own, and copies between devices and numpy."""

from __future__ import annotations

import ctypes

import tvm_ffi
from tvm_ffi import core
from tvm_ffi import from_dlpack as _from_dlpack

from . import _ffi_api
from .device import Device, cpu

# Element types narrower than a byte, by DLPack type code and bits.
_INT4, _UINT4 = (0, 4), (1, 4)


def _numpy_dtype(dtype):
    """Numpy type of one element; bits that numpy lacks come from ml_dtypes."""
    import numpy as np

    inner = dtype._tvm_ffi_dtype
    element = str(dtype) if inner.lanes == 1 else str(dtype.with_lanes(1))
    try:
        return np.dtype(element)
    except TypeError:
        pass
    try:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, element))
    except (ImportError, AttributeError):
        raise TypeError(
            f"numpy has no type for {dtype}; install ml_dtypes for narrow floats"
        ) from None


class Tensor(tvm_ffi.Tensor):
    """An n-dimensional array on some device."""

    def copyfrom(self, source) -> Tensor:
        """Copy values into this tensor.

        Args:
            source: Tensor or array-like of the same shape; arrays are cast to this dtype.

        Returns:
            This tensor.

        Raises:
            ValueError: The shapes differ.
            TypeError: `source` is no array.
        """
        if isinstance(source, tvm_ffi.Tensor):
            if tuple(source.shape) != tuple(self.shape):
                raise ValueError(
                    f"array shape do not match the shape of Tensor {source.shape} vs {self.shape}"
                )
            _ffi_api.TVMTensorCopyFromTo(source, self)
            return self
        import numpy as np

        try:
            array = np.asarray(source)
        except Exception as err:
            raise TypeError(
                f"array must be an array_like data, type {type(source)} is not supported"
            ) from err
        if array.dtype == object:
            raise TypeError(
                f"array must be an array_like data, type {type(source)} is not supported"
            )
        inner = self.dtype._tvm_ffi_dtype
        shape = tuple(self.shape)
        if inner.lanes > 1:
            shape = (*shape, inner.lanes)
        if array.shape != shape:
            raise ValueError(
                f"array shape do not match the shape of Tensor {array.shape} vs {shape}"
            )
        packed = _pack_nibbles(array, inner)
        if packed is None:
            packed = np.ascontiguousarray(array, dtype=_numpy_dtype(self.dtype))
        if not self.is_contiguous():
            raise ValueError("copyfrom needs a contiguous destination")
        _ffi_api.TVMTensorCopyFromBytes(self, ctypes.c_void_p(packed.ctypes.data), packed.nbytes)
        return self

    def numpy(self):
        """Copy the values into a new numpy array.

        Four-bit elements come back one per byte.
        """
        import numpy as np

        inner = self.dtype._tvm_ffi_dtype
        shape = tuple(self.shape)
        if inner.lanes > 1:
            shape = (*shape, inner.lanes)
        if inner.bits == 4:
            count = int(np.prod(shape, dtype=np.int64))
            raw = np.empty((count + 1) // 2, dtype="uint8")
            self._read_into(raw)
            return _unpack_nibbles(raw, count, inner, self.dtype).reshape(shape)
        out = np.empty(shape, dtype=_numpy_dtype(self.dtype))
        self._read_into(out)
        return out

    def _read_into(self, array) -> None:
        source = self if self.is_contiguous() else self._compact()
        if array.nbytes:
            _ffi_api.TVMTensorCopyToBytes(source, ctypes.c_void_p(array.ctypes.data), array.nbytes)

    def _compact(self) -> Tensor:
        out = empty(self.shape, self.dtype, self.device)
        _ffi_api.TVMTensorCopyFromTo(self, out)
        return out

    def copyto(self, target, mem_scope: str | None = None):
        """Copy to a tensor of the same shape, or to a new tensor on a device.

        Args:
            target: Tensor or Device.
            mem_scope: Memory scope of the new tensor.

        Returns:
            The destination.
        """
        if isinstance(target, tvm_ffi.Tensor):
            _ffi_api.TVMTensorCopyFromTo(self, target)
            return target
        if isinstance(target, core.Device):
            out = empty(self.shape, self.dtype, target, mem_scope)
            _ffi_api.TVMTensorCopyFromTo(self, out)
            return out
        raise ValueError(f"Unsupported target type {type(target)}")

    def __setitem__(self, key, value) -> None:
        if not (
            isinstance(key, slice) and key.start is None and key.stop is None and key.step is None
        ):
            raise ValueError("Array only support set from numpy array: use tensor[:] = value")
        if isinstance(value, tvm_ffi.Tensor):
            if not value.same_as(self):
                _ffi_api.TVMTensorCopyFromTo(value, self)
        else:
            import numpy as np

            value = np.asarray(value)
            self.copyfrom(np.broadcast_to(value, self.shape) if value.ndim == 0 else value)

    def _create_view(self, shape, dtype=None, relative_byte_offset: int = 0) -> Tensor:
        """Contiguous tensor of another shape and dtype over the same memory."""
        return _ffi_api.TVMTensorCreateView(
            self,
            tvm_ffi.Shape(shape),
            self.dtype if dtype is None else tvm_ffi.dtype(dtype),
            relative_byte_offset,
        )

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of a tensor without axes")
        return self.shape[0]

    def __repr__(self) -> str:
        head = f"<tvm.runtime.Tensor shape={tuple(self.shape)}, {self.device}>"
        try:
            return f"{head}\n{self.numpy()!r}"
        except (RuntimeError, TypeError):  # a device whose runtime is not loaded
            return head

    def __str__(self) -> str:
        return str(self.numpy())


core._set_class_tensor(Tensor)


def _pack_nibbles(array, inner):
    """Four-bit form of an array, two elements a byte, low half first; None for other types."""
    import numpy as np

    if inner.bits != 4:
        return None
    if (inner.type_code, inner.bits) in (_INT4, _UINT4):
        nibbles = array.astype("int8").view("uint8")
    else:
        import ml_dtypes

        nibbles = array.astype(ml_dtypes.float4_e2m1fn).view("uint8")
    nibbles = nibbles.reshape(-1) & 0xF
    if nibbles.size % 2:
        nibbles = np.append(nibbles, np.uint8(0))
    return np.ascontiguousarray(nibbles[0::2] | (nibbles[1::2] << 4))


def _unpack_nibbles(raw, count: int, inner, dtype):
    import numpy as np

    nibbles = np.empty(raw.size * 2, dtype="uint8")
    nibbles[0::2] = raw & 0xF
    nibbles[1::2] = raw >> 4
    nibbles = nibbles[:count]
    if (inner.type_code, inner.bits) == _INT4:
        return ((nibbles ^ 8).astype("int8") - 8).astype("int8")
    if (inner.type_code, inner.bits) == _UINT4:
        return nibbles
    return nibbles.view(_numpy_dtype(dtype))


def empty(shape, dtype="float32", device: Device | None = None, mem_scope: str | None = None):
    """Make a tensor with undefined values.

    Args:
        shape: Extents.
        dtype: Element type.
        device: Where; the CPU if left out.
        mem_scope: Memory scope, e.g. ``"global.texture"``.
    """
    if isinstance(shape, int):
        shape = (shape,)
    return _ffi_api.TVMTensorAllocWithScope(
        tvm_ffi.Shape(shape),
        tvm_ffi.dtype(dtype),
        cpu(0) if device is None else device,
        mem_scope,
    )


def tensor(arr, device: Device | None = None, mem_scope: str | None = None):
    """Make a tensor with the values of an array.

    Args:
        arr: Array-like or tensor; it is copied.
        device: Where; the CPU if left out.
        mem_scope: Memory scope.
    """
    target = cpu(0) if device is None else device
    if isinstance(arr, tvm_ffi.Tensor):
        return empty(arr.shape, arr.dtype, target, mem_scope).copyfrom(arr)
    import numpy as np

    arr = np.asarray(arr)
    return empty(arr.shape, arr.dtype, target, mem_scope).copyfrom(arr)


def from_dlpack(ext_tensor):
    """Share a tensor of another framework without a copy.

    Raises:
        RuntimeError: The memory is not 64-byte aligned or not contiguous.
    """
    return _from_dlpack(ext_tensor, require_alignment=64, require_contiguous=True)
