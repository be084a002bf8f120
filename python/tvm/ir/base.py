# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Source locations, structural comparison, JSON, node construction."""

from __future__ import annotations

import tvm_ffi
from tvm.runtime import _ffi_node_api
from tvm.runtime.scriptable import _text
from tvm_ffi import Object, get_global_func, register_object
from tvm_ffi.access_path import AccessPath

from . import _ffi_api


class Node(Object):
    """Base class of IR objects."""

    def __repr__(self) -> str:
        return _text(self)


@register_object("ir.SourceName")
class SourceName(Object):
    """Interned name of a source text, e.g. a path.

    Args:
        name: The name.
    """

    def __init__(self, name: str) -> None:
        self.__init_handle_by_constructor__(_ffi_api.SourceName, name)


@register_object("ir.Span")
class Span(Object):
    """Place in a source text; lines and columns count from 1, the end is exclusive.

    Args:
        source_name: Name of the text.
        line: First line.
        end_line: Last line.
        column: First column.
        end_column: Column after the last.
    """

    def __init__(self, source_name, line: int, end_line: int, column: int, end_column: int):
        self.__init_handle_by_constructor__(
            _ffi_api.Span, source_name, line, end_line, column, end_column
        )


@register_object("ir.SequentialSpan")
class SequentialSpan(Object):
    """Several places at once, e.g. a call and the inlined body; nested ones are flattened.

    Args:
        spans: The places.
    """

    def __init__(self, spans) -> None:
        self.__init_handle_by_constructor__(_ffi_api.SequentialSpan, list(spans))


@register_object("ir.Source")
class Source(Object):
    """Source text with its name."""

    def __init__(self, name: SourceName, source: str) -> None:
        self.__init_handle_by_constructor__(_ffi_api.Source, name, source)


@register_object("ir.SourceMap")
class SourceMap(Object):
    """Texts of a module by name."""

    def add(self, name: str, content: str) -> SourceName:
        """Add a text."""
        return _ffi_api.SourceMapAdd(self, name, content)


@register_object("ir.EnvFunc")
class EnvFunc(Object):
    """Global function that is saved by name."""

    def __call__(self, *args):
        return _ffi_api.EnvFuncCall(self, *args)

    @property
    def func(self):
        """The function itself."""
        return _ffi_api.EnvFuncGetFunction(self)

    @staticmethod
    def get(name: str) -> EnvFunc:
        """Look up a global function.

        Raises:
            ValueError: There is none of that name.
        """
        return _ffi_api.EnvFuncGet(name)


def make_node(type_key: str, **fields):
    """Build an object of a registered type from its fields.

    Args:
        type_key: Key of the type.
        fields: Value per field.

    Example:
        >>> make_node("ir.IntImm", value=3, span=None)
    """
    if type_key == "ir.DictAttrs":
        return _ffi_api.DictAttrs(fields)
    if base_is_attrs(type_key):
        return _ffi_api.MakeAttrs(type_key, fields)
    return _ffi_node_api.MakeNode(type_key, fields)


def base_is_attrs(type_key: str) -> bool:
    """Tell whether a type holds operator attributes."""
    info = tvm_ffi.core._lookup_or_register_type_info_from_type_key(type_key)
    while info is not None:
        if info.type_key == "ir.Attrs":
            return True
        info = info.parent_type_info
    return False


def save_json(node) -> str:
    """Write an object and everything it reaches as JSON."""
    return _ffi_node_api.SaveJSON(node)


def load_json(json_str: str):
    """Read what :py:func:`save_json` wrote.

    Raises:
        ValueError: The text is malformed or from a release before the graph format.
    """
    return _ffi_node_api.LoadJSON(json_str)


def structural_equal(lhs, rhs, map_free_vars: bool = False) -> bool:
    """Compare two values by structure; source places and name hints do not count.

    Args:
        lhs: First value.
        rhs: Second value.
        map_free_vars: Let free variables of one side stand for those of the other.
    """
    return tvm_ffi.structural_equal(
        tvm_ffi.convert(lhs), tvm_ffi.convert(rhs), map_free_vars, False
    )


def structural_hash(node, map_free_vars: bool = False) -> int:
    """Hash that agrees with :py:func:`structural_equal`."""
    return tvm_ffi.structural_hash(tvm_ffi.convert(node), map_free_vars, False)


def get_first_structural_mismatch(lhs, rhs, map_free_vars: bool = False):
    """Paths of the first difference: a pair of AccessPath, or None if the values are equal."""
    return tvm_ffi.get_first_structural_mismatch(
        tvm_ffi.convert(lhs), tvm_ffi.convert(rhs), map_free_vars, False
    )


def _render(value, path: AccessPath) -> str:
    """Script with the place at `path` underlined, or the plain text without a printer."""
    if get_global_func("node.TVMScriptPrinterScript", allow_missing=True) is None:
        return str(value)
    from tvm.script.printer import script

    return script(value, syntax_sugar=False, path_to_underline=[path])


def assert_structural_equal(lhs, rhs, map_free_vars: bool = False) -> None:
    """Check that two values are equal by structure.

    Raises:
        ValueError: They differ; the message shows where.
    """
    lhs, rhs = tvm_ffi.convert(lhs), tvm_ffi.convert(rhs)
    mismatch = get_first_structural_mismatch(lhs, rhs, map_free_vars)
    if mismatch is None:
        return
    left, right = mismatch
    raise ValueError(
        f"StructuralEqual check failed, caused by lhs at {left}:\n{_render(lhs, left)}\n"
        f"and rhs at {right}:\n{_render(rhs, right)}"
    )
