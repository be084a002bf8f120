# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""For each kind of node there is a program that has it, and which reads back from its text."""

import pytest

import tvm
import tvm_ffi
from tvm import relax, te, tirx
from tvm.ir import Op, TensorMapType
from tvm.script import from_source
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T
from tvm_ffi import core

TILE_OP = "tirx.tile.test_roundtrip"


def kinds_in(root):
    """Type keys of an object and of all that its reflected fields reach."""
    found, pending, seen = set(), [root], set()
    while pending:
        value = pending.pop()
        if isinstance(value, tvm_ffi.Map):
            pending += [part for item in value.items() for part in item]
        elif isinstance(value, tvm_ffi.Array):
            pending += list(value)
        elif isinstance(value, core.CObject) and value.__chandle__() not in seen:
            seen.add(value.__chandle__())
            info = core._object_type_info(value)
            found.add(info.type_key)
            while info is not None:
                names = [field.name for field in info.fields or []]
                pending += [getattr(value, name, None) for name in names if name != "span"]
                info = info.parent_type_info
    return found


def prim_func(*stmts, params=()):
    attrs = tvm.ir.make_node("ir.DictAttrs", global_symbol="main")
    body = stmts[0] if len(stmts) == 1 else tirx.SeqStmt(list(stmts))
    return tirx.PrimFunc(list(params), body, attrs=attrs)


def tile_primitive():
    if TILE_OP not in Op.list_op_names():
        tvm.get_global_func("ir.RegisterOp")(TILE_OP, "copy of a tile")
    a, b = (tirx.decl_buffer((8, 4), "float32", name) for name in "ab")
    call = tirx.TilePrimitiveCall(
        a, b, op=TILE_OP, config={"wide": True}, dispatch="simple", scope="warp"
    )
    return prim_func(tirx.AllocBuffer(a), tirx.AllocBuffer(b), call)


def tensor_map():
    m = tirx.Var("m", TensorMapType())
    return prim_func(tirx.Evaluate(0), params=[m])


