# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Directories that may hold native files. Kept tiny: every import of the package runs it."""

import os
import sys

# Tells this package apart from others that import under the same name.
DISTRIBUTION = "opentvm-ffi"

PACKAGE = os.path.dirname(os.path.abspath(__file__))


def dev_root() -> str | None:
    """Root of the source tree this package lies in, or None when installed."""
    ffi = os.path.dirname(os.path.dirname(PACKAGE))
    if os.path.isfile(os.path.join(ffi, "include", "tvm", "ffi", "c_api.h")):
        return os.path.dirname(ffi)
    return None


def library_dirs() -> list[str]:
    """Directories searched for native libraries, first match wins."""
    dirs = []
    override = os.environ.get("TVM_LIBRARY_PATH")
    if override:
        dirs.append(override)
    dirs.append(os.path.join(PACKAGE, "lib"))
    root = dev_root()
    if root is not None:
        dirs.append(os.path.join(root, "build", "lib"))
        dirs.append(os.path.join(root, "ffi", "build", "lib"))
        dirs.append(os.path.join(root, "lib"))
    return dirs


def library_name(target: str) -> str:
    """File name of a shared library on this platform."""
    if sys.platform == "darwin":
        return f"lib{target}.dylib"
    if sys.platform == "win32":
        return f"{target}.dll"
    return f"lib{target}.so"


def loaded_copies(name: str) -> list[str]:
    """Files of that name which this process has mapped; empty where the system does not tell."""
    try:
        with open("/proc/self/maps", "rb") as maps:
            text = maps.read()
    except OSError:
        return []
    ending = b"/" + name.encode()
    if ending not in text:
        return []
    rows = (row.split(None, 5) for row in text.splitlines())
    paths = {row[5] for row in rows if len(row) == 6 and row[5].endswith(ending)}
    return sorted(os.fsdecode(path) for path in paths)


def refuse_second_copy(path: str) -> None:
    """Raise ImportError if another copy of the library at `path` is loaded.

    Types, functions and errors of one copy are unknown to the other, and symbols of the two would
    mix: objects that cross over corrupt memory.
    """
    for other in loaded_copies(os.path.basename(path)):
        if not os.path.exists(other) or not os.path.samefile(other, path):
            raise ImportError(
                f"tvm_ffi would load {path}, but this process already uses another copy of the "
                f"library, {other}; two copies cannot work together. Import tvm_ffi before the "
                "package that brings the other one, or remove one of them."
            )
