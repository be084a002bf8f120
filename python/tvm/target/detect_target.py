# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Targets that fit the devices of this machine."""

from __future__ import annotations

from tvm.runtime import device as _device

from . import _ffi_api
from .target import Target


def register_device_target_detector(name: str, detector) -> None:
    """Set how the target of a device type is found.

    Args:
        name: Device type, e.g. ``"cuda"``.
        detector: ``fn(device) -> Target``.
    """
    _ffi_api.RegisterDeviceTargetDetector(_device(name).dlpack_device_type(), detector)


def detect_target_from_device(dev) -> Target:
    """Target for a device, or its name."""
    return Target.from_device(dev)
