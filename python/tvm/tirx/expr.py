# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Scalar expression nodes."""

from __future__ import annotations

from enum import IntEnum

import tvm_ffi
from tvm import ir
from tvm.ir import Call, FloatImm, IntImm, PrimExpr, Var
from tvm.ir.expr import Expr, ExprOp, as_type
from tvm.runtime.scriptable import Scriptable
from tvm_ffi import Object, register_object

from . import _ffi_api

ExprWithOp = Expr


def convert(expr) -> Expr:
    """Expression of a Python number, string or expression."""
    return ir.expr._as_expr(expr)


@register_object("tirx.StringImm")
class StringImm(Expr):
    """String constant.

    Args:
        value: The text.
    """

    def __init__(self, value: str, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.StringImm, value, span)

    def __eq__(self, other):
        if isinstance(other, Expr):
            return isinstance(other, StringImm) and self.value == other.value
        return self.value == other

    def __ne__(self, other):
        return not self.__eq__(other)

    def __hash__(self):
        return hash(str(self.value))


@register_object("tirx.Cast")
class Cast(Expr):
    """Conversion to another data type.

    Args:
        dtype: Target type.
        value: The operand.
    """

    def __init__(self, dtype, value, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.Cast, tvm_ffi.dtype(dtype), value, span)


class BinaryOpExpr(Expr):
    """Base of nodes with operands ``a`` and ``b``."""


class CmpExpr(Expr):
    """Base of comparisons."""


class LogicalExpr(Expr):
    """Base of and, or, not."""


def _binary_node(name: str, base: type, doc: str) -> type:
    def __init__(self, a, b, span=None) -> None:
        self.__init_handle_by_constructor__(getattr(_ffi_api, name), a, b, span)

    cls = type(base)(
        name,
        (base,),
        {
            "__init__": __init__,
            "__module__": __name__,
            "__doc__": f"{doc}\n\nArgs:\n    a: Left operand.\n    b: Right operand, same dtype.",
        },
    )
    return register_object(f"tirx.{name}")(cls)


Add = _binary_node("Add", BinaryOpExpr, "Sum ``a + b``.")
Sub = _binary_node("Sub", BinaryOpExpr, "Difference ``a - b``.")
Mul = _binary_node("Mul", BinaryOpExpr, "Product ``a * b``.")
Div = _binary_node("Div", BinaryOpExpr, "Quotient; integers truncate as in C.")
Mod = _binary_node("Mod", BinaryOpExpr, "Remainder of the truncated quotient, as in C.")
FloorDiv = _binary_node("FloorDiv", BinaryOpExpr, "Quotient rounded toward minus infinity.")
FloorMod = _binary_node("FloorMod", BinaryOpExpr, "Remainder of the floor quotient.")
Min = _binary_node("Min", BinaryOpExpr, "Smaller value; NaN if either is NaN.")
Max = _binary_node("Max", BinaryOpExpr, "Larger value; NaN if either is NaN.")
EQ = _binary_node("EQ", CmpExpr, "Comparison ``a == b``.")
NE = _binary_node("NE", CmpExpr, "Comparison ``a != b``.")
LT = _binary_node("LT", CmpExpr, "Comparison ``a < b``.")
LE = _binary_node("LE", CmpExpr, "Comparison ``a <= b``.")
GT = _binary_node("GT", CmpExpr, "Comparison ``a > b``.")
GE = _binary_node("GE", CmpExpr, "Comparison ``a >= b``.")
And = _binary_node("And", LogicalExpr, "Both are true.")
Or = _binary_node("Or", LogicalExpr, "At least one is true.")


@register_object("tirx.Not")
class Not(LogicalExpr):
    """Negation of a condition."""

    def __init__(self, a, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.Not, a, span)


@register_object("tirx.Select")
class Select(Expr):
    """Choice between two values that are both computed.

    Args:
        condition: The condition.
        true_value: Value where it is true.
        false_value: Value where it is false.
    """

    def __init__(self, condition, true_value, false_value, span=None) -> None:
        if isinstance(condition, bool):
            condition = IntImm("bool", condition)
        self.__init_handle_by_constructor__(
            _ffi_api.Select, condition, true_value, false_value, span
        )


@register_object("tirx.BufferLoad")
class BufferLoad(Expr):
    """Element of a buffer.

    Args:
        buffer: The buffer.
        indices: Index per axis; the last may be a vector.
        predicate: Lanes to load.
    """

    def __init__(self, buffer, indices, predicate=None, span=None) -> None:
        self.__init_handle_by_constructor__(
            _ffi_api.BufferLoad, buffer, list(indices), predicate, span
        )


@register_object("tirx.DataProducer")
class DataProducer(Object):
    """Base of tensors that expressions read."""


@register_object("tirx.ProducerLoad")
class ProducerLoad(Expr):
    """Element of a tensor."""

    def __init__(self, producer, indices, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.ProducerLoad, producer, list(indices), span)


