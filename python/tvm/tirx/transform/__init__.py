# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Passes over primitive functions.

Every pass that C++ registers as ``tirx.transform.<Name>`` is a function here that makes it; its doc
comes from the pass. ``list_passes()`` names them.
"""

from __future__ import annotations

from tvm.ir import transform as _transform
from tvm.ir.transform import Pass
from tvm_ffi import register_object

from . import _ffi_api


@register_object("tirx.PrimFuncPass")
class PrimFuncPass(Pass):
    """Pass over each primitive function; see :py:func:`prim_func_pass`."""


def prim_func_pass(pass_func=None, opt_level=None, name=None, required=None, traceable=False):
    """Make a pass of ``fn(func, mod, ctx) -> func``, or of a class with ``transform_function``.

    Args:
        pass_func: The function or class; a decorator is returned if left out.
        opt_level: Level.
        name: Name; that of the function if left out.
        required: Names of passes that run first.
        traceable: Whether traces may record it.
    """
    return _transform._make_decorator(
        _ffi_api.CreatePrimFuncPass,
        "transform_function",
        PrimFuncPass,
        pass_func,
        opt_level,
        name,
        required,
        traceable,
    )


def list_passes() -> list[str]:
    """Names of the passes of this dialect."""
    from tvm_ffi.registry import list_global_func_names

    prefix = "tirx.transform."
    return sorted(
        str(name)[len(prefix) :]
        for name in list_global_func_names()
        if str(name).startswith(prefix) and str(name)[len(prefix) :][0].isupper()
    )


def Apply(ftransform) -> Pass:  # noqa: N802 - public name
    """Pass that applies ``fn(func) -> func``."""
    return _ffi_api.Apply(ftransform)


def Filter(fcond) -> Pass:  # noqa: N802 - public name
    """Pass that keeps functions for which ``fn(func)`` is true."""
    return _ffi_api.Filter(fcond)


def VectorizeLoop(enable_vectorize: bool = True) -> Pass:  # noqa: N802 - public name
    """Pass that turns vectorized loops into vector expressions, or into serial loops."""
    return _ffi_api.VectorizeLoop(enable_vectorize)


def BindTarget(target) -> Pass:  # noqa: N802 - public name
    """Pass that gives every function its target."""
    from tvm.target import Target

    return _ffi_api.BindTarget(target if isinstance(target, Target) else Target(target))


def NarrowDataType(target_bits: int) -> Pass:  # noqa: N802 - public name
    """Pass that narrows index arithmetic where its bounds allow."""
    return _ffi_api.NarrowDataType(target_bits)


def FP8ComputeLegalize(promote_dtype: str = "float16") -> Pass:  # noqa: N802 - public name
    """Pass that computes 8-bit floats in a wider type."""
    return _ffi_api.FP8ComputeLegalize(promote_dtype)


def __getattr__(name):
    if name.startswith("_") or not name[0].isupper():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    make = getattr(_ffi_api, name)

    def create(*args) -> Pass:
        return make(*args)

    create.__name__ = create.__qualname__ = name
    create.__doc__ = f"Make the pass ``tirx.{name}``."
    globals()[name] = create
    return create


def __dir__():
    return sorted({*globals(), *list_passes()})
