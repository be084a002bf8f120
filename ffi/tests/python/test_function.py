# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Calls in both directions and the conversion of every kind of argument."""

import ctypes
import gc
import sys
import threading

import numpy as np
import pytest

import tvm_ffi
import tvm_ffi.testing
from tvm_ffi import core

echo = tvm_ffi.get_global_func("testing.echo")
apply = tvm_ffi.get_global_func("testing.apply")


@pytest.mark.parametrize(
    "value",
    [None, True, False, 0, -1, 2**63 - 1, -(2**63), 1.5, float("inf"), "", "abc", "1234567",
     "12345678", "zero\0inside", "zero\0inside a longer text", "\u00e4\u6f22\U0001f600", b"",
     b"abc", b"a\0b", b"x" * 100],
)  # fmt: skip
def test_plain_values_come_back(value):
    result = echo(value)
    assert result == value
    assert isinstance(result, type(value))


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 2**64 - 1, 2**64, -(2**127), 10**40])
def test_big_int_comes_back_as_int(value):
    assert echo(value) == value
    assert type(echo(value)) is int
    assert apply(lambda x: x + 1, value) == value + 1
    with pytest.raises(TypeError, match="Expected `int` but got `ffi.BigInt`"):
        tvm_ffi.get_global_func("testing.add_one")(value)


def test_string_classes():
    assert type(echo("short")) is str
    assert type(echo("a string on the heap")) is str
    assert type(echo(b"a string on the heap")) is core.Bytes
    assert echo(echo("a string on the heap")) == "a string on the heap"


def test_lone_surrogate_is_an_error():
    with pytest.raises(UnicodeEncodeError):
        echo("\ud800")


def test_numpy_scalars_and_subclasses():
    class Index(int):
        pass

    class Text(str):
        pass

    assert echo(np.int32(7)) == 7 and type(echo(np.int32(7))) is int
    assert echo(np.float32(1.5)) == 1.5
    assert echo(Index(3)) == 3
    assert echo(Text("a text of some class")) == "a text of some class"


def test_containers_are_converted():
    result = echo([1, (2, "x"), {"k": [3]}])
    assert isinstance(result, tvm_ffi.Array)
    assert result == [1, (2, "x"), result[2]]
    assert result[2]["k"] == [3]


def test_nesting_beyond_the_recursion_limit():
    deep = []
    for _ in range(10**5):
        deep = [deep]
    with pytest.raises(RecursionError):
        echo(deep)
    loop = []
    loop.append(loop)
    with pytest.raises(RecursionError):
        echo(loop)


def test_pointers():
    assert echo(ctypes.c_void_p(5)).value == 5
    assert echo(ctypes.c_void_p(None)).value is None

    class Handle:
        def __tvm_ffi_opaque_ptr__(self):
            return 0x1234

    class Foreign:
        pass

    assert echo(Handle()).value == 0x1234
    core._OPAQUE_PTR_HANDLERS[Foreign] = lambda obj: 0x77
    try:
        assert echo(Foreign()).value == 0x77
    finally:
        del core._OPAQUE_PTR_HANDLERS[Foreign]


def test_protocols():
    class Int:
        def __tvm_ffi_int__(self):
            return 2**70

    class Float:
        def __tvm_ffi_float__(self):
            return 2

    class Value:
        def __tvm_ffi_value__(self):
            return [1, "two"]

    class Obj:
        def __init__(self):
            self.array = tvm_ffi.Array([1])

        def __tvm_ffi_object__(self):
            return self.array

    class Convertible(tvm_ffi.ObjectConvertible):
        def asobject(self):
            return "converted to a string"

    class Type:
        def __dlpack_data_type__(self):
            return (0, 32, 1)

    class Where:
        def __dlpack_device__(self):
            return (2, 3)

    class Stream:
        def __cuda_stream__(self):
            return (0, 0x99)

    assert echo(Int()) == 2**70
    assert echo(Float()) == 2.0 and type(echo(Float())) is float
    assert echo(Value()) == [1, "two"]
    obj = Obj()
    assert echo(obj).same_as(obj.array)
    assert echo(Convertible()) == "converted to a string"
    assert echo(Type()) == "int32"
    assert echo(Where()) == tvm_ffi.device("cuda", 3)
    assert echo(Stream()).value == 0x99


def test_endless_value_protocol():
    class Endless:
        def __tvm_ffi_value__(self):
            return Endless()

    with pytest.raises(RecursionError):
        echo(Endless())


def test_opaque_object_keeps_identity():
    class Thing:
        pass

    thing = Thing()
    assert echo(thing) is thing
    wrapped = tvm_ffi.convert(thing)
    assert isinstance(wrapped, core.OpaquePyObject) and wrapped.pyobject() is thing


