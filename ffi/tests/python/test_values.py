# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Tensor, dtype, Device, streams, modules, library lookup."""

import ctypes
import os
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from child_process import python_environment

import tvm_ffi
import tvm_ffi.testing
from tvm_ffi import core, libinfo

echo = tvm_ffi.get_global_func("testing.echo")


def test_tensor_shares_memory():
    array = np.arange(6, dtype="int32").reshape(2, 3)
    tensor = tvm_ffi.from_dlpack(array)
    assert tensor.shape == (2, 3) and tensor.strides == (3, 1) and tensor.ndim == 2
    assert tensor.dtype == "int32" and tensor.device == tvm_ffi.device("cpu")
    assert tensor.numel() == 6 and tensor.size(-1) == 3 and tensor.is_contiguous()
    assert tensor.data_ptr() == array.ctypes.data
    view = np.from_dlpack(tensor)
    array[1, 2] = 42
    assert view[1, 2] == 42
    with pytest.raises(IndexError, match="Dimension 5 out of range"):
        tensor.size(5)
    assert core.Tensor.__repr__(tensor) == "int32[2, 3]@cpu:0"


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (1, 3)])
def test_dlpack_capsules(version):
    tensor = tvm_ffi.from_dlpack(np.ones((2, 2)))
    capsule = tensor.__dlpack__(max_version=version)
    versioned = version is not None and version >= (1, 0)
    assert ("versioned" in repr(capsule)) == versioned
    again = tvm_ffi.from_dlpack(capsule)
    assert again.data_ptr() == tensor.data_ptr()
    with pytest.raises(ValueError, match="not used before"):
        tvm_ffi.from_dlpack(capsule)


def test_unused_capsule_is_freed():
    array = np.ones(4)
    before = sys.getrefcount(array)
    for _ in range(10):
        tvm_ffi.from_dlpack(array).__dlpack__()
        tvm_ffi.from_dlpack(array).__dlpack__(max_version=(1, 0))
    assert sys.getrefcount(array) == before


def test_odd_tensors():
    base = np.arange(24, dtype="float32").reshape(4, 6)
    strided = tvm_ffi.from_dlpack(base[::2, 1::2])
    assert strided.strides == (12, 2) and not strided.is_contiguous()
    with pytest.raises(RuntimeError, match="not contiguous"):
        tvm_ffi.from_dlpack(base.T, require_contiguous=True)
    odd = np.frombuffer(bytearray(33), dtype="uint8")[1:]
    with pytest.raises(RuntimeError, match="not aligned to 64 bytes"):
        tvm_ffi.from_dlpack(odd, require_alignment=64)
    assert tvm_ffi.from_dlpack(np.zeros((0, 3))).shape == (0, 3)
    assert tvm_ffi.from_dlpack(np.zeros(())).shape == ()
    frozen = np.ones(3)
    frozen.flags.writeable = False
    assert tvm_ffi.from_dlpack(frozen).shape == (3,)


@pytest.mark.parametrize(
    "array",
    [np.arange(6, dtype="float32").reshape(2, 3), np.arange(24).reshape(4, 6)[1:, ::-2],
     np.zeros(()), np.zeros((0, 3), "int16"), np.ones(3, bool), np.ones(2, "complex64"),
     np.arange(3, dtype="float16"), np.arange(4, dtype="uint64")],
    ids=str,
)  # fmt: skip
def test_tensor_to_numpy(array):
    tensor = tvm_ffi.from_dlpack(array)
    before = sys.getrefcount(tensor)
    view = tvm_ffi.Tensor.numpy(tensor)  # classes of other packages may have their own
    assert type(view) is np.ndarray and view.dtype == array.dtype and view.shape == array.shape
    assert np.array_equal(view, array) and view.flags.writeable
    assert array.size == 0 or (view.strides == array.strides and np.shares_memory(view, array))
    assert sys.getrefcount(tensor) == before + 1
    del view
    assert sys.getrefcount(tensor) == before


