# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Explicit conversion of Python values to FFI values."""

from __future__ import annotations

from numbers import Number

from . import core
from ._dtype import dtype

# Values that stand for themselves.
_AS_IS = (type(None), bool, Number, core.CObject, core.PyNativeObject, core.Device, dtype)


def convert(value):
    """Convert a Python value to the FFI value that a call would pass.

    Lists and tuples become Array, dicts Map, callables Function, exceptions Error, arrays with
    ``__dlpack__`` Tensor, str and bytes String and Bytes. Anything unknown is wrapped as
    OpaquePyObject. Numbers and FFI values come back unchanged.
    """
    if isinstance(value, _AS_IS):
        return value
    if type(value) is str:
        return core.String(value)
    if isinstance(value, (bytes, bytearray)):
        return core.Bytes(value)
    return core._convert_value(value)


def convert_func(pyfunc, tensor_cls: type | None = None):
    """Convert a Python callable to a Function.

    Args:
        pyfunc: The callable.
        tensor_cls: Class in which the callable receives tensors; it must offer
            ``__dlpack_c_exchange_api__``. None means :py:class:`tvm_ffi.Tensor`.

    Raises:
        TypeError: `tensor_cls` has no exchange table.
    """
    return core._convert_to_ffi_func(pyfunc, tensor_cls)
