# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Inputs on which systems of this kind are known to fail, by kind; plain numpy is the reference.

Each model runs twice: with its data as inputs, and with all of it constant, when it is folded.
"""

import math

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import tvm
from tvm import arith, relax, tirx
from tvm.error import OpNotImplemented
from tvm.relax.frontend.onnx import from_onnx
from tvm.script import from_source
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

NAN, INF = float("nan"), float("inf")


def node(op, inputs, outputs=("y",), **attrs):
    return helper.make_node(op, list(inputs), list(outputs), **attrs)


def proto(nodes, inputs, weights, opset=18, open_rank=()):
    def info(name, array):
        shape = [f"{name}{k}" if name in open_rank else e for k, e in enumerate(array.shape)]
        return helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), shape
        )

    graph = helper.make_graph(
        nodes,
        "g",
        [info(k, v) for k, v in inputs.items()],
        [onnx.ValueInfoProto(name="y")],
        [numpy_helper.from_array(v, k) for k, v in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def call(model, inputs):
    vm = relax.VirtualMachine(tvm.compile(from_onnx(model), "llvm"), tvm.cpu())
    return vm["main"](*(tvm.runtime.tensor(v) for v in inputs.values())).numpy()


def both_ways(nodes, data, weights=None, opset=18):
    """Result of a model, which must not depend on whether its data is known to the compiler."""
    nodes = nodes if isinstance(nodes, list) else [nodes]
    weights = {k: np.asarray(v) for k, v in (weights or {}).items()}
    ran = call(proto(nodes, data, weights, opset), data)
    dummy = {"unused": np.zeros(1, np.float32)}
    folded = call(proto(nodes, dummy, {**weights, **data}, opset), dummy)
    np.testing.assert_allclose(folded, ran, rtol=1e-6)
    return ran


def floats(*values):
    return np.array(values, np.float32)


# ---- 1. NaN and infinity -------------------------------------------------------------------------

SPECIAL = floats(
    NAN, INF, -INF, -0.0, 1, -2, 3, NAN, 5, 6, NAN
)  # longer than a vector, with a tail

KEEPS_NAN = {
    "Relu": ({}, lambda x: np.maximum(x, 0)),
    "LeakyRelu": ({"alpha": 0.5}, lambda x: np.where(x < 0, x * np.float32(0.5), x)),
    "Sign": ({}, np.sign),
    "HardSigmoid": ({"alpha": 0.2, "beta": 0.5}, lambda x: np.clip(0.2 * x + 0.5, 0, 1)),
    "Abs": ({}, np.abs),
    "Sqrt": ({}, np.sqrt),
}


@pytest.mark.parametrize("op", KEEPS_NAN)
def test_elementwise_operators_keep_nan(op):
    attrs, reference = KEEPS_NAN[op]
    with np.errstate(invalid="ignore"):
        expected = reference(SPECIAL)
    np.testing.assert_allclose(both_ways(node(op, "x", **attrs), {"x": SPECIAL}), expected, 1e-6)


@pytest.mark.parametrize("op, reference", [("Max", np.maximum), ("Min", np.minimum)])
def test_max_and_min_keep_nan_on_either_side(op, reference):
    x, z = floats(NAN, 1, NAN, 2, INF, -1, NAN, 0, 4), floats(1, NAN, NAN, 3, 0, 2, 7, 8, NAN)
    got = both_ways(node(op, "xz"), {"x": x, "z": z})
    np.testing.assert_array_equal(got, reference(x, z))


def test_clip_keeps_nan():
    got = both_ways(node("Clip", "xlh"), {"x": SPECIAL}, {"l": np.float32(-1), "h": np.float32(2)})
    np.testing.assert_array_equal(got, np.clip(SPECIAL, -1, 2))


def test_comparison_and_difference_with_itself():
    equal = both_ways(
        [node("Equal", "xx", "e"), node("Cast", "e", to=TensorProto.FLOAT)], {"x": SPECIAL}
    )
    np.testing.assert_array_equal(equal, (SPECIAL == SPECIAL).astype(np.float32))
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(
            both_ways(node("Sub", "xx"), {"x": SPECIAL}), SPECIAL - SPECIAL
        )
    x = tirx.Var("x", "float32")
    simplify = arith.Analyzer().simplify
    assert not isinstance(simplify(x - x), tirx.FloatImm)
    assert not isinstance(simplify(x.equal(x)), tirx.IntImm)


def test_functions_at_the_edges_of_their_range():
    small = floats(1e-10, -1e-10, 1e-30, 0, 0.5, 1, -2, 4)
    expected = np.array([math.erf(v) for v in small.astype(float)])
    np.testing.assert_allclose(both_ways(node("Erf", "x"), {"x": small}), expected, 2e-6)
    assert both_ways(node("Erf", "x"), {"x": small})[0] == pytest.approx(1.128379e-10, rel=1e-5)
    large = floats(89, -89, 88.5, 0, 1e-4, 1, 2, 3)
    expected = np.cosh(large.astype(np.float64))
    got = both_ways(node("Cosh", "x"), {"x": large})
    assert np.isfinite(got).all()
    np.testing.assert_allclose(got, expected, 1e-5)


# ---- 2. overflow inside of the compiler ----------------------------------------------------------


def test_constants_fold_as_the_machine_computes():
    x, z = np.array([100, 127, -128], np.int8), np.array([100, 1, -1], np.int8)
    assert both_ways(node("Add", "xz"), {"x": x, "z": z}).tolist() == [-56, -128, 127]


def test_sums_that_may_overflow_prove_nothing():
    x = tirx.Var("x", "int64")
    analyzer = arith.Analyzer()
    analyzer.bind(x, tvm.ir.Range(0, 10))
    big = tirx.IntImm("int64", 1 << 62)
    assert not analyzer.can_prove(x + big + big > 0)
    assert analyzer.can_prove(x + big > 0)


def test_a_zero_divisor_in_a_vector_is_an_error():
    zero = tirx.Broadcast(tirx.IntImm("int32", 0), 4)
    lanes = tirx.Ramp(tirx.Var("x", "int32"), 1, 4)
    for op in (tirx.floormod, tirx.floordiv, tirx.truncmod, tirx.truncdiv):
        with pytest.raises(ValueError, match="[Dd]ivi[ds]"):
            arith.Analyzer().simplify(op(lanes, zero))


def test_a_loop_whose_extent_overflows_runs_or_is_refused():
    i = tirx.Var("i", "int32")
    analyzer = arith.Analyzer()
    analyzer.bind(i, tvm.ir.Range.from_min_extent(2**31 - 2, 10))
    assert not analyzer.can_prove(i >= 2**31 - 2)


# ---- 3. indices out of data ----------------------------------------------------------------------

ROWS = np.arange(12, dtype=np.float32).reshape(3, 4)


def test_negative_indices_count_from_the_end():
    i = np.array([-1, 0, -3], np.int64)
    np.testing.assert_array_equal(both_ways(node("Gather", "xi"), {"x": ROWS, "i": i}), ROWS[i])
    nd = np.array([[-1, -1], [0, -4], [2, 1]], np.int64)
    got = both_ways(node("GatherND", "xi"), {"x": ROWS, "i": nd})
    np.testing.assert_array_equal(got, ROWS[nd[:, 0], nd[:, 1]])
    elements = np.array([[-1, 0, 1, -2]], np.int64)
    got = both_ways(node("GatherElements", "xi"), {"x": ROWS, "i": elements})
    np.testing.assert_array_equal(got, np.take_along_axis(ROWS, elements, 0))
    u = floats(10, 20, 30)
    expected = ROWS.copy()
    expected[nd[:, 0], nd[:, 1]] = u
    got = both_ways(node("ScatterND", "xiu"), {"x": ROWS, "i": nd, "u": u})
    np.testing.assert_array_equal(got, expected)
    weights = {"d": np.int64(3), "v": floats(0, 1)}
    got = both_ways(node("OneHot", "idv"), {"i": np.array([-1, 0, 2, -3], np.int64)}, weights)
    np.testing.assert_array_equal(got, np.eye(3, dtype=np.float32)[[-1, 0, 2, -3]])


@pytest.mark.parametrize("far", [10**9, -(10**9), 2**62])
@pytest.mark.parametrize("op", ["Gather", "GatherElements", "GatherND", "ScatterND"])
def test_far_indices_touch_nothing_else(op, far):
    data = {"x": ROWS, "i": np.array([[far, 0]], np.int64)}
    if op == "ScatterND":
        data["u"] = floats(1)
    try:
        got = call(proto([node(op, "xiu"[: len(data)])], data, {}), data)
    except (ValueError, IndexError, RuntimeError) as error:
        assert "ind" in str(error)
    else:
        assert np.isin(got, [*ROWS.reshape(-1), 1]).all()  # clamped: nothing from outside


# ---- 4. stale memory -----------------------------------------------------------------------------


def test_sums_over_nothing():
    a, b = np.zeros((3, 0), np.float32), np.zeros((0, 5), np.float32)
    np.testing.assert_array_equal(
        both_ways(node("MatMul", "ab"), {"a": a, "b": b}), np.zeros((3, 5))
    )
    x, axes = np.zeros((0, 4), np.float32), {"k": np.array([0], np.int64)}
    got = both_ways(node("ReduceSum", "xk", keepdims=0), {"x": x}, axes)
    np.testing.assert_array_equal(got, np.zeros(4))
    got = both_ways(node("ReduceMax", "xk", keepdims=0), {"x": x}, axes)
    np.testing.assert_array_equal(got, np.full(4, -INF))
    got = both_ways(node("ReduceMin", "xk", keepdims=0), {"x": x}, axes)
    np.testing.assert_array_equal(got, np.full(4, INF))


@pytest.mark.parametrize("tenth", range(10))
def test_a_parameter_file_that_is_cut_short(tmp_path, tenth):
    whole = tvm.runtime.save_param_dict({"w": tvm.runtime.tensor(ROWS)})
    with pytest.raises((ValueError, RuntimeError)):
        tvm.runtime.load_param_dict(bytes(whole)[: len(whole) * tenth // 10])


# ---- 5. death of the process ---------------------------------------------------------------------


def test_operators_refuse_foreign_types_of_string():
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    for bad in (b"float16", object(), ["float16"]):
        with pytest.raises(TypeError):
            relax.op.astype(x, bad)


# ---- 6. order of passes --------------------------------------------------------------------------


def test_size_feeds_reshape():
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    nodes = [
        node("Size", "x", "n"),
        node("Unsqueeze", ["n", "z"], "s"),
        node("Reshape", "xs"),
    ]
    weights = {"z": np.array([0], np.int64)}
    np.testing.assert_array_equal(both_ways(nodes, {"x": x}, weights), x.reshape(-1))
    with pytest.raises(OpNotImplemented, match="Size node 'n': needs static extents"):
        from_onnx(proto(nodes, {"x": x}, weights, open_rank=("x",)))


@I.ir_module
class RunTimeShapes:
    @R.function
    def given(x: R.Tensor(("n",), "float32"), t: R.Tensor((2,), "int64")) -> R.Tensor(
        ndim=2, dtype="float32"
    ):
        s = R.tensor_to_shape(t)
        y = R.reshape(x, s)
        return y

    @R.function
    def flat(x: R.Tensor(("m", "k"), "float32")) -> R.Tensor(ndim=1, dtype="float32"):
        t = R.reshape(R.size(x), R.shape([1]))
        s = R.tensor_to_shape(t)
        y = R.reshape(x, s)
        return y


def test_shapes_computed_at_run_time():
    vm = relax.VirtualMachine(tvm.compile(RunTimeShapes, "llvm"), tvm.cpu())
    x = np.arange(12, dtype=np.float32)
    got = vm["flat"](tvm.runtime.tensor(x.reshape(3, 4))).numpy()
    np.testing.assert_array_equal(got, x)
    reshaped = lambda s: vm["given"](tvm.runtime.tensor(x), tvm.runtime.tensor(np.array(s)))  # noqa: E731
    np.testing.assert_array_equal(reshaped([3, 4]).numpy(), x.reshape(3, 4))
    for bad in ([5, 4], [-1, -12], [3, -4]):
        with pytest.raises(ValueError, match="shape"):
            reshaped(bad)


@pytest.mark.parametrize(
    "make",
    [
        relax.transform.DecomposeOpsForInference,
        relax.transform.CanonicalizeBindings,
        relax.transform.EliminateCommonSubexpr,
        relax.transform.DeadCodeElimination,
    ],
)
def test_passes_keep_the_shapes_that_types_name(make):
    mod = relax.transform.DecomposeOpsForInference()(RunTimeShapes)
    relax.analysis.well_formed(make()(mod))


def test_well_formed_finds_types_with_undefined_shapes():
    s = relax.Var("s", relax.ShapeType(ndim=2))
    x = relax.Var("x", relax.TensorType(ndim=2))
    y = relax.Var("y", relax.TensorType(s))
    block = relax.BindingBlock([relax.MatchCast(y, x, y.ty)])
    func = relax.Function([x], relax.SeqExpr([block], y), relax.TensorType(ndim=2))
    with pytest.raises(ValueError, match="Var s is not defined"):
        relax.analysis.well_formed(func)


# ---- 7. importers that guess ---------------------------------------------------------------------


def test_resize_keeps_the_given_scale():
    x = np.arange(5, dtype=np.float32).reshape(1, 1, 1, 5)
    resize = node(
        "Resize", ["x", "", "s"], mode="nearest", coordinate_transformation_mode="asymmetric"
    )
    # 1.5 makes 7 of 5; to read it as 7 / 5 would pick other elements.
    with pytest.raises(OpNotImplemented, match="scale 1.5 of extent 5 is no whole number"):
        both_ways(resize, {"x": x}, {"s": floats(1, 1, 1, 1.5)})
    got = both_ways(resize, {"x": x}, {"s": floats(1, 1, 1, 2)})
    assert got.shape == (1, 1, 1, 10) and got[0, 0, 0, 0] == 0 and got[0, 0, 0, -1] == 4


def test_batch_normalization_uses_the_stored_statistics():
    x = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
    s, b, m, v = floats(1, 2, 3), floats(0, 1, 2), floats(5, 5, 5), floats(4, 4, 1)
    got = both_ways(
        node("BatchNormalization", "xsbmv", epsilon=0.0), {"x": x}, {"s": s, "b": b, "m": m, "v": v}
    )
    column = lambda a: a.reshape(1, 3, 1)  # noqa: E731
    expected = (x - column(m)) / np.sqrt(column(v)) * column(s) + column(b)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


def test_slice_with_a_negative_step_to_nothing():
    at = {k: np.array([v], np.int64) for k, v in {"s": 0, "e": 2, "a": 0, "t": -1}.items()}
    assert both_ways(node("Slice", "xseat"), {"x": ROWS}, at).shape == (0, 4)


# ---- 8. text that does not read back -------------------------------------------------------------


def test_programs_with_odd_values_read_back():
    @I.ir_module
    class Odd:
        @T.prim_func
        def main(A: T.Buffer((4,), "float64"), B: T.Buffer((2,), "uint64")):
            T.func_attr({"text": 'quote " \\ \n \u00e9 \u4e2d'})
            A[0] = T.float64("inf")
            A[1] = T.float64("-inf")
            A[2] = T.float64("nan")
            A[3] = T.float64(0.1)
            B[0] = T.Cast("uint64", T.int64(-1))

    again = from_source(Odd.script(show_meta=True))
    tvm.ir.assert_structural_equal(again, Odd)
    keyword = tirx.Var("lambda", "int32")
    func = tirx.PrimFunc([keyword], tirx.Evaluate(keyword + 1))
    tvm.ir.assert_structural_equal(from_source(func.script()), func)
    assert tirx.IntImm("uint64", 2**63 - 1).value == 2**63 - 1


# ---- 12. layout and alignment --------------------------------------------------------------------


@pytest.mark.parametrize("make", ["strided", "transposed", "offset", "read only", "four bytes"])
def test_inputs_of_any_layout(make):
    base = np.arange(64, dtype=np.float32).reshape(8, 8)
    x = {
        "strided": base[::2, ::2],
        "transposed": base.T[:4, :4],
        "offset": base[3:7, 1:5],
        "read only": base[:4, :4].copy(),
        "four bytes": np.frombuffer(bytearray(base.tobytes()), np.float32, 16, 4).reshape(4, 4),
    }[make]
    x.flags.writeable = make != "read only"
    model = proto([node("MatMul", "xx")], {"x": np.zeros((4, 4), np.float32)}, {})
    vm = relax.VirtualMachine(tvm.compile(from_onnx(model), "llvm"), tvm.cpu())
    np.testing.assert_allclose(vm["main"](tvm.runtime.tensor(x)).numpy(), x @ x, rtol=1e-5)
    if make != "read only":
        try:
            got = vm["main"](tvm.runtime.from_dlpack(x)).numpy()
        except (ValueError, TypeError, RuntimeError) as error:
            assert "stride" in str(error) or "align" in str(error) or "contig" in str(error)
        else:
            np.testing.assert_allclose(got, x @ x, rtol=1e-5)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2)])
def test_rank_zero_and_empty_tensors(shape):
    x = np.full(shape, 2, np.float32)
    np.testing.assert_array_equal(both_ways(node("Mul", "xx"), {"x": x}), x * x)


# ---- 13. memory that grows -----------------------------------------------------------------------


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def test_calls_with_new_shapes_keep_memory_flat():
    x = np.zeros((4, 4), np.float32)
    model = proto([node("MatMul", "xw", "h"), node("Relu", "h")], {"x": x}, {"w": x}, open_rank="x")
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 4
    vm = relax.VirtualMachine(tvm.compile(from_onnx(model), "llvm"), tvm.cpu())
    for rows in range(1, 200):
        vm["main"](tvm.runtime.tensor(np.zeros((rows, 4), np.float32)))
    before = resident()
    for rows in range(3000):
        vm["main"](tvm.runtime.tensor(np.zeros((rows % 331 + 1, 4), np.float32)))
    assert resident() - before < 16 << 20


def test_repeated_loading_of_a_library_keeps_memory_flat(tmp_path):
    model = proto([node("Relu", "x")], {"x": ROWS}, {})
    path = str(tmp_path / "relu.so")
    tvm.compile(from_onnx(model), "llvm").export_library(path)

    def load():
        vm = relax.VirtualMachine(tvm.runtime.load_module(path), tvm.cpu())
        vm["main"](tvm.runtime.tensor(ROWS))

    for _ in range(20):
        load()
    before = resident()
    for _ in range(300):
        load()
    assert resident() - before < 16 << 20
