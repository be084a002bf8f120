# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Extents that are known at run time only: indexing never leaves a tensor, whatever they are."""

import numpy as np
import pytest

import tvm
from tvm import relax, tirx


def compiled(make, *types):
    bb = relax.BlockBuilder()
    params = [relax.Var(f"p{i}", t) for i, t in enumerate(types)]
    with bb.function("main", params):
        with bb.dataflow():
            out = bb.emit_output(make(*params))
        bb.emit_func_output(out)
    vm = relax.VirtualMachine(relax.build(bb.get(), "llvm"), tvm.cpu())
    return lambda *arrays: vm["main"](*map(tvm.runtime.tensor, arrays)).numpy()


def tensor(*shape, dtype="float32"):
    return relax.TensorType(list(shape), dtype)


def sym(name):
    return tirx.Var(name, "int64")


@pytest.mark.parametrize("mode", ["fast", "clip", "wrap"])
def test_take_of_an_axis_that_turns_out_empty(mode):
    fn = compiled(
        lambda x, i: relax.op.take(x, i, 0, mode), tensor(sym("n"), 2), tensor(3, dtype="int64")
    )
    index = np.array([0, 1, 5])
    np.testing.assert_array_equal(fn(np.zeros((0, 2), np.float32), index), np.zeros((3, 2)))
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    want = x[[0, 1, 5 % 3 if mode == "wrap" else 2]]
    np.testing.assert_array_equal(fn(x, index), want)


def test_scatter_skips_what_lies_outside():
    fn = compiled(
        lambda x, i, u: relax.op.scatter_elements(x, i, u, 0, "update"),
        tensor(2, 2),
        tensor(1, sym("m"), dtype="int64"),
        tensor(1, sym("k")),
    )
    x = np.zeros((2, 2), np.float32)
    got = fn(x, np.zeros((1, 4000), np.int64), np.ones((1, 4000), np.float32))
    np.testing.assert_array_equal(got, [[1, 1], [0, 0]])
    got = fn(x, np.zeros((1, 4000), np.int64), np.ones((1, 1), np.float32))
    np.testing.assert_array_equal(got, [[1, 0], [0, 0]])


def test_gather_elements_stays_in_the_row():
    fn = compiled(
        lambda x, i: relax.op.gather_elements(x, i, 0),
        tensor(2, 2),
        tensor(1, sym("m"), dtype="int64"),
    )
    x = np.array([[1, 2], [3, 4]], np.float32)
    np.testing.assert_array_equal(fn(x, np.array([[1, 0, 1]])), [[3, 2, 4]])


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_padding_of_a_short_dimension(mode):
    fn = compiled(lambda x: relax.op.nn.pad(x, [3, 3], 0.0, mode), tensor(sym("n")))
    for n in (0, 1, 2, 5):
        x = np.arange(1, n + 1, dtype=np.float32)
        got = fn(x)
        assert got.shape == (n + 6,)
        assert set(got.tolist()) <= set(x.tolist()) | ({0.0} if n == 0 else set())


def test_statically_wrong_shapes_are_named():
    x, index = tensor(2, 2), tensor(1, 5, dtype="int64")
    with pytest.raises(ValueError, match="scatter_elements.*at most the extents"):
        compiled(
            lambda x, i, u: relax.op.scatter_elements(x, i, u, 0, "update"), x, index, tensor(1, 5)
        )
    with pytest.raises(ValueError, match="take reads elements along an axis of extent 0"):
        compiled(lambda x, i: relax.op.take(x, i, 0), tensor(0, 2), tensor(3, dtype="int64"))
    with pytest.raises(ValueError, match="needs an extent above"):
        compiled(lambda x: relax.op.nn.pad(x, [3, 3], 0.0, "reflect"), tensor(2))
