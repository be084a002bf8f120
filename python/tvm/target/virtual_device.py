# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Device, target and memory scope together."""

from __future__ import annotations

from tvm_ffi import Object, register_object

from . import _ffi_api


@register_object("target.VirtualDevice")
class VirtualDevice(Object):
    """Where a computation or value lives; parts may be left open."""

    def __init__(self, device=None, target=None, memory_scope: str = "") -> None:
        from tvm.runtime import cpu

        self.__init_handle_by_constructor__(
            _ffi_api.VirtualDevice_ForDeviceTargetAndMemoryScope,
            device or cpu(0),
            target,
            memory_scope,
        )
