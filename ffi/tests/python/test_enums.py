# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Enums over FFI objects."""

import copy
import pickle
from typing import ClassVar

import pytest

import tvm_ffi
from tvm_ffi import Object, core
from tvm_ffi.dataclasses import Enum, EnumState, IntEnum, StrEnum, auto, entry, py_class
from tvm_ffi.testing import _TestCxxEnumHolder, _TestCxxIntEnum, _TestCxxStrEnum


class Color(Enum, type_key="test_enums.Color"):
    red = auto()
    green = auto()
    blue: ClassVar["Color"]

    def shout(self):
        return self._str_index.upper()


class Figure(Enum, type_key="test_enums.Figure"):
    sides: int
    label: str = "none"
    tri = entry(sides=3)
    square = entry(sides=4, label="square")


class Number(IntEnum, type_key="test_enums.Number"):
    a = entry(value=10)
    b = entry(value=20)


class Op(StrEnum, type_key="test_enums.Op"):
    add = entry(value="+")
    sub = entry(value="-")


def test_entries():
    assert [e._str_index for e in Color] == ["blue", "red", "green"]
    assert len(Color) == 3 and list(Color.all_entries()) == list(Color)
    assert Color.red is Color.red and Color.red != Color.green
    assert Color.get("red").same_as(Color.red) and Color.get(0).same_as(Color.blue)
    assert Color("green").same_as(Color.green)
    assert repr(Color.red) == "test_enums.Color.red" and Color.red.shout() == "RED"
    assert isinstance(Color.red, Color)


def test_lookup_errors():
    with pytest.raises(KeyError):
        Color.get(99)
    with pytest.raises(KeyError):
        Color.get("zz")
    with pytest.raises(TypeError, match="enum index must be int or str, got float"):
        Color.get(1.5)
    with pytest.raises(ValueError, match="'zz' is not a valid Color"):
        Color("zz")


def test_singletons():
    for made in (
        copy.copy(Color.red),
        copy.deepcopy(Color.red),
        pickle.loads(pickle.dumps(Color.red)),
    ):
        assert made.same_as(Color.red)
    assert tvm_ffi.structural_equal(Color.red, Color.red)
    assert not tvm_ffi.structural_equal(Color.red, Color.green)
    with pytest.raises(AttributeError):
        Color.red._int_index = 5


def test_fields():
    assert Figure.tri.sides == 3 and Figure.tri.label == "none"
    assert Figure.square.label == "square"
    with pytest.raises(TypeError, match="BadFigure.x: invalid enum entry: .*'sides'"):

        class BadFigure(Enum, type_key="test_enums.BadFigure"):
            sides: int
            x = auto()


def test_attributes():
    cost = Figure.def_attr("cost", default=0)
    assert cost[Figure.tri] == 0 and Figure.tri not in cost
    cost[Figure.tri] = 5
    assert cost[Figure.tri] == 5 and cost.get(Figure.square, 9) == 9 and cost.name == "cost"
    assert Figure.attr_dict["cost"][Figure.tri] == 5
    with pytest.raises(TypeError, match="expected Figure, got Color"):
        cost[Color.red]
    with pytest.raises(KeyError, match="has no extensible attribute 'weight'"):
        Figure.def_attr("weight")[Figure.tri]


def test_payloads():
    assert Number.a == 10 and Number.a != Number.b and hash(Number.a) == hash(10)
    assert Number(20).same_as(Number.b) and Number.a.value == 10 and str(Number.a) == "10"
    assert repr(Number.a) == "Number.a" and Number.a.name == "a"
    assert Number.a in {10}
    with pytest.raises(ValueError, match="11 is not a valid Number"):
        Number(11)
    assert Op.add == "+" and Op("+").same_as(Op.add) and Op.add.value == "+"
    with pytest.raises(ValueError, match="'/' is not a valid Op"):
        Op("/")


def test_payload_definition_errors():
    with pytest.raises(TypeError, match="NoValue.x requires a int value"):

        class NoValue(IntEnum, type_key="test_enums.NoValue"):
            x = auto()

    with pytest.raises(TypeError, match="WrongValue.x value must be int"):

        class WrongValue(IntEnum, type_key="test_enums.WrongValue"):
            x = entry(value="s")

    with pytest.raises(OverflowError, match="outside int64"):

        class Huge(IntEnum, type_key="test_enums.Huge"):
            x = entry(value=2**70)

    with pytest.raises(TypeError, match="reserves `value`"):

        class Reserved(IntEnum, type_key="test_enums.Reserved"):
            value: int
            x = entry(value=1)


def test_equal_values_are_one_entry():
    class Alias(IntEnum, type_key="test_enums.Alias"):
        a = entry(value=1)
        b = entry(value=1)

    assert Alias.a is not None and Alias.a.same_as(Alias.b) and len(Alias) == 1


def test_enum_fields():
    @py_class("test_enums.Holder")
    class Holder(Object):
        c: Color
        n: Number
        o: Op

    made = Holder(Color.red, 10, "+")
    assert made.n.same_as(Number.a) and made.o.same_as(Op.add)
    with pytest.raises(TypeError, match="expected test_enums.Color, got str"):
        Holder("red", 10, "+")
    with pytest.raises(TypeError, match="expected test_enums.Number, got int"):
        Holder(Color.red, 11, "+")


def test_entries_of_cxx_types():
    assert [e.value for e in _TestCxxIntEnum] == [10, 20]
    assert _TestCxxIntEnum(10).same_as(_TestCxxIntEnum.low)
    assert _TestCxxStrEnum.mul.value == "*"
    made = _TestCxxEnumHolder(10, "+")
    assert made.priority.same_as(_TestCxxIntEnum.low) and made.opcode == "+"
    with pytest.raises(TypeError, match="TestCxxIntEnum"):
        _TestCxxEnumHolder(5, "+")

    class Variant(Enum, type_key="testing.TestEnumVariant"):
        Alpha: ClassVar["Variant"]

    found = tvm_ffi.get_global_func("testing.enum_variant_get")("Alpha")
    assert Variant.Alpha.same_as(found)
    with pytest.raises(RuntimeError, match="has no enum at string index 'Gamma'"):

        class Missing(Enum, type_key="testing.TestEnumVariant"):
            Gamma: ClassVar["Missing"]


def test_subclass_has_entries_of_its_own():
    class More(Color, type_key="test_enums.More"):
        extra = auto()

    assert [e._str_index for e in More] == ["extra"] and More.red is Color.red


def test_state():
    state = core._lookup_type_attr(Color.__tvm_ffi_type_info__.type_index, "__ffi_enum__")
    assert isinstance(state, EnumState)
    assert len(state.entries) == 3 and state.indexes["red"].same_as(Color.red)


def test_match_statement():
    found = None
    match Color.red:
        case Color.green:
            found = "green"
        case Color.red:
            found = "red"
    assert found == "red"
