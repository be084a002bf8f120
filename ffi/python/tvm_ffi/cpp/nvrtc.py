# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""CUDA source to GPU binary with NVRTC."""

from __future__ import annotations

from collections.abc import Sequence


def nvrtc_compile(
    source: str,
    *,
    name: str = "kernel.cu",
    arch: str | None = None,
    extra_opts: Sequence[str] | None = None,
) -> bytes:
    """Compile CUDA source text.

    Args:
        source: The source.
        name: File name in messages.
        arch: E.g. ``"sm_90"``; that of device 0 if left out.
        extra_opts: More options for NVRTC.

    Returns:
        The CUBIN.

    Raises:
        ImportError: The package ``cuda-python`` is not installed.
        RuntimeError: The source does not compile; the message holds the log.
    """
    try:
        from cuda.bindings import driver, nvrtc
    except ImportError as error:
        raise ImportError("nvrtc_compile needs the package cuda-python") from error
    options = [f"--gpu-architecture={arch or _device_arch(driver)}", *(extra_opts or ())]
    status, program = nvrtc.nvrtcCreateProgram(source.encode(), name.encode(), 0, [], [])
    _expect_success(nvrtc, status, "nvrtcCreateProgram")
    try:
        (status,) = nvrtc.nvrtcCompileProgram(
            program, len(options), [option.encode() for option in options]
        )
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise RuntimeError(f"NVRTC compilation of {name} failed:\n{_log(nvrtc, program)}")
        status, size = nvrtc.nvrtcGetCUBINSize(program)
        _expect_success(nvrtc, status, "nvrtcGetCUBINSize")
        content = b" " * size
        (status,) = nvrtc.nvrtcGetCUBIN(program, content)
        _expect_success(nvrtc, status, "nvrtcGetCUBIN")
        return content
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _expect_success(nvrtc, status, call: str) -> None:
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise RuntimeError(f"{call} failed with {status}")


def _log(nvrtc, program) -> str:
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    text = b" " * size
    nvrtc.nvrtcGetProgramLog(program, text)
    return text.decode(errors="replace").rstrip("\0")


def _device_arch(driver) -> str:
    (status,) = driver.cuInit(0)
    if status != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"cuInit failed with {status}; give `arch` to compile without a GPU")
    _, device = driver.cuDeviceGet(0)
    attribute = driver.CUdevice_attribute
    _, major = driver.cuDeviceGetAttribute(
        attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device
    )
    _, minor = driver.cuDeviceGetAttribute(
        attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device
    )
    return f"sm_{major}{minor}"
