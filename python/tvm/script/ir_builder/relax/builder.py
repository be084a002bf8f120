# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Functions that build graph-level functions statement by statement."""

from __future__ import annotations

import tvm
from tvm import relax
from tvm._lazy import FFINamespace
from tvm.ir import GlobalInfo, VDevice
from tvm.relax import ExternFunc, ShapeExpr, TupleGetItem

from . import frame
from .ops import as_dtype, to_expr, to_type, to_types

_api = FFINamespace("script.ir_builder.relax")

py_str = str
py_tuple = tuple


# --- functions ------------------------------------------------------------------------------------


def function(is_pure: bool = True, is_private: bool = False) -> frame.FunctionFrame:
    """Open a function.

    Args:
        is_pure: Calls of it have no effect.
        is_private: It gets no global symbol.
    """
    return _api.Function(is_pure, is_private)


def arg(name: py_str, ty) -> relax.Var:
    """Add a parameter.

    Args:
        name: Its name.
        ty: Its type.
    """
    return _api.Arg(name, to_type(ty))


def func_name(name: py_str) -> None:
    """Name the function.

    Raises:
        ValueError: It has a name.
    """
    _api.FuncName(name)


def func_attr(attrs: dict) -> None:
    """Add attributes to the function."""
    _api.FuncAttrs({k: _attr_value(v) for k, v in attrs.items()})


def _attr_value(value):
    if hasattr(value, "asobject"):
        return value.asobject()
    return value


def func_ret_ty(ret_ty) -> None:
    """Set the type of the function's result."""
    _api.FuncRetType(to_type(ret_ty))


func_ret_type = func_ret_ty


def func_ret_value(value) -> None:
    """Set the function's result.

    Raises:
        ValueError: It has one, or the place is inside of a branch or dataflow block.
    """
    _api.FuncRetValue(to_expr(value))


# --- blocks and bindings --------------------------------------------------------------------------


def BindingBlock() -> frame.BindingBlockFrame:  # noqa: N802 - public name
    """Open a block of bindings that may have effects."""
    return _api.BindingBlock()


def dataflow() -> frame.BindingBlockFrame:
    """Open a block of bindings without control flow or effects."""
    return _api.Dataflow()


def output(*variables) -> None:
    """Name the variables that live on after the dataflow block.

    Raises:
        ValueError: The place is not inside of a dataflow block, or a variable is not its own.
    """
    _api.DataflowBlockOutput(list(variables))


def emit(value, annotate_ty=None) -> relax.Var:
    """Bind a value to a new variable.

    Args:
        value: The value.
        annotate_ty: Type of the variable; that of the value if left out.
    """
    ty = None if annotate_ty is None else to_type(annotate_ty)
    return _api.Emit(to_expr(value), ty)


def emit_te(func, *args, **kwargs) -> relax.Call:
    """Call of a kernel made by a function over te tensors; the kernel is added to the module.

    Args:
        func: Called with the arguments, tensors replaced by placeholders.
        args: Tensors, scalars, shapes, nested lists and dicts of them.
        kwargs: The same by keyword; ``primfunc_name_hint`` names the kernel.
    """
    from tvm.relax.op import call_tir
    from tvm.relax.te_bridge import gen_call_tir_inputs
    from tvm.script.ir_builder import ir as module_builder

    name = kwargs.pop("primfunc_name_hint", None) or getattr(func, "__name__", "te")
    attrs = kwargs.pop("primfunc_attrs", None)
    prim, operands, out_ty, symbols = gen_call_tir_inputs(func, *args, **kwargs)
    if attrs:
        prim = prim.with_attrs(attrs)
    gvar = _declared_copy(prim, name)
    if gvar is None:
        used = {py_str(k) for k in module_builder.current_ir_module().global_var_map}
        unique, n = name, 0
        while unique in used:
            n += 1
            unique = f"{name}{n}"
        gvar = module_builder.decl_function(unique, prim)
        module_builder.def_function(unique, prim)
    return call_tir(gvar, operands, out_ty, symbols)


