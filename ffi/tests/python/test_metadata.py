# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Schemas of functions, fields and methods as Python reads them."""

import json

import numpy as np
import pytest

import tvm_ffi
import tvm_ffi.testing
from tvm_ffi import core
from tvm_ffi.testing import TestIntPair

PAIR = TestIntPair(1, 2)
# Global function `testing.schema_id_<name>`: type text, and a value that it returns as it is.
IDENTITIES = {
    "int": ("int", 3),
    "float": ("float", 2.5),
    "bool": ("bool", True),
    "device": ("Device", tvm_ffi.device("cuda:1")),
    "dtype": ("dtype", tvm_ffi.dtype("float16")),
    "string": ("str", "a text beyond seven bytes"),
    "bytes": ("bytes", b"raw"),
    "func": ("Callable[..., Any]", None),
    "func_typed": ("Callable[[int, float, Callable[..., Any]], None]", None),
    "any": ("Any", 7),
    "object": ("Object", PAIR),
    "dltensor": ("Tensor", None),
    "tensor": ("Tensor", None),
    "opt_int": ("int | None", None),
    "opt_str": ("str | None", "x"),
    "opt_obj": ("Object | None", PAIR),
    "arr": ("Array[Any]", [1, "a"]),
    "arr_int": ("Array[int]", [1, 2]),
    "arr_str": ("Array[str]", ["a"]),
    "arr_obj": ("Array[Object]", [PAIR]),
    "list_int": ("List[int]", tvm_ffi.List([1])),
    "list_str": ("List[str]", tvm_ffi.List(["a"])),
    "list_obj": ("List[Object]", tvm_ffi.List([PAIR])),
    "map": ("Map[Any, Any]", {1: "a"}),
    "map_str_int": ("Map[str, int]", {"a": 1}),
    "map_str_str": ("Map[str, str]", {"a": "b"}),
    "map_str_obj": ("Map[str, Object]", {"a": PAIR}),
    "dict_str_int": ("Dict[str, int]", tvm_ffi.Dict({"a": 1})),
    "dict_str_str": ("Dict[str, str]", tvm_ffi.Dict({"a": "b"})),
    "variant_int_str": ("int | str", "x"),
}


def schema_of(name):
    metadata = tvm_ffi.get_global_func_metadata(name)
    return core.TypeSchema.from_json_str(metadata["type_schema"])


@pytest.mark.parametrize("name", IDENTITIES)
def test_identities(name):
    text, value = IDENTITIES[name]
    schema = schema_of(f"testing.schema_id_{name}")
    assert schema.origin == "Callable"
    (result,), (argument,) = schema.named_args["return"], schema.named_args["params"]
    assert repr(argument) == repr(result) == text
    if value is not None:
        back = tvm_ffi.get_global_func(f"testing.schema_id_{name}")(value)
        plain = isinstance(value, dict)
        assert (dict(back.items()) if plain else back) == value


def test_every_identity_is_listed():
    prefix = "testing.schema_id_"
    names = tvm_ffi.registry.list_global_func_names()
    found = {name[len(prefix) :] for name in names if name.startswith(prefix)}
    assert found == set(IDENTITIES)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("schema_no_args", "Callable[[], int]"),
        ("schema_no_return", "Callable[[int], None]"),
        ("schema_no_args_no_return", "Callable[[], None]"),
        ("schema_packed", "Callable[..., Any]"),
        ("schema_tensor_view_input", "Callable[[Tensor], None]"),
        (
            "schema_variant_mix",
            "Callable[[int | str | Array[int]], int | str | Array[int]]",
        ),
        (
            "schema_arr_map_opt",
            "Callable[[Array[int | None], Map[str, Array[int]], str | None], Map[str, Array[int]]]",
        ),
    ],
)
def test_shapes_of_functions(name, text):
    assert repr(schema_of(f"testing.{name}")) == text


def test_functions_with_optional_and_container_arguments():
    function = tvm_ffi.get_global_func("testing.schema_arr_map_opt")
    result = function([1, None, 3], {"a": [7]}, "found")
    assert {k: list(v) for k, v in result.items()} == {"a": [7], "found": [1, 3]}
    has_value = tvm_ffi.get_global_func("testing.optional_tensor_view_has_value")
    assert has_value(np.zeros(2)) and not has_value(None)
    with pytest.raises(TypeError, match=r"Expected `Optional<DLTensor\*>` but got `int`"):
        has_value(3)


def test_metadata_of_functions_and_members():
    marks = {"bool_attr": True, "int_attr": 1, "str_attr": "hello"}
    metadata = tvm_ffi.get_global_func_metadata("testing.schema_id_int")
    assert {key: metadata[key] for key in marks} == marks
    info = core._lookup_or_register_type_info_from_type_key("testing.SchemaAllTypes")
    fields = {field.name: field for field in info.fields}
    assert len(fields) == 15
    assert fields["v_bool"].doc == "bool field"
    assert {key: fields["v_bool"].metadata[key] for key in marks} == marks
    assert repr(fields["v_opt_arr_variant"].ty) == "Array[int | str] | None"
    assert repr(fields["v_map_str_arr_int"].ty) == "Map[str, Array[int]]"
    methods = {method.name: method for method in info.methods}
    assert methods["add_int"].doc == "add int method"
    assert methods["make_with"].is_static and not methods["add_int"].is_static
    with pytest.raises(RuntimeError, match="is not found"):
        tvm_ffi.get_global_func_metadata("testing.no_such_function")


def test_exported_functions_of_a_library():
    path = tvm_ffi.libinfo._find_library_by_basename("opentvm-ffi", "tvm_ffi_testing")
    module = tvm_ffi.load_module(path)
    schema = module.get_function_metadata("testing_dll_schema_id_int")["type_schema"]
    assert json.loads(schema)["named_args"]["return"] == [{"type": "int"}]
    assert module.testing_dll_schema_id_int(5) == 5
    assert "dd" in module.get_function_doc("testing_dll_test_add_with_docstring")
    assert module.get_function_doc("testing_dll_schema_id_int") is None
    assert module.get_function_metadata("no_such") is None
