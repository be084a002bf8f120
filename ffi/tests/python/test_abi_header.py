# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Generated C++ headers read the objects of Python classes."""

import shutil
import subprocess
from typing import Any

import pytest

import tvm_ffi
from tvm_ffi import libinfo
from tvm_ffi.dataclasses import gen_abi_cpp, py_class

CXX = shutil.which("c++") or shutil.which("g++")


@py_class("test_abi.Base")
class Base(tvm_ffi.Object):
    number: int
    flag: bool


@py_class("test_abi.inner.Leaf")
class Leaf(Base):
    second_flag: bool
    kind: tvm_ffi.dtype
    place: tvm_ffi.Device
    text: str
    items: tvm_ffi.Array[int]
    table: tvm_ffi.Map[str, Any]
    maybe: int | None
    ratio: float
    twin: Base
    operator: int  # a word of C++


READER = """
#include "view.h"
using test_abi::inner::LeafObj;
int64_t Number(test_abi::Base base) { return base->number; }
tvm::ffi::String Describe(test_abi::inner::Leaf leaf) {
  const LeafObj* object = leaf.get();
  std::string out = std::string(object->text) + "|" + std::to_string(object->number);
  out += object->flag ? "|y" : "|n";
  out += object->second_flag ? "|y" : "|n";
  out += "|" + std::string(tvm::ffi::DLDataTypeToString(object->kind));
  out += "|" + std::to_string(object->place.device_id) + "|";
  for (int64_t item : object->items) out += std::to_string(item) + ",";
  out += "|" + std::to_string(object->table.at("k").cast<int64_t>());
  out += "|" + std::to_string(object->maybe.cast<int64_t>());
  out += "|" + std::to_string(object->ratio) + "|" + std::to_string(object->twin->number);
  return out + "|" + std::to_string(object->operator_);
}
void SetNumber(test_abi::Base base, int64_t value) { base->number = value; }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(number, Number);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(describe, Describe);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(set_number, SetNumber);
"""


def make_leaf():
    return Leaf(
        7, True, False, tvm_ffi.dtype("int8x4"), tvm_ffi.device("cuda", 3), "a long enough text",
        [1, 2], {"k": 5}, 9, 0.5, Base(11, False), 13,
    )  # fmt: skip


@pytest.mark.skipif(CXX is None, reason="no C++ compiler")
def test_compiled_view_reads_and_writes(tmp_path):
    (tmp_path / "view.h").write_text(gen_abi_cpp("test_abi.inner.Leaf"))
    (tmp_path / "reader.cc").write_text(READER)
    library = tmp_path / "reader.so"
    command = [CXX, "-std=c++17", "-O0", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror"]
    command += [str(tmp_path / "reader.cc"), "-o", str(library)]
    command += [f"-I{path}" for path in libinfo.include_paths()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    module = tvm_ffi.load_module(str(library))
    leaf = make_leaf()
    text = "a long enough text|7|y|n|int8x4|3|1,2,|5|9|0.500000|11|13"
    assert module.describe(leaf) == text
    assert module.number(leaf) == 7
    module.set_number(leaf, -1)
    assert leaf.number == -1
    with pytest.raises(TypeError):
        module.describe(Base(1, True))


def test_ancestors_come_first_and_once():
    text = gen_abi_cpp(["test_abi.inner.*", "test_abi.Base"])
    assert text == gen_abi_cpp("test_abi.*")
    assert text.index("class BaseObj") < text.index("class LeafObj")
    assert text.count("class BaseObj") == 1
    assert "class LeafObj : public ::test_abi::BaseObj {" in text


def test_registered_cpp_types_have_views():
    from tvm_ffi import testing  # noqa: F401

    text = gen_abi_cpp("testing.TestObjectDerived")
    assert "class TestObjectBaseObj : public ::tvm::ffi::Object" in text
    assert "offsetof(TestObjectDerivedObj, v_map)" in text


def test_what_has_no_view_is_an_error():
    from tvm_ffi import testing  # noqa: F401

    with pytest.raises(ValueError, match="matches 'test_abi.missing'"):
        gen_abi_cpp("test_abi.missing")
    with pytest.raises(ValueError, match="layout of 'testing.TestCxxClassHiddenField'"):
        gen_abi_cpp("testing.TestCxxClassHiddenField")
    with pytest.raises(TypeError, match="got int"):
        gen_abi_cpp([1])
