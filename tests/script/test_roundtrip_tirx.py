# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Printed TIRx reads back as the same program: every node, odd literals and names, real kernels."""

import sys

import numpy as np
import pytest

import tvm
from tvm import relax, te, tirx
from tvm.ir import (
    Call,
    FloatImm,
    GlobalVar,
    IntImm,
    IRModule,
    Op,
    PointerType,
    PrimType,
    Range,
)
from tvm.script import from_source


def roundtrip(node):
    """Check that the text of a function or module reads back as the same program."""
    for sugar in (True, False):
        text = node.script(show_meta=True, syntax_sugar=sugar)
        again = from_source(text, check_well_formed=False)
        tvm.ir.assert_structural_equal(node, again)
    return text


def func(body, *params, attrs=None, ret_type=None):
    """A function of that body; expressions are evaluated in order."""
    stmts = body if isinstance(body, list) else [body]
    stmts = [s if isinstance(s, tirx.Stmt) else tirx.Evaluate(s) for s in stmts]
    body = stmts[0] if len(stmts) == 1 else tirx.SeqStmt(stmts)
    attrs = tvm.ir.make_node("ir.DictAttrs", **(attrs or {"global_symbol": "main"}))
    return tirx.PrimFunc(list(params), body, ret_type=ret_type, attrs=attrs)


def var(name, dtype="int32"):
    return tirx.Var(name, dtype)


X, Y, I64, U8, F, G, B, H = (
    var("x"), var("y"), var("i", "int64"), var("u", "uint8"), var("f", "float32"),
    var("g", "float64"), var("b", "bool"), var("h", "handle"),
)  # fmt: skip
PARAMS = (X, Y, I64, U8, F, G, B, H)


def check_expr(*exprs):
    return roundtrip(func(list(exprs), *PARAMS))


# --- literals ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint32", "uint64"])
def test_integers(dtype):
    bits = int("".join(c for c in dtype if c.isdigit()))
    low = 0 if dtype[0] == "u" else -(2 ** (bits - 1))
    high = min(2 ** (bits if dtype[0] == "u" else bits - 1) - 1, 2**63 - 1)
    check_expr(*(IntImm(dtype, v) for v in (0, 1, 7, low, high)))


def test_uint64_beyond_int64():
    for value in (2**63, 2**64 - 1):
        large = Call(
            "tirx.large_uint_imm",
            [IntImm("uint32", value & 0xFFFFFFFF), IntImm("uint32", value >> 32)],
            ret_ty="uint64",
        )
        check_expr(large)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
def test_floats(dtype):
    values = [0.0, -0.0, 1.0, -2.5, 0.1, 3.14159265358979, 1e-30, 65504.0, float("inf"),
              float("-inf"), float("nan")]  # fmt: skip
    check_expr(*(FloatImm(dtype, v) for v in values))


def test_floats_of_any_size():
    check_expr(*(FloatImm("float64", v) for v in (1e300, 5e-324, 1.7976931348623157e308, 2.0**80)))


def test_bools():
    check_expr(IntImm("bool", True), IntImm("bool", False), tirx.Not(IntImm("bool", True)))


@pytest.mark.parametrize(
    "text",
    ['"', "'", "\\", "\\n", "\t", "a\rb", "\x00\x7f", "héllo ✓ 日本", "two\nlines", "", "'''"],
)
def test_strings(text):
    roundtrip(
        func(
            [
                Call("tirx.call_extern", [tirx.StringImm(text)], ret_ty="int32"),
                tirx.AssertStmt(B, tirx.StringImm("ValueError"), [tirx.StringImm(text)]),
            ],
            B,
            attrs={"global_symbol": "main", "text": text, "nested": {text + "k": [text]}},
        )
    )


@pytest.mark.parametrize(
    "name", ["for", "lambda", "None", "T", "I", "cls", "range", "a.b", "1x", "", "é", "metadata"]
)
def test_names(name):
    """Names of variables are hints: any name prints as an identifier."""
    a, b = tirx.Var(name, "int32"), tirx.Var(name, "int32")
    buffer = tirx.decl_buffer((4,), "float32", name or "buf")
    loop = tirx.For(b, 0, 4, tirx.ForKind.SERIAL, tirx.BufferStore(buffer, 1.0, [b + a]))
    roundtrip(func([loop, loop_copy(loop)], a, buffer))


