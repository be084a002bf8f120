# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Frames and functions that build graph-level functions, and the operators they bind.

Example:
    >>> with IRBuilder() as ib:
    ...     with R.function():
    ...         R.func_name("main")
    ...         x = R.arg("x", relax.TensorType((2, 3), "float32"))
    ...         R.func_ret_value(R.emit(R.add(x, x)))
    >>> func = ib.get()
"""

from . import frame, ops
from .builder import *  # noqa: F403
from .builder import __all__ as _BUILDER

_DEVICES = (
    "cpu",
    "cuda",
    "ext_dev",
    "hexagon",
    "metal",
    "opencl",
    "rocm",
    "vpi",
    "vulkan",
    "webgpu",
)


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    if name in ops.SUBMODULES:
        value = ops.OpNamespace(name)
    elif name in _DEVICES:
        import tvm

        value = getattr(tvm, name)
    else:
        value = ops.lookup(name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*_BUILDER, *ops.SUBMODULES, *_DEVICES, *ops.names(), "frame", "ops"})
