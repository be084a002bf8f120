# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Compilation of modules."""

from __future__ import annotations

from tvm.ir import IRModule
from tvm.runtime import Executable
from tvm.target import Target

from . import _ffi_api


def _as_target(target) -> Target | None:
    """Target to compile for; None leaves the choice to the functions, then to this machine."""
    if target is None:
        return Target.current(allow_none=True)
    return target if isinstance(target, Target) else Target(target)


def _as_module(mod) -> IRModule:
    return mod if isinstance(mod, IRModule) else IRModule.from_expr(mod)


def compile(mod, target=None, *, relax_pipeline=None, tir_pipeline=None, params=None):
    """Compile a module to an executable.

    Args:
        mod: IRModule or one function. With Relax functions the result runs on the virtual machine.
        target: Target, or what makes one. Left out: the functions' own, the current one, or the
            CPU of this machine with all its features.
        relax_pipeline: Name or pass of the Relax part; the default one if left out.
        tir_pipeline: Name or pass of the kernels' part; that of the target if left out.
        params: Name -> tensor, bound to parameters as constants.

    Returns:
        A :py:class:`tvm.runtime.vm.VMExecutable`, or a :py:class:`tvm.runtime.Executable` without
        Relax functions.

    Example:
        >>> executable = tvm.compile(mod, {"kind": "llvm", "mcpu": "native"})
        >>> vm = tvm.runtime.vm.VirtualMachine(executable, tvm.cpu())
    """
    options = {}
    for key, value in (
        ("relax_pipeline", relax_pipeline),
        ("tir_pipeline", tir_pipeline),
        ("params", params),
    ):
        if value is not None:
            options[key] = value
    module = _ffi_api.Compile(_as_module(mod), _as_target(target), options)
    if module.implements_function("vm_load_executable"):
        from tvm.runtime.vm import VMExecutable

        return VMExecutable(module)
    return Executable(module)


def build_prim_funcs(mod, target=None, pipeline="default") -> Executable:
    """Compile primitive functions only.

    Args:
        mod: PrimFunc or IRModule.
        target: As in :py:func:`compile`.
        pipeline: Name or pass.
    """
    options = {} if pipeline == "default" else {"tir_pipeline": pipeline}
    return Executable(_ffi_api.Build(_as_module(mod), _as_target(target), options))


def build(mod, target=None, pipeline="default") -> Executable:
    """Compile primitive functions; see :py:func:`build_prim_funcs`."""
    return build_prim_funcs(mod, target, pipeline)