@register_object("tirx.Ramp")
class Ramp(Expr):
    """Vector ``base, base + stride, ...``.

    Args:
        base: First lane.
        stride: Step.
        lanes: Number of lanes; may be a multiple of ``vscale``.
    """

    def __init__(self, base, stride, lanes, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.Ramp, base, stride, lanes, span)


@register_object("tirx.Broadcast")
class Broadcast(Expr):
    """Vector of equal lanes."""

    def __init__(self, value, lanes, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.Broadcast, value, lanes, span)


@register_object("tirx.Shuffle")
class Shuffle(Expr):
    """Lanes picked from vectors.

    Args:
        vectors: The vectors, taken as one sequence of lanes.
        indices: Lanes of the result.
    """

    def __init__(self, vectors, indices, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.Shuffle, list(vectors), list(indices), span)


@register_object("tirx.Let")
class Let(Expr):
    """Value of `body` with a variable bound to `value`."""

    def __init__(self, var, value, body, span=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.Let, var, value, body, span)


@register_object("tirx.CommReducer")
class CommReducer(Object, Scriptable):
    """Commutative reduction: how to combine two tuples of values.

    Args:
        lhs: Variables of the left tuple.
        rhs: Variables of the right tuple.
        result: Combined values.
        identity_element: Values that change nothing.
    """

    def __init__(self, lhs, rhs, result, identity_element, span=None) -> None:
        self.__init_handle_by_constructor__(
            _ffi_api.CommReducer, list(lhs), list(rhs), list(result), list(identity_element), span
        )


@register_object("tirx.Reduce")
class Reduce(Expr):
    """Reduction of values over axes."""

    def __init__(self, combiner, src, rdom, condition, value_index, init=None, span=None) -> None:
        self.__init_handle_by_constructor__(
            _ffi_api.Reduce,
            combiner,
            list(src),
            list(rdom),
            condition,
            value_index,
            list(init or []),
            span,
        )


class IterVarType(IntEnum):
    """Role of an iteration variable."""

    DataPar = 0
    ThreadIndex = 1
    CommReduce = 2
    Ordered = 3
    Opaque = 4
    Unrolled = 5
    Vectorized = 6
    Parallelized = 7
    Tensorized = 8


@register_object("tirx.IterVar")
class IterVar(ExprOp, Object, Scriptable):
    """Iteration variable with its domain.

    Args:
        dom: Range, pair of bounds, or extent; None if not known.
        var: Variable, or its name.
        iter_type: IterVarType.
        thread_tag: Thread axis it is bound to, e.g. ``"threadIdx.x"``.
    """

    DataPar = 0
    ThreadIndex = 1
    CommReduce = 2
    Ordered = 3
    DimInfo = 4
    Unrolled = 5
    Vectorized = 6
    Parallelized = 7
    Tensorized = 8

    def __init__(self, dom, var, iter_type, thread_tag: str = "", span=None) -> None:
        if dom is not None and not isinstance(dom, ir.Range):
            if isinstance(dom, (list, tuple)):
                if len(dom) != 2:
                    raise TypeError("need to be list of ranges")
                dom = ir.Range(dom[0], dom[1])
            else:
                dom = ir.Range(0, dom)
        if isinstance(var, str):
            dtype = "int32" if dom is None else dom.extent.dtype
            var = Var(var, dtype)
        self.__init_handle_by_constructor__(
            _ffi_api.IterVar, dom, var, int(iter_type), thread_tag, span
        )

    @property
    def dtype(self):
        """Data type of the variable."""
        return self.var.dtype

    def __eq__(self, other):
        if isinstance(other, IterVar):
            return self.same_as(other)
        return self.var == other

    def __ne__(self, other):
        if isinstance(other, IterVar):
            return not self.same_as(other)
        return self.var != other

    def __hash__(self):
        return Object.__hash__(self)


def _delegate(name: str):
    def operator(self, *args):
        return getattr(self.var, name)(
            *[arg.var if isinstance(arg, IterVar) else arg for arg in args]
        )

    operator.__name__ = name
    return operator


for _name in dir(ExprOp):
    if (
        _name.startswith("__")
        and _name not in ("__slots__", "__bool__")
        and callable(ExprOp.__dict__.get(_name))
    ):
        setattr(IterVar, _name, _delegate(_name))
IterVar.astype = _delegate("astype")
IterVar.equal = _delegate("equal")


class SizeVar(Var):
    """Variable that holds a size; a plain variable in this dialect.

    Args:
        name: Name.
        dtype: Data type.
    """


__all__ = [
    "EQ", "GE", "GT", "LE", "LT", "NE", "Add", "And", "BinaryOpExpr", "Broadcast", "BufferLoad",
    "Call", "Cast", "CmpExpr", "CommReducer", "DataProducer", "Div", "ExprWithOp", "FloatImm",
    "FloorDiv", "FloorMod", "IntImm", "IterVar", "IterVarType", "Let", "LogicalExpr", "Max", "Min",
    "Mod", "Mul", "Not", "Or", "PrimExpr", "ProducerLoad", "Ramp", "Reduce", "Select", "Shuffle",
    "SizeVar", "StringImm", "Sub", "Var", "as_type", "convert",
]  # fmt: skip
