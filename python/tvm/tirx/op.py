# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Functions that build scalar expressions.

The math functions and builtins are tables at the end: their meaning is that of the operator of the
same name, see ``tvm.ir.Op.get("tirx.<name>").description``.
"""

from __future__ import annotations

import inspect

import tvm_ffi
from tvm.ir import Call, IntImm, Op, PointerType, PrimType, Var
from tvm.ir.expr import Expr

from . import _ffi_api
from .expr import CommReducer, IterVar, Reduce, Select, StringImm, convert


def const(value, dtype: str | None = None, span=None):
    """Constant of a data type.

    Args:
        value: Number, or an expression that is then cast.
        dtype: Its type; taken from the value if left out.
    """
    if dtype is None:
        if isinstance(value, Expr):
            return value
        dtype = convert(value).dtype
    if hasattr(value, "item"):  # numpy scalars
        value = value.item()
    return _ffi_api._const(value, tvm_ffi.dtype(dtype), span)


def call_intrin(dtype, func_name, *args, attrs=None, span=None) -> Call:
    """Call of an operator.

    Args:
        dtype: Type of the result.
        func_name: Operator or its name.
        args: Arguments.
    """
    return Call(func_name, args, attrs=attrs, ret_ty=dtype, span=span)


def _call(name: str, dtype, args, span=None) -> Call:
    return Call(Op.get(f"tirx.{name}"), args, ret_ty=dtype, span=span)


def _packed_argument(value):
    """Buffers travel to packed functions as DLTensors on the stack."""
    from .buffer import is_buffer

    if not is_buffer(value):
        return value
    zero = const(0, "int64")
    shape = _call("tvm_stack_make_shape", "handle", list(value.shape))
    strides = list(value.strides)
    stride_arg = _call("tvm_stack_make_shape", "handle", strides) if strides else zero
    return _call(
        "tvm_stack_make_array",
        "handle",
        [
            value.data,
            shape,
            stride_arg,
            len(value.shape),
            const(0, value.dtype),
            value.elem_offset,
        ],
    )


def call_packed(*args, span=None) -> Call:
    """Call of a global packed function; the first argument is its name."""
    return _call("tvm_call_packed", "int32", [_packed_argument(arg) for arg in args], span)


def call_cpacked(*args, span=None) -> Call:
    """Call of a symbol that follows the packed ABI."""
    return _call("tvm_call_cpacked", "int32", [_packed_argument(arg) for arg in args], span)


def call_packed_lowered(*args, span=None) -> Call:
    """Packed call whose arguments lie on a stack."""
    return _call("tvm_call_packed_lowered", "int32", args, span)


def call_cpacked_lowered(*args, span=None) -> Call:
    """Symbol call whose arguments lie on a stack."""
    return _call("tvm_call_cpacked_lowered", "int32", args, span)


def trace(args, trace_action: str = "tvm.default_trace_action"):
    """Call a global function on a value and go on with its result."""
    if not isinstance(args, list):
        raise TypeError("tvm.tirx.trace consumes the args as list type")
    return _call("tvm_call_trace_packed", args[-1].dtype, [trace_action, *args])


def call_extern(dtype, func_name: str, *args, span=None) -> Call:
    """Call of a C function."""
    return _call("call_extern", dtype, [StringImm(func_name), *args], span)


def call_pure_extern(dtype, func_name: str, *args, span=None) -> Call:
    """Call of a C function without effect."""
    return _call("call_pure_extern", dtype, [StringImm(func_name), *args], span)


def _llvm_intrinsic(name) -> IntImm:
    if isinstance(name, str):
        identifier = tvm_ffi.get_global_func("target.llvm_lookup_intrinsic_id")(name)
        if identifier == 0:
            raise ValueError(f"Unknown llvm intrinsic function {name}")
        name = identifier
    return IntImm("uint32", int(name))


def call_llvm_intrin(dtype, name, *args, span=None) -> Call:
    """Call of an LLVM intrinsic, by name or number."""
    return _call("call_llvm_intrin", dtype, [_llvm_intrinsic(name), *args], span)


def call_llvm_pure_intrin(dtype, name, *args, span=None) -> Call:
    """Call of an LLVM intrinsic without effect."""
    return _call("call_llvm_pure_intrin", dtype, [_llvm_intrinsic(name), *args], span)


# --- arithmetic ----------------------------------------------------------------------------


def any(*args, span=None):  # noqa: A001 - public name
    """True if at least one condition holds."""
    if not args:
        raise ValueError("Any must take at least 1 argument")
    result = convert(args[0])
    for value in args[1:]:
        result = _ffi_api._OpOr(result, value, span)
    return result


def all(*args, span=None):  # noqa: A001 - public name
    """True if every condition holds."""
    if not args:
        raise ValueError("Any must take at least 1 argument")
    result = convert(args[0])
    for value in args[1:]:
        result = _ffi_api._OpAnd(result, value, span)
    return result


def add(lhs, rhs, span=None):
    """Sum."""
    return _ffi_api._OpAdd(lhs, rhs, span)


def subtract(lhs, rhs, span=None):
    """Difference."""
    return _ffi_api._OpSub(lhs, rhs, span)


def multiply(lhs, rhs, span=None):
    """Product."""
    return _ffi_api._OpMul(lhs, rhs, span)


def div(a, b, span=None):
    """Quotient; integers truncate as in C."""
    return _ffi_api._OpDiv(a, b, span)


def indexdiv(a, b, span=None):
    """Quotient of non-negative integers."""
    return _ffi_api._OpIndexDiv(a, b, span)


def indexmod(a, b, span=None):
    """Remainder of non-negative integers."""
    return _ffi_api._OpIndexMod(a, b, span)


def truncdiv(a, b, span=None):
    """Quotient rounded toward zero."""
    return _ffi_api._OpTruncDiv(a, b, span)


def truncmod(a, b, span=None):
    """Remainder of :py:func:`truncdiv`."""
    return _ffi_api._OpTruncMod(a, b, span)


def floordiv(a, b, span=None):
    """Quotient rounded toward minus infinity."""
    return _ffi_api._OpFloorDiv(a, b, span)


def floormod(a, b, span=None):
    """Remainder of :py:func:`floordiv`."""
    return _ffi_api._OpFloorMod(a, b, span)


def ceildiv(lhs, rhs, span=None):
    """Quotient rounded toward infinity."""
    return _ffi_api._OpCeilDiv(lhs, rhs, span)


def logaddexp(lhs, rhs, span=None):
    """``log(exp(lhs) + exp(rhs))`` without overflow."""
    return _ffi_api._OpLogAddExp(lhs, rhs, span)


def power(x, y, span=None):
    """Power ``x ** y``."""
    return _ffi_api._OpPow(x, y, span)


pow = power  # noqa: A001 - public name


def min_value(dtype, span=None):
    """Smallest value of a type."""
    return _ffi_api.min_value(tvm_ffi.dtype(dtype), span)


def max_value(dtype, span=None):
    """Largest value of a type."""
    return _ffi_api.max_value(tvm_ffi.dtype(dtype), span)


def infinity(dtype, span=None):
    """Infinity of a float type."""
    return _ffi_api.infinity(tvm_ffi.dtype(dtype), span)


def reinterpret(dtype, value, span=None):
    """Same bits as another type."""
    return _ffi_api.reinterpret(tvm_ffi.dtype(dtype), value, span)


def cast(dtype, value, span=None):
    """Conversion to another type; nothing if it is that type already."""
    return _ffi_api._cast(tvm_ffi.dtype(dtype), value, span)


def likely(cond, span=None):
    """Marks a condition as mostly true."""
    return _ffi_api.likely(cond, span)


def if_then_else(cond, t, f, span=None):
    """Choice that computes only the chosen value."""
    return _ffi_api._OpIfThenElse(cond, t, f, span)


def select(cond, t, f, span=None):
    """Choice that computes both values."""
    return Select(cond, t, f, span)


def shift_left(x, y, span=None):
    """``x << y``."""
    return _ffi_api.left_shift(x, y, span)


def shift_right(x, y, span=None):
    """``x >> y``; arithmetic for signed types."""
    return _ffi_api.right_shift(x, y, span)


def q_multiply_shift(x, y, q, s):
    """Fixed point product ``round(x * y * 2^-s)`` with `q` fractional bits of `y`."""
    return _call("q_multiply_shift", "int32", [x, y, q, s])


def q_multiply_shift_per_axis(x, y, ls, rs, q, is_lshift_required, is_rshift_required):
    """Fixed point product with shifts per axis."""
    return _call(
        "q_multiply_shift_per_axis",
        "int32",
        [x, y, ls, rs, q, is_lshift_required, is_rshift_required],
    )


# --- memory and control ----------------------------------------------------------------------


def ret(val, span=None) -> Call:
    """Return from the function."""
    value = convert(val)
    return _call("ret", value.ty, [value], span)


def thread_return(span=None) -> Call:
    """End the current thread."""
    return _call("thread_return", "void", [], span)


def continue_loop(span=None) -> Call:
    """Go on with the next iteration."""
    return _call("continue_loop", "void", [], span)


def break_loop(span=None) -> Call:
    """Leave the innermost loop."""
    return _call("break_loop", "void", [], span)


def address_of(obj, span=None) -> Call:
    """Address of the element that a load names, or of a buffer's first element."""
    from .buffer import is_buffer
    from .expr import BufferLoad

    if is_buffer(obj):
        obj = BufferLoad(obj, [0] * len(obj.shape))
    scope = obj.buffer.scope()
    return _call("address_of", PointerType(PrimType(obj.dtype), scope), [obj], span)


