# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""What is printed parses to the same program."""

import math
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tvm import IRModule, tirx
from tvm.ir import assert_structural_equal
from tvm.script import from_source

HEAD = "@T.prim_func{options}\ndef f(A: T.Buffer((8,), 'float32'), B: T.Buffer((8, 4), 'int32'), n: T.int32):\n"


def round_trip(program, **options):
    text = program.script(**options)
    parsed = from_source(text, check_well_formed=False)
    assert_structural_equal(parsed, program)
    assert parsed.script(**options) == text  # a second trip changes nothing
    return text


BODIES = [
    "x = n + 1\nx += 2\nA[x] = 1.0",
    "v: T.float32[4]\nv[0] = A[0]",
    "x: T.let = n + 3\ny: T.let[T.int32] = x\nA[y] = 0.0",
    "p: T.let[T.handle('float32', 'global')] = A.data\nT.evaluate(T.isnullptr(p))",
    "for i, j in T.grid(2, 4):\n    B[i, j] = i * 4 + j",
    "for i in T.serial(2, n, step=2, annotations={'a': 1, 'b': 'x', 'c': [1, 2.5]}):\n    A[i] = 0.0",
    "for i in range(n, n + n):\n    A[i] = 0.0",
    "for i in range(n + 1, n * 3):\n    A[i] = 0.0",
    "for i in T.thread_binding(2, 8, thread='threadIdx.x'):\n    A[i] = 0.0",
    "for i in T.unroll(T.int64(4)):\n    A[i] = 0.0",
    "while n > 1:\n    if n > 2:\n        break\n    else:\n        continue",
    "if n > 1:\n    A[0] = 1.0\nelif n > 0 and not n == 5 or n < -3:\n    A[1] = 1.0\nelse:\n    A[2] = 2.0",
    "assert n > 0, ('ValueError', ['a \"quoted\"', \"it's\", 'back\\\\slash', 'äöü'])",
    "with T.attr({'a': 1, 'b': T.float32(2)}):\n    T.evaluate(n)",
    "with T.attr(A, 'key', 'value'):\n    T.evaluate(n)",
    "T.attr(n, 'key', 1)\nA[0] = 1.0\nA[1] = 2.0",
    "with T.launch_thread('blockIdx.x', n) as bx, T.launch_thread('threadIdx.x', 32) as tx:\n    A[tx] = T.float32(bx)",
    "tx = T.env_thread('threadIdx.x')\nwith T.launch_thread(tx, 8):\n    A[tx] = 0.0\n"
    "with T.launch_thread(tx, 8):\n    A[tx] = 1.0",
    "T.device_entry()\nbx, by = T.cta_id([2, 3])\nt = T.thread_id([32])\nA[t] = T.float32(bx + by)",
    "C = T.alloc_buffer((4, n), 'float16', scope='shared', align=128, annotations={'k': 1})\nC[0, 0] = T.float16(1)",
    "D = T.decl_buffer((4,), 'int8', data=A.data, strides=(2,), elem_offset=n, offset_factor=2)\nD[0] = T.int8(3)",
    "A[0:4] = A[4:8] + T.Broadcast(1.0, 4)\nA[0:8:2] = A[n:n + 4]",
    "A[0:4] = T.Shuffle([A[0:4], A[n:n + 4]], [0, 4, 1, 5])\nA[0:4] = T.min(A[0:4], T.max(A[4:8], A[8:12]))",
    "D = T.alloc_buffer((8,), 'int32')\nD[0:4] = T.Div(D[0:4], D[4:8])",
    "D = T.alloc_buffer((8,), 'int32')\nD[0:4] = T.Add(D[0:4], T.Mul(D[4:8], D[0:4]))",
    "A.vstore([T.Ramp(0, 1, 4)], T.Broadcast(T.float32(1), 4), predicate=T.Broadcast(n > 1, 4))",
    "A[0] = T.float32('inf')\nA[1] = T.float32('-inf')\nA[2] = T.float32('nan')\nA[3] = T.float32(1e-45)",
    "T.evaluate(T.uint64(18446744073709551615))\nT.evaluate(T.uint64(9223372036854775808))\nT.evaluate(T.int64(-9223372036854775808))",
    "T.evaluate(T.Add(1, 2))\nT.evaluate(T.And(n > 1, T.bool(True)))\nT.evaluate(T.Mul(n, 1))\nT.evaluate(T.Not(T.bool(False)))",
    "T.evaluate(T.Div(n, 2))\nT.evaluate(T.truncmod(n, 3))\nT.evaluate(n // 2 % 3)\nT.evaluate(A[0] / A[1])",
    "T.evaluate(T.Select(n > 1, n, 2))\nT.evaluate(T.if_then_else(n > 1, n, 2))\nT.evaluate(T.likely(n > 1))",
    "T.evaluate(T.Cast('int64', n))\nT.evaluate(T.Cast('int32', n))\nT.evaluate(T.reinterpret('float32', n))",
    "T.evaluate(T.Shuffle([n, n + 1], [1, 0]))\nT.evaluate(T.Ramp(n, 2, 4))\nT.evaluate(T.min(T.max(n, 1), 7))",
    "T.evaluate((n & 3) | (n ^ 1) << 2 >> n)\nT.evaluate(~n)\nT.evaluate(-n)\nT.evaluate(n - (n - 1) - -n)",
    "y = T.int32()\nT.evaluate(T.Let(y + 1, where={y: n * 2}))",
    "T.call_extern('int32', 'g', n, 'text', A.data)\nT.call_packed('g', A, n)\nT.evaluate(T.call_intrin('float32', 'tirx.exp', A[0]))",
    "T.evaluate(T.address_of(A[n]))\nT.evaluate(A.access_ptr('r'))",
    "T.evaluate(T.fma(A[0], A[1], A[2]))\nT.evaluate(T.isnan(A[0]))\nT.evaluate(T.clz(n))\nT.evaluate(T.pow(A[0], 2.0))",
    "T.evaluate(T.reduce(T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), source=[A[0]], init=[], "
    "axis=[T.iter_var('k', T.Range(0, 4), 'CommReduce')], condition=n > 1, value_index=0))",
    "return n + 1",
]  # fmt: skip


