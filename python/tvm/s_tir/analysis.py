# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Questions about functions of blocks."""

from __future__ import annotations

from tvm._lazy import FFINamespace
from tvm.ir import IRModule
from tvm.tirx import BufferRegion, PrimFunc, SBlock, Stmt
from tvm_ffi import Map

_api = FFINamespace("s_tir.analysis")


def get_sblock_access_region(block: SBlock, buffer_var_map) -> list[list[BufferRegion]]:
    """Regions that a block reads, writes, and uses in other ways.

    Args:
        block: The block.
        buffer_var_map: Pointer variable -> buffer behind it.
    """
    return _api.GetSBlockAccessRegion(block, Map(list(buffer_var_map.items())))


def get_sblock_read_write_region(block: SBlock, buffer_var_map) -> list[list[BufferRegion]]:
    """Regions that a block reads and writes; other uses count as both."""
    return _api.GetSBlockReadWriteRegion(block, Map(list(buffer_var_map.items())))


def detect_buffer_access_lca(func: PrimFunc):
    """The innermost loop or block around all accesses of each buffer; None for the function."""
    return _api.detect_buffer_access_lca(func)


def find_anchor_sblock(mod: IRModule) -> SBlock | None:
    """The block that does most of the work; None if there is no block."""
    return _api.find_anchor_sblock(mod)


def verify_gpu_code(func: PrimFunc, constraints: dict[str, int]) -> bool:
    """Whether a function respects limits of a GPU.

    Args:
        func: The function.
        constraints: Limits: max_local_memory_per_block, max_shared_memory_per_block,
            max_threads_per_block, max_thread_x, max_thread_y, max_thread_z, max_vthread,
            max_vector_bytes, max_kernels.

    Raises:
        ValueError: A limit is unknown.
    """
    return bool(_api.verify_gpu_code(func, constraints))


def calculate_allocated_bytes(func_or_mod: PrimFunc | IRModule) -> dict[str, dict[str, int]]:
    """Bytes allocated: function -> storage scope -> bytes. Buffers of blocks do not count.

    Raises:
        TypeError: It is neither a function nor a module.
    """
    return _api.calculate_allocated_bytes(func_or_mod)


def estimate_tir_flops(stmt_or_mod: Stmt | IRModule) -> float:
    """Arithmetic operations on values, not indices.

    Raises:
        ValueError: The extent of a loop is no constant.
    """
    return float(_api.EstimateTIRFlops(stmt_or_mod))


def is_pure_function(func: PrimFunc) -> bool:
    """Whether a function writes none of its parameters and calls nothing impure."""
    return bool(_api.is_pure_function(func))


def assert_pure_function(func: PrimFunc) -> bool:
    """Like is_pure_function, but not being pure is an AssertionError."""
    if not is_pure_function(func):
        raise AssertionError("the function is not pure: it writes a parameter or has effects")
    return True


def OOBChecker():
    """Pass that raises ScheduleError if an access is outside of its buffer."""
    return _api.OOBChecker()
