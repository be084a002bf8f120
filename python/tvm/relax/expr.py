# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Expressions, bindings and functions of the graph level."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np

import tvm.runtime
import tvm_ffi
from tvm.ir import BaseFunc, Call, Expr, GlobalVar, IntImm, PrimType, TupleType, Type
from tvm.ir import expr as _ir_expr
from tvm.runtime.scriptable import Scriptable
from tvm_ffi import Object, register_object

from . import _ffi_api


def convert_dims(values) -> list:
    """Dimensions as expressions; integers become int64."""
    result = []
    for v in values:
        if isinstance(v, Integral):
            v = IntImm("int64", int(v))
        elif isinstance(v, IntImm) and str(v.dtype) != "int64":
            v = IntImm("int64", int(v))
        result.append(v)
    return result


@register_object("ir.Var")
class Var(_ir_expr.Var):
    """Variable of any type.

    Args:
        name: Name; it does not decide equality.
        ty: Its type.
        name_hint: Older keyword of `name`.
    """

    def __init__(self, name=None, ty=None, span=None, *, name_hint=None) -> None:
        if name is not None and name_hint is not None:
            raise TypeError("Specify either name or name_hint, not both")
        name = name if name is not None else name_hint
        if ty is None:
            ty = Type.missing()
        super().__init__(name, ty, span)


@register_object("relax.expr.DataflowVar")
class DataflowVar(_ir_expr.Var):
    """Variable that only its dataflow block sees."""

    def __init__(self, name: str, ty=None, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.DataflowVar, name, ty, span)


@register_object("relax.expr.Constant")
class Constant(Expr):
    """Constant tensor; a scalar has rank 0.

    Args:
        data: The tensor.
        ty: Its type, by default that of `data`.
    """

    def __init__(self, data, ty=None, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.Constant, data, ty, span)


@register_object("relax.expr.ShapeExpr")
class ShapeExpr(Expr):
    """Shape with given dimensions.

    Args:
        values: Integers or int64 expressions.
    """

    def __init__(self, values, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.ShapeExpr, convert_dims(values), span)

    def __getitem__(self, index):
        if index >= len(self) or index < -len(self):
            raise IndexError("ShapeExpr index out of range")
        return self.values[index]

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self):
        return iter(self.values)


@register_object("relax.expr.StringImm")
class StringImm(Expr):
    """String literal."""

    def __init__(self, value: str, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.StringImm, value, span)


@register_object("relax.expr.DataTypeImm")
class DataTypeImm(Expr):
    """Data type literal."""

    def __init__(self, value, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.DataTypeImm, tvm_ffi.dtype(value), span)


@register_object("relax.expr.Tuple")
class Tuple(Expr):
    """Several values in one.

    Args:
        fields: The values.
    """

    def __init__(self, fields, span=None) -> None:
        if isinstance(fields, Tuple):
            fields = fields.fields
        self.__init_handle_by_constructor__(_ffi_api.Tuple, list(fields), span)

    def __getitem__(self, index: int):
        if index >= len(self) or index < -len(self):
            raise IndexError("Tuple index out of range")
        return self.fields[index]

    def __len__(self) -> int:
        return len(self.fields)

    def __iter__(self):
        return iter(self.fields)


@register_object("relax.expr.TupleGetItem")
class TupleGetItem(Expr):
    """One field of a tuple.

    Args:
        tuple_value: The tuple.
        index: Number of the field.
    """

    def __init__(self, tuple_value, index: int, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.TupleGetItem, tuple_value, index, span)


@register_object("relax.expr.If")
class If(Expr):
    """Choice between two values; only the chosen branch runs."""

    def __init__(self, cond, true_branch, false_branch, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.If, cond, true_branch, false_branch, span)


@register_object("relax.expr.Binding")
class Binding(Object, Scriptable):
    """Base of bindings."""


@register_object("relax.expr.VarBinding")
class VarBinding(Binding):
    """Binds a value to a variable."""

    def __init__(self, var, value, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.VarBinding, var, value, span)