def test_opaque_object_is_released():
    class Thing:
        pass

    thing = Thing()
    before = sys.getrefcount(thing)
    for _ in range(100):
        echo(thing)
        apply(lambda x: None, [thing, {"k": thing}])
    assert sys.getrefcount(thing) == before


def test_callbacks():
    assert apply(lambda *args: len(args), *range(30)) == 30
    assert apply(lambda: None) is None
    function = tvm_ffi.convert(lambda a, b: a + b)
    assert isinstance(function, tvm_ffi.Function)
    assert function(1, 2) == 3
    assert apply(function, 1, 2) == 3


def test_callback_is_released():
    class Callable:
        def __call__(self):
            return 1

    callee = Callable()
    before = sys.getrefcount(callee)
    function = tvm_ffi.convert(callee)
    assert sys.getrefcount(callee) > before
    del function
    gc.collect()
    assert sys.getrefcount(callee) == before


def test_keyword_arguments_do_not_exist():
    with pytest.raises(TypeError, match="unexpected keyword argument 'x'"):
        echo(x=1)
    assert echo(*[1], **{}) == 1


def test_many_arguments():
    assert tvm_ffi.get_global_func("testing.nop")(*range(1000)) is None


def test_endless_callback_recursion():
    def recurse():
        return apply(recurse)

    with pytest.raises(RecursionError):
        recurse()


def test_gil_is_released_during_calls():
    started, finish = threading.Event(), threading.Event()

    def block():
        started.set()
        assert finish.wait(10)

    function = tvm_ffi.convert(block)
    assert function.release_gil
    worker = threading.Thread(target=apply, args=(function,))
    worker.start()
    assert started.wait(10)
    finish.set()
    worker.join()


def test_calls_from_many_threads():
    results = []

    def work(i):
        for _ in range(200):
            assert apply(lambda x: [x, str(x)], i) == [i, str(i)]
        results.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == list(range(8))


def test_rvalue_reference():
    obj = tvm_ffi.testing.TestObjectBase(v_i64=3)
    count = tvm_ffi.get_global_func("testing.object_use_count")
    assert count(obj) == 1
    assert tvm_ffi.convert(lambda taken: count(taken))(obj._move()) == 1
    with pytest.raises(ValueError, match="moved away"):
        obj.v_i64  # noqa: B018
    with pytest.raises(ValueError, match="moved away"):
        echo(obj)
    with pytest.raises(ValueError, match="moved away"):
        echo(obj._move())


def test_global_functions():
    @tvm_ffi.register_global_func("test_function.mul")
    def mul(a, b):
        return a * b

    assert mul(2, 3) == 6
    assert tvm_ffi.get_global_func("test_function.mul")(4, 5) == 20
    with pytest.raises(RuntimeError, match="already registered"):
        tvm_ffi.register_global_func("test_function.mul", lambda: 1)
    tvm_ffi.register_global_func("test_function.mul", lambda: 1, override=True)
    assert tvm_ffi.get_global_func("test_function.mul")() == 1
    assert "test_function.mul" in tvm_ffi.registry.list_global_func_names()
    tvm_ffi.remove_global_func("test_function.mul")
    assert tvm_ffi.get_global_func("test_function.mul", allow_missing=True) is None
    with pytest.raises(ValueError, match="Cannot find global function test_function.mul"):
        tvm_ffi.get_global_func("test_function.mul")


def test_metadata():
    schema = tvm_ffi.get_global_func_metadata("testing.add_one")["type_schema"]
    assert '"params":[{"type":"int"}]' in schema


def test_extern_symbol():
    symbol = tvm_ffi.testing.get_add_one_c_symbol()
    function = tvm_ffi.Function.__from_extern_c__(
        symbol.value if hasattr(symbol, "value") else symbol, keep_alive_object=[1]
    )
    assert function(1) == 2
    packed = tvm_ffi.testing.get_mlir_add_one_c_symbol()
    function = tvm_ffi.Function.__from_mlir_packed_safe_call__(
        packed.value if hasattr(packed, "value") else packed
    )
    assert function(1) == 2


def test_init_ffi_api():
    module = type(sys)("test_function_api")
    sys.modules["test_function_api"] = module
    try:
        tvm_ffi.init_ffi_api("testing", "test_function_api")
        assert module.add_one(1) == 2
    finally:
        del sys.modules["test_function_api"]


def test_function_is_no_object_but_core_object():
    assert isinstance(echo, core.CObject)
    assert repr(echo) == "ffi.Function"
