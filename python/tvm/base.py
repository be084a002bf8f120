# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Loading of the native libraries."""

from __future__ import annotations

import ctypes
import os
import sys

import tvm_ffi
import tvm_ffi.registry

from . import libinfo

# True when there is no compiler, by wish or because its library is missing.
_RUNTIME_ONLY = os.environ.get("TVM_USE_RUNTIME_LIB") == "1"

# Handles by library name, kept for the life of the process.
_LOADED_LIBS: dict[str, ctypes.CDLL] = {}


def _refuse_foreign_files() -> None:
    """Stop early when files of another distribution lie where ours should."""
    if getattr(tvm_ffi._paths, "DISTRIBUTION", None) != "opentvm-ffi":
        raise ImportError(
            "tvm (opentvm) needs the tvm_ffi package of opentvm-ffi, but found another one at "
            f"{os.path.dirname(tvm_ffi.__file__)}. Uninstall the other distribution "
            "(pip uninstall apache-tvm-ffi) and install opentvm-ffi."
        )
    package = os.path.dirname(os.path.abspath(__file__))
    for foreign in ("libtvm.so", "lib/libtvm.so", "libtvm_allvisible.so", "_ffi", "tir", "relay"):
        path = os.path.join(package, foreign)
        if os.path.exists(path):
            raise ImportError(
                f"{path} belongs to another distribution of tvm that was installed into the same "
                "folder. Uninstall it, then install opentvm again."
            )


def _check_one_core() -> None:
    """Exactly one libtvm_ffi may be mapped: two would have two type tables."""
    if not sys.platform.startswith("linux"):
        return
    name = tvm_ffi._paths.library_name("tvm_ffi")
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        paths = {line.rstrip().partition("/")[2] for line in maps if f"/{name}" in line}
    if len(paths) > 1:
        listing = "\n".join(f"/{path}" for path in sorted(paths))
        raise ImportError(f"more than one {name} is loaded; keep one of:\n{listing}")


def _load(target: str, mode: int) -> ctypes.CDLL:
    """Load a native library of this package once.

    Raises:
        RuntimeError: The library cannot be found.
        OSError: It cannot be loaded.
    """
    if target in _LOADED_LIBS:
        return _LOADED_LIBS[target]
    path = libinfo.find_library(target)
    if path is None:
        listing = "\n".join(libinfo.package_lib_paths())
        raise RuntimeError(f"Cannot find library {target}; searched directories:\n{listing}")
    _LOADED_LIBS[target] = ctypes.CDLL(path, mode)
    return _LOADED_LIBS[target]


def _load_optional(target: str, mode: int) -> bool:
    """Load a library that need not be there; tell whether it was."""
    try:
        _load(target, mode)
    except (RuntimeError, OSError):
        return False
    return True


_refuse_foreign_files()
_load("tvm_runtime", ctypes.RTLD_GLOBAL)
if not _RUNTIME_ONLY:
    try:
        _load("tvm_compiler", ctypes.RTLD_LOCAL)
    except (RuntimeError, OSError):
        _RUNTIME_ONLY = True
if _RUNTIME_ONLY:
    tvm_ffi.registry._SKIP_UNKNOWN_OBJECTS = True
_check_one_core()


def load_backend_libs() -> None:
    """Load the device runtimes and backends that are installed."""
    from .backend import load_all

    load_all()
