# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Paths from a root object to a part of it."""

from __future__ import annotations

from enum import IntEnum

from .core import Object
from .registry import register_object

TYPE_CHECKING = False  # importing typing would cost time at every import of the package
if TYPE_CHECKING:
    from typing import Any


class AccessKind(IntEnum):
    """How one step goes from an object to its part."""

    ATTR = 0
    ARRAY_ITEM = 1
    MAP_ITEM = 2
    ATTR_MISSING = 3
    ARRAY_ITEM_MISSING = 4
    MAP_ITEM_MISSING = 5


@register_object("ffi.reflection.AccessStep")
class AccessStep(Object):
    """One step: ``kind`` and ``key``."""

    kind: int
    key: Any


@register_object("ffi.reflection.AccessPath")
class AccessPath(Object):
    """A path; start with :py:meth:`root` and append steps.

    Example:
        >>> AccessPath.root().attr("body").array_item(0)
        <root>.body[0]
    """

    depth: int
    # Reflected methods.
    _root: Any
    _attr: Any
    _attr_missing: Any
    _array_item: Any
    _array_item_missing: Any
    _map_item: Any
    _map_item_missing: Any
    _path_equal: Any
    _is_prefix_of: Any
    _to_steps: Any

    def __init__(self):
        raise ValueError("AccessPath cannot be built directly; use AccessPath.root()")

    def __eq__(self, other):
        if not isinstance(other, AccessPath):
            return NotImplemented
        return self._path_equal(other)

    def __ne__(self, other):
        if not isinstance(other, AccessPath):
            return NotImplemented
        return not self._path_equal(other)

    @staticmethod
    def root() -> AccessPath:
        """Path of the root itself."""
        return AccessPath._root()

    def attr(self, attr_key: str) -> AccessPath:
        """Extend by a field."""
        return self._attr(attr_key)

    def attr_missing(self, attr_key: str) -> AccessPath:
        """Extend by a field that is not there."""
        return self._attr_missing(attr_key)

    def array_item(self, index: int) -> AccessPath:
        """Extend by a sequence element."""
        return self._array_item(index)

    def array_item_missing(self, index: int) -> AccessPath:
        """Extend by a sequence element that is not there."""
        return self._array_item_missing(index)

    def map_item(self, key) -> AccessPath:
        """Extend by the value of a key."""
        return self._map_item(key)

    def map_item_missing(self, key) -> AccessPath:
        """Extend by a key that is not there."""
        return self._map_item_missing(key)

    def is_prefix_of(self, other: AccessPath) -> bool:
        """Tell whether `other` begins with this path."""
        return self._is_prefix_of(other)

    def to_steps(self):
        """All steps, from the root."""
        return self._to_steps()

    def __hash__(self):
        value = hash(("AccessPath", self.depth))
        for step in self._to_steps():
            key = step.key
            value = hash((value, int(step.kind), key if isinstance(key, (str, int)) else str(key)))
        return value


__all__ = ["AccessKind", "AccessPath", "AccessStep"]
