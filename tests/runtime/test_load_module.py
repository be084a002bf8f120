# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Libraries under any name, archives and objects, and files that are none of these."""

import os
import random
import shutil
import subprocess

import numpy as np
import pytest

import tvm
from tvm import relax


@pytest.fixture(scope="module")
def executable():
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType([4], "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(relax.op.add(x, relax.const(np.arange(4, dtype="float32")))))
    return relax.build(bb.get(), "llvm")


def works(module):
    vm = relax.VirtualMachine(module, tvm.cpu())
    out = vm["main"](tvm.runtime.tensor(np.ones(4, "float32")))
    np.testing.assert_array_equal(out.numpy(), [1, 2, 3, 4])


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("name", ["m.so", "m.dso", "m", "libm.so.2", "m.bin", "ünï.so"])
def test_names_of_libraries(executable, tmp_path, name, keep):
    executable.export_library(tmp_path / name)
    works(tvm.runtime.load_module(tmp_path / name, keep_module_alive=keep))


def test_an_archive_changes_nothing_beside_it(executable, tmp_path):
    folder = tmp_path / "all.tar.d"
    (folder / "m").mkdir(parents=True)
    (folder / "m" / "precious").write_text("mine")
    executable.export_library(folder / "m.tar")
    works(tvm.runtime.load_module(folder / "m.tar"))
    assert sorted(os.listdir(folder)) == ["m", "m.tar"]
    assert (folder / "m" / "precious").read_text() == "mine"


def test_an_object(tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    source = """
typedef struct { int type; unsigned pad; long value; } Any;
int __tvm_ffi_one(void* self, const Any* args, int n, Any* out) {
  out->type = 1; out->pad = 0; out->value = 1; return 0;
}
"""
    (tmp_path / "f.c").write_text(source)
    command = ["cc", "-fPIC", "-c", "-o", tmp_path / "f.o", tmp_path / "f.c"]
    subprocess.run(command, check=True)
    assert tvm.runtime.load_module(tmp_path / "f.o")["one"]() == 1
    assert sorted(os.listdir(tmp_path)) == ["f.c", "f.o"]


@pytest.mark.parametrize("suffix", [".so", ".o", ".tar", ".bin", ""])
def test_files_that_are_no_library(tmp_path, suffix):
    path = tmp_path / f"m{suffix}"
    with pytest.raises(ValueError, match="cannot find file"):
        tvm.runtime.load_module(path)
    noise = random.Random(1).randbytes(3000)
    for content in (b"", b"hello", noise, b"\x7fELF", b"\x7fELF" + noise, b"\x7fELF" + bytes(60)):
        path.write_bytes(content)
        with pytest.raises((RuntimeError, ValueError)) as caught:
            tvm.runtime.load_module(path)
        assert not isinstance(caught.value, tvm.error.InternalError)
    with pytest.raises(ValueError, match="cannot find file"):
        tvm.runtime.load_module(tmp_path)


def test_libraries_of_others():
    for line in open("/proc/self/maps", encoding="utf8"):
        path = line.split()[-1]
        if "/libc.so" in path:
            with pytest.raises(
                RuntimeError, match="expected a library that this compiler exported"
            ):
                tvm.runtime.load_module(path)
            return
    pytest.skip("no C library to try")
