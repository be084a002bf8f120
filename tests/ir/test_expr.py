# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Types, variables, constants, operators of expressions."""

import pytest

import tvm
from tvm import ir, tirx
from tvm.ir import PrimType, Var


def test_prim_type():
    ty = PrimType("float32")
    assert ty == "float32" and ty == PrimType("float32") and ty != PrimType("int32")
    assert hash(ty) == hash(PrimType("float32"))
    assert (ty.bits, ty.lanes, ty.is_scalar()) == (32, 1, True)
    assert PrimType("int8x4").lanes == 4 and not PrimType("int8x4").is_scalar()
    assert ty.matches_element_type(2, 32) and ty.matches_code(2, 4)
    with pytest.raises(TypeError, match="opaque pointer"):
        PrimType("handle")


def test_other_types():
    pointer = ir.PointerType(PrimType("int8"), "shared")
    assert pointer.element_type == "int8" and pointer.storage_scope == "shared"
    assert ir.PointerType(PrimType("int8")).storage_scope == "global"
    assert ir.TupleType([pointer, PrimType("int32")]).fields[1] == "int32"
    function = ir.FuncType([PrimType("int32")], ir.TupleType([]))
    assert function == ir.FuncType([PrimType("int32")], ir.TupleType([]))
    assert ir.TypeIsMissing(ir.TypeMissing()) and not ir.TypeIsMissing(pointer)


def test_var():
    x = Var("x", "int64")
    assert x.name == x.name_hint == "x" and x.dtype == "int64" and x.ty == "int64"
    assert Var("p", "handle").dtype == "handle"
    assert x.same_as(x) and not x.same_as(Var("x", "int64"))
    assert x in [Var("y"), x] and x not in [Var("x", "int64")]
    assert {x: 1}[x] == 1
    assert isinstance(x, ir.PrimExpr) and not isinstance(Var("p", "handle"), ir.PrimExpr)


def test_operators_fold_and_promote():
    x = Var("x", "int32")
    assert isinstance(x + 1, tirx.Add) and (x + 1).dtype == "int32"
    assert isinstance(2 * x, tirx.Mul) and isinstance(x // 2, tirx.FloorDiv)
    assert isinstance(x % 2, tirx.FloorMod) and isinstance(x < 3, tirx.LT)
    assert int(ir.IntImm("int32", 3) + 4) == 7
    assert int(ir.IntImm("int8", 100) + ir.IntImm("int8", 100)) == -56
    assert (x + 1.5).dtype == "float32"
    assert (x + Var("y", "int64")).dtype == "int64"
    assert x.astype("float16").dtype == "float16"
    assert isinstance(-x, ir.Expr) and (x >> 1).dtype == "int32"
    assert (x & 3).op.name == "tirx.bitwise_and"
    with pytest.raises(RuntimeError, match="multiple types of integer divisions"):
        x / 2
    assert (x.astype("float32") / 2).dtype == "float32"


def test_comparison_is_built_on_demand():
    x, y = Var("x", "int32"), Var("y", "int32")
    equal = x == y
    assert not equal and (x == x)  # noqa: PLR0124
    assert isinstance(equal.asobject(), tirx.EQ)
    assert isinstance((x != y).asobject(), tirx.NE)
    assert isinstance(tirx.all(x == 1, y == 2), tirx.And)
    assert isinstance(x.equal(3), tirx.EQ)
    with pytest.raises(ValueError, match="Cannot use and / or / not operator to Expr"):
        bool(x)
    with pytest.raises(ValueError):
        x < y and y < x


def test_constants():
    assert int(ir.IntImm("int64", -5)) == -5
    assert float(ir.FloatImm("float32", 0.5)) == 0.5
    assert ir.IntImm("bool", 1)
    assert ir.IntImm("int32", 3) == 3 and ir.IntImm("int32", 3) != 4
    for dtype, value in (("int8", 128), ("uint8", -1), ("bool", 2)):
        with pytest.raises(ValueError):
            ir.IntImm(dtype, value)
    with pytest.raises(ValueError):
        ir.FloatImm("float16", 1e10)
    assert tirx.const(3, "int8").dtype == "int8" and tirx.const(1.0).dtype == "float32"
    assert tirx.const(2**40).dtype == "int64" and tirx.const(True).dtype == "bool"
    assert tirx.StringImm("a") == "a"


def test_range():
    r = ir.Range(2, 10)
    assert int(r.min) == 2 and int(r.extent) == 8
    assert int(ir.Range(5).extent) == 5 and int(ir.Range.from_min_extent(1, 4).extent) == 4
    assert ir.Range(0, 3) == ir.Range(3) and ir.Range(3) != ir.Range(4)


def test_call():
    x = Var("x", "float32")
    call = ir.Call("tirx.exp", [x], ret_ty="float32")
    assert call.op.name == "tirx.exp" and call.dtype == "float32"
    assert call.op.same_as(ir.Op.get("tirx.exp"))
    assert ir.Call(ir.GlobalVar("f"), [1, 2.5, "s"], ret_ty="handle").dtype == "handle"
    assert tirx.exp(x).op.name == "tirx.exp"
    assert tirx.call_extern("int32", "f", 1).args[0].value == "f"
    called = ir.GlobalVar("g")(x, 1)
    assert isinstance(called, ir.Call) and called.op.name_hint == "g"


def test_op_registry():
    op = ir.Op.get("tirx.exp")
    assert op.num_inputs == 1 and op.description and op.doc == op.description
    assert "tirx.exp" in ir.Op.list_op_names()
    with pytest.raises(AttributeError, match="Operator no.such is not registered"):
        ir.Op.get("no.such")
    ir.register_op("test_expr.op", "a test")
    with pytest.raises(ValueError, match="registered before"):
        ir.register_op("test_expr.op")
    ir.register_op_attr("test_expr.op", "test_expr.attr", 3)
    fresh = ir.Op.get("test_expr.op")
    assert fresh.has_attr("test_expr.attr") and fresh.get_attr("test_expr.attr") == 3
    fresh.set_attr("test_expr.attr", 5, plevel=11)
    assert fresh.get_attr("test_expr.attr") == 5
    with pytest.raises(tvm.InternalError, match="same plevel"):
        fresh.set_attr("test_expr.attr", 6, plevel=11)
    fresh.reset_attr("test_expr.attr")
    assert not fresh.has_attr("test_expr.attr")

    @ir.register_op_attr("test_expr.op", "test_expr.function")
    def function(x):
        return x + 1

    assert fresh.get_attr("test_expr.function")(1) == 2


def test_expressions_of_unimported_dialect(child_env):
    import subprocess
    import sys

    code = (
        "import tvm, sys; f = tvm.get_global_func('tirx._OpAdd'); x = tvm.ir.Var('x');"
        "print('tvm.tirx' in sys.modules, type(f(x, 1, None)).__name__, 'tvm.tirx' in sys.modules)"
    )
    out = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=child_env(),
        check=True,
    )
    assert out.stdout.split() == ["False", "Add", "True"]
