# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""utils, config command, inline builds, stub generator."""

import dataclasses
import inspect
import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from child_process import python_environment

import tvm_ffi
from tvm_ffi import cpp, libinfo
from tvm_ffi.stub import cli
from tvm_ffi.utils import FileLock
from tvm_ffi.utils.kwargs_wrapper import make_kwargs_wrapper, make_kwargs_wrapper_from_signature
from tvm_ffi.utils.unpack_dataclass import unpack_dataclass_to_tuple

needs_compiler = pytest.mark.skipif(
    shutil.which(os.environ.get("CXX", "c++")) is None or shutil.which("ninja") is None,
    reason="needs a C++ compiler and ninja",
)


def echo(*args):
    return args


# --- kwargs wrapper --------------------------------------------------------------------------


def test_kwargs_wrapper_binds_like_python():
    wrapper = make_kwargs_wrapper(echo, ["a", "b"], (1,), ["k", "j"], {"j": 3})
    assert wrapper(0, k=2) == (0, 1, 2, 3)
    assert wrapper(b=5, a=4, k=6, j=7) == (4, 5, 6, 7)
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'k'"):
        wrapper(0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        wrapper(0, k=1, z=2)


def test_kwargs_wrapper_keeps_default_objects():
    default = []
    wrapper = make_kwargs_wrapper(echo, ["a"], (default,))
    assert wrapper()[0] is default


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        ((["a", "a"],), ValueError, "Duplicate argument names found in: .'a', 'a'."),
        ((["1a"],), ValueError, "'1a' is not a valid Python identifier"),
        ((["class"],), ValueError, "'class' is a Python keyword"),
        ((["a"], (1, 2)), ValueError, "arg_defaults has 2 values but only 1 positional"),
        ((["a"], (), ["a"]), ValueError, "cannot be both positional and keyword-only"),
        ((["a"], (), ["k"], {"z": 1}), ValueError, "'z' which is not in kwonly_names"),
        ((["__i_target_func"],), ValueError, "conflict with internal names"),
        ((["a"], None), TypeError, "arg_defaults must be a tuple, got NoneType"),
        (([3],), TypeError, "Argument name must be a string, got int: 3"),
    ],
)
def test_kwargs_wrapper_refuses(args, error, message):
    with pytest.raises(error, match=message):
        make_kwargs_wrapper(echo, *args)


def test_kwargs_wrapper_from_signature():
    def prototype(a: int, b=2, *, k=3):
        """Doc."""

    signature = inspect.signature(prototype)
    wrapper = make_kwargs_wrapper_from_signature(echo, signature, prototype)
    assert wrapper.__name__ == "prototype" and wrapper.__doc__ == "Doc."
    assert inspect.signature(wrapper) == signature
    assert wrapper(1, k=6) == (1, 2, 6)
    shorter = make_kwargs_wrapper_from_signature(echo, signature, exclude_arg_names=["b"])
    assert shorter(1) == (1, 3)
    for function, message in ((lambda *a: 0, r"\*args"), (lambda **k: 0, r"\*\*kwargs")):
        with pytest.raises(ValueError, match=message):
            make_kwargs_wrapper_from_signature(echo, inspect.signature(function))


@dataclasses.dataclass
class Inner:
    x: int
    y: str


@dataclasses.dataclass
class Outer:
    i: Inner
    items: list
    table: dict


def test_unpack_dataclass():
    made = Outer(Inner(1, "a"), [Inner(2, "b"), 3], {"k": (Inner(3, "c"),)})
    assert unpack_dataclass_to_tuple(made) == ((1, "a"), [(2, "b"), 3], {"k": ((3, "c"),)})
    array = np.zeros(2)
    assert unpack_dataclass_to_tuple(array) is array
    assert unpack_dataclass_to_tuple(Outer) is Outer
    wrapper = make_kwargs_wrapper(echo, ["a", "b"], map_dataclass_to_tuple=["a"])
    assert wrapper(Inner(1, "a"), Inner(1, "a")) == ((1, "a"), Inner(1, "a"))


# --- lock ------------------------------------------------------------------------------------


def test_file_lock(tmp_path):
    path = str(tmp_path / "lock")
    first, second = FileLock(path), FileLock(path)
    assert first.acquire() and not second.acquire()
    with pytest.raises(TimeoutError):
        second.blocking_acquire(timeout=0.05, poll_interval=0.01)
    first.release()
    with second:
        assert not first.acquire()
    assert first.acquire()
    first.release()


# --- config command --------------------------------------------------------------------------


def run_module(*args, **kwargs):
    return subprocess.run(
        [sys.executable, "-m", *args],
        capture_output=True,
        text=True,
        check=False,
        env=python_environment(),
        **kwargs,
    )


