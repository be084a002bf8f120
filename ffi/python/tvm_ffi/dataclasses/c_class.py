# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Dataclass view of types that C++ defines."""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable
from typing import Any, TypeVar

from .. import core
from .._dunder import _install_dataclass_dunders
from ..registry import _warn_missing_field_annotations
from .common import _describe
from .field import Field, _field_converter, field

_T = TypeVar("_T", bound=type)


def _resolved_annotations(cls: type) -> dict[str, Any]:
    """Own annotations as types; those that cannot be evaluated are left out."""
    own = cls.__dict__.get("__annotations__", {})
    module = sys.modules.get(cls.__module__)
    globalns = dict(vars(module)) if module is not None else {}
    out = {}
    for name, annotation in own.items():
        holder = type("_Holder", (), {"__annotations__": {name: annotation}})
        try:
            out[name] = typing.get_type_hints(holder, globalns, {cls.__name__: cls})[name]
        except Exception:  # names that exist for type checkers only
            continue
    return out


def _attach_field_objects(cls: type, type_info: Any, *, frozen: bool = False) -> None:
    """Describe every own field, from the class body where it says more than reflection."""
    hints = _resolved_annotations(cls)
    for member in type_info.fields:
        given = cls.__dict__.get(member.name)
        described = _describe(member)
        if isinstance(given, Field):
            for slot in ("metadata", "converter", "extra_kwargs"):
                setattr(described, slot, getattr(given, slot))
            described.doc = given.doc or described.doc
            described.frozen = described.frozen or given.frozen
        described.frozen = described.frozen or frozen
        described.type = hints.get(member.name)
        member.dataclass_field = described


def _reinstall_field_properties(cls: type, type_info: Any, frozen: bool) -> None:
    """Put the reflected properties where the class body has annotations, defaults or fields."""
    for member in type_info.fields:
        given = cls.__dict__.get(member.name)
        keep = isinstance(given, (property, staticmethod, classmethod)) or (
            callable(given) and not isinstance(given, Field)
        )
        if keep and not isinstance(given, core.FFIProperty):
            continue
        described = member.dataclass_field
        read_only = member.frozen or frozen or described.frozen
        doc = described.doc or member.doc
        setattr(
            cls, member.name, core.FFIProperty(member.getter, member.setter, read_only, None, doc)
        )


@typing.no_type_check
def _dataclass_transform(**_options: Any) -> Callable[[_T], _T]:
    return lambda decorated: decorated


if typing.TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:
    dataclass_transform = _dataclass_transform


@dataclass_transform(field_specifiers=(field, Field))
def c_class(
    type_key: str,
    *,
    frozen: bool = False,
    init: bool = True,
    repr: bool = True,
    eq: bool = False,
    order: bool = False,
    unsafe_hash: bool = False,
    match_args: bool = True,
) -> Callable[[_T], _T]:
    """Bind a class to a type of C++ and give it the special methods of a dataclass.

    Args:
        type_key: Key of the registered type.
        frozen: Make all fields read-only.
        init: Generate ``__init__`` from the fields.
        repr: Generate ``__repr__``.
        eq: Compare by fields instead of identity.
        order: Generate ``<`` and the like.
        unsafe_hash: Hash by fields.
        match_args: Set ``__match_args__``.

    Raises:
        ValueError: No type has that key.
    """

    def decorate(cls: _T) -> _T:
        index = core._object_type_key_to_index(type_key)
        if index is None:
            raise ValueError(f"Cannot find object type index for {type_key}")
        type_info = core._type_index_to_type_info(index)
        _warn_missing_field_annotations(cls, type_info, stacklevel=2)
        _bind_class(
            cls,
            type_key,
            frozen=frozen,
            init=init,
            repr=repr,
            eq=eq,
            order=order,
            unsafe_hash=unsafe_hash,
            match_args=match_args,
        )
        return cls

    return decorate


def _bind_class(
    cls: type,
    type_key: str,
    *,
    frozen: bool = False,
    init: bool = False,
    repr: bool = True,
    eq: bool = False,
    order: bool = False,
    unsafe_hash: bool = False,
    match_args: bool = True,
) -> None:
    """Bind a class to a registered type; options as for :py:func:`c_class`."""
    type_info = core._lookup_or_register_type_info_from_type_key(type_key)
    index = type_info.type_index
    _attach_field_objects(cls, type_info, frozen=frozen)
    _reinstall_field_properties(cls, type_info, frozen)
    core._register_object_by_index(index, cls, False)
    _install_dataclass_dunders(
        cls,
        init=init,
        repr=repr,
        eq=eq,
        order=order,
        unsafe_hash=unsafe_hash,
        match_args=match_args,
    )


__all__ = ["Field", "_field_converter", "c_class", "field"]