@pytest.mark.parametrize("body", BODIES)
def test_statements(body):
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    func = from_source(HEAD.format(options="") + lines, check_well_formed=False)
    text = round_trip(func)
    assert "metadata" not in text
    round_trip(func, syntax_sugar=False)
    round_trip(func, verbose_expr=True)
    round_trip(IRModule({"f": func}))


BLOCKS = [
    "for i in range(8):\n    with T.sblock('b'):\n        vi = T.axis.spatial(8, i)\n        A[vi] = 1.0",
    "C = T.sblock_alloc_buffer((8,))\nfor i, j in T.grid(8, 4):\n    with T.sblock('b'):\n"
    "        vi, vj = T.axis.remap('SR', [i, j])\n        T.where(i + j < n)\n        T.sblock_attr({'k': [1, 'x']})\n"
    "        with T.init():\n            C[vi] = 0.0\n        C[vi] += T.float32(B[vi, vj])",
    "with T.sblock('root'):\n    T.reads()\n    T.writes(A[0:8])\n    A[0] = 1.0",
    "with T.sblock('a'):\n    vi = T.axis.opaque((2, 6), n)\n    vj = T.axis.scan(4, 0)\n    T.reads(B[vi, 0:vj])\n"
    "    T.writes(A[vi:vi + 2])\n    M = T.match_buffer(B[vi, 0:4], (4,), 'int32', strides=('s',), offset_factor=1)\n"
    "    A[vi] = T.float32(M[0])",
    "for i in T.thread_binding(8, thread='threadIdx.x'):\n    with T.sblock('b'):\n        v = T.axis.spatial(8, i)\n"
    "        with T.sblock('inner'):\n            w = T.axis.spatial(1, 0)\n            A[v + w] = 1.0",
]


@pytest.mark.parametrize("body", BLOCKS)
def test_blocks(body):
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    func = from_source(HEAD.format(options="(s_tir=True)") + lines, check_well_formed=False)
    round_trip(func)
    round_trip(func, syntax_sugar=False)


SIGNATURES = [
    "def f(a: T.int8, b: T.float8_e4m3fn, c: T.bool, d: T.float32x4, e: T.handle) -> T.float64:\n    return T.float64(1)",
    "def f(p: T.handle('float32', 'shared'), q: T.handle('int8')):\n    T.evaluate(p)",
    "def f(A: T.Buffer(('n', 'm', 4), 'float16'), B: T.Buffer(('n',), 'int64')):\n    A[n - 1, m - 1, 0] = T.float16(B[0])",
    "def f(A: T.Buffer((T.int64(4), T.int64(2)), 'bool')):\n    A[0, 1] = T.bool(True)",
    "def f(A: T.Buffer((), 'float32'), B: T.Buffer((0, 4))):\n    A[()] = 1.0",
    "def f(A: T.Buffer((8,), 'uint8', strides=('s',), elem_offset='o', align=16, offset_factor=4, scope='global')):\n    A[0] = T.uint8(255)",
    "def f(n: T.int64, A: T.Buffer((n, n + 1))):\n    A[n - 1, 0] = 0.0",
    "def f(A: T.Buffer((n,)), B: T.Buffer((n * 2,))):\n    A[n - 1] = B[n]",
]  # fmt: skip


