# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Shapes and devices."""

from __future__ import annotations

from numbers import Integral

from . import core
from .core import Device, PyNativeObject, Tensor, from_dlpack

TYPE_CHECKING = False  # importing typing would cost time at every import of the package
if TYPE_CHECKING:
    from typing import ClassVar


class Shape(tuple, PyNativeObject):
    """Extents of a tensor: a tuple of ints.

    Args:
        content: The extents.

    Raises:
        ValueError: An extent is no integer.
    """

    _tvm_ffi_cached_object: core.CObject | None
    __tvm_ffi_type_info__: ClassVar[core.TypeInfo]

    def __new__(cls, content=()):
        content = tuple(content)
        if not all(isinstance(extent, Integral) for extent in content):
            raise ValueError("Shape must be a tuple of integers")
        self = tuple.__new__(cls, (int(extent) for extent in content))
        self._tvm_ffi_cached_object = None
        return self

    @staticmethod
    def __from_tvm_ffi_object__(cls, obj):
        """Make the tuple for an ffi.Shape object."""
        self = tuple.__new__(cls, core._shape_obj_get_py_tuple(obj))
        self._tvm_ffi_cached_object = obj
        return self

    def __reduce__(self):
        return (Shape, (tuple(self),))


core._set_class_shape(Shape)
Shape.__tvm_ffi_type_info__ = core._lookup_or_register_type_info_from_type_key("ffi.Shape")


def device(device_type, index: int | None = None) -> Device:
    """Make a device.

    Args:
        device_type: Name such as ``"cuda"`` or ``"cuda:1"``, or a DLPack device type number.
        index: Device number; None means the one in the name, else 0.

    Raises:
        ValueError: The name is unknown.
    """
    return core._CLASS_DEVICE(device_type, index)


__all__ = ["Device", "Shape", "Tensor", "device", "from_dlpack"]
