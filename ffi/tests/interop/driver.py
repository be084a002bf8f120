# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Loads extension libraries built against different headers and passes values between them.

    python driver.py FIRST.so SIDE_OF_FIRST SECOND.so SIDE_OF_SECOND [--strict]

The interpreter decides whose runtime they meet. Prints ``ok`` or fails. With --strict, exceptions of
every class must come back as the same object.
"""

import gc
import sys

import numpy as np

import tvm_ffi

STRICT = "--strict" in sys.argv


def raises(kind, function, *args):
    try:
        function(*args)
    except kind as error:
        return error
    raise AssertionError(f"{function} raised nothing")


def check_calls(m, side):
    assert m.add(1, 2) == 3
    assert m.call_back(lambda x: x + 1, 3) == 4
    assert m.call_global(f"{side}.global_add", 3, 4) == 7
    assert str(raises(ValueError, m.throw_error, "ValueError", "text")) == "text"

    class Own(Exception):
        pass

    original = Own("mine")

    def fail():
        raise original

    error = raises((Own, RuntimeError), m.call_back, lambda _: fail(), 1)
    assert error is original or not STRICT
    assert m.catch_error(lambda: 1 // 0).endswith("|integer division or modulo by zero")
    assert m.catch_error(lambda: m.throw_error("KeyError", "k")) == "KeyError|k"
    assert m.catch_expected(lambda: m.throw_error("TypeError", "t")) == "TypeError"

    def interrupt(_):
        raise KeyboardInterrupt

    expected = KeyboardInterrupt if STRICT else (KeyboardInterrupt, RuntimeError)
    raises(expected, m.call_back, interrupt, 1)
    error = raises(TypeError, m.add, 1, "x")
    assert "argument #1" in str(error) and "Expected `int` but got" in str(error)
    raises(TypeError, m.add, 1)


def check_values(m):
    array = np.arange(4, dtype="float32")
    assert m.tensor_sum(array) == 6
    made = m.make_tensor(5)
    assert m.tensor_sum(made) == 7.5 and tuple(m.tensor_shape(made)) == (5,)
    for a, b in (("", "x"), ("abc", "defg"), ("a" * 7, ""), ("a" * 100, "b" * 100), ("ü", "漢")):
        assert m.concat(a, b) == a + b
        assert m.concat(m.concat(a, b), a) == a + b + a
    assert m.repeat(b"\0\1") == b"\0\1\0\1" and m.repeat(b"x" * 50) == b"x" * 100
    assert m.array_sum([1, 2, 3]) == 6
    source = tvm_ffi.Array([1, "a"])
    assert list(m.array_append(source, 2.5)) == [1, "a", 2.5] and len(source) == 2
    shared = tvm_ffi.List([0])
    m.list_extend(shared, 100)
    assert len(shared) == 101 and shared[100] == 99
    assert m.square(2**70) == 2**140 and m.square(3) == 9


def check_maps(writer, reader):
    for n in (0, 1, 2, 3, 4, 5, 8, 9, 100, 3000):
        made = writer.make_map(n)
        assert len(made) == n and reader.map_sum(made) == n * (n - 1) // 2
        assert list(reader.map_keys(made)) == [f"key{i}" for i in range(n)]
        grown = reader.map_set(made, "new", "value")
        assert writer.map_get(grown, "new") == "value" and len(made) == n
        back = writer.map_set(grown, "key0", -1)
        assert reader.map_get(back, "key0") == -1
        raises(KeyError, reader.map_get, made, "missing")
    shared = tvm_ffi.Dict({})
    end = 0
    for step in (1, 2, 3, 5, 50, 500, 2000):
        writer.dict_fill(shared, end, end + step)
        end += step
        assert reader.dict_check(shared, end) == len(shared) == end
        writer, reader = reader, writer
    reader.dict_erase(shared, 10, end - 7)
    assert writer.dict_check(shared, end) == len(shared) == 17
    writer.dict_fill(shared, 0, 1000)
    assert reader.dict_check(shared, end) == len(shared)
    assert shared[5] == "value5"


def check_objects(first, second, side):
    pair = first.make_pair(3, "text")
    assert (pair.a, pair.b, pair.sum(4)) == (3, "text", 7)
    assert first.is_pair(pair) and not second.is_pair(pair)
    pair.a = 10
    assert first.pair_a(pair) == 10
    raises(TypeError, second.pair_a, pair)
    before = first.alive()
    kept = [first.make_counted(i) for i in range(10)]
    held = second.array_append(tvm_ffi.Array([]), kept[0])
    table = second.map_set(tvm_ffi.Map({}), kept[1], kept[2])
    assert first.alive() == before + 10 and first.is_pair(kept[0])
    del kept
    gc.collect()
    assert first.alive() == before + 3
    assert second.map_keys(table)[0].a == 1
    del held, table
    gc.collect()
    assert first.alive() == before

    made = tvm_ffi.testing.create_object(f"{side}.Pair", a=1, b="x", items=[1, [2]])
    other = first.make_pair(1, "x")
    other.items = [1, [2]]
    assert second.same(made, other) and second.hash(made) == first.hash(other)
    assert second.count_ints(made) == 3
    assert list(second.increment_ints(made).items) == [2, tvm_ffi.Array([3])]
    assert second.to_json({"a": [1, None]}) == first.to_json({"a": [1, None]})


def check_modules(first, second):
    inner, outer = first.make_module(), second.make_module()
    assert inner.kind != outer.kind
    assert inner.twice(4) == 8
    outer.import_module(inner)
    assert first.module_twice(outer, 5) == 10 == second.module_twice(outer, 5)
    assert outer.inspect_source("") == f"source of {outer.kind}"
    raises(RuntimeError, inner.import_module, outer)
    assert raises(AttributeError, inner.get_function, "none") is not None


def main():
    import tvm_ffi.testing

    first, second = tvm_ffi.load_module(sys.argv[1]), tvm_ffi.load_module(sys.argv[3])
    sides = sys.argv[2], sys.argv[4]
    for module, side in zip((first, second), sides):
        check_calls(module, side)
        check_values(module)
        check_maps(module, module)
    check_maps(first, second)
    check_maps(second, first)
    check_objects(first, second, sides[0])
    check_objects(second, first, sides[1])
    check_modules(first, second)
    check_modules(second, first)
    print("ok")


main()
