# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""The checks of ``./dev lint`` find what they are for, and ``--changed`` names the right tests."""

import importlib.util
import subprocess

import pytest

HEADER = "# SPDX-License-Identifier: Apache-2.0\n# SPDX-FileCopyrightText: The OpenTVM authors\n"


@pytest.fixture
def load(root, tmp_path, monkeypatch):
    """Function that loads a script of tools/ and makes it look at a tree of its own."""

    def run(name):
        spec = importlib.util.spec_from_file_location("tool", root / "tools" / name)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        monkeypatch.setattr(module, "ROOT", tmp_path)
        return module

    return run


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_includes_of_higher_layers(load, tmp_path):
    layers = load("lint/layers.py")
    allowed = {"low": [], "high": ["low"]}
    write(tmp_path / "src/low/a.cc", '#include "low/a.h"\n#include <tvm/high/b.h>\n')
    write(tmp_path / "src/high/b.cc", '#include <tvm/low/a.h>\n#include "../low/a.h"\n')
    write(tmp_path / "src/none/c.h", "#include <tvm/low/a.h>\n")
    write(tmp_path / "src/low/a_test.cc", "#include <tvm/high/b.h>\n")
    write(tmp_path / "include/tvm/low/a.h", "#include <tvm/high/b.h>\n#include <vector>\n")
    assert layers.check_cpp(allowed) == [
        "src/high/b.cc: include path with '..': ../low/a.h",
        "src/low/a.cc: layer 'low' must not include tvm/high/b.h ('high')",
        "src/none/c.h: folder 'none' is no layer of tools/lint/layers.toml",
        "include/tvm/low/a.h: layer 'low' must not include tvm/high/b.h ('high')",
    ]


def test_cycles(load, tmp_path):
    layers = load("lint/layers.py")
    assert layers.find_cycle({"a": ["b"], "b": [], "c": ["a", "b"]}, "layers") == []
    cycle = layers.find_cycle({"x": ["a"], "a": ["b"], "b": ["c"], "c": ["a"]}, "layers")
    assert cycle == ["cycle of layers: a -> b -> c -> a"]

    package = tmp_path / "python/tvm"
    write(package / "__init__.py", "from . import one\n")
    write(package / "one.py", "from .sub import two\nimport os\n")
    write(package / "sub/__init__.py", "from .two import name\n")
    two = write(package / "sub/two.py", "def name():\n    from tvm import one\n")
    assert layers.find_cycle(layers.python_edges(), "imports") == []
    two.write_text("from ..one import f\n")
    assert layers.find_cycle(layers.python_edges(), "imports") == [
        "cycle of imports: tvm.one -> tvm.sub.two -> tvm.one"
    ]


def test_imports_of_higher_packages(load, tmp_path):
    layers = load("lint/layers.py")
    write(tmp_path / "python/tvm/ir/a.py", "from ..relax import x\nimport tvm.te as te\n")
    write(tmp_path / "python/tvm/ir/b.py", "from tvm import relax\nfrom .relax import own\n")
    errors = layers.check_python({"ir": ["relax", "te"]})
    assert {e.partition(" ")[0] for e in errors} == {
        "python/tvm/ir/a.py:1:",
        "python/tvm/ir/a.py:2:",
        "python/tvm/ir/b.py:1:",
    }


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.py", "x = 1\n", "lack 'SPDX-License-Identifier: Apache-2.0'"),
        ("run", "exit\n", "lack 'SPDX-FileCopyrightText: '"),
        ("a.cc", HEADER + "//\n" * 1000, "1002 lines; at most 1000"),
        ("a.md", "see /" + "root/x\n", "path of a machine"),
        ("d/README.md", "line\n" * 41, "41 lines; a folder's README has at most 40"),
        ("CMakeLists.txt", HEADER + "# https://pypi" + ".org\n", "host of a registry"),
    ],
)
def test_files(load, tmp_path, name, text, message):
    files = load("lint/files.py")
    assert any(message in error for error in files.check(write(tmp_path / name, text)))
    fine = write(tmp_path / "fine.py", HEADER + "x = 1\n")
    assert files.check(fine) == [] and files.check(write(tmp_path / "e.py", "")) == []


def test_new_files_are_checked(load, tmp_path):
    files = load("lint/files.py")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    write(tmp_path / ".gitignore", "out/\n")
    write(tmp_path / "new.py", "")
    write(tmp_path / "out/old.py", "")
    assert {path.name for path in files.tracked()} == {".gitignore", "new.py"}


@pytest.fixture
def tests_for(root):
    spec = importlib.util.spec_from_file_location("changed", root / "tools" / "changed_tests.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.tests_for


def test_changes_in_a_layer_test_it_and_those_above(tests_for):
    lines = tests_for(["src/s_tir/schedule/x.cc"])
    assert {"cpp s_tir", "cpp relax", "cpp driver", "py tests/s_tir", "py tests/e2e"} <= set(lines)
    assert not {"cpp tirx", "cpp ffi", "py tests/ir", "py tests/tools"} & set(lines)
    assert {"cpp codegen", "cpp codegen_llvm"} <= set(tests_for(["src/codegen/llvm/jit.cc"]))


@pytest.mark.parametrize(
    "path", ["ffi/src/object.cc", "tests/conftest.py", "CMakeLists.txt", "dev"]
)
def test_what_everything_depends_on_tests_everything(tests_for, root, path):
    lines = set(tests_for([path]))
    folders = {p.parent.relative_to(root).as_posix() for p in root.glob("tests/*/test_*.py")}
    assert {f"py {folder}" for folder in folders} <= lines
    assert {"cpp ffi", "py ffi/tests/python", "py ffi/tests/interop"} <= lines


def test_texts_and_tests(tests_for):
    assert tests_for(["README.md", "src/relax/README.md"]) == []
    assert tests_for(["tests/cli/test_cli.py"]) == ["py tests/cli"]
    assert tests_for(["docs/ffi/concepts/abi.md"]) == ["py tests/docs"]


def test_every_test_program_is_named(tests_for, root):
    """Each folder with C++ tests is run when everything changed."""
    layers = {p.relative_to(root / "src").parts[0] for p in root.glob("src/*/**/*_test.cc")}
    assert {f"cpp {layer}" for layer in layers} <= set(tests_for(["dev"]))
