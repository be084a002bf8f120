# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""FFI types defined by Python classes."""

from __future__ import annotations

import json
import typing
from collections.abc import Callable
from typing import Any, TypeVar

from .. import core
from .._dunder import _install_dataclass_dunders
from ..core import Object, TypeInfo, TypeSchema
from . import _resolve_fields
from .c_class import dataclass_transform
from .field import Field, field, init_property

_T = TypeVar("_T", bound=type)

_STRUCTURE_KIND_MAP = {
    None: 0,
    "tree": 1,
    "var": 2,
    "dag": 3,
    "const-tree": 4,
    "singleton": 5,
}

# Names in a class body that become type attributes.
_FFI_TYPE_ATTR_NAMES = frozenset(
    {
        "__any_equal__",
        "__any_hash__",
        "__data_from_json__",
        "__data_to_json__",
        "__ffi_compare__",
        "__ffi_convert__",
        "__ffi_convert_type_schema__",
        "__ffi_eq__",
        "__ffi_hash__",
        "__ffi_repr__",
        "__s_equal__",
        "__s_hash__",
        "__s_maybe_inplace_mutate__",
        "__s_mutate__",
        "__s_visit__",
    }
)

# Type attributes that a class takes over from its parent unless it says otherwise.
_DEFAULT_INHERIT_TYPE_ATTRS = (
    "__s_equal__",
    "__s_hash__",
    "__s_visit__",
    "__data_to_json__",
    "__data_from_json__",
)


def method(fn: Any) -> Any:
    """Make a method of a `py_class` callable through the FFI.

    Works on plain methods and on static methods, below or above ``@staticmethod``.

    Raises:
        TypeError: `fn` is a class method.
    """
    if isinstance(fn, classmethod):
        raise TypeError(
            "@tvm_ffi.method: @classmethod is not supported for FFI TypeMethod registration: its "
            "`cls` argument has no place in a packed call. Use @staticmethod or a plain method."
        )
    target: Any = fn.__func__ if isinstance(fn, staticmethod) else fn
    target.__tvm_ffi_method__ = True
    return fn


def _is_method_marked(value: Any) -> bool:
    target = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
    return bool(getattr(target, "__tvm_ffi_method__", False))


def _type_attr_options(cls: type) -> tuple[frozenset[str], tuple[str, ...]]:
    """Names that are type attributes of `cls`, and those to take over from its parent."""
    inherited = tuple(getattr(cls, "__ffi_inherit_type_attrs__", _DEFAULT_INHERIT_TYPE_ATTRS))
    names = set(_FFI_TYPE_ATTR_NAMES)
    names.update(inherited)
    for base in cls.__mro__:
        names.update(base.__dict__.get("__ffi_type_attr_names__", ()))
    return frozenset(names), inherited


