# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Each rule of a well-formed program, by the smallest program that breaks it."""

import pytest

import tvm
from tvm import ir, relax, tirx
from tvm.ir import TupleType
from tvm.script import from_source

T4 = relax.TensorType([4], "float32")
ANY_VECTOR = relax.TensorType(None, "float32", ndim=1)


def fn(blocks, body, *params, ret=T4, pure=True, **attrs):
    attrs = ir.make_node("ir.DictAttrs", **attrs) if attrs else None
    return relax.Function(list(params), relax.SeqExpr(blocks, body), ret, pure, attrs)


def call(name, *args, ty=T4, ty_args=None):
    return ir.Call(ir.Op.get(name), list(args), None, ty_args, ret_ty=ty)


def block(*bindings):
    return relax.BindingBlock([relax.VarBinding(var, value) for var, value in bindings])


def dataflow(*bindings):
    return relax.DataflowBlock([relax.VarBinding(var, value) for var, value in bindings])


def kernel(*sizes):
    return tirx.PrimFunc([tirx.decl_buffer((n,), "float32") for n in sizes], tirx.Evaluate(0))


def with_kernel(sizes, args, out=T4, param=T4):
    """A module whose function calls a kernel; `args` makes the arguments of the parameter."""
    mod = tvm.IRModule({"k": kernel(*sizes)})
    x, y = relax.Var("x", param), relax.Var("y", out)
    value = call("relax.call_tir", mod.get_global_var("k"), args(x), ty=out, ty_args=[out])
    mod["main"] = fn([block((y, value))], y, x, ret=out)
    return mod


X = relax.Var("x", T4)
Y = relax.Var("y", T4)
D = relax.DataflowVar("d", T4)
N = tirx.Var("n", "int64")
VECTOR_N = relax.TensorType([N], "float32")
VOID = relax.Var("v", TupleType([]))
SHAPE = relax.DataflowVar("s", relax.ShapeType(ndim=1))
EXP = "relax.exp"
PRINT = call("relax.print", relax.StringImm("a"), ty=TupleType([]))

VIOLATIONS = {
    "expression without type": (lambda: fn([], relax.Var("v"), X), TypeError, "is missing"),
    "callee": (
        lambda: fn([block((Y, ir.Call(ir.Call(X, [X], ret_ty=T4), [X], ret_ty=T4)))], Y, X),
        TypeError,
        "callee",
    ),
    "operand of TupleGetItem": (
        lambda: fn(
            [block((Y, relax.TupleGetItem(call("relax.split", X, ty=TupleType([T4])), 0)))], Y, X
        ),
        TypeError,
        "operand of TupleGetItem",
    ),
    "body": (lambda: fn([], call(EXP, X), X), TypeError, "body of a SeqExpr"),
    "annotation of a call": (
        lambda: fn(
            [
                block(
                    (relax.Var("y", ANY_VECTOR), call(EXP, X, ty=relax.TensorType([5], "float32")))
                )
            ],
            X,
            X,
        ),
        TypeError,
        "inferred type",
    ),
    "inference": (
        lambda: fn([block((Y, call("relax.add", X, relax.const([1.0, 2.0], "float32"))))], Y, X),
        TypeError,
        "cannot be inferred",
    ),
    "unknown function": (
        lambda: tvm.IRModule(
            {"f": fn([block((Y, ir.Call(ir.GlobalVar("g"), [X], ret_ty=T4)))], Y, X)}
        ),
        ValueError,
        "GlobalVar g",
    ),
    "global symbol": (
        lambda: tvm.IRModule({"a": fn([], X, X, global_symbol="b")}),
        ValueError,
        "Name in GlobalVar is not equal to name in gsymbol",
    ),
    "undefined": (lambda: fn([], Y, X), ValueError, "Var y is not defined."),
    "defined twice": (
        lambda: fn([block((Y, X), (Y, X))], Y, X),
        ValueError,
        "Var y is defined more than once.",
    ),
    "parameter twice": (lambda: fn([], X, X, X), ValueError, "more than once"),
    "variable of two functions": (
        lambda: tvm.IRModule({"a": fn([], X, X), "b": fn([], X, X)}),
        ValueError,
        "more than one function",
    ),
    "symbol of two functions": (
        lambda: tvm.IRModule(
            {
                name: fn([], var, var, ret=VECTOR_N)
                for name, var in (("a", relax.Var("p", VECTOR_N)), ("b", relax.Var("q", VECTOR_N)))
            }
        ),
        ValueError,
        "Symbolic variable n",
    ),
    "undefined symbol of a result": (
        lambda: fn([], X, X, ret=VECTOR_N),
        ValueError,
        "Symbolic Var n is not defined",
    ),
    "undefined symbol of a cast": (
        lambda: fn(
            [relax.BindingBlock([relax.MatchCast(Y, X, relax.TensorType([N + 1], "float32"))])],
            Y,
            X,
        ),
        ValueError,
        "Symbolic Var n is not defined",
    ),
    "dataflow variable used outside": (
        lambda: fn([dataflow((D, X))], D, X),
        ValueError,
        "outside of a DataflowBlock",
    ),
    "dataflow variable defined outside": (
        lambda: fn([block((D, X))], X, X),
        ValueError,
        "defined outside of a DataflowBlock",
    ),
    "undefined dataflow variable": (
        lambda: fn([dataflow((Y, D))], Y, X),
        ValueError,
        "DataflowVar d is not defined",
    ),
    "dataflow variable defined twice": (
        lambda: fn([dataflow((D, X), (D, X))], X, X),
        ValueError,
        "DataflowVar d is defined more than once",
    ),
    "dataflow variable as a parameter": (
        lambda: fn([], D, D),
        ValueError,
        "as a function parameter",
    ),
    "dataflow variable in a type": (
        lambda: fn(
            [
                relax.DataflowBlock(
                    [
                        relax.VarBinding(SHAPE, relax.ShapeExpr([4])),
                        relax.MatchCast(
                            relax.Var("y", TupleType([relax.TensorType(SHAPE, "float32")])),
                            relax.Tuple([X]),
                            TupleType([relax.TensorType(SHAPE, "float32")]),
                        ),
                    ]
                )
            ],
            X,
            X,
        ),
        ValueError,
        "inside the type of y",
    ),
    "field of a tuple": (
        lambda: fn([block((relax.Var("t", TupleType([T4])), relax.Tuple([call(EXP, X)])))], X, X),
        ValueError,
        "Tuple is not in ANF form, field 0",
    ),
    "argument of a call": (
        lambda: fn([block((Y, call(EXP, call(EXP, X))))], Y, X),
        ValueError,
        "Call is not in ANF form, arg 0",
    ),
    "sequence": (
        lambda: fn([block((Y, relax.SeqExpr([], X)))], Y, X),
        ValueError,
        "SeqExpr may only",
    ),
    "effect in a dataflow block": (
        lambda: fn([dataflow((VOID, PRINT))], X, X, pure=False),
        ValueError,
        "in a DataflowBlock",
    ),
    "effect in a pure function": (
        lambda: fn([block((VOID, PRINT))], X, X),
        ValueError,
        "marked pure",
    ),
    "forced purity": (
        lambda: fn([], X, X, pure=False, **{"relax.force_pure": True}),
        ValueError,
        "must be pure",
    ),
    "kernel as a value": (
        lambda: fn([block((relax.Var("f", relax.AnyType()), kernel(4)))], X, X),
        ValueError,
        "Inline PrimFunc is disallowed in Relax IR.",
    ),
    "normal form": (
        lambda: with_kernel((4, 4), lambda t: t, param=TupleType([T4])),
        ValueError,
        "normal form",
    ),
    "too many arguments of a kernel": (
        lambda: with_kernel((4, 4), lambda x: relax.Tuple([x, x])),
        ValueError,
        "2 inputs and 1 outputs",
    ),
    "too few arguments of a kernel": (
        lambda: with_kernel((4, 4), lambda x: relax.Tuple([])),
        ValueError,
        "0 inputs and 1 outputs",
    ),
    "argument of a kernel": (
        lambda: with_kernel((5, 4), lambda x: relax.Tuple([x])),
        TypeError,
        "The arguments for R.call_tir must be compatible with the PrimFunc",
    ),
    "output of a kernel": (
        lambda: with_kernel((4, 5), lambda x: relax.Tuple([x])),
        TypeError,
        "The `out_ty` argument for R.call_tir must be compatible with the PrimFunc",
    ),
    "type of a kernel's output": (
        lambda: with_kernel((4, 4), lambda x: relax.Tuple([x]), out=relax.TensorType([4], "int32")),
        TypeError,
        "The `out_ty` argument",
    ),
}


