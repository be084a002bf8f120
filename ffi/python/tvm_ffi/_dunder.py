# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Special methods of FFI dataclasses, made from reflection."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from . import core
from .core import MISSING, Object, TypeInfo, object_repr


def _lineage(type_info: TypeInfo) -> list[TypeInfo]:
    """The type and its ancestors, root first."""
    out = [type_info]
    while (parent := out[-1].parent_type_info) is not None:
        out.append(parent)
    return out[::-1]


def _all_fields(type_info: TypeInfo) -> list[Any]:
    """Fields of the type, inherited ones first; a redefined one keeps its last definition."""
    named: dict[str, Any] = {}
    for info in _lineage(type_info):
        for member in info.fields or ():
            named[member.name] = member
    return list(named.values())


def _init_fields(type_info: TypeInfo) -> tuple[list[Any], list[Any]]:
    """Positional and keyword-only fields, in the order of the constructor's parameters."""
    members = [m for m in _all_fields(type_info) if m.c_init]
    positional = [m for m in members if not m.c_kw_only]
    keyword = [m for m in members if m.c_kw_only]
    required_first = lambda m: m.c_has_default  # noqa: E731 - a sort key
    return sorted(positional, key=required_first), sorted(keyword, key=required_first)


def _make_init_signature(type_info: TypeInfo) -> inspect.Signature:
    """Signature of the generated ``__init__``."""
    positional, keyword = _init_fields(type_info)
    parameter = inspect.Parameter
    out = [parameter("self", parameter.POSITIONAL_OR_KEYWORD)]
    for kind, members in (
        (parameter.POSITIONAL_OR_KEYWORD, positional),
        (parameter.KEYWORD_ONLY, keyword),
    ):
        for member in members:
            default = MISSING if member.c_has_default else parameter.empty
            out.append(parameter(member.name, kind, default=default))
    return inspect.Signature(out)


def _collect_init_property_funcs(type_cls: type) -> list[tuple[str, Callable[..., Any]]]:
    """``(name, function)`` of the init properties, parents first."""
    found: dict[str, Callable[..., Any]] = {}
    for cls in reversed(type_cls.__mro__):
        found.update(cls.__dict__.get("__tvm_ffi_init_properties__", {}))
    return list(found.items())


_ANY_SIGNATURE = inspect.Signature(
    [
        inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD),
        inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
        inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
    ]
)


def _make_init(
    type_cls: type, type_info: TypeInfo, ffi_init: Any, py_class_mode: bool = False
) -> Any:
    """``__init__`` that builds the object with its packed constructor."""
    properties = _collect_init_property_funcs(type_cls)
    has_post_init = hasattr(type_cls, "__post_init__")
    if not properties and not has_post_init:
        return core.InitMethod(type_cls, type_info, ffi_init)

    def after(self: Any) -> None:
        for name, func in properties:
            getattr(type(self), name).set(self, func(self))
        if has_post_init:
            self.__post_init__()

    return core.InitMethod(type_cls, type_info, ffi_init, after)


def _make_copy(type_info: TypeInfo, shallow_copy_fn: Any) -> Callable[..., Any]:
    """``__copy__`` of a type."""
    if shallow_copy_fn is None:

        def __copy__(self: Any) -> Any:
            raise TypeError(
                f"Type `{type(self).__name__}` does not support copy. "
                "The underlying C++ type is not copy-constructible."
            )

    else:

        def __copy__(self: Any) -> Any:
            return shallow_copy_fn(self)

    return __copy__


def _make_deepcopy(_type_info: TypeInfo) -> Callable[..., Any]:
    """``__deepcopy__`` of a type."""
    from ._ffi_api import DeepCopy

    def __deepcopy__(self: Any, memo: Any = None) -> Any:
        return DeepCopy(self)

    return __deepcopy__


def _make_replace(_type_info: TypeInfo) -> Callable[..., Any]:
    """``__replace__`` of a type: a copy with some fields set, read-only ones included."""

    def __replace__(self: Any, **kwargs: Any) -> Any:
        made = self.__copy__()
        for name, value in kwargs.items():
            target = getattr(type(self), name)
            if not isinstance(target, core.FFIProperty):
                raise TypeError(f"{type(self).__name__}.{name} is not a field")
            target.set(made, value)
        return made

    return __replace__


def _set_match_args(cls: Any, type_info: TypeInfo) -> None:
    """Set ``__match_args__`` to the positional fields in order of definition."""
    if "__match_args__" not in cls.__dict__:
        names = tuple(m.name for m in _all_fields(type_info) if m.c_init and not m.c_kw_only)
        setattr(cls, "__match_args__", names)  # noqa: B010 - mypy forbids the assignment


def _install(cls: type, name: str, function: Any) -> None:
    """Set a special method unless the class body defines it."""
    if name not in cls.__dict__:
        function.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, function)