def loop_copy(loop):
    """The same loop with a variable of its own."""
    fresh = tirx.Var(loop.loop_var.name, "int32")
    body = tirx.stmt_functor.substitute(loop.body, {loop.loop_var: fresh})
    return tirx.For(fresh, loop.min, loop.extent, loop.kind, body)


# --- expressions -------------------------------------------------------------------------------


def test_arithmetic():
    ops = (tirx.Add, tirx.Sub, tirx.Mul, tirx.FloorDiv, tirx.FloorMod, tirx.Div, tirx.Mod, tirx.Min,
           tirx.Max)  # fmt: skip
    text = check_expr(*(op(X, Y) for op in ops), *(op(op(X, Y), op(Y, X)) for op in ops))
    assert "x // y" in text and "x % y" in text and "T.truncmod(x, y)" in text


def test_float_arithmetic():
    ops = (tirx.Add, tirx.Sub, tirx.Mul, tirx.Div, tirx.Min, tirx.Max)
    assert "f / f" in check_expr(*(op(F, F) for op in ops))


def test_comparison_and_logic():
    ops = (tirx.EQ, tirx.NE, tirx.LT, tirx.LE, tirx.GT, tirx.GE)
    compared = [op(X, Y) for op in ops] + [op(IntImm("int32", 1), X) for op in ops]
    a, b = compared[2], compared[0]
    logic = [tirx.And(a, b), tirx.Or(a, b), tirx.Not(a), tirx.And(tirx.Or(a, b), tirx.Not(b)),
             tirx.And(a, tirx.And(b, a)), tirx.Or(tirx.Or(a, b), a),
             tirx.EQ(a, b), tirx.LT(tirx.Cast("int32", a), tirx.Cast("int32", b))]  # fmt: skip
    check_expr(*compared, *logic)


def test_nothing_folds():
    """Nodes that an operator of Python would simplify away come back as they were."""
    one, two, zero = (IntImm("int32", v) for v in (1, 2, 0))
    ops = (tirx.Add, tirx.Sub, tirx.Mul, tirx.FloorDiv, tirx.FloorMod, tirx.Div, tirx.Mod, tirx.Min,
           tirx.Max, tirx.EQ, tirx.LT)  # fmt: skip
    exprs = [op(a, b) for op in ops for a, b in ((one, two), (X, one), (X, two), (two, X))]
    exprs += [tirx.Add(X, zero), tirx.Mul(X, zero), tirx.Sub(zero, X), tirx.Sub(X, X)]
    true = IntImm("bool", True)
    exprs += [tirx.And(true, B), tirx.Or(B, true), tirx.Not(true), tirx.Select(true, X, Y)]
    exprs += [tirx.Cast("int32", X), tirx.Cast("float32", one), tirx.FloorDiv(X, zero)]
    exprs += [tirx.Add(FloatImm("float32", 1.0), FloatImm("float32", 2.0))]
    check_expr(*exprs)


def test_vectors():
    ramp = tirx.Ramp(X, 1, 4)
    wide = tirx.Broadcast(F, 4)
    exprs = [ramp, wide, tirx.Ramp(X, 3, 8), tirx.Ramp(I64, IntImm("int64", 2), 4),
             tirx.Shuffle([wide, wide], [IntImm("int32", i) for i in (0, 5, 2, 7)]),
             tirx.Add(wide, wide), tirx.LT(ramp, tirx.Broadcast(Y, 4)), tirx.Broadcast(F, 3),
             tirx.Broadcast(F, tirx.Mul(IntImm("int32", 4), Call("tirx.vscale", [], ret_ty="int32"))),
             tirx.Cast("float16x4", wide)]  # fmt: skip
    check_expr(*exprs)


def test_let_select_cast():
    v, w = var("v"), var("w", "handle")
    check_expr(
        tirx.Let(v, tirx.Add(X, Y), tirx.Mul(v, v)),
        tirx.Let(w, H, Call("tirx.isnullptr", [w], ret_ty="bool")),
        tirx.Select(B, X, Y),
        tirx.Cast("float8_e4m3fn", F),
    )