def isnullptr(val, span=None) -> Call:
    """True for a null pointer."""
    return _call("isnullptr", "bool", [val], span)


def lookup_param(param_name: str, span=None) -> Call:
    """Pointer to a parameter linked into the module."""
    return _call("lookup_param", "handle", [param_name], span)


def undef() -> Call:
    """A value that nobody reads."""
    return _call("undef", "int32", [])


def assume(cond) -> Call:
    """State that a condition holds here."""
    return _call("assume", "bool", [cond])


def type_annotation(dtype) -> Call:
    """Type as an argument."""
    return _call("type_annotation", dtype, [])


def tvm_access_ptr(ptype, data, offset, extent, rw_mask) -> Call:
    """Checked pointer into memory; `ptype` is a data type or a ``type_annotation`` of one."""
    element = ptype if isinstance(ptype, Expr) else type_annotation(ptype)
    return _call("tvm_access_ptr", "handle", [element, data, offset, extent, rw_mask])


def tvm_throw_last_error() -> Call:
    """Return with the error that is set."""
    return _call("tvm_throw_last_error", "handle", [])


def tvm_stack_alloca(dtype_str: str, num) -> Call:
    """Structs on the stack of the function."""
    return _call("tvm_stack_alloca", "handle", [dtype_str, num])


