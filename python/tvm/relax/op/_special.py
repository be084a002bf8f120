# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Calls whose Python form differs from operands followed by attributes."""

from __future__ import annotations

from tvm.ir import Call, Expr, Op, TupleType, Type, make_node
from tvm_ffi import get_global_func


def _tuple(args):
    from ..expr import Tuple

    if isinstance(args, Tuple):
        return args
    if isinstance(args, Expr):
        # One value, or a variable that is a tuple already.
        return args if isinstance(args.ty, TupleType) else Tuple([args])
    return Tuple([_operand(a) for a in args])


def _operand(value):
    from ..expr import ShapeExpr, StringImm, prim_value

    if isinstance(value, str):
        return StringImm(value)
    if isinstance(value, (bool, int, float)):
        return prim_value(value)
    if isinstance(value, (list, tuple)):
        if value and all(isinstance(v, int) for v in value):
            return ShapeExpr(value)
        return _tuple(value)
    return value


def _callee(func):
    from ..expr import ExternFunc

    return ExternFunc(func) if isinstance(func, str) else func


def _out(out_ty) -> Type:
    if isinstance(out_ty, (list, tuple)):
        return TupleType(list(out_ty)) if len(out_ty) != 1 else out_ty[0]
    return out_ty


def _ty_args(ty_args) -> list:
    if ty_args is None:
        return []
    if isinstance(ty_args, Type):
        return [ty_args]
    return list(ty_args)


def call_tir(gvar, args, out_ty, tir_vars=None) -> Call:
    """Call a PrimFunc of the module; its outputs are allocated.

    Args:
        gvar: The function.
        args: Its inputs.
        out_ty: Type of the output, or a list of types; their shapes must be known.
        tir_vars: Scalar values passed after the buffers.
    """
    operands = [gvar, _tuple(args)]
    if tir_vars is not None:
        from ..expr import ShapeExpr

        operands.append(tir_vars if isinstance(tir_vars, Expr) else ShapeExpr(list(tir_vars)))
    return Call(Op.get("relax.call_tir"), operands, None, [_out(out_ty)])


def call_tir_with_grad(gvar, args, out_ty, te_grad_name, te_grad_kwargs=None, tir_vars=None):
    """call_tir that names the function making its gradient."""
    attrs = make_node(
        "relax.attrs.CallTIRWithGradAttrs",
        te_grad_name=te_grad_name,
        te_grad_kwargs=te_grad_kwargs or {},
    )
    call = call_tir(gvar, args, out_ty, tir_vars)
    return Call(Op.get("relax.call_tir_with_grad"), list(call.args), attrs, list(call.ty_args))


def call_tir_inplace(gvar, args, inplace_indices, out_ty, tir_vars=None) -> Call:
    """call_tir whose outputs reuse inputs.

    Args:
        gvar: The function.
        args: Its inputs.
        inplace_indices: Input per output, or -1 for a fresh output.
        out_ty: Types of the outputs.
        tir_vars: Scalar values passed after the buffers.
    """
    if isinstance(inplace_indices, int):
        inplace_indices = [inplace_indices]
    attrs = make_node("relax.attrs.CallTIRInplaceAttrs", inplace_indices=list(inplace_indices))
    call = call_tir(gvar, args, out_ty, tir_vars)
    return Call(Op.get("relax.call_tir_inplace"), list(call.args), attrs, list(call.ty_args))


def call_dps_packed(func, args, out_ty) -> Call:
    """Call a packed function that writes into outputs allocated for it."""
    return Call(
        Op.get("relax.call_dps_packed"), [_callee(func), _tuple(args)], None, [_out(out_ty)]
    )


def call_pure_packed(func, *args, ty_args=None) -> Call:
    """Call a packed function that is known to have no effect."""
    operands = [_callee(func), *(_operand(a) for a in args)]
    return Call(Op.get("relax.call_pure_packed"), operands, None, _ty_args(ty_args))


def call_inplace_packed(func, *args, inplace_indices, ty_args=None) -> Call:
    """Call a packed function that overwrites some arguments and has no other effect."""
    if isinstance(inplace_indices, int):
        inplace_indices = [inplace_indices]
    attrs = make_node("relax.attrs.CallInplacePackedAttrs", inplace_indices=list(inplace_indices))
    operands = [_callee(func), *(_operand(a) for a in args)]
    return Call(Op.get("relax.call_inplace_packed"), operands, attrs, _ty_args(ty_args))


def call_py_func(func_name: str, args, out_ty) -> Call:
    """Call a Python function of the virtual machine's registry."""
    from ..expr import StringImm

    return Call(
        Op.get("relax.call_py_func"), [StringImm(func_name), _tuple(args)], None, [_out(out_ty)]
    )


