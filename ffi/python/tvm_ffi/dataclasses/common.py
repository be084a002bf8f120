# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Functions over FFI dataclasses, like those of the standard ``dataclasses``."""

from __future__ import annotations

import copy
from collections import namedtuple
from collections.abc import Callable
from typing import Any, TypeVar, cast

from .. import core
from .._dunder import _all_fields
from ..container import Array, Dict, List, Map
from .field import Field

_T = TypeVar("_T")


def is_dataclass(obj: Any) -> bool:
    """Tell whether a class, or the class of an object, was made by `c_class` or `py_class`."""
    cls = obj if isinstance(obj, type) else type(obj)
    return bool(getattr(cls, "__ffi_is_dataclass__", False))


def _is_instance(obj: Any) -> bool:
    return not isinstance(obj, type) and is_dataclass(obj)


def fields(obj_or_cls: Any) -> tuple[Field, ...]:
    """Fields of a dataclass, inherited ones first.

    Raises:
        TypeError: It is no FFI dataclass.
    """
    if not is_dataclass(obj_or_cls):
        kind = type(obj_or_cls).__name__
        raise TypeError(
            f"fields() argument must be a c_class or py_class type or instance, got {kind}"
        )
    cls: Any = obj_or_cls if isinstance(obj_or_cls, type) else type(obj_or_cls)
    return tuple(_field_of(member) for member in _all_fields(cls.__tvm_ffi_type_info__))


def _field_of(member: Any) -> Field:
    """Description of a reflected field; made when the registering side gave none."""
    if member.dataclass_field is None:
        member.dataclass_field = _describe(member)
    return member.dataclass_field


def _describe(member: Any) -> Field:
    return Field(
        member.name,
        member.ty,
        default=member.c_default,
        default_factory=member.c_default_factory,
        frozen=member.frozen,
        init=member.c_init,
        repr=member.c_repr,
        hash=member.c_hash,
        compare=member.c_compare,
        kw_only=member.c_kw_only,
        structural_eq=member.c_structural_eq,
        doc=member.doc,
    )


def replace(obj: _T, /, **changes: Any) -> _T:
    """Copy of an object with some fields changed; read-only fields may change too."""
    return cast(Any, obj).__replace__(**changes)


def asdict(obj: Any, *, dict_factory: Callable[..., Any] = dict) -> Any:
    """Fields of an object as a dict; nested dataclasses and containers too.

    Args:
        obj: Instance of an FFI dataclass.
        dict_factory: Called with a list of ``(name, value)`` for each object.
    """
    if not _is_instance(obj):
        raise TypeError("asdict() should be called on c_class / py_class instances")
    return _rebuild(obj, lambda pairs: dict_factory(pairs))


def astuple(obj: Any, *, tuple_factory: Callable[..., Any] = tuple) -> Any:
    """Field values of an object as a tuple; nested dataclasses and containers too.

    Args:
        obj: Instance of an FFI dataclass.
        tuple_factory: Called with the list of values of each object.
    """
    if not _is_instance(obj):
        raise TypeError("astuple() should be called on c_class / py_class instances")
    return _rebuild(obj, lambda pairs: tuple_factory([value for _, value in pairs]))


def _rebuild(value: Any, make: Callable[[list[tuple[str, Any]]], Any]) -> Any:
    if _is_instance(value):
        members = _all_fields(type(value).__tvm_ffi_type_info__)
        return make([(m.name, _rebuild(getattr(value, m.name), make)) for m in members])
    if isinstance(value, (Array, List)):
        return [_rebuild(item, make) for item in value]
    if isinstance(value, (Map, Dict)):
        return {_rebuild(k, make): _rebuild(v, make) for k, v in value.items()}
    if isinstance(value, tuple):
        parts = [_rebuild(item, make) for item in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, list):
        return type(value)(_rebuild(item, make) for item in value)
    if isinstance(value, dict):
        return type(value)((_rebuild(k, make), _rebuild(v, make)) for k, v in value.items())
    return value if isinstance(value, core.CObject) else copy.deepcopy(value)


def _make_namedtuple(typename: str, fields: tuple[Field, ...]) -> Any:
    """Named tuple class whose values convert as fields of these types do.

    Args:
        typename: Name of the class.
        fields: Names and types of the elements.
    """
    make_class: Any = namedtuple  # mypy wants literal names
    base = make_class(typename, [f.name for f in fields])
    schemas = {f.name: f._ty_schema for f in fields}

    def convert(name: str, value: Any) -> Any:
        schema = schemas[name]
        if schema is None:
            return value
        try:
            return core._to_py_class_value(schema.convert(value))
        except TypeError as error:
            raise TypeError(f"{typename}.{name}: {error}") from error

    plain_new = base.__new__

    def __new__(cls: Any, *args: Any, **kwargs: Any) -> Any:
        raw = plain_new(cls, *args, **kwargs)
        return tuple.__new__(cls, [convert(n, v) for n, v in zip(base._fields, raw)])

    def _make(cls: type, iterable: Any) -> Any:
        return cls(*iterable)

    def _replace(self: Any, /, **changes: Any) -> Any:
        unknown = [name for name in changes if name not in schemas]
        if unknown:
            raise ValueError(f"Got unexpected field names: {unknown!r}")
        return type(self)(*[changes.get(n, v) for n, v in zip(base._fields, self)])

    __new__.__qualname__ = f"{typename}.__new__"
    base.__new__ = __new__
    base._make = classmethod(_make)
    base._replace = _replace
    base.__module__ = __name__
    return base
