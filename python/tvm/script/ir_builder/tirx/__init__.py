# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Frames and functions that build primitive functions; scripts see them as ``T.*``."""

import re

from tvm.script.ir_builder.base import meta_var

from . import buffers as _buffers
from . import control as _control
from . import exprs as _exprs
from . import frame
from . import sblock as _sblock
from . import scopes as _scopes
from . import values as _values
from .buffers import *
from .control import *
from .exprs import *
from .sblock import *
from .scopes import *
from .scopes import NAMESPACES as _NAMESPACES
from .values import (
    DTYPES,
    DType,
    LetAnnotation,
    Ptr,
    ScalarVar,
    TensorMap,
    Tuple,
    VectorAnnotation,
    boolean,
    handle,
    let,
    ptr,
    void,
)

# Vectors of lanes other than the named ones.
_VECTOR_DTYPE = re.compile(r"(u?int|b?float|bool)\w*x(vscalex)?\d+")
_LAYOUT_NAMES = frozenset(
    ["S", "R", "Iter", "Layout", "TileLayout", "ComposeLayout", "SMEMPool", "TMEMPool", "smem",
     "tmem", "wg_reg_tile", "alloc_tcgen05_ldst_frag", "alloc_cast_frag"]
)  # fmt: skip


def __getattr__(name: str):
    if name in DTYPES:
        value = DTYPES[name]
    elif name in _NAMESPACES:
        return _NAMESPACES[name]
    elif _VECTOR_DTYPE.fullmatch(name):
        value = DType(name)
    elif name in _LAYOUT_NAMES:
        value = _layout_name(name)
    elif name in ("ExecScope", "ScopeIdDef"):
        from tvm import tirx

        value = getattr(tirx, name)
    else:
        value = None if name.startswith("_") else _exprs.operator_function(name)
        if value is None:
            raise AttributeError(
                f"T has no name {name!r}, and there is no operator tirx.{name} in this build"
            )
    globals()[name] = value
    return value


def _layout_name(name: str):
    import importlib

    for module in ("tvm.tirx.layout", "tvm.tirx.lib"):
        try:
            return getattr(importlib.import_module(module), name)
        except (ModuleNotFoundError, AttributeError):
            continue
    raise AttributeError(f"T.{name} needs layouts, which are not part of this build")


__all__ = [
    *_buffers.__all__, *_control.__all__, *_exprs.__all__, *_sblock.__all__, *_scopes.__all__,
    *DTYPES, *_NAMESPACES, "DTYPES", "DType", "LetAnnotation", "Ptr", "ScalarVar", "TensorMap",
    "Tuple", "VectorAnnotation", "boolean", "frame", "handle", "let", "meta_var", "ptr", "void",
]  # fmt: skip


def __dir__():
    return sorted({*__all__, *_LAYOUT_NAMES, "ExecScope", "ScopeIdDef"})
