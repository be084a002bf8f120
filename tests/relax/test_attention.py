# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Attention, written as one operator or as products and a softmax, becomes one streaming kernel."""

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.relax import op

TARGET = "llvm"


def module(shapes, make, dtype="float32"):
    """One function over inputs of `shapes`; make(*inputs) gives its result."""
    bb = relax.BlockBuilder()
    params = [relax.Var(f"x{i}", relax.TensorType(list(s), dtype)) for i, s in enumerate(shapes)]
    with bb.function("main", params):
        with bb.dataflow():
            out = make(bb, *params)
            out = [bb.emit_output(o) for o in (out if isinstance(out, list) else [out])]
        bb.emit_func_output(out[0] if len(out) == 1 else relax.Tuple(out))
    return bb.get()


def kernels(mod, precision="float32", target=TARGET, **config):
    """The kernels of a module, as pairs of rule and function, in the order of rules."""
    target = tvm.target.Target(target)
    with target, tvm.transform.PassContext(config=config):
        lowered = relax.get_pipeline("zero", target, precision=precision)(mod)
    functions = [f for f in lowered.functions.values() if isinstance(f, tvm.tirx.PrimFunc)]
    return sorted(((str(f.attrs["kernel_rule"]), f) for f in functions), key=lambda pair: pair[0])


def rules(mod, precision="float32", **config):
    return [rule for rule, _ in kernels(mod, precision, **config)]


def run(mod, inputs, pipeline="default", precision="float32"):
    ex = relax.build(mod, TARGET, relax_pipeline=pipeline, precision=precision)
    out = relax.VirtualMachine(ex, tvm.cpu())["main"](*[tvm.runtime.tensor(x) for x in inputs])
    return out.numpy() if hasattr(out, "numpy") else [o.numpy() for o in out]


def rand(shapes, dtype="float32"):
    rng = np.random.default_rng(1)
    return [rng.standard_normal(s).astype(dtype) for s in shapes]


def check(shapes, make, want):
    """The kernels that come out, and the result against every operator by itself."""
    mod = module(shapes, make)
    assert rules(mod) == want
    inputs = rand(shapes)
    fast, plain = run(mod, inputs), run(mod, inputs, "plain")
    for a, b in zip(*(x if isinstance(x, list) else [x] for x in (fast, plain))):
        np.testing.assert_allclose(a, b, atol=1e-5 * np.abs(b[np.isfinite(b)]).max(), rtol=0)


def heads(bb, x, axes=(0, 2, 1, 3)):
    return bb.emit(op.permute_dims(x, axes))


def products(bb, q, k, v, score=lambda bb, s: s):
    """softmax(score(q k^T)) v over [batch, head, position, channel]."""
    s = bb.emit(op.matmul(q, heads(bb, k, (0, 1, 3, 2))))
    p = bb.emit(op.nn.softmax(score(bb, s), axis=-1))
    return bb.emit(op.matmul(p, v))


@pytest.mark.parametrize("queries, keys", [(1, 1), (1, 40), (3, 7), (33, 33), (20, 150)])
def test_heads_are_read_and_written_in_place(queries, keys):
    def make(bb, q, k, v, mask):
        def score(bb, s):
            s = bb.emit(op.divide(s, relax.const(4.0)))
            return bb.emit(op.add(s, mask))

        out = products(bb, heads(bb, q), heads(bb, k), heads(bb, v), score)
        return heads(bb, out)

    qkv = [(2, queries, 3, 16), (2, keys, 3, 16), (2, keys, 3, 16)]
    # A transpose that moves unit dimensions only is no kernel either.
    assert rules(module([*qkv, (1, 1, 1, keys)], make)) == ["attention"]
    check([*qkv, (1, 1, 1, keys)], make, ["attention"])
    check([*qkv, (queries, keys)], make, ["attention"])


