# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Text of graph-level programs reads back as the same program: every operator, every construct."""

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.ir import IRModule, PrimType, assert_structural_equal
from tvm.relax.op._table import _split, rows
from tvm.script import from_source


def roundtrip(obj, check_well_formed=True):
    """Print, parse, compare; returns the text."""
    text = obj.script(show_meta=True)
    again = from_source(text, check_well_formed=check_well_formed)
    assert_structural_equal(again, obj)
    assert again.script(show_meta=True) == text
    return text


def function_of(params, build, pure=True):
    """Module with a function that binds the value of ``build(*params)``."""
    bb = relax.BlockBuilder()
    with bb.function("main", list(params), pure=pure):
        value = bb.emit(build(*params))
        bb.emit_func_output(value)
    return bb.get()


# ---- operators ---------------------------------------------------------------------------------

_KINDS = {"f32": "float32", "pos": "float32", "i32": "int32", "i64": "int64", "bool": "bool"}
_KINDS |= {"i8": "int8", "u8": "uint8"}


def _sample_types(text):
    """Types of a sample's operands; a tuple operand is a list of them."""
    operands, group = [], None
    for token in text.replace("(", " ( ").replace(")", " ) ").split():
        if token == "(":
            group = []
        elif token == ")":
            operands.append(group)
            group = None
        else:
            kind, _, dims = token.rstrip("]").partition("[")
            shape = [int(d) for d in dims.split(",") if d]
            ty = relax.TensorType(shape, _KINDS[kind])
            (operands if group is None else group).append(ty)
    return operands


def _samples():
    for name, row in sorted(rows().items()):
        for i, sample in enumerate(str(row[6]).split("|")):
            if sample.strip():
                yield pytest.param(name, sample, id=f"{name}-{i}")


def _maker(name):
    target = relax.op
    for part in name.split("."):
        target = getattr(target, part)
    return target


@pytest.mark.parametrize("name,sample", list(_samples()))
def test_samples_of_the_operator_table(name, sample):
    types, _, attrs = sample.partition(";")
    params, operands = [], []
    for operand in _sample_types(types):
        group = operand if isinstance(operand, list) else [operand]
        made = [relax.Var(f"x{len(params) + i}", ty) for i, ty in enumerate(group)]
        params += made
        operands.append(made if isinstance(operand, list) else made[0])
    keywords = {}
    for part in _split(attrs.strip()):
        key, _, value = part.partition("=")
        keywords[key.strip()] = eval(value)
    make = _maker(name)
    mod = function_of(params, lambda *_: make(*operands, **keywords))
    text = roundtrip(mod)
    assert f"R.{name}(" in text


def t(shape, dtype="float32"):
    return relax.TensorType(shape, dtype)


op = relax.op
n = tvm.tirx.Var("n", "int64")

