# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Rust types of reflected fields, and the directives that change them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..core import TypeSchema
from .blocks import Piece, SourceFile

#: Names of Rust that are no identifiers.
KEYWORDS = frozenset(
    "as async await break const continue crate dyn else enum extern false fn for if impl in let "
    "loop match mod move mut pub ref return self Self static struct super trait true type unsafe "
    "use where while abstract become box do final macro override priv try typeof unsized virtual "
    "yield".split()
)
SCALARS = frozenset(("bool", "i8", "i16", "i32", "i64", "f32", "f64"))

# Type key or origin -> (reference type, object struct or None when nothing derives from it here).
_CORE = {
    "ffi.Object": ("tvm_ffi::ObjectRef", "tvm_ffi::Object"),
    "Object": ("tvm_ffi::ObjectRef", "tvm_ffi::Object"),
    "ffi.Enum": (None, "tvm_ffi::EnumObj"),
    "ffi.IntEnum": (None, "tvm_ffi::IntEnumObj"),
    "ffi.StrEnum": (None, "tvm_ffi::StrEnumObj"),
    "ffi.Function": ("tvm_ffi::Function", None),
    "Callable": ("tvm_ffi::Function", None),
    "ffi.Module": ("tvm_ffi::Module", None),
    "ffi.Shape": ("tvm_ffi::Shape", None),
    "ffi.Error": ("tvm_ffi::Error", None),
    "ffi.Tensor": ("tvm_ffi::Tensor", None),
    "Tensor": ("tvm_ffi::Tensor", None),
}
_VALUES = {
    "str": "tvm_ffi::String",
    "bytes": "tvm_ffi::Bytes",
    "dtype": "tvm_ffi::DLDataType",
    "Device": "tvm_ffi::DLDevice",
    "Any": "tvm_ffi::Any",
    "ctypes.c_void_p": "*mut ::core::ffi::c_void",
}
_CONTAINERS = {"Array": 1, "List": 1, "Map": 2}
_BY_SIZE = {
    "int": {1: "i8", 2: "i16", 4: "i32", 8: "i64"},
    "float": {4: "f32", 8: "f64"},
    "bool": {1: "bool"},
}

# Directive -> (pattern, what was expected).
_FORMS = {
    "prefix": (r"[\w.]+", "namespace"),
    "skip": (r"[\w.]+", "type.key"),
    "opaque": (r"[\w.]+", "type.key"),
    "custom-new": (r"[\w.]+", "type.key"),
    "nullable": (r"([\w.]+)\.(\w+)", "type.key.field"),
    "field": (r"([\w.]+)\.(\w+)\s*->\s*(\S.*)", "type.key.field -> RustType"),
    "upcast": (r"([\w.]+)\s*->\s*(\S.*)", "type.key -> RustType"),
    "enum": (
        r"([\w.]+)\.(\w+)\s*->\s*(\w+)\((i8|i16|i32|i64)\)\s*\{(.*)\}",
        "type.key.field -> Name(i32) { A=0, B=1 }",
    ),
}
DIRECTIVES = ("ty-map", "import-object", "skip-file", *_FORMS)


class Unsupported(ValueError):
    """A type has no Rust form; the text says why."""


@dataclass
class EnumType:
    """Newtype over the integer of a field.

    Attributes:
        name: Its name.
        integer: The integer type.
        values: Name of a constant -> its value.
    """

    name: str
    integer: str
    values: dict[str, int]


