# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Frame and functions that build modules."""

from __future__ import annotations

from typing import Any

from tvm._lazy import FFINamespace
from tvm.ir import BaseFunc, DummyGlobalInfo, FuncType, GlobalVar, Op, Range, VDevice
from tvm_ffi import register_object

from .base import IRBuilder, IRBuilderFrame, meta_var

_api = FFINamespace("script.ir_builder.ir")

# Python runs the body of a class before the parser sees it: without a builder the functions below
# that describe the module do nothing.


@register_object("script.ir_builder.IRModuleFrame")
class IRModuleFrame(IRBuilderFrame):
    """Collects the functions of a module."""


def ir_module() -> IRModuleFrame:
    """Open a module."""
    return _api.IRModule()


def decl_function(func_name: str, func_signature: BaseFunc) -> GlobalVar:
    """Declare a function, so that others can call it before it is defined.

    Args:
        func_name: Name.
        func_signature: Function of the same type; its body does not matter.

    Raises:
        ValueError: The module has a function of that name.
        TypeError: The signature is no function.
    """
    if not isinstance(func_signature, BaseFunc):
        raise TypeError(
            f"decl_function expects an instance of BaseFunc, but {func_signature} is of type "
            f"{type(func_signature)}"
        )
    return _api.DeclFunction(func_name, func_signature)


def def_function(func_name: str, func: BaseFunc) -> None:
    """Define a declared function.

    Raises:
        ValueError: It was not declared.
    """
    _api.DefFunction(func_name, func)


def module_attrs(attrs: dict[str, Any], allow_overwrite: bool = False) -> None:
    """Set the attributes of the module.

    Raises:
        ValueError: They were set before, unless `allow_overwrite`.
    """
    if IRBuilder.is_in_scope():
        _api.ModuleAttrs({key: _attr_value(value) for key, value in attrs.items()}, allow_overwrite)


def _attr_value(value: Any) -> Any:
    return value.asobject() if hasattr(value, "asobject") else value


def current_ir_module() -> IRModuleFrame:
    """The module that is being built.

    Raises:
        ValueError: There is none.
    """
    for frame in reversed(list(IRBuilder.current().frames)):
        if isinstance(frame, IRModuleFrame):
            return frame
    raise ValueError("there is no module that is being built")


def module_get_attr(attr_key: str) -> Any:
    """Attribute of the module, or None."""
    return _api.ModuleGetAttr(attr_key) if IRBuilder.is_in_scope() else None


def module_set_attr(attr_key: str, attr_value: Any, allow_overwrite: bool = False) -> None:
    """Set one attribute of the module.

    Raises:
        ValueError: It was set before, unless `allow_overwrite`.
    """
    if IRBuilder.is_in_scope():
        _api.ModuleSetAttr(attr_key, _attr_value(attr_value), allow_overwrite)


def module_global_infos(global_infos: dict[str, list]) -> None:
    """Set the global infos of the module: name -> list of GlobalInfo."""
    if IRBuilder.is_in_scope():
        _api.ModuleGlobalInfos(global_infos)


def vdevice(target=None, vdevice_id: int = 0, memory_scope: str = "global") -> VDevice:
    """Describe a virtual device.

    Args:
        target: Target, its text or options.
        vdevice_id: Number of the device among those of its kind.
        memory_scope: Memory of the device.
    """
    return VDevice(target, vdevice_id, memory_scope)


def lookup_vdevice(target_kind: str | None = None, device_index: int = -1) -> VDevice:
    """Virtual device of the module.

    Args:
        target_kind: Kind of its target; any if left out.
        device_index: Position among those of that kind; -1 is the last.
    """
    return _api.LookupVDevice(target_kind or "", device_index)


def dummy_global_info() -> DummyGlobalInfo:
    """A global info without content."""
    return DummyGlobalInfo()


__all__ = [
    "FuncType",
    "GlobalVar",
    "IRModuleFrame",
    "Op",
    "Range",
    "current_ir_module",
    "decl_function",
    "def_function",
    "dummy_global_info",
    "ir_module",
    "lookup_vdevice",
    "meta_var",
    "module_attrs",
    "module_get_attr",
    "module_global_infos",
    "module_set_attr",
    "vdevice",
]
