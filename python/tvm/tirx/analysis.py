# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Checks and queries on primitive functions."""

from __future__ import annotations

from tvm._lazy import FFINamespace

_api = FFINamespace("tirx.analysis")


def verify_well_formed(obj, assert_mode: bool = True) -> bool:
    """Check that variables are defined once and before use, buffers declared.

    Args:
        obj: PrimFunc or IRModule.
        assert_mode: Raise instead of returning False.

    Raises:
        ValueError: A rule is broken; names the access path.
        InternalError: A block uses a loop around it in place of its own variables.
        TypeError: `obj` is something else.
    """
    return bool(_api.VerifyWellFormed(obj, assert_mode))


def verify_tirx_well_formed(obj, assert_mode: bool = True, device_func: bool = False) -> bool:
    """Check the rules of functions on threads and tiles, and those of :func:`verify_well_formed`.

    Functions of blocks, those with attribute ``s_tir``, need only the latter.

    Args:
        obj: PrimFunc or IRModule.
        assert_mode: Raise instead of returning False.
        device_func: Kernels call the function: their threads are not its own and are not counted.

    Raises:
        ValueError: A rule is broken; names the access path.
    """
    return bool(_api.VerifyTIRxWellFormed(obj, assert_mode, device_func))


def verify_ssa(func) -> bool:
    """True if every variable is defined once."""
    return bool(_api.verify_ssa(func))


def verify_memory(func) -> bool:
    """True if the host touches no device memory."""
    return bool(_api.verify_memory(func))


def expr_deep_equal(lhs, rhs) -> bool:
    """True if two expressions are equal with the same variables."""
    return bool(_api.expr_deep_equal(lhs, rhs))


def undefined_vars(node, defs=None):
    """Variables that a node uses and neither it nor `defs` defines."""
    return _api.UndefinedVars(node, list(defs or []))


def get_sblock_access_region(block, buffer_var_map):
    """Regions a block reads, writes, and touches in ways not understood."""
    return FFINamespace("s_tir.analysis").GetSBlockAccessRegion(block, buffer_var_map)


def get_sblock_read_write_region(block, buffer_var_map):
    """Regions a block reads and writes."""
    return FFINamespace("s_tir.analysis").GetSBlockReadWriteRegion(block, buffer_var_map)


def detect_buffer_access_lca(func):
    """Per buffer, the innermost statement that contains all its accesses."""
    return FFINamespace("s_tir.analysis").detect_buffer_access_lca(func)
