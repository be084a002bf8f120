# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Python stubs."""

from __future__ import annotations

import keyword
from collections.abc import Callable
from pathlib import Path

from ..core import TypeSchema
from .blocks import Piece, SourceFile
from .registry_info import FunctionInfo, NamedSchema, ObjectInfo

# Origin -> what values read are, and what may be passed.
_ABSTRACT = {
    "Array": ("collections.abc.Sequence", "collections.abc.Sequence"),
    "List": ("collections.abc.MutableSequence", "collections.abc.Sequence"),
    "Map": ("collections.abc.Mapping", "collections.abc.Mapping"),
    "Dict": ("collections.abc.MutableMapping", "collections.abc.Mapping"),
}
_PLAIN = frozenset(("int", "float", "bool", "str", "bytes", "None", "tuple", "Optional", "Union"))
_QUALIFIED = {
    "Any": "typing.Any",
    "Callable": "typing.Callable",
    "Object": "tvm_ffi.Object",
    "Tensor": "tvm_ffi.Tensor",
    "dtype": "tvm_ffi.dtype",
    "Device": "tvm_ffi.Device",
    "ctypes.c_void_p": "ctypes.c_void_p",
    "ffi.Object": "tvm_ffi.Object",
    "ffi.Error": "tvm_ffi.core.Error",
    "ffi.OpaquePyObject": "typing.Any",
    "ffi.Enum": "tvm_ffi.dataclasses.Enum",
    "ffi.IntEnum": "tvm_ffi.dataclasses.IntEnum",
    "ffi.StrEnum": "tvm_ffi.dataclasses.StrEnum",
    "ffi.EnumState": "tvm_ffi.dataclasses.EnumState",
    "ffi.reflection.AccessPath": "tvm_ffi.access_path.AccessPath",
    "ffi.reflection.AccessStep": "tvm_ffi.access_path.AccessStep",
}
# First part of a key -> package of its classes.
_PACKAGES = {"testing": "tvm_ffi.testing", "ffi": "tvm_ffi"}


class Imports:
    """Names that the blocks of one file need."""

    def __init__(self) -> None:
        self.runtime: dict[str, set[str]] = {}
        self.typing_only: dict[str, set[str]] = {}
        self.exported: set[str] = set()

    def add(self, qualified: str, *, type_only: bool, alias: str = "") -> str:
        """Import `module.name`; returns the name it gets."""
        module, _, name = qualified.rpartition(".")
        entry = name if not alias or alias == name else f"{name} as {alias}"
        table = self.typing_only if type_only else self.runtime
        table.setdefault(module, set()).add(entry)
        return alias or name

    def lines(self, indent: int) -> list[str]:
        """Content of the import section."""
        out = ["# fmt: off", "# isort: off", "from __future__ import annotations"]
        runtime = {module: set(names) for module, names in self.runtime.items()}
        typing_only = {
            module: {n for n in names if n not in runtime.get(module, ())}
            for module, names in self.typing_only.items()
        }
        typing_only = {module: names for module, names in typing_only.items() if names}
        if typing_only:
            runtime.setdefault("typing", set()).add("TYPE_CHECKING")
        out += [_import_line(module, names) for module, names in sorted(runtime.items())]
        if typing_only:
            out.append("if TYPE_CHECKING:")
            pad = " " * indent
            out += [pad + _import_line(m, names) for m, names in sorted(typing_only.items())]
        return [*out, "# isort: on", "# fmt: on"]


def _import_line(module: str, names: set[str]) -> str:
    if not module:
        return f"import {', '.join(sorted(names))}"
    return f"from {module} import {', '.join(sorted(names))}"


