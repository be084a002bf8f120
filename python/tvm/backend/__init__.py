# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Backends: packages ``tvm.backend.<name>`` with a function ``register_backend``."""

from __future__ import annotations

import importlib
import sys

_LOADED: dict[str, object] = {}


def is_loaded(name: str) -> bool:
    """Tell whether a backend was loaded."""
    return name in _LOADED


def load(name: str):
    """Load a backend once and return its package.

    Raises:
        ImportError: There is no such backend.
        AttributeError: It has no ``register_backend``.
    """
    if name in _LOADED:
        return _LOADED[name]
    package = f"tvm.backend.{name}"
    before = set(sys.modules)
    try:
        module = importlib.import_module(package)
    except ModuleNotFoundError as err:
        if err.name != package:
            raise
        raise ImportError(
            f"Cannot load TVM backend '{name}': expected Python package '{package}'. Install the "
            "distribution that contains it."
        ) from err
    try:
        register = getattr(module, "register_backend", None)
        if register is None:
            raise AttributeError(f"Backend package '{package}' has no register_backend()")
        register()
    except BaseException:
        for loaded in set(sys.modules) - before:
            if loaded == package or loaded.startswith(package + "."):
                del sys.modules[loaded]
        raise
    _LOADED[name] = module
    return module


def load_all() -> None:
    """Load the built-in backends and those of other distributions."""
    from . import _autoload_backends

    _autoload_backends.autoload()