def test_reduce():
    k = tirx.IterVar(Range(0, 8), var("k"), tirx.IterVar.CommReduce)
    a, b = var("a", "float32"), var("b", "float32")
    combiner = tirx.CommReducer([a], [b], [a + b], [FloatImm("float32", 0.0)])
    check_expr(tirx.Reduce(combiner, [F], [k], IntImm("bool", True), 0, []))


UNARY = ["exp", "exp2", "exp10", "erf", "tanh", "sigmoid", "sqrt", "rsqrt", "log", "log2", "log10",
         "log1p", "tan", "cos", "cosh", "sin", "sinh", "asin", "acos", "atan", "acosh", "asinh",
         "atanh", "fabs", "floor", "ceil", "round", "nearbyint", "trunc"]  # fmt: skip


def test_math_calls():
    op = lambda name, dtype, *args: Call(f"tirx.{name}", list(args), ret_ty=dtype)
    exprs = [op(name, "float32", F) for name in UNARY]
    exprs += [op(name, "float64", G) for name in UNARY]
    exprs += [op(name, "float32", FloatImm("float32", 1.5)) for name in UNARY]
    exprs += [op(n, "float32", F, F) for n in ("pow", "fmod", "atan2", "nextafter", "copysign",
                                                "hypot")]  # fmt: skip
    exprs += [op("ldexp", "float32", F, X), op("fma", "float32", F, F, F)]
    exprs += [op(n, "bool", F) for n in ("isnan", "isinf", "isfinite")]
    exprs += [op("isnan", "boolx4", tirx.Broadcast(F, 4))]
    # Types that no function of that name would give.
    exprs += [op("exp", "float64", F), op("clz", "int64", I64), op("clz", "int32", X)]
    exprs += [op("popcount", "int32", X), op("floor", "int32", X), op("isnan", "bool", X)]
    check_expr(*exprs)


def test_bit_calls():
    op = lambda name, dtype, *args: Call(f"tirx.{name}", list(args), ret_ty=dtype)
    binary = ["bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right"]
    three = IntImm("int32", 3)
    exprs = [op(n, "int32", X, Y) for n in binary] + [op(n, "int32", X, three) for n in binary]
    exprs += [op(n, "int32", three, three) for n in binary]
    exprs += [op("bitwise_not", "int32", X), op("bitwise_not", "int32", three)]
    exprs += [op("bitwise_and", "int32", op("bitwise_or", "int32", X, Y), tirx.Add(X, Y))]
    text = check_expr(*exprs)
    assert "x << y" in text and "~x" in text and "(x | y) & x + y" in text


def test_builtin_calls():
    pointer = PointerType(PrimType("float32"))
    buf = tirx.decl_buffer((4, 4), "float32", "A")
    s = tirx.StringImm
    op = lambda name, ty, *args: Call(f"tirx.{name}", list(args), ret_ty=ty)
    exprs = [
        op("if_then_else", "int32", B, X, Y),
        op("if_then_else", "int32", IntImm("bool", True), X, Y),
        op("likely", "bool", B),
        op("reinterpret", "int32", F),
        op("reinterpret", "handle", I64),
        op("reinterpret", pointer, I64),
        op("call_extern", "int32", s("f"), X, F),
        op("call_extern", "void", s("f")),
        op("call_extern", pointer, s("f"), s("two words")),
        op("call_pure_extern", "float64", s("f"), X),
        op("tvm_call_packed", "int32", s("f"), X, F),
        op("tvm_call_packed", "handle", s("f"), buf),
        op("tvm_call_cpacked", "int32", s("f"), X, H),
        op("tvm_call_packed_lowered", "int32", s("f"), H, X, Y),
        op("tvm_call_cpacked_lowered", "int32", s("f"), H, X, Y, H),
        op("tvm_struct_get", "handle", H, X, Y),
        op("tvm_struct_get", "int64", H, X, IntImm("int32", 1)),
        op("tvm_struct_get", pointer, H, X, IntImm("int32", 1)),
        op("tvm_struct_set", "int32", H, X, IntImm("int32", 1), F),
        op("tvm_stack_alloca", "handle", s("shape"), X),
        op("tvm_stack_make_shape", "handle", I64, I64),
        op("tvm_tuple", "handle", X, F),
        op("isnullptr", "bool", H),
        op("lookup_param", "handle", s("p")),
        op("address_of", pointer, buf[X, Y]),
        op("address_of", "handle", buf[X, Y]),
        op("assume", "bool", B),
        op("undef", "int32"),
        op("undef", "float32"),
        op("vscale", "int32"),
        op("ret", "int32", X),
        op("thread_return", "void"),
        op("atomic_add", "float32", H, F),
        op("anylist_getitem", "handle", H, X),
        op("TVMBackendAllocWorkspace", "handle", X, X, I64, X, X),
        op("TVMBackendFreeWorkspace", "int32", X, X, H),
        op("tvm_storage_sync", "int32", s("shared")),
        op("vectorlow", "float32x2", tirx.Broadcast(F, 4)),
        op("vectorcombine", "float32x8", tirx.Broadcast(F, 4), tirx.Broadcast(F, 4)),
        op("get_active_lane_mask", "uint1x4", X, Y),
        op("dp4a", "int32", X, X, X),
        op("q_multiply_shift", "int32", X, X, X, X),
        op("tvm_throw_last_error", "int32"),
        op("call_llvm_pure_intrin", "float32", IntImm("uint32", 1), F),
        tirx.buffer.buffer_data(buf) if hasattr(tirx.buffer, "buffer_data") else buf.data,
        op("tvm_access_ptr", "handle", op("type_annotation", "float32"), buf.data, X, X, X),
        op("ptr_byte_offset", pointer, H, X, op("type_annotation", "float32")),
        Call(GlobalVar("callee"), [X, F], ret_ty="void"),
        Call(GlobalVar("callee"), [X, F], ret_ty="int32"),
    ]
    roundtrip(func(exprs, *PARAMS, buf))


