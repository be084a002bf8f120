# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Types of the graph level."""

from __future__ import annotations

import tvm_ffi
from tvm.ir import Expr, PrimType, TupleType, Type
from tvm_ffi import register_object

from . import _ffi_api


@register_object("relax.AnyType")
class AnyType(Type):
    """Type of every value."""

    def __init__(self, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.AnyType, span)


ObjectType = AnyType


@register_object("relax.PackedFuncType")
class PackedFuncType(Type):
    """Type of packed runtime functions."""

    def __init__(self, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.PackedFuncType, span)


@register_object("relax.ShapeType")
class ShapeType(Type):
    """Type of shapes.

    Args:
        values: The dimensions, if they are known.
        ndim: Their number, if they are not; -1 if that is unknown too.

    Raises:
        ValueError: Both are given.
    """

    def __init__(self, values=None, ndim: int = -1, span=None) -> None:
        from .expr import convert_dims

        values = None if values is None else convert_dims(values)
        self.__init_handle_by_constructor__(_ffi_api.ShapeType, values, ndim, span)


@register_object("relax.TensorType")
class TensorType(Type):
    """Type of tensors.

    Args:
        shape: ShapeExpr, variable of ShapeType, or a sequence of dimensions.
        dtype: Element type; None or ``""`` if unknown.
        vdevice: Where the tensor is.
        ndim: Rank, when there is no shape.

    Raises:
        ValueError: Shape and rank are given.
    """

    def __init__(self, shape=None, dtype="float32", vdevice=None, ndim: int = -1, span=None):
        from .expr import ShapeExpr

        if shape is not None and not isinstance(shape, Expr):
            shape = ShapeExpr(list(shape))
        if isinstance(dtype, PrimType):
            dtype = dtype.dtype
        dtype = None if dtype in (None, "") else tvm_ffi.dtype(dtype)
        self.__init_handle_by_constructor__(_ffi_api.TensorType, shape, dtype, ndim, vdevice, span)


@register_object("relax.FuncType")
class FuncType(Type):
    """Type of graph-level functions.

    Args:
        params: Types of the parameters.
        ret: Type of the result.
        purity: Whether calls have no effect.
    """

    def __init__(self, params, ret: Type, purity: bool = True, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.FuncType, list(params), ret, purity, span)

    @staticmethod
    def opaque_func(*, ret=None, derive_func=None, purity: bool = False, span=None) -> FuncType:
        """Type of a function about whose parameters nothing is known.

        Args:
            ret: Type of the result.
            derive_func: Global function that computes it from the call.
            purity: Whether calls have no effect.

        Raises:
            ValueError: Both `ret` and `derive_func` are given.
        """
        if isinstance(derive_func, str):
            from tvm.ir import EnvFunc

            derive_func = EnvFunc.get(derive_func)
        return _ffi_api.FuncTypeOpaqueFunc(ret, derive_func, purity, span)


__all__ = [
    "AnyType",
    "FuncType",
    "ObjectType",
    "PackedFuncType",
    "PrimType",
    "ShapeType",
    "TensorType",
    "TupleType",
]