def test_where_masks_and_what_follows_join():
    def make(bb, q, k, v, mask, bias):
        def score(bb, s):
            seen = bb.emit(op.greater(mask, relax.const(0.0)))
            return bb.emit(op.where(seen, s, relax.const(-1e9)))

        return bb.emit(op.add(products(bb, q, k, v, score), bias))

    shapes = [(1, 2, 21, 8)] * 3 + [(1, 1, 21, 21), (1, 2, 21, 8)]
    assert "attention" in rules(module(shapes, make))
    inputs = rand(shapes)
    mod = module(shapes, make)
    np.testing.assert_allclose(run(mod, inputs), run(mod, inputs, "plain"), atol=1e-5)


def test_a_cache_of_keys_is_read_where_it_lies():
    def make(bb, q, k, v, past_k, past_v):
        k = bb.emit(op.concat([past_k, k], axis=2))
        v = bb.emit(op.concat([past_v, v], axis=2))
        return [products(bb, q, k, v), k, v]

    shapes = [(1, 3, 1, 16)] * 3 + [(1, 3, 30, 16)] * 2
    check(shapes, make, ["attention", "map"])


@pytest.mark.parametrize("make", ["shared scores", "other axis", "two readers"])
def test_other_patterns_stay_apart(make):
    def shared_scores(bb, q, k, v):
        s = bb.emit(op.matmul(q, heads(bb, k, (0, 1, 3, 2))))
        return [bb.emit(op.matmul(bb.emit(op.nn.softmax(s)), v)), s]

    def other_axis(bb, q, k, v):
        s = bb.emit(op.matmul(q, heads(bb, k, (0, 1, 3, 2))))
        return bb.emit(op.matmul(bb.emit(op.nn.softmax(s, axis=2)), v))

    def two_readers(bb, q, k, v):
        s = bb.emit(op.matmul(q, heads(bb, k, (0, 1, 3, 2))))
        p = bb.emit(op.nn.softmax(s))
        return [bb.emit(op.matmul(p, v)), p]

    make = {f.__name__.replace("_", " "): f for f in (shared_scores, other_axis, two_readers)}[make]
    shapes = [(1, 2, 12, 12)] * 3
    assert "attention" not in rules(module(shapes, make))
    inputs = rand(shapes)
    mod = module(shapes, make)
    fast, plain = run(mod, inputs), run(mod, inputs, "plain")
    for a, b in zip(*(x if isinstance(x, list) else [x] for x in (fast, plain))):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_only_float32_and_a_switch():
    def make(bb, q, k, v):
        return products(bb, q, k, v)

    shapes = [(1, 2, 12, 8)] * 3
    assert "attention" not in rules(module(shapes, make, "float64"))
    assert rules(module(shapes, make)) == ["attention"]
    assert "attention" not in rules(module(shapes, make), **{"kernels.attention": False})


def relative(got, want):
    return np.abs(got - want).max() / np.abs(want).max()


def projected_attention(queries, keys):
    """Attention between projections, with the shapes of its inputs."""

    def make(bb, x, y, mask):
        def projected(x, length, seed):
            rng = np.random.default_rng(seed)
            w = relax.const((0.07 * rng.standard_normal((192, 192))).astype("float32"))
            heads_of = bb.emit(op.reshape(bb.emit(op.matmul(x, w)), (2, length, 3, 64)))
            return heads(bb, heads_of)

        def score(bb, s):
            s = bb.emit(op.divide(s, relax.const(8.0)))
            return bb.emit(op.add(s, mask))

        k, v = projected(y, keys, 3), projected(y, keys, 4)
        out = heads(bb, products(bb, projected(x, queries, 2), k, v, score))
        out = bb.emit(op.reshape(out, (2, queries, 192)))
        w = relax.const(np.random.default_rng(5).standard_normal((192, 192)).astype("float32"))
        return bb.emit(op.matmul(out, w))

    shapes = [(2, queries, 192), (2, keys, 192), (1, 1, 1, keys)]
    return module(shapes, make), rand(shapes)