@register_object("relax.expr.MatchCast")
class MatchCast(Binding):
    """Binds a value after a check at run time that it is of a type."""

    def __init__(self, var, value, ty, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.MatchCast, var, value, ty, span)


@register_object("relax.expr.BindingBlock")
class BindingBlock(Object, Scriptable):
    """Bindings in order."""

    def __init__(self, bindings, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.BindingBlock, list(bindings), span)


@register_object("relax.expr.DataflowBlock")
class DataflowBlock(BindingBlock):
    """Bindings without control flow or effects."""

    def __init__(self, bindings, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.DataflowBlock, list(bindings), span)


@register_object("relax.expr.SeqExpr")
class SeqExpr(Expr):
    """Blocks, then a result."""

    def __init__(self, blocks, body, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.SeqExpr, list(blocks), body, span)


@register_object("relax.expr.Function")
class Function(BaseFunc, Scriptable):
    """Graph-level function.

    Args:
        params: Typed variables.
        body: Result, usually a SeqExpr.
        ret_ty: Type of the result, by default that of the body.
        is_pure: Whether calls have no effect.
        attrs: DictAttrs or dict.
    """

    def __init__(self, params, body, ret_ty=None, is_pure=True, attrs=None, span=None) -> None:
        self.__init_handle_by_constructor__(
            _ffi_api.Function, list(params), body, ret_ty, is_pure, _dict_attrs(attrs), span
        )

    @staticmethod
    def create_empty(params, ret_ty, is_pure=True, attrs=None, span=None) -> Function:
        """Declare a function without a body."""
        return _ffi_api.FunctionCreateEmpty(list(params), ret_ty, is_pure, _dict_attrs(attrs), span)

    def __call__(self, *args):
        return Call(self, list(args))

    def bind_params(self, binding) -> Function:
        """Replace parameters, by name or variable, with constants or expressions."""
        return _ffi_api.FunctionBindParams(self, {k: _bound_value(v) for k, v in binding.items()})

    def bind_symbolic_vars(self, binding) -> Function:
        """Replace symbolic variables, by name or variable; integers become int64."""
        binding = {k: convert_dims([v])[0] for k, v in binding.items()}
        return _ffi_api.FunctionBindSymbolicVars(self, binding)

    def inline_functions(self, function_map) -> Function:
        """Replace calls of functions, by name or GlobalVar, with the functions' bodies.

        Args:
            function_map: GlobalVar or name -> function; the functions may call each other.

        Raises:
            ValueError: A function calls itself, directly or through others of the map.
        """
        return _ffi_api.FunctionInlineFunctions(self, list(function_map.items()))


@register_object("relax.expr.ExternFunc")
class ExternFunc(BaseFunc):
    """Packed function found by name at run time.

    Args:
        global_symbol: Its name.
        ty: Its type; by default the result type comes from the call.
    """

    def __init__(self, global_symbol: str, ty=None, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.ExternFunc, global_symbol, ty, span)

    def __call__(self, *args):
        return Call(self, list(args))


def _bound_value(value):
    if isinstance(value, np.ndarray):
        return Constant(tvm.runtime.tensor(value))
    return value


def _dict_attrs(attrs):
    if isinstance(attrs, dict):
        from tvm.ir import make_node

        return make_node("ir.DictAttrs", **attrs)
    return attrs


def const(value, dtype=None) -> Constant:
    """Make a constant.

    Args:
        value: Number, sequence, numpy array or tensor.
        dtype: Element type; by default int32, float32 or bool for Python numbers.
    """
    if isinstance(value, Constant):
        return value
    if isinstance(value, tvm_ffi.Tensor):
        return Constant(value)
    if dtype is None:
        if isinstance(value, (bool, np.bool_)):
            dtype = "bool"
        elif isinstance(value, Integral) and not isinstance(value, np.generic):
            dtype = "int32"
        elif isinstance(value, Real) and not isinstance(value, np.generic):
            dtype = "float32"
        else:
            array = np.asarray(value)
            if not isinstance(value, (np.ndarray, np.generic)):
                array = array.astype(
                    {"f": "float32", "i": "int32"}.get(array.dtype.kind, array.dtype)
                )
            return Constant(tvm.runtime.tensor(np.ascontiguousarray(array).reshape(array.shape)))
    dtype = tvm_ffi.dtype(dtype)
    if isinstance(value, (bool, Integral, Real)) and not isinstance(value, np.generic):
        if dtype.is_integer or str(dtype) == "bool":
            value = int(value)
            if not -(2**63) <= value < 2**63:
                return Constant(tvm.runtime.tensor(np.array(value, str(dtype))))
            return _ffi_api.ScalarConstInt(value, dtype)
        return _ffi_api.ScalarConstFloat(float(value), dtype)
    array = np.asarray(value).astype(str(dtype))
    return Constant(tvm.runtime.tensor(np.ascontiguousarray(array).reshape(array.shape)))


