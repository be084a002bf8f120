# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""SimplifyInference: what it writes in a cheaper way."""

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.relax import op


def module(make, *shape):
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(list(shape), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            out = bb.emit_output(make(bb.emit, x))
        bb.emit_func_output(out)
    return bb.get()


def simplified(mod):
    passes = [relax.transform.Normalize(), relax.transform.SimplifyInference()]
    mod = tvm.ir.transform.Sequential(passes)(mod)
    relax.analysis.well_formed(mod)
    calls = [b.value for block in mod["main"].body.blocks for b in block.bindings]
    return [c.op.name.removeprefix("relax.") for c in calls if isinstance(c, tvm.ir.Call)]


@pytest.mark.parametrize("divisor", [3.0, -0.37, 2.0**100])
def test_a_division_by_a_constant_is_a_multiplication(divisor):
    mod = module(lambda emit, x: emit(op.divide(x, relax.const(divisor, "float32"))), 4, 5)
    assert simplified(mod) == ["multiply"]
    x = np.random.default_rng(0).standard_normal((4, 5)).astype("float32")
    vm = relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu())
    got = vm["main"](tvm.runtime.tensor(x)).numpy()
    np.testing.assert_allclose(got, x / np.float32(divisor), rtol=2e-7)


@pytest.mark.parametrize("divisor", [0.0, np.inf, np.nan, 3e38, 1e-39])
def test_reciprocals_that_are_no_normal_numbers_are_not_made(divisor):
    make = lambda emit, x: emit(op.divide(x, relax.const(np.float32(divisor))))  # noqa: E731
    assert simplified(module(make, 4)) == ["divide"]


def test_other_divisions_stay():
    def vectors(emit, x):
        return emit(op.divide(x, relax.const(np.array([1, 2, 3], np.float32))))

    assert simplified(module(vectors, 4, 3)) == ["divide"]
    assert simplified(module(lambda emit, x: emit(op.divide(relax.const(1.0), x)), 3)) == ["divide"]
