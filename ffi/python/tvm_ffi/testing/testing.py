# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Wrappers of the ``testing.*`` functions and classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

from .. import _ffi_api as _core_api
from .. import core
from ..core import Object
from ..dataclasses import IntEnum, StrEnum, c_class, entry
from ..registry import get_global_func


def create_object(type_key: str, **kwargs: Any) -> Object:
    """Build an object of any registered type from its fields."""
    packed = [part for pair in kwargs.items() for part in pair]
    return _core_api.MakeObjectFromPackedArgs(type_key, *packed)


def make_unregistered_object() -> Object:
    """Return an object whose type has no Python class."""
    return get_global_func("testing.make_unregistered_object")()


def add_one(x: int) -> int:
    """Return ``x + 1``, computed by C++."""
    return get_global_func("testing.add_one")(x)


@c_class("testing.TestObjectBase")
class TestObjectBase(Object):
    """Object with three fields and one method."""

    __test__: ClassVar[bool] = False

    v_i64: int
    v_f64: float
    v_str: str


@c_class("testing.TestObjectDerived")
class TestObjectDerived(TestObjectBase):
    """Child of TestObjectBase with containers."""

    v_map: Mapping[Any, Any]
    v_array: Sequence[Any]


@c_class("testing.TestObjectPtrHolder")
class TestObjectPtrHolder(Object):
    """Object with object fields, one of them optional."""

    __test__: ClassVar[bool] = False

    value: TestObjectBase
    optional_value: TestObjectBase | None


@c_class("testing.TestIntPair")
class TestIntPair(Object):
    """Two ints."""

    __test__: ClassVar[bool] = False

    a: int
    b: int


@c_class("testing.TestFrozenCxx")
class TestFrozenCxx(Object):
    """Object that cannot be changed."""

    __test__: ClassVar[bool] = False

    value: int
    tag: str


@c_class("testing.TestNonCopyable")
class TestNonCopyable(Object):
    """Object without copy constructor."""

    __test__: ClassVar[bool] = False

    value: int


@c_class("testing.TestCompare")
class TestCompare(Object):
    """Object with a field left out of comparisons."""

    __test__: ClassVar[bool] = False

    key: int
    name: str
    ignored_field: int


@c_class("testing.TestHash")
class TestHash(Object):
    """Object with a field left out of hashing."""

    __test__: ClassVar[bool] = False

    key: int
    name: str
    hash_ignored: int


@c_class("testing.TestCustomHash")
class TestCustomHash(Object):
    """Object with a hash hook."""

    __test__: ClassVar[bool] = False

    key: int
    label: str


@c_class("testing.TestCustomCompare")
class TestCustomCompare(Object):
    """Object with comparison and hash hooks."""

    __test__: ClassVar[bool] = False

    key: int
    label: str


@c_class("testing.TestEqWithoutHash")
class TestEqWithoutHash(Object):
    """Object with an equality hook but no hash hook."""

    __test__: ClassVar[bool] = False

    key: int
    label: str


@c_class("testing.SchemaAllTypes")
class _SchemaAllTypes(Object):
    """Object with a field of every kind."""

    v_bool: bool
    v_int: int
    v_float: float
    v_device: Any
    v_dtype: Any
    v_string: str
    v_bytes: bytes
    v_opt_int: int | None
    v_opt_str: str | None
    v_arr_int: Sequence[int]
    v_arr_str: Sequence[str]
    v_map_str_int: Mapping[str, int]
    v_map_str_arr_int: Mapping[str, Sequence[int]]
    v_variant: Any
    v_opt_arr_variant: Any


@c_class("testing.TestCxxClassBase")
class _TestCxxClassBase(Object):
    """Class with a constructor of its own and attributes that are no fields."""

    v_i64: int
    v_i32: int
    not_field_1 = 1
    not_field_2: ClassVar[int] = 2

    def __init__(self, v_i64: int, v_i32: int) -> None:
        cast(Any, self).__ffi_init__(v_i64 + 1, v_i32 + 2)


@c_class("testing.TestCxxClassDerived", eq=True, order=True, unsafe_hash=True)
class _TestCxxClassDerived(_TestCxxClassBase):
    """Child with a default and all comparisons."""

    v_f64: float
    v_f32: float = 8


@c_class("testing.TestCxxClassDerivedDerived")
class _TestCxxClassDerivedDerived(_TestCxxClassDerived):
    """Grandchild; C++ knows the defaults and puts required fields first."""

    v_str: str = "default"
    v_bool: bool  # type: ignore[misc]


@c_class("testing.TestCxxInitSubset")
class _TestCxxInitSubset(Object):
    """Class whose constructor takes one of its fields."""

    required_field: int
    optional_field: int
    note: str


@c_class("testing.TestCxxKwOnly")
class _TestCxxKwOnly(Object):
    """Class with keyword-only fields."""

    x: int
    y: int
    z: int
    w: int = 100


@c_class("testing.TestCxxAutoInit")
class _TestCxxAutoInit(Object):
    """Class with every kind of constructor parameter."""

    __test__: ClassVar[bool] = False

    a: int
    b: int
    c: int
    d: int


@c_class("testing.TestCxxAutoInitSimple")
class _TestCxxAutoInitSimple(Object):
    """Class with two positional parameters."""

    __test__: ClassVar[bool] = False

    x: int
    y: int


@c_class("testing.TestCxxAutoInitAllInitOff")
class _TestCxxAutoInitAllInitOff(Object):
    """Class whose constructor takes nothing."""

    __test__: ClassVar[bool] = False

    x: int
    y: int
    z: int


@c_class("testing.TestCxxAutoInitKwOnlyDefaults")
class _TestCxxAutoInitKwOnlyDefaults(Object):
    """Class with required and defaulted parameters of both kinds."""

    __test__: ClassVar[bool] = False

    p_required: int
    p_default: int
    k_required: int
    k_default: int
    hidden: int


@c_class("testing.TestCxxAutoInitParent")
class _TestCxxAutoInitParent(Object):
    """Parent of a class with more parameters."""

    __test__: ClassVar[bool] = False

    parent_required: int
    parent_default: int


@c_class("testing.TestCxxAutoInitChild")
class _TestCxxAutoInitChild(_TestCxxAutoInitParent):
    """Child that adds required parameters."""

    __test__: ClassVar[bool] = False

    child_required: int
    child_kw_only: int


@c_class("testing.TestCxxNoAutoInit")
class _TestCxxNoAutoInit(Object):
    """Class without constructor."""

    __test__: ClassVar[bool] = False

    x: int
    y: int


class _TestCxxIntEnum(IntEnum, type_key="testing.TestCxxIntEnum"):
    """Int enum defined by C++."""

    low = entry(value=10)
    high = entry(value=20)


class _TestCxxStrEnum(StrEnum, type_key="testing.TestCxxStrEnum"):
    """Str enum defined by C++."""

    add = entry(value="+")
    mul = entry(value="*")


@c_class("testing.TestCxxEnumHolder")
class _TestCxxEnumHolder(Object):
    """Object with enum fields."""

    __test__: ClassVar[bool] = False

    priority: _TestCxxIntEnum
    opcode: _TestCxxStrEnum


__all__ = [
    name
    for name, value in list(globals().items())
    if isinstance(value, type) and value.__module__ == __name__ and issubclass(value, core.CObject)
]
__all__ += ["add_one", "create_object", "make_unregistered_object"]
