# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Expressions: variables, constants, calls, ranges, and Python's operators on them."""

from __future__ import annotations

from numbers import Integral, Real

import tvm_ffi
from tvm._lazy import FFINamespace
from tvm.runtime.scriptable import Scriptable
from tvm_ffi import register_object

from . import _ffi_api
from .base import Node
from .type import PrimType, Type

# Builders of scalar expressions; the tirx package itself lies above this one.
_prim_api = FFINamespace("tirx")

# Operators of tensor expressions: name -> function, filled by tvm.relax.
_TENSOR_OPERATORS: dict = {}


def is_prim_expr(value) -> bool:
    """Tell whether a value is an expression of a scalar or short vector."""
    return isinstance(value, Expr) and isinstance(value.ty, PrimType)


def _is_prim_operand(value) -> bool:
    return isinstance(value, (Integral, Real)) or is_prim_expr(value) or hasattr(value, "asobject")


def _binary(name: str, build, lhs, rhs):
    """Apply a scalar operator, or the tensor operator of that name."""
    expr = lhs if isinstance(lhs, Expr) else rhs
    if is_prim_expr(expr):
        other = rhs if expr is lhs else lhs
        if not _is_prim_operand(other):
            return NotImplemented
        return getattr(_prim_api, build)(lhs, rhs, None)
    overload = _tensor_operator(name)
    return NotImplemented if overload is None else overload(lhs, rhs)


def _tensor_operator(name: str):
    if not _TENSOR_OPERATORS:
        import importlib

        try:  # registers the operators
            importlib.import_module("tvm.relax")
        except ImportError:
            return None
    return _TENSOR_OPERATORS.get(name)


def _division_of(lhs, rhs, is_integer_name: str, span=None):
    """Division of floats; integers must choose floor or truncation themselves."""
    for side in (lhs, rhs):
        dtype = side.dtype if isinstance(side, Expr) else None
        is_int = isinstance(side, Integral) if dtype is None else tvm_ffi.dtype(dtype).is_integer
        if not is_int:
            return getattr(_prim_api, is_integer_name)(lhs, rhs, span)
    raise RuntimeError(
        "TVM supports multiple types of integer divisions, please call div, indexdiv/indexmod, "
        "floordiv/floormod or truncdiv/truncmod directly to avoid ambiguity in the code."
    )