@pytest.mark.parametrize("queries, keys", [(1, 40), (33, 33), (20, 150), (130, 400)])
def test_products_in_bfloat16_stream_too(queries, keys):
    mod, inputs = projected_attention(queries, keys)
    found = rules(mod, "bf16")
    assert found.count("attention") == 1 and "row" not in found
    exact = run(mod, inputs)
    fast, plain = (run(mod, inputs, pipeline, "bf16") for pipeline in ("default", "plain"))
    assert 0 < relative(fast, exact) < 2e-2
    # No worse than operator by operator.
    assert relative(fast, exact) < 1.5 * relative(plain, exact)


@pytest.mark.parametrize("queries, keys, narrow", [(33, 33, False), (130, 400, True)])
def test_scores_in_float32_stream_with_values_in_pairs(queries, keys, narrow):
    """Scores are in bfloat16 where they are many beside the rest."""
    mod, _ = projected_attention(queries, keys)
    found = kernels(mod, "bf16", {"kind": "llvm", "mcpu": "cooperlake", "mattr": ["-avx512fp16"]})
    (code,) = [func.script() for rule, func in found if rule == "attention"]
    (queries_in,) = [line for line in code.splitlines() if "packed_q = " in line]
    (weights_in,) = [line for line in code.splitlines() if "weights = " in line]
    assert ('"bfloat16"' in queries_in) == narrow and '"bfloat16"' in weights_in


def test_a_cache_that_is_a_result_stays_in_float32():
    def make(bb, q, k, v, past_k, past_v):
        k = bb.emit(op.concat([past_k, k], axis=2))
        v = bb.emit(op.concat([past_v, v], axis=2))
        return [products(bb, q, k, v), k, v]

    shapes = [(1, 3, 1, 16)] * 3 + [(1, 3, 30, 16)] * 2
    mod, inputs = module(shapes, make), rand(shapes)
    # Keys and values are rounded where they are read, by no kernel of its own.
    assert rules(mod, "bf16") == ["attention", "map"]
    exact, got = run(mod, inputs), run(mod, inputs, precision="bf16")
    np.testing.assert_array_equal(got[1], exact[1])
    np.testing.assert_array_equal(got[2], exact[2])
    assert relative(got[0], exact[0]) < 2e-2


def softmax_oracle(q, k, v, bias, causal, window):
    q, k, v = (x.astype("float64").transpose(0, 2, 1, 3) for x in (q, k, v))
    s = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])
    s = s if bias is None else s + bias
    if causal is not None:
        i = np.arange(s.shape[2])[:, None] + (0 if causal == "TopLeft" else s.shape[3] - s.shape[2])
        j = np.arange(s.shape[3])[None]
        seen = (j <= i) & (window is None or i - j < window)
        s = np.where(seen, s, -np.inf)
    with np.errstate(invalid="ignore"):
        e = np.exp(s - s.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True) @ v).transpose(0, 2, 1, 3)


@pytest.mark.parametrize("queries, keys", [(1, 200), (5, 7), (40, 200), (200, 60), (300, 300)])
@pytest.mark.parametrize(
    "causal, window", [(None, None), ("TopLeft", None), ("BottomRight", None), ("BottomRight", 9)]
)
def test_the_operator(queries, keys, causal, window):
    biased = queries in (1, 40)
    shapes = [(2, queries, 2, 16), (2, keys, 2, 16), (2, keys, 2, 24)]
    shapes += [(2, 2, queries, keys)] if biased else []

    def make(bb, q, k, v, bias=None):
        return bb.emit(op.nn.attention(q, k, v, bias, None, causal, window))

    mod = module(shapes, make)
    assert rules(mod) == ["attention"]
    inputs = rand(shapes)
    want = softmax_oracle(*inputs[:3], inputs[3] if biased else None, causal, window)
    np.testing.assert_allclose(run(mod, inputs), want, atol=1e-5)
