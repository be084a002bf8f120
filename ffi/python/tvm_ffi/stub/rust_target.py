# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Rust mirrors of registered types.

A type whose reflected fields fill its memory gets a struct with these fields; of others only the
parent's part is known, and fields are read through their getters.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from .blocks import Piece, SourceFile
from .layout import Verdict, classify
from .registry_info import FunctionInfo, NamedSchema, ObjectInfo, type_keys
from .rust_types import (
    DIRECTIVES,
    SCALARS,
    Directives,
    EnumType,
    TypeNames,
    Unsupported,
    identifier,
)


@dataclass
class Member:
    """A field of a struct."""

    name: str
    rust_type: str

    @property
    def parameter(self) -> str:
        """As a parameter of a constructor."""
        if self.rust_type in SCALARS:
            return f"{self.name}: {self.rust_type}"
        return f"{self.name}: impl ::core::convert::Into<{self.rust_type}>"

    @property
    def argument(self) -> str:
        """The parameter's value as the field takes it."""
        if self.rust_type in SCALARS:
            return self.name
        return f"{self.name}: {self.name}.into()"


class RustTarget:
    """Fills the object blocks of Rust files.

    Args:
        functions: Global functions by prefix; Rust has no blocks for them.
        lookup: Gives the members of a type.
        ty_map: Type key -> path of the Rust reference type, from the directives.
        indent: Not used: rustfmt owns the layout.
    """

    suffixes = (".rs",)
    directives = DIRECTIVES

    def __init__(
        self,
        functions: dict[str, list[FunctionInfo]],
        lookup: Callable[[str, int], ObjectInfo],
        ty_map: dict[str, str],
        indent: int,
    ) -> None:
        del functions, indent
        self.lookup = lookup
        self.ty_map = ty_map
        self.layouts = classify(type_keys())

    # --- files ---------------------------------------------------------------------------------

    def fill(self, source: SourceFile) -> None:
        """Regenerate every block of a file."""
        self.options = Directives.of(source)
        self._update_blocks(source)
        blocks = source.blocks
        self.names = TypeNames(self.ty_map, {p.param for p in blocks if p.kind == "object"})
        for piece in blocks:
            if piece.kind == "object":
                piece.fill(self._object_block(piece))
            elif piece.kind == "import-section":
                piece.fill([self._import(p) for p in source.directives("import-object")])
            else:
                raise ValueError(f"Rust has no `{piece.kind}` blocks (line {piece.line})")

    def is_current(self, source: SourceFile) -> bool:
        """Whether the file says what it should, apart from imports, comments and wrapping."""
        return _essence(source.text()) == _essence(source.original)

    def _update_blocks(self, source: SourceFile) -> None:
        registered = type_keys()
        for namespace, _ in self.options.prefixes:
            wanted = [
                key
                for key in registered
                if key.rpartition(".")[0] == namespace
                and not key.startswith("ffi.")
                and key not in self.options.skip
            ]
            source.pieces = [
                piece
                for piece in source.pieces
                if not (
                    piece.is_block
                    and piece.kind == "object"
                    and piece.param.rpartition(".")[0] == namespace
                    and (piece.param not in registered or piece.param in self.options.skip)
                )
            ]
            present = {p.param for p in source.blocks if p.kind == "object"}
            missing = [self.lookup(key, 0) for key in wanted if key not in present]
            missing.sort(key=lambda info: (len(info.type_info.type_ancestors), info.type_key))
            for info in missing:
                lines = [
                    f"// tvm-ffi-stubgen(begin): object/{info.type_key}",
                    "// tvm-ffi-stubgen(end)",
                ]
                source.pieces.append(Piece("object", info.type_key, 0, lines, is_block=True))

    @staticmethod
    def _import(piece: Piece) -> str:
        name, _, rest = piece.param.partition(";")
        alias = rest.rpartition(";")[2].strip()
        return f"use {name.strip()}{f' as {alias}' if alias else ''};"

    # --- verdicts ------------------------------------------------------------------------------

    def refine(self, verdicts: dict[str, Verdict]) -> dict[str, Verdict]:
        """The coverage report as Rust sees it."""
        self.names = TypeNames(self.ty_map, set(verdicts))
        self.options = getattr(self, "options", Directives())
        for key, verdict in verdicts.items():
            if verdict.is_complete and key != "ffi.Object":
                self._own_members(self.lookup(key, 0), verdict)
        return verdicts

    def _own_members(self, info: ObjectInfo, verdict: Verdict) -> list[Member] | None:
        """Fields of a struct, in the order of memory; None, with the reason, if it is opaque."""
        if info.type_key in self.options.opaque:
            verdict.refuse("by-directive", "declared opaque")
        if not verdict.is_complete:
            return None
        try:
            self.names.struct(info.parent_key or "ffi.Object")
        except Unsupported as error:
            verdict.refuse("no-mirror", str(error))
            return None
        out = []
        for named in sorted(info.fields, key=lambda member: member.raw.offset):
            try:
                out.append(Member(identifier(named.name), self._field_type(info, named)))
            except Unsupported as error:
                verdict.refuse("unrenderable-field", f"field {named.name!r}: {error}")
                return None
        return out

    def _field_type(self, info: ObjectInfo, named: NamedSchema) -> str:
        place = (info.type_key, named.name)
        if place in self.options.fields:
            return self.options.fields[place]
        if place in self.options.enums:
            return self.options.enums[place].name
        rendered = self.names.render(named.schema, named.raw.size)
        if place in self.options.nullable:
            return f"::core::option::Option<{rendered}>"
        return rendered

    # --- one type ------------------------------------------------------------------------------

    def _object_block(self, piece: Piece) -> list[str]:
        info = self.lookup(piece.param, piece.line)
        verdict = self.layouts[info.type_key]
        members = self._own_members(info, verdict)
        name = info.name
        parent = self.names.struct(info.parent_key or "ffi.Object")
        out = self._enums(info) + [
            "#[repr(C)]",
            "#[derive(tvm_ffi::Object)]",
            f'#[type_key = "{info.type_key}"]',
        ]
        if verdict.is_final:
            out.append("#[type_final]")
        out += [f"pub struct {name}Obj {{", f"    base: {parent},"]
        out += [f"    pub {member.name}: {member.rust_type}," for member in members or ()]
        out.append("}")
        if members is not None:
            out += _layout_asserts(f"{name}Obj", verdict)
        out += _reference(name)
        out += _deref(name, f"{name}Obj", "&self.base") + _deref(f"{name}Obj", parent, "&self.base")
        if members is None:
            out += self._getters(info)
        else:
            out += self._constructors(info, members, parent)
        return out + self._upcasts(info)

    def _enums(self, info: ObjectInfo) -> list[str]:
        out, done = [], set()
        for (key, _), enum in self.options.enums.items():
            if key == info.type_key and enum.name not in done:
                done.add(enum.name)
                out += _enum(enum)
        return out

    def _lineage(self, info: ObjectInfo) -> list[tuple[ObjectInfo, list[Member]]] | None:
        """Ancestors with their fields, root first; None if one is not mirrored in this file."""
        out: list[tuple[ObjectInfo, list[Member]]] = []
        current = info
        while current.type_key != "ffi.Object":
            if current.type_key not in self.names.local:
                return None
            members = self._own_members(current, self.layouts[current.type_key])
            if members is None:
                return None
            out.insert(0, (current, members))
            current = self.lookup(current.parent_key or "ffi.Object", 0)
        return out

    def _constructors(self, info: ObjectInfo, members: list[Member], parent: str) -> list[str]:
        name = info.name
        parameters = ", ".join([f"base: {parent}", *(m.parameter for m in members)])
        fields = ", ".join(["base", *(m.argument for m in members)])
        out = [
            f"impl {name}Obj {{",
            "    #[allow(clippy::too_many_arguments, dead_code)]",
            f"    pub(crate) fn new({parameters}) -> Self {{",
            f"        Self {{ {fields} }}",
            "    }",
            "}",
        ]
        lineage = self._lineage(info)
        if lineage is None:
            return out
        method = "from_fields" if info.type_key in self.options.custom_new else "new"
        visibility = "pub(crate)" if method == "from_fields" else "pub"
        parameters = ", ".join(m.parameter for _, own in lineage for m in own)
        value = "tvm_ffi::Object::new()"
        for owner, own in lineage:
            value = f"{owner.name}Obj::new({', '.join([value, *(m.name for m in own)])})"
        return [
            *out,
            f"impl {name} {{",
            "    /// A new object.",
            "    #[allow(clippy::too_many_arguments, dead_code)]",
            f"    {visibility} fn {method}({parameters}) -> Self {{",
            f"        Self {{ base: tvm_ffi::ObjectArc::new({value}) }}",
            "    }",
            "}",
        ]

    def _getters(self, info: ObjectInfo) -> list[str]:
        if not info.fields:
            return []
        out = [f"impl {info.name} {{"]
        for named in info.fields:
            try:
                rendered = self._field_type(info, named)
            except Unsupported:
                rendered = "tvm_ffi::Any"
            if (info.type_key, named.name) in self.options.enums:
                rendered = "i64"
            out += [
                f"    /// Field `{named.name}`.",
                f"    pub fn {identifier(named.name)}(&self) -> tvm_ffi::Result<{rendered}> {{",
                f'        tvm_ffi::FieldGetter::new("{info.type_key}", "{named.name}")?.get(self)',
                "    }",
            ]
        return [*out, "}"]

    def _upcasts(self, info: ObjectInfo) -> list[str]:
        targets = ["tvm_ffi::ObjectRef"]
        current = info
        while (key := current.parent_key) not in (None, "ffi.Object"):
            try:
                targets.append(self.names.reference(key))
            except Unsupported:
                pass  # only its struct is known, as for the enums of the library
            current = self.lookup(key, 0)
        targets += self.options.upcasts.get(info.type_key, [])
        return [f"tvm_ffi::impl_object_upcast!({info.name} => {', '.join(targets)});"]