def _declared_copy(prim, name: py_str):
    """Variable of an equal kernel that this module has under the same stem."""
    from tvm.script.ir_builder import ir as module_builder

    for var, func in module_builder.current_ir_module().functions.items():
        if py_str(var.name_hint).startswith(name) and tvm.ir.structural_equal(func, prim):
            return var
    return None


def emit_match_cast(value, ty) -> relax.Var:
    """Bind a value after a check at run time that it is of a type."""
    return _api.EmitMatchCast(to_expr(value), to_type(ty))


def emit_var_binding(value) -> relax.Var:
    """Add a binding that exists already."""
    return _api.EmitVarBinding(value)


def emit_with_ty(op: py_str, args, ty_args) -> relax.Call:
    """Call of an operator with type arguments.

    Args:
        op: Name of the operator.
        args: Operands.
        ty_args: Type, or types.
    """
    if isinstance(args, relax.Expr):
        args = [args]
    operands = [to_expr(a) for a in args]
    return relax.Call(tvm.ir.Op.get(op), operands, None, to_types(ty_args))


emit_with_type = emit_with_ty


def SeqExpr() -> frame.SeqExprFrame:  # noqa: N802 - public name
    """Open a sequence of blocks with a result."""
    return _api.SeqExpr()


def If(condition) -> frame.IfFrame:  # noqa: N802 - public name
    """Open a choice; inside of it, open ``Then`` and ``Else``."""
    return _api.If(to_expr(condition))


def Then() -> frame.ThenFrame:  # noqa: N802 - public name
    """Open the branch taken if the condition is true."""
    return _api.Then()


def Else() -> frame.ElseFrame:  # noqa: N802 - public name
    """Open the branch taken if the condition is false."""
    return _api.Else()


# --- literals -------------------------------------------------------------------------------------


def const(value, dtype=None) -> relax.Constant:
    """Constant tensor; see :py:func:`tvm.relax.const`."""
    return relax.const(value, dtype)


def prim_value(value, dtype=None):
    """Scalar expression: bool, int64 or float64 unless a data type is given."""
    if isinstance(value, (bool, int, float)):
        return relax.prim_value(value, dtype)
    return to_expr(value)


def shape(value) -> ShapeExpr:
    """Shape of dimensions.

    Args:
        value: Integers or int64 expressions.
    """
    if isinstance(value, relax.Expr):
        raise TypeError(f"R.shape expects a list of dimensions, but got {value}")
    return ShapeExpr([d if isinstance(d, int) else to_expr(d) for d in value])


def str(value: py_str) -> relax.StringImm:  # noqa: A001 - public name
    """String literal."""
    return relax.StringImm(value)


def dtype(value) -> relax.DataTypeImm:
    """Data type literal."""
    return as_dtype(value)


def tuple(*fields) -> relax.Tuple:  # noqa: A001 - public name
    """Tuple of values."""
    return relax.Tuple([to_expr(f) for f in fields])


# --- calls ----------------------------------------------------------------------------------------


def _out_ty(value):
    if isinstance(value, (list, py_tuple)):
        return [to_type(v) for v in value]
    return to_type(value)


def _args(value):
    """Operand tuple: a value that is a tuple already stays, one value becomes a tuple of it."""
    if isinstance(value, (list, py_tuple)):
        return relax.Tuple([to_expr(v) for v in value])
    value = to_expr(value)
    if isinstance(value, relax.Tuple) or isinstance(value.ty, relax.TupleType):
        return value
    return relax.Tuple([value])


def call_tir(gvar, args, out_ty, tir_vars=None) -> relax.Call:
    """Call a PrimFunc of the module; its outputs are allocated.

    Args:
        gvar: The function.
        args: Its inputs.
        out_ty: Type of the output, or a list of types; their shapes must be known.
        tir_vars: Scalar values passed after the buffers.
    """
    return relax.op.call_tir(gvar, _args(args), _out_ty(out_ty), tir_vars)