def prim_value(value, dtype=None):
    """Scalar expression: bool, int64 or float64 by default."""
    from tvm.ir import FloatImm

    if isinstance(value, Expr):
        return value
    if isinstance(value, bool):
        return IntImm(dtype or "bool", int(value))
    if isinstance(value, Integral):
        if dtype is not None and tvm_ffi.dtype(dtype).is_float:
            return FloatImm(dtype, float(value))
        return IntImm(dtype or "int64", int(value))
    return FloatImm(dtype or "float64", float(value))


PrimValue = prim_value


def extern(name: str, ty=None, span=None) -> ExternFunc:
    """Refer to a packed function by name."""
    return ExternFunc(name, ty, span)


def te_tensor(value, tir_var_map=None, name: str = "rxplaceholder"):
    """Placeholder of the compute language with the shape and type of a Relax tensor."""
    from tvm import te

    ty = value.ty
    shape = list(ty.shape.values)
    return te.placeholder(shape, str(ty.dtype.dtype), name)


def get_shape_of(expr) -> Expr:
    """Known shape of a tensor, else a call of ``shape_of``."""
    return _ffi_api.GetShapeOf(expr)


def _check_operand(value):
    if isinstance(value, (Integral, Real)):
        raise TypeError(f"Please convert {value} with `const` first")
    return value


def _install_operators() -> None:
    """Python operators on tensors map to operators of the table."""
    from . import op
    from .ty import AnyType

    def binary(name):
        def call(lhs, rhs):
            return getattr(op, name)(_check_operand(lhs), _check_operand(rhs))

        return call

    names = (
        "add subtract multiply divide floor_divide mod power less less_equal greater "
        "greater_equal left_shift right_shift bitwise_and bitwise_or bitwise_xor"
    )
    table = _ir_expr._TENSOR_OPERATORS
    for name in names.split():
        table[name] = binary(name)
    table["negative"] = lambda x: op.negative(x)
    table["bitwise_not"] = lambda x: op.bitwise_not(x)
    table["astype"] = lambda x, dtype: op.astype(x, dtype)
    table["call"] = lambda f, args, attrs=None: Call(f, list(args), attrs)

    def getitem(self, index):
        ty = self.ty
        if isinstance(ty, TupleType):
            # The end that Python waits for when it walks over the fields.
            if isinstance(index, Integral) and not 0 <= index < len(ty.fields):
                raise IndexError(
                    f"Index out of bounds: the tuple has {len(ty.fields)} fields, but the index "
                    f"is {index}"
                )
        elif not isinstance(ty, AnyType) and not ty.is_missing():
            raise TypeError(f"an expression of type {ty} cannot be indexed")
        return TupleGetItem(self, index)

    Expr.__getitem__ = getitem


__all__ = [
    "Binding",
    "BindingBlock",
    "Call",
    "Constant",
    "DataTypeImm",
    "DataflowBlock",
    "DataflowVar",
    "Expr",
    "ExternFunc",
    "Function",
    "GlobalVar",
    "If",
    "MatchCast",
    "PrimType",
    "PrimValue",
    "SeqExpr",
    "ShapeExpr",
    "StringImm",
    "Tuple",
    "TupleGetItem",
    "Var",
    "VarBinding",
    "const",
    "extern",
    "get_shape_of",
    "prim_value",
    "te_tensor",
]
