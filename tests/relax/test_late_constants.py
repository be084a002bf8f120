# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Weights are scaled, turned and packed one at a time: no pass holds a second copy of them all."""

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.relax import op

CHANNELS = 192  # a 1x1 weight in bfloat16 is just large enough to wait


@relax.expr_functor.visitor
class Constants(relax.expr_functor.PyExprVisitor):
    """Shapes of the constants that a function reads."""

    def __init__(self):
        super().__init__()
        self.shapes = []

    def visit_constant_(self, constant):
        self.shapes.append(tuple(int(extent) for extent in constant.data.shape))


class Watch:
    """Shapes of large constants around the pass that packs."""

    def __init__(self):
        self.before = self.after = None

    @staticmethod
    def look(mod):
        visitor = Constants()
        visitor.visit_expr(mod["main"])
        return sorted(shape for shape in visitor.shapes if np.prod(shape) >= 1 << 12)

    def run_before_pass(self, mod, info):
        if info.name == "LowerGroups":
            self.before = Watch.look(mod)

    def run_after_pass(self, mod, info):
        if info.name == "LowerGroups":
            self.after = Watch.look(mod)


def weight(rng, kernel):
    shape = (CHANNELS, CHANNELS, kernel, kernel)
    return (rng.standard_normal(shape) / np.sqrt(CHANNELS * kernel * kernel)).astype(np.float32)


def module(body):
    """``main`` of an image, whose dataflow block `body` fills."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((1, CHANNELS, 9, 10), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            out = builder.emit_output(body(builder, x))
        builder.emit_func_output(out)
    return builder.get()


def run(mod, precision="float32", pipeline="default"):
    watch = tvm.instrument.pass_instrument(Watch)()
    with tvm.transform.PassContext(instruments=[watch]):
        executable = tvm.compile(
            mod, {"kind": "llvm", "mcpu": "native"}, relax_pipeline=pipeline, precision=precision
        )
    x = np.random.default_rng(7).standard_normal((1, CHANNELS, 9, 10)).astype(np.float32)
    result = relax.VirtualMachine(executable, tvm.cpu())["main"](tvm.runtime.tensor(x))
    values = [result] if hasattr(result, "numpy") else list(result)
    return [v.numpy() for v in values], watch


def check(mod, precision, tolerance):
    got, watch = run(mod, precision)
    want, _ = run(mod, pipeline="plain")
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * np.abs(b).max())
    return watch


@pytest.mark.parametrize("precision", ["float32", "bf16"])
@pytest.mark.parametrize("kernel", [1, 3])
def test_scaled_weights_wait_for_their_kernel(kernel, precision):
    rng = np.random.default_rng(0)
    first, second = weight(rng, kernel), weight(rng, kernel)
    scale = rng.uniform(0.5, 1.5, (1, CHANNELS, 1, 1)).astype(np.float32)

    def body(builder, x):
        for w in (first, second):
            x = builder.emit(op.nn.conv2d(x, relax.const(w), padding=kernel // 2))
            x = builder.emit(op.multiply(x, relax.const(scale)))
        return x

    watch = check(module(body), precision, 1e-4 if precision == "float32" else 3e-2)
    assert watch.before == [first.shape, second.shape]
    assert len(watch.after) == 2
    assert first.shape not in watch.after


def test_a_weight_of_several_readers():
    w = weight(np.random.default_rng(1), 1)

    def body(builder, x):
        shared = relax.const(w)
        for _ in range(3):
            x = builder.emit(op.nn.conv2d(x, shared))
        return x

    check(module(body), "float32", 1e-4)


def test_a_turned_constant_may_be_read_as_it_is():
    w = weight(np.random.default_rng(2), 1)
    image = np.random.default_rng(3).standard_normal((1, CHANNELS, 9, 10)).astype(np.float32)

    def body(builder, x):
        y = builder.emit(op.nn.conv2d(x, relax.const(w)))
        # Added to an image that has become NHWC, and returned in another order.
        y = builder.emit(op.add(y, relax.const(image)))
        return relax.Tuple([y, builder.emit(op.permute_dims(relax.const(w), [1, 0, 2, 3]))])

    check(module(body), "float32", 1e-4)


def test_what_else_reads_a_waiting_constant_is_folded():
    """A constant that only another operator of constants reads is made where that is folded."""
    rng = np.random.default_rng(4)
    a, b = weight(rng, 1), weight(rng, 1)

    def body(builder, x):
        whole = builder.emit(op.concat([relax.const(a), relax.const(b)], axis=0))
        return builder.emit(op.nn.conv2d(x, whole))

    check(module(body), "float32", 1e-4)