def call_tir_with_grad(
    gvar, args, out_ty, te_grad_name, te_grad_kwargs=None, tir_vars=None
) -> relax.Call:
    """call_tir that names the function making its gradient."""
    return relax.op.call_tir_with_grad(
        gvar, _args(args), _out_ty(out_ty), te_grad_name, te_grad_kwargs, tir_vars
    )


def call_tir_inplace(gvar, args, out_ty, inplace_indices, tir_vars=None) -> relax.Call:
    """call_tir whose outputs reuse inputs.

    Args:
        gvar: The function.
        args: Its inputs.
        out_ty: Types of the outputs.
        inplace_indices: Input per output, or -1 for a fresh output.
        tir_vars: Scalar values passed after the buffers.
    """
    if isinstance(inplace_indices, relax.Type) or hasattr(inplace_indices, "as_ty"):
        out_ty, inplace_indices = inplace_indices, out_ty
    return relax.op.call_tir_inplace(gvar, _args(args), inplace_indices, _out_ty(out_ty), tir_vars)


def call_dps_packed(func, args, out_ty) -> relax.Call:
    """Call a packed function that writes into outputs allocated for it."""
    return relax.op.call_dps_packed(func, _args(args), _out_ty(out_ty))


def call_packed(func: py_str, *args, ty_args=None, **attrs) -> relax.Call:
    """Call a packed function, which may have effects.

    Args:
        func: Its name.
        args: Arguments.
        ty_args: Type of the result; several make a tuple.
        attrs: Attributes of the call, of the structure ``attrs_type_key`` if that is given.
    """
    callee = func if isinstance(func, relax.Expr) else ExternFunc(func)
    key = attrs.pop("attrs_type_key", "ir.DictAttrs")
    node = tvm.ir.make_node(key, **attrs) if attrs or key != "ir.DictAttrs" else None
    return relax.Call(callee, [to_expr(a) for a in args], node, to_types(ty_args))


def call_pure_packed(func, *args, ty_args=None) -> relax.Call:
    """Call a packed function that is known to have no effect."""
    return relax.op.call_pure_packed(func, *(to_expr(a) for a in args), ty_args=to_types(ty_args))


def call_inplace_packed(func, *args, inplace_indices, ty_args=None) -> relax.Call:
    """Call a packed function that overwrites some arguments and has no other effect."""
    return relax.op.call_inplace_packed(
        func,
        *(to_expr(a) for a in args),
        inplace_indices=inplace_indices,
        ty_args=to_types(ty_args),
    )


def call_py_func(func_name, args, out_ty=None, *, ty_args=None) -> relax.Call:
    """Call a Python function of the virtual machine's registry.

    Args:
        func_name: Its name.
        args: Arguments.
        out_ty: Type of the result, or
        ty_args: types of the results.
    """
    types = to_types(ty_args) if out_ty is None else [_as_one(_out_ty(out_ty))]
    op = tvm.ir.Op.get("relax.call_py_func")
    return relax.Call(op, [to_expr(func_name), _args(args)], None, types)


def _as_one(types):
    if isinstance(types, list):
        return types[0] if len(types) == 1 else relax.TupleType(types)
    return types


def call_builtin_with_ctx(func, args, *, ty_args=None) -> relax.Call:
    """Call a builtin that also gets the virtual machine."""
    return relax.op.call_builtin_with_ctx(func, _args(args), ty_args=to_types(ty_args))


def make_closure(func, args) -> relax.Call:
    """Bind values to the last parameters of a function."""
    return relax.op.make_closure(func, _args(args))


def invoke_closure(closure, args, ty_args) -> relax.Call:
    """Call a closure."""
    return relax.op.invoke_closure(closure, _args(args), to_types(ty_args))


def invoke_pure_closure(closure, args, ty_args) -> relax.Call:
    """Call a closure that has no effect."""
    return relax.op.invoke_pure_closure(closure, _args(args), to_types(ty_args))


def print(*values, format="") -> relax.Call:  # noqa: A001 - public name
    """Write values when the program runs."""
    return relax.op.print(*(to_expr(v) for v in values), format=to_expr(format))


