# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Backends: packages ``tvm.backend.<name>`` with a function ``register_backend``.

Other distributions may add packages in a folder ``tvm/backend`` of their own. A backend that is
loaded is also found as ``tvm.tirx.<name>``, where scripts look for its dialect.
"""

from __future__ import annotations

import importlib
import os
import sys
from importlib.machinery import ModuleSpec

_LOADED: dict[str, object] = {}
_OWN_FOLDER = os.path.dirname(os.path.abspath(__file__))
_ALIAS_PREFIX = "tvm.tirx."


class _TirxAliases:
    """Finds ``tvm.tirx.<name>`` and below as the modules of a backend that is loaded."""

    def __init__(self) -> None:
        self._specs: dict[str, ModuleSpec | None] = {}

    @staticmethod
    def real_name(alias: str) -> str | None:
        if not alias.startswith(_ALIAS_PREFIX):
            return None
        rest = alias[len(_ALIAS_PREFIX) :]
        return f"tvm.backend.{rest}" if rest.partition(".")[0] in _LOADED else None

    def find_spec(self, fullname, path=None, target=None) -> ModuleSpec | None:
        real = self.real_name(fullname)
        return None if real is None else ModuleSpec(fullname, self)

    def create_module(self, spec: ModuleSpec):
        module = importlib.import_module(self.real_name(spec.name))
        self._specs[spec.name] = module.__spec__
        return module

    def exec_module(self, module) -> None:
        # The import put its own spec into the module, which has run long ago under its own name.
        module.__spec__ = self._specs.pop(module.__spec__.name)


_ALIASES = _TirxAliases()


def _find_packages() -> None:
    """Look for backends in all folders ``tvm/backend`` that the path of imports has now."""
    found = [_OWN_FOLDER]
    for entry in sys.path:
        folder = os.path.abspath(os.path.join(entry or os.curdir, "tvm", "backend"))
        if folder not in found and os.path.isdir(folder):
            found.append(folder)
    __path__[:] = found


def is_loaded(name: str) -> bool:
    """Tell whether a backend was loaded."""
    return name in _LOADED


def load(name: str):
    """Load a backend once and return its package.

    A failure leaves no module of it behind, so that it can be tried again.

    Raises:
        ImportError: There is no such backend.
        AttributeError: It has no ``register_backend``.
    """
    if name in _LOADED:
        return _LOADED[name]
    package = f"tvm.backend.{name}"
    _find_packages()
    before = set(sys.modules)
    try:
        module = importlib.import_module(package)
        register = getattr(module, "register_backend", None)
        if register is None:
            raise AttributeError(f"Backend package '{package}' has no register_backend()")
        register()
    except BaseException as err:
        _forget(package, before)
        if isinstance(err, ModuleNotFoundError) and err.name == package:
            raise ImportError(
                f"Cannot load TVM backend '{name}': expected Python package '{package}'. Install "
                "the distribution that contains it."
            ) from err
        raise
    _LOADED[name] = module
    if _ALIASES not in sys.meta_path:
        # First: below an alias, the finder of files would load the modules once more.
        sys.meta_path.insert(0, _ALIASES)
    if "tvm.tirx" in sys.modules:
        importlib.import_module(_ALIAS_PREFIX + name)
    return module


def _forget(package: str, before: set[str]) -> None:
    for loaded in set(sys.modules) - before:
        if loaded == package or loaded.startswith(package + "."):
            del sys.modules[loaded]
    globals().pop(package.rpartition(".")[2], None)


def load_all() -> None:
    """Load the built-in backends and those of other distributions."""
    from . import _autoload_backends

    _autoload_backends.autoload()