def tvm_stack_make_shape(*args) -> Call:
    """Array of int64 on the stack."""
    return _call("tvm_stack_make_shape", "handle", args)


def tvm_stack_make_array(data, shape, strides, ndim, arr_dtype, elem_offset) -> Call:
    """DLTensor on the stack."""
    return _call(
        "tvm_stack_make_array", "handle", [data, shape, strides, ndim, arr_dtype, elem_offset]
    )


def tvm_tuple(*value) -> Call:
    """Group of arguments."""
    return _call("tvm_tuple", "handle", value)


def tvm_struct_get(arr, index, field, dtype) -> Call:
    """Field of a struct array."""
    return _call("tvm_struct_get", dtype, [arr, index, int(field)])


def tvm_struct_set(arr, index, field, value) -> Call:
    """Write a field of a struct array."""
    return _call("tvm_struct_set", "int32", [arr, index, int(field), value])


def tvm_thread_invariant(cond) -> Call:
    """A value equal in all threads."""
    return _call("tvm_thread_invariant", convert(cond).dtype, [cond])


def tvm_storage_sync(storage_scope: str) -> Call:
    """Barrier for a memory scope."""
    return _call("tvm_storage_sync", "int32", [storage_scope])


def tvm_thread_allreduce(*freduce_args) -> Call:
    """Reduction over threads."""
    return _call("tvm_thread_allreduce", "handle", freduce_args)


def start_profile_intrinsic(identifier) -> Call:
    """Start of a profiled region."""
    return _call("start_profile_intrinsic", "handle", [identifier])


def end_profile_intrinsic(identifier) -> Call:
    """End of a profiled region."""
    return _call("end_profile_intrinsic", "handle", [identifier])


def vscale() -> Call:
    """Run-time multiple of a scalable vector."""
    return _call("vscale", "int32", [])


def get_active_lane_mask(dtype, base, limit) -> Call:
    """Lanes ``i`` with ``base + i < limit``."""
    return _call("get_active_lane_mask", dtype, [base, limit])


def vectorlow(dtype, vec) -> Call:
    """Low half of a vector."""
    return _call("vectorlow", dtype, [vec])


def vectorhigh(dtype, vec) -> Call:
    """High half of a vector."""
    return _call("vectorhigh", dtype, [vec])


def vectorcombine(dtype, vec1, vec2) -> Call:
    """Two halves joined."""
    return _call("vectorcombine", dtype, [vec1, vec2])


def dp4a(vec1, vec2, acc=0) -> Call:
    """Dot product of four bytes, added to `acc`."""
    return _call("dp4a", "int32", [vec1, vec2, acc])


