# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""An exported library runs in a process that never loads the compiler, and allocates nothing."""

import subprocess
import sys

import numpy as np
import onnx
import pytest

import tvm
from tvm.relax.frontend.onnx import from_onnx

SCRIPT = """
import sys
import numpy as np
import tvm
from tvm.runtime.vm import VirtualMachine

assert "tvm_compiler" not in tvm.base._LOADED_LIBS
vm = VirtualMachine(tvm.runtime.load_module(sys.argv[1]), tvm.cpu())
x = np.load(sys.argv[2])
np.save(sys.argv[3], vm["main"](tvm.runtime.tensor(x)).numpy())
maps = open("/proc/self/maps").read()
assert "libtvm_compiler" not in maps and "libLLVM" not in maps
"""


@pytest.fixture(scope="module")
def mlp(model_folder, tmp_path_factory):
    path = model_folder / "mlp_b64.onnx"
    library = tmp_path_factory.mktemp("lib") / "mlp.so"
    tvm.compile(from_onnx(onnx.load(str(path))), "llvm").export_library(str(library))
    with np.load(model_folder / "mlp_b64.npz") as z:
        return library, z["x"]


def test_runs_with_the_runtime_library_alone(mlp, tmp_path, child_env):
    library, x = mlp
    np.save(tmp_path / "x.npy", x)
    env = child_env(TVM_USE_RUNTIME_LIB="1")
    argv = [sys.executable, "-c", SCRIPT, library, tmp_path / "x.npy", tmp_path / "y.npy"]
    done = subprocess.run(argv, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    y = np.load(tmp_path / "y.npy")
    assert y.shape == (64, 10)
    np.testing.assert_allclose(y.sum(1), 1, rtol=1e-5)