class ExprOp:
    """Python operators of expressions."""

    __slots__ = ()

    def __add__(self, other):
        return _binary("add", "_OpAdd", self, other)

    def __radd__(self, other):
        return _binary("add", "_OpAdd", other, self)

    def __sub__(self, other):
        return _binary("subtract", "_OpSub", self, other)

    def __rsub__(self, other):
        return _binary("subtract", "_OpSub", other, self)

    def __mul__(self, other):
        return _binary("multiply", "_OpMul", self, other)

    def __rmul__(self, other):
        return _binary("multiply", "_OpMul", other, self)

    def __truediv__(self, other):
        if is_prim_expr(self) and _is_prim_operand(other):
            return _division_of(self, other, "_OpDiv")
        return _binary("divide", "_OpDiv", self, other)

    def __rtruediv__(self, other):
        if is_prim_expr(self) and _is_prim_operand(other):
            return _division_of(other, self, "_OpDiv")
        return _binary("divide", "_OpDiv", other, self)

    def __floordiv__(self, other):
        return _binary("floor_divide", "_OpFloorDiv", self, other)

    def __rfloordiv__(self, other):
        return _binary("floor_divide", "_OpFloorDiv", other, self)

    def __mod__(self, other):
        return _binary("mod", "_OpFloorMod", self, other)

    def __rmod__(self, other):
        return _binary("mod", "_OpFloorMod", other, self)

    def __pow__(self, other):
        return self._no_prim_power("power", self, other)

    def __rpow__(self, other):
        return self._no_prim_power("power", other, self)

    def _no_prim_power(self, name, lhs, rhs):
        if is_prim_expr(self):
            return NotImplemented
        overload = _tensor_operator(name)
        return NotImplemented if overload is None else overload(lhs, rhs)

    def __neg__(self):
        if is_prim_expr(self):
            return _prim_api._OpNeg(self, None)
        overload = _tensor_operator("negative")
        if overload is None:
            raise TypeError(f"bad operand type for unary -: {type(self).__name__}")
        return overload(self)

    def __lshift__(self, other):
        return _binary("left_shift", "left_shift", self, other)

    def __rlshift__(self, other):
        return _binary("left_shift", "left_shift", other, self)

    def __rshift__(self, other):
        return _binary("right_shift", "right_shift", self, other)

    def __rrshift__(self, other):
        return _binary("right_shift", "right_shift", other, self)

    def __and__(self, other):
        return _binary("bitwise_and", "bitwise_and", self, other)

    def __rand__(self, other):
        return _binary("bitwise_and", "bitwise_and", other, self)

    def __or__(self, other):
        return _binary("bitwise_or", "bitwise_or", self, other)

    def __ror__(self, other):
        return _binary("bitwise_or", "bitwise_or", other, self)

    def __xor__(self, other):
        return _binary("bitwise_xor", "bitwise_xor", self, other)

    def __rxor__(self, other):
        return _binary("bitwise_xor", "bitwise_xor", other, self)

    def __invert__(self):
        if is_prim_expr(self):
            if self.ty.dtype.is_float:
                raise RuntimeError("Cannot use ~ operator on float type Expr.")
            return _prim_api.bitwise_not(self, None)
        overload = _tensor_operator("bitwise_not")
        if overload is None:
            raise TypeError(f"bad operand type for unary ~: {type(self).__name__}")
        return overload(self)

    def __lt__(self, other):
        return _binary("less", "_OpLT", self, other)

    def __le__(self, other):
        return _binary("less_equal", "_OpLE", self, other)

    def __gt__(self, other):
        return _binary("greater", "_OpGT", self, other)

    def __ge__(self, other):
        return _binary("greater_equal", "_OpGE", self, other)

    def __nonzero__(self):
        raise ValueError(
            "Cannot use and / or / not operator to Expr, hint: use tvm.tirx.all / tvm.tirx.any "
            "instead"
        )

    def __bool__(self):
        return self.__nonzero__()

    def equal(self, other, span=None):
        """Build the comparison ``self == other``."""
        return _prim_api._OpEQ(self, other, span)

    def astype(self, dtype, span=None):
        """Build the cast to another data type."""
        if is_prim_expr(self):
            return _prim_api._cast(tvm_ffi.dtype(dtype), self, span)
        overload = _tensor_operator("astype")
        if overload is None:
            raise TypeError(f"{type(self).__name__} has no data type to cast")
        return overload(self, dtype)


def _constant(value):
    """Python number of a constant, or None."""
    if isinstance(value, (IntImm, FloatImm)):
        return value.value
    return value if isinstance(value, (Integral, Real)) else None


class EqualOp:
    """Result of ``a == b`` on scalar expressions: builds the comparison only when used as one.

    ``bool()`` tells whether both are one object, so expressions work in lists and as keys.
    """

    __slots__ = ("a", "b", "negate")

    def __init__(self, a, b, negate: bool = False) -> None:
        self.a = a
        self.b = b
        self.negate = negate

    def asobject(self):
        """The comparison as an expression."""
        return getattr(_prim_api, "_OpNE" if self.negate else "_OpEQ")(self.a, self.b, None)

    __tvm_ffi_value__ = asobject

    def __bool__(self) -> bool:
        left, right = _constant(self.a), _constant(self.b)
        if left is not None and right is not None:
            return (left == right) != self.negate
        same = isinstance(self.a, Node) and self.a.same_as(self.b)
        return same != self.negate

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.asobject(), name)

    def __invert__(self):
        return ~self.asobject()

    def __repr__(self) -> str:
        return repr(self.asobject())


