# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Compilation of primitive functions."""

from __future__ import annotations


def build(mod, target=None, pipeline: str = "default"):
    """Compile primitive functions.

    Args:
        mod: PrimFunc or IRModule.
        target: Target; that of the functions, or the current one, if left out.
        pipeline: Name of the list of passes.

    Returns:
        An executable.
    """
    from tvm.driver import build_prim_funcs

    return build_prim_funcs(mod, target, pipeline)
