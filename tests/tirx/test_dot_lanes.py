# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""``tirx.dot_lanes``: one instruction where a processor has it, plain arithmetic elsewhere."""

import ml_dtypes
import numpy as np
import pytest

import tvm
from tvm.script import tirx as T


def kernel(left, right, sums, lanes, group):
    """out = c + the dot products of ``group`` neighbouring lanes of a and b."""
    wide = lanes * group
    result = sums if lanes == 1 else f"{sums}x{lanes}"

    @T.prim_func
    def main(
        a: T.Buffer((wide,), left),
        b: T.Buffer((wide,), right),
        c: T.Buffer((lanes,), sums),
        out: T.Buffer((lanes,), sums),
    ):
        out[0:lanes] = T.Call("tirx.dot_lanes", [a[0:wide], b[0:wide], c[0:lanes]], ret_ty=result)

    return main


def random(rng, size, dtype):
    if dtype == "bfloat16":
        return rng.standard_normal(size).astype(np.float32).astype(ml_dtypes.bfloat16)
    info = np.iinfo(dtype)
    values = rng.integers(info.min, info.max + 1, size, dtype)
    values[: size // 2] = info.min if info.min < 0 else info.max
    return values


@pytest.mark.parametrize("cpu", ["native", "x86-64"])
@pytest.mark.parametrize(
    "left, right, sums, group",
    [
        ("uint8", "int8", "int32", 4),
        ("int8", "int8", "int32", 4),
        ("int16", "int16", "int32", 2),
        ("bfloat16", "bfloat16", "float32", 2),
    ],
)
@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_equals_plain_arithmetic(cpu, left, right, sums, group, lanes):
    rng = np.random.default_rng(lanes)
    a, b = random(rng, lanes * group, left), random(rng, lanes * group, right)
    if left == "int16":
        a = np.maximum(a, -32767)  # with -32768 in all four, two products do not fit the sum
    c = rng.integers(-100, 100, lanes).astype(sums)
    out = tvm.runtime.tensor(np.zeros(lanes, sums))
    target = tvm.target.Target({"kind": "llvm", "mcpu": cpu})
    func = kernel(left, right, sums, lanes, group).with_attr("global_symbol", "main")
    main = tvm.compile(tvm.IRModule({"main": func}), target)["main"]
    main(*(tvm.runtime.tensor(x) for x in (a, b, c)), out)
    wide = np.float64 if sums == "float32" else np.int64
    products = (a.astype(wide) * b.astype(wide)).reshape(lanes, group)
    want = c.astype(wide) + products.sum(axis=1)
    np.testing.assert_allclose(out.numpy(), want, rtol=1e-6 if sums == "float32" else 0, atol=1e-6)


def test_becomes_arithmetic_for_other_generators():
    mod = tvm.IRModule({"main": kernel("int8", "int8", "int32", 2, 4)})
    mod = tvm.tirx.transform.BindTarget(tvm.target.Target("c"))(mod)
    text = tvm.tirx.transform.LowerIntrin()(mod).script()
    assert "dot_lanes" not in text
    assert text.count("Shuffle") == 8


def test_printed_call_is_read_back():
    func = kernel("uint8", "int8", "int32", 16, 4)
    again = tvm.script.from_source(func.script())
    tvm.ir.assert_structural_equal(func, again)
