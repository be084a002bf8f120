# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""The compile cache, from ``tvm compile`` and from ``compile_onnx``."""

import subprocess
import sys

import numpy as np
import onnx
import pytest

import tvm
from tvm.cli import main
from tvm.driver.onnx import compile_onnx
from tvm.relax.frontend.onnx import from_onnx


@pytest.fixture
def chain(make_chain):
    return make_chain(8, 64)


class Counts:
    """What the cache did since this was made."""

    def __init__(self):
        self._stats = tvm.get_global_func("driver.CacheStats")
        self._before = dict(self._stats().items())

    def __getattr__(self, name):
        return self._stats()[name] - self._before[name]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("TVM_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def path(tmp_path, chain):
    file = tmp_path / "model.onnx"
    onnx.save(chain.model(), str(file))
    return file


def entries(folder, kind):
    return sorted(folder.glob(f"*.{kind}"))


def test_second_compile_is_a_hit_with_the_same_answer(cache, path, chain):
    counts = Counts()
    first = chain.answer(compile_onnx(path))
    np.testing.assert_allclose(first, chain.reference(chain.model()), rtol=1e-4, atol=1e-5)
    assert len(entries(cache, "model")) == 1 and entries(cache, "kernel")
    assert counts.hits == 0 or counts.damaged == 0
    counts = Counts()
    executable = compile_onnx(path)
    assert (counts.hits, counts.misses, counts.stores) == (1, 0, 0)
    np.testing.assert_array_equal(chain.answer(executable), first)


def test_a_cached_model_can_be_exported(cache, path, tmp_path, chain):
    compile_onnx(path)
    counts = Counts()
    assert main(["compile", str(path), "-o", str(tmp_path / "m.so"), "--json"]) == 0
    assert counts.hits == 1 and counts.misses == 0
    loaded = tvm.runtime.load_module(str(tmp_path / "m.so"))
    np.testing.assert_allclose(
        chain.answer(loaded), chain.reference(chain.model()), rtol=1e-4, atol=1e-5
    )


def test_other_weights_reuse_the_kernels_but_not_the_model(cache, path, tmp_path, chain):
    compile_onnx(path)
    kernels = entries(cache, "kernel")
    other = tmp_path / "other.onnx"
    onnx.save(chain.model(seed=1), str(other))
    counts = Counts()
    got = chain.answer(compile_onnx(other))
    np.testing.assert_allclose(got, chain.reference(chain.model(seed=1)), rtol=1e-4, atol=1e-5)
    assert entries(cache, "kernel") == kernels
    assert counts.hits == len(kernels) and counts.misses == 1  # the model itself
    assert len(entries(cache, "model")) == 2


def test_options_are_part_of_the_key(cache, path, monkeypatch):
    compile_onnx(path)
    counts = Counts()
    compile_onnx(path, relax_pipeline="plain")
    compile_onnx(path, precision="bf16")
    compile_onnx(path, {"kind": "llvm", "mcpu": "x86-64-v3"})
    monkeypatch.setenv("TVM_KERNELS", "plain")
    compile_onnx(path)
    monkeypatch.delenv("TVM_KERNELS")
    with tvm.transform.PassContext(opt_level=0):
        compile_onnx(path)
    assert len(entries(cache, "model")) == 6
    assert counts.misses >= 5


def test_equal_kernels_are_compiled_once(cache, chain):
    # Two pairs of layers of one form each, and a first one of another.
    executable = tvm.compile(from_onnx(chain.model(layers=5)), {"kind": "llvm", "mcpu": "native"})
    kernels = entries(cache, "kernel")
    assert 2 <= len(kernels) <= 3
    np.testing.assert_allclose(
        chain.answer(executable), chain.reference(chain.model(layers=5)), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("kind", ["kernel", "model"])
@pytest.mark.parametrize("damage", ["flip", "cut", "empty"])
def test_damaged_entries_are_replaced(cache, path, kind, damage, chain):
    first = chain.answer(compile_onnx(path))
    if kind == "kernel":
        for file in entries(cache, "model"):
            file.unlink()
    for file in entries(cache, kind):
        data = bytearray(file.read_bytes())
        if damage == "flip":
            data[len(data) // 2] ^= 1
        file.write_bytes({"flip": data, "cut": data[: len(data) // 2], "empty": b""}[damage])
    count = len(entries(cache, kind))
    counts = Counts()
    np.testing.assert_array_equal(chain.answer(compile_onnx(path)), first)
    assert counts.damaged == count and counts.stores >= count
    counts = Counts()
    compile_onnx(path)
    assert counts.damaged == 0 and counts.hits == 1


def test_off(path, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    for value in ("", "off"):
        monkeypatch.setenv("TVM_CACHE_DIR", value)
        counts = Counts()
        compile_onnx(path)
        assert (counts.hits, counts.misses, counts.stores) == (0, 0, 0)
        assert tvm.get_global_func("driver.CacheFolder")() is None
    monkeypatch.delenv("TVM_CACHE_DIR")
    assert tvm.get_global_func("driver.CacheFolder")() == str(tmp_path / "xdg" / "opentvm")


def test_a_folder_that_others_can_write_is_not_used_and_named_once(path, tmp_path, child_env):
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    code = (
        "from tvm.driver.onnx import compile_onnx\n"
        f"compile_onnx({str(path)!r}); compile_onnx({str(path)!r})\n"
    )
    env = child_env(TVM_CACHE_DIR=folder)
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("can be written by other users") == 1
    assert not list(folder.iterdir())


def test_two_processes_at_once(cache, path, chain, child_env):
    code = (
        "import sys, numpy, tvm\n"
        "from tvm.driver.onnx import compile_onnx\n"
        "from tvm.runtime.vm import VirtualMachine\n"
        "x = tvm.runtime.tensor(numpy.load(sys.argv[2]))\n"
        "for _ in range(3):\n"
        "    vm = VirtualMachine(compile_onnx(sys.argv[1]), tvm.cpu())\n"
        "    numpy.save(sys.argv[3], vm['main'](x).numpy())\n"
    )
    folder = path.parent
    np.save(folder / "x.npy", chain.x)
    env = child_env()
    argv = [sys.executable, "-c", code, str(path), str(folder / "x.npy")]
    both = [
        subprocess.Popen([*argv, str(folder / f"{i}.npy")], env=env, stderr=subprocess.PIPE)
        for i in range(2)
    ]
    for process in both:
        error = process.communicate()[1]
        assert process.returncode == 0, error
    for i in range(2):
        np.testing.assert_allclose(
            np.load(folder / f"{i}.npy"), chain.reference(chain.model()), rtol=1e-4, atol=1e-5
        )
    assert not [f for f in cache.iterdir() if f.name.startswith(".")]


def test_whoever_watches_passes_sees_them_run(cache, path, tmp_path, monkeypatch):
    compile_onnx(path)
    monkeypatch.setenv("TVM_DUMP", str(tmp_path / "dump"))
    counts = Counts()
    compile_onnx(path)
    assert (counts.hits, counts.misses, counts.stores) == (0, 0, 0)


def test_source_of_reused_kernels(cache, chain):
    target = {"kind": "llvm", "mcpu": "native"}
    texts = []
    for _ in range(2):
        executable = tvm.compile(from_onnx(chain.model()), target)
        texts.append(executable.mod.imports[0].inspect_source("ll"))
    assert "define" in texts[0] and texts[0] == texts[1]
