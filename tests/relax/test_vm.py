# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""The virtual machine behaves the same whether it interprets functions or runs them compiled."""

import numpy as np
import pytest

import tvm
import tvm_ffi
from tvm import relax
from tvm.tirx import Var as SymVar

MODES = ["bytecode", "compiled"]


@pytest.fixture(params=MODES)
def mode(request):
    return request.param


def tensor_type(*shape, dtype="float32"):
    return relax.TensorType(list(shape), dtype)


def param(name, *shape, dtype="float32"):
    return relax.Var(name, tensor_type(*shape, dtype=dtype))


def symbol(name):
    return SymVar(name, "int64")


def rand(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def machine(mod, mode, **kw):
    return relax.VirtualMachine(relax.build(mod, "llvm", exec_mode=mode, **kw), tvm.cpu())


def to_numpy(value):
    return value.numpy() if hasattr(value, "numpy") else [to_numpy(v) for v in value]


def add_function(bb, name, params, body, **kw):
    """Adds a function whose result is body(bb, *params)."""
    with bb.function(name, params, **kw):
        out = body(bb, *params)
        return bb.emit_func_output(out)


def test_exec_mode_is_checked():
    bb = relax.BlockBuilder()
    add_function(bb, "main", [param("x", 2)], lambda bb, x: x)
    with pytest.raises(ValueError, match="exec_mode must be 'bytecode' or 'compiled', but got 'x'"):
        relax.build(bb.get(), "llvm", exec_mode="x")


def test_functions_are_of_their_kind(mode):
    bb = relax.BlockBuilder()
    add_function(bb, "main", [param("x", 2)], lambda bb, x: bb.emit(relax.op.exp(x)))
    ex = relax.build(bb.get(), "llvm", exec_mode=mode)
    native = "@main num_inputs=1 vm_tir_func;" in ex.as_text()
    assert native == (mode == "compiled")


def test_elementwise_and_matmul(mode):
    x, w = rand(4, 8), rand(8, 3, seed=1)
    bb = relax.BlockBuilder()

    def body(bb, a):
        y = bb.emit(relax.op.matmul(a, relax.const(w)))
        return bb.emit(relax.op.nn.softmax(bb.emit(relax.op.nn.relu(y)), axis=-1))

    add_function(bb, "main", [param("a", 4, 8)], body)
    h = np.maximum(x @ w, 0)
    e = np.exp(h - h.max(-1, keepdims=True))
    out = machine(bb.get(), mode)["main"](tvm.runtime.tensor(x))
    np.testing.assert_allclose(out.numpy(), e / e.sum(-1, keepdims=True), rtol=1e-4, atol=1e-6)


def test_nested_tuples(mode):
    bb = relax.BlockBuilder()

    def body(bb, x):
        y = bb.emit(relax.op.negative(x))
        return relax.Tuple([x, relax.Tuple([y, bb.emit(relax.op.add(x, x))]), relax.ShapeExpr([7])])

    add_function(bb, "main", [param("x", 3)], body)
    x = rand(3)
    first, (second, third), shape = machine(bb.get(), mode)["main"](tvm.runtime.tensor(x))
    np.testing.assert_array_equal(first.numpy(), x)
    np.testing.assert_array_equal(second.numpy(), -x)
    np.testing.assert_array_equal(third.numpy(), x + x)
    assert list(shape) == [7]


def test_tuple_parameter(mode):
    t = relax.Var("t", relax.TupleType([tensor_type(2), relax.TupleType([tensor_type(2)])]))
    bb = relax.BlockBuilder()

    def body(bb, t):
        a = bb.emit(relax.TupleGetItem(t, 0))
        inner = bb.emit(relax.TupleGetItem(t, 1))
        return bb.emit(relax.op.subtract(a, bb.emit(relax.TupleGetItem(inner, 0))))

    add_function(bb, "main", [t], body)
    vm = machine(bb.get(), mode)
    a, b = rand(2), rand(2, seed=1)
    out = vm["main"]((tvm.runtime.tensor(a), (tvm.runtime.tensor(b),)))
    np.testing.assert_allclose(out.numpy(), a - b)


def branching(nested=False):
    bb = relax.BlockBuilder()
    cond = param("cond", dtype="bool")
    x = param("x", 4)

    def branch(op, *operands):
        var = relax.Var("r", tensor_type(4))
        block = relax.BindingBlock([relax.VarBinding(var, op(*operands))])
        return relax.SeqExpr([block], var)

    with bb.function("main", [cond, x]):
        true = branch(relax.op.exp, x)
        if nested:
            inner = relax.Var("i", tensor_type(4))
            choice = relax.If(cond, branch(relax.op.exp, x), branch(relax.op.negative, x))
            true = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(inner, choice)])], inner)
        y = bb.emit(relax.If(cond, true, branch(relax.op.sqrt, x)))
        bb.emit_func_output(bb.emit(relax.op.add(y, y)))
    return bb.get()


