# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Functions, loops, branches and other statements."""

from __future__ import annotations

from typing import Any

from tvm import tirx
from tvm.ir import Range, Type, Var
from tvm.ir.expr import Expr

from . import _ffi_api, frame
from .buffers import Buffer
from .values import ScalarVar, annotation_type, as_expr, as_value

# --- functions -------------------------------------------------------------------------------


def prim_func(
    is_private: bool = False, s_tir: bool = False, persistent: bool = False
) -> frame.PrimFuncFrame:
    """Open a primitive function.

    Args:
        is_private: It is not visible outside of its module.
        s_tir: It is of the schedulable dialect.
        persistent: It is a persistent kernel.
    """
    return _ffi_api.PrimFunc(is_private, s_tir, persistent)


def arg(name: str, obj: Any) -> Any:
    """Add a parameter.

    Args:
        name: Its name.
        obj: Variable, buffer, or a type such as ``T.int32``.

    Returns:
        The parameter.
    """
    var = obj if isinstance(obj, Var) else Var(name, annotation_type(obj))
    return _ffi_api.Arg(name, var)


def func_name(name: str) -> None:
    """Name the function."""
    _ffi_api.FuncName(name)


def func_attr(attrs: dict[str, Any]) -> None:
    """Add attributes to the function."""
    _ffi_api.FuncAttrs(attrs)


def func_ret(ret_type: Any) -> Type:
    """State what the function returns."""
    return _ffi_api.FuncRet(annotation_type(ret_type))


def match_buffer(
    param: Any,
    shape: Any = None,
    dtype: Any = "float32",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "default",
    **options: Any,
) -> tirx.Buffer:
    """Give a pointer parameter, or a region of a buffer, the form of a buffer.

    Args:
        param: Parameter of the function, or region.
        shape: Extents; those of the region if left out.
        dtype: Element type.
        data: Pointer variable of the data.
        strides: Strides.
        elem_offset: Offset of the first element.
        scope: Memory.
        align: Alignment in bytes.
        offset_factor: Factor of the offset.
        buffer_type: ``"auto_broadcast"`` or the default.
    """
    if shape is None:
        if not isinstance(param, tirx.BufferRegion):
            raise ValueError("Shape must be specified when binding input param")
        shape = [item.extent for item in param.region]
    made = Buffer(
        shape, dtype, data, strides, elem_offset, scope, max(align, 0), offset_factor,
        "" if buffer_type == "default" else buffer_type, **options,
    )  # fmt: skip
    return _ffi_api.MatchBuffer(made, as_value(param) if isinstance(param, ScalarVar) else param)


# --- loops -----------------------------------------------------------------------------------


def _loop(build, start, stop, annotations, step, extent=None, unroll=None):
    start, stop = as_value(start), as_value(stop)
    if stop is None:
        start, stop = (0 if not isinstance(start, Expr) else tirx.const(0, start.dtype)), start
    notes = dict(annotations or {})
    if unroll is not None:
        if unroll is False:
            notes["disable_unroll"] = True
        elif isinstance(unroll, int) and unroll is not True:
            notes["pragma_unroll"] = unroll
        else:
            raise ValueError(f"unroll must be False or a count, got {unroll!r}")
    return build(start, stop, notes, as_value(step), as_value(extent))


def serial(
    start: Any,
    stop: Any = None,
    *,
    annotations: dict | None = None,
    step: Any = None,
    unroll: bool | int | None = None,
    extent: Any = None,
) -> frame.ForFrame:
    """Loop one iteration after another.

    Args:
        start: First value, or the end if `stop` is left out.
        stop: Value after the last.
        annotations: Hints.
        step: Distance of values.
        unroll: ``False`` keeps the compiler from unrolling, a count asks for it.
        extent: Length of the interval, where it is not to be computed from the bounds.
    """
    return _loop(_ffi_api.Serial, start, stop, annotations, step, extent, unroll)


def parallel(
    start: Any, stop: Any = None, *, annotations: dict | None = None, step=None, extent=None
) -> frame.ForFrame:
    """Loop whose iterations run in parallel; arguments as of :py:func:`serial`."""
    return _loop(_ffi_api.Parallel, start, stop, annotations, step, extent)


