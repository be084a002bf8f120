# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""References to loops and blocks that survive rewrites, and dependencies between blocks."""

from __future__ import annotations

from enum import IntEnum

from tvm.ir import IRModule
from tvm.tirx import For, PrimFunc, SBlock
from tvm_ffi import Object, register_object

from . import _ffi_api


@register_object("s_tir.StmtSRef")
class StmtSRef(Object):
    """A loop or block of a schedule's program; it follows the statement through rewrites."""

    @property
    def stmt(self) -> SBlock | For | None:
        """The statement now; None once it is gone."""
        return _ffi_api.StmtSRefStmt(self)

    @property
    def parent(self) -> StmtSRef | None:
        """The enclosing loop or block."""
        return _ffi_api.StmtSRefParent(self)

    @staticmethod
    def inline_mark() -> StmtSRef:
        """Stands for "compute it inline" where a loop is expected."""
        return _ffi_api.StmtSRefInlineMark()

    @staticmethod
    def root_mark() -> StmtSRef:
        """Stands for "compute it at the root" where a loop is expected."""
        return _ffi_api.StmtSRefRootMark()


class DepKind(IntEnum):
    """Why one block has to run after another."""

    RAW = 0
    WAW = 1
    WAR = 2
    OPAQUE = 3


@register_object("s_tir.Dependency")
class Dependency(Object):
    """The block ``dst`` has to run after the block ``src``; ``kind`` is a DepKind."""


@register_object("s_tir.SBlockScope")
class SBlockScope(Object):
    """Dependencies among the child blocks of a block."""

    def get_deps_by_src(self, block: StmtSRef) -> list[Dependency]:
        """Dependencies of later blocks on a child block."""
        return list(_ffi_api.SBlockScopeGetDepsBySrc(self, block))

    def get_deps_by_dst(self, block: StmtSRef) -> list[Dependency]:
        """Dependencies of a child block on earlier ones."""
        return list(_ffi_api.SBlockScopeGetDepsByDst(self, block))


@register_object("s_tir.SBlockDependenceInfo")
class SBlockDependenceInfo(Object):
    """Scopes of all blocks of a module, without a schedule.

    Args:
        mod: A module, or one function.
    """

    def __init__(self, mod: IRModule | PrimFunc) -> None:
        if isinstance(mod, PrimFunc):
            mod = IRModule({"main": mod})
        self.__init_handle_by_constructor__(_ffi_api.SBlockDependenceInfo, mod)

    def get_sref(self, block: SBlock | For) -> StmtSRef | None:
        """The reference to a loop or block; None if it is not part of the module."""
        return _ffi_api.SBlockDependenceInfoGetSRef(self, block)

    def get_sblock_scope(self, block_sref: StmtSRef) -> SBlockScope:
        """Dependencies among the children of a block."""
        return _ffi_api.SBlockDependenceInfoGetSBlockScope(self, block_sref)
