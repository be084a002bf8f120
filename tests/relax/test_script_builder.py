# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Graph-level functions built by frames, without text."""

import pytest

import tvm
from tvm import relax
from tvm.ir import assert_structural_equal
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import ir as I
from tvm.script.ir_builder import relax as R

TY = relax.TensorType((2, 3), "float32")


def built(fill, **options):
    with IRBuilder() as ib:
        with R.function(**options) as frame:
            fill(frame)
    return ib.get()


def test_function_with_a_dataflow_block():
    def fill(frame):
        R.func_name("foo")
        R.func_attr({"Primitive": True})
        x = R.arg("x", TY)
        y = R.arg("y", TY)
        R.func_ret_ty(TY)
        a = R.emit(R.add(x, y))
        IRBuilder.name("a", a)
        with R.dataflow() as block:
            b = R.emit(R.multiply(a, y))
            c = R.emit(R.negative(b))
            IRBuilder.name("c", c)
            assert isinstance(c, relax.DataflowVar)
            R.output(c)
        (c,) = block.output_vars
        assert not isinstance(c, relax.DataflowVar)
        R.func_ret_value(c)

    func = built(fill)
    blocks = func.body.blocks
    assert [type(b).__name__ for b in blocks] == ["BindingBlock", "DataflowBlock"]
    assert str(func.attrs["global_symbol"]) == "foo"
    assert bool(func.attrs["Primitive"])
    assert func.body.body.same_as(blocks[1].bindings[1].var)
    relax.analysis.well_formed(func)


def test_result_may_be_nested():
    def fill(frame):
        x = R.arg("x", TY)
        R.func_ret_value((R.add(R.negative(x), x), 1))

    func = built(fill, is_private=True)
    assert [str(b.value.op.name) for b in func.body.blocks[0].bindings] == [
        "relax.negative",
        "relax.add",
    ]
    assert isinstance(func.body.body, relax.Tuple)
    assert "global_symbol" not in func.attrs


def test_choice():
    def fill(frame):
        R.func_name("f")
        x = R.arg("x", TY)
        c = R.arg("c", relax.TensorType((), "bool"))
        with R.If(c) as choice:
            with R.Then():
                IRBuilder.name("y", R.emit(R.add(x, x)))
            with R.Else():
                IRBuilder.name("y", R.emit(x))
        R.func_ret_value(choice.var)

    func = built(fill)
    value = func.body.blocks[0].bindings[0].value
    assert isinstance(value, relax.If)
    assert value.false_branch.body.same_as(func.params[0])
    assert value.ty == TY


def test_bindings_of_other_kinds():
    n = tvm.tirx.Var("n", "int64")

    def fill(frame):
        R.func_name("f")
        x = R.arg("x", relax.TensorType(None, None))
        cast = R.emit_match_cast(x, relax.TensorType((n, 3), "float32"))
        own = relax.Var("own")
        same = R.emit_var_binding(relax.VarBinding(own, R.add(cast, cast)))
        assert same.same_as(own) and own.ty == cast.ty
        wide = R.emit(own, relax.TensorType(None, "float32", ndim=2))
        assert wide.ty.ndim == 2 and wide.ty.shape is None
        typed = R.emit(R.emit_with_ty("relax.call_pure_packed", [relax.ExternFunc("f"), x], TY))
        assert typed.ty == TY
        R.func_ret_value(wide)

    func = built(fill)
    assert [type(b).__name__ for b in func.body.blocks[0].bindings] == [
        "MatchCast",
        "VarBinding",
        "VarBinding",
        "VarBinding",
    ]


def test_module():
    with IRBuilder() as ib:
        with I.ir_module():
            foo = I.decl_function("foo", relax.Function.create_empty([relax.Var("x", TY)], TY))
            with R.function():
                R.func_name("bar")
                x = R.arg("x", TY)
                R.func_ret_value(R.emit(foo(x)))
            with R.function():
                R.func_name("foo")
                x = R.arg("x", TY)
                R.func_ret_value(R.emit(R.negative(x)))
    mod = ib.get()
    relax.analysis.well_formed(mod)
    call = mod["bar"].body.blocks[0].bindings[0].value
    assert call.op.same_as(mod.get_global_var("foo")) and call.ty == TY


def test_equals_what_the_block_builder_makes():
    def fill(frame):
        R.func_name("main")
        x = R.arg("x", TY)
        R.func_ret_value(R.emit(R.add(x, x)))

    x = relax.Var("x", TY)
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(relax.op.add(x, x)))
    assert_structural_equal(built(fill), bb.get()["main"])


def _no_result(frame):
    R.arg("x", TY)


def _named_twice(frame):
    R.func_name("a")
    R.func_name("b")


def _branch_outside(frame):
    with R.Then():
        pass


def _two_results(frame):
    x = R.arg("x", TY)
    R.func_ret_value(x)
    R.func_ret_value(x)


def _foreign_output(frame):
    x = R.arg("x", TY)
    with R.dataflow():
        R.emit(x)
        R.output(x)


def _choice_in_dataflow(frame):
    c = R.arg("c", relax.TensorType((), "bool"))
    with R.dataflow():
        with R.If(c):
            pass


@pytest.mark.parametrize(
    "fill,message",
    [
        (_no_result, "must have a return value"),
        (_named_twice, "Duplicate function name"),
        (_branch_outside, "must be directly inside of an R.If"),
        (_two_results, "do not support multiple return statements"),
        (_foreign_output, "not emitted by this dataflow block"),
        (_choice_in_dataflow, "must not be inside of a dataflow block"),
    ],
)
def test_refused(fill, message):
    with pytest.raises(ValueError, match=message):
        built(fill)


def test_outside_of_a_function():
    with pytest.raises(ValueError, match="No builder in current scope"):
        R.emit(relax.Var("x", TY))
    with pytest.raises(ValueError, match="outside of a relax function"), IRBuilder():
        R.emit(relax.Var("x", TY))
