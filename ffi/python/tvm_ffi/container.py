# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Containers: immutable Array and Map, mutable List and Dict."""

from __future__ import annotations

import operator
from collections.abc import (
    ItemsView,
    Iterable,
    KeysView,
    Mapping,
    MutableMapping,
    MutableSequence,
    Sequence,
    ValuesView,
)
from types import GenericAlias

from . import _ffi_api, core
from .registry import register_object

TYPE_CHECKING = False  # importing typing would cost time at every import of the package
if TYPE_CHECKING:
    from typing import Any

MISSING = _ffi_api.GetInvalidObject()


def _equals(ours, plain) -> bool:
    """Compare an element with a Python value by the rule of FFI values: 1, True and 1.0 differ."""
    if isinstance(ours, (int, float)) and isinstance(plain, (int, float)):
        same_kind = type(ours) is type(plain) or all(
            isinstance(ours, kind) == isinstance(plain, kind) for kind in (bool, int, float)
        )
        return same_kind and (ours == plain or (ours != ours and plain != plain))
    if isinstance(ours, _Mapping) and isinstance(plain, dict):
        return ours == Map(plain)
    return ours == plain


def _filled(cls, build, items):
    """Object of `cls` made by `build(*items)`, past any ``__init__`` of a subclass."""
    made = cls.__new__(cls)
    made.__init_handle_by_constructor__(build, *items)
    return made


class _Sequence(core.CContainerBase, core._SequenceState):
    """What Array and List share."""

    __class_getitem__: Any = classmethod(GenericAlias)
    _build: Any  # makes the container from its elements

    def __eq__(self, other):
        if self is other:
            return True
        if isinstance(other, _Sequence):
            same_type = type(self) is type(other)
            return _ffi_api.RecursiveEq(self, other if same_type else self._build(*other))
        if not isinstance(other, (list, tuple)):
            return NotImplemented
        return len(self) == len(other) and all(map(_equals, self, other))

    def __ne__(self, other):
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self):
        return _ffi_api.RecursiveHash(self)

    def __add__(self, other):
        if isinstance(other, (str, bytes)) or not isinstance(other, Iterable):
            return NotImplemented
        cls: Any = type(self)
        return cls([*self, *other])

    def __radd__(self, other):
        if isinstance(other, (str, bytes)) or not isinstance(other, Iterable):
            return NotImplemented
        cls: Any = type(self)
        return cls([*other, *self])

    def __copy__(self):
        return _filled(type(self), self._build, self)


@register_object("ffi.Array")
class Array(_Sequence, Sequence):
    """Immutable sequence; slices give plain lists.

    Args:
        input_list: Iterable of values.
    """

    _build = staticmethod(_ffi_api.Array)

    def __init__(self, input_list=()):
        self.__init_handle_by_constructor__(_ffi_api.Array, *input_list)

    def __contains__(self, value):
        return _ffi_api.ArrayContains(self, value)


@register_object("ffi.List")
class List(_Sequence, MutableSequence):
    """Mutable sequence, shared by everyone who holds it.

    Args:
        input_list: Iterable of values.
    """

    _build = staticmethod(_ffi_api.List)

    def __init__(self, input_list=()):
        self.__init_handle_by_constructor__(_ffi_api.List, *input_list)

    def __contains__(self, value):
        return _ffi_api.ListContains(self, value)

    def _position(self, index) -> int:
        try:
            index = operator.index(index)
        except TypeError:
            raise TypeError(
                f"indices must be integers or slices, not {type(index).__name__}"
            ) from None
        size = len(self)
        if not -size <= index < size:
            raise IndexError(f"Index out of range. size: {size}, got index {index}")
        return index + size if index < 0 else index

    def __setitem__(self, index, value):
        if not isinstance(index, slice):
            _ffi_api.ListSetItem(self, self._position(index), value)
            return
        start, stop, step = index.indices(len(self))
        values = list(value)
        if step == 1:
            _ffi_api.ListReplaceSlice(self, start, max(start, stop), List(values))
            return
        positions = range(start, stop, step)
        if len(positions) != len(values):
            raise ValueError(
                f"attempt to assign sequence of size {len(values)} to extended slice of size "
                f"{len(positions)}"
            )
        for position, item in zip(positions, values):
            _ffi_api.ListSetItem(self, position, item)

    def __delitem__(self, index):
        if not isinstance(index, slice):
            _ffi_api.ListErase(self, self._position(index))
            return
        start, stop, step = index.indices(len(self))
        if step == 1:
            _ffi_api.ListEraseRange(self, start, max(start, stop))
            return
        for position in sorted(range(start, stop, step), reverse=True):
            _ffi_api.ListErase(self, position)

    def insert(self, index, value):
        """Insert `value` before `index`."""
        size = len(self)
        index = operator.index(index)
        index = max(index + size, 0) if index < 0 else min(index, size)
        _ffi_api.ListInsert(self, index, value)

    def append(self, value):
        """Add `value` at the end."""
        _ffi_api.ListAppend(self, value)

    def extend(self, values):
        """Add all `values` at the end."""
        size = len(self)
        _ffi_api.ListReplaceSlice(self, size, size, List(values))

    def __iadd__(self, values):
        self.extend(values)
        return self

    def pop(self, index=-1):
        """Remove and return one element."""
        if not len(self):
            raise IndexError("pop from empty list")
        return _ffi_api.ListPop(self, self._position(index))

    def clear(self):
        """Remove all elements."""
        _ffi_api.ListClear(self)

    def reverse(self):
        """Reverse in place."""
        _ffi_api.ListReverse(self)