def vectorized(
    start: Any, stop: Any = None, *, annotations: dict | None = None, step=None, extent=None
) -> frame.ForFrame:
    """Loop that becomes vector instructions; arguments as of :py:func:`serial`."""
    return _loop(_ffi_api.Vectorized, start, stop, annotations, step, extent)


def unroll(
    start: Any, stop: Any = None, *, annotations: dict | None = None, step=None, extent=None
) -> frame.ForFrame:
    """Loop that is written out; arguments as of :py:func:`serial`."""
    return _loop(_ffi_api.Unroll, start, stop, annotations, step, extent)


def thread_binding(
    start: Any,
    stop: Any = None,
    thread: str | None = None,
    *,
    annotations: dict | None = None,
    step: Any = None,
    extent: Any = None,
) -> frame.ForFrame:
    """Loop whose iterations are threads of an axis.

    Args:
        start: First value, or the number of threads if `stop` is left out.
        stop: Value after the last.
        thread: The axis, e.g. ``"threadIdx.x"``.
        annotations: Hints.
        step: Distance of values.
        extent: As of :py:func:`serial`.
    """
    if thread is None and isinstance(stop, str):
        stop, thread = None, stop
    if not isinstance(thread, str):
        raise ValueError('T.thread_binding needs `thread`, e.g. "threadIdx.x"')

    def build(start, stop, notes, step, extent):
        return _ffi_api.ThreadBinding(start, stop, thread, notes, step, extent)

    return _loop(build, start, stop, annotations, step, extent)


def grid(*extents: Any) -> frame.ForFrame:
    """Nest of serial loops.

    Args:
        extents: Per loop the number of iterations, a pair of first value and number, or a Range.
    """
    doms = []
    for item in extents:
        if isinstance(item, (tuple, list)):
            if len(item) != 2:
                raise ValueError(f"bounds of a loop are a pair, got {len(item)} values")
            item = Range.from_min_extent(as_value(item[0]), as_value(item[1]))
        doms.append(as_value(item))
    return _ffi_api.Grid(doms)


# --- branches and scopes ---------------------------------------------------------------------


def If(condition: Any) -> frame.IfFrame:  # noqa: N802 - public name
    """Open a branch; it holds ``T.Then()`` and ``T.Else()``."""
    return _ffi_api.If(_condition(condition))


def Then() -> frame.ThenFrame:  # noqa: N802 - public name
    """Open what runs if the condition of ``T.If`` holds."""
    return _ffi_api.Then()


def Else() -> frame.ElseFrame:  # noqa: N802 - public name
    """Open what runs if the condition of ``T.If`` does not hold."""
    return _ffi_api.Else()


def While(condition: Any) -> frame.WhileFrame:  # noqa: N802 - public name
    """Open the body of a while loop."""
    return _ffi_api.While(_condition(condition))


def _condition(condition: Any) -> Any:
    condition = as_value(condition)
    return tirx.const(condition, "bool") if isinstance(condition, bool) else condition


def Assert(  # noqa: N802 - public name
    condition: Any, message: Any, error_kind: str = "RuntimeError"
) -> frame.AssertFrame:
    """State that a condition holds.

    Args:
        condition: The condition.
        message: Text, list of texts, or a pair of error kind and texts.
        error_kind: Kind of the error.
    """
    kind, parts = assert_message(message, error_kind)
    return _ffi_api.Assert(_condition(condition), kind, parts)


def assert_message(message: Any, kind: str = "RuntimeError") -> tuple[Any, list]:
    """Error kind and parts of the message of an assertion.

    Raises:
        ValueError: A tuple has not exactly the two.
    """
    if isinstance(message, tuple):
        if len(message) != 2:
            raise ValueError(
                "Assert message tuple must have exactly 2 elements (kind, [parts...]), got "
                f"{len(message)} elements"
            )
        kind, message = message
        if not isinstance(kind, (str, tirx.StringImm)):
            raise ValueError(f"the kind of an assertion's error must be text, got {kind!r}")
    parts = list(message) if isinstance(message, (list, tuple)) else [message]
    return _text(kind), [_text(part) for part in parts]