@dataclass
class Directives:
    """What the directives of one file say."""

    prefixes: list[tuple[str, int]] = field(default_factory=list)
    skip: set[str] = field(default_factory=set)
    opaque: set[str] = field(default_factory=set)
    custom_new: set[str] = field(default_factory=set)
    nullable: set[tuple[str, str]] = field(default_factory=set)
    fields: dict[tuple[str, str], str] = field(default_factory=dict)
    upcasts: dict[str, list[str]] = field(default_factory=dict)
    enums: dict[tuple[str, str], EnumType] = field(default_factory=dict)

    @staticmethod
    def of(source: SourceFile) -> Directives:
        """Read a file's directives.

        Raises:
            ValueError: One is malformed.
        """
        out = Directives()
        for piece in source.pieces:
            if piece.kind in _FORMS and not piece.is_block:
                out._add(piece)
        return out

    def _add(self, piece: Piece) -> None:
        pattern, expected = _FORMS[piece.kind]
        match = re.fullmatch(pattern, piece.param)
        if match is None:
            raise ValueError(
                f"Invalid `{piece.kind}` directive at line {piece.line}. Expected `{expected}`."
            )
        parts = match.groups()
        if piece.kind == "prefix":
            self.prefixes.append((piece.param, piece.line))
        elif piece.kind == "skip":
            self.skip.add(piece.param)
        elif piece.kind == "opaque":
            self.opaque.add(piece.param)
        elif piece.kind == "custom-new":
            self.custom_new.add(piece.param)
        elif piece.kind == "nullable":
            self.nullable.add((parts[0], parts[1]))
        elif piece.kind == "field":
            self.fields[parts[0], parts[1]] = parts[2].strip()
        elif piece.kind == "upcast":
            self.upcasts.setdefault(parts[0], []).append(parts[1].strip())
        else:
            self.enums[parts[0], parts[1]] = _enum_type(piece, *parts[2:], expected=expected)


def _enum_type(piece: Piece, name: str, integer: str, body: str, *, expected: str) -> EnumType:
    values = {}
    for item in filter(None, (part.strip() for part in body.split(","))):
        match = re.fullmatch(r"(\w+)\s*=\s*(-?\d+)", item)
        if match is None:
            raise ValueError(
                f"Invalid `enum` directive at line {piece.line}. Expected `{expected}`."
            )
        values[match[1]] = int(match[2])
    return EnumType(name, integer, values)


class TypeNames:
    """Names of the Rust types that stand for registered ones.

    Args:
        ty_map: Type key -> Rust path of the reference type, from the directives.
        local: Type keys that have a block in the file.
    """

    def __init__(self, ty_map: dict[str, str], local: set[str]) -> None:
        self.ty_map = ty_map
        self.local = local

    def reference(self, key: str) -> str:
        """Reference type of a type key.

        Raises:
            Unsupported: Nothing in reach mirrors it.
        """
        if key in self.ty_map:
            return self.ty_map[key]
        if key in self.local:
            return key.rpartition(".")[2]
        if (found := _CORE.get(key)) is not None and found[0] is not None:
            return found[0]
        raise Unsupported(f"no Rust type mirrors `{key}`")

    def struct(self, key: str) -> str:
        """Object struct of a type key, as its children embed it.

        Raises:
            Unsupported: Nothing in reach mirrors it.
        """
        if key in self.ty_map or key in self.local:
            return self.reference(key) + "Obj"
        if (found := _CORE.get(key)) is not None and found[1] is not None:
            return found[1]
        raise Unsupported(f"no Rust struct mirrors the parent `{key}`: add its block or a ty-map")

    def render(self, schema: TypeSchema, size: int | None) -> str:
        """Rust type of a value; `size` is that of a field, None inside of containers.

        Raises:
            Unsupported: Rust has no such type, or none of this size.
        """
        origin = schema.origin
        if origin in _BY_SIZE:
            sizes = _BY_SIZE[origin]
            if size is None:
                return sizes[max(sizes)]
            if size not in sizes:
                raise Unsupported(f"`{origin}` of {size} bytes")
            return sizes[size]
        if origin in _VALUES:
            return _VALUES[origin]
        if origin == "Optional" and schema.args:
            return self._optional(schema.args[0])
        if origin in _CONTAINERS:
            count = _CONTAINERS[origin]
            args = [self.render(arg, None) for arg in schema.args or ()]
            args += ["tvm_ffi::Any"] * (count - len(args))
            return f"tvm_ffi::{origin}<{', '.join(args)}>"
        if origin in ("Dict", "Union", "tuple"):
            raise Unsupported(f"`{schema!r}`")
        return self.reference(origin)

    def _optional(self, inner: TypeSchema) -> str:
        if inner.origin == "Any":
            return "tvm_ffi::Any"
        return f"tvm_ffi::Optional<{self.render(inner, None)}>"


def identifier(name: str) -> str:
    """A name as Rust takes it."""
    return f"r#{name}" if name in KEYWORDS and name not in ("self", "Self", "super") else name