@pytest.mark.parametrize("rule", VIOLATIONS)
def test_violation(rule):
    make, kind, text = VIOLATIONS[rule]
    program = make()
    with pytest.raises(kind) as error:
        relax.analysis.well_formed(program)
    assert text in str(error.value)
    assert not relax.analysis.check_well_formed(program)


def test_narrower_variable():
    wide = relax.Var("w", ANY_VECTOR)
    with pytest.raises(TypeError, match="variable y has type"):
        relax.analysis.well_formed(fn([block((Y, wide))], Y, wide))
    # Without types, and the other way round, it is a program.
    relax.analysis.well_formed(fn([block((Y, wide))], Y, wide), check_ty=False)
    wide_y = relax.Var("y", ANY_VECTOR)
    relax.analysis.well_formed(fn([block((wide_y, X))], wide_y, X, ret=ANY_VECTOR))


BRANCHES = """
@R.function(check_well_formed=False, pure=False)
def f(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")):
    if c:
        y = R.exp(x)
    else:
        y = R.negative(x)
    return y
"""


def test_branch_rules():
    func = from_source(BRANCHES)
    relax.analysis.well_formed(func)
    (found,) = func.body.blocks
    binding = found.bindings[0]
    inner = binding.value.true_branch.blocks[0].bindings[0].var
    leaked = relax.Function(func.params, relax.SeqExpr([found], inner), T4)
    with pytest.raises(ValueError, match="is not defined"):
        relax.analysis.well_formed(leaked)
    in_dataflow = relax.SeqExpr([relax.DataflowBlock([binding])], binding.var)
    with pytest.raises(ValueError, match="If nodes are not allowed in a DataflowBlock"):
        relax.analysis.well_formed(relax.Function(func.params, in_dataflow, T4))


@pytest.mark.parametrize(
    "sizes, args, out, param",
    [
        ((4, 4), lambda x: relax.Tuple([x]), T4, T4),
        ((4, 4), lambda x: relax.Tuple([x]), T4, ANY_VECTOR),  # checked at run time
        ((4,), lambda x: relax.Tuple([]), T4, T4),
    ],
)
def test_calls_of_kernels(sizes, args, out, param):
    relax.analysis.well_formed(with_kernel(sizes, args, out, param))
