# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Operators that the runtime carries out: relax.run.*, devices, Python functions."""

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm_ffi import get_global_func

MODES = ["bytecode", "compiled"]


def compiled(params, make, mode="bytecode", pure=True):
    bb = relax.BlockBuilder()
    with bb.function("main", params, pure=pure):
        bb.emit_func_output(make(bb, *params))
    ex = relax.build(bb.get(), "llvm", exec_mode=mode)
    return relax.VirtualMachine(ex, tvm.cpu())["main"]


def param(name, shape, dtype="float32"):
    return relax.Var(name, relax.TensorType(list(shape), dtype))


DATA = {
    "float32": np.array([[1, 0, -2], [0, np.nan, 0.5]], "float32"),
    "float16": np.array([[1, 0, -2], [-0.0, 3, 0]], "float16"),
    "int64": np.array([[0, 2**40, 0], [-1, 0, 7]], "int64"),
    "uint8": np.array([[0, 255, 0], [1, 0, 7]], "uint8"),
    "bool": np.array([[True, False, True], [False, False, True]]),
}


@pytest.mark.parametrize("dtype", DATA)
def test_nonzero(dtype):
    x = DATA[dtype]
    out = get_global_func("relax.run.nonzero")(tvm.runtime.tensor(x))
    np.testing.assert_array_equal(out.numpy(), np.stack(np.nonzero(x)))


@pytest.mark.parametrize("x", [np.zeros((0, 3), "float32"), np.zeros(4, "int32")])
def test_nonzero_of_nothing(x):
    out = get_global_func("relax.run.nonzero")(tvm.runtime.tensor(x)).numpy()
    assert out.shape == (x.ndim, 0)


@pytest.mark.parametrize("value, count", [(3.0, 1), (0.0, 0)])
def test_nonzero_of_a_scalar(value, count):
    x = tvm.runtime.tensor(np.array(value, "float32"))
    assert get_global_func("relax.run.nonzero")(x).numpy().shape == (0, count)


@pytest.mark.parametrize("mode", MODES)
def test_nonzero_compiles(mode):
    x = DATA["float32"]
    f = compiled([param("x", x.shape)], lambda bb, x: bb.emit(relax.op.nonzero(x)), mode)
    np.testing.assert_array_equal(f(tvm.runtime.tensor(x)).numpy(), np.stack(np.nonzero(x)))


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "bool", "float16"])
def test_unique_sorted(dtype, axis):
    rng = np.random.default_rng(3)
    x = rng.integers(0, 3, (4, 3)).astype(dtype)
    x[2] = x[0]
    f = get_global_func("relax.run.unique")
    args = [tvm.runtime.tensor(x), 1, 1, 1, 1] + ([] if axis is None else [axis])
    values, index, inverse, counts = (o.numpy() for o in f(*args))
    want = np.unique(x, True, True, True, axis=axis)
    np.testing.assert_array_equal(values, want[0])
    np.testing.assert_array_equal(index, want[1])
    np.testing.assert_array_equal(inverse, want[2].reshape(-1))
    np.testing.assert_array_equal(counts, want[3])


def test_unique_in_order_of_appearance():
    x = np.array([3, 1, 3, 2, 1], "int32")
    out = get_global_func("relax.run.unique")(tvm.runtime.tensor(x), 0, 1, 1, 1)
    values, index, inverse, counts = (o.numpy() for o in out)
    np.testing.assert_array_equal(values, [3, 1, 2])
    np.testing.assert_array_equal(index, [0, 1, 3])
    np.testing.assert_array_equal(inverse, [0, 1, 0, 2, 1])
    np.testing.assert_array_equal(counts, [2, 2, 1])


def test_unique_of_special_floats():
    x = np.array([np.nan, 0.0, -0.0, np.inf, np.nan, -np.inf], "float64")
    values = get_global_func("relax.run.unique")(tvm.runtime.tensor(x), 1, 0, 0, 0).numpy()
    np.testing.assert_array_equal(values, [-np.inf, 0, np.inf, np.nan])