def test_an_array_keeps_the_tensor():
    view = tvm_ffi.Tensor.numpy(tvm_ffi.from_dlpack(np.arange(1000)))
    assert view.sum() == 499500


def test_tensors_that_numpy_cannot_show():
    capsule = tvm_ffi.from_dlpack(np.zeros(4, "uint16")).__dlpack__()
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    dtype_code = ctypes.c_uint8.from_address(get_pointer(capsule, b"dltensor") + 20)
    dtype_code.value = 4  # bfloat
    with pytest.raises(TypeError, match="no element type for bfloat16"):
        tvm_ffi.Tensor.numpy(tvm_ffi.from_dlpack(capsule))
    with pytest.raises(ValueError):
        tvm_ffi.Tensor.numpy(core.Tensor.__new__(core.Tensor))


def test_arrays_as_arguments():
    result = echo(np.ones((2, 3), "float16"))
    assert isinstance(result, tvm_ffi.Tensor) and result.dtype == "float16"
    with pytest.raises(TypeError, match="__dlpack__"):
        tvm_ffi.from_dlpack(3)
    with pytest.raises(BufferError):
        tvm_ffi.from_dlpack(np.ones(2)).__dlpack__(dl_device=(2, 0))


def test_exchange_api_argument():
    wrapper = core.DLTensorTestWrapper(tvm_ffi.from_dlpack(np.ones(3)))
    assert echo(wrapper).shape == (3,)
    function = tvm_ffi.convert_func(lambda t: t.shape[0], tensor_cls=core.DLTensorTestWrapper)
    assert function(wrapper) == 3
    with pytest.raises(TypeError, match="__dlpack_c_exchange_api__"):
        tvm_ffi.convert_func(lambda t: t, tensor_cls=int)


_TORCH_SCRIPT = """
    import sys, types, warnings
    import numpy as np
    import tvm_ffi
    from tvm_ffi import core

    class Tensor:  # as in an older torch
        is_cuda = False
        slow = 0

        def __init__(self, tensor):
            self.tensor = tensor

        def detach(self):
            Tensor.slow += 1
            return self.tensor

    sys.modules["torch"] = torch = types.ModuleType("torch")
    torch.Tensor = Tensor
    table = core.DLTensorTestWrapper.__dlpack_c_exchange_api__

    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name == "torch_c_dlpack_ext":
                attempts.append(name)
                action()

    def install():
        Tensor.__dlpack_c_exchange_api__ = table
        sys.modules["torch_c_dlpack_ext"] = types.ModuleType("torch_c_dlpack_ext")

    def broken():
        raise OSError("built for another torch")

    attempts = []
    action = dict(absent=lambda: None, installed=install, broken=broken)[sys.argv[1]]
    sys.meta_path.insert(0, Finder())
    echo = tvm_ffi.get_global_func("testing.echo")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            result = echo(Tensor(tvm_ffi.from_dlpack(np.ones(3))))
            assert tuple(result.shape if isinstance(result, tvm_ffi.Tensor)
                         else result.tensor.shape) == (3,)
    print(len(attempts), Tensor.slow, len(caught))
"""


