# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""What the FFI registries say about functions and types."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from .. import core
from ..core import TypeSchema
from ..registry import (
    get_global_func_metadata,
    get_registered_type_keys,
    list_global_func_names,
)


@dataclass
class NamedSchema:
    """A field or parameter.

    Attributes:
        name: Its name.
        schema: Its type.
        has_default: A value need not be given.
        kw_only: It is given by name.
        init: The automatic constructor takes it.
    """

    name: str
    schema: TypeSchema
    has_default: bool = False
    kw_only: bool = False
    init: bool = True
    raw: Any = None


@dataclass
class FunctionInfo:
    """A global function or method; without `schema`, anything may be passed."""

    name: str
    schema: TypeSchema | None
    is_member: bool = False


@dataclass
class ObjectInfo:
    """A registered type with its own members."""

    type_key: str
    parent_key: str | None
    fields: list[NamedSchema] = field(default_factory=list)
    methods: list[FunctionInfo] = field(default_factory=list)
    init_fields: list[NamedSchema] | None = None
    type_info: Any = None

    @property
    def name(self) -> str:
        """Last part of the key."""
        return self.type_key.rpartition(".")[2]


def schema_of(raw: Any) -> TypeSchema | None:
    """Schema given as JSON text, parsed JSON or not at all."""
    if raw is None:
        return None
    schema = TypeSchema._from_maybe_json(raw)
    return schema if schema.origin == "Callable" and schema.named_args is not None else None


def global_functions() -> dict[str, list[FunctionInfo]]:
    """Global functions by the prefix before their last dot, sorted by name."""
    out: dict[str, list[FunctionInfo]] = {}
    for name in sorted(list_global_func_names()):
        prefix, dot, short = name.rpartition(".")
        if dot and short.isidentifier():
            schema = schema_of(get_global_func_metadata(name).get("type_schema"))
            out.setdefault(prefix, []).append(FunctionInfo(short, schema))
    return out


def type_keys() -> list[str]:
    """Registered type keys, sorted."""
    return sorted(str(key) for key in get_registered_type_keys())


def object_info(type_key: str, line: int = 0) -> ObjectInfo:
    """Members of a registered type.

    Raises:
        ValueError: It is not registered.
    """
    index = core._object_type_key_to_index(type_key)
    if index is None:
        raise ValueError(
            f"`object/{type_key}` (line {line}): the type is no longer registered; delete the block"
        )
    info = core._type_index_to_type_info(index)
    parent = info.parent_type_info
    out = ObjectInfo(type_key, None if parent is None else parent.type_key, type_info=info)
    out.fields = [_named(member) for member in info.fields or ()]
    for member in info.methods:
        schema = schema_of(_metadata(member).get("type_schema"))
        out.methods.append(FunctionInfo(member.name, schema, not member.is_static))
    if core._constructor_function(info) is not None:
        from .._dunder import _init_fields

        positional, keyword = _init_fields(info)
        out.init_fields = [_named(member) for member in (*positional, *keyword)]
    return out


def _metadata(member: Any) -> dict[str, Any]:
    metadata = member.metadata
    return json.loads(metadata) if isinstance(metadata, str) else metadata


def _named(member: Any) -> NamedSchema:
    return NamedSchema(
        member.name,
        member.ty if member.ty is not None else TypeSchema("Any"),
        member.c_has_default,
        member.c_kw_only,
        member.c_init,
        member,
    )
