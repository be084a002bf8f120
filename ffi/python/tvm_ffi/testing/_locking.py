# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Tests that need a device for themselves."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any, TypeVar

from ..utils.lockfile import FileLock

_R = TypeVar("_R")


def run_with_gpu_lock(func: Callable[..., _R], /, *args: Any, **kwargs: Any) -> _R:
    """Call a function while no other test process of this machine uses the GPU.

    Args:
        func: Everything from making the device to checking the results.
        args: Passed on.
        kwargs: Passed on.

    Returns:
        What `func` returns.
    """
    with FileLock(os.path.join(tempfile.gettempdir(), "tvm_ffi_gpu.lock")):
        return func(*args, **kwargs)
