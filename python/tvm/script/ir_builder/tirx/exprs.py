# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Expressions: nodes, arithmetic, calls of operators."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from tvm import ir, tirx
from tvm.ir import Call, IntImm, Op, PointerType, PrimType, Range, Var
from tvm.ir.expr import Expr
from tvm.tirx import op as _op
from tvm.tirx.expr import IterVarType

from .values import DType, as_expr, as_value

# --- nodes: exactly what is written, nothing folded or converted ------------------------------

_NODES = "Not Ramp Broadcast BufferLoad StringImm IntImm FloatImm IterVar CommReducer".split()
for _name in _NODES:
    globals()[_name] = getattr(tirx, _name)

_BINARY = "Add Sub Mul Div Mod FloorDiv FloorMod Min Max EQ NE LT LE GT GE And Or".split()


def _binary(name: str) -> Callable:
    node = getattr(tirx, name)

    @functools.wraps(node, updated=())
    def make(a: Any, b: Any) -> Expr:
        return node(as_value(a), as_value(b))

    return make


for _name in _BINARY:
    globals()[_name] = _binary(_name)


def Select(condition: Any, true_value: Any, false_value: Any) -> Expr:  # noqa: N802
    """Choice between two values that are both computed."""
    return tirx.Select(as_value(condition), as_expr(true_value), as_expr(false_value))


def Shuffle(vectors: Any, indices: Any) -> Expr:  # noqa: N802 - public name
    """Lanes picked from vectors, slices of buffers among them; see :class:`tvm.tirx.Shuffle`."""
    return tirx.Shuffle([as_expr(v) for v in vectors], [as_expr(i) for i in indices])


def Cast(dtype: Any, value: Any) -> Expr:  # noqa: N802 - public name
    """Conversion, also to the type the value has already."""
    return tirx.Cast(_dtype(dtype), as_expr(value))


def Let(body: Any, where: dict[Var, Any]) -> Expr:  # noqa: N802 - public name
    """Expression with a name for a value.

    Args:
        body: The expression.
        where: The variable and its value.
    """
    if len(where) != 1:
        raise ValueError("T.Let only allows `where` to have exactly one element")
    ((var, value),) = where.items()
    return tirx.Let(var, as_expr(value), as_expr(body))


def Reduce(  # noqa: N802 - public name
    combiner: Any,
    source: Any,
    init: Any = (),
    axis: Any = (),
    condition: Any = True,
    value_index: int = 0,
) -> Expr:
    """Reduction of values over axes."""
    if isinstance(condition, bool):
        condition = IntImm("bool", condition)
    return tirx.Reduce(
        combiner, [as_expr(x) for x in source], list(axis), condition, int(value_index),
        [as_expr(x) for x in init or ()],
    )  # fmt: skip


reduce = Reduce


def comm_reducer(combiner: Callable, identity: Any) -> tirx.CommReducer:
    """Commutative reduction.

    Args:
        combiner: ``fn(x, y)``, or ``fn(x0, x1, .., y0, y1, ..)`` that gives a tuple.
        identity: Neutral values.
    """
    identity = [as_expr(value) for value in identity]
    names = list(inspect.signature(combiner).parameters)
    if len(names) != 2 * len(identity):
        raise ValueError(
            f"the combiner of {len(identity)} value(s) takes {2 * len(identity)} arguments, "
            f"got a function of {len(names)}"
        )
    dtypes = [value.dtype for value in identity] * 2
    variables = [Var(name, dtype) for name, dtype in zip(names, dtypes)]
    result = combiner(*variables)
    result = list(result) if isinstance(result, (tuple, list)) else [result]
    half = len(identity)
    return tirx.CommReducer(
        variables[:half], variables[half:], [as_expr(value) for value in result], identity
    )


def index_map(
    mapping: Callable, *, inverse_index_map: Callable | None = None, index_dtype: str = "int64"
) -> tirx.IndexMap:
    """Rule that turns indices into other indices."""
    return tirx.IndexMap.from_func(
        mapping, inverse_index_map=inverse_index_map, index_dtype=index_dtype
    )


def iter_var(var: Any, dom: Any, iter_type: Any, thread_tag: str = "") -> tirx.IterVar:
    """Iteration variable.

    Args:
        var: Variable or its name.
        dom: Range, or None.
        iter_type: Name or number of the role, e.g. ``"CommReduce"``.
        thread_tag: Thread axis it is bound to.
    """
    if isinstance(iter_type, str):
        try:
            iter_type = IterVarType[iter_type]
        except KeyError:
            known = ", ".join(IterVarType.__members__)
            raise ValueError(f"Unknown iter_type: {iter_type}, expected one of {known}") from None
    return tirx.IterVar(dom, var, iter_type, thread_tag)


