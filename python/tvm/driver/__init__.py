# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Compilation of modules."""

from __future__ import annotations

import contextlib

from tvm.ir import IRModule
from tvm.runtime import Executable
from tvm.target import Target
from tvm_ffi.core import _object_type_info

from . import _ffi_api


def _as_target(target) -> Target | None:
    """Target to compile for; None leaves the choice to the functions, then to this machine."""
    if target is None:
        return Target.current(allow_none=True)
    return target if isinstance(target, Target) else Target(target)


def _as_module(mod) -> IRModule:
    return mod if isinstance(mod, IRModule) else IRModule.from_expr(mod)


def _has_relax(mod: IRModule) -> bool:
    return any(
        _object_type_info(func).type_key == "relax.expr.Function" for func in mod.functions.values()
    )


def compile(
    mod,
    target=None,
    *,
    relax_pipeline="default",
    tir_pipeline="default",
    params=None,
    exec_mode: str = "bytecode",
    precision: str = "float32",
    tune: float | None = None,
    tune_db: str | None = None,
):
    """Compile a module to an executable.

    Args:
        mod: IRModule or one function. With Relax functions the result runs on the virtual machine.
        target: Target, or what makes one. Left out: the functions' own, the current one, or the
            CPU of this machine with all its features.
        relax_pipeline: Name of the Relax part's pipeline, or a pass.
        tir_pipeline: Name of the kernels' pipeline.
        params: Name -> tensor, bound to the parameters of ``main`` as constants.
        exec_mode: How the virtual machine runs Relax functions: ``"bytecode"``, which it
            interprets, or ``"compiled"``, native code.
        precision: Of the operands of products in Relax functions: ``"float32"`` or ``"bf16"``,
            which is faster and less exact; see :py:func:`tvm.relax.build`.
        tune: Seconds for which other forms of the Relax functions' kernels are measured; see
            :py:func:`tvm.tune.tuning`.
        tune_db: File of measurements, also used without ``tune``; ``"off"`` for none. Left out:
            ``TVM_TUNE_DB``, else a file in the compile cache.

    Returns:
        A :py:class:`tvm.runtime.vm.VMExecutable`, or a :py:class:`tvm.runtime.Executable` without
        Relax functions.

    Example:
        >>> executable = tvm.compile(mod, {"kind": "llvm", "mcpu": "native"})
        >>> vm = tvm.runtime.vm.VirtualMachine(executable, tvm.cpu())
    """
    mod = _as_module(mod)
    if not _has_relax(mod):
        if precision != "float32":
            raise ValueError(f"precision={precision!r} is for modules with Relax functions")
        if tune is not None:
            raise ValueError("tune is for Relax functions, but the module has none")
        return build_prim_funcs(mod, target, tir_pipeline or "default")
    from tvm.relax import build as build_relax

    with tuning(tune, tune_db):
        return build_relax(
            mod,
            _as_target(target),
            params=params,
            relax_pipeline=relax_pipeline,
            tir_pipeline=tir_pipeline or "default",
            exec_mode=exec_mode,
            precision=precision,
        )


def tuning(seconds: float | None, database):
    """Context of :py:func:`tvm.tune.tuning`, or one that changes nothing when both are None."""
    if seconds is None and database is None:
        return contextlib.nullcontext()
    import tvm.tune

    return tvm.tune.tuning(seconds, database)


def build_prim_funcs(mod, target=None, pipeline: str = "default") -> Executable:
    """Compile primitive functions only.

    Args:
        mod: PrimFunc or IRModule.
        target: As in :py:func:`compile`.
        pipeline: Name of the pipeline.
    """
    if not isinstance(pipeline, str):
        raise TypeError(
            f"pipeline must be the name of a pipeline, got {type(pipeline).__name__}; apply a pass "
            "of your own to the module before you build it"
        )
    return Executable(_ffi_api.TirxBuild(_as_module(mod), _as_target(target), pipeline))


def build(mod, target=None, pipeline: str = "default") -> Executable:
    """Compile primitive functions; see :py:func:`build_prim_funcs`."""
    return build_prim_funcs(mod, target, pipeline)