def _method_schema_json(cls: type, func: Any, is_static: bool) -> str:
    """Metadata text of a method: its schema as far as the annotations tell."""
    import inspect

    schema: TypeSchema = TypeSchema("Callable")
    try:
        signature = inspect.signature(func)
    except (TypeError, ValueError):
        signature = None
    if signature is not None:
        parameters = list(signature.parameters.values())
        plain = all(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
        if plain:
            types = [_schema_or_any(cls, p.annotation, inspect.Parameter.empty) for p in parameters]
            if not is_static and types:
                types[0] = TypeSchema.from_annotation(cls)
            result = _schema_or_any(cls, signature.return_annotation, inspect.Signature.empty)
            schema = TypeSchema(
                "Callable", named_args={"return": (result,), "params": tuple(types)}
            )
    return json.dumps({"type_schema": schema.to_json()})


def _schema_or_any(cls: type, annotation: Any, empty: Any) -> TypeSchema:
    if annotation is empty:
        return TypeSchema("Any")
    try:
        return TypeSchema.from_annotation(_resolve_fields.resolve_annotation(cls, annotation))
    except (TypeError, _resolve_fields._Unresolved):
        return TypeSchema("Any")


def _collect_py_methods(cls: type, attr_names: frozenset[str]) -> list[tuple[Any, ...]]:
    """Entries for `core._register_py_methods` from the class body and its unregistered bases."""
    found: dict[str, tuple[Any, ...]] = {}
    for owner in _resolve_fields.field_owners(cls):
        for name, value in owner.__dict__.items():
            if isinstance(value, classmethod) and _is_method_marked(value):
                method(value)
            is_static = isinstance(value, staticmethod)
            target = value.__func__ if is_static else value
            if name in attr_names:
                found[name] = (name, target, is_static, "", "")
            elif _is_method_marked(value):
                metadata = _method_schema_json(cls, target, is_static)
                found[name] = (name, target, is_static, metadata, target.__doc__ or "")
    return list(found.values())


def _inherited_type_attrs(
    info: TypeInfo, names: tuple[str, ...], own: list[tuple[Any, ...]]
) -> list[tuple[Any, ...]]:
    taken = {entry[0] for entry in own}
    parent = info.parent_type_info
    if parent is None:
        return []
    out = []
    for name in names:
        if name in taken:
            continue
        value = core._lookup_type_attr(parent.type_index, name)
        if value is not None:
            out.append((name, value, False, "", ""))
    return out


def _run_field_callbacks(cls: type, info: TypeInfo, resolved: Any) -> None:
    """Let extensions look at the fields before they are registered."""
    seen: list[Any] = []
    for base in reversed(cls.__mro__):
        for value in base.__dict__.values():
            target = value.__func__ if isinstance(value, staticmethod) else value
            if callable(target) and getattr(target, "__ffi_on_fields_resolved__", None) is True:
                if not any(target is other for other in seen):
                    seen.append(target)
    for callback in seen:
        callback(info, resolved.fields)
    for item in resolved.fields:
        if item.extra_kwargs:
            names = ", ".join(item.extra_kwargs)
            raise TypeError(f"{cls.__name__}.{item.name}: unrecognized field options: {names}")


def _finish(pending: Any, resolved: Any) -> None:
    """Register fields, methods and special methods of a class whose types are all known."""
    cls, info, options = pending.cls, pending.info, pending.options
    inherited = info.parent_type_info._decorator_args.get("field_markers", ())
    info._decorator_args = {
        name: options[name]
        for name in (
            "frozen",
            "init",
            "repr",
            "eq",
            "order",
            "unsafe_hash",
            "match_args",
            "kw_only",
            "structural_eq",
        )
    }
    if resolved.markers or inherited:
        info._decorator_args["field_markers"] = (*inherited, *resolved.markers)
    _run_field_callbacks(cls, info, resolved)
    attr_names, inherited_names = _type_attr_options(cls)
    methods = _collect_py_methods(cls, attr_names)
    methods += _inherited_type_attrs(info, inherited_names, methods)
    core._register_fields(info, resolved.fields, options["structural_eq"])
    core._register_py_methods(info, [m for m in methods if m[1] is not None], attr_names)
    if resolved.init_properties:
        cls.__tvm_ffi_init_properties__ = resolved.init_properties
    for member in info.fields:
        setattr(cls, member.name, member.as_property(cls))
    _install_dataclass_dunders(
        cls,
        init=options["init"],
        repr=options["repr"],
        eq=options["eq"],
        order=options["order"],
        unsafe_hash=options["unsafe_hash"],
        match_args=options["match_args"],
        py_class_mode=True,
    )


def _parent_info(cls: type) -> TypeInfo:
    for base in cls.__mro__[1:]:
        info = base.__dict__.get("__tvm_ffi_type_info__")
        if info is not None:
            return info
    raise TypeError(
        f"{cls.__name__} must inherit from a registered FFI Object type (e.g. tvm_ffi.Object)"
    )


def _register(cls: type, type_key: str | None, options: dict[str, Any]) -> None:
    parent = _parent_info(cls)
    key = type_key if type_key is not None else f"{cls.__module__}.{cls.__qualname__}"
    info = core._register_py_class(parent, key, cls)
    _resolve_fields.remember(cls)
    pending = _resolve_fields._Pending(cls, info, options, _finish)
    try:
        done = _resolve_fields.try_finish(pending)
    except BaseException:
        core._rollback_py_class(info)
        _resolve_fields.forget(cls)
        raise
    if not done:
        _resolve_fields.defer(pending)
    _resolve_fields.flush_pending()


@dataclass_transform(field_specifiers=(field, Field))
def py_class(
    cls_or_type_key: type | str | None = None,
    /,
    *,
    type_key: str | None = None,
    frozen: bool = False,
    init: bool = True,
    repr: bool = True,
    eq: bool = False,
    order: bool = False,
    unsafe_hash: bool = False,
    match_args: bool = True,
    kw_only: bool = False,
    structural_eq: str | None = "tree",
    slots: bool = True,
) -> Callable[[_T], _T] | _T:
    """Define an FFI type by a class with annotated fields.

    Objects live in the FFI: C++ and other languages see the fields by reflection, and every value
    stored in one is converted to the annotated type.

    Args:
        cls_or_type_key: The class, or its type key.
        type_key: Type key; ``module.qualname`` if left out.
        frozen: Make all fields read-only after construction.
        init: Generate ``__init__``.
        repr: Generate ``__repr__``.
        eq: Compare by fields instead of identity.
        order: Generate ``<`` and the like; needs `eq`.
        unsafe_hash: Hash by fields.
        match_args: Set ``__match_args__``.
        kw_only: Make all fields keyword-only.
        structural_eq: Structural kind: ``"tree"``, ``"var"``, ``"dag"``, ``"const-tree"``,
            ``"singleton"``, or None for no structural equality.
        slots: Accepted for type checkers; instances never have a ``__dict__`` of their own.

    Raises:
        TypeError: A base or a field type is unknown to the FFI.
        ValueError: The key is taken, or options contradict each other.
    """
    if structural_eq not in _STRUCTURE_KIND_MAP:
        names = sorted(name for name in _STRUCTURE_KIND_MAP if name is not None)
        raise ValueError(f"structural_eq must be one of {names} or None, got {structural_eq!r}")
    if order and not eq:
        raise ValueError("order=True requires eq=True")
    options = {
        "frozen": frozen,
        "init": init,
        "repr": repr,
        "eq": eq,
        "order": order,
        "unsafe_hash": unsafe_hash,
        "match_args": match_args,
        "kw_only": kw_only,
        "structural_eq": structural_eq,
    }

    def decorate(cls: _T) -> _T:
        key = type_key if type_key is not None else given_key
        _register(cls, key, dict(options))
        return cls

    given_key: str | None = None
    if cls_or_type_key is None:
        return decorate
    if isinstance(cls_or_type_key, str):
        given_key = cls_or_type_key
        return decorate
    if isinstance(cls_or_type_key, type):
        return decorate(typing.cast(Any, cls_or_type_key))
    raise TypeError(f"py_class: expected str or type, got {type(cls_or_type_key)}")


__all__ = ["Object", "init_property", "method", "py_class"]
