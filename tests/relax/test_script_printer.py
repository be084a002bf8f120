# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Exact text of each construct of the graph dialect."""

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.ir import Call, GlobalVar, IRModule, PrimType, TupleType
from tvm.script import from_source

TY = relax.TensorType((2, 3), "float32")
op = relax.op


def text_of(body):
    """Text of a function (given with ``R``/``T`` unqualified) after reading it, without header."""
    func = from_source(body)
    return _body(func.script())


def _body(text):
    lines = text.split("\n")
    while lines and (lines[0].startswith("#") or not lines[0]):
        lines.pop(0)
    return "\n".join(lines)


def var(name="x", ty=TY):
    return relax.Var(name, ty)


# ---- expressions and types alone -----------------------------------------------------------------

n = tvm.tirx.Var("n", "int64")
EXPRESSIONS = [
    (lambda: var(), "x"),
    (lambda: op.add(var(), var("y")), "R.add(x, y)"),
    (
        lambda: op.add(op.add(var(), var("y")), relax.const(1.0)),
        'R.add(R.add(x, y), R.const(1.0, "float32"))',
    ),
    (lambda: relax.Tuple([var(), var("y")]), "(x, y)"),
    (lambda: relax.Tuple([var()]), "(x,)"),
    (lambda: relax.Tuple([]), "R.tuple()"),
    (lambda: relax.TupleGetItem(relax.Tuple([var(), var("y")]), 1), "(x, y)[1]"),
    (lambda: relax.ShapeExpr([1, 2]), "R.shape([1, 2])"),
    (lambda: relax.const(1.5), 'R.const(1.5, "float32")'),
    (lambda: relax.const(1), 'R.const(1, "int32")'),
    (lambda: relax.const(True), 'R.const(True, "bool")'),
    (lambda: relax.const(float("inf")), 'R.const("inf", "float32")'),
    (lambda: relax.const(float("nan"), "float64"), 'R.const("nan", "float64")'),
    (lambda: relax.StringImm("a"), 'R.str("a")'),
    (lambda: relax.DataTypeImm("int8"), 'R.dtype("int8")'),
    (lambda: GlobalVar("foo"), 'I.GlobalVar("foo")'),
    (
        lambda: Call(relax.ExternFunc("foo"), [var(), relax.StringImm("s")], None, [TY]),
        'R.call_packed("foo", x, R.str("s"), ty_args=(R.Tensor((2, 3), dtype="float32"),))',
    ),
    (
        lambda: Call(relax.ExternFunc("foo"), [var()], {"a": 1, "b": "x"}),
        'R.call_packed("foo", x, attrs_type_key="ir.DictAttrs", a=1, b="x")',
    ),
    (
        lambda: op.call_tir_inplace(GlobalVar("f"), [var()], [0], TY),
        'R.call_tir_inplace(f, (x,), out_ty=R.Tensor((2, 3), dtype="float32"), '
        "inplace_indices=[0])",
    ),
    (
        lambda: op.call_dps_packed("foo", [var()], [TY, relax.TensorType((2,), "int8")]),
        'R.call_dps_packed("foo", (x,), out_ty=[R.Tensor((2, 3), dtype="float32"), '
        'R.Tensor((2,), dtype="int8")])',
    ),
    (
        lambda: op.call_pure_packed("foo", var(), ty_args=[relax.AnyType()]),
        'R.call_pure_packed("foo", x, ty_args=(R.Any,))',
    ),
    (lambda: op.make_closure(GlobalVar("f"), [var()]), "R.make_closure(f, (x,))"),
    (lambda: op.print(var(), format="{}"), 'R.print(x, format=R.str("{}"))'),
    (lambda: op.strided_slice(var(), [0], [1], [2]), None),
    (lambda: op.clip(var(), 0, 6.5), "R.clip(x, 0, T.float64(6.5))"),
    (lambda: op.sum(var(), axis=[1]), "R.sum(x, axis=[1], keepdims=False)"),
    (lambda: op.astype(var(), "float16"), 'R.astype(x, dtype="float16")'),
    (lambda: op.ones_like(var()), "R.ones_like(x, dtype=None)"),
    (lambda: op.concat([var(), var("y")], axis=1), "R.concat((x, y), axis=1)"),
    (
        lambda: op.take(var(), relax.prim_value(1), axis=0),
        'R.take(x, 1, axis=0, mode="fast")',
    ),
    (lambda: relax.TensorType((n, n * 2, n + 1)), 'R.Tensor((n, n * 2, n + 1), dtype="float32")'),
    (lambda: relax.TensorType(None, "float32", ndim=3), 'R.Tensor(dtype="float32", ndim=3)'),
    (lambda: relax.TensorType(None, None), "R.Tensor"),
    (lambda: relax.TensorType((1, 2), None), "R.Tensor((1, 2))"),
    (lambda: relax.ShapeType([n, 4]), "R.Shape([n, 4])"),
    (lambda: relax.ShapeType(), "R.Shape(ndim=-1)"),
    (
        lambda: relax.FuncType([relax.AnyType()], relax.AnyType(), False),
        "R.Callable((R.Any,), R.Any, False)",
    ),
    (lambda: relax.FuncType([], TupleType([])), "R.Callable((), R.Tuple, True)"),
    (lambda: relax.FuncType.opaque_func(ret=relax.AnyType()), "R.Callable"),
    (lambda: relax.AnyType(), "R.Any"),
    (lambda: relax.PackedFuncType(), "R.PackedFunc"),
    (lambda: PrimType("int64"), "T.int64"),
]


