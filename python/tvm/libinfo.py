# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Where the native files of the package lie. Nothing here loads native code."""

from __future__ import annotations

import os

from tvm_ffi._paths import library_name as _library_name

__version__ = "0.1.0"

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_ROOT = os.path.dirname(os.path.dirname(_PACKAGE))


def package_lib_paths() -> list[str]:
    """Directories searched for the native libraries, first match wins."""
    paths = []
    override = os.environ.get("TVM_LIBRARY_PATH")
    if override:
        paths.append(override)
    paths.append(os.path.join(_PACKAGE, "lib"))
    paths.append(os.path.join(_ROOT, "build", "lib"))
    paths.append(os.path.join(_ROOT, "lib"))
    return paths


def find_library(target: str) -> str | None:
    """Path of a native library of this package, or None."""
    name = _library_name(target)
    for directory in package_lib_paths():
        path = os.path.join(directory, name)
        if os.path.isfile(path):
            return path
    return None


def find_libtvm_runtime() -> str:
    """Path of the runtime library.

    Raises:
        RuntimeError: It is not there.
    """
    path = find_library("tvm_runtime")
    if path is None:
        listing = "\n".join(package_lib_paths())
        raise RuntimeError(f"Cannot find libtvm_runtime; searched:\n{listing}")
    return path


def find_tvm_include_path() -> str:
    """Folder with the headers of this package.

    Raises:
        RuntimeError: It is not there.
    """
    for candidate in (os.path.join(_PACKAGE, "include"), os.path.join(_ROOT, "include")):
        if os.path.isdir(os.path.join(candidate, "tvm", "runtime")):
            return candidate
    raise RuntimeError("Cannot find TVM include path.")


def find_include_path() -> list[str]:
    """Include folders that a client of the C++ API needs: this package's and tvm_ffi's."""
    from tvm_ffi import libinfo

    return [find_tvm_include_path(), *libinfo.include_paths()]
