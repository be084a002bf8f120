# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Object system, functions and tensors shared between Python, C++ and other languages."""

import os as _os

from . import _paths


def _load_core_library():
    """Load libtvm_ffi so that libraries opened later bind to it, and find ``core`` beside it."""
    import ctypes

    name = _paths.library_name("tvm_ffi")
    for directory in _paths.library_dirs():
        path = _os.path.join(directory, name)
        if _os.path.isfile(path):
            if directory == _os.environ.get("TVM_LIBRARY_PATH"):
                __path__.insert(0, directory)
            else:
                __path__.append(directory)
            break
    else:
        from . import libinfo

        path = libinfo.find_libtvm_ffi()
    _paths.refuse_second_copy(path)
    return ctypes.CDLL(path, ctypes.RTLD_GLOBAL)


LIB = _load_core_library()

from . import core, registry  # noqa: E402
from ._dtype import DTYPE_NAMES as _DTYPE_NAMES  # noqa: E402
from ._dtype import dtype  # noqa: E402
from ._tensor import Device, Shape, Tensor, device, from_dlpack  # noqa: E402
from ._version import __version__, __version_tuple__  # noqa: E402
from .core import (  # noqa: E402
    CAny,
    CContainerBase,
    DLDeviceType,
    Function,
    Object,
    ObjectConvertible,
)
from .registry import (  # noqa: E402
    get_global_func,
    get_global_func_metadata,
    init_ffi_api,
    register_global_func,
    register_object,
    remove_global_func,
)

core.KWARGS = registry.get_global_func("ffi.GetKwargsObject")()
core.MISSING = registry.get_global_func("ffi.GetInvalidObject")()

from . import access_path, container, error, module, serialization, structural  # noqa: E402
from ._convert import convert, convert_func  # noqa: E402
from .container import Array, Dict, List, Map  # noqa: E402
from .error import register_error  # noqa: E402
from .module import Module, load_module, system_lib  # noqa: E402
from .stream import StreamContext, get_raw_stream, use_raw_stream, use_torch_stream  # noqa: E402
from .structural import (  # noqa: E402
    DefRegionKind,
    InplaceMode,
    StructuralKey,
    StructuralMutator,
    StructuralVisitor,
    VisitInterrupt,
    WalkOrder,
    WalkResult,
    get_first_structural_mismatch,
    structural_equal,
    structural_hash,
    structural_map,
    structural_mutate,
    structural_visit,
    structural_walk,
)

globals().update({name: dtype(name) for name in _DTYPE_NAMES})

_LAZY_MODULES = ("cpp", "dataclasses", "libinfo", "testing", "utils")


def __getattr__(name):
    if name in _LAZY_MODULES:
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    if name == "method":
        from .dataclasses import method

        return method
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "LIB",
    "Array",
    "CAny",
    "CContainerBase",
    "DLDeviceType",
    "DefRegionKind",
    "Device",
    "Dict",
    "Function",
    "InplaceMode",
    "List",
    "Map",
    "Module",
    "Object",
    "ObjectConvertible",
    "Shape",
    "StreamContext",
    "StructuralKey",
    "StructuralMutator",
    "StructuralVisitor",
    "Tensor",
    "VisitInterrupt",
    "WalkOrder",
    "WalkResult",
    "__version__",
    "__version_tuple__",
    "access_path",
    "container",
    "convert",
    "convert_func",
    "device",
    "dtype",
    "error",
    "from_dlpack",
    "get_first_structural_mismatch",
    "get_global_func",
    "get_global_func_metadata",
    "get_raw_stream",
    "init_ffi_api",
    "load_module",
    "module",
    "register_error",
    "register_global_func",
    "register_object",
    "registry",
    "remove_global_func",
    "serialization",
    "structural",
    "structural_equal",
    "structural_hash",
    "structural_map",
    "structural_mutate",
    "structural_visit",
    "structural_walk",
    "system_lib",
    "use_raw_stream",
    "use_torch_stream",
]