def assert_op(condition, *format_args, format="") -> relax.Call:
    """Stop the program when a boolean scalar is false.

    Args:
        condition: The scalar.
        format_args: Values for the message, given one by one or as a list.
        format: The message.
    """
    if len(format_args) == 1 and isinstance(format_args[0], (list, py_tuple)):
        format_args = py_tuple(format_args[0])
    values = [to_expr(v) for v in format_args]
    return relax.op.assert_op(to_expr(condition), values, to_expr(format))


def reshape(x, shape) -> relax.Call:
    """Same elements in another shape; -1 is what is left, 0 keeps the input's extent."""
    if isinstance(shape, (list, py_tuple)):
        shape = [d if isinstance(d, int) else to_expr(d) for d in shape]
    return relax.op.reshape(to_expr(x), shape)


# --- devices --------------------------------------------------------------------------------------


def to_vdevice_object(value):
    """Virtual device of ``"kind:index:scope"``; index and scope may be left out.

    The index counts the devices of that kind which the module declares; -1 is the last. Outside of
    a module, the text describes the device itself and the index is its id.

    Raises:
        ValueError: The module has no such device, or the text is malformed.
    """
    if isinstance(value, GlobalInfo):
        return value
    from tvm.script.ir_builder import ir as module_builder
    from tvm.script.ir_builder.base import IRBuilder

    if isinstance(value, int):
        return module_builder.lookup_vdevice(None, value)
    if not isinstance(value, py_str):
        raise TypeError(f"expected a virtual device or its text, but got {value!r}")
    kind, _, rest = value.partition(":")
    index, _, scope = rest.partition(":")
    try:
        number = int(index or 0)
    except ValueError:
        raise ValueError(
            f"virtual device {value!r}: expected 'kind:index:scope', but the index is {index!r}"
        ) from None
    if IRBuilder.is_in_scope() and any(
        isinstance(f, module_builder.IRModuleFrame) for f in IRBuilder.current().frames
    ):
        found = module_builder.lookup_vdevice(kind, number)
        if scope and py_str(found.memory_scope) != scope:
            raise ValueError(
                f"virtual device {value!r}: the module declares it in scope {found.memory_scope!r}"
            )
        return found
    if number < 0:
        raise ValueError(
            f"virtual device {value!r}: a negative index counts the devices that a module declares, "
            "but there is no module here"
        )
    return VDevice(kind, number, scope or "global")


def to_vdevice(data, dst_vdevice) -> relax.Call:
    """Copy a tensor to a virtual device."""
    return relax.op.to_vdevice(to_expr(data), to_vdevice_object(dst_vdevice))


def hint_on_device(data, device, memory_scope: py_str = "global") -> relax.Call:
    """State where a tensor should be."""
    if memory_scope == "global":
        return relax.op.hint_on_device(to_expr(data), device)
    return relax.op.hint_on_device(to_expr(data), device, memory_scope)


def device(device_type=None, index: int = 0, **kwargs):
    """Device of a type (name or number) and index."""
    if device_type is None:
        device_type = kwargs.pop("dev_type", "cpu")
    return tvm.runtime.device(device_type, index)


__all__ = [
    "BindingBlock",
    "Else",
    "ExternFunc",
    "If",
    "SeqExpr",
    "ShapeExpr",
    "Then",
    "TupleGetItem",
    "arg",
    "assert_op",
    "call_builtin_with_ctx",
    "call_dps_packed",
    "call_inplace_packed",
    "call_packed",
    "call_pure_packed",
    "call_py_func",
    "call_tir",
    "call_tir_inplace",
    "call_tir_with_grad",
    "const",
    "dataflow",
    "device",
    "dtype",
    "emit",
    "emit_match_cast",
    "emit_te",
    "emit_var_binding",
    "emit_with_ty",
    "emit_with_type",
    "func_attr",
    "func_name",
    "func_ret_ty",
    "func_ret_type",
    "func_ret_value",
    "function",
    "hint_on_device",
    "invoke_closure",
    "invoke_pure_closure",
    "make_closure",
    "output",
    "prim_value",
    "print",
    "reshape",
    "shape",
    "str",
    "to_vdevice",
    "tuple",
]
