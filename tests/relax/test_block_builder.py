# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Normal form, names, scopes and error kinds of the block builder."""

import pytest

import tvm
from tvm import relax, te


def _x(shape=(2, 3), dtype="float32", name="x"):
    return relax.Var(name, relax.TensorType(shape, dtype))


def test_nested_calls_become_bindings():
    bb = relax.BlockBuilder()
    x = _x()
    with bb.function("main", [x]):
        with bb.dataflow():
            out = bb.emit_output(relax.op.add(relax.op.exp(x), relax.op.exp(x)))
        bb.emit_func_output(out)
    func = bb.get()["main"]
    bindings = func.body.blocks[0].bindings
    assert [str(b.var.name) for b in bindings] == ["lv", "lv1", "gv"]
    assert isinstance(bindings[0].var, relax.DataflowVar)
    assert not isinstance(bindings[2].var, relax.DataflowVar)
    relax.analysis.well_formed(bb.get())


def test_types_are_inferred():
    bb = relax.BlockBuilder()
    with bb.testing_scope([]):
        call = bb.normalize(relax.op.matmul(_x((4, 3)), _x((3, 5), name="y")))
    assert call.ty == relax.TensorType((4, 5), "float32")


def test_missing_output():
    bb = relax.BlockBuilder()
    with pytest.raises(RuntimeError, match="emit_func_output must be called"):
        with bb.function("main", [_x()]):
            bb.emit(relax.op.exp(_x()))


def test_output_twice():
    bb = relax.BlockBuilder()
    x = _x()
    with pytest.raises(RuntimeError, match="exactly once"):
        with bb.function("main", [x]):
            bb.emit_func_output(x)
            bb.emit_func_output(x)


def test_parameters_must_be_variables():
    bb = relax.BlockBuilder()
    with pytest.raises(TypeError):
        with bb.function("main", [relax.const(1)]):
            pass


def test_impossible_cast():
    bb = relax.BlockBuilder()
    x = _x()
    with pytest.raises(RuntimeError, match="impossible to match cast"):
        with bb.function("main", [x]):
            bb.match_cast(x, relax.TensorType((2, 3), "int32"))


def test_number_operands_need_const():
    with pytest.raises(TypeError, match="Please convert"):
        _x() + 1


def test_attribute_defaults_and_keywords():
    call = relax.op.nn.conv2d(_x((1, 3, 8, 8)), _x((4, 3, 3, 3), name="w"), padding=(1, 1))
    assert list(call.attrs.padding) == [1, 1, 1, 1]
    assert list(call.attrs.strides) == [1, 1]
    assert call.attrs.out_layout == "NCHW"


def test_equal_functions_are_shared():
    bb = relax.BlockBuilder()
    x = _x()
    f = relax.Function([x], x, x.ty, attrs={})
    y = _x(name="y")
    g = relax.Function([y], y, y.ty, attrs={})
    assert bb.add_func(f, "f").same_as(bb.add_func(g, "g"))


def test_well_formed_reports_undefined_variables():
    x, y = _x(), _x(name="y")
    func = relax.Function([x], y, y.ty)
    with pytest.raises(ValueError, match="not defined"):
        relax.analysis.well_formed(func)
    assert not relax.analysis.check_well_formed(func)


@pytest.mark.parametrize("private", [False, True])
def test_a_variable_may_have_the_name_of_its_function(private):
    bb = relax.BlockBuilder()
    x = _x(name="main")
    with bb.function("main", [x], private=private):
        y = bb.emit(relax.op.exp(x), name_hint="main")
        gvar = bb.emit_func_output(bb.emit(relax.op.exp(y), name_hint="main"))
    assert gvar.name_hint == "main"
    relax.analysis.well_formed(bb.get())
    again = tvm.script.from_source(bb.get().script())
    tvm.ir.assert_structural_equal(again, bb.get())


def test_two_public_functions_need_two_names():
    bb = relax.BlockBuilder()
    for op in (relax.op.exp, relax.op.exp):  # the same function twice is one function
        x = _x()
        with bb.function("main", [x]):
            gvar = bb.emit_func_output(bb.emit(op(x)))
    assert gvar.name_hint == "main"
    with pytest.raises(ValueError, match="'main' would become 'main1', which differs from"):
        with bb.function("main", [x]):
            bb.emit_func_output(bb.emit(relax.op.negative(x)))
    with pytest.raises(ValueError, match="'a.b' would become 'a_b'"):
        with bb.function("a.b", [x]):
            bb.emit_func_output(bb.emit(relax.op.negative(x)))


def test_kernels_keep_apart_from_functions_and_from_each_other():
    def scale(factor):
        def add(a):
            return te.compute(a.shape, lambda i, j: a[i, j] * factor)

        return add

    bb = relax.BlockBuilder()
    x = _x()
    with bb.function("add", [x], private=True):
        y = bb.emit_te(scale(2.0), x)
        bb.emit_func_output(bb.emit_te(scale(3.0), y))
    names = sorted(gv.name_hint for gv in bb.get().get_global_vars())
    assert names == ["add", "add1", "add2"]
    relax.analysis.well_formed(bb.get())
    assert bb.get_unique_name("add1") not in names
