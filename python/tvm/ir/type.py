# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Types of expressions."""

from __future__ import annotations

import tvm_ffi
from tvm.runtime.scriptable import Scriptable
from tvm_ffi import register_object

from . import _ffi_api
from .base import Node


@register_object("ir.Type")
class Type(Node, Scriptable):
    """Base of types. An expression whose type is not known yet has the type Missing."""

    def __eq__(self, other):
        """Compare by structure."""
        if not isinstance(other, Type):
            return NotImplemented
        return bool(tvm_ffi.structural_equal(self, other))

    def __ne__(self, other):
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self):
        return tvm_ffi.structural_hash(self)

    def same_as(self, other) -> bool:
        """True if both are one object."""
        return super().__eq__(other) is True

    @staticmethod
    def missing() -> Type:
        """The type of expressions whose type is not known."""
        return _ffi_api.TypeMissing()

    def is_missing(self) -> bool:
        """True for Missing."""
        return _ffi_api.TypeIsMissing(self)


@register_object("ir.PrimType")
class PrimType(Type):
    """Type of scalars and short vectors.

    Args:
        dtype: Data type; an opaque pointer is none, see PointerType.
    """

    def __init__(self, dtype) -> None:
        self.__init_handle_by_constructor__(_ffi_api.PrimType, tvm_ffi.dtype(dtype))

    def __eq__(self, other):
        if isinstance(other, str):
            return str(self.dtype) == str(tvm_ffi.dtype(other)) or self.dtype == other
        if isinstance(other, PrimType):
            return str(self.dtype) == str(other.dtype)
        if isinstance(other, Type):
            return False
        return NotImplemented

    def __ne__(self, other):
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self):
        return hash(str(self.dtype))

    @property
    def bits(self) -> int:
        """Bits per lane."""
        return self.dtype.bits

    @property
    def lanes(self) -> int:
        """Number of lanes."""
        return self.dtype.lanes

    def is_scalar(self) -> bool:
        """True for one lane."""
        return self.dtype.lanes == 1

    def matches_code(self, *codes: int) -> bool:
        """True if the DLPack type code is one of `codes`."""
        return self.dtype.type_code in codes

    def matches_element_type(self, code: int, bits: int) -> bool:
        """True if a lane has that DLPack type code and width."""
        return (self.dtype.type_code, self.dtype.bits) == (code, bits)


@register_object("ir.PointerType")
class PointerType(Type):
    """Type of pointers.

    Args:
        element_type: What it points to; void makes an opaque handle.
        storage_scope: Memory it points into.
    """

    def __init__(self, element_type: Type, storage_scope: str = "global") -> None:
        if not isinstance(element_type, Type):
            element_type = PrimType(element_type)
        self.__init_handle_by_constructor__(_ffi_api.PointerType, element_type, storage_scope)


@register_object("ir.TupleType")
class TupleType(Type):
    """Type of tuples; without fields it is void.

    Args:
        fields: Types of the fields.
    """

    def __init__(self, fields, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.TupleType, list(fields), span)


@register_object("ir.FuncType")
class FuncType(Type):
    """Type of functions.

    Args:
        arg_types: Types of the parameters.
        ret_type: Type of the result.
    """

    def __init__(self, arg_types, ret_type: Type, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.FuncType, list(arg_types), ret_type, span)


@register_object("ir.TensorMapType")
class TensorMapType(Type):
    """Type of CUDA tensor maps."""

    def __init__(self, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.TensorMapType, span)


def TypeMissing() -> Type:  # noqa: N802 - public name
    """The type of expressions whose type is not known."""
    return _ffi_api.TypeMissing()


def TypeIsMissing(ty: Type) -> bool:  # noqa: N802 - public name
    """True for the type Missing."""
    return _ffi_api.TypeIsMissing(ty)
