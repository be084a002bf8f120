# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Compilation of modules of graph-level functions."""

from __future__ import annotations

import numpy as np

import tvm.runtime
from tvm.runtime.vm import VMExecutable
from tvm.target import Target

from . import _ffi_api


def build(
    mod,
    target=None,
    params=None,
    relax_pipeline="default",
    tir_pipeline="default",
    exec_mode: str = "bytecode",
    *,
    precision: str = "float32",
    system_lib=None,
) -> VMExecutable:
    """Compile a module for the virtual machine.

    Args:
        mod: The module, or one function.
        target: Target, its text, or None for this machine.
        params: Weights by parameter name, bound into ``main``.
        relax_pipeline: Name of a pipeline, a pass, or None if the module is lowered already.
        tir_pipeline: Name of the pipeline for kernels.
        exec_mode: ``"bytecode"`` or ``"compiled"``.
        precision: Of the operands of products and convolutions: ``"float32"``, or ``"bf16"``,
            whose sums and all other arithmetic are float32 as well. Inputs and results keep their
            types.
        system_lib: Kept for compatibility.

    Returns:
        Executable for :py:class:`tvm.relax.VirtualMachine`.
    """
    from tvm.ir import IRModule

    from .pipeline import _PIPELINES, get_pipeline

    if not isinstance(mod, IRModule):
        mod = IRModule.from_expr(mod)
    target = Target(target) if target is not None else (Target.current() or Target("llvm"))
    if params:
        from .transform import BindParams

        mod = BindParams("main", {k: _tensor(v) for k, v in params.items()})(mod)
    if isinstance(relax_pipeline, str) and relax_pipeline in _PIPELINES:
        relax_pipeline = get_pipeline(relax_pipeline, precision=precision)
    if not isinstance(relax_pipeline, str) and precision != "float32":
        raise ValueError(f"precision={precision!r} needs the name of a pipeline, not a pass of one")
    if relax_pipeline is not None and not isinstance(relax_pipeline, str):
        with target:
            mod = relax_pipeline(mod)
        relax_pipeline = None
    module = _ffi_api.Build(
        mod, target, None, relax_pipeline or "", tir_pipeline or "default", exec_mode, precision
    )
    return VMExecutable(module)


def _tensor(value):
    return tvm.runtime.tensor(value) if isinstance(value, np.ndarray) else value
