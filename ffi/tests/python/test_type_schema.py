# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""TypeSchema: annotations, JSON, text, conversion."""

# ruff: noqa: UP007, UP045, F821 - all spellings of annotations must work

import collections
import ctypes
import enum
import fractions
import typing
from collections.abc import Callable
from typing import Any, Optional, Union

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import core
from tvm_ffi.core import CAny, TypeSchema, _to_py_class_value
from tvm_ffi.testing import TestIntPair, TestObjectBase, TestObjectDerived

of = TypeSchema.from_annotation


def convert(annotation, value):
    made = of(annotation).convert(value)
    assert isinstance(made, CAny)
    return _to_py_class_value(made)


class IntLike:
    def __tvm_ffi_int__(self):
        return 7


class FloatLike:
    def __tvm_ffi_float__(self):
        return 2.5


class ValueLike:
    def __init__(self, value):
        self.value = value

    def __tvm_ffi_value__(self):
        return self.value


class Convertible(core.ObjectConvertible):
    def __init__(self, value):
        self.value = value

    def asobject(self):
        return self.value


class Level(enum.IntEnum):
    LOW = 3


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (int, "int"),
        (None, "None"),
        (Any, "Any"),
        (list, "List[Any]"),
        (dict, "Dict[Any, Any]"),
        (tuple, "tuple"),
        (list[int], "List[int]"),
        (tuple[int, str], "tuple[int, str]"),
        (tuple[int, ...], "Array[int]"),
        (tuple[()], "tuple[()]"),
        (Optional[int], "int | None"),
        (Union[int, None, str], "int | str | None"),
        (Callable, "Callable[..., Any]"),
        (Callable[[int, str], float], "Callable[[int, str], float]"),
        (Callable[..., int], "Callable[..., int]"),
        (Callable[[], None], "Callable[[], None]"),
        (tvm_ffi.Array, "Array[Any]"),
        (tvm_ffi.Map[str, int], "Map[str, int]"),
        (tvm_ffi.Object, "Object"),
        (tvm_ffi.Tensor, "Tensor"),
        (tvm_ffi.Function, "Callable[..., Any]"),
        (tvm_ffi.dtype, "dtype"),
        (tvm_ffi.Device, "Device"),
        (ctypes.c_void_p, "ctypes.c_void_p"),
        (TestIntPair, "testing.TestIntPair"),
        (core.String, "str"),
        (core.Error, "ffi.Error"),
        (Optional[Callable[[int], str]], "Callable[[int], str] | None"),
    ],
)
def test_annotation_to_text(annotation, text):
    schema = of(annotation)
    assert repr(schema) == schema.repr() == schema.output_repr() == text
    assert TypeSchema.from_json_obj(schema.to_json()) == schema


@pytest.mark.parametrize(
    "annotation",
    [
        object,
        complex,
        set,
        "int",
        3,
        typing.Literal[1],
        typing.TypeVar("T"),
        collections.abc.Sequence[int],
        list[set],
        list["X"],
        core.CObject,
    ],
)
def test_annotation_that_is_no_ffi_type(annotation):
    with pytest.raises(TypeError):
        of(annotation)


def test_annotation_with_the_wrong_number_of_arguments():
    import types

    with pytest.raises(TypeError, match="list takes at most 1 type argument, got 2"):
        of(types.GenericAlias(list, (int, str)))
    with pytest.raises(TypeError, match="dict requires 0 or 2 type arguments, got 1"):
        of(types.GenericAlias(dict, (int,)))


@pytest.mark.parametrize(
    ("origin", "args", "message"),
    [
        ("Union", (), "Union must have at least two arguments"),
        ("Optional", (), "Optional must have exactly one argument"),
        ("Array", (TypeSchema("int"),) * 2, "Array must have 0 or 1 argument"),
        ("Map", (TypeSchema("int"),), "Map must have 0 or 2 arguments"),
    ],
)
def test_arity(origin, args, message):
    with pytest.raises(ValueError, match=message):
        TypeSchema(origin, args)


def test_callable_groups():
    flat = TypeSchema.from_json_str(
        '{"type":"ffi.Function","args":[{"type":"int"},{"type":"ffi.String"}]}'
    )
    named = TypeSchema.from_json_str(
        '{"type":"ffi.Function","named_args":{"return":[{"type":"int"}],'
        '"params":[{"type":"ffi.String"}]}}'
    )
    assert flat == named
    assert flat.args == ()
    assert flat.named_args == {"return": (TypeSchema("int"),), "params": (TypeSchema("str"),)}
    with pytest.raises(ValueError, match="Callable return group must contain exactly one type"):
        TypeSchema("Callable", named_args={"return": (), "params": ()})


def test_json_forms():
    assert (
        repr(
            TypeSchema.from_json_str(
                '{"type":"Variant","args":[{"type":"int"},{"type":"std::string"}]}'
            )
        )
        == "int | str"
    )
    assert repr(TypeSchema.from_json_str('{"type":"std::vector","args":[{"type":"int"}]}')) == (
        "Array[int]"
    )
    big = TypeSchema.from_json_str('{"type":"ffi.BigInt"}')
    assert big == TypeSchema("int")
    assert big.to_json() == {"type": "ffi.BigInt"}
    with pytest.raises(TypeError, match="expected schema dict with 'type' key, got list"):
        TypeSchema.from_json_str("[]")