@pytest.mark.parametrize("signature", SIGNATURES)
@pytest.mark.parametrize("decorator", ["@T.prim_func", "@T.prim_func(private=True)"])
def test_signatures(signature, decorator):
    head = "n = TypeVar('n')\n" if "(n," in signature and "n: " not in signature else ""
    func = from_source(f"{head}{decorator}\n{signature}\n", check_well_formed=False)
    round_trip(func)


def test_modules():
    module = from_source("""
@I.ir_module
class Module:
    I.module_attrs({"a": 1, "b": [1, 2], "c": {"x": 2.5}})
    I.module_global_infos({"d": [I.dummy_global_info()], "vdevice": [I.vdevice("llvm", 1)]})
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), n: T.int32):
        cls.g(n)
        x: T.int32 = cls.g(n + 1)
        A[x] = 1.0
    @T.prim_func(private=True)
    def g(a: T.int32) -> T.int32:
        T.func_attr({"tirx.noalias": True, "k": T.int64(3), "s": "text"})
        return a + 1
""")
    round_trip(module)


@pytest.mark.parametrize("name", ["lambda", "a-b", "T", "class", "x y"])
def test_awkward_names(name):
    func = from_source(HEAD.format(options="") + "    x = n\n    A[x] = 1.0\n")
    var = tirx.Var(name, "int32")
    body = tirx.For(var, 0, 4, 0, tirx.BufferStore(func.params[0], 1.0, [var]))
    renamed = tirx.PrimFunc([func.params[0]], body, attrs={"global_symbol": name})
    round_trip(renamed)
    round_trip(IRModule({name: renamed}))


# --- random programs ---------------------------------------------------------------------------

_DTYPES = ("int8", "int32", "int64", "uint8", "float16", "float32", "float64", "bool")


@st.composite
def literals(draw, dtype):
    if dtype == "bool":
        return tirx.const(draw(st.booleans()), "bool")
    if dtype.startswith("float"):
        width = int(dtype[5:])
        value = draw(st.floats(width=width, allow_nan=True))
        return tirx.FloatImm(dtype, value)
    low, high = (0, 255) if dtype == "uint8" else (-(2 ** (int(dtype[3:]) - 1)), None)
    high = high or -low - 1
    return tirx.IntImm(dtype, draw(st.integers(low, high)))


def expressions(scope, dtype, depth):
    """Expressions of a type; `scope` maps types to variables and buffers."""
    leaves = [literals(dtype)]
    variables = [v for v in scope if not tirx.is_buffer(v) and str(v.dtype) == dtype]
    buffers = [v for v in scope if tirx.is_buffer(v) and str(v.dtype) == dtype]
    if variables:
        leaves.append(st.sampled_from(variables))
    if depth <= 0:
        return st.one_of(leaves)
    sub = st.deferred(lambda: expressions(scope, dtype, depth - 1))
    index = st.deferred(lambda: expressions(scope, "int32", depth - 1))
    condition = st.deferred(lambda: expressions(scope, "bool", depth - 1))
    options = list(leaves)
    if buffers:
        options.append(
            st.builds(lambda b, i: tirx.BufferLoad(b, [i]), st.sampled_from(buffers), index)
        )
    options.append(st.builds(tirx.Select, condition, sub, sub))
    options.append(st.builds(tirx.if_then_else, condition, sub, sub))
    if dtype == "bool":
        other = st.sampled_from(["int32", "float32", "int64"]).flatmap(
            lambda t: st.tuples(expressions(scope, t, depth - 1), expressions(scope, t, depth - 1))
        )
        compare = st.sampled_from([tirx.EQ, tirx.NE, tirx.LT, tirx.LE, tirx.GT, tirx.GE])
        options += [
            st.builds(lambda f, ab: f(*ab), compare, other),
            st.builds(lambda f, a, b: f(a, b), st.sampled_from([tirx.And, tirx.Or]), sub, sub),
            st.builds(tirx.Not, sub),
        ]
        return st.one_of(options)
    arithmetic = [tirx.Add, tirx.Sub, tirx.Mul, tirx.Min, tirx.Max, tirx.Div]
    if not dtype.startswith("float"):
        arithmetic += [tirx.FloorDiv, tirx.FloorMod, tirx.Mod]
    options.append(st.builds(lambda f, a, b: f(a, b), st.sampled_from(arithmetic), sub, sub))
    options.append(
        st.sampled_from(_DTYPES).flatmap(
            lambda t: st.builds(lambda e: tirx.Cast(dtype, e), expressions(scope, t, depth - 1))
        )
    )
    if dtype.startswith("float"):
        options.append(st.builds(tirx.exp, sub))
    return st.one_of(options)