@pytest.mark.parametrize("nested", [False, True])
def test_branches(mode, nested):
    vm = machine(branching(nested), mode)
    x = np.abs(rand(4))
    for cond, expected in [(True, np.exp(x)), (False, np.sqrt(x))]:
        out = vm["main"](tvm.runtime.tensor(np.array(cond)), tvm.runtime.tensor(x))
        np.testing.assert_allclose(out.numpy(), 2 * expected, rtol=1e-5)


def test_calls_of_public_and_private_functions(mode):
    bb = relax.BlockBuilder()
    x = param("x", 4)
    double = add_function(
        bb, "double", [param("a", 4)], lambda bb, a: bb.emit(relax.op.add(a, a)), private=True
    )
    square = add_function(
        bb, "square", [param("a", 4)], lambda bb, a: bb.emit(relax.op.multiply(a, a))
    )
    add_function(
        bb,
        "main",
        [x],
        lambda bb, x: bb.emit(relax.Call(double, [bb.emit(relax.Call(square, [x]))])),
    )
    vm = machine(bb.get(), mode)
    v = rand(4)
    np.testing.assert_allclose(vm["main"](tvm.runtime.tensor(v)).numpy(), 2 * v * v, rtol=1e-6)
    np.testing.assert_allclose(vm["square"](tvm.runtime.tensor(v)).numpy(), v * v, rtol=1e-6)
    with pytest.raises(ValueError, match="Unknown function: nothing"):
        vm.set_input("nothing", tvm.runtime.tensor(v))


def dynamic_module():
    n = symbol("n")
    bb = relax.BlockBuilder()

    def body(bb, x, y):
        z = bb.emit(relax.op.add(x, y))
        flat = bb.emit(relax.op.reshape(z, relax.ShapeExpr([n * 4])))
        return relax.Tuple([bb.emit(relax.op.exp(flat)), bb.emit(relax.op.shape_of(z))])

    add_function(bb, "main", [param("x", n, 4), param("y", n, 4)], body)
    return bb.get()


def test_symbolic_shapes(mode):
    vm = machine(dynamic_module(), mode)
    for n in (3, 1, 7, 0, 3):
        x, y = rand(n, 4), rand(n, 4, seed=1)
        out, shape = vm["main"](tvm.runtime.tensor(x), tvm.runtime.tensor(y))
        np.testing.assert_allclose(out.numpy(), np.exp(x + y).reshape(-1), rtol=1e-5)
        assert list(shape) == [n, 4]


def error_of(call):
    with pytest.raises(Exception) as info:
        call()
    return type(info.value), str(info.value).splitlines()[0]


def test_argument_checks_are_the_same_in_both_modes():
    machines = [machine(dynamic_module(), m) for m in MODES]
    good = tvm.runtime.tensor(rand(3, 4))
    cases = {
        "rank": (good, tvm.runtime.tensor(rand(3))),
        "extent": (tvm.runtime.tensor(rand(3, 5)), good),
        "symbol": (good, tvm.runtime.tensor(rand(2, 4))),
        "dtype": (good, tvm.runtime.tensor(rand(3, 4).astype("float64"))),
        "kind": (good, tvm_ffi.Shape([1])),
        "arity": (good,),
    }
    for name, args in cases.items():
        bytecode, native = (error_of(lambda vm=vm, args=args: vm["main"](*args)) for vm in machines)
        assert bytecode == native, name
    for vm in machines:
        assert (
            error_of(lambda vm=vm: vm["main"](good, tvm.runtime.tensor(rand(3))))[0] is ValueError
        )
        kind, text = error_of(lambda vm=vm: vm["main"](good, tvm.runtime.tensor(rand(2, 4))))
        assert kind is RuntimeError and "mismatch to a previous populated value" in text
        assert error_of(lambda vm=vm: vm["main"](good, 3))[0] is TypeError
        # A machine works on after an error.
        out, _ = vm["main"](good, good)
        np.testing.assert_allclose(out.numpy(), np.exp(2 * good.numpy()).reshape(-1), rtol=1e-5)


def test_match_cast(mode):
    m = symbol("m")
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(dtype="float32", ndim=2))

    def body(bb, x):
        y = bb.match_cast(x, tensor_type(m, m * 2))
        return bb.emit(relax.op.negative(y))

    add_function(bb, "main", [x], body)
    vm = machine(bb.get(), mode)
    v = rand(2, 4)
    np.testing.assert_array_equal(vm["main"](tvm.runtime.tensor(v)).numpy(), -v)
    with pytest.raises(RuntimeError, match="match_cast"):
        vm["main"](tvm.runtime.tensor(rand(2, 5)))


