# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Devices, library loading, import time."""

import os
import subprocess
import sys

import pytest

import tvm
import tvm_ffi


def test_device():
    device = tvm.cpu()
    assert isinstance(device, tvm.Device) and device.exist
    assert device == tvm.device("cpu") == tvm_ffi.device("cpu:0")
    assert isinstance(tvm.runtime.empty((1,)).device, tvm.Device)
    assert str(tvm.cuda(1)) == "cuda:1" and not tvm.device("vpi").exist
    assert device.max_thread_dimensions is None
    device.sync()


def test_remote_device_name():
    from tvm_ffi import core

    remote = core._create_device_from_tuple(tvm.Device, 1 + 128 * 3, 0)
    assert str(remote) == "remote[2]:cpu:0"


def test_missing_device_api():
    with pytest.raises(RuntimeError, match="not enabled"):
        tvm.runtime.empty((1,), device=tvm.device("vpi"))


def test_device_from_target():
    class Kind:
        name = "llvm"

    class Target:
        kind = Kind

    assert tvm.runtime.device_from_target(Target) == tvm.cpu()


def test_threads():
    assert tvm.runtime.num_threads() >= 1
    assert tvm.runtime.enabled("cpu")
    assert not tvm.runtime.enabled("cuda")
    with pytest.raises(RuntimeError, match="Unknown optional runtime"):
        tvm.runtime.enabled("nonsense")


@pytest.fixture
def run(child_env):
    """Function that runs code in another process and returns what it prints."""

    def call(code: str, **env) -> str:
        command = [sys.executable, "-c", code]
        done = subprocess.run(
            command, capture_output=True, text=True, env=child_env(**env), check=False
        )
        return done.stdout + done.stderr

    return call


def test_import_loads_no_heavy_package(run):
    out = run(
        "import sys, tvm;"
        "print([m for m in ('numpy', 'torch', 'onnx', 'tvm.relax', 'tvm.te') if m in sys.modules])"
    )
    assert out.strip() == "[]"


def test_runtime_only_mode(run):
    code = (
        "import tvm; print(tvm._RUNTIME_ONLY, sorted(tvm.base._LOADED_LIBS));"
        "import numpy as np; print(tvm.runtime.tensor(np.ones(2)).numpy().sum())"
    )
    out = run(code, TVM_USE_RUNTIME_LIB="1")
    assert out.splitlines()[0] == "True ['tvm_runtime']"
    assert out.splitlines()[1] == "2.0"
    assert run("import tvm; print(tvm._RUNTIME_ONLY)", TVM_USE_RUNTIME_LIB="0").strip() == "False"


def test_modules_of_the_compiler_in_runtime_only_mode(run):
    code = """
import tvm, tvm.cli, tvm.support, tvm.driver, tvm.runtime.vm
for name in tvm._NEED_COMPILER:
    assert not hasattr(tvm, name) and name not in dir(tvm), name
print(tvm.VirtualMachine.__name__)
for ask in (lambda: tvm.relax, lambda: tvm.compile(1), lambda: tvm.IRModule({})):
    try:
        ask()
    except AttributeError as error:
        print("the compiler library" in str(error))
"""
    out = run(code, TVM_USE_RUNTIME_LIB="1")
    assert out.split() == ["VirtualMachine", "True", "True", "True"], out


def test_foreign_tvm_ffi_is_refused(tmp_path, run):
    package = tmp_path / "tvm_ffi"
    package.mkdir()
    (package / "__init__.py").write_text("from . import _paths, registry\n")
    (package / "_paths.py").write_text("def library_name(t):\n    return t\n")
    (package / "registry.py").write_text("")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    out = run("import tvm.libinfo", PYTHONPATH=path)
    assert "ImportError" in out


def test_diagnostic_error_hides_traceback(run):
    code = "import tvm; raise tvm.DiagnosticError('refused')"
    assert run(code, TVM_BACKTRACE="0").strip() == "DiagnosticError: refused"
    assert "Traceback" in run(code, TVM_BACKTRACE="1")


def test_libinfo():
    from tvm import libinfo

    assert os.path.isfile(libinfo.find_libtvm_runtime())
    assert len(libinfo.find_include_path()) >= 2
    assert isinstance(libinfo.__version__, str)


def test_error_classes():
    with pytest.raises(tvm.error.InternalError):
        tvm.runtime.enabled("nonsense")
    assert issubclass(tvm.error.RPCSessionTimeoutError, TimeoutError)
    assert issubclass(tvm.error.OpNotImplemented, NotImplementedError)
