# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Backends that other distributions bring: found, loaded once, undone on failure, loaded with tvm."""

import importlib
import subprocess
import sys

import pytest

from tvm import backend

WORKING = """
calls = []
def register_backend():
    calls.append(1)
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Function that adds a backend of that name and source, with a module ``ops``."""
    monkeypatch.syspath_prepend(str(tmp_path))
    names = []

    def add(name, source):
        folder = tmp_path / "tvm" / "backend" / name
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(source)
        (folder / "ops.py").write_text("value = 7\n")
        importlib.invalidate_caches()
        names.append(name)
        return folder

    yield add
    for name in names:
        backend._LOADED.pop(name, None)
        for module in [m for m in sys.modules if m.split(".")[2:3] == [name]]:
            del sys.modules[module]


def test_load_once(package):
    package("test_one", WORKING)
    assert not backend.is_loaded("test_one")
    module = backend.load("test_one")
    assert backend.load("test_one") is module and module.calls == [1]
    assert backend.is_loaded("test_one") and module.__name__ == "tvm.backend.test_one"


def test_the_dialect_below_tirx(package):
    import tvm.tirx

    package("test_two", WORKING)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("tvm.tirx.test_two")
    module = backend.load("test_two")
    assert tvm.tirx.test_two is module and module.__spec__.name == "tvm.backend.test_two"
    ops = importlib.import_module("tvm.tirx.test_two.ops")
    assert ops.value == 7 and ops is importlib.import_module("tvm.backend.test_two.ops")
    assert ops.__spec__.name == ops.__name__ == "tvm.backend.test_two.ops"


def test_missing():
    message = "Cannot load TVM backend 'nowhere': expected Python package 'tvm.backend.nowhere'"
    with pytest.raises(ImportError, match=message):
        backend.load("nowhere")


@pytest.mark.parametrize(
    ("source", "kind", "message"),
    [
        ("import tvm.backend.test_bad.ops\n", AttributeError, "has no register_backend"),
        ("from . import ops\nraise KeyError('early')\n", KeyError, "early"),
        ("import no_such_module_at_all\n", ModuleNotFoundError, "no_such_module_at_all"),
        ("def register_backend():\n    raise ValueError('late')\n", ValueError, "late"),
    ],
)
def test_failures_are_undone(package, source, kind, message):
    folder = package("test_bad", source)
    with pytest.raises(kind, match=message):
        backend.load("test_bad")
    assert not backend.is_loaded("test_bad") and not hasattr(backend, "test_bad")
    assert not [m for m in sys.modules if m.startswith("tvm.backend.test_bad")]
    (folder / "__init__.py").write_text(WORKING + "# mended\n")
    importlib.invalidate_caches()
    assert backend.load("test_bad").calls == [1]


def test_other_name_of_the_list():
    from tvm import _autoload_backends

    assert _autoload_backends is importlib.import_module("tvm.backend._autoload_backends")
    assert "cuda" in _autoload_backends._BUILTIN_BACKENDS and _autoload_backends._AUTO_LOAD_DONE


@pytest.mark.parametrize("mode", ["loaded", "broken", "off"])
def test_entry_points(tmp_path, child_env, mode):
    info = tmp_path / "thing-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tvm.backends]\nthing = thing_backend:register\n")
    body = "raise KeyError('oh')" if mode == "broken" else "print('called', tvm.compile is None)"
    (tmp_path / "thing_backend.py").write_text(f"import tvm\ndef register():\n    {body}\n")
    env = child_env(TVM_DEVICE_BACKEND_AUTOLOAD="0" if mode == "off" else None)
    env["PYTHONPATH"] += f":{tmp_path}"
    done = subprocess.run(
        [sys.executable, "-c", "import tvm; print('imported')"],
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ("called False\nimported\n" if mode == "loaded" else "imported\n")
    shown = "Failed to autoload tvm backend 'thing': 'oh'"
    assert (shown in done.stderr) == (mode == "broken")
