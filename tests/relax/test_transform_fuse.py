# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Classification of kernels, grouping of calls, merging of groups into kernels."""

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.relax import transform
from tvm.tirx import Var as SymVar

ELEM, BROADCAST, INJECTIVE, REDUCE, PRODUCT, OPAQUE = 0, 1, 2, 3, 4, 8


def param(name, *shape, dtype="float32"):
    return relax.Var(name, relax.TensorType(list(shape), dtype))


def module(params, make, outputs=1):
    """One function `main` with one dataflow block; make(bb, *params) gives its result."""
    bb = relax.BlockBuilder()
    with bb.function("main", params):
        with bb.dataflow():
            out = make(bb, *params)
            out = [out] if outputs == 1 else out
            out = [bb.emit_output(o) for o in out]
        bb.emit_func_output(out[0] if outputs == 1 else relax.Tuple(out))
    return bb.get()


def legal(mod):
    return transform.AnnotateTIROpPattern()(transform.LegalizeOps()(mod))


def primitive(mod):
    return {
        gv.name_hint: f
        for gv, f in mod.functions.items()
        if isinstance(f, relax.Function) and f.attrs is not None and "Primitive" in f.attrs
    }


def calls_of(func):
    """Names of what the bindings of a function call."""
    names = []
    for block in func.body.blocks:
        for b in block.bindings:
            call = b.value
            if not isinstance(call, tvm.ir.Call):
                continue
            callee = call.args[0] if isinstance(call.op, tvm.ir.Op) else call.op
            names.append(callee.name_hint)
    return names


