# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Values that stand for IR in a script: scalar variables, vector slices, annotations."""

from __future__ import annotations

from typing import Any

import tvm_ffi
from tvm import tirx
from tvm.ir import IntImm, PointerType, PrimType, TensorMapType, TupleType, Type, Var
from tvm.ir.expr import EqualOp, Expr, ExprOp, _as_expr, as_type


class ScalarVar(ExprOp):
    """Scalar variable of a script: a buffer of one element that its name reads and writes.

    Args:
        buffer: Buffer of shape ``(1,)``.
    """

    def __init__(self, buffer: tirx.Buffer) -> None:
        self.buffer = buffer

    def asobject(self) -> Expr:
        """Its value."""
        return tirx.BufferLoad(self.buffer, [0])

    __tvm_ffi_value__ = asobject

    @property
    def ty(self) -> Type:
        """Type of its value."""
        return PrimType(self.buffer.dtype)

    @property
    def dtype(self):
        """Data type of its value."""
        return self.buffer.dtype

    def __bool__(self) -> bool:
        return self.__nonzero__()


def _delegate(name: str):
    def operator(self, *args):
        return getattr(self.asobject(), name)(*args)

    operator.__name__ = name
    return operator


for _name in dir(ExprOp):
    if _name.startswith("__") and callable(ExprOp.__dict__.get(_name)) and _name != "__bool__":
        setattr(ScalarVar, _name, _delegate(_name))
ScalarVar.__eq__ = _delegate("__eq__")
ScalarVar.__ne__ = _delegate("__ne__")
ScalarVar.__hash__ = object.__hash__
ScalarVar.astype = _delegate("astype")


def is_scalar_load(value: Any) -> bool:
    """True for the value of a scalar variable."""
    return (
        isinstance(value, tirx.BufferLoad)
        and value.predicate is None
        and value.buffer.is_scalar()
        and isinstance(value.indices[0], IntImm)
        and int(value.indices[0]) == 0
    )


def slice_lanes(region: tirx.BufferRegion) -> list:
    """Indices that read a region as one vector along its last axis.

    Raises:
        TypeError: It has more than one axis of several elements, or an unknown length.
    """
    indices = []
    last = len(region.region) - 1
    for axis, item in enumerate(region.region):
        if not isinstance(item.extent, IntImm):
            raise TypeError(
                f"a slice of {region.buffer.name} of length {item.extent} is no vector: "
                "the length must be a constant"
            )
        lanes = int(item.extent)
        if lanes == 1:
            indices.append(item.min)
        elif axis == last:
            indices.append(tirx.Ramp(item.min, 1, lanes))
        else:
            raise TypeError(
                f"only the last axis of {region.buffer.name} can be a slice when it is used as a "
                "vector"
            )
    return indices


def as_value(value: Any) -> Any:
    """Operand of an expression: slices become vectors, scalar variables their values."""
    if isinstance(value, tirx.BufferRegion):
        return tirx.BufferLoad(value.buffer, slice_lanes(value))
    if isinstance(value, (ScalarVar, EqualOp)):
        return value.asobject()
    if isinstance(value, DType):
        return value.dtype
    return value


def as_expr(value: Any) -> Any:
    """Expression of an operand.

    Raises:
        OverflowError: It is a literal that no integer type without a name holds.
    """
    value = as_value(value)
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise OverflowError(f"Literal value {value} does not fit int64; see T.uint64")
    return _as_expr(value)


class DType:
    """A data type of scripts, e.g. ``T.float32``.

    As an annotation it is the type of a parameter or variable. ``T.float32(x)`` is a literal or a
    conversion, ``T.float32()`` a new variable, ``T.float32[4]`` an annotation of a local vector.
    """

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype

    @property
    def ty(self) -> Type:
        """The type."""
        return PrimType(self.dtype)

    def __call__(self, expr: Any = None, *, is_size_var: bool = False) -> Any:
        del is_size_var  # sizes are plain variables
        if expr is None:
            return Var("v", self.dtype)
        expr = as_value(expr)
        if isinstance(expr, str):
            return tirx.const(float(expr), self.dtype)
        if isinstance(expr, int) and self.dtype == "uint64" and expr >= 1 << 63:
            if expr >= 1 << 64:
                raise ValueError(f"{expr} exceeds maximum of uint64")
            return large_uint_imm(self.dtype, expr)
        if isinstance(expr, int) and not -(1 << 63) <= expr < 1 << 63:
            raise ValueError(f"Literal value {expr} does not fit {self.dtype}")
        if isinstance(expr, Expr):
            return tirx.cast(self.dtype, expr)
        return tirx.const(expr, self.dtype)

    def __getitem__(self, shape: Any) -> VectorAnnotation:
        return VectorAnnotation(self, shape if isinstance(shape, tuple) else (shape,))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self.dtype == other.dtype
        return NotImplemented if not isinstance(other, str) else self.dtype == other

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __str__(self) -> str:
        return self.dtype

    def __repr__(self) -> str:
        return f"DType({self.dtype!r})"


