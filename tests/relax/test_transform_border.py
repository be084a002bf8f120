# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""A constant border in front of a convolution: part of its kernel where the rule can take it."""

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.relax import op


def run(mod, x, pipeline):
    target = tvm.target.Target({"kind": "llvm", "mcpu": "native"})
    vm = relax.VirtualMachine(tvm.compile(mod, target, relax_pipeline=pipeline), tvm.cpu())
    return vm["main"](tvm.runtime.tensor(x)).numpy()


@pytest.mark.parametrize("value", [0.0, 1.5, -2.0])
@pytest.mark.parametrize(
    ("channels", "groups", "kernel"), [(64, 1, 3), (64, 1, 1), (37, 37, 3), (16, 16, 1), (16, 4, 3)]
)
def test_border(value, channels, groups, kernel):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, channels, 20, 21)).astype(np.float32)
    shape = (channels, channels // groups, kernel, kernel)
    weight = relax.const(rng.standard_normal(shape).astype(np.float32))
    bb = relax.BlockBuilder()
    param = relax.Var("x", relax.TensorType(list(x.shape), "float32"))
    with bb.function("main", [param]):
        with bb.dataflow():
            y = bb.emit(op.nn.pad(param, [0, 0, 0, 0, 1, 2, 1, 0], pad_value=value))
            y = bb.emit(op.nn.conv2d(y, weight, groups=groups))
            out = bb.emit_output(op.nn.relu(y))
        bb.emit_func_output(out)
    got, want = run(bb.get(), x, "default"), run(bb.get(), x, "plain")
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3 * np.abs(want).max())