@pytest.fixture
def registered():
    """Registers global functions for one test."""
    names = []

    def register(name, func):
        tvm_ffi.register_global_func(name, func, override=True)
        names.append(name)

    yield register
    for name in names:
        tvm_ffi.registry.remove_global_func(name)


def packed_module(name, *args, ty):
    bb = relax.BlockBuilder()
    x = param("x", 2)
    with bb.function("main", [x], pure=False):
        call = relax.Call(relax.ExternFunc(name), [x, *args], None, [ty])
        bb.emit_func_output(bb.emit(call))
    return bb.get()


def test_packed_calls_take_every_kind_of_argument(mode, registered):
    seen = []

    def func(x, text, long_text, number, real, shape, dtype):
        seen.append((text, long_text, number, real, tuple(shape), str(dtype)))
        return x

    registered("test.vm.kinds", func)
    long_text = "a string that is longer than a small one"
    mod = packed_module(
        "test.vm.kinds",
        relax.StringImm("small"),
        relax.StringImm(long_text),
        relax.prim_value(2**61 + 1),
        relax.prim_value(0.1),
        relax.ShapeExpr([3, 4]),
        relax.DataTypeImm("int8"),
        ty=tensor_type(2),
    )
    vm = machine(mod, mode)
    v = rand(2)
    for _ in range(3):
        np.testing.assert_array_equal(vm["main"](tvm.runtime.tensor(v)).numpy(), v)
    assert seen == [("small", long_text, 2**61 + 1, 0.1, (3, 4), "int8")] * 3


class Custom(Exception):
    pass


def test_exceptions_of_callbacks_arrive_as_themselves(mode, registered):
    def func(_x):
        raise Custom("from a callback")

    registered("test.vm.raises", func)
    vm = machine(packed_module("test.vm.raises", ty=tensor_type(2)), mode)
    for _ in range(3):
        with pytest.raises(Custom, match="from a callback"):
            vm["main"](tvm.runtime.tensor(rand(2)))


def test_unknown_packed_function_is_named(mode):
    ex = relax.build(packed_module("test.vm.absent", ty=tensor_type(2)), "llvm", exec_mode=mode)
    with pytest.raises(Exception, match="Cannot find ffi::Function test.vm.absent"):
        relax.VirtualMachine(ex, tvm.cpu())


def test_void_calls_run(mode, registered):
    seen = []
    registered("test.vm.effect", lambda x: seen.append(x.numpy()[0]) or None)
    bb = relax.BlockBuilder()
    x = param("x", 2)
    with bb.function("main", [x], pure=False):
        bb.emit(relax.Call(relax.ExternFunc("test.vm.effect"), [x], None, [relax.TupleType([])]))
        bb.emit_func_output(x)
    vm = machine(bb.get(), mode)
    vm["main"](tvm.runtime.tensor(np.array([5, 6], "float32")))
    assert seen == [5]


def test_closures(mode):
    bb = relax.BlockBuilder()
    a = param("a", 2)
    sub = add_function(
        bb,
        "sub",
        [param("p", 2), param("q", 2)],
        lambda bb, p, q: bb.emit(relax.op.subtract(p, q)),
        private=True,
    )
    b = param("b", 2)
    with bb.function("main", [a, b], pure=False):
        closure = bb.emit(relax.op.make_closure(sub, [b]))
        out = bb.emit(relax.op.invoke_closure(closure, [a], tensor_type(2)))
        bb.emit_func_output(out)
    with bb.function("maker", [b]):
        bb.emit_func_output(bb.emit(relax.op.make_closure(sub, [b])))
    vm = machine(bb.get(), mode)
    x, y = rand(2), rand(2, seed=1)
    out = vm["main"](tvm.runtime.tensor(x), tvm.runtime.tensor(y))
    np.testing.assert_allclose(out.numpy(), x - y)
    closure = vm["maker"](tvm.runtime.tensor(y))
    out = vm.invoke_closure(closure, tvm.runtime.tensor(x))
    np.testing.assert_allclose(out.numpy(), x - y)


def test_stateful_interface(mode):
    vm = machine(dynamic_module(), mode)
    with pytest.raises(ValueError, match="No inputs set for stateful call of main"):
        vm.invoke_stateful("main")
    x, y = rand(2, 4), rand(2, 4, seed=1)
    vm.set_input("main", tvm.runtime.tensor(x), y=tvm.runtime.tensor(y))
    with pytest.raises(ValueError, match='No output saved for call of "main"'):
        vm.get_outputs("main")
    vm.invoke_stateful("main")
    out, shape = vm.get_outputs("main")
    np.testing.assert_allclose(out.numpy(), np.exp(x + y).reshape(-1), rtol=1e-5)
    assert list(shape) == [2, 4]