def test_call_with_attributes():
    call = Call("tirx.exp", [F], attrs={"precise": True, "level": 3}, ret_ty="float32")
    check_expr(call)


# --- statements --------------------------------------------------------------------------------


def store(buffer, *indices, value=1.0):
    return tirx.BufferStore(buffer, value, list(indices))


def test_loops():
    a = tirx.decl_buffer((64,), "float32", "A")
    kind = tirx.ForKind
    bodies = []

    def loop(start, extent, kind=kind.SERIAL, **kwargs):
        i = tirx.Var("i", extent.dtype if isinstance(extent, tvm.ir.Expr) else "int32")
        bodies.append(tirx.For(i, start, extent, kind, store(a, i), **kwargs))

    loop(0, 4)
    loop(0, X)
    loop(2, 4)
    loop(X, 4)
    loop(X, Y)
    loop(X + 1, tirx.Min(Y, X))
    loop(0, I64)
    loop(IntImm("int64", 0), IntImm("int64", 5))
    loop(X, tirx.Sub(tirx.Add(X, 4), X))
    loop(0, 16, step=2)
    loop(3, 16, step=X)
    loop(0, 4, kind.PARALLEL)
    loop(1, 4, kind.VECTORIZED)
    loop(0, 4, kind.UNROLLED, annotations={"a": 1, "b": "text", "c": IntImm("int32", 2)})
    loop(0, 4, annotations={"disable_unroll": True})
    loop(0, 4, annotations={"pragma_unroll": 4})
    loop(0, 4, annotations={"pragma_unroll": IntImm("int32", 4)})
    loop(0, 8, kind.PARALLEL, step=2)
    roundtrip(func(bodies, *PARAMS, a))


def test_loop_nests():
    a = tirx.decl_buffer((64,), "float32", "A")
    i, j, k = var("i"), var("j"), var("k")
    serial = tirx.ForKind.SERIAL
    grid = tirx.For(i, 0, 4, serial, tirx.For(j, 0, 8, serial, store(a, i + j)))
    assert "for i, j in T.grid(4, 8):" in func(grid, a).script()
    roundtrip(func(grid, a))
    dependent = tirx.For(i, 0, 4, serial, tirx.For(j, 0, i, serial, store(a, i + j)))
    assert "T.grid" not in func(dependent, a).script()
    roundtrip(func(dependent, a))
    mixed = tirx.For(
        i, 0, 4, serial,
        tirx.For(j, 0, 2, tirx.ForKind.UNROLLED, tirx.For(k, 1, 3, serial, store(a, i + j + k))),
    )  # fmt: skip
    roundtrip(func(mixed, a))