def large_uint_imm(dtype: str, value: int) -> Expr:
    """Literal of an unsigned value above 2^63 - 1."""
    halves = [IntImm("uint32", value & 0xFFFFFFFF), IntImm("uint32", value >> 32)]
    return tirx.call_intrin(dtype, "tirx.large_uint_imm", *halves)


class VectorAnnotation:
    """``v: T.float32[4]``: a local buffer without initial value."""

    def __init__(self, element: DType, shape: tuple) -> None:
        self.element = element
        self.shape = shape


class LetAnnotation:
    """``x: T.let = e`` and ``x: T.let[T.int32] = e``: a name for a value that never changes."""

    def __init__(self, ty: Type | None = None) -> None:
        self.ty = ty

    def __getitem__(self, annotation: Any) -> LetAnnotation:
        return LetAnnotation(annotation_type(annotation))


let = LetAnnotation()


def handle(dtype: Any = None, storage_scope: str = "global", *, is_size_var: bool = False) -> Var:
    """Pointer variable; as an annotation, the type of a pointer.

    Args:
        dtype: What it points to; nothing in particular if left out.
        storage_scope: Memory it points into.
    """
    del is_size_var
    if dtype is None:
        return Var("v", PointerType(PrimType("void"), storage_scope))
    return Var("v", PointerType(annotation_type(dtype), storage_scope))


def ptr(dtype: Any, storage_scope: str = "global") -> Var:
    """Pointer variable; see :py:func:`handle`."""
    return handle(dtype, storage_scope)


def TensorMap() -> Var:  # noqa: N802 - public name
    """CUDA tensor map; as an annotation, its type."""
    return Var("v", TensorMapType())


def void() -> Var:
    """Variable without value; as an annotation, the type of functions that return nothing."""
    return Var("v", PrimType("void"))


def boolean(expr: Any = None, *, is_size_var: bool = False) -> Any:
    """Bool literal, conversion to bool, or a variable; see :py:class:`DType`."""
    return DType("bool")(expr, is_size_var=is_size_var)


class _Ptr:
    """``T.Ptr(dtype, scope)``: annotation of a pointer parameter; ``T.Ptr[dtype]`` alike."""

    def __call__(self, dtype: Any = None, storage_scope: str = "global") -> Var:
        return handle(dtype, storage_scope)

    def __getitem__(self, item: Any) -> Var:
        return self(*(item if isinstance(item, tuple) else (item,)))


Ptr = _Ptr()


def annotation_type(annotation: Any) -> Type:
    """Type that an annotation names.

    Raises:
        TypeError: It names none.
    """
    if isinstance(annotation, Type):
        return annotation
    if isinstance(annotation, DType):
        return annotation.ty
    if isinstance(annotation, Var):
        return annotation.ty
    if isinstance(annotation, str):
        return as_type(annotation)
    if isinstance(annotation, tvm_ffi.dtype):
        return as_type(str(annotation))
    if callable(annotation):
        made = annotation()
        if isinstance(made, Var):
            return made.ty
    raise TypeError("Annotation should resolve to Var")


def Tuple(*fields: Any) -> Type:  # noqa: N802 - public name
    """Type of a tuple; without fields, no value."""
    return TupleType([annotation_type(field) for field in fields])


_LANES = (2, 4, 8, 16, 32, 64)
_BASES = (
    *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
    "float16", "float32", "float64", "bfloat16",
    "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz",
    "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
    "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn",
)  # fmt: skip

DTYPES: dict[str, DType] = {}
for _base in _BASES:
    DTYPES[_base] = DType(_base)
    for _lanes in _LANES:
        DTYPES[f"{_base}x{_lanes}"] = DType(f"{_base}x{_lanes}")
DTYPES["bool"] = DType("bool")
for _lanes in _LANES:
    DTYPES[f"boolx{_lanes}"] = DType(f"boolx{_lanes}")
for _short, _long in (("i", "int"), ("u", "uint")):
    for _bits in (8, 16, 32, 64):
        DTYPES[f"{_short}{_bits}"] = DTYPES[f"{_long}{_bits}"]
for _bits in (16, 32, 64):
    DTYPES[f"f{_bits}"] = DTYPES[f"float{_bits}"]
DTYPES["bf16"] = DTYPES["bfloat16"]
