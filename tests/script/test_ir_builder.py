# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Building IR by frames, without a parser."""

import pytest

import tvm
from tvm import tirx
from tvm.ir import assert_structural_equal
from tvm.script import from_source
from tvm.script.ir_builder import IRBuilder, name, name_many
from tvm.script.ir_builder import ir as I
from tvm.script.ir_builder import tirx as T


def test_builder_scope():
    assert not IRBuilder.is_in_scope()
    with pytest.raises(ValueError, match="No builder in current scope"):
        IRBuilder.current()
    with IRBuilder() as outer:
        assert IRBuilder.is_in_scope() and IRBuilder.current().same_as(outer)
        with IRBuilder() as inner:
            assert IRBuilder.current().same_as(inner)
        assert IRBuilder.current().same_as(outer)
        with pytest.raises(ValueError, match="has built nothing"):
            outer.get()
    assert not IRBuilder.is_in_scope()


def test_callbacks_run_last_first_at_exit():
    seen = []
    with IRBuilder():
        with I.ir_module() as frame:
            frame.add_callback(lambda: seen.append(1))
            frame.add_callback(lambda: seen.append(2))
            assert seen == []
        assert seen == [2, 1]
    with pytest.raises(ValueError, match="No builder in current scope"):
        frame.add_callback(lambda: None)
    with IRBuilder(), pytest.raises(ValueError, match="No frames in Builder"):
        frame.add_callback(lambda: None)


def test_an_error_in_a_frame_leaves_no_trace():
    seen = []
    with IRBuilder() as builder:
        with pytest.raises(RuntimeError), I.ir_module() as frame:
            frame.add_callback(lambda: seen.append(1))
            raise RuntimeError("stop")
        assert len(builder.frames) == 0 and builder.result is None
        with T.prim_func():
            T.func_name("f")
    assert seen == [] and isinstance(builder.get(), tirx.PrimFunc)


def test_names():
    x, y, z = (tirx.Var("v", "int32") for _ in range(3))
    assert name("x", x).name == "x"
    assert IRBuilder.name("k", [y, z])[1].name == "k_1"
    name_many(["a", "b"], [y, z])
    assert (y.name, z.name) == ("a", "b")
    with pytest.raises(ValueError):
        name_many(["a"], [y, z])
    assert name("text", 3) == 3


def test_module():
    with IRBuilder() as builder:
        with I.ir_module() as frame:
            I.module_attrs({"a": 1})
            I.module_set_attr("b", 2)
            assert I.module_get_attr("b") == 2
            with IRBuilder() as inner, T.prim_func(is_private=True):
                T.arg("n", T.int32)
                T.func_ret(T.int32)
            var = I.decl_function("f", inner.get())
            assert frame.global_vars["f"].same_as(var)
            with T.prim_func():
                T.func_name("f")
                n = T.arg("n", T.int32)
                T.func_ret(T.int32)
                T.Return(n + 1)
    module = builder.get()
    assert module.get_attr("a") == 1
    assert isinstance(module["f"].body, tirx.Return)
    with IRBuilder(), pytest.raises(ValueError, match="There is no definition of g"), I.ir_module():
        I.decl_function("g", module["f"])
    with IRBuilder(), pytest.raises(ValueError, match="function g already exists"), I.ir_module():
        I.decl_function("g", module["f"])
        I.decl_function("g", module["f"])
    with IRBuilder(), pytest.raises(ValueError, match="does not exist"), I.ir_module():
        I.def_function("g", module["f"])
    with IRBuilder(), pytest.raises(TypeError, match="expects an instance of BaseFunc"):
        I.decl_function("g", 3)


def test_function_of_all_statements():
    with IRBuilder() as builder:
        with T.prim_func():
            T.func_name("f")
            T.func_attr({"tirx.noalias": True})
            A = T.arg("A", T.Buffer((8, 4), "float32"))
            n = T.arg("n", T.int32)
            with T.grid(8, 4) as (i, j):
                T.buffer_store(A, A[i, j] + 1, [i, j])
            with T.While(n > 0), T.If(n > 3):
                with T.Then():
                    T.Break()
                with T.Else():
                    T.Continue()
            with T.Assert(n > 1, "message"):
                T.evaluate(n)
            with T.attr(A, "key", 1), T.launch_thread("threadIdx.x", 4) as tx:
                T.evaluate(tx)
            b = name("b", T.bind(n + 1))
            C = name("C", T.alloc_buffer((4,), "int8"))
            T.buffer_store(C, T.int8(1), [b])
            T.Return(b)
    expected = from_source("""
@T.prim_func
def f(A: T.Buffer((8, 4), "float32"), n: T.int32):
    T.func_attr({"tirx.noalias": True})
    for i, j in T.grid(8, 4):
        A[i, j] = A[i, j] + T.float32(1.0)
    while n > 0:
        if n > 3:
            break
        else:
            continue
    assert n > 1, ("RuntimeError", ["message"])
    T.evaluate(n)
    with T.attr(A, "key", 1):
        with T.launch_thread("threadIdx.x", 4) as tx:
            T.evaluate(tx)
    b: T.let[T.int32] = n + 1
    C = T.alloc_buffer((4,), "int8")
    C[b] = T.int8(1)
    return b
""")
    assert_structural_equal(builder.get(), expected)


def test_a_statement_alone_is_the_result():
    with IRBuilder() as builder, T.serial(4) as i:
        T.evaluate(i)
    assert isinstance(builder.get(), tirx.For)


def test_misplaced_parts():
    with IRBuilder(), T.prim_func():
        with pytest.raises(ValueError, match="must be used inside of T.sblock"):
            T.where(True)
        with pytest.raises(ValueError, match="must stand directly in T.If"), T.Then():
            pass
        with pytest.raises(ValueError, match="only for s_tir PrimFuncs"):
            T.sblock_alloc_buffer((4,))
        with pytest.raises(ValueError, match="was not made by T.env_thread"):
            T.launch_thread(tirx.Var("v", "int32"), 4)
    with IRBuilder(), pytest.raises(ValueError, match="must be used inside of T.prim_func"):
        T.func_name("f")


def test_block_without_realize():
    with IRBuilder() as builder, T.sblock("b", no_realize=True):
        T.axis.spatial(4)
        T.evaluate(0)
    block = builder.get()
    assert isinstance(block, tirx.SBlock) and len(block.iter_vars) == 1


def test_spans():
    span = tvm.ir.Span(tvm.ir.base.SourceName("here"), 3, 3, 1, 5)
    with IRBuilder() as builder, T.prim_func():
        with builder.with_source_span(span):
            T.evaluate(1)
        T.evaluate(2)
    first, second = builder.get().body
    assert first.span.same_as(span) and second.span is None