@pytest.mark.parametrize("make,text", EXPRESSIONS)
def test_text_of_an_expression(make, text):
    if text is None:
        text = "R.strided_slice(x, (0,), (1,), (2,), assume_inbound=False)"
    assert make().script() == text


def test_constants_of_tensors_are_metadata():
    constant = relax.const(np.arange(4, dtype="int32"))
    assert constant.script() == (
        'metadata["relax.expr.Constant"][0]\n'
        "# Metadata omitted. Use show_meta=True in script() method to show it."
    )
    assert constant.script(show_meta=True).startswith('metadata = tvm.ir.load_json("""')


def test_bindings_alone_declare_their_variables():
    binding = relax.VarBinding(var("y"), op.add(var(), var("z")))
    relax.BlockBuilder().normalize(binding.value)
    assert binding.script() == (
        'x: R.Tensor((2, 3), dtype="float32")\n'
        'z: R.Tensor((2, 3), dtype="float32")\n'
        'y: R.Tensor((2, 3), dtype="float32") = R.add(x, z)'
    )
    cast = relax.MatchCast(var("y"), var(), TY)
    assert cast.script() == (
        'x: R.Tensor((2, 3), dtype="float32")\n'
        'y: R.Tensor((2, 3), dtype="float32") = R.match_cast(x, R.Tensor((2, 3), dtype="float32"))'
    )


# ---- functions -----------------------------------------------------------------------------------