class _Keys(KeysView):
    _mapping: _Mapping

    def __iter__(self):
        return self._mapping._iterate(0)


class _Values(ValuesView):
    _mapping: _Mapping

    def __iter__(self):
        return self._mapping._iterate(1)


class _Items(ItemsView):
    _mapping: _Mapping

    def __iter__(self):
        return self._mapping._iterate(2)


class _Mapping(core.CContainerBase, core._MappingState):
    """What Map and Dict share."""

    __class_getitem__: Any = classmethod(GenericAlias)
    _build: Any  # makes the container from alternating keys and values

    def __reversed__(self):
        return reversed(list(self._iterate(0)))

    def keys(self):
        """View of the keys."""
        return _Keys(self)

    def values(self):
        """View of the values."""
        return _Values(self)

    def items(self):
        """View of the pairs."""
        return _Items(self)

    def __eq__(self, other):
        if self is other:
            return True
        if not isinstance(other, _Mapping):
            return NotImplemented
        if type(self) is type(other):
            return _ffi_api.RecursiveEq(self, other)
        return _ffi_api.RecursiveEq(self, self._build(*_flatten(other)))

    def __copy__(self):
        return _filled(type(self), self._build, _flatten(self))

    def __ne__(self, other):
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self):
        return _ffi_api.RecursiveHash(self)


def _flatten(mapping):
    """Alternating keys and values of a mapping or of pairs."""
    items = mapping.items() if hasattr(mapping, "items") else mapping
    return [part for key, value in items for part in (key, value)]


@register_object("ffi.Map")
class Map(_Mapping, Mapping):
    """Immutable mapping in insertion order.

    Args:
        input_dict: Mapping, or iterable of pairs.
    """

    _build = staticmethod(_ffi_api.Map)

    def __init__(self, input_dict=()):
        self.__init_handle_by_constructor__(_ffi_api.Map, *_flatten(input_dict))


@register_object("ffi.Dict")
class Dict(_Mapping, MutableMapping):
    """Mutable mapping, shared by everyone who holds it.

    Args:
        input_dict: Mapping, or iterable of pairs; None for an empty one.
    """

    _build = staticmethod(_ffi_api.Dict)

    def __init__(self, input_dict=None):
        items = () if input_dict is None else input_dict
        self.__init_handle_by_constructor__(_ffi_api.Dict, *_flatten(items))

    def __setitem__(self, key, value):
        _ffi_api.DictSetItem(self, key, value)

    def __delitem__(self, key):
        if key not in self:
            raise KeyError(key)
        _ffi_api.DictErase(self, key)

    def pop(self, key, *default):
        """Remove a key and return its value."""
        if len(default) > 1:
            raise TypeError(f"pop expected at most 2 arguments, got {1 + len(default)}")
        if key not in self:
            if default:
                return default[0]
            raise KeyError(key)
        value = self[key]
        _ffi_api.DictErase(self, key)
        return value

    def clear(self):
        """Remove all entries."""
        _ffi_api.DictClear(self)


core._plan_container(Array, 1, _ffi_api.Array)
core._plan_container(List, 1, _ffi_api.List)
core._plan_container(Map, 2, _ffi_api.Map)
core._plan_container(Dict, 2, _ffi_api.Dict)

__all__ = ["Array", "Dict", "List", "Map"]
