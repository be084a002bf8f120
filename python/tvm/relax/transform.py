# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Passes over graph-level functions."""

from __future__ import annotations

import functools
import inspect

from tvm._lazy import FFINamespace
from tvm.ir.transform import Pass, PassContext

_api = FFINamespace("relax.transform")


def Normalize() -> Pass:  # noqa: N802
    """A-normal form with a type on every expression."""
    return _api.Normalize()


def DeadCodeElimination(entry_functions=None) -> Pass:  # noqa: N802
    """Remove unused pure bindings and unreachable private functions."""
    return _api.DeadCodeElimination(list(entry_functions or []))


def EliminateCommonSubexpr(call_only: bool = False) -> Pass:  # noqa: N802
    """Compute equal pure expressions of a block once."""
    return _api.EliminateCommonSubexpr(call_only)


def LegalizeOps(customize_legalize_map=None, skip_ops=None, enable_warning=False) -> Pass:  # noqa: N802
    """Turn every operator into a kernel call.

    Args:
        customize_legalize_map: Operator name -> ``fn(bb, call) -> expr``.
        skip_ops: Names of operators to leave.
        enable_warning: Kept for compatibility; nothing is skipped silently.
    """
    custom = dict(customize_legalize_map or {})
    for name in skip_ops or []:
        custom[name] = lambda _bb, call: call
    return _api.LegalizeOps(custom)


def DecomposeOpsForInference(func_name=None) -> Pass:  # noqa: N802
    """Write batch norm and attention in terms of simpler operators."""
    return _api.DecomposeOpsForInference(func_name)


def BindParams(func_name: str, params) -> Pass:  # noqa: N802
    """Replace parameters of a function by constants.

    Args:
        func_name: Name of the function.
        params: Parameter name or variable -> tensor, numpy array or constant.
    """
    from .expr import _bound_value

    return _api.BindParams(func_name, {k: _bound_value(v) for k, v in params.items()})


def BindSymbolicVars(binding_map, func_name=None) -> Pass:  # noqa: N802
    """Replace symbolic variables, by name or variable, by values."""
    from .expr import convert_dims

    binding = {k: convert_dims([v])[0] for k, v in binding_map.items()}
    return _api.BindSymbolicVars(binding, func_name)


def FuseOps(fuse_opt_level: int = -1) -> Pass:  # noqa: N802
    """Group kernel calls into functions that are one kernel each.

    Args:
        fuse_opt_level: 0 groups nothing; -1 takes the level of the pass context.
    """
    return _api.FuseOps(fuse_opt_level)


def ConvertToDataflow(min_size: int = 2) -> Pass:  # noqa: N802
    """Turn runs of pure bindings into dataflow blocks.

    Args:
        min_size: Shorter runs stay as they are.
    """
    return _api.ConvertToDataflow(min_size)


def LiftTransformParams(shared_transform: bool = False) -> Pass:  # noqa: N802
    """Move what depends on weights alone into ``<function>_transform_params``.

    Args:
        shared_transform: Must be False: one transform for several functions is not supported.
    """
    return _api.LiftTransformParams(bool(shared_transform))


def ToMixedPrecision(out_dtype: str = "float32", fp16_input_names=None) -> Pass:  # noqa: N802
    """Compute products in float16, what is sensitive in float32.

    Args:
        out_dtype: What products give: ``"float32"`` or ``"float16"``.
        fp16_input_names: Parameters that come as float16.
    """
    names = None if fp16_input_names is None else list(fp16_input_names)
    return _api.ToMixedPrecision(out_dtype, names)


def VMShapeLower(*, emit_err_ctx: bool = True) -> Pass:  # noqa: N802
    """Keep symbolic values in a heap; check arguments at run time."""
    return _api.VMShapeLower(emit_err_ctx)


def VMBuiltinLower() -> Pass:  # noqa: N802
    """Older name of LowerRuntimeBuiltin."""
    return _api.LowerRuntimeBuiltin()


def __getattr__(name):
    """Passes without options: the factories that the compiler registers."""
    if name.startswith("_"):
        raise AttributeError(name)
    factory = getattr(_api, name)

    def make(*args) -> Pass:
        return factory(*args)

    make.__name__ = name
    make.__doc__ = f"Pass ``relax.{name}``."
    return make


def function_pass(pass_func=None, opt_level=0, name=None, required=None, traceable=False):
    """Make a pass of ``fn(func, mod, ctx) -> func``, or of a class with ``transform_function``.

    Args:
        pass_func: The function or class; a decorator is returned if left out.
        opt_level: Level from which on the pass runs.
        name: Name, by default that of `pass_func`.
        required: Names of passes to run before.
        traceable: Kept for compatibility.
    """
    if pass_func is None:
        return functools.partial(
            function_pass, opt_level=opt_level, name=name, required=required, traceable=traceable
        )
    title = name or pass_func.__name__
    if inspect.isclass(pass_func):

        @functools.wraps(pass_func, updated=())
        def make(*args, **kwargs):
            instance = pass_func(*args, **kwargs)
            return _api.MakeFunctionPass(
                instance.transform_function, opt_level, title, list(required or [])
            )

        return make
    return _api.MakeFunctionPass(pass_func, opt_level, title, list(required or []))


__all__ = ["Pass", "PassContext", "function_pass"]