def target(config: Any, host: Any = None):
    """Target, as function attributes hold it."""
    from tvm.target import Target

    return Target(config, host)


def dtype(text: str):
    """Data type as a value, e.g. in attributes."""
    import tvm_ffi

    return tvm_ffi.dtype(text)


# --- calls -----------------------------------------------------------------------------------


def _dtype(value: Any) -> Any:
    if isinstance(value, (DType, PrimType)):
        return value.dtype
    return value


def _type(value: Any) -> Any:
    """Type or data type of a call's result."""
    if isinstance(value, (DType, Var)):
        return value.ty
    return value


def call(  # the name of the node is T.Call
    op: Any, args: Any = (), attrs: Any = None, ty_args: Any = None, ret_ty: Any = None
) -> Call:
    """Call of an operator or function, exactly as written.

    Args:
        op: Operator, its name, or a function of the module.
        args: Arguments.
        attrs: Operator attributes.
        ty_args: Type arguments.
        ret_ty: Type of the result.
    """
    return ir.Call(
        op, [as_expr(arg) for arg in args], attrs=attrs, ty_args=ty_args, ret_ty=_type(ret_ty)
    )


Call = call  # noqa: F811 - in scripts the name makes calls


def _wrap(function: Callable) -> Callable:
    """The function on what scripts hold: slices, scalar variables, data types."""

    @functools.wraps(function)
    def build(*args: Any, **kwargs: Any) -> Any:
        return function(
            *(as_value(value) for value in args),
            **{key: as_value(value) for key, value in kwargs.items()},
        )

    return build


_FUNCTIONS = (
    *_op._UNARY, *_op._BINARY,
    "fabs", "fma", "pow", "power", "truncdiv", "truncmod", "floordiv", "floormod", "ceildiv",
    "min_value", "max_value", "infinity", "likely", "if_then_else", "shift_left", "shift_right",
    "q_multiply_shift", "q_multiply_shift_per_axis", "reinterpret",
    "call_intrin", "call_packed", "call_cpacked", "call_packed_lowered", "call_cpacked_lowered",
    "call_llvm_intrin", "call_llvm_pure_intrin",
    "ret", "thread_return", "continue_loop", "break_loop", "isnullptr", "lookup_param", "undef",
    "assume", "type_annotation", "tvm_access_ptr", "tvm_throw_last_error", "tvm_stack_alloca",
    "tvm_stack_make_shape", "tvm_stack_make_array", "tvm_tuple", "tvm_struct_set",
    "tvm_thread_invariant", "tvm_storage_sync", "tvm_thread_allreduce",
    "start_profile_intrinsic", "end_profile_intrinsic", "vscale", "get_active_lane_mask",
    "vectorlow", "vectorhigh", "vectorcombine", "atomic_add",
)  # fmt: skip
for _name in _FUNCTIONS:
    globals()[_name] = _wrap(getattr(_op, _name))

tvm_call_packed = globals()["call_packed"]
tvm_call_cpacked = globals()["call_cpacked"]
tvm_call_packed_lowered = globals()["call_packed_lowered"]
tvm_call_cpacked_lowered = globals()["call_cpacked_lowered"]


def cast(value: Any, dtype: Any) -> Expr:
    """Conversion; nothing if the value has the type already."""
    return tirx.cast(_dtype(dtype), as_expr(value))


def min(a: Any, b: Any) -> Expr:  # noqa: A001 - public name
    """Smaller value; NaN if either is NaN."""
    return tirx.min(as_expr(a), as_expr(b))


def max(a: Any, b: Any) -> Expr:  # noqa: A001 - public name
    """Larger value; NaN if either is NaN."""
    return tirx.max(as_expr(a), as_expr(b))


def ramp(base: Any, stride: Any, lanes: Any) -> Expr:
    """Vector ``base, base + stride, ..``."""
    return tirx.Ramp(as_expr(base), as_expr(stride), as_value(lanes))


def broadcast(value: Any, lanes: Any) -> Expr:
    """Vector of equal lanes."""
    return tirx.Broadcast(as_expr(value), as_value(lanes))


