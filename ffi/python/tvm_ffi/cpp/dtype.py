# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""C++ names of data types."""

from __future__ import annotations

import functools
import sys
from typing import Any

CPU_DTYPE_MAP = {
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float32": "float",
    "float64": "double",
    "bool": "bool",
}
CUDA_DTYPE_MAP = {
    "float16": "__half",
    "bfloat16": "__nv_bfloat16",
    "float8_e4m3fn": "__nv_fp8_e4m3",
    "float8_e5m2": "__nv_fp8_e5m2",
    "float8_e8m0fnu": "__nv_fp8_e8m0",
    "float4_e2m1": "__nv_fp4_e2m1",
    "float4_e2m1fn_x2": "__nv_fp4x2_e2m1",
}
ROCM_DTYPE_MAP = {
    "float16": "__half",
    "bfloat16": "__hip_bfloat16",
    "float8_e4m3fn": "__hip_fp8_e4m3",
    "float8_e4m3fnuz": "__hip_fp8_e4m3_fnuz",
    "float8_e5m2": "__hip_fp8_e5m2",
    "float8_e5m2fnuz": "__hip_fp8_e5m2_fnuz",
    "float4_e2m1": "__hip_fp4_e2m1",
    "float4_e2m1fn_x2": "__hip_fp4x2_e2m1",
}


@functools.cache
def _determine_backend_once() -> str:
    """GPU platform that torch was built for; ``cpu`` without torch or without a GPU."""
    try:
        import torch
    except ImportError:
        return "cpu"
    if not torch.cuda.is_available():
        return "cpu"
    return "rocm" if torch.version.hip is not None else "cuda"


def to_cpp_dtype(dtype_str: str | Any) -> str:
    """C++ type of the elements of a data type.

    Args:
        dtype_str: Name of a dtype, or a torch dtype.

    Raises:
        ValueError: There is no such C++ type on this machine's platform.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(dtype_str, torch.dtype):
        dtype_str = str(dtype_str).rpartition(".")[2]
    name = str(dtype_str)
    if name in CPU_DTYPE_MAP:
        return CPU_DTYPE_MAP[name]
    backend = _determine_backend_once()
    names = {"cuda": CUDA_DTYPE_MAP, "rocm": ROCM_DTYPE_MAP}.get(backend, {})
    if name not in names:
        raise ValueError(f"Unsupported dtype string: {name} for {backend = }")
    return names[name]
