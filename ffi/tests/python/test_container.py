# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Array, List, Map, Dict, Shape."""

import copy
import pickle
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tvm_ffi
from tvm_ffi import Array, Dict, List, Map

_scalars = st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.text())


@given(st.lists(_scalars))
def test_sequences_hold_their_elements(values):
    for cls in (Array, List):
        seq = cls(values)
        assert list(seq) == values
        assert seq == values
        assert len(seq) == len(values) and bool(seq) == bool(values)


@given(st.lists(st.integers()), st.integers(-7, 7), st.integers(-7, 7),
       st.integers(-3, 3).filter(bool))  # fmt: skip
def test_slices(values, start, stop, step):
    assert Array(values)[start:stop:step] == values[start:stop:step]
    assert List(values)[start:stop:step] == values[start:stop:step]


@given(st.lists(st.integers(-5, 5)), st.data())
def test_list_mutation_follows_python(values, data):
    ours, reference = List(values), list(values)
    for _ in range(5):
        action = data.draw(st.sampled_from(["append", "insert", "del", "slice", "reverse", "ext"]))
        i, j = data.draw(st.integers(-6, 6)), data.draw(st.integers(-6, 6))
        if action == "append":
            ours.append(i)
            reference.append(i)
        elif action == "insert":
            ours.insert(i, j)
            reference.insert(i, j)
        elif action == "del":
            del ours[i:j]
            del reference[i:j]
        elif action == "slice":
            ours[i:j] = [7, 8]
            reference[i:j] = [7, 8]
        elif action == "reverse":
            ours.reverse()
            reference.reverse()
        else:
            ours += [i, j]
            reference += [i, j]
        assert list(ours) == reference


def test_index_errors():
    for cls in (Array, List):
        seq = cls([1, 2])
        assert seq[-1] == 2
        for index in (2, -3, 2**40):
            with pytest.raises(IndexError, match=f"size: 2, got index {index}"):
                seq[index]
        with pytest.raises(TypeError):
            seq["0"]
    with pytest.raises(IndexError):
        List([]).pop()
    with pytest.raises(IndexError):
        List([1])[3] = 1
    with pytest.raises(TypeError):
        Array([1])[0] = 2


def test_list_is_shared():
    outer = List([List([1])])
    outer[0].append(2)
    assert outer[0] == [1, 2]
    same = tvm_ffi.get_global_func("testing.echo")(outer)
    same.append(3)
    assert len(outer) == 2
    assert outer.pop() == 3
    outer.clear()
    assert len(same) == 0


def test_list_extended_slice():
    seq = List(range(6))
    seq[::2] = [10, 20, 30]
    assert seq == [10, 1, 20, 3, 30, 5]
    with pytest.raises(ValueError, match="extended slice"):
        seq[::2] = [1]
    del seq[::2]
    assert seq == [1, 3, 5]
    seq[1:1] = seq
    assert seq == [1, 1, 3, 5, 3, 5]


def test_list_remove_count_index():
    seq = List([1, 2, 1])
    assert seq.count(1) == 2 and seq.index(2) == 1
    seq.remove(1)
    assert seq == [2, 1]


def test_comparisons():
    assert Array([1, [2]]) == Array([1, [2]])
    assert Array([1, 2]) == List([1, 2]) == (1, 2)
    assert Array([1]) != Array([2])
    assert Array([1]) != 1
    assert hash(Array([1, "a"])) == hash(Array([1, "a"]))
    assert Array([1]) + [2] == [1, 2] and [1] + Array([2]) == [1, 2]
    assert isinstance(Array([1]) + [2], Array)
    assert 2 in Array([1, 2]) and 3 not in Array([1, 2]) and "a" in List(["a"])
    with pytest.raises(TypeError):
        Array([1]) + 1


def test_map():
    mapping = Map({"a": 1, 2: "b", "c": None})
    assert mapping["a"] == 1 and mapping[2] == "b" and mapping["c"] is None
    assert list(mapping) == ["a", 2, "c"]
    assert list(mapping.items()) == [("a", 1), (2, "b"), ("c", None)]
    assert list(mapping.values()) == [1, "b", None]
    assert "a" in mapping and "z" not in mapping
    assert mapping.get("z") is None and mapping.get("z", 5) == 5
    assert mapping.get("c", 5) is None
    with pytest.raises(KeyError):
        mapping["z"]
    assert mapping == Map({2: "b", "a": 1, "c": None})
    assert len(mapping) == 3 and bool(mapping) and not Map({})
    assert "a" in mapping.keys() and ("a", 1) in mapping.items()  # noqa: SIM118
    with pytest.raises(TypeError):
        mapping["a"] = 2


def test_map_keys_differ_by_type():
    mapping = Map([(1, "int"), (True, "bool"), (1.0, "float")])
    assert len(mapping) == 3
    assert mapping[True] == "bool" and mapping[1] == "int"


def test_dict():
    mapping = Dict({"a": 1})
    mapping["b"] = 2
    mapping["a"] = 3
    assert dict(mapping.items()) == {"a": 3, "b": 2}
    del mapping["a"]
    with pytest.raises(KeyError):
        del mapping["a"]
    assert mapping.pop("b") == 2
    assert mapping.pop("b", 9) == 9
    with pytest.raises(KeyError):
        mapping.pop("b")
    mapping.update({1: 2, 3: 4})
    assert mapping.setdefault(1, 7) == 2
    mapping.clear()
    assert len(mapping) == 0


