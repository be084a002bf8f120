# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Unique names."""

from __future__ import annotations

from tvm_ffi import Object, register_object

from . import _ffi_api


@register_object("ir.UniqueNameSupply")
class UniqueNameSupply(Object):
    """Gives out names, none twice.

    Args:
        prefix: Put before each name, joined by ``_``.
    """

    def __init__(self, prefix: str = "") -> None:
        self.__init_handle_by_constructor__(_ffi_api.UniqueNameSupply, prefix)

    def fresh_name(self, name: str, add_prefix: bool = True, add_underscore: bool = True) -> str:
        """Make a new name from a wish: ``x``, ``x_1``, ``x_2``, ..."""
        return _ffi_api.UniqueNameSupply_FreshName(self, name, add_prefix, add_underscore)

    def reserve_name(self, name: str, add_prefix: bool = True) -> str:
        """Mark a name as taken."""
        return _ffi_api.UniqueNameSupply_ReserveName(self, name, add_prefix)

    def contains_name(self, name: str, add_prefix: bool = True) -> bool:
        """Tell whether a name is taken."""
        return bool(_ffi_api.UniqueNameSupply_ContainsName(self, name, add_prefix))


NameSupply = UniqueNameSupply