def test_equality_and_hash():
    assert TypeSchema("int") == TypeSchema("int", type_key="ffi.BigInt")
    assert TypeSchema("int") != TypeSchema("str")
    assert TypeSchema("int") != "int"
    with pytest.raises(TypeError, match="unhashable"):
        hash(TypeSchema("int"))


def test_fallback_is_shown_for_unknown_types():
    schema = TypeSchema("testing.NoSuchType", fallback=TypeSchema("int"))
    assert repr(schema) == "int"
    assert schema.to_json() == {"type": "testing.NoSuchType", "fallback": {"type": "int"}}
    with pytest.raises(TypeError, match="unknown TypeSchema origin: 'testing.NoSuchType'"):
        schema.convert(1)


def test_ty_map():
    schema = of(Optional[list[int | str]])
    assert schema.repr(lambda name: name) == repr(schema)
    assert of(list[int]).repr(str.upper) == "LIST[INT]"


def test_from_type_index():
    assert repr(TypeSchema.from_type_index(71)) == "Array[Any]"
    assert repr(TypeSchema.from_type_index(71, (TypeSchema("int"),))) == "Array[int]"
    assert repr(TypeSchema.from_type_index(11)) == "str"
    assert repr(TypeSchema.from_type_index(78)) == "int"


def test_is_subtype_of():
    assert of(TestObjectDerived).is_subtype_of(TestObjectBase)
    assert of(TestObjectDerived).is_subtype_of(tvm_ffi.Object)
    assert not of(TestObjectBase).is_subtype_of(TestObjectDerived)
    assert not of(int).is_subtype_of(tvm_ffi.Object)


@pytest.mark.parametrize(
    ("annotation", "value", "expected"),
    [
        (int, True, 1),
        (int, np.int32(4), 4),
        (int, Level.LOW, 3),
        (int, IntLike(), 7),
        (int, ValueLike(11), 11),
        (float, 3, 3.0),
        (float, fractions.Fraction(1, 2), 0.5),
        (float, FloatLike(), 2.5),
        (float, 2**70, float(2**70)),
        (bool, 5, True),
        (str, "abc", "abc"),
        (bytes, bytearray(b"zz"), b"zz"),
        (None, None, None),
        (Optional[int], None, None),
        (Union[str, int], 1, 1),
        (Union[int, float], 2**70, float(2**70)),
        (Union[float, int], IntLike(), 7),
        (tvm_ffi.dtype, "float32", "float32"),
        (tvm_ffi.dtype, np.dtype("int8"), "int8"),
        (tvm_ffi.Device, "cuda:1", tvm_ffi.device("cuda", 1)),
        (Any, 2**70, 2**70),
    ],
)
def test_convert_scalars(annotation, value, expected):
    found = convert(annotation, value)
    assert found == expected
    assert type(found) is type(expected) or isinstance(found, type(expected))
    of(annotation).check_value(value)


def test_a_dtype_given_for_a_str_becomes_text():
    assert type(convert(str, tvm_ffi.dtype("int32"))) is str


@pytest.mark.parametrize(
    ("annotation", "value", "message"),
    [
        (int, "x", "expected int, got str"),
        (int, None, "expected int, got None"),
        (int, 1.5, "expected int, got float"),
        (int, [1], "expected int, got list"),
        (int, tvm_ffi.Array([1]), "expected int, got ffi.Array"),
        (int, np.bool_(True), "expected int, got bool"),
        (int, Convertible(TestIntPair(1, 2)), "expected int, got testing.TestIntPair"),
        (str, b"x", "expected str, got bytes"),
        (list[int], [1, "a"], r"element \[1\]: expected int, got str"),
        (list[list[int]], [[1], ["a"]], r"element \[1\]: element \[0\]: expected int, got str"),
        (list[int], {1: 2}, "expected List, got dict"),
        (dict[str, int], {1: 1}, "key 1: expected str, got int"),
        (dict[str, int], {"a": "b"}, "value for key 'a': expected int, got str"),
        (tuple[int, str], (1,), "expected tuple of length 2, got tuple of length 1"),
        (tuple[int, str], tvm_ffi.Array([1]), "expected tuple of length 2, got Array of length 1"),
        (Union[int, str], 1.5, r"expected int \| str, got float"),
        (Optional[int], "x", "expected int, got str"),
        (tvm_ffi.dtype, "floaty", "expected dtype, got invalid dtype string 'floaty'"),
        (tvm_ffi.Device, "abc", "expected Device, got invalid device string 'abc'"),
        (TestIntPair, TestObjectBase(), "expected testing.TestIntPair, got testing.TestObjectBase"),
        (Callable, 3, "expected Callable, got int"),
    ],
)
def test_mismatch_messages(annotation, value, message):
    schema = of(annotation)
    text = repr(schema).replace("|", r"\|").replace("[", r"\[").replace("]", r"\]")
    with pytest.raises(TypeError, match=f"^type conversion failed for {text}: {message}"):
        schema.convert(value)
    with pytest.raises(TypeError, match=f"^type check failed for {text}: {message}"):
        schema.check_value(value)


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 2**70])
def test_int_range(value):
    with pytest.raises(TypeError, match=rf"integer {value} out of int64 range \[-922"):
        of(int).convert(value)
    assert convert(int, 2**63 - 1) == 2**63 - 1