@register_object("ir.Expr")
class Expr(ExprOp, Node, Scriptable):
    """Base of expressions; ``ty`` is the type, ``span`` the place in the source."""

    __slots__ = ()

    @property
    def dtype(self):
        """Data type of a scalar; ``"handle"`` for pointers.

        Raises:
            AttributeError: The expression is neither.
        """
        ty = self.ty
        if isinstance(ty, PrimType):
            return ty.dtype
        found = getattr(ty, "dtype", None)
        if found is not None:
            return found
        from .type import PointerType

        if isinstance(ty, PointerType):
            return tvm_ffi.dtype("handle")
        raise AttributeError(f"{type(self).__name__} of type {ty} has no dtype")

    def __eq__(self, other):
        if is_prim_expr(self) and (isinstance(other, (Integral, Real)) or is_prim_expr(other)):
            return EqualOp(self, other)
        if isinstance(other, EqualOp):
            return EqualOp(self, other.asobject())
        return self.same_as(other)

    def __ne__(self, other):
        if is_prim_expr(self) and (isinstance(other, (Integral, Real)) or is_prim_expr(other)):
            return EqualOp(self, other, negate=True)
        if isinstance(other, EqualOp):
            return EqualOp(self, other.asobject(), negate=True)
        return not self.same_as(other)

    def __hash__(self):
        return Node.__hash__(self)

    def __call__(self, *args, attrs=None):
        """Call a relax expression of function type."""
        overload = _tensor_operator("call")
        if overload is None:
            raise TypeError(f"{type(self).__name__} is not callable")
        return overload(self, args, attrs)


class _PrimExprMeta(type(Expr)):
    def __instancecheck__(cls, instance):
        if cls is PrimExpr:
            return is_prim_expr(instance)
        return super().__instancecheck__(instance)


class PrimExpr(Expr, metaclass=_PrimExprMeta):
    """Category of expressions whose type is a PrimType; for ``isinstance`` and annotations."""


class PrimExprConvertible(tvm_ffi.ObjectConvertible):
    """Base of classes that turn into a scalar expression through ``asobject``."""


RelaxExpr = Expr