def test_thread_loops():
    a = tirx.decl_buffer((64,), "float32", "A")
    i, tx = var("i"), var("tx")
    axis = tirx.IterVar(None, var("t"), tirx.IterVar.ThreadIndex, "threadIdx.x")
    bound = tirx.For(i, 0, 32, tirx.ForKind.THREAD_BINDING, store(a, i), axis)
    launch_axis = tirx.IterVar(Range(0, 32), tx, tirx.IterVar.ThreadIndex, "threadIdx.x")
    launch = tirx.AttrStmt(launch_axis, "thread_extent", 32, store(a, tx))
    text = roundtrip(func(launch, a))
    assert 'with T.launch_thread("threadIdx.x", 32) as tx:' in text
    roundtrip(func([launch, launch], a))
    assert "T.env_thread" in func([launch, launch], a).script()
    text = func(bound, a).script()
    assert 'for i in T.thread_binding(32, thread="threadIdx.x"):' in text


def test_branches():
    a = tirx.decl_buffer((4,), "float32", "A")
    s = store(a, 0)
    stmts = [
        tirx.IfThenElse(B, s),
        tirx.IfThenElse(X < Y, s, store(a, 1)),
        tirx.IfThenElse(X < Y, tirx.IfThenElse(B, s, s), tirx.IfThenElse(B, s)),
        tirx.IfThenElse(tirx.NE(X, 0), s),
        tirx.While(X < Y, tirx.SeqStmt([tirx.IfThenElse(B, tirx.Break()), tirx.Continue()])),
        tirx.AssertStmt(B, tirx.StringImm("TypeError"), [tirx.StringImm("a"), tirx.StringImm("b")]),
        tirx.Return(X),
    ]
    roundtrip(func(stmts, *PARAMS, a, ret_type=PrimType("int32")))


def test_bind():
    v, p = var("v", "float32"), tirx.Var("p", PointerType(PrimType("float32"), "shared"))
    q, w = var("q", "handle"), var("w", "float32x4")
    roundtrip(
        func(
            [
                tirx.Bind(v, F),
                tirx.Bind(p, Call("tirx.call_extern", [tirx.StringImm("f")], ret_ty=p.ty)),
                tirx.Bind(q, H),
                tirx.Bind(w, tirx.Broadcast(v, 4)),
                tirx.Evaluate(v),
                tirx.Evaluate(Call("tirx.isnullptr", [p], ret_ty="bool")),
            ],
            *PARAMS,
        )
    )


def test_buffers():
    a = tirx.decl_buffer((8, 4), "float32", "A")
    local = tirx.decl_buffer((16,), "float16", "L", scope="local")
    shared = tirx.decl_buffer((16, 2), "int8", "S", scope="shared")
    other = tirx.decl_buffer((16,), "float32", "O", scope="texture")
    aligned = tirx.decl_buffer((16,), "float32", "G", data_alignment=128)
    zero_dim = tirx.decl_buffer((), "float32", "Z")
    view = tirx.decl_buffer((32,), "float32", "V", elem_offset=X, strides=[2])
    stmts = [
        *(tirx.AllocBuffer(b) for b in (local, shared, other, aligned, zero_dim)),
        tirx.DeclBuffer(view, a.data),
        store(a, X, Y, value=F),
        store(zero_dim, value=F),
        tirx.Evaluate(zero_dim[()]),
        tirx.Evaluate(view[X] + aligned[Y]),
    ]
    roundtrip(func(stmts, *PARAMS, a))


def test_buffer_annotations():
    a = tirx.decl_buffer((8,), "float32", "A", scope="local")
    stmts = [tirx.AllocBuffer(a, {"disable_lower_builtin": True, "n": 3}), store(a, 0)]
    roundtrip(func(stmts))


def test_scalars():
    """One-element local buffers, with and without an initial value."""
    s = tirx.decl_buffer((1,), "float32", "s", scope="local")
    t = tirx.decl_buffer((1,), "int32", "t", scope="local")
    u = tirx.decl_buffer((1,), "int32", "u", scope="local")
    body = [
        tirx.AllocBuffer(s),
        store(s, 0, value=F),
        tirx.AllocBuffer(t),
        store(t, 0, value=t[0] + 1),
        tirx.AllocBuffer(u),
        tirx.Evaluate(s[0]),
        tirx.Evaluate(Call("tirx.address_of", [s[0]], ret_ty="handle")),
    ]
    roundtrip(func(body, F, attrs={"global_symbol": "main", "s_tir": True}))
    roundtrip(func(body, F))


