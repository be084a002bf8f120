# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Loading of all backends at the end of ``import tvm``."""

from __future__ import annotations

import importlib.util
import os
import warnings

from tvm import base

_BUILTIN_BACKENDS = (
    "cuda", "metal", "rocm", "trn", "opencl", "vulkan", "webgpu", "hexagon", "adreno", "rust",
)  # fmt: skip
_AUTO_LOAD_DONE = False


def autoload() -> None:
    """Load backends once; ``TVM_DEVICE_BACKEND_AUTOLOAD=0`` turns that off."""
    global _AUTO_LOAD_DONE
    if _AUTO_LOAD_DONE or os.environ.get("TVM_DEVICE_BACKEND_AUTOLOAD") == "0":
        return
    _AUTO_LOAD_DONE = True
    from . import load

    for name in _BUILTIN_BACKENDS:
        # A device runtime is useful without the compiler too.
        base._load_optional(f"tvm_runtime_{name}", 0)
        if base._RUNTIME_ONLY or not _is_installed(name):
            continue
        load(name)
    base._load_optional("tvm_runtime_extra", 0)
    for entry in _entry_points():
        try:
            entry.load()()
        except Exception as err:
            warnings.warn(f"Failed to autoload tvm backend '{entry.name}': {err}", stacklevel=2)


def _is_installed(name: str) -> bool:
    return importlib.util.find_spec(f"tvm.backend.{name}") is not None


def _entry_points():
    """Entry points of other distributions, found without importing importlib.metadata if none."""
    import sys

    for folder in sys.path:
        if not folder or not os.path.isdir(folder):
            continue
        for name in os.listdir(folder):
            if name.endswith((".dist-info", ".egg-info")):
                path = os.path.join(folder, name, "entry_points.txt")
                try:
                    with open(path, encoding="utf-8") as text:
                        if "[tvm.backends]" in text.read():
                            return _all_entry_points()
                except OSError:
                    continue
    return []


def _all_entry_points():
    from importlib import metadata

    return metadata.entry_points(group="tvm.backends")
