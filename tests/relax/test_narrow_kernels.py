# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Products and convolutions of bytes and bfloat16: constant weights are packed in words, and the
results are those of plain arithmetic."""

import ml_dtypes
import numpy as np
import pytest

import tvm
from tvm import relax

CPUS = ["native", "cascadelake", "x86-64-v3", "x86-64"]


def target_of(cpu):
    features = set(tvm.get_global_func("target.CpuFeatures")(target_for("native"))["features"])
    needs = {"cascadelake": "+avx512vnni", "x86-64-v3": "+avx2", "x86-64": "+sse4.1"}
    if cpu in needs and needs[cpu] not in features:
        pytest.skip(f"this machine cannot run code for {cpu}")
    return target_for(cpu)


def target_for(cpu):
    return tvm.target.Target({"kind": "llvm", "mcpu": cpu})


def random(rng, shape, dtype):
    if dtype == "bfloat16":
        return rng.standard_normal(shape, np.float32).astype(ml_dtypes.bfloat16)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max + 1, shape, dtype)


def run(build, shape, dtype, x, target):
    builder = relax.BlockBuilder()
    arg = relax.Var("x", relax.TensorType(shape, dtype))
    with builder.function("main", [arg]):
        with builder.dataflow():
            out = builder.emit_output(build(builder, arg))
        builder.emit_func_output(out)
    vm = relax.VirtualMachine(tvm.compile(builder.get(), target), tvm.cpu())
    return vm["main"](tvm.runtime.tensor(x)).numpy()


def constant(value, dtype):
    return relax.const(tvm.runtime.tensor(value), dtype)


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("left", ["uint8", "int8", "bfloat16"])
def test_matmul_with_constant_weight(cpu, left):
    target = target_of(cpu)
    rng = np.random.default_rng(3)
    right = "bfloat16" if left == "bfloat16" else "int8"
    out = "float32" if left == "bfloat16" else "int32"
    x, w = random(rng, (13, 35), left), random(rng, (35, 50), right)
    got = run(
        lambda b, a: relax.op.matmul(a, constant(w, right), out_dtype=out),
        x.shape,
        left,
        x,
        target,
    )
    want = x.astype(np.float64) @ w.astype(np.float64)
    if out == "int32":
        np.testing.assert_array_equal(got, want)
    else:
        np.testing.assert_allclose(got, want, atol=1e-4)


@pytest.mark.parametrize("left", ["uint8", "int8"])
def test_convolution_of_bytes_with_requantization(left):
    rng = np.random.default_rng(4)
    x, w = random(rng, (1, 6, 9, 9), left), random(rng, (20, 6, 3, 3), "int8")

    def build(b, a):
        y = b.emit(relax.op.nn.conv2d(a, constant(w, "int8"), padding=1, out_dtype="int32"))
        y = b.emit(relax.op.multiply(relax.op.astype(y, "float32"), relax.const(0.001, "float32")))
        return b.emit(relax.op.astype(relax.op.clip(relax.op.round(y), -128, 127), "int8"))

    got = run(build, x.shape, left, x, target_for("native"))
    padded = np.pad(x.astype(np.int64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    total = np.einsum("nchwij,ocij->nohw", windows, w.astype(np.int64))
    want = np.clip(np.round(total.astype(np.float32) * np.float32(0.001)), -128, 127)
    np.testing.assert_array_equal(got, want.astype(np.int8))


def test_constant_weight_is_packed_in_words():
    """On a target with VNNI the weight of a signed product has the column sums in front."""
    weight = np.arange(5 * 3, dtype=np.int8).reshape(5, 3) - 7
    builder = relax.BlockBuilder()
    arg = relax.Var("x", relax.TensorType((4, 5), "int8"))
    with builder.function("main", [arg]):
        with builder.dataflow():
            product = relax.op.matmul(arg, constant(weight, "int8"), out_dtype="int32")
            out = builder.emit_output(builder.emit(product))
        builder.emit_func_output(out)
    lowered = []

    @tvm.instrument.pass_instrument
    class Watch:
        def run_before_pass(self, mod, info):
            if info.name == "DispatchKernels":
                lowered.append(mod)

    with tvm.transform.PassContext(instruments=[Watch()]):
        tvm.compile(builder.get(), target_for("cascadelake"))
    packed = [
        expr.data.numpy()
        for expr in constants_of(lowered[0]["main"])
        if expr.data.dtype == "int8" and len(expr.data.shape) == 4
    ]
    assert [p.shape for p in packed] == [(1, 3, 16, 4)]
    sums = np.ascontiguousarray(packed[0][0, 0]).view(np.int32)[:, 0]
    np.testing.assert_array_equal(sums[:3], -128 * weight.sum(0, dtype=np.int32))
    np.testing.assert_array_equal(packed[0][0, 1, :3], weight[:4].T)
    np.testing.assert_array_equal(packed[0][0, 2, :3, 0], weight[4])
    assert not packed[0][0, 2, :, 1:].any() and not packed[0][0, :, 3:].any()


def constants_of(function):
    found = []
    relax.analysis.post_order_visit(
        function, lambda e: found.append(e) if isinstance(e, relax.Constant) else None
    )
    return found