@st.composite
def blocks(draw, scope, depth):
    scope = list(scope)
    result = []
    for _ in range(draw(st.integers(1, 3))):
        result.append(draw(statements(scope, depth)))
        if isinstance(result[-1], tirx.Bind):
            scope.append(result[-1].var)
        elif isinstance(result[-1], tirx.AllocBuffer):
            scope.append(result[-1].buffer)
    return result[0] if len(result) == 1 else tirx.SeqStmt(result)


@st.composite
def statements(draw, scope, depth):
    kinds = ["store", "bind", "alloc", "evaluate", "assert"]
    if depth > 0:
        kinds += ["for", "if", "while", "attr", "if", "for"]
    kind = draw(st.sampled_from(kinds))
    names = st.sampled_from(["x", "y", "i", "for", "T", "a.b"])
    dtype = draw(st.sampled_from(_DTYPES))
    if kind == "store":
        buffer = draw(st.sampled_from([v for v in scope if tirx.is_buffer(v)]))
        value = draw(expressions(scope, str(buffer.dtype), 2))
        return tirx.BufferStore(buffer, value, [draw(expressions(scope, "int32", 1))])
    if kind == "bind":
        return tirx.Bind(tirx.Var(draw(names), dtype), draw(expressions(scope, dtype, 2)))
    if kind == "alloc":
        shape = [draw(st.integers(1, 4))]
        place = draw(st.sampled_from(["global", "local", "shared"]))
        return tirx.AllocBuffer(tirx.decl_buffer(shape, dtype, draw(names), scope=place))
    if kind == "evaluate":
        return tirx.Evaluate(draw(expressions(scope, dtype, 2)))
    if kind == "assert":
        return tirx.AssertStmt(draw(expressions(scope, "bool", 1)), draw(st.text(max_size=8)))
    if kind == "for":
        var = tirx.Var(draw(names), draw(st.sampled_from(["int32", "int64"])))
        low, extent = (draw(expressions(scope, str(var.dtype), 1)) for _ in range(2))
        body = draw(blocks([*scope, var], depth - 1))
        notes = draw(st.dictionaries(st.sampled_from(["k", "pragma_unroll"]), st.integers(1, 9)))
        step = draw(st.none() | st.integers(2, 5))
        step = None if step is None else tirx.IntImm(str(var.dtype), step)
        return tirx.For(var, low, extent, draw(st.integers(0, 3)), body, None, notes, step)
    body = draw(blocks(scope, depth - 1))
    if kind == "attr":
        return tirx.AttrStmt(
            draw(st.sampled_from(scope)), draw(st.text("abc", min_size=1)), 1, body
        )
    condition = draw(expressions(scope, "bool", 1))
    if kind == "while":
        return tirx.While(condition, body)
    return tirx.IfThenElse(condition, body, draw(st.none() | blocks(scope, depth - 1)))


@st.composite
def functions(draw):
    params = [
        tirx.decl_buffer([8], "float32", "A"),
        tirx.decl_buffer([draw(st.integers(1, 9))], "int32", draw(st.sampled_from("ABn"))),
        tirx.Var("n", "int32"),
        tirx.Var(draw(st.sampled_from(["n", "m", "if"])), "float64"),
    ]
    body = draw(blocks(params, 3))
    name = draw(st.sampled_from(["main", "def", "f.g", "A"]))
    return tirx.PrimFunc(params, body, attrs={"global_symbol": name, "k": draw(st.integers(-9, 9))})


@settings(
    max_examples=50 * int(os.environ.get("TVM_TEST_LONG", "1")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(functions())
def test_random_functions(func):
    text = func.script(show_meta=True)
    parsed = from_source(text, check_well_formed=False)
    assert_structural_equal(parsed, func)
    plain = from_source(func.script(syntax_sugar=False, show_meta=True), check_well_formed=False)
    assert_structural_equal(plain, func)


@pytest.mark.parametrize("value", [0.1, 1e300, 5e-324, math.pi, -0.0, 3.0, 1e16, 123456789.125])
def test_floats_keep_every_digit(value):
    func = from_source(f"@T.prim_func\ndef f():\n    T.evaluate(T.float64({value!r}))\n")
    again = from_source(func.script(show_meta=True))
    assert again.body.value.value.hex() == value.hex()