def test_vector_access():
    a = tirx.decl_buffer((8, 64), "float32", "A")
    four = tirx.Broadcast(FloatImm("float32", 1.0), 4)
    ramps = [tirx.Ramp(0, 1, 4), tirx.Ramp(X, 1, 4), tirx.Ramp(X * 4, 1, 4), tirx.Ramp(X, 2, 4),
             tirx.Ramp(X + 3, 1, 4), tirx.Ramp(X, Y, 4), tirx.Ramp(0, -1, 4),
             tirx.Broadcast(X, 4)]  # fmt: skip
    stmts = [tirx.BufferStore(a, four, [X, ramp]) for ramp in ramps]
    stmts += [tirx.BufferStore(a, a[X, ramp], [Y, ramp]) for ramp in ramps]
    stmts += [tirx.Evaluate(a[X, ramp] + four) for ramp in ramps]
    stmts += [tirx.Evaluate(tirx.BufferLoad(a, [I64, tirx.Ramp(I64, IntImm("int64", 1), 4)]))]
    roundtrip(func(stmts, *PARAMS, a))


def test_predicates():
    a = tirx.decl_buffer((64,), "float32", "A")
    mask = tirx.Broadcast(IntImm("bool", True), 4)
    ramp, four = tirx.Ramp(X, 1, 4), tirx.Broadcast(F, 4)
    stmts = [
        tirx.BufferStore(a, four, [ramp], mask),
        tirx.BufferStore(a, tirx.BufferLoad(a, [ramp], mask), [ramp]),
    ]
    roundtrip(func(stmts, *PARAMS, a))


def test_attributes():
    a = tirx.decl_buffer((64,), "float32", "A")
    s = store(a, 0)
    stmts = [
        tirx.AttrStmt(0, "pragma_x", 1, s),
        tirx.AttrStmt(IntImm("int32", 0), "pragma_x", 1, s),
        tirx.AttrStmt(a.data, "storage_alignment", 64, s),
        tirx.AttrStmt(a, "buffer_data_alignment", 64, s),
        tirx.AttrStmt("text", "key", tirx.StringImm("value"), s),
        tirx.AttrStmt(0, "outer", 1, tirx.AttrStmt(0, "inner", FloatImm("float32", 0.5), s)),
    ]
    roundtrip(func(stmts, a))


# --- functions and modules ---------------------------------------------------------------------


