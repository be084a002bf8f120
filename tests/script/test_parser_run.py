# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Parsed kernels compiled and run, against numpy."""

import numpy as np
import pytest

import tvm
from tvm.script import ir as I
from tvm.script import tirx as T

pytest.importorskip("numpy")


def run(func, *arrays, name="main"):
    """Compile, call, and return the arrays after the call."""
    module = func if isinstance(func, tvm.IRModule) else tvm.IRModule({name: func})
    library = tvm.compile(module, target="llvm")
    tensors = [tvm.runtime.tensor(x) if isinstance(x, np.ndarray) else x for x in arrays]
    library[name](*tensors)
    return [t.numpy() if hasattr(t, "numpy") else t for t in tensors]


def test_scalar_variables_and_while():
    @T.prim_func
    def main(A: T.Buffer((8,), "int32"), n: T.int32):
        total = 0
        i = 0
        while i < n:
            if i == 2:
                i += 1
                continue
            total = total + i * i
            i += 1
            if total > 20:
                break
        A[0] = total
        A[1] = i

    (out, _) = run(main, np.zeros(8, "int32"), 8)
    assert out[:2].tolist() == [26, 5]


def test_symbolic_matrix_product():
    @T.prim_func
    def main(
        A: T.Buffer(("m", "k"), "float32"),
        B: T.Buffer(("k", "n"), "float32"),
        C: T.Buffer(("m", "n"), "float32"),
    ):
        for i, j in T.grid(m, n):  # noqa: F821
            acc: T.float32 = 0
            for p in range(k):  # noqa: F821
                acc += A[i, p] * B[p, j]
            C[i, j] = acc

    a = np.random.rand(5, 7).astype("float32")
    b = np.random.rand(7, 3).astype("float32")
    *_, c = run(main, a, b, np.zeros((5, 3), "float32"))
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_blocks_with_reduction():
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((16, 8), "float32"), B: T.Buffer((16,), "float32")):
        C = T.sblock_alloc_buffer((16,), "float32")
        for i, j in T.grid(16, 8):
            with T.sblock("sum"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] += A[vi, vj]
        for i in T.parallel(16):
            with T.sblock("exp"):
                vi = T.axis.spatial(16, i)
                B[vi] = T.exp(C[vi])

    a = np.random.rand(16, 8).astype("float32")
    _, b = run(main, a, np.zeros(16, "float32"))
    np.testing.assert_allclose(b, np.exp(a.sum(1)), rtol=1e-4)


def test_vectors_and_select():
    @T.prim_func
    def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(4):
            B[i * 4 : i * 4 + 4] = A[i * 4 : i * 4 + 4] * T.Broadcast(2.0, 4)
        for i in range(16):
            B[i] = B[i] if A[i] > 0.5 else -1.0

    a = np.random.rand(16).astype("float32")
    _, b = run(main, a, np.zeros(16, "float32"))
    np.testing.assert_allclose(b, np.where(a > 0.5, 2 * a, -1), rtol=1e-6)


def test_module_with_inlined_helper():
    @T.inline
    def clamp(x, low, high):
        return T.max(T.min(x, high), low)

    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((8,), "float32")):
            for i in T.vectorized(8):
                A[i] = clamp(A[i], T.float32(0), T.float32(1))

    a = np.linspace(-2, 2, 8).astype("float32")
    (out,) = run(Module, a.copy())
    np.testing.assert_allclose(out, np.clip(a, 0, 1))


def test_assertion_raises():
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), n: T.int32):
        assert n > 0, ("ValueError", ["n must be positive"])
        A[0] = 1.0

    with pytest.raises(ValueError, match="n must be positive"):
        run(main, np.zeros(8, "float32"), 0)
    assert run(main, np.zeros(8, "float32"), 1)[0][0] == 1.0


def test_steps_and_reverse_use():
    @T.prim_func
    def main(A: T.Buffer((9,), "int64")):
        for i in range(1, 9, 3):
            A[i] = A[i] + T.int64(i) * T.int64(10)

    (out,) = run(main, np.arange(9, dtype="int64"))
    assert out.tolist() == [0, 11, 2, 3, 44, 5, 6, 77, 8]
