# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""`tvm-ffi-stubgen --target rust`. That its output compiles and works is tested in rust/tvm-ffi."""

import itertools
import json

import pytest

import tvm_ffi
import tvm_ffi.testing
from tvm_ffi.dataclasses import py_class
from tvm_ffi.stub import cli

_COUNTER = itertools.count()


def generate(path, text=None, *options):
    """Run the command on a file with this content; returns the exit status and the new content."""
    if text is not None:
        path.write_text(text, encoding="utf8")
    status = cli.main(["--target", "rust", *options, str(path)])
    return status, path.read_text(encoding="utf8")


def block(key):
    return f"// tvm-ffi-stubgen(begin): object/{key}\n// tvm-ffi-stubgen(end)\n"


def define(body, parent=tvm_ffi.Object, **options):
    """A Python-defined type; its layout is the one that every language sees."""
    key = f"test_stub_rust{next(_COUNTER)}.Made"
    body = {"__annotations__": body}
    py_class(key, **options)(type(tvm_ffi.Object)("Made", (parent,), body))
    return key


@pytest.fixture
def path(tmp_path):
    return tmp_path / "mirror.rs"


def test_fields_by_type(path):
    key = define(
        {
            "i": int,
            "f": float,
            "b": bool,
            "s": str,
            "d": tvm_ffi.dtype,
            "a": tvm_ffi.Object,
            "l": list[int],
            "m": tvm_ffi.Map[str, float],
            "o": str | None,
            "t": tvm_ffi.Tensor,
        }
    )
    status, text = generate(path, block(key))
    assert status == 0
    for line in (
        "pub i: i64,",
        "pub f: f64,",
        "pub b: bool,",
        "pub s: tvm_ffi::String,",
        "pub d: tvm_ffi::DLDataType,",
        "pub a: tvm_ffi::ObjectRef,",
        "pub l: tvm_ffi::List<i64>,",
        "pub m: tvm_ffi::Map<tvm_ffi::String, f64>,",
        "pub o: tvm_ffi::Optional<tvm_ffi::String>,",
        "pub t: tvm_ffi::Tensor,",
    ):
        assert f"    {line}\n" in text
    size = tvm_ffi.core._lookup_or_register_type_info_from_type_key(key).total_size
    assert f"assert!(::core::mem::size_of::<MadeObj>() == {size});" in text


def test_what_rust_has_no_form_for_makes_a_type_opaque(path, tmp_path):
    key = define({"number": int, "choice": int | str, "table": dict[str, int]})
    status, text = generate(path, block(key), "--coverage-out", str(tmp_path / "report.json"))
    assert status == 0 and "pub number:" not in text
    assert "pub fn number(&self) -> tvm_ffi::Result<i64>" in text
    assert "pub fn choice(&self) -> tvm_ffi::Result<tvm_ffi::Any>" in text
    report = json.loads((tmp_path / "report.json").read_text())
    assert report[key]["reason"] == "unrenderable-field"
    assert report["testing.TestCxxClassHiddenField"]["reason"] == "uncovered-bytes"
    assert report["testing.TestIntPair"]["verdict"] == "complete"


