# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Attributes of calls, functions and modules."""

from __future__ import annotations

from tvm_ffi import Map, register_object

from . import _ffi_api
from .base import Node


@register_object("ir.Attrs")
class Attrs(Node):
    """Base of attribute structs; fields are read as attributes or by key."""

    def get_str(self, key: str) -> str:
        """Field as str."""
        return str(self[key])

    def get_int(self, key: str) -> int:
        """Field as int."""
        return int(self[key])

    def get_int_tuple(self, key: str) -> tuple[int, ...]:
        """Field as a tuple of ints."""
        return tuple(int(value) for value in self[key])

    def __getitem__(self, key: str):
        try:
            return getattr(self, key)
        except AttributeError:
            raise KeyError(key) from None

    def keys(self) -> list[str]:
        """Names of the fields."""
        names: list[str] = []
        info = type(self).__tvm_ffi_type_info__
        while info is not None:
            names[:0] = [field.name for field in info.fields]
            info = info.parent_type_info
        return names

    def __contains__(self, key) -> bool:
        return key in self.keys()

    def get(self, key: str, default=None):
        """Field, or `default`."""
        return self[key] if key in self else default


@register_object("ir.DictAttrs")
class DictAttrs(Attrs):
    """Attributes in a dict.

    Args:
        attrs: The dict.
    """

    def __init__(self, attrs=None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.DictAttrs, dict(attrs or {}))

    def _dict(self) -> Map:
        return _ffi_api.DictAttrsGetDict(self)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        found = self._dict()
        if name in found:
            return found[name]
        raise AttributeError(f"DictAttrs has no entry {name!r}; it has {list(found)}")

    def __getitem__(self, key):
        return self._dict()[key]

    def __contains__(self, key) -> bool:
        return key in self._dict()

    def __len__(self) -> int:
        return len(self._dict())

    def __iter__(self):
        return iter(self._dict())

    def keys(self):
        """The keys."""
        return self._dict().keys()

    def values(self):
        """The values."""
        return self._dict().values()

    def items(self):
        """The pairs."""
        return self._dict().items()

    def get(self, key, default=None):
        """Entry, or `default`."""
        return self._dict().get(key, default)


def make_node(type_key: str, **fields):
    """Build an object of a registered type from its fields."""
    from .base import make_node as make

    return make(type_key, **fields)