def test_attribute_values():
    attrs = {
        "global_symbol": "main",
        "ints": [1, 2, IntImm("int32", 3), IntImm("int64", 4)],
        "bools": [True, IntImm("bool", False)],
        "floats": [1.5, FloatImm("float32", 1.5), 1e300],
        "strings": ["a", tirx.StringImm("a")],
        "none": None,
        "map": {"a": {"b": [1, {"c": 2}]}},
        "expr": tirx.Add(IntImm("int32", 1), IntImm("int32", 2)),
        "target": tvm.target.Target({"kind": "llvm", "mcpu": "skylake-avx512"}),
        "index_map": tirx.IndexMap.from_func(lambda i, j: [j, i // 4, i % 4]),
        "tirx.noalias": True,
    }
    roundtrip(func(X, X, attrs=attrs))


def test_special_attributes():
    roundtrip(func(X, X, attrs={"tirx.noalias": True}))  # private
    roundtrip(func(X, X, attrs={"global_symbol": "main", "tirx.persistent_kernel": True}))
    roundtrip(func(X, X, attrs={"global_symbol": "main", "s_tir": True}))
    roundtrip(func(X, X, attrs={"global_symbol": "main", "s_tir": False}))
    roundtrip(func(X, X, attrs={"global_symbol": "main", "calling_conv": 1}))


def test_parameters():
    params = [
        var("h", "handle"),
        tirx.Var("p", PointerType(PrimType("float32"))),
        tirx.Var("q", PointerType(PrimType("int8"), "shared")),
        tirx.Var("r", PointerType(PointerType(PrimType("float32")))),
        var("v", "float32x4"),
        tirx.decl_buffer((), "int64", "Z"),
        tirx.decl_buffer((4,), "bool", "M", scope="shared"),
        tirx.decl_buffer((IntImm("int64", 4), 4), "float16", "N"),
    ]
    roundtrip(func(IntImm("int32", 0), *params))


def test_symbolic_shapes():
    n, m, k = var("n", "int64"), var("m"), var("k")
    a = tirx.decl_buffer((n, 4), "float32", "A")
    b = tirx.decl_buffer((n * 2, m), "float32", "B")
    c = tirx.decl_buffer((m, m + 1), "float32", "C", strides=[m + 1, 1])
    d = tirx.decl_buffer((k,), "float32", "D")
    roundtrip(func([n, m], a, b, c))
    roundtrip(func([n + tirx.Cast("int64", m)], b, m))
    roundtrip(func([k], d, k))
    roundtrip(func([k], k, d))
    text = func([n], a).script(extra_config={"script.use_pep695": True})
    assert "def main[n](" in text
    if sys.version_info >= (3, 12):
        tvm.ir.assert_structural_equal(func([n], a), from_source(text))


def test_return_types():
    for dtype in ("int32", "float32", "void"):
        roundtrip(func(X, X, ret_type=PrimType(dtype)))
    roundtrip(func(X, X, ret_type=PointerType(PrimType("float32"))))


def test_modules():
    def one(name, **attrs):
        x = var("x")
        return func(x, x, attrs={"global_symbol": name, **attrs})

    callee, one_imm = GlobalVar("f"), IntImm("int32", 1)
    nothing = tvm.ir.TupleType([])
    call = func([
        *(Call(callee, [one_imm], ret_ty=ty) for ty in (nothing, "void", "int32")),
        Call(callee, [], ret_ty=nothing),
    ])  # fmt: skip
    assert "Module.f(1)\n" in IRModule({"f": one("f"), "main": call}).script()
    mod = IRModule({"f": one("f"), "g": one("other"), "main": one("main"), "aa": call})
    text = roundtrip(mod)
    assert text.index("def f(") < text.index("def g(") < text.index("def main(")
    roundtrip(mod.with_attr("note", {"a": [1, 2.5]}))
    roundtrip(IRModule({}))


def test_module_with_global_infos():
    mod = IRModule({"f": func(X, X, attrs={"global_symbol": "f"})})
    mod.update_global_info("dummy", [tvm.ir.DummyGlobalInfo()])
    mod.update_global_info("vdevice", [tvm.ir.VDevice({"kind": "llvm"}, 0, "global")])
    roundtrip(mod)


def test_function_names_that_python_does_not_allow():
    x = var("x")
    mod = IRModule(
        {
            "lambda": func(x, x, attrs={"global_symbol": "lambda"}),
            "a-b": func(X, X, attrs={"tirx.noalias": True}),
        }
    )
    roundtrip(mod)


# --- blocks and kernels ------------------------------------------------------------------------


def matmul(n=16):
    a = te.placeholder((n, n), name="A")
    b = te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), "k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    d = te.compute((n, n), lambda i, j: te.exp(c[i, j]), name="D")
    return te.create_prim_func([a, b, d])


def test_blocks():
    text = roundtrip(matmul())
    assert 'with T.sblock("root"):' in text
    assert '# with T.sblock("root"):' in matmul().script()
    assert 'T.axis.remap("SSR", [i, j, k])' in matmul().script()


def test_block_parts():
    a = tirx.decl_buffer((8, 8), "float32", "A")
    m = tirx.decl_buffer((4,), "float32", "M", strides=[var("s")], elem_offset=var("o"))
    i = var("i")
    axes = [
        tirx.IterVar(Range(0, 8), var("vi"), 0),
        tirx.IterVar(Range(2, 6), var("vj"), 2),
        tirx.IterVar(Range(0, 4), var("vk"), 3),
        tirx.IterVar(Range(0, 4), var("vl"), 4),
    ]
    vi, vj = axes[0].var, axes[1].var
    region = tirx.BufferRegion(a, [Range.from_min_extent(vi, 1), Range(0, 4)])
    block = tirx.SBlock(
        axes, [region], [tirx.BufferRegion(a, [Range(0, 8), Range(vj, vj + 2)])], "blk",
        store(a, vi, vj), init=store(a, vi, 0),
        alloc_buffers=[tirx.decl_buffer((4,), "float16", "C", scope="local")],
        match_buffers=[tirx.MatchBufferRegion(m, region)],
        annotations={"key": [1, "two"], "n": IntImm("int32", 3)},
    )  # fmt: skip
    realize = tirx.SBlockRealize([i, i // 2 + 2, 1, 2], i < 7, block)
    loop = tirx.For(i, 0, 8, tirx.ForKind.SERIAL, realize)
    root = tirx.SBlockRealize([], True, tirx.SBlock([], [], [], "root", loop))
    roundtrip(func(root, a, attrs={"global_symbol": "main", "s_tir": True}))


def test_blocks_without_root():
    a = tirx.decl_buffer((8,), "float32", "A")
    i = var("i")
    axis = tirx.IterVar(Range(0, 8), var("vi"), 0)
    block = tirx.SBlock([axis], [], [], "b", store(a, axis.var))
    loop = tirx.For(i, 0, 8, tirx.ForKind.SERIAL, tirx.SBlockRealize([i], True, block))
    roundtrip(func(loop, a, attrs={"global_symbol": "main", "s_tir": True}))


def single_definitions(prim_func):
    """Whether no variable is defined twice; otherwise even a copy differs."""
    return tvm.ir.structural_equal(prim_func, tirx.stmt_functor.renew_defs(prim_func))


class Recorder:
    """Collects the functions that each pass leaves behind."""

    def __init__(self):
        self.functions = {}

    def instrument(self):
        functions = self.functions

        @tvm.ir.instrument.pass_instrument
        class Record:
            def run_after_pass(self, mod, info):
                for var, function in mod.functions.items():
                    if isinstance(function, tirx.PrimFunc):
                        key = tvm.ir.structural_hash(function)
                        functions.setdefault(key, (info.name, var.name_hint, function))

        return Record()


def relax_module(shape, make):
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(list(shape), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            out = bb.emit_output(make(bb, x))
        bb.emit_func_output(out)
    return bb.get()


def convolution(bb, x):
    rng = np.random.default_rng(0)
    w = relax.const(rng.standard_normal((8, 3, 3, 3)).astype("float32"))
    y = bb.emit(relax.op.nn.conv2d(x, w, strides=2, padding=1))
    y = bb.emit(relax.op.nn.max_pool2d(bb.emit(relax.op.nn.relu(y)), pool_size=2, strides=2))
    y = bb.emit(relax.op.reshape(y, (1, 128)))
    y = bb.emit(relax.op.matmul(y, relax.const(rng.standard_normal((128, 10)).astype("float32"))))
    return relax.op.sum(bb.emit(relax.op.nn.softmax(y)), axis=1)


def elementwise(bb, x):
    y = bb.emit(relax.op.nn.gelu(bb.emit(relax.op.add(x, x))))
    y = bb.emit(relax.op.concat([y, y], axis=1))
    return relax.op.permute_dims(bb.emit(relax.op.astype(y, "float16")))


@pytest.mark.parametrize("pipeline", ["plain", "default"])
@pytest.mark.parametrize(
    "shape, make", [((1, 3, 16, 16), convolution), ((tirx.Var("n", "int64"), 8), elementwise)]
)
def test_kernels_after_each_pass(shape, make, pipeline):
    recorder = Recorder()
    with tvm.transform.PassContext(instruments=[recorder.instrument()]):
        relax.build(relax_module(shape, make), "llvm", relax_pipeline=pipeline)
    assert len(recorder.functions) > 20
    checked = 0
    for pass_name, name, function in recorder.functions.values():
        if not single_definitions(function):
            continue
        text = function.script(show_meta=True)
        again = from_source(text, check_well_formed=False)
        assert tvm.ir.structural_equal(function, again), f"{name} after {pass_name}:\n{text}"
        checked += 1
    assert checked > len(recorder.functions) * 0.9


def test_registered_operators_read_back():
    """No operator prints as a function that gives another type."""
    for name in Op.list_op_names():
        if not name.startswith("tirx.") or name.count(".") > 1:
            continue
        op = Op.get(name)
        count = op.num_inputs if op.num_inputs >= 0 else 2
        for dtype in ("int32", "float64", "handle"):
            call = Call(op, [X] * count, ret_ty=dtype)
            roundtrip(func(call, X))