def call_builtin_with_ctx(func, args, *, ty_args=None) -> Call:
    """Call a builtin that also gets the virtual machine."""
    return Call(
        Op.get("relax.call_builtin_with_ctx"),
        [_callee(func), _tuple(args)],
        None,
        _ty_args(ty_args),
    )


def make_closure(func, args) -> Call:
    """Bind values to the last parameters of a function."""
    return Call(Op.get("relax.make_closure"), [func, _tuple(args)])


def invoke_closure(closure, args, ty_args) -> Call:
    """Call a closure."""
    return Call(Op.get("relax.invoke_closure"), [closure, _tuple(args)], None, _ty_args(ty_args))


def invoke_pure_closure(closure, args, ty_args) -> Call:
    """Call a closure that has no effect."""
    return Call(
        Op.get("relax.invoke_pure_closure"), [closure, _tuple(args)], None, _ty_args(ty_args)
    )


def print(*values, format="") -> Call:  # noqa: A001 - public name
    """Write values when the program runs."""
    from ..expr import StringImm

    operands = [format if isinstance(format, Expr) else StringImm(format), *values]
    return Call(Op.get("relax.print"), [_operand(v) for v in operands])


def assert_op(condition, format_args=None, format="") -> Call:
    """Stop the program when a boolean scalar is false."""
    from ..expr import StringImm

    if format_args is None:
        format_args = []
    if isinstance(format_args, Expr):
        format_args = [format_args]
    fmt = format if isinstance(format, Expr) else StringImm(format)
    return Call(
        Op.get("relax.assert_op"), [_operand(condition), fmt, *(_operand(a) for a in format_args)]
    )


def to_vdevice(data, dst_vdevice) -> Call:
    """Copy a tensor to a virtual device."""
    return get_global_func("relax.op.to_vdevice")(data, dst_vdevice)


def hint_on_device(data, device, memory_scope: str = "global") -> Call:
    """State where a tensor should be.

    Args:
        data: The tensor.
        device: A device, for example ``tvm.cpu()``.
        memory_scope: Kind of its memory.
    """
    device_type, index = device.dlpack_device_type(), device.index
    return get_global_func("relax.op.hint_on_device")(data, device_type, index, memory_scope)


def reshape(x, shape):
    """Same elements in another shape; -1 is what is left, 0 keeps the input's extent."""
    if not isinstance(shape, Expr):
        shape = [shape] if isinstance(shape, int) else list(shape)
    return get_global_func("relax.op.reshape")(x, shape)


def linear(data, weight, bias=None, out_dtype=None):
    """``data @ weight.T + bias``."""
    make = get_global_func
    transposed = make("relax.op.permute_dims")(weight, None)
    y = make("relax.op.matmul")(data, transposed, out_dtype)
    return y if bias is None else make("relax.op.add")(y, bias)


def relu6(data):
    """``min(max(data, 0), 6)``."""
    return get_global_func("relax.op.clip")(data, 0, 6)


def arange(start, end=None, step=1, dtype=None):
    """``start, start + step, ...`` below `end`; with one value, from 0 to it.

    Args:
        start: First value.
        end: Bound, exclusive.
        step: Difference.
        dtype: Element type; int64 or float32 by default.
    """
    if end is None:
        start, end = 0, start
    if dtype is None:
        floats = any(isinstance(v, float) for v in (start, end, step))
        dtype = "float32" if floats else "int64"
    return get_global_func("relax.op.arange")(start, end, step, dtype)


def full(shape, fill_value, dtype=None):
    """Tensor of one value.

    Args:
        shape: Its dimensions.
        fill_value: Scalar tensor, or a number.
        dtype: Element type; that of `fill_value` by default.
    """
    return get_global_func("relax.op.full")(shape, _scalar(fill_value, dtype), dtype)


def full_like(x, fill_value, dtype=None):
    """Tensor of one value in the shape of another."""
    return get_global_func("relax.op.full_like")(x, _scalar(fill_value, dtype), dtype)


def _scalar(value, dtype):
    from ..expr import const

    return value if isinstance(value, Expr) else const(value, dtype)


def attention(query, key, value, bias=None, scale=None, causal_mask=None, window_size=None):
    """``softmax(q k^T scale + bias) v`` over [batch, sequence, head, size].

    Args:
        query: [B, Sq, H, D].
        key: [B, Sk, H, D].
        value: [B, Sk, H, Dv].
        bias: Added to the scaled products; broadcast to [B, H, Sq, Sk].
        scale: Factor, by default 1 / sqrt(D).
        causal_mask: None, ``"TopLeft"`` or ``"BottomRight"``.
        window_size: Number of last positions that a position sees.
    """
    tail = (scale, causal_mask, window_size)
    if bias is None:
        return get_global_func("relax.op.nn.attention")(query, key, value, *tail)
    return get_global_func("relax.op.nn.attention_bias")(query, key, value, bias, *tail)
