# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Modules, functions, attributes, JSON, structural equality."""

import pytest

import tvm
from tvm import ir, tirx
from tvm.ir import GlobalVar, IRModule, Var


def _func(value=1, **attrs):
    n = Var("n", "int32")
    return tirx.PrimFunc([n], tirx.Evaluate(n + value), attrs=attrs or None)


def test_functions():
    mod = IRModule({"a": _func(1), GlobalVar("b"): _func(2)})
    assert "a" in mod and mod.get_global_var("b") in mod and "c" not in mod
    assert ir.structural_equal(mod["a"], _func(1))
    assert [gv.name_hint for gv, _ in mod.functions_items()] == ["a", "b"]
    mod["c"] = _func(3)
    mod["a"] = _func(4)
    assert ir.structural_equal(mod["a"], _func(4)) and len(mod.get_global_vars()) == 3
    del mod["b"]
    assert "b" not in mod
    mod.update(IRModule({"d": _func(5)}))
    assert "d" in mod
    mod.update_func(mod.get_global_var("d"), _func(6))
    assert ir.structural_equal(mod["d"], _func(6))
    with pytest.raises(ValueError, match='Cannot find global var "x" in the Module'):
        mod["x"]
    with pytest.raises(TypeError):
        mod[3]
    with pytest.raises(TypeError):
        IRModule({3: _func()})


def test_from_expr():
    assert "main" in IRModule.from_expr(_func())
    assert "kernel" in IRModule.from_expr(_func(global_symbol="kernel"))


def test_attributes_change_on_a_copy():
    mod = IRModule({"a": _func()}, attrs={"x": 1})
    other = mod.with_attr("y", [1, 2])
    assert other.get_attr("y") == [1, 2] and mod.get_attr("y") is None
    assert other.attrs["x"] == 1 and "x" in other.attrs
    assert other.without_attr("x").get_attr("x") is None
    assert other.with_attrs({"x": 5, "z": "s"}).get_attr("x") == 5
    func = _func().with_attr("tirx.noalias", True)
    assert func.attrs["tirx.noalias"] and "tirx.noalias" not in _func().attrs
    assert func.with_attr({"k": 1, "l": 2}).attrs["l"] == 2
    assert "k" not in func.with_attr("k", 1).without_attr("k").attrs
    with pytest.raises(AttributeError):
        func.attrs.nothing  # noqa: B018


def test_clone_and_pyfuncs():
    mod = IRModule({"a": _func()})
    mod.pyfuncs["f"] = len
    copy = mod.clone()
    del copy["a"]
    assert "a" in mod and copy.pyfuncs == {"f": len}


def test_global_infos():
    mod = IRModule(global_infos={"dummy": [ir.DummyGlobalInfo()]})
    assert mod.global_infos["dummy"][0] == ir.DummyGlobalInfo()
    device = ir.VDevice("llvm", 1, "global")
    mod.update_global_info("vdevice", [device])
    assert mod.global_infos["vdevice"][0] == device
    assert device.target.kind.name == "llvm" and device.vdevice_id == 1


def test_json_round_trip():
    mod = IRModule({"a": _func(2.5), "b": _func(global_symbol="b")}, attrs={"s": '\u00e4"\\'})
    back = ir.load_json(ir.save_json(mod))
    assert ir.structural_equal(mod, back) and isinstance(back["a"], tirx.PrimFunc)
    assert '"tvm_version"' in ir.save_json(mod)
    with pytest.raises(ValueError):
        ir.load_json('{"root": 1}')
    old = ir.save_json(Var("x", "int32")).replace('"ir.Var"', '"tirx.Var"')
    assert ir.load_json(old.replace('"name"', '"name_hint"')).name == "x"


def test_structural_equality():
    x, y = Var("x", "int32"), Var("y", "int32")
    assert not ir.structural_equal(x + 1, y + 1)
    assert ir.structural_equal(x + 1, y + 1, map_free_vars=True)
    assert ir.structural_hash(_func(3)) == ir.structural_hash(_func(3))
    span = ir.Span(ir.SourceName("f"), 1, 1, 2, 3)
    assert ir.structural_equal(tirx.Add(x, y, span), tirx.Add(x, y))
    with pytest.raises(ValueError, match="StructuralEqual check failed, caused by lhs at <root>"):
        ir.assert_structural_equal(_func(1), _func(2))
    ir.assert_structural_equal(_func(1), _func(1))
    left, _ = ir.get_first_structural_mismatch(_func(1), _func(2))
    assert str(left).startswith("<root>.body")


def test_spans_and_names():
    name = ir.SourceName("file.py")
    span = ir.Span(name, 1, 2, 3, 4)
    assert (span.line, span.end_line, span.column, span.end_column) == (1, 2, 3, 4)
    assert ir.SourceName("file.py").same_as(name)
    both = ir.SequentialSpan([span, ir.SequentialSpan([span])])
    assert len(both.spans) == 2
    supply = ir.UniqueNameSupply("p")
    assert [supply.fresh_name("x") for _ in range(3)] == ["p_x", "p_x_1", "p_x_2"]
    assert supply.contains_name("x") and not supply.contains_name("z")


def test_make_node():
    imm = ir.make_node("ir.IntImm", ty=ir.PrimType("int32"), value=3)
    assert ir.structural_equal(imm, ir.IntImm("int32", 3))
    assert ir.make_node("ir.DictAttrs", a=1, b="x")["b"] == "x"
    with pytest.raises(TypeError, match="does not have field"):
        ir.make_node("ir.IntImm", ty=ir.PrimType("int32"), value=3, nope=1)
    with pytest.raises(ValueError):
        ir.make_node("no.such.type")


def test_env_func():
    tvm.register_global_func("test_module.env", lambda x: x + 1, override=True)
    function = ir.EnvFunc.get("test_module.env")
    assert function(1) == 2 and function.name == "test_module.env"
    assert ir.load_json(ir.save_json(function))(3) == 4
