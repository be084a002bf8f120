# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Products in float16; results keep their type and are close to those in float32."""

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.relax.transform import ToMixedPrecision


def param(name, *shape, dtype="float32"):
    return relax.Var(name, relax.TensorType(list(shape), dtype))


def rand(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def module(params, make):
    bb = relax.BlockBuilder()
    with bb.function("main", params):
        with bb.dataflow():
            out = bb.emit_output(make(bb, *params))
        bb.emit_func_output(out)
    return bb.get()


def dtypes(mod):
    """(operator, dtype of its result) of each binding."""
    return [
        (b.value.op.name.removeprefix("relax."), str(b.var.ty.dtype).removeprefix("T."))
        for b in mod["main"].body.blocks[0].bindings
    ]


def run(mod, *inputs):
    vm = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    return vm["main"](*[tvm.runtime.tensor(x) for x in inputs]).numpy()


def network(bb, x, w):
    y = bb.emit(relax.op.matmul(x, w))
    y = bb.emit(relax.op.nn.relu(y))
    y = bb.emit(relax.op.matmul(y, relax.const(rand(4, 5, seed=7))))
    return relax.op.nn.softmax(y, axis=-1)


PARAMS = [("x", 2, 3), ("w", 3, 4)]


@pytest.mark.parametrize("out_dtype", ["float32", "float16"])
def test_results_are_close(out_dtype):
    before = module([param(*p) for p in PARAMS], network)
    after = ToMixedPrecision(out_dtype)(before)
    relax.analysis.well_formed(after)
    assert str(after["main"].ret_ty.dtype).endswith("float32")
    x, w = rand(2, 3), rand(3, 4, seed=1)
    np.testing.assert_allclose(run(after, x, w), run(before, x, w), rtol=2e-2, atol=2e-3)


def test_what_follows_a_half_product_is_half():
    found = dtypes(ToMixedPrecision("float16")(module([param(*p) for p in PARAMS], network)))
    assert ("nn.relu", "float16") in found
    assert found.count(("matmul", "float16")) == 2
    assert found[-1] == ("nn.softmax", "float32")


def test_single_products_are_followed_in_single():
    found = dtypes(ToMixedPrecision()(module([param(*p) for p in PARAMS], network)))
    assert ("nn.relu", "float32") in found
    assert found.count(("matmul", "float32")) == 2


def test_constants_are_wrapped():
    found = dtypes(ToMixedPrecision()(module([param(*p) for p in PARAMS], network)))
    assert ("wrap_param", "float32") in found


def test_a_value_is_cast_once():
    mod = module([param("x", 3, 3)], lambda bb, x: relax.op.matmul(x, x))
    found = dtypes(ToMixedPrecision()(mod))
    assert found.count(("astype", "float16")) == 1


def test_convolution():
    def make(bb, x, w):
        return relax.op.nn.conv2d(x, w, padding=1)

    before = module([param("x", 1, 3, 6, 6), param("w", 4, 3, 3, 3)], make)
    after = ToMixedPrecision()(before)
    x, w = rand(1, 3, 6, 6), rand(4, 3, 3, 3, seed=1)
    np.testing.assert_allclose(run(after, x, w), run(before, x, w), rtol=3e-2, atol=3e-2)


def test_named_inputs_come_as_half():
    mod = ToMixedPrecision("float16", ["x"])(module([param(*p) for p in PARAMS], network))
    relax.analysis.well_formed(mod)
    assert str(mod["main"].params[0].ty.dtype).endswith("float16")
    assert str(mod["main"].params[1].ty.dtype).endswith("float32")


def test_other_types_are_left_alone():
    mod = module([param("x", 3, 3, dtype="int32")], lambda bb, x: relax.op.matmul(x, x))
    tvm.ir.assert_structural_equal(ToMixedPrecision()(mod), mod)


def test_out_dtype_is_checked():
    with pytest.raises(ValueError, match="out_dtype must be float32 or float16, got int8"):
        ToMixedPrecision("int8")
