# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Reflected objects, class registration, handles."""

import copy
import pickle
import threading

import pytest

import tvm_ffi
import tvm_ffi.testing
from tvm_ffi import core
from tvm_ffi.testing import TestIntPair, TestObjectBase, TestObjectDerived


def test_fields_and_methods():
    obj = TestObjectBase(v_i64=3, v_str="text")
    assert (obj.v_i64, obj.v_f64, obj.v_str) == (3, 10.0, "text")
    assert obj.add_i64(4) == 7
    obj.v_i64 = 5
    assert obj.add_i64(0) == 5
    with pytest.raises(AttributeError, match="no setter|can.t set attribute"):
        obj.v_f64 = 1.0
    with pytest.raises(AttributeError):
        obj.unknown = 1
    with pytest.raises(AttributeError):
        obj.unknown  # noqa: B018
    with pytest.raises(TypeError, match="Cannot convert from type"):
        obj.v_i64 = "x"


def test_read_only_field_can_be_forced():
    obj = TestObjectBase()
    TestObjectBase.__dict__["v_f64"].set(obj, 2.5)
    assert obj.v_f64 == 2.5


def test_getter_checks_its_object():
    getter = TestObjectBase.__dict__["v_i64"].fget
    with pytest.raises(TypeError, match="no such field"):
        getter(tvm_ffi.Array([1]))
    with pytest.raises(TypeError, match="expected an FFI object"):
        getter(3)
    with pytest.raises(TypeError):
        getter()
    assert getter(TestObjectDerived(v_i64=4, v_map={}, v_array=[])) == 4


def test_constructor_errors():
    with pytest.raises(TypeError, match="takes at most 3 positional"):
        TestObjectBase(1, 2, "3", 4)
    with pytest.raises(TypeError, match="unexpected keyword argument 'nope'"):
        TestObjectBase(nope=1)


def test_identity_and_hash():
    first = TestObjectBase()
    second = tvm_ffi.testing.echo(first)
    assert first is not second
    assert first == second and hash(first) == hash(second)
    assert first.same_as(second) and first.is_(second) and first.id_ == second.id_
    assert first.__chandle__() == second.__chandle__()
    other = TestObjectBase()
    assert first != other and not first.same_as(other)
    assert first != 1 and not first.same_as(None)


def test_repr_copy_pickle():
    obj = TestObjectBase(v_i64=7)
    assert repr(obj) == 'testing.TestObjectBase(v_i64=7, v_f64=10, v_str="hello")'
    for duplicate in (copy.copy(obj), copy.deepcopy(obj), pickle.loads(pickle.dumps(obj))):
        assert not duplicate.same_as(obj)
        assert duplicate.v_i64 == 7
        assert type(duplicate) is TestObjectBase


def test_empty_object():
    empty = tvm_ffi.Object()
    assert repr(empty) == "Object(chandle=None)"
    assert not empty.same_as(TestObjectBase())


def test_inheritance():
    obj = TestObjectDerived(v_map={"a": 1}, v_array=[1, 2])
    assert isinstance(obj, TestObjectBase)
    assert obj.v_array == [1, 2]
    assert obj.v_map["a"] == 1
    assert obj.add_i64(1) == 11
    info = TestObjectDerived.__tvm_ffi_type_info__
    assert info.type_key == "testing.TestObjectDerived"
    assert info.parent_type_info.type_key == "testing.TestObjectBase"


def test_type_info():
    info = TestObjectBase.__tvm_ffi_type_info__
    assert [field.name for field in info.fields] == ["v_i64", "v_f64", "v_str"]
    assert [field.frozen for field in info.fields] == [False, True, False]
    assert info.fields[0].metadata == {"type_schema": '{"type":"int"}'}
    assert info.fields[2].c_default == "hello"
    assert [method.name for method in info.methods][0] == "add_i64"
    assert info.total_size >= 56


def test_register_unknown_type():
    with pytest.raises(ValueError, match="Cannot find object type index for test.NoSuchType"):

        @tvm_ffi.register_object("test.NoSuchType")
        class NoSuchType(tvm_ffi.Object):
            pass


def test_fallback_class():
    obj = tvm_ffi.get_global_func("testing.make_unregistered_object")()
    assert type(obj).__name__ == "TestUnregisteredObject"
    assert type(obj).__module__ == "testing"
    assert type(obj).__mro__[1].__name__ == "TestUnregisteredBaseObject"
    assert (obj.v1, obj.v2) == (41, 42)
    assert type(tvm_ffi.testing.echo(obj)) is type(obj)


def test_subclasses_have_no_dict_unless_asked():
    class Plain(TestObjectBase):
        pass

    class WithDict(TestObjectBase):
        __slots__ = ("__dict__",)

    with pytest.raises(AttributeError):
        Plain().extra = 1
    obj = WithDict()
    obj.extra = 1
    assert obj.extra == 1


def test_custom_init():
    @tvm_ffi.register_object("testing.TestIntPair")
    class Pair(tvm_ffi.Object):
        def __init__(self, total):
            self.__ffi_init__(total, 0)

    try:
        assert (Pair(3).a, Pair(3).b) == (3, 0)
        assert type(tvm_ffi.testing.echo(Pair(1))) is Pair
    finally:
        tvm_ffi.register_object("testing.TestIntPair")(TestIntPair)


def test_init_handle_by_constructor_needs_an_object():
    obj = tvm_ffi.Object()
    with pytest.raises(TypeError, match="returned no object"):
        obj.__init_handle_by_constructor__(tvm_ffi.testing.echo, 3)


def test_reinitialising_drops_the_old_object():
    count = tvm_ffi.get_global_func("testing.object_use_count")
    obj = TestObjectBase()
    other = tvm_ffi.testing.echo(obj)
    assert count(obj) == 2
    other.__ffi_init__(1)
    assert count(obj) == 1


def test_use_count_stays_flat():
    count = tvm_ffi.get_global_func("testing.object_use_count")
    obj = TestObjectBase()
    for _ in range(100):
        tvm_ffi.testing.echo([obj, {"k": obj}])
        tvm_ffi.get_global_func("testing.apply")(lambda o: o.v_i64, obj)
    assert count(obj) == 1


def test_type_table_is_thread_safe():
    keys = tvm_ffi.registry.get_registered_type_keys()
    failures = []

    def look():
        try:
            for key in keys:
                info = core._lookup_or_register_type_info_from_type_key(key)
                assert info.type_key == key
                info.fields  # noqa: B018
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_type_key_is_text():
    for key in (5, b"ffi.Array", ["ffi.Array"]):
        with pytest.raises(TypeError, match="type_key must be a str, a class or None, got"):
            tvm_ffi.register_object(key)


def test_fields_that_hold_pointers():
    create = tvm_ffi.testing.create_object
    held = TestObjectBase(v_i64=3)
    holder = create("testing.TestObjectPtrHolder", value=held)
    assert holder.value.same_as(held) and holder.optional_value is None
    holder.optional_value = held
    assert holder.optional_value.same_as(held)
    with pytest.raises(TypeError, match="Cannot convert from type `None` to"):
        holder.value = None
    with pytest.raises(TypeError, match="Cannot convert from type `None` to"):
        create("testing.TestObjectPtrHolder", value=None)
    with pytest.raises(TypeError, match="Required field `value` not set"):
        create("testing.TestObjectPtrHolder")
