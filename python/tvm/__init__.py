# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Machine-learning compiler and runtime.

The parts that every program needs load at once: runtime, base IR, targets. The rest (``tvm.relax``,
``tvm.tirx``, ``tvm.te``, ``tvm.arith``, ``tvm.script``, ...) loads when it is first used.
"""

import os as _os
import sys as _sys

from tvm_ffi import (
    DLDeviceType,
    get_global_func,
    register_error,
    register_global_func,
    register_object,
    remove_global_func,
)
from tvm_ffi import core as _core

from . import base, error, libinfo, runtime
from ._lazy import attach as _attach
from .base import _RUNTIME_ONLY
from .error import DiagnosticError, InternalError, OpError, RPCError
from .libinfo import __version__
from .runtime import (
    Device,
    Tensor,
    cpu,
    cuda,
    device,
    ext_dev,
    hexagon,
    maia,
    metal,
    opencl,
    rocm,
    trn,
    vpi,
    vulkan,
    webgpu,
)

_COMPILER_MODULES = (
    "arith",
    "contrib",
    "driver",
    "ir",
    "relax",
    "rpc",
    "s_tir",
    "script",
    "support",
    "target",
    "te",
    "testing",
    "tirx",
    "topi",
    "tune",
)

# What is of no use without the compiler; the other modules say so function by function.
_NEED_COMPILER = ("relax", "s_tir", "script", "te", "tirx", "topi", "tune")

__getattr__, __dir__ = _attach(
    __name__,
    globals(),
    modules=(*_COMPILER_MODULES, "backend", "cli", "transform", "instrument", "sym"),
    names={
        "IRModule": "ir",
        "compile": "driver",
        "build": "driver",
        "register_op_attr": "ir",
        "register_intrin_lowering": "ir",
        "VirtualMachine": "runtime.vm",
    },
    absent=dict.fromkeys(
        _NEED_COMPILER if _RUNTIME_ONLY else (),
        "it needs the compiler library, which is not loaded (TVM_USE_RUNTIME_LIB=1 leaves it out)",
    ),
)

# An object that comes back from C++ before its module was imported gets its class all the same.
_core._CLASS_PROVIDERS.update(
    {
        "ir": "tvm.ir",
        "transform": "tvm.ir",
        "instrument": "tvm.ir",
        "target": "tvm.target",
        "tirx": "tvm.tirx",
        "te": "tvm.te",
        "arith": "tvm.arith",
        "relax": "tvm.relax",
    }
)


def _install_excepthook() -> None:
    """End child processes with the program, and show refused scripts without a traceback."""
    previous = _sys.excepthook

    def hook(kind, value, trace):
        if "multiprocessing" in _sys.modules:
            from multiprocessing import active_children

            for child in active_children():
                child.terminate()
        if issubclass(kind, DiagnosticError) and not _wants_backtrace():
            print(f"{kind.__name__}: {value}", file=_sys.stderr)
            return
        previous(kind, value, trace)

    _sys.excepthook = hook


def _wants_backtrace() -> bool:
    """``TVM_BACKTRACE`` is a number other than 0, or the program is a test."""
    text = _os.environ.get("TVM_BACKTRACE", "0")
    try:
        number = int(text)
    except ValueError:
        raise ValueError(
            f"invalid value for TVM_BACKTRACE {text!r}, please set to 0 or 1."
        ) from None
    return number != 0 or "pytest" in _sys.modules


_install_excepthook()
base.load_backend_libs()
