# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Normal form, names, scopes and error kinds of the block builder."""

import pytest

from tvm import relax


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