def atomic_add(address, value) -> Call:
    """Atomic addition; gives the old value."""
    return _call("atomic_add", convert(value).dtype, [address, value])


# --- reductions ------------------------------------------------------------------------------


def comm_reducer(fcombine, fidentity, name: str = "reduce"):
    """Make a commutative reduction.

    Args:
        fcombine: ``fn(x, y)`` on values, or on tuples of values.
        fidentity: ``fn(dtype, ..)`` giving the neutral values.
        name: Name of the function made.

    Returns:
        ``reduce(expr, axis, where=None, init=None)``.
    """

    def make_reduce(expr, axis, where=None, init=None):
        is_tuple = isinstance(expr, (tuple, list)) or type(expr).__name__ == "Array"
        sources = [convert(value) for value in (expr if is_tuple else [expr])]
        names = list(inspect.signature(fcombine).parameters)
        if len(names) != 2:
            raise ValueError(f"fcombine must take two arguments, takes {names}")
        suffix = (lambda i: f"_{i}") if is_tuple else (lambda i: "")
        lhs = [Var(f"{names[0]}{suffix(i)}", s.dtype) for i, s in enumerate(sources)]
        rhs = [Var(f"{names[1]}{suffix(i)}", s.dtype) for i, s in enumerate(sources)]
        dtypes = [str(s.dtype) for s in sources]
        if is_tuple:
            result = fcombine(tuple(lhs), tuple(rhs))
            identity = fidentity(*dtypes)
        else:
            result = [fcombine(lhs[0], rhs[0])]
            identity = [fidentity(dtypes[0])]
        identity = [
            const(value, dtype) if not isinstance(value, Expr) else value
            for value, dtype in zip(identity, dtypes)
        ]
        combiner = CommReducer(lhs, rhs, [convert(value) for value in result], identity)
        axes = list(axis) if isinstance(axis, (list, tuple)) else [axis]
        where = IntImm("bool", True) if where is None else where
        inits = []
        if init is not None:
            inits = [convert(value) for value in (init if is_tuple else [init])]
        outputs = [Reduce(combiner, sources, axes, where, i, inits) for i in range(len(sources))]
        return tuple(outputs) if is_tuple else outputs[0]

    def reducer(expr, axis=None, where=None, init=None, *args):
        if axis is None or not isinstance(
            axis if not isinstance(axis, (list, tuple)) else (axis[0] if axis else None), IterVar
        ):
            # Plain values: combine them directly.
            values = [expr, axis, *args] if where is None else [expr, axis, where, *args]
            result = values[0]
            for value in values[1:]:
                if value is not None:
                    result = fcombine(result, value)
            return result
        return make_reduce(expr, axis, where, init)

    reducer.__name__ = reducer.__qualname__ = name
    reducer.__doc__ = (
        f"Reduce values over axes with ``{name}``; plain values are combined directly."
    )
    return reducer


sum = comm_reducer(lambda x, y: x + y, lambda t: const(0, t), name="sum")  # noqa: A001
prod = comm_reducer(lambda x, y: x * y, lambda t: const(1, t), name="prod")
min = comm_reducer(lambda x, y: _ffi_api._OpMin(x, y, None), max_value, name="min")  # noqa: A001
max = comm_reducer(lambda x, y: _ffi_api._OpMax(x, y, None), min_value, name="max")  # noqa: A001


# --- tables ----------------------------------------------------------------------------------

_UNARY = (
    "exp exp2 exp10 erf tanh sigmoid log log2 log10 log1p tan cos cosh acos acosh sin sinh asin "
    "asinh atan atanh sqrt rsqrt floor ceil trunc abs round nearbyint isnan isinf isfinite "
    "popcount clz bitwise_not"
).split()
_BINARY = "fmod atan2 nextafter copysign hypot ldexp bitwise_and bitwise_or bitwise_xor".split()


def _define_unary(name: str):
    def build(x, span=None):
        return getattr(_ffi_api, name)(x, span)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"Build ``{name}(x)``."
    return build


def _define_binary(name: str):
    def build(x, y, span=None):
        return getattr(_ffi_api, name)(x, y, span)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"Build ``{name}(x, y)``."
    return build


for _name in _UNARY:
    globals()[_name] = _define_unary(_name)
for _name in _BINARY:
    globals()[_name] = _define_binary(_name)
fabs = globals()["abs"]


def fma(x, y, z, span=None):
    """``x * y + z`` with one rounding."""
    return _ffi_api.fma(x, y, z, span)