class PythonTarget:
    """Fills the blocks of Python files.

    Args:
        functions: Global functions by prefix.
        lookup: Gives the members of a type.
        ty_map: Type key -> qualified name, from the directives.
        indent: Columns that members of a block are moved in.
    """

    suffixes = (".py", ".pyi")
    directives = ("ty-map", "import-object", "skip-file")

    def __init__(
        self,
        functions: dict[str, list[FunctionInfo]],
        lookup: Callable[[str, int], ObjectInfo],
        ty_map: dict[str, str],
        indent: int,
    ) -> None:
        self.functions = functions
        self.lookup = lookup
        self.ty_map = ty_map
        self.indent = indent
        self.imports = Imports()
        self.defined: set[str] = set()

    def is_current(self, source: SourceFile) -> bool:
        """Whether the file says what it should."""
        return source.text() == source.original

    def refine(self, verdicts: dict) -> dict:
        """The coverage report as it is: Python mirrors no layouts."""
        return verdicts

    def fill(self, source: SourceFile) -> None:
        """Regenerate every block of a file."""
        self.imports = Imports()
        self.defined = {p.param for p in source.blocks if p.kind == "object"}
        for piece in source.directives("import-object"):
            self._import_object(piece)
        for piece in source.blocks:
            if piece.kind == "global":
                piece.fill(self._global_block(piece))
            elif piece.kind == "object":
                piece.fill(self._object_block(piece))
            elif piece.kind == "export":
                piece.fill(_export_block(piece.param))
        for piece in source.blocks:
            if piece.kind == "import-section":
                piece.fill(self.imports.lines(self.indent))
            elif piece.kind == "__all__":
                piece.fill([f'"{name}",' for name in sorted(self.imports.exported)])

    def _import_object(self, piece: Piece) -> None:
        parts = [part.strip() for part in piece.param.split(";")]
        if not parts[0]:
            raise ValueError(f"Invalid import-object format at line {piece.line}")
        name = parts[0]
        type_only = len(parts) > 1 and parts[1].lower() == "true"
        alias = parts[2] if len(parts) > 2 else ""
        if alias == "_FFI_LOAD_LIB":
            self.imports.exported.add("LIB")
        self.imports.add(self._qualified(name), type_only=type_only, alias=alias)

    def _qualified(self, origin: str) -> str:
        if origin in self.ty_map:
            return self.ty_map[origin]
        if origin in _QUALIFIED:
            return _QUALIFIED[origin]
        head, dot, rest = origin.partition(".")
        return f"{_PACKAGES[head]}.{rest}" if dot and head in _PACKAGES else origin

    def _name(self, origin: str, *, is_input: bool) -> str:
        if origin in _PLAIN:
            return origin
        if origin in _ABSTRACT:
            return self.imports.add(_ABSTRACT[origin][is_input], type_only=True)
        if origin in self.defined:
            return origin.rpartition(".")[2]
        return self.imports.add(self._qualified(origin), type_only=True)

    def type_text(self, schema: TypeSchema, *, is_input: bool) -> str:
        """Annotation of a type."""
        if is_input:
            return schema.input_repr(lambda origin: self._name(origin, is_input=True))
        return schema.repr(lambda origin: self._name(origin, is_input=False))

    # -- blocks -------------------------------------------------------------------------------

    def _global_block(self, piece: Piece) -> list[str]:
        prefix = piece.param.partition("@")[0]
        functions = [f for f in self.functions.get(prefix, []) if not keyword.iskeyword(f.name)]
        self.imports.add("tvm_ffi.init_ffi_api", type_only=False, alias="_FFI_INIT_FUNC")
        self.imports.exported.update(f.name for f in functions)
        out = ["# fmt: off", f'_FFI_INIT_FUNC("{prefix}", __name__)']
        if functions:
            out += self._guarded([self._signature(f) for f in functions])
        return [*out, "# fmt: on"]

    def _guarded(self, rows: list[str]) -> list[str]:
        self.imports.add("typing.TYPE_CHECKING", type_only=False)
        return ["if TYPE_CHECKING:", *(" " * self.indent + row for row in rows)]

    def _object_block(self, piece: Piece) -> list[str]:
        info = self.lookup(piece.param, piece.line)
        self.imports.exported.add(info.name)
        out = ["# fmt: off"]
        out += [f"{f.name}: {self.type_text(f.schema, is_input=False)}" for f in info.fields]
        rows = self._constructor_rows(info)
        for method in sorted(info.methods, key=lambda m: (not m.is_member, m.name)):
            if method.name == "__ffi_init__" or not method.name.isidentifier():
                continue
            if not method.is_member:
                rows.append("@staticmethod")
            rows.append(self._signature(method))
        if rows:
            out += self._guarded(rows)
        return [*out, "# fmt: on"]

    def _constructor_rows(self, info: ObjectInfo) -> list[str]:
        if info.init_fields is None:
            return []
        listed = self._init_parameters(info.init_fields)
        rows = [f"def __init__({listed}) -> None: ..."]
        explicit = [m for m in info.methods if m.name == "__ffi_init__"]
        if explicit:
            schema = explicit[0].schema
            params = [] if schema is None else list((schema.named_args or {}).get("params", ()))
            texts = [f"_{i}: {self.type_text(p, is_input=True)}" for i, p in enumerate(params)]
            listed = ", ".join(["self", *texts, *(["/"] if texts else [])])
        rows.append(f"def __ffi_init__({listed}) -> None: ...")
        return rows

    def _init_parameters(self, fields: list[NamedSchema]) -> str:
        out = ["self"]
        starred = False
        for item in fields:
            if item.kw_only and not starred:
                out.append("*")
                starred = True
            default = " = ..." if item.has_default else ""
            out.append(f"{item.name}: {self.type_text(item.schema, is_input=True)}{default}")
        return ", ".join(out)

    def _signature(self, function: FunctionInfo) -> str:
        receiver = ["self"] if function.is_member else []
        groups = None if function.schema is None else function.schema.named_args
        if groups is None or "params" not in groups:
            anything = self.imports.add("typing.Any", type_only=True)
            listed = ", ".join([*receiver, f"*args: {anything}"])
            return f"def {function.name}({listed}) -> {anything}: ..."
        params = groups["params"]
        texts = list(receiver)
        first = 1 if function.is_member else 0
        for i, schema in enumerate(params[first:], first):
            texts.append(f"_{i}: {self.type_text(schema, is_input=True)}")
        if texts:
            texts.append("/")
        result = self.type_text(groups["return"][0], is_input=False)
        return f"def {function.name}({', '.join(texts)}) -> {result}: ..."


