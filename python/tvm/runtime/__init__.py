# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Devices, tensors, modules and the virtual machine."""

from tvm._lazy import attach as _attach
from tvm_ffi import Object, ObjectConvertible, Shape, convert
from tvm_ffi import Shape as ShapeTuple
from tvm_ffi.core import String

from ._tensor import Tensor, empty, from_dlpack, tensor
from .device import (
    Device,
    cpu,
    cuda,
    device,
    device_from_target,
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
from .executable import Executable
from .module import (
    BenchmarkResult,
    Module,
    enabled,
    load_module,
    load_static_library,
    num_threads,
    system_lib,
)
from .params import (
    load_param_dict,
    load_param_dict_from_file,
    save_param_dict,
    save_param_dict_to_file,
)
from .scriptable import Scriptable

__getattr__, __dir__ = _attach(__name__, globals(), modules=("vm",))