@I.ir_module
class Graph:
    @T.prim_func
    def addone(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("add"):
                v = T.axis.spatial(4, i)
                b[v] = T.max(a[v] + T.float32(1), a[v] * T.float32(2))

    @R.function
    def main(
        c: R.Tensor((), "bool"), x: R.Tensor(("n",), "float32"), s: R.Shape(["n"])
    ) -> R.Tensor(ndim=1, dtype="float32"):
        n = T.int64()
        y = R.match_cast(x, R.Tensor((n,), "float32"))
        pair = (y, R.const([1.0, 2.0]))
        with R.dataflow():
            first = pair[0]
            z = R.add(first, first)
            R.output(z)
        if c:
            w = R.multiply(z, z)
            r = w
        else:
            w = R.call_dps_packed("other", (z,), out_ty=R.Tensor((n,), "float32"))
            r = w
        return r


def index_map():
    i, j = tirx.Var("i", "int32"), tirx.Var("j", "int32")
    swap = tirx.IndexMap([i, j], [j, i * 4], None)
    return prim_func(tirx.AttrStmt(swap, "layout", tirx.const(1), tirx.Evaluate(0)))


def expressions():
    x, y = tirx.Var("x", "int32"), tirx.Var("y", "int32")
    f, p = tirx.Var("f", "float32"), tirx.Var("p", "handle")
    binary = [tirx.Add, tirx.Sub, tirx.Mul, tirx.Div, tirx.Mod, tirx.FloorDiv, tirx.FloorMod]
    binary += [tirx.Min, tirx.Max]
    compare = [tirx.EQ, tirx.NE, tirx.LT, tirx.LE, tirx.GT, tirx.GE]
    less, equal = tirx.LT(x, y), tirx.EQ(x, y)
    add = te.comm_reducer(lambda a, b: a + b, lambda dtype: tirx.const(0, dtype))
    axis = tirx.IterVar(tvm.ir.Range(0, 4), tirx.Var("k", "int32"), tirx.IterVar.CommReduce)
    values = [
        *(make(x, y) for make in [*binary, *compare]),
        tirx.And(less, equal), tirx.Or(less, equal), tirx.Not(less),
        tirx.Select(less, x, y), tirx.Cast("float32", x), tirx.Broadcast(x, 4),
        tirx.Ramp(x, 1, 4), tirx.Shuffle([x, y], [0]), tirx.Let(x, y, x + 1),
        tirx.StringImm("text"), tirx.const(2.5, "float32"), tirx.exp(f), add(x + axis.var, axis),
        tvm.ir.Call("tirx.isnullptr", [p], ret_ty="bool"),
    ]  # fmt: skip
    return prim_func(*map(tirx.Evaluate, values), params=[x, y, f, p])


@T.prim_func
def statements(a: T.Buffer((8, 8), "float32"), p: T.handle("float32"), n: T.int32) -> T.int32:
    T.func_attr({"global_symbol": "main"})
    view = T.decl_buffer((8,), "float32", data=p)
    own = T.alloc_buffer((8, 8), "float32")
    assert n > 0, "n must be positive"
    if n > 4:
        while n < 3:
            break
        for i in T.serial(8):
            if n > i:
                continue
    else:
        view[0] = a[0, 0]
    with T.attr("kind", "value", 1):
        T.evaluate(n)
    m: T.let = n + 1
    lanes = T.thread_id([32])
    for i, j in T.grid(8, 2):
        with T.sblock("copy"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(a[vi, vj * 4 : vj * 4 + 4])
            T.writes(own[vi, vj * 4 : vj * 4 + 4])
            part = T.match_buffer(own[vi, vj * 4 : vj * 4 + 4], (1, 4), offset_factor=1)
            for k in T.vectorized(4):
                part[0, k] = a[vi, vj * 4 + k]
    return m + lanes


def graph_types():
    x = relax.Var("x", relax.TensorType([2], "float32"))
    scalar = relax.Var("n", tvm.ir.PrimType("int64"))
    anything = relax.Var("o", relax.AnyType())
    shape = relax.Var("s", relax.ShapeType(ndim=2))
    pair = relax.Var("t", tvm.ir.TupleType([relax.TensorType(dtype="int8"), relax.ShapeType()]))
    function = relax.Var("f", relax.FuncType([relax.AnyType()], relax.TensorType()))
    packed = relax.Var("g", relax.PackedFuncType())
    bb = relax.BlockBuilder()
    params = [x, scalar, anything, shape, pair, function, packed]
    with bb.function("main", params, attrs={"kind": "all"}):
        y = bb.emit(relax.op.astype(x, "float16"))
        texts = [relax.StringImm("text"), relax.DataTypeImm("int4"), relax.ShapeExpr([2, 3])]
        bb.emit_func_output(relax.Tuple([y, relax.const([1, 2]), *texts]))
    mod = bb.get()
    mod["other"] = relax.ExternFunc("other.symbol")
    mod.update_global_info("vdevice", [tvm.ir.VDevice("llvm", 0, "global")])
    return mod


# Kinds that have no text of their own: abstract, or parts of the compiler and not of programs.
NO_TEXT = {
    "ir.ArgumentInfo", "ir.Attrs", "ir.BaseFunc", "ir.DummyGlobalInfo", "ir.EnvFunc", "ir.Expr",
    "ir.FuncType", "ir.GlobalInfo", "ir.IntSet", "ir.SequentialSpan", "ir.Source", "ir.SourceMap",
    "ir.SourceName", "ir.Span", "ir.Type", "ir.UniqueNameSupply", "relax.BlockBuilder",
    "relax.BlockBuilderImpl", "relax.ExecBuilder", "relax.expr.Binding", "tirx.DataProducer",
    "tirx.PrimFuncPass", "tirx.ProducerLoad", "tirx.Stmt", "tirx.TensorIntrin",
}  # fmt: skip
PROGRAMS = {
    "tile primitive": tile_primitive,
    "tensor map": tensor_map,
    "index map": index_map,
    "expressions": expressions,
    "statements": lambda: statements,
    "graph": lambda: Graph,
    "graph types": graph_types,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_reads_back(name):
    program = PROGRAMS[name]()
    for sugar in (True, False):
        text = program.script(show_meta=True, syntax_sugar=sugar)
        again = from_source(text, check_well_formed=False)
        tvm.ir.assert_structural_equal(program, again)
        assert kinds_in(again) == kinds_in(program)


def test_every_kind_of_node_is_in_a_program():
    layers = ("ir.", "tirx.", "relax.expr.", "relax.")
    registered = {
        str(key)
        for key in tvm_ffi.registry.get_registered_type_keys()
        if str(key).startswith(layers)
        and not str(key).startswith(("relax.attrs.", "relax.vm.", "tirx.transform."))
    }
    covered = set().union(*(kinds_in(make()) for make in PROGRAMS.values()))
    assert registered - covered - NO_TEXT == set()