def test_saved_functions_and_timing(mode):
    vm = machine(dynamic_module(), mode)
    x = tvm.runtime.tensor(rand(2, 4))
    vm.save_function("main", "saved", x, x)
    out, _ = vm["saved"]()
    np.testing.assert_allclose(out.numpy(), np.exp(2 * x.numpy()).reshape(-1), rtol=1e-5)
    assert vm.time_evaluator("saved", tvm.cpu(), number=2, repeat=2)().mean > 0


def test_results_stay_valid(mode):
    """Storage that a result occupies is not used again while the caller holds the result."""
    vm = machine(dynamic_module(), mode)
    inputs = [rand(2, 4, seed=i) for i in range(6)]
    results = [vm["main"](tvm.runtime.tensor(v), tvm.runtime.tensor(v))[0] for v in inputs]
    for v, r in zip(inputs, results):
        np.testing.assert_allclose(r.numpy(), np.exp(2 * v).reshape(-1), rtol=1e-5)


def test_naive_allocator(mode):
    ex = relax.build(dynamic_module(), "llvm", exec_mode=mode)
    vm = relax.VirtualMachine(ex, tvm.cpu(), memory_cfg="naive")
    x = tvm.runtime.tensor(rand(2, 4))
    out, _ = vm["main"](x, x)
    np.testing.assert_allclose(out.numpy(), np.exp(2 * x.numpy()).reshape(-1), rtol=1e-5)


@pytest.mark.parametrize("make", [dynamic_module, branching])
def test_export_and_load(mode, make, tmp_path):
    path = str(tmp_path / "lib.so")
    relax.build(make(), "llvm", exec_mode=mode).export_library(path)
    vm = relax.VirtualMachine(tvm.runtime.load_module(path), tvm.cpu())
    if make is dynamic_module:
        x = rand(5, 4)
        out, _ = vm["main"](tvm.runtime.tensor(x), tvm.runtime.tensor(x))
        np.testing.assert_allclose(out.numpy(), np.exp(2 * x).reshape(-1), rtol=1e-5)
    else:
        x = np.abs(rand(4))
        out = vm["main"](tvm.runtime.tensor(np.array(True)), tvm.runtime.tensor(x))
        np.testing.assert_allclose(out.numpy(), 2 * np.exp(x), rtol=1e-5)


def test_constants_of_an_exported_library(mode, tmp_path):
    w = rand(64, 64)
    bb = relax.BlockBuilder()
    add_function(
        bb, "main", [param("x", 2, 64)], lambda bb, x: bb.emit(relax.op.matmul(x, relax.const(w)))
    )
    path = str(tmp_path / "lib.so")
    tvm.compile(bb.get(), "llvm", exec_mode=mode).export_library(path)
    vm = relax.VirtualMachine(tvm.runtime.load_module(path), tvm.cpu())
    x = rand(2, 64, seed=1)
    np.testing.assert_allclose(
        vm["main"](tvm.runtime.tensor(x)).numpy(), x @ w, rtol=1e-3, atol=1e-4
    )


def test_many_calls_in_many_threads(mode):
    import threading

    vm = machine(dynamic_module(), mode)
    failures = []

    def work(seed):
        for i in range(50):
            x = rand(1 + (seed + i) % 5, 4, seed=seed)
            out, _ = vm["main"](tvm.runtime.tensor(x), tvm.runtime.tensor(x))
            if not np.allclose(out.numpy(), np.exp(2 * x).reshape(-1), rtol=1e-4):
                failures.append((seed, i))

    threads = [threading.Thread(target=work, args=(s,)) for s in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


@pytest.mark.parametrize("make", [dynamic_module, branching])
def test_c_target(mode, make, tmp_path):
    import shutil

    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    with tvm.transform.PassContext(config={"tirx.disable_vectorize": True}):
        ex = relax.build(make(), "c", exec_mode=mode)
    path = str(tmp_path / "lib.so")
    ex.export_library(path)
    vm = relax.VirtualMachine(tvm.runtime.load_module(path), tvm.cpu())
    if make is dynamic_module:
        x = rand(5, 4)
        out, _ = vm["main"](tvm.runtime.tensor(x), tvm.runtime.tensor(x))
        np.testing.assert_allclose(out.numpy(), np.exp(2 * x).reshape(-1), rtol=1e-5)
        with pytest.raises(TypeError, match="expect a Tensor but get int"):
            vm["main"](tvm.runtime.tensor(x), 3)
    else:
        x = np.abs(rand(4))
        for cond, expected in [(True, np.exp(x)), (False, np.sqrt(x))]:
            out = vm["main"](tvm.runtime.tensor(np.array(cond)), tvm.runtime.tensor(x))
            np.testing.assert_allclose(out.numpy(), 2 * expected, rtol=1e-5)
