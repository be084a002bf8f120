# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Load compiled object files into the process as modules, by LLVM's ORC JIT."""

import ctypes
from pathlib import Path

from tvm_ffi.libinfo import load_lib_ctypes

__version__ = "0.1.16"

#: Keeps the native library loaded.
_LIBRARY = load_lib_ctypes(
    "opentvm-ffi-orcjit",
    "tvm_ffi_orcjit",
    "RTLD_LOCAL",
    extra_lib_paths=[Path(__file__).resolve().parent / "lib"],
)


def _initialize() -> None:
    initialize = _LIBRARY.TVMFFIOrcJITInitialize
    initialize.restype = ctypes.c_int
    if initialize() != 0:
        raise ImportError("tvm_ffi_orcjit could not register its functions")


_initialize()

from .session import DynamicLibrary, ExecutionSession, default_session  # noqa: E402

__all__ = ["DynamicLibrary", "ExecutionSession", "default_session"]
