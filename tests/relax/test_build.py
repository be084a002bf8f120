# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Modules are built with the block builder, compiled and run against numpy."""

import numpy as np
import pytest

import tvm
from tvm import relax


def _module(shapes, make, dtype="float32", name="main"):
    bb = relax.BlockBuilder()
    params = [relax.Var(f"x{i}", relax.TensorType(s, dtype)) for i, s in enumerate(shapes)]
    with bb.function(name, params):
        with bb.dataflow():
            out = bb.emit_output(make(bb, *params))
        bb.emit_func_output(out)
    return bb.get()


def _run(mod, *inputs, pipeline="default", target="llvm"):
    ex = relax.build(mod, target, relax_pipeline=pipeline)
    vm = relax.VirtualMachine(ex, tvm.cpu())
    out = vm["main"](*(tvm.runtime.tensor(x) for x in inputs))
    if isinstance(out, tvm.runtime.Tensor):
        return out.numpy()
    return [o.numpy() for o in out]


def _rand(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


@pytest.mark.parametrize(
    "pipeline,target", [("plain", "llvm"), ("default", "llvm"), ("default", "c")]
)
def test_mlp(pipeline, target):
    x, w1, b1, w2 = _rand(4, 8), _rand(8, 16, seed=1), _rand(16, seed=2), _rand(16, 5, seed=3)

    def make(bb, x0):
        h = bb.emit(relax.op.matmul(x0, relax.const(w1)))
        h = bb.emit(relax.op.add(h, relax.const(b1)))
        h = bb.emit(relax.op.nn.relu(h))
        return relax.op.nn.softmax(bb.emit(relax.op.matmul(h, relax.const(w2))), axis=-1)

    out = _run(_module([(4, 8)], make), x, pipeline=pipeline, target=target)
    h = np.maximum(x @ w1 + b1, 0) @ w2
    e = np.exp(h - h.max(-1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(-1, keepdims=True), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "pipeline,target", [("plain", "llvm"), ("default", "llvm"), ("default", "c")]
)
def test_conv_bn_relu_pool(pipeline, target):
    x, w = _rand(1, 3, 16, 16), _rand(8, 3, 3, 3, seed=1)
    gamma, beta, mean = _rand(8, seed=2), _rand(8, seed=3), _rand(8, seed=4)
    var = np.abs(_rand(8, seed=5)) + 0.5

    def make(bb, x0):
        y = bb.emit(relax.op.nn.conv2d(x0, relax.const(w), strides=2, padding=1))
        bn = bb.emit(
            relax.op.nn.batch_norm(
                y,
                relax.const(gamma),
                relax.const(beta),
                relax.const(mean),
                relax.const(var),
                axis=1,
                epsilon=1e-5,
                training=False,
            )
        )
        y = bb.emit(relax.op.nn.relu(bb.emit(bn[0])))
        return relax.op.nn.max_pool2d(y, pool_size=2, strides=2)

    out = _run(_module([(1, 3, 16, 16)], make), x, pipeline=pipeline, target=target)
    pad = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    y = np.zeros((1, 8, 8, 8), "float32")
    for i in range(8):
        for j in range(8):
            window = pad[0, :, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3]
            y[0, :, i, j] = np.tensordot(w, window, 3)
    scale = gamma / np.sqrt(var + 1e-5)
    y = (y - mean[:, None, None]) * scale[:, None, None] + beta[:, None, None]
    y = np.maximum(y, 0).reshape(1, 8, 4, 2, 4, 2).max((3, 5))
    np.testing.assert_allclose(out, y, rtol=1e-3, atol=1e-4)


def test_two_results_and_views():
    x = _rand(2, 6)

    def make(bb, x0):
        y = bb.emit(relax.op.exp(x0))
        return relax.Tuple([bb.emit(relax.op.reshape(y, (3, 4))), y])

    a, b = _run(_module([(2, 6)], make), x)
    np.testing.assert_allclose(b, np.exp(x), rtol=1e-5)
    np.testing.assert_allclose(a, np.exp(x).reshape(3, 4), rtol=1e-5)


def test_nan_passes_through_relu_and_clip():
    x = np.array([np.nan, -1.0, 2.0, 9.0], "float32")

    def make(bb, x0):
        return relax.op.clip(bb.emit(relax.op.nn.relu(x0)), 0, 6)

    out = _run(_module([(4,)], make), x)
    assert np.isnan(out[0])
    np.testing.assert_array_equal(out[1:], [0, 2, 6])


def test_empty_reduction_gives_the_neutral_element():
    def make(bb, x0):
        return relax.op.sum(x0, axis=[1])

    out = _run(_module([(3, 0)], make), np.zeros((3, 0), "float32"))
    np.testing.assert_array_equal(out, np.zeros(3, "float32"))


def test_take_never_reads_outside():
    x = _rand(4, 3)

    def make(bb, x0):
        return relax.op.take(x0, relax.const(np.array([-1, 10**9, 2], "int64")), axis=0)

    out = _run(_module([(4, 3)], make), x)
    np.testing.assert_array_equal(out, x[[3, 3, 2]])


def test_same_module_twice_gives_the_same():
    x = _rand(3, 5)
    mod = _module([(3, 5)], lambda bb, x0: relax.op.tanh(x0))
    ex = relax.build(mod, "llvm")
    vm = relax.VirtualMachine(ex, tvm.cpu())
    first = vm["main"](tvm.runtime.tensor(x))
    second = vm["main"](tvm.runtime.tensor(x + 1))
    np.testing.assert_allclose(first.numpy(), np.tanh(x), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(second.numpy(), np.tanh(x + 1), rtol=1e-4, atol=1e-6)


def test_wrong_arguments_are_reported():
    mod = _module([(3, 5)], lambda bb, x0: relax.op.tanh(x0))
    ex = relax.build(mod, "llvm")
    vm = relax.VirtualMachine(ex, tvm.cpu())
    with pytest.raises(RuntimeError, match="mismatch"):
        vm["main"](tvm.runtime.tensor(_rand(3, 4)))
    with pytest.raises(ValueError, match="ndim"):
        vm["main"](tvm.runtime.tensor(_rand(3)))
    with pytest.raises(ValueError, match="dtype"):
        vm["main"](tvm.runtime.tensor(np.zeros((3, 5), "int32")))


def test_symbolic_batch():
    n = tvm.tirx.Var("n", "int64")
    x0 = relax.Var("x", relax.TensorType((n, 4), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x0]):
        with bb.dataflow():
            y = bb.emit(relax.op.nn.relu(x0))
            out = bb.emit_output(relax.op.reshape(y, (n * 2, 2)))
        bb.emit_func_output(out)
    ex = relax.build(bb.get(), "llvm")
    vm = relax.VirtualMachine(ex, tvm.cpu())
    for rows in (1, 3, 7):
        x = _rand(rows, 4)
        got = vm["main"](tvm.runtime.tensor(x)).numpy()
        np.testing.assert_array_equal(got, np.maximum(x, 0).reshape(-1, 2))


def test_unknown_pipeline():
    with pytest.raises(ValueError, match="Unknown pre-built pipeline"):
        relax.get_pipeline("nope")
