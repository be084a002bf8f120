# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Devices and what they can tell about themselves."""

from __future__ import annotations

import tvm_ffi
from tvm_ffi import core

from . import _ffi_api

# A remote device's type is that of the device plus 128 * (session + 1).
RPC_SESS_MASK = 128

_ATTR_KINDS = {
    "exist": 0,
    "max_threads_per_block": 1,
    "warp_size": 2,
    "max_shared_memory_per_block": 3,
    "compute_version": 4,
    "device_name": 5,
    "max_clock_rate": 6,
    "multi_processor_count": 7,
    "max_thread_dimensions": 8,
    "api_version": 11,
    "driver_version": 12,
    "l2_cache_size_bytes": 13,
    "total_global_memory": 14,
    "available_global_memory": 15,
    "image_pitch_alignment": 16,
}


def _attribute(name: str, doc: str) -> property:
    kind = _ATTR_KINDS[name]

    def read(self):
        return self._get_device_attr(kind)

    return property(read, doc=doc)


class Device(core.Device):
    """A device: type and index, with its properties and streams."""

    def __device_type_name__(self) -> str:
        kind = self.dlpack_device_type()
        if kind >= RPC_SESS_MASK:
            session = kind // RPC_SESS_MASK - 1
            return f"remote[{session}]:{_plain_name(kind % RPC_SESS_MASK)}"
        return _plain_name(kind)

    def _get_device_attr(self, kind: int):
        return _ffi_api.GetDeviceAttr(self.dlpack_device_type(), self.index, kind)

    @property
    def exist(self) -> bool:
        """The device is there and its runtime is loaded."""
        return bool(self._get_device_attr(_ATTR_KINDS["exist"]))

    max_threads_per_block = _attribute("max_threads_per_block", "Threads a block may have.")
    warp_size = _attribute("warp_size", "Threads that run in lockstep.")
    max_shared_memory_per_block = _attribute(
        "max_shared_memory_per_block", "Bytes of shared memory a block may use."
    )
    compute_version = _attribute("compute_version", 'Version text, e.g. ``"9.0"``.')
    device_name = _attribute("device_name", "Name the vendor gave it.")
    max_clock_rate = _attribute("max_clock_rate", "Clock in kHz.")
    multi_processor_count = _attribute("multi_processor_count", "Number of processors.")
    api_version = _attribute("api_version", "Version of the driver API.")
    driver_version = _attribute("driver_version", "Version of the driver.")
    l2_cache_size_bytes = _attribute("l2_cache_size_bytes", "Bytes of L2 cache.")
    total_global_memory = _attribute("total_global_memory", "Bytes of memory.")
    available_global_memory = _attribute("available_global_memory", "Bytes of free memory.")

    @property
    def max_thread_dimensions(self) -> list[int] | None:
        """Threads a block may have per axis; None if the device does not tell."""
        text = self._get_device_attr(_ATTR_KINDS["max_thread_dimensions"])
        if text is None:
            return None
        import json

        return json.loads(text)

    def texture_spatial_limit(self):
        """Largest extent of a texture."""
        return self._get_device_attr(_ATTR_KINDS["image_pitch_alignment"])

    def create_raw_stream(self) -> int:
        """Make a stream; the caller frees it."""
        return _ffi_api.Device_StreamCreate(self)

    def free_raw_stream(self, stream: int) -> None:
        """Free a stream made by :py:meth:`create_raw_stream`."""
        _ffi_api.Device_StreamFree(self, stream)

    def set_raw_stream(self, stream: int) -> None:
        """Make a stream the current one of this thread."""
        _ffi_api.Device_SetStream(self, stream)

    def sync(self, stream: int | None = None) -> None:
        """Wait for a stream; None means the default one."""
        _ffi_api.Device_StreamSync(self, stream or 0)


def _plain_name(kind: int) -> str:
    name = core.Device._DEVICE_TYPE_TO_NAME.get(kind)
    return f"device_type_{kind}" if name is None else name


core._set_class_device(Device)


def device(device_type, index: int | None = None) -> Device:
    """Make a device from a name such as ``"cuda:1"``, or from a DLPack type number."""
    return tvm_ffi.device(device_type, index)


def _constructor(name: str):
    def make(dev_id: int = 0) -> Device:
        return Device(name, dev_id)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"Make the {name} device of an index."
    return make


cpu = _constructor("cpu")
cuda = _constructor("cuda")
rocm = _constructor("rocm")
opencl = _constructor("opencl")
metal = _constructor("metal")
vulkan = _constructor("vulkan")
vpi = _constructor("vpi")
ext_dev = _constructor("ext_dev")
hexagon = _constructor("hexagon")
webgpu = _constructor("webgpu")
maia = _constructor("maia")
trn = _constructor("trn")

_KIND_DEVICES = {
    "llvm": "cpu",
    "c": "cpu",
    "composite": "cpu",
    "test": "cpu",
    "nvptx": "cuda",
}


def device_from_target(target, index: int | None = None) -> Device:
    """Device that code of a target runs on.

    Args:
        target: Target, or what makes one.
        index: Device number.
    """
    kind = target.kind.name if hasattr(target, "kind") else None
    if kind is None:
        from tvm.target import Target

        kind = Target(target).kind.name
    return Device(_KIND_DEVICES.get(kind, kind), index)