def test_int_protocol_is_range_checked():
    class Huge:
        def __tvm_ffi_int__(self):
            return 2**70

    with pytest.raises(TypeError, match="out of int64 range"):
        of(int).convert(Huge())


def test_containers():
    assert type(convert(list[int], (1, 2))) is tvm_ffi.List
    assert list(convert(list[float], tvm_ffi.Array([1, 2]))) == [1.0, 2.0]
    assert type(convert(tuple[int, str], [1, "a"])) is tvm_ffi.Array
    assert type(convert(dict[str, int], tvm_ffi.Map({"a": 1}))) is tvm_ffi.Dict
    assert dict(convert(tvm_ffi.Map[str, list[int]], {"a": [1]})) == {"a": tvm_ffi.List([1])}


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (tvm_ffi.Array[str], tvm_ffi.Array(["a", "a text of some length"])),
        (tvm_ffi.Array[Optional[int]], tvm_ffi.Array([1, None])),
        (list[str], tvm_ffi.List(["a"])),
        (dict[str, int], tvm_ffi.Dict({"a": 1})),
        (tvm_ffi.Map[str, int], tvm_ffi.Map({"abc": 1})),
        (list, tvm_ffi.List([object()])),
        (tvm_ffi.Array[tvm_ffi.Array[int]], tvm_ffi.Array([[1]])),
    ],
)
def test_what_fits_already_keeps_its_identity(annotation, value):
    assert convert(annotation, value).same_as(value)


def test_what_changes_becomes_new():
    source = tvm_ffi.List([1, 2])
    made = convert(list[float], source)
    assert not made.same_as(source)
    assert list(source) == [1, 2]


def test_errors_of_protocols():
    class BadInt:
        def __tvm_ffi_int__(self):
            raise ZeroDivisionError("why")

    class BadObject:
        def __tvm_ffi_object__(self):
            raise ZeroDivisionError("why")

    class Endless:
        def __tvm_ffi_value__(self):
            return Endless()

    with pytest.raises(TypeError, match="expected int, got BadInt: why"):
        of(int).convert(BadInt())
    with pytest.raises(TypeError, match=r"__tvm_ffi_object__\(\) failed for BadObject"):
        of(int).convert(BadObject())
    with pytest.raises(TypeError, match="expected int, got Endless"):
        of(int).convert(Endless())


def test_cycles_and_depth_are_errors():
    cycle = []
    cycle.append(cycle)
    with pytest.raises(RecursionError):
        of(list[Any]).convert(cycle)
    deep = []
    for _ in range(100000):
        deep = [deep]
    with pytest.raises(RecursionError):
        of(list).convert(deep)


def test_dynamic_union_of_containers():
    schema = Union[list[int], dict[str, int]]
    assert type(convert(schema, [1])) is tvm_ffi.List
    assert type(convert(schema, {"a": 1})) is tvm_ffi.Dict
    with pytest.raises(TypeError, match="got list"):
        of(schema).convert(["a"])


def test_any_value_wrapper():
    assert CAny(3).type_index == 1
    assert CAny("abc").type_index == 11
    assert CAny().type_index == 0
    assert _to_py_class_value(CAny([1, 2])) == tvm_ffi.Array([1, 2])


def test_what_is_no_schema():
    with pytest.raises(TypeError, match="schema arguments must be TypeSchema instances, got str"):
        TypeSchema("Array", ("int",))
    with pytest.raises(TypeError, match="must be TypeSchema instances"):
        TypeSchema("Callable", named_args={"return": ("int",)})
    for arguments in (
        {"args": (TypeSchema("int"),), "named_args": {"return": (TypeSchema("int"),)}},
        {"named_args": {"return": (TypeSchema("int"),), "extra": ()}},
    ):
        with pytest.raises(ValueError, match="only named return and params groups"):
            TypeSchema("Callable", **arguments)
    for text in (
        '{"type":"ffi.Function","named_args":5}',
        '{"type":5}',
        '{"type":"int","args":5}',
    ):
        with pytest.raises(TypeError):
            TypeSchema.from_json_str(text)
    for target in (None, "int", 5, TypeSchema("int"), []):
        assert not TypeSchema("ffi.Array").is_subtype_of(target)


def test_array_classes_of_other_packages_are_tensors():
    class Foreign:
        def __dlpack__(self, **kwargs):
            raise NotImplementedError

    assert TypeSchema.from_annotation(Foreign).origin == "Tensor"
    schema = TypeSchema.from_annotation(np.ndarray)
    assert schema == TypeSchema.from_annotation(tvm_ffi.Tensor)
    assert _to_py_class_value(schema.convert(np.zeros(2))).shape == (2,)
    with pytest.raises(TypeError, match="expected Tensor, got int"):
        schema.convert(5)
