# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Where the released packages are awkward and these are not, as far as the binary layout permits."""

import ctypes
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import core


def test_import_installs_no_signal_handler():
    script = f"""
        def caught():
            with open("/proc/self/status") as status:
                (line,) = (line for line in status if line.startswith("SigCgt"))
            return int(line.split()[1], 16) >> {int(signal.SIGSEGV) - 1} & 1

        before = caught()
        import tvm_ffi
        assert caught() == before == 0
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True)


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (1, 9)])
def test_dlpack_of_every_version(version):
    tensor = tvm_ffi.from_dlpack(np.arange(3.0))
    options = {} if version is None else {"max_version": version}
    capsule = tensor.__dlpack__(**options)
    name = "dltensor" if version is None or version[0] < 1 else "dltensor_versioned"
    assert f'"{name}"' in repr(capsule)
    assert tvm_ffi.from_dlpack(capsule).data_ptr() == tensor.data_ptr()


def test_small_and_heap_values_hash_alike():
    for small in ("short", b"short"):
        heap = core.String(small) if isinstance(small, str) else core.Bytes(small)
        assert tvm_ffi.structural_equal(small, heap)
        assert tvm_ffi.structural_hash(small) == tvm_ffi.structural_hash(heap)
        assert tvm_ffi.Map({small: 1})[heap] == 1


def test_stream_of_a_tensor_alone_is_honoured():
    """`__tvm_ffi_env_stream__` counts although no earlier argument named a device."""

    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)

    class OnStream:
        """Claims to lie on a GPU."""

        def __dlpack__(self, **options):
            capsule = tvm_ffi.from_dlpack(np.zeros(2)).__dlpack__()
            device_type = get_pointer(capsule, b"dltensor") + 8
            ctypes.c_int32.from_address(device_type).value = tvm_ffi.DLDeviceType.kDLCUDA
            return capsule

        def __dlpack_device__(self):
            return (int(tvm_ffi.DLDeviceType.kDLCUDA), 0)

        def __tvm_ffi_env_stream__(self):
            return 0x77

    current = tvm_ffi.convert(lambda tensor: tvm_ffi.get_raw_stream(tensor.device))
    assert current(OnStream()) == 0x77
    assert tvm_ffi.get_raw_stream(tvm_ffi.device("cuda:0")) == 0


def test_iteration_makes_no_calls():
    """Containers are read where they lie; even a missing size function changes nothing."""
    calls = []
    sizes = tvm_ffi.get_global_func("ffi.ArraySize")
    tvm_ffi.register_global_func(
        "ffi.ArraySize", lambda array: calls.append(1) or sizes(array), override=True
    )
    try:
        array = tvm_ffi.Array(range(100))
        assert list(array) == list(range(100)) and len(array) == 100
    finally:
        tvm_ffi.register_global_func("ffi.ArraySize", sizes, override=True)
    assert calls == []


@pytest.mark.parametrize("size", [1, 2, 4, 5, 100])
def test_reassigning_a_key(size):
    """The layout of small and dense tables decides about the order; the content never changes."""
    table = tvm_ffi.Dict({i: str(i) for i in range(size)})
    for key in range(size):
        table[key] = f"new {key}"
    assert dict(table.items()) == {i: f"new {i}" for i in range(size)}
    assert sorted(table.keys()) == list(range(size))
