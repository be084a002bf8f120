# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""``tvm/ffi/extra/cuda`` on the runtime and on the driver.

The behaviour is tested on pretended devices (``tests/cuda_stand_in``); where a CUDA toolkit is
found, the headers also compile against it.
"""

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import tvm_ffi
from tvm_ffi import libinfo
from tvm_ffi.utils.embed_cubin import embed_cubin

STAND_IN = Path(__file__).resolve().parents[1] / "cuda_stand_in"
HEADERS = ["base.h", "device_guard.h", "cubin_launcher.h"]
COMPILER = os.environ.get("CXX") or shutil.which("c++") or shutil.which("clang++-22")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")


def compile_with(*options: str) -> None:
    includes = [f"-I{path}" for path in libinfo.include_paths()]
    done = subprocess.run(
        [COMPILER, "-std=c++17", "-Wall", "-Wextra", "-Werror", *includes, *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[:4000]


@pytest.fixture(scope="module", params=["runtime", "driver"])
def library(request, tmp_path_factory):
    """The functions of launcher_check.cc, with a binary put in."""
    if any(shutil.which(tool) is None for tool in ("ld", "objcopy")):
        pytest.skip("needs GNU binutils")
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "image").write_bytes(b"KERNELS add_one:0 other:8\0")
    source, plain, filled = STAND_IN / "launcher_check.cc", folder / "plain.o", folder / "filled.o"
    mode = f"-DTVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API={int(request.param == 'driver')}"
    compile_with(mode, f"-I{STAND_IN}", "-fPIC", "-c", str(source), "-o", str(plain))
    embed_cubin(folder / "image", plain, filled, "linked")
    libdir = Path(libinfo.find_libtvm_ffi()).parent
    output = folder / "launcher.so"
    compile_with("-shared", str(filled), f"-L{libdir}", "-ltvm_ffi", "-o", str(output))
    return tvm_ffi.load_module(output)


def test_launch(library):
    expected = "grid 2,3,1 block 256,1,1 shared 64 stream 0 device 0 cluster 1"
    assert library.launch_linked(7) == f"add_one(7) {expected}"
    expected = "grid 1,1,1 block 8,4,2 shared 0 stream 0 device 0 cluster 1"
    assert library.launch_bytes(-1) == f"from_bytes(-1) {expected}"


def test_launch_on_the_stream_of_the_caller(library):
    with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda:0"), 0x70):
        assert f"stream {0x70} " in library.launch_linked(1)


@pytest.mark.parametrize("cluster, suffix", [(1, "1"), (4, "4"), (16, "16 large")])
def test_clusters(library, cluster, suffix):
    expected = "grid 16,1,1 block 128,1,1 shared 32 stream 0 device 0 cluster"
    assert library.launch_cluster(3, cluster) == f"add_one(3) {expected} {suffix}"


def test_modules_are_unloaded(library):
    assert list(library.load_and_unload(b"KERNELS a:1\0")) == [1, 0]


@pytest.mark.parametrize(
    "image, error, message",
    [
        (b"", ValueError, "a GPU binary of 0 bytes"),
        (b"text\0", RuntimeError, r"CUDA error INVALID_IMAGE \(200\) when loading a GPU binary"),
    ],
)
def test_bad_binaries(library, image, error, message):
    with pytest.raises(error, match=message):
        library.load_and_unload(image)


def test_missing_kernels(library):
    library.find_kernel("one")
    with pytest.raises(RuntimeError, match=r"NOT_FOUND \(500\) when looking up the kernel `two`"):
        library.find_kernel("two")


def test_shared_memory(library):
    assert list(library.shared_memory(-1)) == [99_000, 199_000]
    assert list(library.shared_memory(5000)) == [5000, 5000]
    assert list(library.shared_memory(150_000)) == [0, 150_000]
    with pytest.raises(RuntimeError, match="no device has the 300000 bytes wanted"):
        library.shared_memory(300_000)


def test_device_guard(library):
    library.last_error()
    assert list(library.guard(1)) == [0, 1, 0]
    assert list(library.guard(0)) == [0, 0, 0]
    with pytest.raises(RuntimeError, match=r"INVALID_DEVICE \(101\) in `cudaSetDevice\(dev"):
        library.guard(9)
    assert library.last_error() == 0, "a reported error does not show up again"


def toolkit_include() -> Path | None:
    """Headers of a CUDA toolkit: $CUDA_HOME, the usual place or the packages of pip."""
    roots = [Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "include"]
    spec = importlib.util.find_spec("nvidia")
    for root in spec.submodule_search_locations if spec is not None else ():
        roots += Path(root).glob("*/include")
    return next((root for root in roots if (root / "cuda_runtime.h").exists()), None)


@pytest.mark.skipif(toolkit_include() is None, reason="no CUDA toolkit")
@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("header", HEADERS)
def test_headers_compile_with_the_toolkit(header, mode, tmp_path):
    source = tmp_path / "check.cc"
    source.write_text(f"#include <tvm/ffi/extra/cuda/{header}>\n")
    compile_with(
        f"-DTVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API={mode}",
        f"-isystem{toolkit_include()}",
        "-fsyntax-only",
        str(source),
    )


@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("header", HEADERS)
def test_headers_compile_alone(header, mode, tmp_path):
    source = tmp_path / "check.cc"
    source.write_text(f"#include <tvm/ffi/extra/cuda/{header}>\n")
    define = f"-DTVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API={mode}"
    compile_with(define, f"-I{STAND_IN}", "-fsyntax-only", str(source))
