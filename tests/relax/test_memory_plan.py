# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Intermediate tensors of static shape share one storage, in branches as well."""

import re

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.script import relax as R

N = 64
BYTES = 4 * N


@R.function
def chain(x: R.Tensor((64,), "float32")):
    a = R.exp(x)
    b = R.negative(a)
    c = R.sin(b)
    d = R.add(a, c)
    return R.sqrt(R.multiply(d, d))


@R.function
def branches(x: R.Tensor((64,), "float32"), c: R.Tensor((), "bool")):
    a = R.exp(x)
    if c:
        b = R.negative(a)
        y = R.sin(b)
    else:
        b = R.cos(a)
        d = R.multiply(b, a)
        y = R.add(d, b)
    return R.add(y, a)


@R.function
def nested(x: R.Tensor((64,), "float32"), c: R.Tensor((), "bool"), d: R.Tensor((), "bool")):
    a = R.exp(x)
    if c:
        b = R.negative(a)
        if d:
            y = R.sin(b)
        else:
            e = R.cos(b)
            y = R.multiply(e, b)
        z = R.add(y, b)
    else:
        z = R.sqrt(a)
    return (z, R.add(a, z))


@R.function
def splits(x: R.Tensor((64,), "float32")):
    parts = R.split(x, 2)
    return R.add(R.exp(parts[0]), R.exp(parts[1]))


def build(func, mode="bytecode"):
    # Every operator a kernel of its own, so that there is something to plan.
    module = tvm.IRModule({"main": func.with_attr("global_symbol", "main")})
    return relax.build(module, "llvm", relax_pipeline="plain", exec_mode=mode)


def check(func, feeds, want, mode):
    vm = relax.VirtualMachine(build(func, mode), tvm.cpu())
    # More than once: what a call leaves behind must not show in the next one.
    for _ in range(2):
        for args, expected in zip(feeds, want):
            got = vm["main"](*(tvm.runtime.tensor(np.asarray(a)) for a in args))
            got = [got] if hasattr(got, "numpy") else list(got)
            expected = expected if isinstance(expected, tuple) else (expected,)
            assert len(got) == len(expected)
            for g, e in zip(got, expected):
                np.testing.assert_allclose(g.numpy(), e, rtol=1e-5, atol=1e-6)


def vectors(count):
    rng = np.random.default_rng(1)
    return [rng.standard_normal(N).astype("float32") for _ in range(count)]


MODES = pytest.mark.parametrize("mode", ["bytecode", "compiled"])


@MODES
def test_chain(mode):
    xs = vectors(3)
    want = [np.abs(np.exp(x) + np.sin(-np.exp(x))) for x in xs]
    check(chain, [(x,) for x in xs], want, mode)


@MODES
def test_branches(mode):
    def reference(x, c):
        a = np.exp(x)
        return (np.sin(-a) if c else np.cos(a) * a + np.cos(a)) + a

    feeds = [(x, c) for x in vectors(2) for c in (True, False)]
    check(branches, feeds, [reference(*f) for f in feeds], mode)


@MODES
def test_nested_branches(mode):
    def reference(x, c, d):
        a = np.exp(x)
        b = -a
        z = (np.sin(b) if d else np.cos(b) * b) + b if c else np.sqrt(a)
        return z, a + z

    feeds = [(x, c, d) for x in vectors(2) for c in (True, False) for d in (True, False)]
    check(nested, feeds, [reference(*f) for f in feeds], mode)


@MODES
def test_parts_of_a_split(mode):
    xs = vectors(2)
    want = [np.exp(x[: N // 2]) + np.exp(x[N // 2 :]) for x in xs]
    check(splits, [(x,) for x in xs], want, mode)


def planned(func):
    """The text of the function after the pass that plans its memory."""
    target = tvm.target.Target("llvm")
    module = tvm.IRModule({"main": func.with_attr("global_symbol", "main")})
    with target:
        for step in tvm.get_global_func("relax.GetPipeline")("plain", target, "float32"):
            module = step(module)
            if step.info.name == "StaticPlanBlockMemory":
                return str(module["main"])
    raise AssertionError("the pipeline plans no memory")


@pytest.mark.parametrize(
    "func, tensors, results",
    # Results have storages of their own; `nested` has two branches that give its first one.
    [(chain, 3, 1), (branches, 4, 1), (nested, 4, 3), (splits, 1.5, 1)],
    ids=["chain", "branches", "nested", "splits"],
)
def test_size_of_the_storage(func, tensors, results):
    text = planned(func)
    assert re.findall(r"alloc_storage\(R.shape\(\[(\d+)\]\)", text) == [str(int(tensors * BYTES))]
    assert text.count("R.builtin.alloc_tensor") == results


def test_a_tuple_of_parts_is_not_made():
    assert "make_tuple" not in str(build(splits).as_text())


def test_what_a_closure_sees_stays():
    @tvm.script.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((64,), "float32")):
            a = R.exp(x)

            @R.function
            def add(y: R.Tensor((64,), "float32")) -> R.Tensor((64,), "float32"):
                return R.add(a, y)

            b = R.negative(x)
            c = R.negative(b)
            return add(c)

    vm = relax.VirtualMachine(relax.build(Module, "llvm", relax_pipeline="plain"), tvm.cpu())
    for x in vectors(3):
        got = vm["main"](tvm.runtime.tensor(x)).numpy()
        np.testing.assert_allclose(got, np.exp(x) + x, rtol=1e-5, atol=1e-6)