def test_unique_checks_its_axis():
    with pytest.raises(ValueError, match="axis 2 of unique is outside of a tensor of rank 2"):
        get_global_func("relax.run.unique")(tvm.runtime.tensor(np.ones((2, 2))), 1, 0, 0, 0, 2)


@pytest.mark.parametrize("mode", MODES)
def test_unique_compiles(mode):
    x = np.array([3, 1, 3, 2, 1], "int32")

    def make(bb, x):
        flags = [relax.prim_value(v) for v in (1, 0, 0, 1)]
        return bb.emit(relax.op.unique(x, *flags))

    values, counts = compiled([param("x", (5,), "int32")], make, mode)(tvm.runtime.tensor(x))
    np.testing.assert_array_equal(values.numpy(), [1, 2, 3])
    np.testing.assert_array_equal(counts.numpy(), [2, 1, 2])


def test_shape_to_tensor():
    import tvm_ffi

    out = get_global_func("relax.run.shape_to_tensor")(tvm_ffi.Shape([2, 0, 5]))
    np.testing.assert_array_equal(out.numpy(), [2, 0, 5])
    assert out.numpy().dtype == np.int64


@pytest.mark.parametrize("mode", MODES)
def test_print(mode, capfd):
    def make(bb, x):
        bb.emit(relax.op.print(x, relax.prim_value(3), format="x = {}, {1} {{}}"))
        bb.emit(relax.op.print(x))
        return x

    f = compiled([param("x", (2, 2))], make, mode, pure=False)
    f(tvm.runtime.tensor(np.array([[1, 2.5], [-3, np.inf]], "float32")))
    out = capfd.readouterr().out.splitlines()
    assert out == ["x = [[1, 2.5], [-3, inf]], 3 {}", "[[1, 2.5], [-3, inf]]"]


@pytest.mark.parametrize("mode", MODES)
def test_assert(mode):
    def make(bb, cond):
        bb.emit(relax.op.assert_op(cond, [relax.prim_value(7)], format="number {}"))
        return cond

    f = compiled([param("cond", (), "bool")], make, mode, pure=False)
    f(tvm.runtime.tensor(np.array(True)))
    with pytest.raises(AssertionError, match="Assertion Failed: number 7"):
        f(tvm.runtime.tensor(np.array(False)))


@pytest.mark.parametrize(
    "text, kind, message",
    [("{", ValueError, "single"), ("{:d}", ValueError, "only {} and"), ("{2}", IndexError, "of 1")],
)
def test_bad_formats(text, kind, message):
    with pytest.raises(kind, match=message):
        get_global_func("relax.run.print")(text, 1)


@pytest.mark.parametrize("mode", MODES)
def test_hint_on_device(mode):
    x = np.arange(4, dtype="float32")
    f = compiled(
        [param("x", (4,))],
        lambda bb, x: bb.emit(relax.op.negative(bb.emit(relax.op.hint_on_device(x, tvm.cpu(0))))),
        mode,
    )
    np.testing.assert_array_equal(f(tvm.runtime.tensor(x)).numpy(), -x)


@pytest.mark.parametrize("mode", MODES)
def test_python_functions(mode):
    get_global_func("vm.builtin.register_py_func")(
        "test.vm.add", lambda a, b: tvm.runtime.tensor(a.numpy() + b.numpy())
    )
    f = compiled(
        [param("x", (4,)), param("y", (4,))],
        lambda bb, x, y: bb.emit(relax.op.call_py_func("test.vm.add", (x, y), x.ty)),
        mode,
    )
    x = np.arange(4, dtype="float32")
    out = f(tvm.runtime.tensor(x), tvm.runtime.tensor(x + 1))
    np.testing.assert_array_equal(out.numpy(), 2 * x + 1)