# Text that reads back and prints as itself.
FUNCTIONS = {
    "bindings": """\
@R.function
def f(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
    y: R.Tensor((2, 3), dtype="float32") = R.add(x, x)
    z: R.Tensor((2, 3), dtype="float32") = y
    y_1: R.Tensor((2, 3), dtype="float32") = R.add(z, y)
    return y_1""",
    "dataflow": """\
@R.function
def f(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
    a: R.Tensor((2, 3), dtype="float32") = R.add(x, x)
    with R.dataflow():
        lv: R.Tensor((2, 3), dtype="float32") = R.add(a, x)
        gv: R.Tensor((2, 3), dtype="float32") = lv
        gv1: R.Tensor((2, 3), dtype="float32") = R.multiply(lv, a)
        R.output(gv, gv1)
    b: R.Tensor((2, 3), dtype="float32") = R.add(gv, gv1)
    return b""",
    "no outputs": """\
@R.function
def f(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
    with R.dataflow():
        y: R.Tensor((2, 3), dtype="float32") = R.add(x, x)
        R.output()
    return x""",
    "choice": """\
@R.function
def f(x: R.Tensor((2, 3), dtype="float32"), c: R.Tensor((), dtype="bool")) -> R.Tensor((2, 3), dtype="float32"):
    if c:
        w1: R.Tensor((2, 3), dtype="float32") = R.add(x, x)
        w_then: R.Tensor((2, 3), dtype="float32") = R.multiply(w1, x)
        w: R.Tensor((2, 3), dtype="float32") = w_then
    else:
        w: R.Tensor((2, 3), dtype="float32") = x
    if c:
        z: R.Tensor((2, 3), dtype="float32") = w
    else:
        if c:
            z_then: R.Tensor((2, 3), dtype="float32") = R.add(w, w)
            z_else: R.Tensor((2, 3), dtype="float32") = z_then
        else:
            z_else: R.Tensor((2, 3), dtype="float32") = w
        z: R.Tensor((2, 3), dtype="float32") = z_else
    return z""",
    "choice of tuples and constants": """\
@R.function
def f(x: R.Tensor((2, 3), dtype="float32"), c: R.Tensor((), dtype="bool")) -> R.Tuple(R.Tensor((2, 3), dtype="float32"), R.Tensor((), dtype="float32")):
    if c:
        t: R.Tuple(R.Tensor((2, 3), dtype="float32"), R.Tensor((), dtype="float32")) = (x, R.const(1.0, "float32"))
    else:
        t_else: R.Tuple(R.Tensor((2, 3), dtype="float32"), R.Tensor((), dtype="float32")) = (x, R.const(2.0, "float32"))
        t: R.Tuple(R.Tensor((2, 3), dtype="float32"), R.Tensor((), dtype="float32")) = t_else
    return t""",
    "match_cast": """\
@R.function
def f(x: R.Tensor) -> R.Tensor(dtype="float32", ndim=2):
    p = T.int64()
    q = T.int64()
    y: R.Tensor((p, q), dtype="float32") = R.match_cast(x, R.Tensor((p, q), dtype="float32"))
    z: R.Tensor((p * q,), dtype="float32") = R.reshape(y, R.shape([p * q]))
    return y""",
    "scalars": """\
@R.function
def f(x: R.Tensor((2, 3), dtype="float32"), k: T.int64) -> R.Tuple(T.int64, R.Tensor((2, 3), dtype="float32"), R.Tuple(T.float64)):
    a: R.Tensor((), dtype="int32") = R.const(1, "int32")
    one: T.int64 = 1
    small: T.int8 = T.int8(3)
    yes: T.bool = True
    half: T.float64 = T.float64(0.5)
    e: T.int64 = k + 1
    d: R.Tuple(T.int64, R.Tensor((2, 3), dtype="float32"), R.Tuple(T.float64)) = (1, x, (T.float64(2.0),))
    s: R.Any = R.str("hello")
    ty: R.Any = R.dtype("float16")
    sh: R.Shape([2, 3]) = R.shape([2, 3])
    return d""",
    "void results are statements": """\
@R.function(pure=False)
def f(x: R.Tensor((2, 3), dtype="float32"), c: R.Tensor((), dtype="bool")) -> R.Tuple:
    R.print(x, format=R.str("{}"))
    R.assert_op(c, x, format=R.str("no {}"))
    u: R.Tuple = R.print(x, format=R.str("used"))
    return u""",
    "nested functions": """\
@R.function(pure=False)
def f(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
    @R.function
    def inner(y: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        z: R.Tensor((2, 3), dtype="float32") = R.add(y, x)
        return z

    @R.function(pure=False)
    def noisy(y: R.Tensor((2, 3), dtype="float32")) -> R.Tuple:
        gv: R.Tuple = R.print(y, format=R.str(""))
        return gv

    a: R.Tensor((2, 3), dtype="float32") = inner(x)
    noisy(a)
    return a""",
    "attributes": """\
@R.function(pure=False, private=True)
def main(x: R.Any) -> R.Any:
    R.func_attr({"Codegen": "dnnl", "Primitive": True, "num_input": 1})
    return x""",
}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_text_of_a_function(name):
    assert text_of(FUNCTIONS[name]) == FUNCTIONS[name]


SYMBOLIC = """\
# from typing import TypeVar
# from tvm.script import tirx as T
# from tvm.script import relax as R

m = TypeVar("m")
n = TypeVar("n")
@R.function
def f(x: R.Tensor((n, 4), dtype="float32"), s: R.Shape([m, "n * m"]), k: T.int64, z: R.Tensor(("n + k", "k"), dtype="float32")) -> R.Tensor((n, 4), dtype="float32"):
    y: R.Tensor((n, 4), dtype="float32") = R.add(x, x)
    w: R.Tensor((m * 2, k), dtype="float32") = R.zeros(R.shape([m * 2, k]), dtype="float32")
    return y"""


