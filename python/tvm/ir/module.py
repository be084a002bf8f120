# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Modules of functions."""

from __future__ import annotations

from tvm.runtime.scriptable import Scriptable
from tvm_ffi import register_object

from . import _ffi_api
from .attrs import DictAttrs
from .base import Node
from .expr import GlobalVar


@register_object("ir.IRModule")
class IRModule(Node, Scriptable):
    """Functions by name, with attributes and global infos.

    Args:
        functions: GlobalVar or name -> function.
        attrs: Module attributes.
        global_infos: Name -> list of GlobalInfo.
    """

    __slots__ = ("__dict__",)

    def __init__(self, functions=None, attrs=None, global_infos=None) -> None:
        mapping = {}
        for key, function in (functions or {}).items():
            if isinstance(key, str):
                key = GlobalVar(key)
            if not isinstance(key, GlobalVar):
                raise TypeError(f"Expect functions to be Dict[GlobalVar, Function], got {key!r}")
            mapping[key] = function
        if attrs is not None and not isinstance(attrs, DictAttrs):
            attrs = DictAttrs(attrs)
        self.__init_handle_by_constructor__(
            _ffi_api.IRModule, _by_identity(mapping), attrs, dict(global_infos or {})
        )
        self.pyfuncs = {}

    @staticmethod
    def from_expr(expr, functions=None) -> IRModule:
        """Module of one function.

        Its name is the attribute ``global_symbol``, else ``main``.
        """
        return _ffi_api.Module_FromExpr(expr, _by_identity(functions or {}))

    def __setitem__(self, var, value) -> None:
        _ffi_api.Module_Add(self, var, value, True)

    def __getitem__(self, var):
        """Function of a name or GlobalVar.

        Raises:
            ValueError: There is none.
        """
        if isinstance(var, str):
            return _ffi_api.Module_Lookup_str(self, var)
        if isinstance(var, GlobalVar):
            return _ffi_api.Module_Lookup(self, var)
        raise TypeError(f"expected a name or GlobalVar, got {type(var).__name__}")

    def __delitem__(self, var) -> None:
        _ffi_api.Module_Remove(self, var)

    def __contains__(self, var) -> bool:
        return bool(_ffi_api.Module_Contains(self, var))

    def update(self, other) -> None:
        """Take over all functions of another module or dict."""
        if isinstance(other, dict):
            other = IRModule(other)
        _ffi_api.Module_Update(self, other)

    def update_func(self, var: GlobalVar, func) -> None:
        """Replace a function."""
        _ffi_api.Module_UpdateFunction(self, var, func)

    def update_global_info(self, name: str, global_info) -> None:
        """Replace the global infos of a name."""
        _ffi_api.Module_UpdateGlobalInfo(self, name, list(global_info))

    def get_global_var(self, name: str) -> GlobalVar:
        """GlobalVar of a name.

        Raises:
            ValueError: There is none; the message lists the candidates.
        """
        return _ffi_api.Module_GetGlobalVar(self, name)

    def get_global_vars(self):
        """All GlobalVars."""
        return _ffi_api.Module_GetGlobalVars(self)

    def functions_items(self) -> list:
        """Pairs of GlobalVar and function, sorted by name."""
        return sorted(self.functions.items(), key=lambda item: str(item[0].name_hint))

    def replace_global_vars(self, replacements) -> IRModule:
        """Copy with renamed functions.

        Args:
            replacements: Old -> new, as names or GlobalVars.
        """
        pairs = {}
        for old, new in replacements.items():
            old = self.get_global_var(old) if isinstance(old, str) else old
            new = GlobalVar(new) if isinstance(new, str) else new
            pairs[old] = new
        return _ffi_api.Module_ReplaceGlobalVars(self, _by_identity(pairs))

    def clone(self) -> IRModule:
        """Copy that shares the functions."""
        copy = _ffi_api.Module_Clone(self)
        copy.pyfuncs = dict(self.pyfuncs)
        return copy

    def get_attr(self, attr_key: str):
        """Module attribute, or None."""
        return _ffi_api.Module_GetAttr(self, attr_key)

    def with_attr(self, attr_key: str, attr_value) -> IRModule:
        """Copy with an attribute set."""
        return _ffi_api.Module_WithAttr(self, attr_key, attr_value)

    def without_attr(self, attr_key: str) -> IRModule:
        """Copy without an attribute."""
        return _ffi_api.Module_WithoutAttr(self, attr_key)

    def with_attrs(self, attr_map) -> IRModule:
        """Copy with all attributes of a dict set."""
        return _ffi_api.Module_WithAttrs(self, dict(attr_map.items()))

    def __getattr__(self, name):
        if name == "pyfuncs":
            self.pyfuncs = {}
            return self.__dict__["pyfuncs"]
        raise AttributeError(f"IRModule has no attribute {name!r}")


def _by_identity(mapping):
    """Map keyed by expressions: their ``==`` builds IR, so the FFI compares objects instead."""
    from tvm_ffi import Map

    return mapping if isinstance(mapping, Map) else Map(list(mapping.items()))
