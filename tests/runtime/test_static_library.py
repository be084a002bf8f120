# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Object files wrapped as modules are linked into exported libraries."""

import shutil
import subprocess

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.support.libinfo import libinfo

SOURCE = """
#include <stdint.h>
typedef struct { int32_t type; uint32_t pad; int64_t value; } Any;
__attribute__((visibility("default")))
int __tvm_ffi_test_static_answer(void* self, const Any* args, int32_t n, Any* result) {
  result->type = 1; result->pad = 0; result->value = 42 + n;
  return 0;
}
"""


@pytest.fixture
def library(tmp_path):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    (tmp_path / "f.c").write_text(SOURCE, encoding="utf-8")
    obj = tmp_path / "f.o"
    subprocess.run([compiler, "-fPIC", "-c", "-o", str(obj), str(tmp_path / "f.c")], check=True)
    return tvm.runtime.load_static_library(str(obj), ["test_static_answer"])


def test_module(library):
    assert library.kind == "static_library"
    assert library.implements_function("test_static_answer")
    assert not library.implements_function("other")
    assert list(library["get_func_names"]()) == ["test_static_answer"]


def test_missing_file(tmp_path):
    with pytest.raises(ValueError, match="absent.o"):
        tvm.runtime.load_static_library(str(tmp_path / "absent.o"), [])


def test_export(library, tmp_path):
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType([4], "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(relax.op.exp(x)))
    executable = relax.build(bb.get(), "llvm")
    executable.mod.imports[0].import_module(library)
    path = str(tmp_path / "lib.so")
    executable.export_library(path)
    loaded = tvm.runtime.load_module(path)
    vm = relax.VirtualMachine(loaded, tvm.cpu())
    out = vm["main"](tvm.runtime.tensor(np.zeros(4, "float32")))
    np.testing.assert_array_equal(out.numpy(), np.ones(4))
    assert loaded.get_function("test_static_answer", True)(1, 2) == 44


def test_build_options_are_told():
    info = libinfo()
    assert info["USE_LLVM"] == "ON" and int(info["LLVM_VERSION_MAJOR"]) >= 19
    for name in ("CUDA", "OPENCL", "VULKAN"):
        assert info[f"USE_{name}"] == ("ON" if tvm.runtime.enabled(name.lower()) else "OFF")
    assert "CXX_COMPILER" in info
