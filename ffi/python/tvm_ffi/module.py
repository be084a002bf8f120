# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Modules: libraries and other bundles of functions."""

from __future__ import annotations

import os
from enum import IntEnum

from . import _ffi_api, core
from .registry import register_object


class ModulePropertyMask(IntEnum):
    """What a module can do; bits of :py:meth:`Module.get_property_mask`."""

    BINARY_SERIALIZABLE = 1
    RUNNABLE = 2
    COMPILATION_EXPORTABLE = 4


@register_object("ffi.Module")
class Module(core.Object):
    """A bundle of functions: a loaded library, compiled code, an executable."""

    __slots__ = ("__dict__",)

    #: Name of the function that a call of the module runs.
    entry_name = "main"

    @property
    def kind(self) -> str:
        """Kind of the module, e.g. ``"library"``."""
        return _ffi_api.ModuleGetKind(self)

    @property
    def imports(self):
        """Modules this one imports."""
        return self.imports_

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        """Tell whether the module (or an import) has a function."""
        return _ffi_api.ModuleImplementsFunction(self, name, query_imports)

    def get_function(self, name: str, query_imports: bool = False):
        """Look up a function.

        Raises:
            AttributeError: There is none of that name.
        """
        function = _ffi_api.ModuleGetFunction(self, name, query_imports)
        if function is None:
            raise AttributeError(f"Module has no function '{name}'")
        return function

    def get_function_metadata(self, name: str, query_imports: bool = False) -> dict | None:
        """Metadata of a function as a dict; None if it has none."""
        text = _ffi_api.ModuleGetFunctionMetadata(self, name, query_imports)
        if text is None:
            return None
        import json

        return json.loads(text)

    def get_function_doc(self, name: str, query_imports: bool = False) -> str | None:
        """Doc text of a function; None if it has none."""
        return _ffi_api.ModuleGetFunctionDoc(self, name, query_imports)

    def import_module(self, module: Module) -> None:
        """Add an import; lookups with ``query_imports`` see its functions."""
        _ffi_api.ModuleImportModule(self, module)

    def clear_imports(self) -> None:
        """Remove all imports."""
        _ffi_api.ModuleClearImports(self)

    def inspect_source(self, fmt: str = "") -> str:
        """Source text the module keeps, e.g. assembly."""
        return _ffi_api.ModuleInspectSource(self, fmt)

    def get_write_formats(self):
        """Formats :py:meth:`write_to_file` accepts."""
        return _ffi_api.ModuleGetWriteFormats(self)

    def get_property_mask(self) -> int:
        """Bits of :py:class:`ModulePropertyMask`."""
        return _ffi_api.ModuleGetPropertyMask(self)

    def is_runnable(self) -> bool:
        """Functions can be called."""
        return bool(self.get_property_mask() & ModulePropertyMask.RUNNABLE)

    def is_binary_serializable(self) -> bool:
        """The module can be stored inside a library."""
        return bool(self.get_property_mask() & ModulePropertyMask.BINARY_SERIALIZABLE)

    def is_compilation_exportable(self) -> bool:
        """The module can be exported as object file or source."""
        return bool(self.get_property_mask() & ModulePropertyMask.COMPILATION_EXPORTABLE)

    def write_to_file(self, file_name, fmt: str = "") -> None:
        """Write the module to a file."""
        _ffi_api.ModuleWriteToFile(self, os.fspath(file_name), fmt)

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        function = self.get_function(name)
        self.__dict__[name] = function
        return function

    def __getitem__(self, name):
        if not isinstance(name, str):
            raise ValueError(f"function name must be a str, got {type(name).__name__}")
        return self.get_function(name)

    def __call__(self, *args):
        try:
            main = self.__dict__["main"]
        except KeyError:
            main = self.__dict__["main"] = self.get_function(self.entry_name)
        return main(*args)


def load_module(path, keep_module_alive: bool = True) -> Module:
    """Load a module from a file.

    Args:
        path: File; its suffix selects the loader.
        keep_module_alive: Never unload. Without it the library goes when the module and its
            functions are gone, unless something of it may be left elsewhere.

    Raises:
        RuntimeError: The file cannot be loaded.
    """
    module = _ffi_api.ModuleLoadFromFile(os.fspath(path))
    if keep_module_alive:
        _ffi_api.ModuleGlobalsAdd(module)
    return module


def system_lib(symbol_prefix: str = "") -> Module:
    """Module of the functions linked into this process.

    Args:
        symbol_prefix: Prefix put before every function name.
    """
    return _ffi_api.SystemLib(symbol_prefix)