def test_directives(path, tmp_path):
    parent = define({"mode": int, "next": tvm_ffi.Object})
    key = f"{parent}"
    status, text = generate(
        path,
        f"// tvm-ffi-stubgen(enum): {key}.mode -> Mode(i64) {{ slow=0, fast=1 }}\n"
        f"// tvm-ffi-stubgen(nullable): {key}.next\n"
        f"// tvm-ffi-stubgen(custom-new): {key}\n"
        f"// tvm-ffi-stubgen(upcast): {key} -> crate::Other\n"
        f"// tvm-ffi-stubgen(import-section)\n" + block(key),
    )
    assert status == 2, "an import section is a block"
    status, text = generate(
        path,
        path.read_text().replace(
            "// tvm-ffi-stubgen(import-section)\n",
            "// tvm-ffi-stubgen(import-object): std::fmt;False;f\n"
            "// tvm-ffi-stubgen(begin): import-section\n// tvm-ffi-stubgen(end)\n",
        ),
    )
    assert status == 0
    assert "pub mode: Mode," in text and "pub const fast: Self = Self(1);" in text
    assert "pub next: ::core::option::Option<tvm_ffi::ObjectRef>," in text
    assert "pub(crate) fn from_fields(" in text and "pub fn new(" not in text
    assert "Made => tvm_ffi::ObjectRef, crate::Other);" in text
    assert "use std::fmt as f;" in text
    status, text = generate(
        path,
        f"// tvm-ffi-stubgen(opaque): {key}\n"
        f"// tvm-ffi-stubgen(field): {key}.next -> crate::Node\n" + block(key),
        "--coverage-out",
        str(tmp_path / "report.json"),
    )
    assert status == 0
    assert "pub fn next(&self) -> tvm_ffi::Result<crate::Node>" in text
    assert json.loads((tmp_path / "report.json").read_text())[key]["reason"] == "by-directive"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("(enum): a.b -> C(u8) { A=0 }", "Invalid `enum` directive at line 1. Expected `type.key"),
        ("(enum): a.b -> C(i32) { A }", "Invalid `enum` directive at line 1. Expected `type.key"),
        ("(nullable): a", "Invalid `nullable` directive at line 1. Expected `type.key.field`."),
        ("(field): a.b c", "Expected `type.key.field -> RustType`."),
        ("(upcast): a b", "Expected `type.key -> RustType`."),
        ("(skip): a b", "Invalid `skip` directive at line 1. Expected `type.key`."),
        ("(prefix): a/b", "Invalid `prefix` directive at line 1. Expected `namespace`."),
        ("(bogus): a", "Unknown directive `bogus` at line 1"),
        ("(begin): global/testing\n// tvm-ffi-stubgen(end)", "Rust has no `global` blocks"),
        ("(begin): object/no.such\n// tvm-ffi-stubgen(end)", "no longer registered"),
    ],
)
def test_bad_directives(path, capsys, line, message):
    status, text = generate(path, f"// tvm-ffi-stubgen{line}\n")
    assert status == 2 and message in capsys.readouterr().out
    assert text == f"// tvm-ffi-stubgen{line}\n", "the file is left alone"


def test_prefix_follows_the_registry(path):
    gone = "// tvm-ffi-stubgen(begin): object/testing.Vanished\n// tvm-ffi-stubgen(end)\n"
    status, text = generate(
        path,
        "// tvm-ffi-stubgen(prefix): testing\n// tvm-ffi-stubgen(skip): testing.TestHash\n" + gone,
    )
    assert status == 0
    assert "Vanished" not in text and "TestHashObj" not in text
    order = [text.index(f"object/testing.TestCxxClass{name}\n") for name in ("Base", "Derived")]
    assert order == sorted(order)
    assert "base: TestCxxClassBaseObj," in text
    assert "object/ffi." not in text


def test_check_ignores_layout(path, capsys):
    key = define({"x": int})
    _, text = generate(path, block(key))
    formatted = text.replace("{ base, x }", "{\n            base,\n            x,\n        }")
    formatted = "use std::fmt;\n// a comment\n" + formatted
    assert formatted.count("\n") > text.count("\n")
    status, after = generate(path, formatted, "--check")
    assert status == 0 and after == formatted
    status, after = generate(path, formatted.replace("pub x: i64", "pub x: i32"), "--check")
    assert status == 1 and "[Stale]" in capsys.readouterr().out
    assert "i32" in after, "a check writes nothing"


def test_parents_come_from_the_map(path):
    parent = define({"x": int})
    parent_class = tvm_ffi.core._lookup_or_register_type_info_from_type_key(parent).type_cls
    child = define({"y": int, "made": parent_class}, parent=parent_class)
    status, text = generate(path, block(child))
    assert status == 2, "the parent has no mirror"
    status, text = generate(
        path, f"// tvm-ffi-stubgen(ty-map): {parent} -> crate::base::Made\n" + block(child)
    )
    assert status == 0
    assert "base: crate::base::MadeObj," in text and "pub made: crate::base::Made," in text
    assert "pub fn new(" not in text, "the parent's constructor is not known here"
