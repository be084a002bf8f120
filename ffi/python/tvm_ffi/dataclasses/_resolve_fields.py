# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""From the annotations of a Python-defined class to its fields.

Annotations may name classes that do not exist yet. Such a class is registered without fields and
waits in `_PENDING`; every later registration, and an attempt to build an instance, tries again.
"""

from __future__ import annotations

import dataclasses as _std
import sys
import types
import typing
from collections.abc import Callable
from typing import Any

from .. import core
from ..core import MISSING, Object, TypeInfo, TypeSchema
from .field import Field, init_property

KW_ONLY = getattr(_std, "KW_ONLY", None)
if KW_ONLY is None:  # before Python 3.10

    class _KWOnlyAnnotation:
        """Marks the fields after it as keyword-only."""

    KW_ONLY = _KWOnlyAnnotation()

# Classes by module and name, so that annotations may name classes local to a function.
_PY_CLASS_BY_MODULE: dict[str, dict[str, type]] = {}


class _Pending:
    """A class whose annotations do not resolve yet, and how to finish it."""

    def __init__(self, cls: Any, info: TypeInfo, options: dict[str, Any], finish: Callable) -> None:
        self.cls = cls
        self.info = info
        self.options = options
        self.finish = finish
        self.missing: list[str] = []


_PENDING: list[_Pending] = []


class _Unresolved(Exception):
    """An annotation names something that does not exist yet."""


def own_annotations(cls: type) -> dict[str, Any]:
    """Annotations of the class body itself."""
    if sys.version_info >= (3, 14):
        import annotationlib

        return dict(annotationlib.get_annotations(cls, format=annotationlib.Format.FORWARDREF))
    return dict(cls.__dict__.get("__annotations__", {}))


def field_owners(cls: type) -> list[type]:
    """Classes whose annotations become fields of `cls`: itself and its unregistered bases."""
    registered: set[type] = set()
    for base in cls.__mro__[1:]:
        if base.__dict__.get("__tvm_ffi_type_info__") is not None or base is Object:
            registered.update(base.__mro__)
            break
    out = [k for k in cls.__mro__ if k not in registered and k is not object]
    return [k for k in reversed(out) if k is cls or own_annotations(k) or _has_markers(k)]


def _has_markers(cls: type) -> bool:
    return any(isinstance(v, (Field, init_property)) for v in cls.__dict__.values())


def _names_in_scope(cls: type) -> tuple[dict[str, Any], dict[str, Any]]:
    module = sys.modules.get(cls.__module__)
    globalns = dict(vars(module)) if module is not None else {}
    localns = dict(_PY_CLASS_BY_MODULE.get(cls.__module__, {}))
    localns = {name: value for name, value in localns.items() if name not in globalns}
    localns[cls.__name__] = cls
    return globalns, localns


def _with_references(annotation: Any) -> Any:
    """Annotation whose inner strings are references; CPython 3.10 leaves those of list["T"] alone."""
    args = getattr(annotation, "__args__", None)
    if not isinstance(args, tuple) or typing.get_origin(annotation) is typing.Literal:
        return annotation
    if isinstance(annotation, types.GenericAlias):
        made = (typing.ForwardRef(a) if isinstance(a, str) else _with_references(a) for a in args)
        return types.GenericAlias(typing.cast(type, annotation.__origin__), tuple(made))
    if hasattr(annotation, "copy_with"):
        return annotation.copy_with(tuple(_with_references(a) for a in args))
    return annotation


def resolve_annotation(owner: type, annotation: Any) -> Any:
    """Value of an annotation.

    Raises:
        _Unresolved: It names something unknown.
    """
    globalns, localns = _names_in_scope(owner)
    try:
        if isinstance(annotation, str):
            annotation = eval(annotation, globalns, localns)  # noqa: S307 - source text of the class
        if annotation is KW_ONLY or annotation is None:
            return annotation
        if sys.version_info < (3, 11):
            annotation = _with_references(annotation)
        holder = type("_Holder", (), {"__annotations__": {"value": annotation}})
        return typing.get_type_hints(holder, globalns, localns, include_extras=True)["value"]
    except NameError as error:
        raise _Unresolved(getattr(error, "name", None) or str(error)) from error


def _is_class_var(annotation: Any) -> bool:
    return annotation is typing.ClassVar or typing.get_origin(annotation) is typing.ClassVar


def _looks_like_class_var(annotation: Any) -> bool:
    return isinstance(annotation, str) and annotation.replace("typing.", "").startswith("ClassVar")


class ResolvedFields:
    """What the annotations of a class and its unregistered bases say."""

    def __init__(self) -> None:
        self.fields: list[Field] = []
        self.markers: list[tuple[type, type, str, int]] = []
        self.init_properties: dict[str, Callable[..., Any]] = {}


def resolve_fields(cls: type, info: TypeInfo, options: dict[str, Any]) -> ResolvedFields:
    """Resolve all own fields of `cls`.

    Raises:
        _Unresolved: An annotation names something unknown.
        TypeError: An annotation is no FFI type.
    """
    out = ResolvedFields()
    inherited = _inherited_field_names(info)
    markers = _marker_types(cls)
    for owner in field_owners(cls):
        _resolve_owner(cls, owner, options, markers, len(inherited), out)
    return out


def _inherited_field_names(info: TypeInfo) -> list[str]:
    from .._dunder import _all_fields

    parent = info.parent_type_info
    return [] if parent is None else [member.name for member in _all_fields(parent)]


def _marker_types(cls: type) -> tuple[type, ...]:
    return tuple(getattr(cls, "__ffi_field_markers__", ()))


def _resolve_owner(
    cls: type,
    owner: type,
    options: dict[str, Any],
    markers: tuple[type, ...],
    num_inherited: int,
    out: ResolvedFields,
) -> None:
    kw_only = options["kw_only"]
    for name, annotation in own_annotations(owner).items():
        if _looks_like_class_var(annotation):
            continue
        resolved = resolve_annotation(owner, annotation)
        if _is_class_var(resolved):
            continue
        if resolved is KW_ONLY:
            kw_only = True
            continue
        if any(resolved is marker for marker in markers):
            out.markers.append((resolved, owner, name, num_inherited + len(out.fields)))
            continue
        out.fields.append(_make_field(owner, name, resolved, kw_only, options["frozen"]))
    for name, value in owner.__dict__.items():
        if isinstance(value, Field) and name not in own_annotations(owner):
            raise TypeError(f"{owner.__name__}.{name}: a field needs a type annotation")
        if isinstance(value, init_property):
            out.init_properties[name] = value.func
            made = value._as_field()
            made.type = _return_annotation(owner, value.func)
            made._ty_schema = TypeSchema.from_annotation(made.type)
            out.fields.append(made)


def _return_annotation(owner: type, func: Callable[..., Any]) -> Any:
    annotation = getattr(func, "__annotations__", {}).get("return", typing.Any)
    return resolve_annotation(owner, annotation)


def _make_field(owner: type, name: str, annotation: Any, kw_only: bool, frozen: bool) -> Field:
    import copy

    given = owner.__dict__.get(name, MISSING)
    if isinstance(given, Field):
        made = copy.copy(given)
    elif given is MISSING or _is_slot(given):
        made = Field(hash=None, compare=True, kw_only=None)
    else:
        made = Field(default=given, hash=None, compare=True, kw_only=None)
    made.name = name
    made.type = annotation
    made._ty_schema = TypeSchema.from_annotation(annotation)
    if made.kw_only is None:
        made.kw_only = kw_only
    if made.hash is None:
        made.hash = made.compare
    made.frozen = made.frozen or frozen
    return made


def _is_slot(value: Any) -> bool:
    return type(value).__name__ == "member_descriptor" or isinstance(value, core.FFIProperty)


# --- classes that wait -----------------------------------------------------------------------


def remember(cls: type) -> None:
    """Let annotations in the module of `cls` name it."""
    _PY_CLASS_BY_MODULE.setdefault(cls.__module__, {})[cls.__name__] = cls


def forget(cls: type) -> None:
    """Undo :py:func:`remember`."""
    names = _PY_CLASS_BY_MODULE.get(cls.__module__, {})
    if names.get(cls.__name__) is cls:
        del names[cls.__name__]


def defer(pending: _Pending) -> None:
    """Queue a class and let building an instance try again."""
    _PENDING.append(pending)
    cls = pending.cls
    own_init = cls.__dict__.get("__init__")

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        flush_pending()
        if pending in _PENDING:
            raise TypeError(
                f"Cannot instantiate {cls.__name__}: unresolved forward references: "
                f"{sorted(set(pending.missing))}"
            )
        type(self).__init__(self, *args, **kwargs)

    pending.options["own_init"] = own_init
    cls.__init__ = __init__


def try_finish(pending: _Pending) -> bool:
    """Finish one class; False if it still has to wait."""
    parent = pending.info.parent_type_info
    if parent is not None and parent.fields is None:
        pending.missing = [parent.type_key]
        return False
    try:
        resolved = resolve_fields(pending.cls, pending.info, pending.options)
    except _Unresolved as error:
        pending.missing = [str(error)]
        return False
    if "own_init" in pending.options:
        own_init = pending.options.pop("own_init")
        if own_init is None:
            del pending.cls.__init__
        else:
            pending.cls.__init__ = own_init
    pending.finish(pending, resolved)
    return True


def flush_pending() -> None:
    """Finish every class that can be finished now; parents come before their children."""
    progress = True
    while progress:
        progress = False
        for pending in list(_PENDING):
            if pending not in _PENDING or not try_finish_or_drop(pending):
                continue
            progress = True


def try_finish_or_drop(pending: _Pending) -> bool:
    """As :py:func:`try_finish`, leaving the queue on success and on error."""
    try:
        done = try_finish(pending)
    except BaseException:
        _PENDING.remove(pending)
        core._rollback_py_class(pending.info)
        forget(pending.cls)
        raise
    if done:
        _PENDING.remove(pending)
    return done