def test_config_command():
    done = run_module("tvm_ffi.config", "--includedir", "--libs", "--libfiles", "--cmakedir")
    include, cmake, library, libs = done.stdout.splitlines()  # in the order of the help
    assert os.path.isfile(os.path.join(include, "tvm", "ffi", "c_api.h"))
    assert libs == "-ltvm_ffi"
    assert library == libinfo.find_libtvm_ffi()
    assert os.path.isfile(os.path.join(cmake, "tvm_ffi-config.cmake"))
    assert "--ldflags" in run_module("tvm_ffi.config").stdout


def test_library_search(tmp_path):
    name = "libdemo_of_search.so"
    (tmp_path / name).write_bytes(b"")
    found = libinfo._find_library_by_basename("no-such-package", "demo_of_search", [tmp_path])
    assert str(found) == str(tmp_path / name)
    with pytest.raises(RuntimeError, match=str(tmp_path)):
        libinfo._find_library_by_basename("no-such-package", "missing_library", [tmp_path])
    with pytest.raises(TypeError, match=r"extra_lib_paths\[0\] must be a pathlib.Path, got str"):
        libinfo._find_library_by_basename("p", "x", ["text"])


# --- inline builds ---------------------------------------------------------------------------


@needs_compiler
def test_load_inline(tmp_path):
    module = cpp.load_inline(
        "inline_demo",
        cpp_sources="""
        int64_t add1(int64_t x) { return x + 1; }
        void fill(tvm::ffi::TensorView t, double v) {
          for (int64_t i = 0; i < t.numel(); ++i) static_cast<float*>(t.data_ptr())[i] = v;
        }
        """,
        functions={"add1": 'Adds "one".\n', "fill": ""},
        build_directory=str(tmp_path),
    )
    assert module.add1(3) == 4
    assert module.get_function_doc("add1") == 'Adds "one".\n'
    array = np.zeros(3, "float32")
    module.fill(array, 2)
    assert list(array) == [2, 2, 2]
    before = os.path.getmtime(tmp_path / "inline_demo.so")
    again = cpp.build_inline(
        "inline_demo",
        cpp_sources="int64_t add2(int64_t x) { return 2; }",
        functions="add2",
        build_directory=str(tmp_path),
    )
    assert os.path.getmtime(again) >= before


@needs_compiler
def test_cache_is_keyed_by_the_inputs(tmp_path, monkeypatch):
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(tmp_path))
    source = "int64_t one() { return 1; }"
    first = cpp.build_inline("cached", cpp_sources=source, functions="one")
    stamp = os.stat(first).st_mtime_ns
    assert cpp.build_inline("cached", cpp_sources=source, functions=["one"]) == first
    assert os.stat(first).st_mtime_ns == stamp
    other = cpp.build_inline("cached", cpp_sources=source, functions="one", extra_cflags=["-O1"])
    assert other != first and os.path.dirname(os.path.dirname(other)) == str(tmp_path)


@needs_compiler
def test_build_errors(tmp_path):
    with pytest.raises(RuntimeError, match="ninja exited with status 1"):
        cpp.build_inline("bad", cpp_sources="int64_t f( {", build_directory=str(tmp_path / "a"))
    with pytest.raises(AssertionError, match="sources must be provided"):
        cpp.build("nothing")
    with pytest.raises(AssertionError, match="sources must be provided"):
        cpp.load_inline("nothing")


@needs_compiler
def test_build_files_and_objects(tmp_path):
    source = tmp_path / "src.cc"
    source.write_text(
        "#include <tvm/ffi/function.h>\n"
        "int64_t two() { return 2; }\nTVM_FFI_DLL_EXPORT_TYPED_FUNC(two, two);\n"
    )
    obj = cpp.build("part", sources=str(source), build_directory=str(tmp_path / "o"), output="p.o")
    assert os.path.isfile(obj)
    module = cpp.load("whole", cpp_files=[str(source)], build_directory=str(tmp_path / "b"))
    assert module.two() == 2


@needs_compiler
def test_embedded_binary(tmp_path):
    if shutil.which("objcopy") is None:
        pytest.skip("needs binutils")
    path = cpp.build_inline(
        "embed",
        cpp_sources="""
        extern "C" { extern const char __tvm_ffi__cubin_blob[], __tvm_ffi__cubin_blob_end[]; }
        tvm::ffi::Bytes content() {
          return tvm::ffi::Bytes(__tvm_ffi__cubin_blob,
                                 __tvm_ffi__cubin_blob_end - __tvm_ffi__cubin_blob);
        }
        """,
        functions="content",
        embed_cubin={"blob": b"\x00binary\xff"},
        build_directory=str(tmp_path),
    )
    assert tvm_ffi.load_module(path).content() == b"\x00binary\xff"


def test_cpp_dtype():
    assert cpp.to_cpp_dtype("int32") == "int32_t" and cpp.to_cpp_dtype("float64") == "double"
    with pytest.raises(ValueError, match="Unsupported dtype string: complex64"):
        cpp.to_cpp_dtype("complex64")


