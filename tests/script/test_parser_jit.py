# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Kernels whose constants are fixed before they are parsed."""

from __future__ import annotations

import pytest

import tvm
from tvm import tirx
from tvm.ir import assert_structural_equal
from tvm.script import tirx as T


@T.jit
def scale(
    A: T.Buffer((N, 4), "float32"),  # noqa: F821
    bias: T.Optional[T.Buffer((N,), "float32")],  # noqa: F821
    N: T.constexpr,
    factor: T.constexpr = 2.0,
):
    for i, j in T.grid(N, 4):
        if bias is not None:
            A[i, j] = A[i, j] * factor + bias[i]
        else:
            A[i, j] = A[i, j] * factor


def test_specialize():
    func = scale.specialize(N=8)
    assert isinstance(func, tirx.PrimFunc)
    assert [param.name for param in func.params] == ["A", "bias"]
    assert int(func.params[0].shape[0]) == 8

    @T.prim_func
    def expected(A: T.Buffer((8, 4), "float32")):
        T.func_name("scale")
        for i, j in T.grid(8, 4):
            A[i, j] = A[i, j] * 3.0

    assert_structural_equal(scale.specialize(N=8, factor=3.0, bias=None), expected)


def test_results_are_cached():
    assert scale.specialize(N=4) is scale.specialize(N=4)
    assert scale.specialize(N=4) is not scale.specialize(N=5)
    assert scale.specialize(N=4) is not scale.specialize(N=4, bias=None)
    # 1 and 1.0 are equal in Python, but make different kernels.
    assert scale.specialize(N=4, factor=1) is not scale.specialize(N=4, factor=1.0)


def test_errors():
    def match(text):
        return pytest.raises(TypeError, match=text)

    with match(
        r"scale.specialize\(\) got unexpected arg\(s\): \['M'\] \(specializable params are: "
    ):
        scale.specialize(N=4, M=3)
    with match(r"missing constexpr arg\(s\) \(no default provided\): \['N'\]"):
        scale.specialize()
    with match("T.Optional parameters only accept None; "):
        scale.specialize(N=4, bias=3)
    with match(r"all constexpr values must be hashable \(got: "):
        scale.specialize(N=[4])


def test_options():
    @T.jit(private=True, s_tir=True)
    def kernel(A: T.Buffer((4,), "float32"), value: T.constexpr):
        for i in range(4):
            with T.sblock("b"):
                v = T.axis.spatial(4, i)
                A[v] = T.float32(value)

    func = kernel.specialize(value=3)
    assert "global_symbol" not in func.attrs and func.attrs["s_tir"]
    assert func.body.block.name_hint == "root"


def test_constants_may_be_python_objects():
    @T.jit
    def kernel(A: T.Buffer((4,), "float32"), op: T.constexpr):
        A[0] = op(A[1])

    assert kernel.specialize(op=T.exp).body.value.op.name == "tirx.exp"
    assert isinstance(kernel.specialize(op=lambda x: x + 1).body.value, tvm.tirx.Add)
