# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""The Rust workspace: its own tests, a library called from Python, a program that runs a model."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

import tvm_ffi

CARGO = shutil.which("cargo")
pytestmark = pytest.mark.skipif(CARGO is None, reason="cargo is not installed")


def _cargo(root, *args):
    """Run cargo in the workspace and return its target folder."""
    target = os.environ.get("CARGO_TARGET_DIR") or str(root / "out" / "rust")
    env = {**os.environ, "CARGO_TARGET_DIR": target}
    done = subprocess.run(
        [CARGO, *args, "--locked"],
        cwd=root / "rust",
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    unreachable = ("failed to download", "failed to get", "download of config.json failed")
    if done.returncode != 0 and any(text in done.stderr for text in unreachable):
        pytest.skip("the crates of rust/Cargo.lock are neither cached nor reachable")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-8000:]
    return target


@pytest.fixture(scope="session")
def examples(root):
    """Folder with the built examples."""
    if CARGO is None:
        pytest.skip("cargo is not installed")
    return os.path.join(_cargo(root, "build", "-p", "text_library", "-p", "run_model"), "debug")


@pytest.fixture(scope="session")
def library(examples):
    """The example library."""
    return tvm_ffi.load_module(os.path.join(examples, "libtext_library.so"))


def test_cargo_tests_pass(root):
    _cargo(root, "test", "--workspace", "--quiet")


def test_stubs_are_up_to_date(root):
    """The mirrors that the crate's tests use say what the registry says; cargo compiles them."""
    from tvm_ffi.stub import cli

    stubs = root / "rust" / "tvm-ffi" / "tests" / "stubs.rs"
    command = ["--target", "rust", "--imports", "tvm_ffi.testing", "--check", str(stubs)]
    assert cli.main(command) == 0


def test_functions(library):
    assert library.add(40, 2) == 42
    assert dict(library.count_words("to be or not to be").items()) == {
        "to": 2,
        "be": 2,
        "or": 1,
        "not": 1,
    }
    assert tvm_ffi.get_global_func("rust_example.count_args")(1, "x", None) == 3
    assert library.run_static_init_blocks() is None


def test_metadata(library):
    assert "overflow" in library.get_function_doc("add")
    schema = library.get_function_metadata("add")
    assert "params" in str(schema)


def test_errors(library):
    with pytest.raises(ValueError, match=r"does not fit int64"):
        library.add(2**62, 2**62)
    with pytest.raises(TypeError, match=r"argument #1 when calling: `add\(0: int, 1: int\)"):
        library.add(1, "two")
    with pytest.raises(RuntimeError, match="Rust panicked: on purpose"):
        library.fail("on purpose")


def test_error_shows_the_rust_line(library):
    with pytest.raises(ValueError) as info:
        library.add(2**62, 2**62)
    files = [entry.path for entry in info.traceback]
    assert any(str(path).endswith("text_library/src/lib.rs") for path in files), files


def test_callback(library):
    assert list(library.map_texts(str.upper, ["a", "bcd"])) == ["A", "BCD"]

    def bad(text):
        raise KeyError(text)

    with pytest.raises(KeyError, match="a"):
        library.map_texts(bad, ["a"])


def test_tensors(library):
    x = np.arange(6, dtype="float32").reshape(2, 3)
    y = np.ones((2, 3), dtype="float32")
    library.axpy(2.0, tvm_ffi.from_dlpack(x), tvm_ffi.from_dlpack(y))
    np.testing.assert_array_equal(y, 1 + 2 * x)
    with pytest.raises(ValueError, match="one shape"):
        library.axpy(1.0, tvm_ffi.from_dlpack(x), tvm_ffi.from_dlpack(y[0].copy()))
    with pytest.raises(TypeError, match="expected float32, got float64"):
        wide = np.zeros(3)
        library.axpy(1.0, tvm_ffi.from_dlpack(wide), tvm_ffi.from_dlpack(np.zeros(3)))


def test_values_come_back(library):
    for value in [None, True, -3, 2.5, "short", "a longer text", b"bytes"]:
        assert library.echo(value) == value
    assert list(library.echo([1, "a"])) == [1, "a"]


def test_objects(library):
    note = library.make_note("buy milk", 3)
    assert (note.text, note.priority) == ("buy milk", 3)
    assert note.shout() == "BUY MILK"
    note.text = "buy a lot of milk"
    assert note.text == "buy a lot of milk"
    with pytest.raises(AttributeError):
        note.priority = 4
    assert tvm_ffi.structural_equal(note, library.make_note("buy a lot of milk", 3))
    assert not tvm_ffi.structural_equal(note, library.make_note("buy a lot of milk", 4))
    assert repr(note).startswith("rust_example.Note(")

    @tvm_ffi.register_object("rust_example.Note")
    class Note(tvm_ffi.Object):
        pass

    assert Note("x").priority == 0
    assert Note("x", 7).priority == 7
    with pytest.raises(TypeError, match="missing required argument: 'text'"):
        Note()


def test_enumeration(library):
    from tvm_ffi.dataclasses import Enum

    class Weight(Enum, type_key="rust_example.Weight"):
        pass

    assert [entry._str_index for entry in Weight] == ["light", "heavy"]
    heavy = library.weigh(library.make_note("x", 9))
    assert heavy.same_as(Weight.get("heavy")) and heavy._int_index == 1
    assert Weight.attr_dict["stamps"][heavy] == 2
    assert repr(heavy) == "rust_example.Weight.heavy"


def test_registrations_outlive_the_module(examples, child_env):
    """A library that registered something stays loaded when its module is dropped."""
    program = f"""
import gc, tvm_ffi
lib = tvm_ffi.load_module({os.path.join(examples, "libtext_library.so")!r}, keep_module_alive=False)
note = lib.make_note("x", 1)
del lib
gc.collect()
assert tvm_ffi.get_global_func("rust_example.count_args")(1, 2) == 2
assert note.shout() == "X"
"""
    subprocess.run([sys.executable, "-c", program], env=child_env(), check=True)


def test_model(examples, tmp_path):
    tvm = pytest.importorskip("tvm")
    from tvm.script import ir as I
    from tvm.script import relax as R

    @I.ir_module
    class Model:
        @R.function
        def main(x: R.Tensor((3, 4), "float32"), w: R.Tensor((4, 5), "float32")):
            with R.dataflow():
                y = R.matmul(x, w)
                z = R.nn.relu(y)
                R.output(z)
            return z

    path = tmp_path / "model.so"
    tvm.compile(Model, target="llvm").export_library(str(path))
    rng = np.random.default_rng(0)
    x = rng.standard_normal((3, 4), dtype="float32")
    w = rng.standard_normal((4, 5), dtype="float32")
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "w.npy", w)
    program = os.path.join(examples, "run_model")
    out = tmp_path / "out.npy"
    inputs = [str(tmp_path / "x.npy"), str(tmp_path / "w.npy")]
    command = [program, str(path), "--output", str(out), *inputs]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "float32[3, 5]@cpu:0" in done.stdout
    np.testing.assert_allclose(np.load(out), np.maximum(x @ w, 0), rtol=1e-5, atol=1e-6)
    missing = subprocess.run([program, "none.so"], capture_output=True, text=True, check=False)
    assert missing.returncode == 1 and "none.so" in missing.stderr