def _text(part: Any) -> Any:
    """A part of a message: text as it is, anything else (an expression, a number) as it prints."""
    return part if isinstance(part, tirx.StringImm) else tirx.StringImm(str(as_value(part)))


def attr(node: Any, attr_key: str | None = None, value: Any = None) -> frame.AttrFrame:
    """Open a scope with attributes.

    Args:
        node: What the attribute is about, or a dict of attributes about nothing in particular.
        attr_key: Name.
        value: Value.
    """
    if attr_key is None:
        if not isinstance(node, dict):
            raise TypeError("T.attr takes (node, key, value) or a dict of attributes")
        return _ffi_api.Attr(0, list(node), [as_expr(item) for item in node.values()])
    return _ffi_api.Attr(as_value(node), [attr_key], [as_expr(value)])


def hint(message: str, **attrs: Any) -> frame.HintFrame:
    """Open a scope with a hint to the compiler.

    Args:
        message: What is meant.
        attrs: Details.
    """
    return _ffi_api.Hint(message, attrs)


def launch_thread(thread: Any, extent: Any) -> frame.LaunchThreadFrame:
    """Open the scope of a thread axis.

    Args:
        thread: The axis, e.g. ``"threadIdx.x"``, or what ``T.env_thread`` gave.
        extent: Number of threads.
    """
    return _ffi_api.LaunchThread(thread, as_value(extent))


def env_thread(thread_tag: str, dtype: str = "int32") -> Var:
    """Declare a thread axis, to be launched once or several times.

    Args:
        thread_tag: The axis, e.g. ``"blockIdx.x"``.
        dtype: Type of its variable.
    """
    return _ffi_api.EnvThread(thread_tag, dtype)


# --- plain statements ------------------------------------------------------------------------


def evaluate(value: Any) -> None:
    """Evaluate an expression for its effect."""
    if isinstance(value, str):
        value = tirx.StringImm(value)
    _ffi_api.Evaluate(as_expr(value))


def bind(value: Any, type_annotation: Any = None, *, var: Var | None = None) -> Var:
    """Give a value a name that does not change.

    Args:
        value: The value.
        type_annotation: Type of the name; that of the value if left out.
        var: Variable to use.
    """
    value = as_expr(value)
    if type_annotation is not None and var is None:
        var = Var("v", annotation_type(type_annotation))
        if hasattr(var.ty, "dtype") and hasattr(value.ty, "dtype"):
            value = tirx.cast(var.ty.dtype, value)
    return _ffi_api.Bind(value, var)


Bind = bind


def Return(value: Any) -> None:  # noqa: N802 - public name
    """Leave the function with a value."""
    _ffi_api.Return(as_expr(value))


def Break() -> None:  # noqa: N802 - public name
    """Leave the innermost loop."""
    _ffi_api.Break()


def Continue() -> None:  # noqa: N802 - public name
    """Go on with the next iteration of the innermost loop."""
    _ffi_api.Continue()


def add_to_parent(stmt: Any) -> None:
    """Add a statement made elsewhere."""
    _ffi_api.AddToParent(stmt)


def static_assert(condition: Any, message: str = "") -> None:
    """Check a condition while the program is parsed.

    Raises:
        AssertionError: It does not hold.
    """
    condition = as_value(condition)
    if isinstance(condition, Expr) and not isinstance(condition, tirx.IntImm):
        raise TypeError(f"T.static_assert needs a condition known while parsing, got {condition}")
    if not condition:
        raise AssertionError(message or "static_assert failed")


__all__ = [
    "Assert", "Bind", "Break", "Continue", "Else", "If", "Return", "Then", "While",
    "add_to_parent", "arg", "attr", "bind", "env_thread", "evaluate", "func_attr", "func_name",
    "func_ret", "grid", "hint", "launch_thread", "match_buffer", "parallel", "prim_func", "serial",
    "static_assert", "thread_binding", "unroll", "vectorized",
]  # fmt: skip