# Operators without samples in the table: parameters' types and the call.
CALLS = {
    "arange": ([], lambda: op.arange(1, 10, 2, "int32")),
    "arange-float": ([], lambda: op.arange(0.0, 1.0, 0.25, "float32")),
    "astype": ([t((2,))], lambda x: op.astype(x, "float16")),
    "broadcast_to": ([t((1, 3))], lambda x: op.broadcast_to(x, (2, 3))),
    "bucketize": ([t((4,)), t((3,))], lambda x, b: op.bucketize(x, b, out_int32=True)),
    "clip": ([t((4,))], lambda x: op.clip(x, 0, 6.5)),
    "clip-inf": ([t((4,))], lambda x: op.clip(x, float("-inf"), 1.0)),
    "collapse_sum_like": ([t((2, 3)), t((3,))], op.collapse_sum_like),
    "collapse_sum_to": ([t((2, 3))], lambda x: op.collapse_sum_to(x, (3,))),
    "dequantize": (
        [t((2, 3), "int8"), t((3,)), t((3,), "int8")],
        lambda x, s, z: op.dequantize(x, s, z, out_dtype="float32", axis=1),
    ),
    "dynamic_strided_slice": (
        [t((4, 4)), t((2,), "int64"), t((2,), "int64"), t((2,), "int64")],
        op.dynamic_strided_slice,
    ),
    "eye": ([], lambda: op.eye(2, 3, 1, "float32")),
    "eye_like": ([t((2, 3))], lambda x: op.eye_like(x, 1)),
    "full": ([t(())], lambda v: op.full((2, 3), v, "float32")),
    "full_like": ([t((2, 3)), t(())], op.full_like),
    "gather_elements": (
        [t((2, 3)), t((2, 3), "int64")],
        lambda x, i: op.gather_elements(x, i, axis=1),
    ),
    "gather_nd": ([t((2, 3)), t((4, 1), "int64")], lambda x, i: op.gather_nd(x, i)),
    "hamming_window": ([], lambda: op.hamming_window(8)),
    "image.grid_sample": (
        [t((1, 3, 8, 8)), t((1, 2, 4, 4))],
        lambda x, g: op.image.grid_sample(x, g),
    ),
    "image.resize2d": ([t((1, 3, 8, 8))], lambda x: op.image.resize2d(x, (4, 4))),
    "image.resize3d": ([t((1, 3, 4, 8, 8))], lambda x: op.image.resize3d(x, (2, 4, 4))),
    "index_put": (
        [t((4, 4)), t((2,), "int64"), t((2, 4))],
        lambda x, i, v: op.index_put(x, [i], v, accumulate=True),
    ),
    "index_tensor": (
        [t((4, 4)), t((2,), "int64"), t((2,), "int64")],
        lambda x, i, j: op.index_tensor(x, [i, j]),
    ),
    "left_shift": ([t((2,), "int32"), t((2,), "int32")], op.left_shift),
    "right_shift": ([t((2,), "int32"), t((2,), "int32")], op.right_shift),
    "median": ([t((2, 3))], lambda x: op.median(x, axis=[1])),
    "meshgrid": ([t((2,)), t((3,))], lambda x, y: op.meshgrid([x, y])),
    "multinomial_from_uniform": (
        [t((2, 8)), t((4, 1)), t((4, 1), "int64")],
        op.multinomial_from_uniform,
    ),
    "nn.dropout": ([t((2, 3))], lambda x: op.nn.dropout(x, 0.25)),
    "nn.nll_loss": (
        [t((2, 3)), t((2,), "int64"), t((3,))],
        lambda p, y, w: op.nn.nll_loss(p, y, w, reduction="sum"),
    ),
    "nonzero": ([t((2, 3))], op.nonzero),
    "one_hot": (
        [t((4,), "int64")],
        lambda i: op.one_hot(
            i, relax.prim_value(1.0, "float32"), relax.prim_value(0.0, "float32"), depth=5
        ),
    ),
    "ones": ([], lambda: op.ones((2, 3), "float32")),
    "quantize": (
        [t((2, 3)), t((3,)), t((3,), "int8")],
        lambda x, s, z: op.quantize(x, s, z, axis=1, out_dtype="int8"),
    ),
    "reshape": ([t((2, 6))], lambda x: op.reshape(x, (3, -1))),
    "reverse_sequence": ([t((4, 5)), t((5,), "int64")], op.reverse_sequence),
    "scatter_elements": (
        [t((4, 4)), t((2, 4), "int64"), t((2, 4))],
        lambda x, i, u: op.scatter_elements(x, i, u, axis=0, reduction="add"),
    ),
    "scatter_nd": (
        [t((8,)), t((4, 1), "int64"), t((4,))],
        lambda x, i, u: op.scatter_nd(x, i, u, "update"),
    ),
    "shape_of": ([t((2, 3))], op.shape_of),
    "shape_to_tensor": ([relax.ShapeType([2, 3])], op.shape_to_tensor),
    "size": ([t((2, 3))], op.size),
    "slice_scatter": (
        [t((8, 4)), t((2, 4))],
        lambda x, s: op.slice_scatter(x, s, 2, 4, 1, axis=0),
    ),
    "split": ([t((4, 6))], lambda x: op.split(x, [1, 3], axis=1)),
    "split-sections": ([t((4, 6))], lambda x: op.split(x, 3, axis=1)),
    "strided_slice": ([t((8, 8))], lambda x: op.strided_slice(x, [0, 1], [1, 0], [8, 4], [2, 1])),
    "take": ([t((4, 4)), t((2,), "int64")], lambda x, i: op.take(x, i, axis=1, mode="clip")),
    "take-scalar": ([t((4, 4))], lambda x: op.take(x, relax.prim_value(1), axis=0)),
    "tensor_to_shape": ([t((3,), "int64")], op.tensor_to_shape),
    "unique": ([t((8,))], lambda x: op.unique(x, sorted=True, return_counts=True)),
    "wrap_param": ([], lambda: op.wrap_param(relax.const(1.0), "float16")),
    "zeros": ([], lambda: op.zeros((2, 3), "float32")),
    "null_value": ([], op.null_value),
    "nn.attention-none": (
        [t((2, 5, 3, 8))] * 3,
        lambda q, k, v: op.nn.attention(q, k, v, scale=0.1, causal_mask="BottomRight"),
    ),
}


@pytest.mark.parametrize("name", sorted(CALLS))
def test_other_operators(name):
    types, make = CALLS[name]
    params = [relax.Var(f"x{i}", ty) for i, ty in enumerate(types)]
    text = roundtrip(function_of(params, make))
    assert f"R.{name.split('-')[0]}(" in text