def test_dict_changed_during_iteration():
    mapping = Dict({i: i for i in range(4)})
    with pytest.raises(RuntimeError, match="changed size"):
        for key in mapping:
            mapping[key + 100] = 1


@given(st.dictionaries(st.one_of(st.integers(-50, 50), st.text(max_size=9)), st.integers()))
def test_large_maps(content):
    for cls in (Map, Dict):
        mapping = cls(content)
        assert {key: mapping[key] for key in mapping} == content


def test_abstract_bases():
    assert isinstance(Array([]), Sequence) and not isinstance(Array([]), MutableSequence)
    assert isinstance(List([]), MutableSequence)
    assert isinstance(Map({}), Mapping) and not isinstance(Map({}), MutableMapping)
    assert isinstance(Dict({}), MutableMapping)
    assert not isinstance(Array([]), List)


@pytest.mark.parametrize("value", [Array([1, [2]]), List([1]), Map({"a": [1]}), Dict({1: 2})])
def test_pickle_and_copy(value):
    for duplicate in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value)):
        assert duplicate == value and type(duplicate) is type(value)


def test_shape():
    shape = tvm_ffi.Shape((1, 2, 3))
    assert shape == (1, 2, 3) and isinstance(shape, tuple)
    back = tvm_ffi.get_global_func("testing.echo")(shape)
    assert type(back) is tvm_ffi.Shape and back == shape
    assert tvm_ffi.Shape([]) == ()
    with pytest.raises(ValueError):
        tvm_ffi.Shape([1, "a"])
    assert pickle.loads(pickle.dumps(shape)) == shape


def test_type_hints():
    assert Array[int].__origin__ is Array
    assert Map[str, int].__args__ == (str, int)


@pytest.mark.parametrize("cls", [Array, List])
def test_indices_that_are_none(cls):
    seq = cls([1, 2, 3])
    for index in (3, -4, 2**70, -(2**70)):
        with pytest.raises(IndexError, match=f"Index out of range. size: 3, got index {index}"):
            seq[index]
    for index in ("a", None, 1.0, (0, 1)):
        with pytest.raises(TypeError, match="indices must be integers or slices, not "):
            seq[index]
    assert seq[0 : 2**70 : 2**70] == [1] and seq[:: -(2**70)] == [3]

    class Failing:
        def __index__(self):
            raise TypeError("no index today")

    with pytest.raises(TypeError, match="no index today"):
        seq[Failing()]


def test_list_edits_need_whole_numbers():
    numbers = List([1, 2])
    for edit in (numbers.pop, lambda i: numbers.__setitem__(i, 0), numbers.__delitem__):
        with pytest.raises(TypeError, match="indices must be integers or slices, not str"):
            edit("a")
        with pytest.raises(IndexError, match="got index 1180591620717411303424"):
            edit(2**70)
    assert numbers == [1, 2]


@pytest.mark.parametrize("cls", [Array, List])
def test_sequences_grow_by_any_iterable(cls):
    seq = cls([1])
    assert seq + (x for x in (2, 3)) == [1, 2, 3] and [0] + seq == [0, 1]
    assert type(seq + range(2)) is cls
    for other in ("ab", b"ab", None, 5):
        with pytest.raises(TypeError):
            seq + other


def test_equality_follows_the_rules_of_ffi_values():
    for cls in (Array, List):
        assert cls([1, "a", None]) == [1, "a", None] == cls([1, "a", None])
        for other in ([1.0], [True], (1.0,), List([1.0]), Array([True])):
            assert cls([1]) != other and other != cls([1])
        assert cls([[1]]) != [[True]] and cls([{"k": 1}]) == [{"k": 1}]
        assert cls(["a"]) != ["\ud800"], "such text cannot be an FFI string"
    assert Map({1: 1}) == Dict({1: 1}) != Map({1: 1.0}) and Dict({1: 1}) != Map({1: True})


def test_a_python_object_equals_itself_inside_containers():
    thing, other = object(), object()
    assert Array([thing]) == [thing] and Array([thing]) == Array([thing])
    assert hash(Array([thing])) == hash(Array([thing]))
    assert Dict({"k": thing}) == Dict({"k": thing}) != Dict({"k": other})
    assert Array([thing]) != Array([other])


@pytest.mark.parametrize("cls", [Array, List, Map, Dict])
def test_shallow_copies(cls):
    class Sub(cls):
        def __init__(self, needed):
            super().__init__(needed)

    inner = List([1])
    content = {"k": inner} if issubclass(cls, (Map, Dict)) else [inner]
    for original in (cls(content), Sub(content)):
        made = copy.copy(original)
        assert type(made) is type(original) and made == original and not made.same_as(original)
        key = "k" if issubclass(cls, (Map, Dict)) else 0
        assert made[key].same_as(inner)
    grown = copy.copy(List([1]))
    grown.append(2)
    assert grown == [1, 2]


def test_an_empty_dict_from_none():
    assert len(Dict(None)) == 0 and len(Dict()) == 0