def address_of(value: Any) -> Expr:
    """Address of an element."""
    return tirx.address_of(as_value(value))


def dp4a(*args: Any) -> Expr:
    """Dot product of four bytes: ``(a, b, acc=0)``, or with the type of the result in front."""
    args = tuple(as_value(arg) for arg in args)
    if args and isinstance(args[0], str):
        return tirx.call_intrin(args[0], "tirx.dp4a", *args[1:])
    return _op.dp4a(*args)


def tvm_struct_get(arr: Any, index: Any, field: int, dtype: Any) -> Expr:
    """Field of a struct array."""
    return ir.Call(
        Op.get("tirx.tvm_struct_get"),
        [as_expr(arr), as_expr(index), as_expr(field)],
        ret_ty=_type(dtype),
    )


def ptr_byte_offset(pointer: Any, offset: Any, dtype: Any) -> Expr:
    """Pointer moved by bytes, to elements of a type.

    Args:
        pointer: The pointer.
        offset: Number of bytes.
        dtype: Element type of the result.
    """
    scope = getattr(pointer.ty, "storage_scope", "global")
    element = PrimType(_dtype(dtype))
    return ir.Call(
        Op.get("tirx.ptr_byte_offset"),
        [pointer, as_expr(offset), _op.type_annotation(_dtype(dtype))],
        ret_ty=PointerType(element, scope),
    )


def _external(name: str) -> Callable:
    def build(*args: Any, dtype: Any = None) -> Expr:
        if dtype is None:
            if not args:
                raise TypeError(f"T.{name} needs the type of the result and a name")
            dtype, *args = args
        if not args:
            raise TypeError(f"T.{name} needs the name of the function")
        return tirx.call_intrin(_type(dtype), f"tirx.{name}", *(as_expr(arg) for arg in args))

    build.__name__ = name
    build.__doc__ = f"``{name}(dtype, function name, *args)``; `dtype` may be a keyword."
    return build


call_extern = _external("call_extern")
call_pure_extern = _external("call_pure_extern")

# --- operators without a function of their own: type of the result by operator ----------------

_DTYPE_FIRST = frozenset(
    ["call_spirv_pure_glsl450", "large_uint_imm", "texture2d_load", "anylist_getitem_dtype"]
)
_INT_RESULT = frozenset(
    """tvm_call_trace_packed tvm_call_trace_packed_lowered tvm_check_return check_args
    texture2d_store anylist_resetitem anylist_move anylist_setitem_call_packed
    anylist_setitem_call_cpacked prefetch mem_copy""".split()
)
_FIRST_ARGUMENT = frozenset(["ignore_loop_partition", "filter"])
_BOOL_RESULT = frozenset(["selector"])


def operator_call(name: str, *args: Any, dtype: Any = None) -> Expr:
    """Call of a registered operator by its short name.

    Args:
        name: Name without ``tirx.``.
        args: Arguments; the type of the result first where the operator needs one.
        dtype: Type of the result, to choose it.
    """
    values = list(args)
    if dtype is None and name in _DTYPE_FIRST and values:
        dtype = values.pop(0)
    exprs = [as_expr(value) for value in values]
    if dtype is None:
        if name in _INT_RESULT:
            dtype = "int32"
        elif name in _BOOL_RESULT:
            dtype = "bool"
        elif name in _FIRST_ARGUMENT and exprs:
            dtype = exprs[0].ty
        else:
            dtype = "handle"
    return ir.Call(Op.get(f"tirx.{name}"), exprs, ret_ty=_type(dtype))


def operator_function(name: str) -> Callable | None:
    """Function that calls a registered operator, or None if there is none of that name."""
    try:
        Op.get(f"tirx.{name}")
    except AttributeError:
        return None
    build = functools.partial(operator_call, name)
    build.__doc__ = f"Call of the operator ``tirx.{name}``."
    return build


__all__ = [
    *_NODES, *_BINARY, *_FUNCTIONS, "Call", "Cast", "Let", "Range", "Reduce", "Select", "Shuffle", "Var",
    "address_of", "broadcast", "call_extern", "call_pure_extern", "cast", "comm_reducer", "dp4a", "dtype",
    "index_map", "iter_var", "max", "min", "ptr_byte_offset", "ramp", "reduce", "target",
    "tvm_call_cpacked", "tvm_call_cpacked_lowered", "tvm_call_packed", "tvm_call_packed_lowered",
    "tvm_struct_get",
]  # fmt: skip
