# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""The program a schedule works on."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from tvm.ir import IRModule
from tvm.s_tir.sblock_scope import SBlockScope, StmtSRef
from tvm.tirx import For, PrimFunc, SBlock, SBlockRealize
from tvm_ffi import Map, Object, register_object

from . import _ffi_api


class CachedFlags(NamedTuple):
    """What is known about a block.

    Attributes:
        affine_binding: Its bindings are a quasi-affine map of its loops.
        region_cover: What it reads of its scope's buffers was written in full before.
        stage_pipeline: Its children are stages of a pipeline.
    """

    affine_binding: bool
    region_cover: bool
    stage_pipeline: bool


class ScheduleDebugMask(IntEnum):
    """What to verify after each rewrite."""

    VERIFY_SREF_TREE = 1
    VERIFY_CACHED_FLAGS = 2


def parse_mod(mod: PrimFunc | IRModule) -> IRModule:
    """A module from a module or a function."""
    if isinstance(mod, IRModule):
        return mod
    if isinstance(mod, PrimFunc):
        return IRModule({"main": mod})
    raise TypeError(f"expected PrimFunc or IRModule, but got {type(mod).__name__}")


def parse_debug_mask(mask: str | int) -> int:
    """The bits of a debug mask.

    Raises:
        ValueError: It is neither "all", "none" nor an integer.
    """
    if isinstance(mask, str):
        if mask not in ("all", "none"):
            raise ValueError(f'debug_mask has to be "all", "none" or an integer, but is "{mask}"')
        return 3 if mask == "all" else 0
    if not isinstance(mask, int) or isinstance(mask, bool):
        raise TypeError(f"debug_mask has to be str or int, but is {type(mask).__name__}")
    return mask


@register_object("s_tir.ScheduleState")
class ScheduleState(Object):
    """A program with the tree of its loops and blocks.

    Args:
        mod: A module, or one function.
        debug_mask: What to verify after each rewrite: "all", "none" or bits of ScheduleDebugMask.
        enable_check: Whether primitives check what may be skipped.
    """

    def __init__(
        self,
        mod: PrimFunc | IRModule,
        *,
        debug_mask: str | int = "none",
        enable_check: bool = True,
    ) -> None:
        self.__init_handle_by_constructor__(
            _ffi_api.ScheduleState, parse_mod(mod), parse_debug_mask(debug_mask), enable_check
        )

    def get_sref(self, stmt: SBlock | For) -> StmtSRef | None:
        """The reference to a loop or block; None if it is not part of the program."""
        return _ffi_api.ScheduleStateGetSRef(self, stmt)

    def get_sblock_scope(self, block_sref: StmtSRef) -> SBlockScope:
        """Dependencies among the children of a block."""
        return _ffi_api.ScheduleStateGetSBlockScope(self, block_sref)

    def _get_cached_flags(self, block_sref: StmtSRef) -> CachedFlags:
        return CachedFlags(*map(bool, _ffi_api.ScheduleStateGetCachedFlags(self, block_sref)))

    def replace(
        self,
        src_sref: StmtSRef,
        tgt_stmt: SBlock | For | SBlockRealize,
        block_sref_reuse: dict[SBlock, SBlock] | None = None,
    ) -> None:
        """Put a statement in the place of another one.

        Args:
            src_sref: What to replace.
            tgt_stmt: A block for a block, a loop or the realize of a block for a loop.
            block_sref_reuse: Old block -> new block that its reference goes over to.

        Raises:
            ValueError: The reference has expired.
            TypeError: The statement is of the wrong kind.
        """
        reuse = Map(list((block_sref_reuse or {}).items()))
        _ffi_api.ScheduleStateReplace(self, src_sref, tgt_stmt, reuse)