def rand(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def run(mod, *inputs):
    ex = relax.build(mod, "llvm", relax_pipeline="plain")
    out = relax.VirtualMachine(ex, tvm.cpu())["main"](*[tvm.runtime.tensor(x) for x in inputs])
    return out.numpy() if hasattr(out, "numpy") else [o.numpy() for o in out]


def fuse(mod, **kw):
    fused = transform.FuseOps(**kw)(legal(mod))
    relax.analysis.well_formed(fused)
    return fused


@pytest.mark.parametrize(
    "make, shapes, expected",
    [
        (lambda x: relax.op.exp(x), [(4, 5)], ELEM),
        (lambda x, y: relax.op.add(x, y), [(4, 5), (4, 5)], ELEM),
        # A bias next to an element-wise operand counts as element-wise.
        (lambda x, y: relax.op.add(x, y), [(4, 5), (5,)], ELEM),
        (lambda x: relax.op.broadcast_to(x, (4, 5)), [(5,)], BROADCAST),
        (lambda x: relax.op.permute_dims(x), [(4, 5)], INJECTIVE),
        (lambda x: relax.op.reshape(x, (20,)), [(4, 5)], INJECTIVE),
        (lambda x: relax.op.sum(x, axis=[1]), [(4, 5)], REDUCE),
        (lambda x: relax.op.max(x, axis=[0]), [(4, 5)], REDUCE),
        (lambda x, y: relax.op.matmul(x, y), [(4, 5), (5, 6)], PRODUCT),
        (lambda x, w: relax.op.nn.conv2d(x, w), [(1, 3, 8, 8), (4, 3, 3, 3)], PRODUCT),
        (lambda x: relax.op.nn.max_pool2d(x, pool_size=2), [(1, 3, 8, 8)], PRODUCT),
    ],
)
def test_patterns(make, shapes, expected):
    params = [param(f"x{i}", *s) for i, s in enumerate(shapes)]
    mod = legal(module(params, lambda bb, *p: make(*p)))
    kernels = [f for f in mod.functions.values() if isinstance(f, tvm.tirx.PrimFunc)]
    assert [int(f.attrs["op_pattern"]) for f in kernels] == [expected]


def test_gather_is_opaque():
    idx = param("i", 3, dtype="int64")
    mod = legal(module([param("x", 4, 5), idx], lambda bb, x, i: relax.op.take(x, i, axis=0)))
    kernels = [f for f in mod.functions.values() if isinstance(f, tvm.tirx.PrimFunc)]
    assert int(kernels[0].attrs["op_pattern"]) == OPAQUE


def test_annotated_patterns_stay():
    mod = legal(module([param("x", 4)], lambda bb, x: relax.op.exp(x)))
    gv = next(g for g, f in mod.functions.items() if isinstance(f, tvm.tirx.PrimFunc))
    mod[gv] = mod[gv].with_attr("op_pattern", 8)
    again = transform.AnnotateTIROpPattern()(mod)
    assert int(again[gv].attrs["op_pattern"]) == 8


def chain(bb, x):
    y = bb.emit(relax.op.add(x, relax.const(1.0)))
    y = bb.emit(relax.op.exp(y))
    return relax.op.nn.relu(y)


def test_a_chain_is_one_group():
    mod = fuse(module([param("x", 4, 5)], chain))
    groups = primitive(mod)
    assert list(groups) == ["fused_add_exp_relu"]
    assert calls_of(mod["main"]) == ["fused_add_exp_relu"]
    (group,) = groups.values()
    assert calls_of(group) == ["add", "exp", "relu"]
    assert "global_symbol" not in group.attrs


def test_before_and_after():
    """The exact function that fusing leaves."""
    x = param("x", 4, 5)
    before = legal(module([x], lambda bb, x: relax.op.negative(bb.emit(relax.op.exp(x)))))
    names = {g.name_hint: g for g in before.functions}
    after = transform.FuseOps()(before)

    bb = relax.BlockBuilder()
    p = param("x", 4, 5)
    with bb.function("fused", [p], private=True, attrs={"Primitive": True}):
        with bb.dataflow():
            lv = bb.emit(relax.op.call_tir(names["exp"], (p,), p.ty))
            gv = bb.emit_output(relax.op.call_tir(names["negative"], (lv,), p.ty))
        bb.emit_func_output(gv)
    expected = bb.get()["fused"]
    tvm.ir.assert_structural_equal(after["fused_exp_negative"], expected, map_free_vars=True)


def test_a_product_takes_what_follows_and_not_what_precedes():
    def make(bb, x, w):
        a = bb.emit(relax.op.exp(x))
        y = bb.emit(relax.op.matmul(a, w))
        return relax.op.nn.relu(bb.emit(relax.op.add(y, relax.const(rand(6)))))

    mod = fuse(module([param("x", 4, 5), param("w", 5, 6)], make))
    assert calls_of(mod["main"]) == ["exp", "fused_matmul_add_relu"]


def test_two_products_stay_apart():
    def make(bb, x, w, v):
        y = bb.emit(relax.op.nn.relu(bb.emit(relax.op.matmul(x, w))))
        return relax.op.nn.relu(bb.emit(relax.op.matmul(y, v)))

    mod = fuse(module([param("x", 4, 5), param("w", 5, 6), param("v", 6, 7)], make))
    assert calls_of(mod["main"]) == ["fused_matmul_relu", "fused_matmul1_relu1"]


def test_a_diamond_is_one_group():
    def make(bb, x):
        a = bb.emit(relax.op.exp(x))
        b = bb.emit(relax.op.negative(a))
        c = bb.emit(relax.op.sqrt(a))
        return relax.op.add(b, c)

    mod = fuse(module([param("x", 8)], make))
    assert calls_of(mod["main"]) == ["fused_exp_negative_sqrt_add"]


def test_values_that_escape_end_a_group():
    def make(bb, x):
        a = bb.emit(relax.op.exp(x))
        return [relax.op.negative(a), relax.op.sqrt(a)]

    mod = fuse(module([param("x", 8)], make, outputs=2))
    assert not primitive(mod)


def test_element_wise_calls_go_into_a_reduction():
    def make(bb, x):
        return relax.op.sum(bb.emit(relax.op.exp(x)), axis=[1])

    mod = fuse(module([param("x", 4, 5)], make))
    assert calls_of(mod["main"]) == ["fused_exp_sum"]


def test_the_size_of_a_group_is_limited():
    def make(bb, x):
        for _ in range(6):
            x = bb.emit(relax.op.exp(x))
        return x

    mod = legal(module([param("x", 4)], make))
    with tvm.transform.PassContext(config={"relax.FuseOps.max_depth": 3}):
        mod = transform.FuseOps()(mod)
    assert all(len(calls_of(f)) <= 3 for f in primitive(mod).values())


def test_level_0_fuses_nothing():
    mod = legal(module([param("x", 4, 5)], chain))
    assert not primitive(transform.FuseOps(fuse_opt_level=0)(mod))


def test_equal_groups_share_a_function():
    def make(bb, x, y):
        return relax.op.matmul(bb.emit(chain(bb, x)), bb.emit(chain(bb, y)))

    mod = fuse(module([param("x", 5, 5), param("y", 5, 5)], make))
    assert len(primitive(mod)) == 1


MODELS = {
    "chain": ([param("x", 4, 5)], chain, 1),
    "constant": (
        [param("x", 4, 5)],
        lambda bb, x: relax.op.exp(bb.emit(relax.op.multiply(x, relax.const(rand(4, 5, seed=3))))),
        1,
    ),
    "product": (
        [param("x", 4, 5), param("w", 5, 6)],
        lambda bb, x, w: relax.op.nn.relu(bb.emit(relax.op.matmul(x, w))),
        1,
    ),
    "reduction": (
        [param("x", 4, 5)],
        lambda bb, x: relax.op.sum(bb.emit(relax.op.exp(x)), axis=[1]),
        1,
    ),
    "split": (
        [param("x", 4, 6)],
        lambda bb, x: relax.op.add(
            *[
                bb.emit(relax.TupleGetItem(s, i))
                for s in [bb.emit(relax.op.split(x, 2, axis=1))]
                for i in range(2)
            ]
        ),
        1,
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_merged_kernels_compute_the_same(name):
    params, make, outputs = MODELS[name]
    mod = module(params, make, outputs)
    inputs = [rand(*[int(d) for d in p.ty.shape], seed=i) for i, p in enumerate(params)]
    expected = run(mod, *inputs)
    merged = transform.FuseTIR()(fuse(mod))
    relax.analysis.well_formed(merged)
    assert not primitive(merged)
    kernels = [f for f in merged.functions.values() if isinstance(f, tvm.tirx.PrimFunc)]
    assert len(kernels) == 1, "one kernel is left"
    for got, want in zip(np.atleast_1d(run(merged, *inputs)), np.atleast_1d(expected)):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_merged_kernels_of_open_shapes():
    n = SymVar("n", "int64")
    mod = module([param("x", n, 5)], chain)
    merged = transform.FuseTIR()(fuse(mod))
    for rows in (3, 1):
        x = rand(rows, 5)
        np.testing.assert_allclose(
            run(merged, x), np.maximum(np.exp(x + 1), 0), rtol=1e-5, atol=1e-6
        )


def test_what_cannot_be_merged_is_named():
    bb = relax.BlockBuilder()
    x = param("x", 4)
    with bb.function("group", [x], private=True, attrs={"Primitive": True}):
        with bb.dataflow():
            out = bb.emit_output(relax.op.exp(x))
        gv = bb.emit_func_output(out)
    y = param("y", 4)
    with bb.function("main", [y]):
        bb.emit_func_output(bb.emit(relax.Call(gv, [y])))
    with pytest.raises(ValueError, match="FuseTIR: the primitive function `group` holds"):
        transform.FuseTIR()(bb.get())