@pytest.mark.parametrize(
    "state, disabled, seen",
    [
        ("absent", "0", "1 3 0"),
        ("installed", "0", "1 0 0"),
        ("installed", "1", "0 3 0"),
        ("broken", "0", "1 3 1"),
    ],
)
def test_exchange_table_of_torch(state, disabled, seen):
    """Attempts to import the extension, tensors that went the slow way, warnings."""
    script = "import tvm_ffi.testing\n" + textwrap.dedent(_TORCH_SCRIPT)
    done = subprocess.run(
        [sys.executable, "-c", script, state],
        capture_output=True,
        text=True,
        env={**os.environ, "TVM_FFI_DISABLE_TORCH_C_DLPACK": disabled},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == seen


def test_dtype():
    dtype = tvm_ffi.dtype("int32")
    assert dtype == "int32" and repr(dtype) == "dtype('int32')"
    assert (dtype.bits, dtype.lanes, dtype.itemsize, dtype.type_code) == (32, 1, 4, 0)
    assert dtype.is_integer and not dtype.is_float
    assert dtype.with_lanes(4) == "int32x4" and dtype.with_lanes(4).itemsize == 16
    short = tvm_ffi.dtype("i32")
    assert short == dtype and not short != dtype and hash(short) == hash(dtype) == hash("int32")
    assert short == "i32" and short != "int32"  # the spelling is kept
    assert {dtype: 1}[short] == {"int32": 1}[dtype] == 1 and dtype != tvm_ffi.dtype("int64")
    assert echo(tvm_ffi.dtype("i32")) == "int32"
    assert tvm_ffi.dtype("bool").is_bool and tvm_ffi.dtype("handle").is_handle
    assert tvm_ffi.dtype.from_dlpack_data_type((4, 16, 1)) == "bfloat16"
    assert pickle.loads(pickle.dumps(dtype)) == dtype
    assert tvm_ffi.float32 == "float32" and tvm_ffi.float4_e2m1fnx2.lanes == 2
    for bad in ("foo", "int32x0", 3, None, object):
        with pytest.raises(ValueError):
            tvm_ffi.dtype(bad)


def test_foreign_dtypes():
    assert tvm_ffi.dtype(np.float16) == "float16"
    assert tvm_ffi.dtype(np.dtype("uint8")) == "uint8"
    assert tvm_ffi.dtype(ml_dtypes.bfloat16) == "bfloat16"
    assert tvm_ffi.dtype(np.dtype(ml_dtypes.float8_e4m3fn)) == "float8_e4m3fn"
    assert echo(np.dtype("int64")) == "int64"


def test_device():
    device = tvm_ffi.device("cuda", 1)
    assert (device.type, device.index, device.dlpack_device_type()) == ("cuda", 1, 2)
    assert str(device) == "cuda:1" and repr(device) == "device(type='cuda', index=1)"
    assert tvm_ffi.device("cuda:1") == device == echo(device)
    assert hash(tvm_ffi.device(2, 1)) == hash(device)
    assert str(tvm_ffi.device("mps")) == "metal:0"
    assert pickle.loads(pickle.dumps(device)) == device
    with pytest.raises(ValueError, match="Unknown device: foo"):
        tvm_ffi.device("foo")
    with pytest.raises(ValueError, match="Invalid device index"):
        tvm_ffi.device("cpu:x")
    with pytest.raises(TypeError, match="Invalid device index"):
        tvm_ffi.device("cpu", "0")


def test_stream_context():
    device = tvm_ffi.device("cuda:3")
    with tvm_ffi.use_raw_stream(device, 0x10):
        assert tvm_ffi.get_raw_stream(device) == 0x10
        with tvm_ffi.StreamContext(device, 0x20):
            assert tvm_ffi.get_raw_stream(device) == 0x20
        assert tvm_ffi.get_raw_stream(device) == 0x10
    assert tvm_ffi.get_raw_stream(device) == 0
    with pytest.raises(ValueError):
        tvm_ffi.use_raw_stream(device, "s")


def test_module():
    module = tvm_ffi.system_lib()
    assert module.kind == "library" and list(module.imports) == []
    assert module.is_runnable() and module.is_binary_serializable()
    assert not module.is_compilation_exportable()
    assert module["testing.add_one"](1) == 2
    assert tvm_ffi.system_lib("testing.").add_one(1) == 2
    for look in (lambda: module.no_such, lambda: module["no_such"], lambda: module()):
        with pytest.raises(AttributeError, match="Module has no function"):
            look()
    with pytest.raises(Exception, match="nofile"):
        tvm_ffi.load_module("nofile.so")


def test_libinfo():
    assert (Path(libinfo.find_include_path()) / "tvm" / "ffi" / "c_api.h").is_file()
    assert (Path(libinfo.find_dlpack_include_path()) / "dlpack" / "dlpack.h").is_file()
    assert Path(libinfo.find_libtvm_ffi()).is_file()
    assert Path(libinfo.find_cython_lib()).name.startswith("core.")
    assert (Path(libinfo.find_python_helper_include_path()) / "py_call.h").is_file()
    assert len(libinfo.include_paths()) >= 1
    with pytest.raises(RuntimeError, match="searched directories"):
        libinfo.load_lib_ctypes("opentvm-ffi", "no_such_library", "RTLD_LOCAL")
    with pytest.raises(TypeError, match=r"extra_lib_paths\[1\] must be a pathlib.Path"):
        libinfo._find_library_by_basename("x", "y", [Path("."), "dir"])


def test_library_search_flags(tmp_path):
    name = Path(libinfo.find_libtvm_ffi()).name
    fake = tmp_path / name.replace("tvm_ffi", "fake")
    fake.write_bytes(b"")
    found = libinfo._find_library_by_basename("x", "fake", [tmp_path])
    assert Path(found) == fake
    with pytest.raises(RuntimeError):
        libinfo._find_library_by_basename(
            "x", "fake", use_fallback_build_path=False, use_env_path=False
        )


def test_import_is_light():
    code = (
        "import sys, tvm_ffi;"
        "print([m for m in ('numpy', 'torch', 'json', 'typing', 'inspect') if m in sys.modules])"
    )
    env = python_environment()
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True
    )
    # Cython asks `inspect` for constants that the limited API does not have.
    limited = ".abi3." in core.__file__
    assert out.stdout.strip() == ("['inspect']" if limited else "[]")