CALL_FORMS = "call_ make_closure invoke_ print assert_op to_vdevice hint_on_device".split()
LOW_LEVEL = ("builtin.", "memory.", "vm.")


def test_every_row_is_covered():
    """A new row needs samples in the table or an entry above."""
    sampled = {name for name, row in rows().items() if str(row[6]).strip()}
    listed = {name.split("-")[0] for name in CALLS}
    special = {name for name in rows() if name.startswith((*CALL_FORMS, *LOW_LEVEL))}
    owned_elsewhere = ("grad.", "vision.", "ccl.", "dist.", "inspect.")
    missing = sorted(
        name
        for name in set(rows()) - sampled - listed - special
        if not name.startswith(owned_elsewhere)
    )
    assert missing == []


# ---- calls with forms of their own ---------------------------------------------------------------

X = relax.Var("x", t((2, 3)))
TY = t((2, 3))


def _packed(*args, attrs=None, ty_args=(TY,)):
    return relax.Call(relax.ExternFunc("test.packed"), list(args), attrs, list(ty_args))


SPECIAL = {
    "call_packed": lambda x: _packed(x, relax.StringImm('a "b"\\ ü'), relax.DataTypeImm("int8")),
    "call_packed-attrs": lambda x: _packed(x, attrs={"a": 1, "b": "x"}),
    "call_packed-untyped": lambda x: _packed(x, ty_args=()),
    "call_packed-scalars": lambda x: _packed(
        x,
        relax.prim_value(3),
        relax.prim_value(3, "int32"),
        relax.prim_value(True),
        relax.prim_value(0.1),
        relax.prim_value(float("inf")),
        relax.ShapeExpr([1, 2]),
        relax.Tuple([x, relax.Tuple([])]),
    ),
    "call_pure_packed": lambda x: op.call_pure_packed("test.f", x, ty_args=[TY]),
    "call_inplace_packed": lambda x: op.call_inplace_packed(
        "test.f", x, inplace_indices=[0], ty_args=[TY]
    ),
    "call_dps_packed": lambda x: op.call_dps_packed("test.f", [x], out_ty=TY),
    "call_dps_packed-two": lambda x: op.call_dps_packed("test.f", [x, x], out_ty=[TY, TY]),
    "call_builtin_with_ctx": lambda x: op.call_builtin_with_ctx("vm.b", [x], ty_args=[TY, TY]),
    "call_py_func": lambda x: op.call_py_func("f", [x], out_ty=TY),
    "invoke_closure": lambda x: op.invoke_closure(
        op.call_pure_packed("test.closure", ty_args=[relax.AnyType()]), [x], ty_args=[TY]
    ),
    "invoke_pure_closure": lambda x: op.invoke_pure_closure(
        op.call_pure_packed("test.closure", ty_args=[relax.AnyType()]), [x], ty_args=[TY]
    ),
    "print": lambda x: op.print(x, relax.prim_value(2), format="{} and {}"),
    "assert_op": lambda x: op.assert_op(relax.const(True), [x], format="no {}"),
    "builtin.alloc_tensor": lambda x: op.builtin.alloc_tensor(
        relax.ShapeExpr([2]),
        relax.DataTypeImm("float32"),
        relax.prim_value(0),
        relax.StringImm("global"),
    ),
    "memory.alloc_storage": lambda x: op.memory.alloc_storage(
        relax.ShapeExpr([64]),
        relax.prim_value(0),
        relax.StringImm("global"),
        relax.DataTypeImm("float32"),
    ),
    "vm.alloc_storage": lambda x: op.vm.alloc_storage(
        relax.ShapeExpr([64]), relax.prim_value(0), relax.DataTypeImm("uint8")
    ),
    "vm.kill_object": lambda x: op.vm.kill_object(x),
    "builtin.stop_lift_params": lambda x: op.builtin.stop_lift_params(x),
}


@pytest.mark.parametrize("name", sorted(SPECIAL))
def test_calls_with_their_own_form(name):
    mod = function_of([X], SPECIAL[name], pure=False)
    text = roundtrip(mod)
    assert f"R.{name.split('-')[0]}(" in text


def test_vdevice_names_the_devices_of_the_module():
    devices = [relax.VDevice("llvm", 0, "global"), relax.VDevice("llvm", 1, "global")]
    x = relax.Var("x", relax.TensorType((2, 3), "float32", devices[1]))
    mod = function_of([x], lambda v: op.to_vdevice(v, devices[0]))
    mod.update_global_info("vdevice", devices)
    text = roundtrip(mod)
    assert 'vdevice="llvm:1:global"' in text
    assert 'R.to_vdevice(x, dst_vdevice="llvm:0:global")' in text


