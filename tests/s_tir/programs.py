# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Programs that tests schedule, and their comparison with what they should compute."""

import numpy as np

import tvm
from tvm import te, tirx


def matmul(n=16, m=16, depth=16, epilogue=None):
    """D = epilogue(A x B) as blocks C and D; without an epilogue C is the output."""
    a = te.placeholder((n, depth), name="A")
    b = te.placeholder((depth, m), name="B")
    k = te.reduce_axis((0, depth), "k")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    if epilogue is None:
        return te.create_prim_func([a, b, c])
    d = te.compute((n, m), lambda i, j: epilogue(c[i, j]), name="D")
    return te.create_prim_func([a, b, d])


def add_one(value):
    """The usual epilogue."""
    return value + tirx.const(1.0, "float32")


def chain(n=8, m=6):
    """D = (A + 2) * 3 - 1 in three blocks."""
    a = te.placeholder((n, m), name="A")
    b = te.compute((n, m), lambda i, j: a[i, j] + 2.0, name="B")
    c = te.compute((n, m), lambda i, j: b[i, j] * 3.0, name="C")
    d = te.compute((n, m), lambda i, j: c[i, j] - 1.0, name="D")
    return te.create_prim_func([a, d])


def random(*shape, seed=0):
    """Floats between -1 and 1."""
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype("float32")


def run(mod, inputs, out_shape):
    """Compile a module for this machine and run it; the result starts as NaN."""
    function = tvm.compile(mod, target="llvm")["main"]
    out = tvm.runtime.tensor(np.full(out_shape, np.nan, "float32"))
    function(*(tvm.runtime.tensor(value) for value in inputs), out)
    return out.numpy()


def check_matmul(mod, n, m, depth, plus=0.0, rtol=1e-4):
    """Compare a module with numpy's product."""
    a, b = random(n, depth, seed=1), random(depth, m, seed=2)
    np.testing.assert_allclose(run(mod, [a, b], (n, m)), a @ b + plus, rtol=rtol, atol=1e-4)
