# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Facts that functions of a module share."""

from __future__ import annotations

import tvm_ffi
from tvm_ffi import Object, register_object

from . import _ffi_api


@register_object("ir.GlobalInfo")
class GlobalInfo(Object):
    """Base of global infos; they compare by structure."""

    def __eq__(self, other):
        if not isinstance(other, GlobalInfo):
            return NotImplemented
        return bool(tvm_ffi.structural_equal(self, other))

    def __ne__(self, other):
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self):
        return tvm_ffi.structural_hash(self)


@register_object("ir.DummyGlobalInfo")
class DummyGlobalInfo(GlobalInfo):
    """Global info without content."""

    def __init__(self) -> None:
        self.__init_handle_by_constructor__(_ffi_api.DummyGlobalInfo)


@register_object("ir.VDevice")
class VDevice(GlobalInfo):
    """Device that a module computes on.

    Args:
        target: Target, or what makes one.
        vdevice_id: Number among devices of that target.
        memory_scope: Memory its tensors lie in.
    """

    def __init__(self, target=None, vdevice_id: int = 0, memory_scope: str = "global") -> None:
        from tvm.target import Target

        if not isinstance(target, Target):
            target = Target(target) if target is not None else Target.current(allow_none=False)
        self.__init_handle_by_constructor__(_ffi_api.VDevice, target, vdevice_id, memory_scope)
