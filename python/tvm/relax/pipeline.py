# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Named lists of passes."""

from __future__ import annotations

from tvm.ir.transform import Sequential
from tvm.target import Target

from . import _ffi_api

# Pipelines registered from Python.
_PIPELINES: dict = {}


def _names() -> list[str]:
    return sorted({*(str(n) for n in _ffi_api.ListPipelines()), *_PIPELINES})


def get_pipeline(name: str = "zero", target=None, *, precision: str = "float32", **kwargs):
    """Passes of a pipeline as one pass.

    Args:
        name: Its name.
        target: Target to plan for; the current one or the host by default.
        precision: Of the operands of products: ``"float32"``, or ``"bf16"``, with sums in float32.
        kwargs: Options of pipelines registered from Python.

    Raises:
        ValueError: There is none of that name, or it does not know the precision.
    """
    if name in _PIPELINES:
        if precision != "float32":
            raise ValueError(
                f"precision={precision!r} is for pre-built pipelines; {name!r} is registered from "
                "Python"
            )
        return _PIPELINES[name](**kwargs)
    if name not in _names():
        raise ValueError(f"Unknown pre-built pipeline {name},candidates are {_names()}")
    target = target or Target.current() or Target("llvm")
    return Sequential(list(_ffi_api.GetPipeline(name, Target(target), precision)))


def register_pipeline(name: str):
    """Decorator that registers a function returning a pass."""
    if name in _names():
        raise ValueError(f"Pipeline {name} has already been registered")

    def register(func):
        _PIPELINES[name] = func
        return func

    return register


def get_default_pipeline(target):
    """Pipeline that ``relax.build`` runs for a target."""
    return get_pipeline("default", target)
