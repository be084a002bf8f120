# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Data types as strings."""

from __future__ import annotations

import sys

from . import core

# DLPack type codes.
_INT, _UINT, _FLOAT, _HANDLE, _BFLOAT, _COMPLEX, _BOOL = 0, 1, 2, 3, 4, 5, 6
_BUILTIN_NAMES = {bool: "bool", int: "int64", float: "float64"}


def _foreign_name(value) -> str | None:
    """Name of a numpy, torch or builtin type, or None."""
    if value in _BUILTIN_NAMES if isinstance(value, type) else False:
        return _BUILTIN_NAMES[value]
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.dtype):
        return str(value).rpartition(".")[2]
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        if isinstance(value, type) and issubclass(value, numpy.generic):
            value = numpy.dtype(value)
        if isinstance(value, numpy.dtype):
            known = value.isnative and value.type is not numpy.void
            return value.name if known and value.type is not numpy.longdouble else None
    return None


class dtype(str):  # noqa: N801 - public name
    """A data type: a str such as ``"float32"`` or ``"int8x4"`` with its DLPack parts.

    The spelling is kept, but ``dtype("i32") == dtype("int32")``: data types are compared by what
    they are. Compared with a plain str, a data type is its text.

    Args:
        content: Text, another dtype, or a numpy, torch, ml_dtypes or builtin type.

    Raises:
        ValueError: The value names no data type.
    """

    __slots__ = ("_tvm_ffi_dtype",)
    _tvm_ffi_dtype: core.DataType

    _INTEGER_CODES = frozenset((_INT, _UINT))
    _FLOAT_CODES = frozenset((_FLOAT, _BFLOAT, *range(7, 18)))

    def __new__(cls, content):
        if not isinstance(content, str):
            name = _foreign_name(content)
            if name is None:
                raise ValueError(f"unknown dtype `{content}`")
            content = name
        self = str.__new__(cls, content)
        self._tvm_ffi_dtype = core.DataType(content)
        return self

    @staticmethod
    def from_dlpack_data_type(dltype_data_type: tuple) -> dtype:
        """Make a dtype from DLPack ``(code, bits, lanes)``."""
        inner = core._create_cdtype_from_tuple(core.DataType, *dltype_data_type)
        self = str.__new__(dtype, str(inner))
        self._tvm_ffi_dtype = inner
        return self

    def __reduce__(self):
        return (dtype, (str(self),))

    def __eq__(self, other):
        if isinstance(other, dtype):
            return self._tvm_ffi_dtype == other._tvm_ffi_dtype
        return str.__eq__(self, other)

    def __ne__(self, other):
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self):
        return hash(str(self._tvm_ffi_dtype))

    def __repr__(self):
        return f"dtype({str(self)!r})"

    def with_lanes(self, lanes: int) -> dtype:
        """Return the vector type with `lanes` of this element type."""
        inner = self._tvm_ffi_dtype
        return dtype.from_dlpack_data_type((inner.type_code, inner.bits, lanes))

    @property
    def type_code(self) -> int:
        """DLPack type code."""
        return self._tvm_ffi_dtype.type_code

    @property
    def bits(self) -> int:
        """Bits per lane."""
        return self._tvm_ffi_dtype.bits

    @property
    def lanes(self) -> int:
        """Lanes per element."""
        return self._tvm_ffi_dtype.lanes

    @property
    def itemsize(self) -> int:
        """Bytes per element, rounded up."""
        return self._tvm_ffi_dtype.itemsize

    @property
    def is_float(self) -> bool:
        """True for float types of any format."""
        return self.type_code in self._FLOAT_CODES

    @property
    def is_integer(self) -> bool:
        """True for signed and unsigned integers; bool is none."""
        return self.type_code in self._INTEGER_CODES

    @property
    def is_bool(self) -> bool:
        """True for bool."""
        return self.type_code == _BOOL

    @property
    def is_handle(self) -> bool:
        """True for opaque pointers."""
        return self.type_code == _HANDLE

    @classmethod
    def is_dtype(cls, value) -> bool:
        """Tell whether `value` names a data type."""
        try:
            cls(value)
        except (ValueError, TypeError):
            return False
        return True


core._set_class_dtype(dtype)

DTYPE_NAMES = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "bfloat16",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float4_e2m1fn",
    "float4_e2m1fnx2",
)