@pytest.mark.parametrize("target", ["llvm", {"kind": "llvm", "mcpu": "generic"}])
@pytest.mark.parametrize("scope", ["global", "texture"])
def test_vdevices_without_a_list_to_count_in(target, scope):
    device = relax.VDevice(target, 7, scope)
    x = relax.Var("x", relax.TensorType((2, 3), "float32", device))
    mod = function_of([x], lambda v: op.to_vdevice(v, device))
    text = roundtrip(mod["main"])  # no module
    assert ('"llvm:7:' in text) == (target == "llvm")
    assert "I.vdevice({" in roundtrip(mod)  # a module that does not declare it
    mod.update_global_info("vdevice", [relax.VDevice("llvm", 0), device])
    assert f'"llvm:1:{scope}"' in roundtrip(mod)


@pytest.mark.parametrize(
    "text, message",
    [("llvm:-1", "no module here"), ("llvm:x", "the index is 'x'"), ("lvm:0", "lvm")],
)
def test_texts_that_are_no_vdevice(text, message):
    with pytest.raises(tvm.error.DiagnosticError, match=message):
        from_source(
            "@R.function\n"
            f"def f(x: R.Tensor((2,), 'float32', '{text}')) -> R.Tensor((2,), 'float32'):\n"
            "    return x\n"
        )


# ---- types, constants ----------------------------------------------------------------------------

TYPES = [
    relax.AnyType(),
    relax.PackedFuncType(),
    PrimType("int64"),
    PrimType("float32"),
    PrimType("bool"),
    relax.ShapeType([1, 2]),
    relax.ShapeType(ndim=3),
    relax.ShapeType(),
    relax.TensorType(None, None),
    relax.TensorType(None, "float16"),
    relax.TensorType(None, None, ndim=2),
    relax.TensorType((), "bool"),
    relax.TensorType((1, 2), None),
    relax.TensorType((2, 3), "bfloat16"),
    relax.TensorType((2, 3), "float8_e4m3fn"),
    relax.TupleType([]),
    relax.TupleType([relax.AnyType()]),
    relax.TupleType([t((2,)), relax.TupleType([PrimType("int64"), relax.ShapeType()])]),
    relax.FuncType([relax.AnyType()], t((2,)), False),
    relax.FuncType([], relax.TupleType([]), True),
    relax.FuncType.opaque_func(ret=relax.AnyType()),
    relax.FuncType.opaque_func(ret=t((2,)), purity=True),
    relax.FuncType.opaque_func(derive_func="tvm.relax.type.infer_by_ty_args"),
]


@pytest.mark.parametrize("ty", TYPES, ids=str)
def test_types_of_parameters(ty):
    x = relax.Var("x", ty)
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(x)
    roundtrip(bb.get())


CONSTANTS = [
    relax.const(1),
    relax.const(True),
    relax.const(0.1),
    relax.const(-0.0, "float64"),
    relax.const(float("inf")),
    relax.const(float("-inf"), "float16"),
    relax.const(float("nan"), "float64"),
    relax.const(1.5, "bfloat16"),
    relax.const(-(2**63), "int64"),
    relax.const(2**64 - 1, "uint64"),
    relax.const(3, "uint8"),
    relax.const(np.arange(6, dtype="float32").reshape(2, 3)),
    relax.const(np.zeros((0, 3), "int64")),
    relax.const(np.array([True, False])),
    relax.const(np.array(5, "float32").astype("float16")),
]


@pytest.mark.parametrize("index", range(len(CONSTANTS)))
def test_constants(index):
    constant = CONSTANTS[index]
    bb = relax.BlockBuilder()
    with bb.function("main", []):
        bb.emit_func_output(bb.emit(constant))
    roundtrip(bb.get())


# ---- names ---------------------------------------------------------------------------------------


def test_names_that_python_does_not_allow():
    x = relax.Var("class", t(("n",)) if False else t((2,)))
    y = relax.Var("3 y-z.w", t((2,)))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, y]):
        a = bb.emit(op.add(x, y), "lambda")
        b = bb.emit(op.add(a, y), "R")
        c = bb.emit(op.add(b, y), "ünïcode")
        bb.emit_func_output(c)
    roundtrip(bb.get())


def test_symbols_with_equal_names():
    a, b = (tvm.tirx.Var("n", "int64") for _ in range(2))
    x = relax.Var("x", relax.TensorType((a, b), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        y = bb.emit(op.permute_dims(x))
        bb.emit_func_output(y)
    roundtrip(bb.get())


def test_modules_without_functions():
    roundtrip(IRModule())
