# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""The stream that FFI functions launch their work on, per device and thread."""

from __future__ import annotations

import sys
from ctypes import c_void_p

from . import core
from ._tensor import device as _device


class StreamContext:
    """Sets a device's stream inside a ``with`` block.

    Args:
        device: The device.
        stream: Address of the stream.
    """

    def __init__(self, device: core.Device, stream):
        self.device_type = device.dlpack_device_type()
        self.device_id = device.index
        self.stream = _address(stream)
        self._previous: list[int] = []

    def __enter__(self):
        self._previous.append(
            core._env_set_current_stream(self.device_type, self.device_id, self.stream)
        )
        return self

    def __exit__(self, *exc_info):
        core._env_set_current_stream(self.device_type, self.device_id, self._previous.pop())


def _address(stream) -> int:
    if isinstance(stream, c_void_p):
        return stream.value or 0
    return int(stream)


class _TorchStreamContext:
    """Enters a torch context and makes its stream the FFI stream, or only the latter."""

    def __init__(self, torch_context):
        self.torch_context = torch_context
        self.ffi_context: StreamContext | None = None

    def __enter__(self):
        import torch

        if self.torch_context is not None:
            self.torch_context.__enter__()
        stream = torch.cuda.current_stream()
        self.ffi_context = StreamContext(
            _device("cuda" if torch.version.hip is None else "rocm", stream.device_index),
            stream.cuda_stream,
        )
        self.ffi_context.__enter__()

    def __exit__(self, *exc_info):
        if self.ffi_context is not None:
            self.ffi_context.__exit__(*exc_info)
        if self.torch_context is not None:
            self.torch_context.__exit__(*exc_info)


def use_torch_stream(context=None):
    """Use torch's current stream in a ``with`` block.

    Args:
        context: Torch context to enter first, such as ``torch.cuda.stream(s)`` or
            ``torch.cuda.graph(g)``; None uses the stream that is current now.

    Raises:
        ImportError: torch is not installed.
    """
    if "torch" not in sys.modules:
        import torch  # noqa: F401 - the error names the missing package
    return _TorchStreamContext(context)


def use_raw_stream(device: core.Device, stream) -> StreamContext:
    """Use a stream given by its address in a ``with`` block.

    Raises:
        ValueError: `stream` is no integer.
    """
    if not isinstance(stream, (int, c_void_p)):
        raise ValueError(
            f"use_raw_stream expects an int or c_void_p as stream, got {type(stream).__name__}; "
            "use use_torch_stream for torch streams"
        )
    return StreamContext(device, stream)


def get_raw_stream(device: core.Device) -> int:
    """Address of this thread's stream of a device; 0 is the default stream."""
    return core._env_get_current_stream(device.dlpack_device_type(), device.index)


__all__ = ["StreamContext", "get_raw_stream", "use_raw_stream", "use_torch_stream"]
