# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Questions about blocks and modules; inlining; programs nested too deeply."""

import pytest

import tvm
from tvm import relax
from tvm.ir import assert_structural_equal
from tvm.relax import analysis
from tvm.script import ir as I
from tvm.script import relax as R

TY = relax.TensorType((2, 3), "float32")


def names(variables):
    return [str(v.name if hasattr(v, "name") else v.name_hint) for v in variables]


def test_uses_of_each_variable():
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            a = R.add(x, x)
            b = R.multiply(a, x)
            c = R.subtract(b, a)
            R.output(c)
        return c

    chain = {str(k.name): names(v) for k, v in analysis.udchain(main.body.blocks[0]).items()}
    assert chain == {"x": ["a", "b"], "a": ["b", "c"], "b": ["c"], "c": []}


def test_groups_of_functions_that_call_each_other():
    @I.ir_module
    class Module:
        @R.function
        def alone(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            return x

        @R.function
        def self_call(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            return Module.self_call(x)

        @R.function
        def even(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            y = Module.alone(x)
            return Module.odd(y)

        @R.function
        def odd(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            return Module.even(x)

    groups = [names(g) for g in analysis.detect_recursion(Module)]
    assert sorted(groups) == [["even", "odd"], ["self_call"]]


def test_what_is_known_at_compile_time():
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), w: R.Tensor((2, 3), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            a = R.add(w, R.const(1.0))
            b = R.multiply(a, a)
            c = R.add(b, x)
            d = R.negative(c)
            R.output(d)
        return d

    assert names(analysis.computable_at_compile_time(main)) == ["a", "b"]


def test_dimensions_that_are_not_negative():
    n = tvm.tirx.Var("n", "int64")
    ty = relax.TupleType([relax.TensorType((n, n + 1, 4)), relax.ShapeType([n])])
    found = analysis.collect_non_negative_expressions(ty)
    assert len(found) == 2 and found[0].same_as(n)
    assert_structural_equal(found[1], n + 1)


@pytest.mark.parametrize("dataflow", [False, True])
def test_inlined_functions(dataflow):
    @I.ir_module
    class Module:
        @R.function(private=True)
        def twice(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
            y = R.add(x, x)
            z = Module.shifted(y)
            return z

        @R.function(private=True)
        def shifted(x: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):
            k = T_int64()
            y = R.match_cast(x, R.Tensor((k,), "float32"))
            z = R.add(y, R.const(1.0))
            return R.match_cast_back(z) if False else z

        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            a = Module.twice(x)
            b = Module.twice(a)
            return b

    mod = relax.transform.ConvertToDataflow()(Module) if dataflow else Module
    functions = {"twice": mod["twice"], mod.get_global_var("shifted"): mod["shifted"]}
    func = mod["main"].inline_functions(functions)
    assert len(analysis.all_global_vars(func)) == 0
    analysis.well_formed(func)
    values = [b.value for block in func.body.blocks for b in block.bindings]
    calls = [str(v.op.name) for v in values if isinstance(v, relax.Call)]
    assert calls == ["relax.add"] * 4
    symbols = [
        b.ty.shape.values[0]
        for block in func.body.blocks
        for b in block.bindings
        if isinstance(b, relax.MatchCast)
    ]
    assert len(symbols) == 2 and not symbols[0].same_as(symbols[1])


def T_int64():  # noqa: N802
    return tvm.tirx.Var("", "int64")


def test_recursive_functions_cannot_be_inlined():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            return Module.main(x)

    with pytest.raises(ValueError, match="calls itself"):
        Module["main"].inline_functions({"main": Module["main"]})


def test_kernel_calls_that_name_their_gradient():
    from tvm import te

    def plus_one(a):
        return te.compute(a.shape, lambda *i: a(*i) + tvm.tirx.const(1.0, "float32"))

    x = relax.Var("x", TY)
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        call = bb.call_te_with_grad(plus_one, x, te_grad_name="grad", te_grad_kwargs={"k": 1})
        bb.emit_func_output(bb.emit(call))
    value = bb.get()["main"].body.blocks[0].bindings[0].value
    assert str(value.op.name) == "relax.call_tir_with_grad"
    assert str(value.attrs.te_grad_name) == "grad" and value.attrs.te_grad_kwargs["k"] == 1
    assert value.ty == TY


def test_deep_nesting_is_an_error_and_not_a_crash():
    x = relax.Var("x", TY)
    value = x
    for _ in range(200_000):
        value = relax.op.negative(value)
    bb = relax.BlockBuilder()
    with pytest.raises(RuntimeError, match="deep"), bb.function("main", [x]):
        bb.emit(value)
    with pytest.raises(RuntimeError, match="deep"):
        value.script()

    flag = relax.Var("c", relax.TensorType((), "bool"))
    value = x
    for _ in range(20_000):
        value = relax.If(flag, value, x)
    binding = relax.VarBinding(relax.Var("y", TY), value)
    func = relax.Function([x, flag], relax.SeqExpr([relax.BindingBlock([binding])], x), TY)
    assert not analysis.check_well_formed(func)
    with pytest.raises(RuntimeError, match="deep"):
        func.script()
