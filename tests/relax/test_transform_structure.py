# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Passes that change which functions, blocks and parameters there are."""

import numpy as np
import pytest

import tvm
import tvm_ffi
from tvm import relax
from tvm.relax import transform
from tvm.tirx import Var as SymVar


def tensor(*shape, dtype="float32"):
    return relax.TensorType(list(shape), dtype)


def param(name, *shape, dtype="float32"):
    return relax.Var(name, tensor(*shape, dtype=dtype))


def rand(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def run(mod, *inputs, func="main", mode="bytecode"):
    vm = relax.VirtualMachine(relax.build(mod, "llvm", exec_mode=mode), tvm.cpu())
    args = [tvm.runtime.tensor(x) if isinstance(x, np.ndarray) else x for x in inputs]
    return vm[func](*args)


def blocks_of(func):
    return [
        (isinstance(b, relax.DataflowBlock), [str(x.var.name) for x in b.bindings])
        for b in func.body.blocks
    ]


# ---- ConvertToDataflow


def impure(x):
    return relax.Call(relax.ExternFunc("test.transform.see"), [x], None, [tensor(4)])


def plain_module(effect_in_the_middle=False):
    bb = relax.BlockBuilder()
    x = param("x", 4)
    with bb.function("main", [x], pure=False):
        a = bb.emit(relax.op.exp(x), "a")
        b = bb.emit(relax.op.negative(a), "b")
        if effect_in_the_middle:
            b = bb.emit(impure(b), "seen")
        c = bb.emit(relax.op.add(b, b), "c")
        d = bb.emit(relax.op.sqrt(c), "d")
        bb.emit_func_output(d)
    return bb.get()


def test_a_pure_body_is_one_block():
    mod = transform.ConvertToDataflow()(plain_module())
    relax.analysis.well_formed(mod)
    ((dataflow, names),) = blocks_of(mod["main"])
    assert dataflow and len(names) == 4
    last = mod["main"].body.blocks[0].bindings[-1].var
    assert not isinstance(last, relax.DataflowVar)
    assert isinstance(mod["main"].body.blocks[0].bindings[0].var, relax.DataflowVar)


def test_effects_stay_between_blocks():
    mod = transform.ConvertToDataflow()(plain_module(effect_in_the_middle=True))
    relax.analysis.well_formed(mod)
    assert [d for d, _ in blocks_of(mod["main"])] == [True, False, True]
    tvm_ffi.register_global_func("test.transform.see", lambda x: x, override=True)
    out = run(mod, np.ones(4, "float32"))
    assert np.isnan(out.numpy()).all()  # the root of a negative number


def test_short_runs_stay():
    mod = plain_module(effect_in_the_middle=True)
    tvm.ir.assert_structural_equal(transform.ConvertToDataflow(min_size=3)(mod), mod)
    with pytest.raises(ValueError, match="min_size must be at least 1, got 0"):
        transform.ConvertToDataflow(min_size=0)


def test_to_non_dataflow_undoes_it():
    mod = transform.ConvertToDataflow()(plain_module())
    again = transform.ToNonDataflow()(mod)
    tvm.ir.assert_structural_equal(again, plain_module())


# ---- LambdaLift


def local_function(params, make):
    """A function expression; make(emit, *params) gives its result."""
    bindings = []

    def emit(expr):
        var = relax.Var(f"v{len(bindings)}", ty_of(expr, params))
        bindings.append(relax.VarBinding(var, expr))
        return var

    out = make(emit, *params)
    body = relax.SeqExpr([relax.BindingBlock(bindings)], out)
    return relax.Function(params, body, params[0].ty)


def ty_of(_expr, params):
    return params[0].ty


def with_local(captures, symbolic=False):
    n = SymVar("n", "int64") if symbolic else 4
    bb = relax.BlockBuilder()
    x, y = param("x", n), param("y", n)
    a = param("a", n)
    inner = local_function([a], lambda emit, a: emit(relax.op.subtract(a, x if captures else a)))
    with bb.function("main", [x, y]):
        f = bb.emit(inner, "inner")
        out = bb.emit(relax.Call(f, [y]))
        bb.emit_func_output(bb.emit(relax.op.add(out, out)))
    return bb.get()


def test_a_function_without_captures_is_called_directly():
    mod = transform.LambdaLift()(with_local(captures=False))
    relax.analysis.well_formed(mod)
    lifted = mod["main_inner"]
    assert len(lifted.params) == 1 and "global_symbol" not in lifted.attrs
    call = mod["main"].body.blocks[0].bindings[0].value
    assert call.op.name_hint == "main_inner"
    assert not any(isinstance(b.value, relax.Function) for b in mod["main"].body.blocks[0].bindings)


@pytest.mark.parametrize("mode", ["bytecode", "compiled"])
@pytest.mark.parametrize("symbolic", [False, True])
def test_captured_values_travel_in_a_closure(symbolic, mode):
    mod = transform.LambdaLift()(with_local(captures=True, symbolic=symbolic))
    relax.analysis.well_formed(mod)
    assert len(mod["main_inner"].params) == 2
    ops = [b.value.op.name for b in mod["main"].body.blocks[0].bindings]
    assert ops[:2] == ["relax.make_closure", "relax.invoke_pure_closure"]
    x, y = rand(4), rand(4, seed=1)
    np.testing.assert_allclose(run(mod, x, y, mode=mode).numpy(), 2 * (y - x), rtol=1e-6)


def test_lifting_changes_nothing_without_local_functions():
    mod = plain_module()
    assert transform.LambdaLift()(mod).same_as(mod) or tvm.ir.structural_equal(
        transform.LambdaLift()(mod), mod
    )


# ---- RemoveUnusedParameters


def calling(private=True, as_value=False):
    bb = relax.BlockBuilder()
    a, b, c = param("a", 4), param("b", 4), param("c", 4)
    with bb.function("helper", [a, b, c], private=private):
        gv = bb.emit_func_output(bb.emit(relax.op.subtract(c, a)))
    x, y, z = param("x", 4), param("y", 4), param("z", 4)
    with bb.function("main", [x, y, z]):
        out = bb.emit(relax.Call(gv, [x, y, z]))
        if as_value:
            bb.emit(relax.op.make_closure(gv, []))
        bb.emit_func_output(out)
    return bb.get()


def test_unused_parameters_of_private_functions_go():
    mod = transform.RemoveUnusedParameters()(calling())
    relax.analysis.well_formed(mod)
    assert [str(p.name) for p in mod["helper"].params] == ["a", "c"]
    x, y, z = rand(4), rand(4, seed=1), rand(4, seed=2)
    np.testing.assert_allclose(run(mod, x, y, z).numpy(), z - x, rtol=1e-6)


@pytest.mark.parametrize("kw", [{"private": False}, {"as_value": True}])
def test_signatures_that_others_rely_on_stay(kw):
    mod = calling(**kw)
    assert len(transform.RemoveUnusedParameters()(mod)["helper"].params) == 3


def test_a_parameter_that_defines_a_symbol_stays():
    n = SymVar("n", "int64")
    bb = relax.BlockBuilder()
    s, u = relax.Var("s", relax.ShapeType([n])), param("u", 4)
    with bb.function("helper", [s, u], private=True):
        gv = bb.emit_func_output(bb.emit(relax.op.zeros(relax.ShapeExpr([n]), "float32")))
    m = SymVar("m", "int64")
    x, y = param("x", m), param("y", 4)
    with bb.function("main", [x, y]):
        bb.emit_func_output(bb.emit(relax.Call(gv, [relax.ShapeExpr([m]), y])))
    mod = transform.RemoveUnusedParameters()(bb.get())
    assert [str(p.name) for p in mod["helper"].params] == ["s"]
    assert run(mod, rand(3), rand(4)).numpy().shape == (3,)


# ---- LiftTransformParams


def weighted(stop=False):
    bb = relax.BlockBuilder()
    x, w, b = param("x", 2, 3), param("w", 4, 3), param("b", 4)
    with bb.function("main", [x, w, b], attrs={"num_input": 1}):
        with bb.dataflow():
            wt = bb.emit(relax.op.permute_dims(w))
            if stop:
                wt = bb.emit(relax.op.builtin.stop_lift_params(wt))
            scaled = bb.emit(relax.op.multiply(wt, relax.const(2.0)))
            y = bb.emit(relax.op.matmul(x, scaled))
            out = bb.emit_output(relax.op.add(y, b))
        bb.emit_func_output(out)
    return bb.get()


@pytest.mark.parametrize("stop", [False, True])
def test_weights_are_prepared_ahead(stop):
    mod = transform.LiftTransformParams()(weighted(stop))
    relax.analysis.well_formed(mod)
    assert len(mod["main"].params) == 3
    assert [int(d) for d in mod["main"].params[2].ty.shape] == [3, 4]
    prepare = mod["main_transform_params"]
    assert int(prepare.attrs["num_input"]) == 0
    remaining = [b.value.op.name for b in mod["main"].body.blocks[0].bindings]
    expected = ["relax.matmul", "relax.add"]
    if stop:
        expected = ["relax.builtin.stop_lift_params", "relax.multiply", *expected]
    assert remaining == expected
    x, w, b = rand(2, 3), rand(4, 3, seed=1), rand(4, seed=2)
    vm = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    ready = vm["main_transform_params"]((tvm.runtime.tensor(w), tvm.runtime.tensor(b)))
    out = vm["main"](tvm.runtime.tensor(x), *ready)
    np.testing.assert_allclose(out.numpy(), x @ (2 * w.T) + b, rtol=1e-5, atol=1e-6)


def test_functions_without_weights_are_left():
    mod = plain_module()
    tvm.ir.assert_structural_equal(transform.LiftTransformParams()(mod), mod)


def test_a_shared_transform_is_refused():
    with pytest.raises(ValueError, match="shared by several functions is not supported"):
        transform.LiftTransformParams(shared_transform=True)