@register_object("ir.IntImm")
class IntImm(Expr):
    """Integer or bool constant.

    Args:
        dtype: Scalar type.
        value: Value that fits it.

    Raises:
        ValueError: It does not fit.
    """

    def __init__(self, dtype, value: int, span=None) -> None:
        self.__init_handle_by_constructor__(
            _ffi_api.IntImm, tvm_ffi.dtype(_dtype_text(dtype)), int(value), span
        )

    def __hash__(self):
        return int(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __index__(self) -> int:
        return int(self.value)

    def __nonzero__(self) -> bool:
        return self.value != 0

    def __bool__(self) -> bool:
        return self.value != 0

    def __eq__(self, other):
        return EqualOp(self, other)

    def __ne__(self, other):
        return EqualOp(self, other, negate=True)


@register_object("ir.FloatImm")
class FloatImm(Expr):
    """Floating point constant.

    Args:
        dtype: Scalar type.
        value: Value in its range; infinities and NaN are allowed.
    """

    def __init__(self, dtype, value: float, span=None) -> None:
        self.__init_handle_by_constructor__(
            _ffi_api.FloatImm, tvm_ffi.dtype(_dtype_text(dtype)), float(value), span
        )

    def __float__(self) -> float:
        return float(self.value)

    def __hash__(self):
        return hash(float(self.value))

    def __eq__(self, other):
        return EqualOp(self, other)

    def __ne__(self, other):
        return EqualOp(self, other, negate=True)


def _dtype_text(dtype):
    return dtype.dtype if isinstance(dtype, PrimType) else dtype


def as_type(ty) -> Type:
    """Type of a Type, a data type or the word ``"handle"``."""
    if isinstance(ty, Type):
        return ty
    if isinstance(ty, str) and ty not in ("", "void") and tvm_ffi.dtype(ty).is_handle:
        from .type import PointerType

        return PointerType(PrimType("void"))
    return PrimType(ty)


@register_object("ir.Var")
class Var(Expr):
    """Variable.

    Args:
        name: Name; it does not decide equality.
        dtype: Type, or data type of a scalar.
    """

    def __init__(self, name: str, dtype="int32", span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.Var, name, as_type(dtype), span)

    @property
    def name_hint(self) -> str:
        """Older name of ``name``."""
        return self.name

    @property
    def type_annotation(self) -> Type:
        """Older name of ``ty``."""
        return self.ty

    def copy_with_name(self, name: str) -> Var:
        """New variable of the same type."""
        return _ffi_api.VarCopyWithName(self, name)


@register_object("ir.GlobalVar")
class GlobalVar(Expr):
    """Name of a function of a module.

    Args:
        name_hint: The name.
    """

    def __init__(self, name_hint: str) -> None:
        self.__init_handle_by_constructor__(_ffi_api.GlobalVar, name_hint)

    @property
    def name(self) -> str:
        """The name."""
        return self.name_hint

    def __call__(self, *args):
        """Call the function: scalar arguments make a TIRx call, tensors a Relax call."""
        prim = [_is_prim_operand(arg) or isinstance(arg, str) for arg in args]
        if all(prim) and args:
            return Call(self, list(args), ret_ty="void")
        if any(prim) and any(isinstance(arg, Expr) and not is_prim_expr(arg) for arg in args):
            kinds = ", ".join(type(arg).__name__ for arg in args)
            raise RuntimeError(f"Do not know how to handle GlobalVar.__call__ for types: {kinds}")
        overload = _tensor_operator("call")
        if overload is None:
            return Call(self, list(args))
        return overload(self, args, None)


@register_object("ir.Call")
class Call(Expr):
    """Call of an operator or function.

    Args:
        op: Op, its name, GlobalVar, or an expression of function type.
        args: Arguments.
        attrs: Operator attributes.
        ty_args: Type arguments.
        ret_ty: Type of the result; ``"handle"`` is a void pointer. Missing if left out.
    """

    def __init__(self, op, args=(), attrs=None, ty_args=None, span=None, ret_ty=None) -> None:
        if isinstance(op, str):
            from .op import Op

            op = Op.get(op)
        if isinstance(attrs, dict):
            from .attrs import DictAttrs

            attrs = DictAttrs(attrs)
        ty = _ffi_api.TypeMissing() if ret_ty is None else as_type(ret_ty)
        self.__init_handle_by_constructor__(
            _ffi_api.Call, ty, op, [_as_expr(arg) for arg in args], attrs, ty_args, span
        )


def _as_expr(value):
    """Expression of a call argument given as a Python number or string."""
    if isinstance(value, bool):
        return IntImm("bool", value)
    if isinstance(value, Integral):
        value = int(value)
        return IntImm("int32" if -(2**31) <= value < 2**31 else "int64", value)
    if isinstance(value, Real):
        return FloatImm("float32", float(value))
    if isinstance(value, str):
        return _prim_api.StringImm(value, None)
    if hasattr(value, "asobject"):
        return value.asobject()
    return value


@register_object("ir.Range")
class Range(Node, Scriptable):
    """Half-open interval of integers.

    Args:
        begin: First value, or the end if `end` is left out.
        end: Value after the last.
    """

    def __init__(self, begin, end=None, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.Range, begin, end, span)

    @staticmethod
    def from_min_extent(min_value, extent, span=None) -> Range:
        """Interval from its first value and length."""
        return _ffi_api.Range_from_min_extent(min_value, extent, span)

    def __eq__(self, other):
        if not isinstance(other, Range):
            return NotImplemented
        return bool(tvm_ffi.structural_equal(self, other))

    def __ne__(self, other):
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self):
        return Node.__hash__(self)