def test_symbols_are_type_variables_and_compound_dimensions_text():
    assert from_source(SYMBOLIC).script() == SYMBOLIC


def test_symbols_in_brackets():
    text = from_source(SYMBOLIC).script(extra_config={"script.use_pep695": True})
    assert text.startswith("# from __future__ import annotations\n")
    assert "def f[m, n](x: R.Tensor((n, 4)" in text
    assert "TypeVar" not in text


# ---- modules -------------------------------------------------------------------------------------

MODULE = """\
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    I.module_attrs({"foo": 10})
    ext = R.ExternFunc("sym")
    @R.function
    def before(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        cls = Module
        y: R.Tensor((2, 3), dtype="float32") = cls.sub(x)
        return y

    @R.function(private=True)
    def sub(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        return x

    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        cls = Module
        y: R.Tensor((2, 3), dtype="float32") = cls.before(x)
        return y"""


def test_text_of_a_module():
    mod = from_source(MODULE)
    assert mod.script() == MODULE
    plain = mod.script(module_alias="")
    assert "cls" not in plain
    assert "= Module.before(x)" in plain
    assert "class Other:" in mod.script(name="Other")
    assert "cls = Other" in mod.script(name="Other")


def test_prefix_and_hidden_types():
    mod = from_source(MODULE)
    text = mod.script(extra_config={"relax.prefix": "rx", "relax.show_all_ty": False})
    assert "# from tvm.script import relax as rx" in text
    assert "@rx.function" in text
    assert "        y = cls.sub(x)\n" in text
    assert "R." not in text


def test_hidden_types_keep_what_cannot_be_inferred():
    func = from_source(
        """
@R.function
def f(x: R.Tensor((2, 3), "float32"), c: R.Tensor((), "bool")):
    y: R.Tensor(ndim=2) = R.add(x, x)
    k: R.Prim("int32") = T.int32(3)
    one: R.Prim("int64") = 1
    z = R.add(x, x)
    return y
"""
    )
    text = func.script(extra_config={"relax.show_all_ty": False})
    assert "y: R.Tensor(ndim=2) = R.add(x, x)" in text
    assert "one: T.int64 = 1" in text
    assert "    z = R.add(x, x)" in text
    tvm.ir.assert_structural_equal(from_source(text), func)


def test_name_of_a_function_that_differs_from_its_symbol():
    func = from_source(MODULE)["sub"].with_attr("global_symbol", "sub")
    text = func.script(name="other")
    assert "def other(" in text
    assert 'R.func_attr({"global_symbol": "sub"})' in text


def test_underlined_places():
    func = from_source(FUNCTIONS["bindings"])
    target = func.body.blocks[0].bindings[0].value
    lines = func.script(obj_to_underline=[target]).split("\n")
    at = next(i for i, line in enumerate(lines) if "^" in line)
    begin, end = lines[at].index("^"), lines[at].rindex("^") + 1
    assert lines[at - 1][begin:end] == "R.add(x, x)"


def test_deep_choices_do_not_end_the_process():
    c = relax.Var("c", relax.TensorType((), "bool"))
    value = relax.Var("x", TY)
    for _ in range(20_000):
        value = relax.If(c, value, relax.SeqExpr([], relax.Var("y", TY)))
    func = relax.Function.create_empty([c], TY)
    with pytest.raises(RuntimeError, match="nested too deeply"):
        relax.VarBinding(relax.Var("z", TY), value).script()
    assert "def main" in func.script() or func.script()


def test_order_of_functions():
    from tvm.relax.op import add

    bb = relax.BlockBuilder()
    for name in ("zeta", "main", "alpha"):
        x = var()
        with bb.function(name, [x]):
            bb.emit_func_output(bb.emit(add(x, x)))
    text = bb.get().script()
    order = [text.index(f"def {name}") for name in ("alpha", "zeta", "main")]
    assert order == sorted(order)
    assert isinstance(bb.get(), IRModule)