def _layout_asserts(struct: str, verdict: Verdict) -> list[str]:
    alignment = max([8, *(item["alignment"] for item in verdict.fields)])
    return [
        f"const _: () = assert!(::core::mem::size_of::<{struct}>() == {verdict.total_size});",
        f"const _: () = assert!(::core::mem::align_of::<{struct}>() == {alignment});",
    ]


def _reference(name: str) -> list[str]:
    return [
        "#[repr(C)]",
        "#[derive(Clone, tvm_ffi::ObjectRef)]",
        f"pub struct {name} {{",
        f"    base: tvm_ffi::ObjectArc<{name}Obj>,",
        "}",
    ]


def _deref(name: str, target: str, value: str) -> list[str]:
    return [
        f"impl ::core::ops::Deref for {name} {{",
        f"    type Target = {target};",
        f"    fn deref(&self) -> &{target} {{",
        f"        {value}",
        "    }",
        "}",
    ]


def _enum(enum: EnumType) -> list[str]:
    name, integer = enum.name, enum.integer
    constants = [
        f"    pub const {key}: Self = Self({value});" for key, value in enum.values.items()
    ]
    known = " | ".join(str(value) for value in enum.values.values()) or "_ if false"
    return [
        "#[repr(transparent)]",
        "#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]",
        f"pub struct {name}({integer});",
        "#[allow(non_upper_case_globals, missing_docs, dead_code)]",
        f"impl {name} {{",
        *constants,
        "    /// The value of this number, known or not.",
        f"    pub const fn from_raw(raw: {integer}) -> Self {{",
        "        Self(raw)",
        "    }",
        "    /// The number.",
        f"    pub const fn as_raw(self) -> {integer} {{",
        "        self.0",
        "    }",
        "}",
        f"impl ::core::convert::TryFrom<i64> for {name} {{",
        "    type Error = tvm_ffi::Error;",
        "    fn try_from(value: i64) -> tvm_ffi::Result<Self> {",
        "        match value {",
        f"            {known} => Ok(Self(value as {integer})),",
        f'            _ => tvm_ffi::bail!(tvm_ffi::VALUE_ERROR, "{{value}} is no {name}"),',
        "        }",
        "    }",
        "}",
    ]


def _essence(text: str) -> str:
    """Code without imports, comments and the freedom that rustfmt has."""
    lines = [line.strip() for line in text.splitlines()]
    code = " ".join(line for line in lines if not line.startswith(("//", "use ")))
    return re.sub(r"\s+|,(?=\s*[)\]}>])", "", code)