# --- stub generator --------------------------------------------------------------------------

_STUB = """\
# tvm-ffi-stubgen(begin): import-section
# tvm-ffi-stubgen(end)
# tvm-ffi-stubgen(begin): global/testing
# tvm-ffi-stubgen(end)
class TestObjectDerived:
    # tvm-ffi-stubgen(begin): object/testing.TestObjectDerived
    # tvm-ffi-stubgen(end)
__all__ = [
    # tvm-ffi-stubgen(begin): __all__
    # tvm-ffi-stubgen(end)
]
"""


def test_stubs_are_generated_and_checked(tmp_path, capsys):
    path = tmp_path / "a.py"
    path.write_text(_STUB)
    assert cli.main([str(path), "--check"]) == 1
    assert "[Stale]" in capsys.readouterr().out
    assert path.read_text() == _STUB
    assert cli.main([str(tmp_path), "--dry-run"]) == 0 and path.read_text() == _STUB
    assert cli.main([str(tmp_path)]) == 0
    text = path.read_text()
    compile(text, "a.py", "exec")
    assert "    def add_one(_0: int, /) -> int: ...\n" in text
    assert "    def echo(*args: Any) -> Any: ...\n" in text
    assert "    v_map: Mapping[Any, Any]\n" in text
    assert (
        "        def __init__(self, v_map: Mapping[Any, Any], v_array: Sequence[Any], "
        "v_i64: int = ..., v_f64: float = ..., v_str: str = ...) -> None: ...\n"
    ) in text
    assert '    "TestObjectDerived",\n' in text
    assert "    from collections.abc import Mapping, " in text
    assert cli.main([str(path), "--check"]) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# tvm-ffi-stubgen(begin): bogus\n", "Unknown stub type `bogus` at line 1"),
        ("# tvm-ffi-stubgen(bogus): x\n", "Unknown directive `bogus` at line 1"),
        ("# tvm-ffi-stubgen(end)\n", "Unmatched"),
        ("# tvm-ffi-stubgen(begin): global/a\n", "Unclosed stub block"),
        ("# tvm-ffi-stubgen(ty-map): abc\n", "Invalid ty_map format at line 1"),
        (
            "# tvm-ffi-stubgen(begin): global/a\n# tvm-ffi-stubgen(begin): global/b\n",
            "Nested stub not permitted at line 2",
        ),
        (
            "# tvm-ffi-stubgen(begin): object/no.such\n# tvm-ffi-stubgen(end)\n",
            "the type is no longer registered",
        ),
    ],
)
def test_bad_directives(tmp_path, capsys, text, message):
    path = tmp_path / "bad.py"
    path.write_text(text)
    assert cli.main([str(path)]) == 2
    assert message in capsys.readouterr().out
    assert path.read_text() == text


def test_skip_file(tmp_path):
    path = tmp_path / "skip.py"
    path.write_text("# tvm-ffi-stubgen(skip-file)\n# tvm-ffi-stubgen(bogus): x\n")
    assert cli.main([str(path)]) == 0


def test_stub_packages(tmp_path):
    args = [
        "--init-pypkg",
        libinfo._PACKAGE_NAME,
        "--init-lib",
        "tvm_ffi_testing",
        "--init-prefix",
        "testing.",
    ]
    assert cli.main([str(tmp_path), *args]) == 0
    text = (tmp_path / "testing" / "_ffi_api.py").read_text()
    assert "class TestIntPair(_ffi_Object):" in text
    env = python_environment(tmp_path)
    code = "import testing; print(testing.TestIntPair(1, 2).sum(), testing.add_one(1))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=env
    )
    assert done.stdout == "3 2\n", done.stderr


def test_layout_report(tmp_path):
    path = tmp_path / "report.json"
    assert cli.main(["--coverage-out", str(path)]) == 0
    report = json.loads(path.read_text())
    hidden = report["testing.TestCxxClassHiddenField"]
    assert hidden["verdict"] == "opaque" and hidden["reason"] == "uncovered-bytes"
    assert hidden["uncovered"] == [[32, 40]] and hidden["padding"] == [[44, 48]]
    assert report["testing.TestCxxClassDerivedDerived"]["verdict"] == "complete"
    assert report["ffi.IntEnum"]["reason"] == "field-overlap"
    assert report["testing.TestCxxIntEnum"]["reason"] == "parent-opaque"
    assert report["ffi.Array"]["reason"] == "layout-unknown"


@pytest.mark.skipif(shutil.which("readelf") is None, reason="binutils is not installed")
def test_libraries_are_not_sought_in_the_current_directory():
    for path in (libinfo.find_libtvm_ffi(), libinfo.find_cython_lib()):
        rows = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True)
        for paths in re.findall(r"R(?:UN)?PATH\).*\[(.*)\]", rows.stdout):
            assert all(paths.split(":")), f"{path}: an empty entry in {paths!r}"
