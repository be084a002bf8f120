# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Command ``tvm-ffi-config``: what is needed to compile against tvm_ffi."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from . import libinfo


def _find_libdir() -> str:
    """Folder of the core library."""
    return str(Path(libinfo.find_libtvm_ffi()).parent)


def _include_flags() -> str:
    paths = (libinfo.find_include_path(), libinfo.find_dlpack_include_path())
    return " ".join(f"-I{path}" for path in paths)


# Option -> (help, what to print).
_QUERIES: dict[str, tuple[str, Callable[[], str]]] = {
    "includedir": ("folder of the headers", libinfo.find_include_path),
    "dlpack-includedir": ("folder of dlpack/dlpack.h", libinfo.find_dlpack_include_path),
    "cmakedir": ("folder of the CMake package", libinfo.find_cmake_path),
    "sourcedir": ("folder of the sources", libinfo.find_source_path),
    "libfiles": ("path of the library to link", libinfo.find_libtvm_ffi),
    "libdir": ("folder of the library", _find_libdir),
    "libs": ("linker flag of the library", lambda: "-ltvm_ffi"),
    "cython-lib-path": ("path of the extension module", libinfo.find_cython_lib),
    "cxxflags": ("flags for a C++ compiler", lambda: f"{_include_flags()} -std=c++17"),
    "cflags": ("flags for a C compiler", _include_flags),
    "ldflags": ("flags for the linker", lambda: f"-L{_find_libdir()}"),
}


def __main__() -> None:
    """Print one line for each option given."""
    parser = argparse.ArgumentParser(
        prog="tvm-ffi-config", description="Print what is needed to compile against tvm_ffi."
    )
    for name, (text, _) in _QUERIES.items():
        parser.add_argument(f"--{name}", action="store_true", help=f"print the {text}")
    if len(sys.argv) == 1:
        parser.print_help()
        return
    args = parser.parse_args()
    for name, (_, query) in _QUERIES.items():
        if getattr(args, name.replace("-", "_")):
            print(query())


if __name__ == "__main__":
    __main__()