def test_sizes_need_whole_axes():
    tensor = tvm_ffi.from_dlpack(np.zeros((2, 3)))
    assert tensor.size(np.int64(1)) == 3
    for axis in (1.0, "a", None):
        with pytest.raises(TypeError):
            tensor.size(axis)
    with pytest.raises(IndexError, match="Dimension 1180591620717411303424 out of range"):
        tensor.size(2**70)


@pytest.mark.parametrize("version", [(), 1, "1.0", ("1", 0)])
def test_odd_versions_are_errors(version):
    with pytest.raises((TypeError, IndexError)):
        tvm_ffi.from_dlpack(np.zeros(2)).__dlpack__(max_version=version)


def test_an_empty_tensor_is_contiguous():
    empty = np.zeros((0, 4))[:, ::2]
    tensor = tvm_ffi.from_dlpack(empty, require_contiguous=True)
    assert tensor.is_contiguous() and tensor.shape == (0, 2)


def test_lanes_that_do_not_fit():
    int32 = tvm_ffi.dtype("int32")
    assert int32.with_lanes(-4) == "int32xvscalex4" and int32.with_lanes(32767).lanes == 32767
    for lanes in (65536, -40000, 2**40):
        with pytest.raises(OverflowError, match=f"must fit 16 bits, got {lanes}"):
            int32.with_lanes(lanes)
        with pytest.raises(OverflowError, match="must fit 16 bits"):
            tvm_ffi.dtype.from_dlpack_data_type((0, 8, lanes))

    class Foreign:
        def __dlpack_data_type__(self):
            return (0, 8, 65537)

    with pytest.raises(OverflowError, match="must fit 16 bits, got 65537"):
        echo(Foreign())


@pytest.mark.parametrize("foreign", [">f4", ">i8", "longdouble", "V4", "U3", np.void, "i4, f4"])
def test_numpy_dtypes_without_a_counterpart(foreign):
    with pytest.raises(ValueError, match="unknown dtype"):
        tvm_ffi.dtype(np.dtype(foreign))
    with pytest.raises(ValueError, match="unknown dtype"):
        echo(np.dtype(foreign))


@pytest.mark.parametrize("text", [" cpu", "cpu ", "cuda: 1", "cuda:1 ", "cuda:", "cuda:1_0", "CPU"])
def test_device_text_is_exact(text):
    with pytest.raises(ValueError, match="Unknown device|Invalid device index"):
        tvm_ffi.device(text)