def _export_block(module: str) -> list[str]:
    alias = f"{module.replace('.', '_')}__all__"
    return [
        "# fmt: off",
        "# isort: off",
        f"from .{module} import *  # noqa: F403",
        f"from .{module} import __all__ as {alias}",
        'if "__all__" not in globals():',
        "    __all__ = []",
        f"__all__.extend({alias})",
        "# isort: on",
        "# fmt: on",
    ]


# --- new packages ----------------------------------------------------------------------------


def initial_api_file(
    existing: str, prefix: str, objects: list[ObjectInfo], pypkg: str, lib: str, is_root: bool
) -> str:
    """Text of ``_ffi_api.py`` with blocks for what it does not declare yet."""
    tag = "# tvm-ffi-stubgen"
    out = [existing.rstrip("\n")] if existing else [f'"""FFI API bindings for {prefix}."""', ""]

    def add_missing(begin: str, rows: list[str]) -> None:
        if f"{tag}(begin): {begin}\n" not in existing + "\n":
            out.extend(rows)

    add_missing("import-section", [f"{tag}(begin): import-section", f"{tag}(end)"])
    if is_root and "_FFI_LOAD_LIB(" not in existing:
        out += [
            f"{tag}(import-object): tvm_ffi.libinfo.load_lib_module;False;_FFI_LOAD_LIB",
            f'LIB = _FFI_LOAD_LIB("{pypkg}", "{lib}")',
        ]
    add_missing(f"global/{prefix}", [f"{tag}(begin): global/{prefix}", f"{tag}(end)"])
    declared = {info.type_key for info in objects}
    if objects and "_FFI_REG_OBJ" not in existing:
        out.append(f"{tag}(import-object): tvm_ffi.register_object;False;_FFI_REG_OBJ")
    for info in objects:
        add_missing(f"object/{info.type_key}", _class_rows(info, declared, tag))
    add_missing(
        "__all__",
        ["__all__ = [", f"    {tag}(begin): __all__", f"    {tag}(end)", "]"],
    )
    return "\n".join(out) + "\n"


def _class_rows(info: ObjectInfo, declared: set[str], tag: str) -> list[str]:
    parent = info.parent_key or "ffi.Object"
    rows = []
    if parent in declared:
        base = parent.rpartition(".")[2]
    else:
        base = "_" + parent.replace(".", "_")
        rows.append(f"{tag}(import-object): {parent};False;{base}")
    return [
        *rows,
        f'@_FFI_REG_OBJ("{info.type_key}")',
        f"class {info.name}({base}):",
        f'    """FFI binding for `{info.type_key}`."""',
        "",
        f"    {tag}(begin): object/{info.type_key}",
        f"    {tag}(end)",
        "",
    ]


def initial_init_file(existing: str, prefix: str) -> str:
    """Text of ``__init__.py`` that exports what ``_ffi_api.py`` defines."""
    tag = "# tvm-ffi-stubgen"
    if f"{tag}(begin): export/_ffi_api" in existing:
        return existing
    head = existing if existing else f'"""Package {prefix}."""\n\n'
    return f"{head}{tag}(begin): export/_ffi_api\n{tag}(end)\n"


def package_folder(root: Path, prefix: str) -> Path:
    """Folder of the package for a prefix such as ``a.b``."""
    return root.joinpath(*prefix.split("."))
