# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""TIRx and TE objects built from Python."""

import pytest

import tvm
from tvm import arith, ir, te, tirx
from tvm.ir import Var


def test_buffer():
    buffer = tirx.decl_buffer((4, 8), "float16", "A", scope="shared")
    assert isinstance(buffer, tirx.Buffer) and isinstance(buffer, Var)
    assert buffer.name == "A" and buffer.dtype == "float16" and buffer.scope() == "shared"
    assert [int(n) for n in buffer.shape] == [4, 8] and len(buffer.strides) == 0
    assert tirx.is_buffer(buffer) and not tirx.is_buffer(Var("x"))
    assert buffer.data.dtype == "handle"
    assert buffer.with_dtype("int8").dtype == "int8"
    load = buffer[1, 2]
    assert isinstance(load, tirx.BufferLoad) and load.dtype == "float16"
    assert isinstance(load.buffer, tirx.Buffer) and load.buffer.same_as(buffer)
    region = buffer[1:3, 0]
    assert isinstance(region, tirx.BufferRegion) and int(region.region[0].extent) == 2
    assert isinstance(buffer[1], tirx.BufferRegion)
    assert buffer[0, 0:8:2].dtype == "float16x4"
    assert buffer.vload([0, 0], "float16x4").dtype == "float16x4"
    store = buffer.vstore([0, 0], tirx.const(1.0, "float16"))
    assert isinstance(store, tirx.BufferStore)
    assert int(buffer.elem_offset_of([1, 2])) == 10
    with pytest.raises(IndexError):
        buffer[0, 0, 0]
    with pytest.raises(TypeError):
        tirx.Buffer("A")


def test_statements():
    i = Var("i", "int32")
    buffer = tirx.decl_buffer((16,), "float32", "A")
    store = tirx.BufferStore(buffer, buffer[i] + 1.0, [i])
    loop = tirx.For(i, 0, 16, tirx.ForKind.PARALLEL, store, annotations={"k": 1})
    assert loop.kind == tirx.ForKind.PARALLEL and loop.annotations["k"] == 1
    assert isinstance(loop.body, tirx.BufferStore)
    sequence = tirx.SeqStmt([loop, tirx.Evaluate(0)])
    assert len(sequence) == 2 and isinstance(sequence[0], tirx.For)
    nested = tirx.Bind(Var("v"), 1, body=loop)
    assert isinstance(nested, tirx.SeqStmt) and isinstance(nested[0], tirx.Bind)
    assert isinstance(tirx.Bind(Var("v"), 1), tirx.Bind)
    assert isinstance(tirx.Bind(Var("v"), 1, loop), tirx.SeqStmt)
    check = tirx.AssertStmt(i < 3, "ValueError", ["too ", "big"])
    assert check.error_kind.value == "ValueError" and len(check.message_parts) == 2
    branch = tirx.IfThenElse(i < 3, store)
    assert branch.else_case is None
    func = tirx.PrimFunc([buffer], sequence)
    assert isinstance(func.params[0], tirx.Buffer)
    assert ir.structural_equal(func, ir.load_json(ir.save_json(func)))
    assert list(func.buffer_map) == [func.params[0]]


def test_traversal():
    x, y = Var("x", "int32"), Var("y", "int32")
    stmt = tirx.Evaluate(x + y * 2)
    seen = []
    tirx.functor.post_order_visit(stmt, lambda node: seen.append(type(node).__name__))
    assert seen[-1] == "Evaluate" and "Mul" in seen
    replaced = tirx.functor.substitute(stmt, {y: x})
    assert ir.structural_equal(replaced, tirx.Evaluate(x + x * 2))


def test_binary_nodes_check_dtypes():
    with pytest.raises(TypeError, match="mismatched types"):
        tirx.Add(Var("x", "int32"), Var("y", "int64"))
    for name in ("Sub", "Mul", "Div", "Mod", "FloorDiv", "FloorMod", "Min", "Max", "LT", "EQ"):
        node = getattr(tirx, name)(Var("x"), Var("y"))
        assert type(node).__name__ == name and node.a.name == "x"


def test_math_functions():
    x = Var("x", "float32")
    for name in ("exp", "tanh", "erf", "sqrt", "log2", "sigmoid", "floor", "isnan"):
        assert isinstance(getattr(tirx, name)(x), ir.Expr)
    assert tirx.max_value("int8").value == 127 and tirx.min_value("int8").value == -128
    assert tirx.max(Var("a"), Var("b")).dtype == "int32"
    assert tirx.if_then_else(x > 0, x, 0.0).dtype == "float32"
    assert tirx.power(x, 2.0).dtype == "float32"


def test_te():
    n = te.var("n")
    a = te.placeholder((n, 16), name="A")
    k = te.reduce_axis((0, 16), "k")
    b = te.compute((n,), lambda i: te.sum(a[i, k], axis=k), name="B")
    assert b.op.name == "B" and len(b.op.reduce_axis) == 1 and b.dtype == "float32"
    assert a == a.op.output(0) and hash(a) == hash(a.op.output(0))  # noqa: PLR0124
    c = te.compute((n,), lambda i: b[i] * 2.0 + a[i, 0])
    func = te.create_prim_func([a, c])
    assert isinstance(func, tirx.PrimFunc) and func.attrs["s_tir"]
    with pytest.raises(ValueError, match="does not match dimension"):
        te.compute((n, n), lambda i: i)
    with pytest.raises(ValueError, match="Need to provide 2 index"):
        a(1)
    outputs = te.compute((4,), lambda i: (a[0, i], a[1, i]))
    assert len(outputs) == 2 and outputs[1].value_index == 1


def test_analyzer():
    analyzer = arith.Analyzer()
    x = Var("x", "int32")
    analyzer.bind(x, ir.Range(0, 8))
    bound = analyzer.const_int_bound(x * 2 + 1)
    assert (bound.min_value, bound.max_value) == (1, 15)
    assert analyzer.can_prove(x < 8) and not analyzer.can_prove(x < 7)
    assert ir.structural_equal(analyzer.simplify((x * 8 + 3) // 8), x)
    with analyzer.constraint_scope(x < 2):
        assert analyzer.can_prove(x < 3)
    assert not analyzer.can_prove(x < 3)
    modular = analyzer.modular_set(x * 4 + 3)
    assert (modular.coeff, modular.base) == (4, 3)
    assert analyzer.try_compare(x, x) == arith.CompareResult.EQ
    copy = analyzer.clone()
    assert copy.can_prove(x < 8)
    with pytest.raises(TypeError, match="Do not know how to handle"):
        analyzer.update(x, 3)
    assert arith.detect_linear_equation(x * 3 + 1, [x])[0].value == 3
    assert tvm.sym is arith
