# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Convolutions in groups: products of each group, or vectors along many groups of few channels."""

import numpy as np
import pytest

import tvm
from tvm import relax

TARGET = {"kind": "llvm", "mcpu": "native"}
op = relax.op


class Rules:
    """Kernel rules of the convolutions of a module."""

    def __init__(self):
        self.found = set()

    def run_after_pass(self, mod, info):
        if info.name == "DispatchKernels":
            self.found = {
                str(func.attrs["kernel_rule"])
                for var, func in mod.functions.items()
                if isinstance(func, tvm.tirx.PrimFunc) and "conv" in str(var.name_hint)
            }


def direct(x, w, groups, stride, pad):
    """The convolution written out, in double precision or int64."""
    wide = np.int64 if x.dtype.kind in "iu" else np.float64
    x = np.pad(x.astype(wide), ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    w = w.astype(wide)
    n, _, height, width = x.shape
    oc, ic, kh, kw = w.shape
    h, v = (height - kh) // stride + 1, (width - kw) // stride + 1
    y = np.zeros((n, oc, h, v), wide)
    for o in range(oc):
        first = o // (oc // groups) * ic
        for i in range(kh):
            for j in range(kw):
                part = x[
                    :, first : first + ic, i : i + h * stride : stride, j : j + v * stride : stride
                ]
                y[:, o] += (part * w[o, :, i, j][None, :, None, None]).sum(1)
    return y


def run(mod, *arrays):
    rules = tvm.instrument.pass_instrument(Rules)()
    with tvm.transform.PassContext(instruments=[rules]):
        executable = tvm.compile(mod, TARGET)
    vm = relax.VirtualMachine(executable, tvm.cpu())
    return vm["main"](*(tvm.runtime.tensor(a) for a in arrays)).numpy(), rules.found


def module(x, w, groups, stride, pad, out_dtype, finish):
    builder = relax.BlockBuilder()
    arg = relax.Var("x", relax.TensorType(x.shape, str(x.dtype)))
    with builder.function("main", [arg]):
        with builder.dataflow():
            weight = relax.const(w)
            options = {"strides": stride, "padding": pad, "groups": groups}
            y = builder.emit(op.nn.conv2d(arg, weight, out_dtype=out_dtype, **options))
            y = builder.emit_output(finish(builder, y))
        builder.emit_func_output(y)
    return builder.get()


# groups, input and output channels of a group, kernel, stride, border
CASES = [
    (32, 4, 4, 3, 1, 1),  # ResNeXt: many groups, which floats are summed side by side in
    (48, 1, 2, 3, 2, 1),
    (20, 3, 1, 5, 1, 2),
    (8, 16, 16, 3, 2, 1),
    (3, 20, 40, 1, 1, 0),  # ShuffleNet
    (4, 3, 5, 3, 1, 1),
    (2, 7, 33, 5, 2, 2),
    (6, 1, 2, 3, 1, 1),  # several outputs for each channel
    (2, 2, 100, 1, 1, 0),
]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("batch", [1, 3])
def test_float32(case, batch):
    groups, ic, oc, kernel, stride, pad = case
    rng = np.random.default_rng(0)
    x = rng.standard_normal((batch, groups * ic, 9, 11)).astype(np.float32)
    w = rng.standard_normal((groups * oc, ic, kernel, kernel)).astype(np.float32)
    bias = rng.standard_normal((1, groups * oc, 1, 1)).astype(np.float32)
    want = direct(x, w, groups, stride, pad) + bias
    rest = rng.standard_normal(want.shape).astype(np.float32)

    def finish(builder, y):
        y = builder.emit(op.add(y, relax.const(bias)))
        y = builder.emit(op.nn.relu(y))
        return op.add(y, relax.const(rest))

    got, rules = run(module(x, w, groups, stride, pad, "float32", finish), x)
    want = np.maximum(want, 0) + rest
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 * np.abs(want).max())
    # Vectors run along groups where these fill one, whose length is the processor's.
    few_channels, fills_all, fills_none = max(ic, oc) <= 8, groups >= 16, groups < 4
    if few_channels and fills_all:
        assert rules == {"grouped"}
    elif not few_channels or fills_none:
        assert rules == {"contraction"}


@pytest.mark.parametrize("signed", [False, True], ids=["uint8", "int8"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_integers_are_exact(case, signed):
    groups, ic, oc, kernel, stride, pad = case
    rng = np.random.default_rng(1)
    low, dtype = (-128, np.int8) if signed else (0, np.uint8)
    x = rng.integers(low, low + 256, (1, groups * ic, 9, 11)).astype(dtype)
    w = rng.integers(-128, 128, (groups * oc, ic, kernel, kernel)).astype(np.int8)
    same = lambda builder, y: op.add(y, relax.const(np.int32(7)))
    got, rules = run(module(x, w, groups, stride, pad, "int32", same), x)
    np.testing.assert_array_equal(got, direct(x, w, groups, stride, pad) + 7)
    assert rules == {"contraction"}


def test_one_channel_out_of_several_is_left_to_plain_loops():
    rng = np.random.default_rng(2)
    x = rng.standard_normal((1, 12, 6, 7)).astype(np.float32)
    w = rng.standard_normal((4, 3, 3, 3)).astype(np.float32)
    same = lambda builder, y: op.nn.relu(y)
    got, _ = run(module(x, w, 4, 1, 1, "float32", same), x)
    np.testing.assert_allclose(got, np.maximum(direct(x, w, 4, 1, 1), 0), rtol=1e-4, atol=1e-4)


def test_a_weight_known_only_when_it_runs():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((1, 24, 8, 8)).astype(np.float32)
    w = rng.standard_normal((32, 6, 3, 3)).astype(np.float32)
    builder = relax.BlockBuilder()
    args = [relax.Var(n, relax.TensorType(a.shape, "float32")) for n, a in (("x", x), ("w", w))]
    with builder.function("main", args):
        with builder.dataflow():
            y = builder.emit_output(op.nn.conv2d(*args, padding=1, groups=4))
        builder.emit_func_output(y)
    got, rules = run(builder.get(), x, w)
    np.testing.assert_allclose(got, direct(x, w, 4, 1, 1), rtol=1e-4, atol=1e-4)
    assert rules == {"contraction"}