def _install_comparisons(cls: Any, eq: bool, order: bool, unsafe_hash: bool) -> None:
    from . import _ffi_api

    body = cls.__dict__
    user_hash = body.get("__hash__")
    if eq and "__eq__" not in body and "__ne__" not in body:
        recursive_eq = _ffi_api.RecursiveEq

        def __eq__(self: Any, other: Any) -> bool:
            if not isinstance(other, Object):
                return NotImplemented
            return recursive_eq(self, other)

        def __ne__(self: Any, other: Any) -> bool:
            if not isinstance(other, Object):
                return NotImplemented
            return not recursive_eq(self, other)

        _install(cls, "__eq__", __eq__)
        _install(cls, "__ne__", __ne__)
        if user_hash is None and "__hash__" in body:
            del cls.__hash__  # Python sets None only for an __eq__ in the body
    if order:
        for name, function in (
            ("__lt__", _ffi_api.RecursiveLt),
            ("__le__", _ffi_api.RecursiveLe),
            ("__gt__", _ffi_api.RecursiveGt),
            ("__ge__", _ffi_api.RecursiveGe),
        ):
            _install(cls, name, _make_order(cls, function))
    if unsafe_hash and user_hash is None:
        recursive_hash = _ffi_api.RecursiveHash

        def __hash__(self: Any) -> int:
            return recursive_hash(self)

        __hash__.__qualname__ = f"{cls.__qualname__}.__hash__"
        cls.__hash__ = __hash__


def _make_order(cls: type, function: Any) -> Callable[..., Any]:
    def compare(self: Any, other: Any) -> bool:
        if not isinstance(other, cls):
            return NotImplemented
        return function(self, other)

    return compare


def _install_dataclass_dunders(
    cls: Any,
    *,
    init: bool,
    repr: bool,
    eq: bool,
    order: bool,
    unsafe_hash: bool,
    match_args: bool = True,
    py_class_mode: bool = False,
) -> None:
    """Add the special methods that a class decorator was asked for."""
    type_info = cls.__tvm_ffi_type_info__
    ffi_init = core._constructor_function(type_info)
    if ffi_init is not None and "__ffi_init__" not in cls.__dict__:
        cls.__ffi_init__ = core._make_ffi_init(ffi_init)
    if "__init__" not in cls.__dict__:
        if init and ffi_init is not None:
            cls.__init__ = _make_init(cls, type_info, ffi_init, py_class_mode)
        else:
            cls.__init__ = core.InitMethod(cls, type_info, None)
    if repr:
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = object_repr
    _install_comparisons(cls, eq, order, unsafe_hash)
    shallow = core._lookup_type_attr(type_info.type_index, "__ffi_shallow_copy__")
    _install(cls, "__copy__", _make_copy(type_info, shallow))
    _install(cls, "__deepcopy__", _make_deepcopy(type_info))
    _install(cls, "__replace__", _make_replace(type_info))
    if match_args:
        _set_match_args(cls, type_info)
    cls.__ffi_is_dataclass__ = True
    core._plan_construction(cls)


def _make_constructor(
    cls: Any,
    *,
    positional_fields: list[str] | None = None,
    field_normalizers: dict[str, Callable[[Any], Any]] | None = None,
) -> Callable[..., Object]:
    """Function that builds an object from field values, running no Python hook of the class.

    Args:
        cls: Registered class.
        positional_fields: Names of the positional parameters, in order; all fields if left out.
        field_normalizers: Applied to the values of the named fields first.
    """
    info = cls.__tvm_ffi_type_info__
    members = {m.name: m for m in _all_fields(info)}
    positional = list(members) if positional_fields is None else list(positional_fields)
    for name in positional:
        if name not in members:
            raise TypeError(f"{cls.__name__} has no field {name!r}")
    normalizers = field_normalizers or {}
    signature = _constructor_signature(members, positional)
    new = core._lookup_type_attr(info.type_index, "__ffi_new__")
    qualname = cls.__qualname__

    def construct(*args: Any, **kwargs: Any) -> Object:
        if len(args) > len(positional):
            raise TypeError(
                f"{qualname}() takes from 0 to {len(positional)} positional arguments but "
                f"{len(args)} were given"
            )
        values = dict(zip(positional, args))
        for name, value in kwargs.items():
            if name not in members:
                raise TypeError(f"{qualname}() got an unexpected keyword argument {name!r}")
            if name in values:
                raise TypeError(f"{qualname}() got multiple values for argument {name!r}")
            values[name] = value
        return _restore(cls, info, new, members, values, normalizers)

    construct.__name__ = cls.__name__
    construct.__qualname__ = qualname
    construct.__signature__ = signature  # type: ignore[attr-defined]
    return construct


def _constructor_signature(members: dict[str, Any], positional: list[str]) -> inspect.Signature:
    parameter = inspect.Parameter
    out = []
    for name in [*positional, *(n for n in members if n not in positional)]:
        kind = parameter.POSITIONAL_OR_KEYWORD if name in positional else parameter.KEYWORD_ONLY
        out.append(parameter(name, kind, default=members[name].c_default))
    return inspect.Signature(out)


def _restore(
    cls: Any,
    info: TypeInfo,
    new: Any,
    members: dict[str, Any],
    values: dict[str, Any],
    normalizers: dict[str, Callable[[Any], Any]],
) -> Object:
    if new is None:
        raise TypeError(f"{info.type_key} objects cannot be made from field values")
    prefix = f"{info.type_key}.__ffi_init__()"
    made = new()
    for name, member in members.items():
        if name in values:
            value = values[name]
            if name in normalizers:
                value = normalizers[name](value)
        elif member.c_default_factory is not MISSING:
            value = member.c_default_factory()
        elif member.c_has_default:
            value = member.c_default
        elif member.c_init:
            raise TypeError(f"{prefix} missing required argument: {name!r}")
        else:
            continue
        try:
            member.setter(made, value)
        except TypeError as error:
            raise TypeError(f"{prefix} field {name!r}:\n  {error}") from error
    if type(made) is not cls:
        moved = cls.__new__(cls)
        moved.__move_handle_from__(made)
        made = moved
    return made
