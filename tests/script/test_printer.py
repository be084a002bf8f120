# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Text of scripts: header, names, sugar, underlines, options, and what happens on odd input."""

import ast

import pytest

import tvm
from tvm import te, tirx
from tvm.ir import Call, FloatImm, GlobalVar, IntImm, IRModule, PointerType, PrimType, Range
from tvm_ffi.access_path import AccessPath

ROOT = AccessPath.root()


def func(body, *params, name="main", **attrs):
    body = body if isinstance(body, tirx.Stmt) else tirx.Evaluate(body)
    attrs = tvm.ir.make_node("ir.DictAttrs", global_symbol=name, **attrs)
    return tirx.PrimFunc(list(params), body, attrs=attrs)


def loop(var, extent, body, kind=tirx.ForKind.SERIAL, start=0):
    return tirx.For(var, start, extent, kind, body)


def test_function():
    a = tirx.decl_buffer((16,), "float32", "A")
    i = tirx.Var("i", "int32")
    f = func(loop(i, 16, tirx.BufferStore(a, a[i] + 1.0, [i])), a, **{"tirx.noalias": True})
    assert f.script() == (
        "# from tvm.script import tirx as T\n"
        "# from tvm.tirx.layout import Axis\n"
        "\n"
        "@T.prim_func\n"
        'def main(A: T.Buffer((16,), "float32", layout=None)):\n'
        '    T.func_attr({"tirx.noalias": True})\n'
        "    for i in range(16):\n"
        "        A[i] = A[i] + T.float32(1.0)"
    )
    assert str(f) == repr(f) == f.script()


def test_module_order_and_blank_lines():
    x = tirx.Var("x", "int32")
    names = ("zeta", "main", "alpha")
    text = IRModule({n: func(x, x, name=n) for n in names}).script()
    lines = text.split("\n")
    assert lines[:6] == [
        "# from tvm.script import ir as I",
        "# from tvm.script import tirx as T",
        "# from tvm.tirx.layout import Axis",
        "",
        "@I.ir_module",
        "class Module:",
    ]
    order = [line.split("(")[0].split()[-1] for line in lines if line.startswith("    def")]
    assert order == ["alpha", "zeta", "main"]
    assert lines[9] == "" and lines[10] == "    @T.prim_func"


def test_expressions_and_statements_alone():
    n, m = tirx.Var("n", "int64"), tirx.Var("m", "int32")
    assert str(n + m) == 'n + T.Cast("int64", m)'
    declared = "n = T.int64()\nm = T.int32()\n"
    assert (n + m).script(verbose_expr=True) == declared + 'n + T.Cast("int64", m)'
    assert str(tirx.Evaluate(n + m)) == declared + 'T.evaluate(n + T.Cast("int64", m))'
    a = tirx.decl_buffer((n, 4), "float16", "A")
    store = tirx.BufferStore(a, FloatImm("float16", 1.0), [n, m])
    assert store.script() == (
        'n = T.int64()\nA = T.Buffer((n, 4), "float16")\nm = T.int32()\nA[n, m] = T.float16(1.0)'
    )


@pytest.mark.parametrize(
    "node, text",
    [
        (lambda: GlobalVar("f"), 'I.GlobalVar("f")'),
        (lambda: tvm.ir.Op.get("tirx.exp"), 'I.Op("tirx.exp")'),
        (lambda: Range(0, 4), "I.Range(0, 4)"),
        (lambda: PrimType("int32"), "T.int32"),
        (lambda: PointerType(PrimType("float32"), "shared"), 'T.handle("float32", "shared")'),
        (lambda: tvm.ir.TupleType([PrimType("int32")]), "T.Tuple(T.int32)"),
        (
            lambda: tvm.ir.FuncType([PrimType("int32")], PrimType("int64")),
            "I.FuncType([T.int32], T.int64)",
        ),
        (
            lambda: tirx.IterVar(Range(0, 4), "i", tirx.IterVar.CommReduce),
            'T.iter_var(i, T.Range(0, 4), "CommReduce", "")',
        ),
        (
            lambda: tirx.IndexMap.from_func(lambda i, j: [j, i + 1]),
            "T.index_map(lambda i, j: (j, i + T.int64(1)))",
        ),
        (lambda: IntImm("int64", 3), "T.int64(3)"),
        (lambda: IntImm("bool", 1), "T.bool(True)"),
        (lambda: FloatImm("float32", 0.1), "T.float32(0.10000000000000001)"),
        (lambda: FloatImm("float16", float("inf")), 'T.float16("inf")'),
        (lambda: tvm.ir.make_node("ir.DictAttrs", b=1, a="x"), '{"a": "x", "b": 1}'),
        (
            lambda: tirx.BufferRegion(
                tirx.decl_buffer((4, 4), name="A"),
                [Range.from_min_extent(0, 2), Range.from_min_extent(1, 1)],
            ),
            "A[0:2, 1]",
        ),
    ],
)
def test_small_nodes(node, text):
    value = node()
    assert str(value) == text
    assert tvm.get_global_func("node.TVMScriptPrinterScript")(value, None) == text


def test_minimal_parentheses():
    x, y, b = tirx.Var("x", "int32"), tirx.Var("y", "int32"), tirx.Var("b", "bool")
    for expr, text in (
        (x + (y + x), "x + (y + x)"),
        (x - (y - x), "x - (y - x)"),
        ((x + y) * x, "(x + y) * x"),
        (x * y + x, "x * y + x"),
        (x * (y // x), "x * (y // x)"),
        (tirx.And(tirx.Or(b, b), b), "(b or b) and b"),
        (tirx.Or(tirx.And(b, b), b), "b and b or b"),
        (tirx.Not(tirx.And(b, b)), "not (b and b)"),
        (tirx.EQ(tirx.LT(x, y), b), "(x < y) == b"),
        ((x << y) + x, "(x << y) + x"),
        (x & (y | x), "x & (y | x)"),
    ):
        assert str(expr) == text


def test_values_behind_the_scenes_are_told_apart():
    """Attributes hold Python numbers and constant expressions."""
    attrs = {"a": 1, "b": IntImm("int32", 1), "c": "s", "d": tirx.StringImm("s"), "e": [True, 1.5]}
    text = str(tvm.ir.make_node("ir.DictAttrs", **attrs))
    assert text == '{"a": 1, "b": T.int32(1), "c": "s", "d": T.StringImm("s"), "e": [True, 1.5]}'


def test_names_are_unique_and_valid():
    wanted = ["x", "x", "for", "T", "a.b", "1x", "", "é"]
    params = [tirx.Var(name, "int32") for name in wanted]
    text = func(params[0], *params).script()
    args = ast.parse(text[text.index("@") :]).body[0].args.args
    names = [arg.arg for arg in args]
    assert len(set(names)) == len(names)
    assert names[:5] == ["x", "x_1", "for_1", "T_1", "a_b"]


def test_names_are_reused_after_their_scope():
    a = tirx.decl_buffer((4,), "float32", "A")
    loops = []
    for _ in range(3):
        i = tirx.Var("i", "int32")
        loops.append(loop(i, 4, tirx.BufferStore(a, 1.0, [i])))
    text = func(tirx.SeqStmt(loops), a).script()
    assert text.count("for i in range(4):") == 3


def test_many_variables_of_one_name():
    params = [tirx.Var("x", "int32") for _ in range(2000)]
    assert "x_1999: T.int32" in func(params[0], *params).script()


def test_binding_name():
    x = tirx.Var("x", "int32")
    assert "def other(" in func(x, x).script(name="other")
    assert "class Other:" in IRModule({"f": func(x, x)}).script(name="Other")


def test_prefixes():
    x = tirx.Var("x", "int32")
    text = func(x, x).script(extra_config={"tirx.prefix": "TT"})
    assert "# from tvm.script import tirx as TT" in text and "@TT.prim_func" in text
    for prefix in ("2I", "for", ""):
        with pytest.raises(ValueError, match="Invalid `ir_prefix`"):
            func(x, x).script(ir_prefix=prefix)


def test_options_are_checked():
    x = tirx.Var("x", "int32")
    with pytest.raises(TypeError, match="unknown printer options"):
        x.script(no_such_option=1)
    with pytest.raises(TypeError, match="no_such_option"):
        tvm.get_global_func("node.PrinterConfig")({"no_such_option": 1})


def test_dtypes_of_bare_literals():
    x = tirx.Var("x", "int64")
    assert (x + 1).script(int_dtype="int64") == "x + 1"
    f = tirx.Var("f", "float32")
    assert (f + 1.5).script(float_dtype="float32") == "f + 1.5"


def test_indent_and_line_numbers():
    i = tirx.Var("i", "int32")
    text = loop(i, 4, tirx.Evaluate(i)).script(indent_spaces=2, print_line_numbers=True)
    assert text == "1 for i in range(4):\n2   T.evaluate(i)"


def test_metadata():
    x = tirx.Var("x", "bool")
    check = tirx.AssertStmt(x, tirx.StringImm("ValueError"), [tirx.StringImm("two\nlines")])
    f = func(check, x)
    text = f.script()
    assert '[metadata["tirx.StringImm"][0]]' in text
    note = "# Metadata omitted. Use show_meta=True in script() method to show it."
    assert text.endswith("\n\n" + note)
    shown = f.script(show_meta=True)
    assert shown.startswith('metadata = tvm.ir.load_json("""') and note not in shown
    metadata = eval(shown[len("metadata = ") : shown.index('""")') + 4], {"tvm": tvm})
    assert metadata["tirx.StringImm"][0].value == "two\nlines"


# --- underlines --------------------------------------------------------------------------------


def sample():
    a = tirx.decl_buffer((16,), "float32", "A")
    i, x = tirx.Var("i", "int32"), tirx.Var("x", "int32")
    store = tirx.BufferStore(a, a[i] + 1.0, [i])
    return func(tirx.SeqStmt([loop(i, 4, store), tirx.Evaluate(x)]), a, x)


def body_of(text):
    return text[text.index("    for") :]


def test_underline_expression():
    path = ROOT.attr("body").attr("seq").array_item(0).attr("body").attr("value")
    text = sample().script(path_to_underline=[path])
    assert text.startswith("Access path: <root>.body.seq[0].body.value\n\n# from")
    assert body_of(text) == (
        "    for i in range(4):\n"
        "        A[i] = A[i] + T.float32(1.0)\n"
        "               ^^^^^^^^^^^^^^^^^^^^^\n"
        "    T.evaluate(x)"
    )


def test_underline_statement_without_its_indent():
    text = sample().script(path_to_underline=[ROOT.attr("body").attr("seq").array_item(0)])
    assert body_of(text) == (
        "    for i in range(4):\n"
        "    ^^^^^^^^^^^^^^^^^^\n"
        "        A[i] = A[i] + T.float32(1.0)\n"
        "        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "    T.evaluate(x)"
    )


def test_underline_of_what_is_not_shown():
    path = ROOT.attr("body").attr("seq").array_item(1).attr("value").attr("ty").attr("dtype")
    text = sample().script(path_to_underline=[path])
    note = "Note: The underlined object is the nearest visible parent of this path.\n\n"
    assert note in text and "    T.evaluate(x)\n               ^" in text
    quiet = sample().script(path_to_underline=[path], render_invisible_path_info=False)
    assert quiet.startswith("# from") and "^" in quiet


def test_underline_in_a_grid():
    i, j = tirx.Var("i", "int32"), tirx.Var("j", "int64")
    nest = loop(i, 4, loop(j, IntImm("int64", 8), tirx.Evaluate(j)))
    text = nest.script(path_to_underline=[ROOT.attr("body").attr("extent")])
    assert "for i, j in T.grid(4, T.int64(8)):\n                      ^^^^^^^^^^" in text


def test_context_lines():
    x = tirx.Var("x", "int32")
    stmt = tirx.SeqStmt([tirx.Evaluate(x + k) for k in range(10)])
    path = ROOT.attr("seq").array_item(5)
    text = stmt.script(path_to_underline=[path], num_context_lines=1)
    assert text.split("\n")[2:] == [
        "(... 5 lines skipped ...)",
        "T.evaluate(x + 4)",
        "T.evaluate(x + 5)",
        "^^^^^^^^^^^^^^^^^",
        "T.evaluate(x + 6)",
        "(... 3 lines skipped ...)",
    ]


def test_underline_objects_and_annotations():
    f = sample()
    store = f.body.seq[0].body
    text = f.script(obj_to_underline=[store.value])
    assert "               ^^^^^^^^^^^^^^^^^^^^^" in text
    text = f.script(obj_to_annotate={store: "here", f.body.seq[0]: "a loop"})
    assert "    # a loop\n    for i in range(4):" in text and "T.float32(1.0)  # here" in text
    text = f.script(path_to_annotate={ROOT.attr("body").attr("seq").array_item(1): "last"})
    assert "T.evaluate(x)  # last" in text


def test_structural_mismatch_message():
    x, y = tirx.Var("x", "int32"), tirx.Var("x", "int32")
    left, right = func(x + 1, x), func(y + 2, y)
    with pytest.raises(ValueError) as err:
        tvm.ir.assert_structural_equal(left, right)
    path = ROOT.attr("body").attr("value").attr("b").attr("value")
    want = (
        f"StructuralEqual check failed, caused by lhs at {path}:\n"
        f"{left.script(syntax_sugar=False, path_to_underline=[path])}\n"
        f"and rhs at {path}:\n"
        f"{right.script(syntax_sugar=False, path_to_underline=[path])}"
    )
    assert str(err.value) == want
    assert "T.evaluate(x + 1)\n                   ^" in want


# --- instruments -------------------------------------------------------------------------------


def test_dump_ir(tmp_path):
    mod = IRModule({"main": sample()})
    dump = tvm.ir.instrument.DumpIR(str(tmp_path))
    with tvm.transform.PassContext(instruments=[dump]):
        tirx.transform.StmtSimplify()(mod)
    (file,) = list(tmp_path.glob("*.py"))
    assert file.read_text().startswith("# from tvm.script import ir as I")


# --- odd input ---------------------------------------------------------------------------------


def deep_sum(depth):
    x = tirx.Var("x", "int32")
    total = x
    for _ in range(depth):
        total = tirx.Add(total, x)
    return total


def test_deep_expressions():
    assert deep_sum(500).script().count("+") == 500
    deep = deep_sum(1_000_000)
    with pytest.raises(RuntimeError, match="too deep"):
        deep.script()
    assert repr(deep) == "tirx.Add(...)"


def test_deep_statements():
    x = tirx.Var("x", "int32")
    stmt = tirx.Evaluate(x)
    for _ in range(5000):
        stmt = tirx.IfThenElse(x < 1, stmt)
    try:
        assert stmt.script().count("if x < 1:") == 5000
    except RuntimeError as err:
        assert "too deep" in str(err)
    assert len(repr(stmt)) > 0


def test_objects_without_a_text_form():
    tensor = te.placeholder((4,), name="p")
    script = tvm.get_global_func("node.TVMScriptPrinterScript")
    assert "te.Tensor" in script(tensor, None) or "p" in script(tensor, None)
    assert script([1, "a", None, {"k": 2.5}], None) == '[1, "a", None, {"k": 2.5}]'
    assert script(7, None) == "7"
    assert script("text", None) == '"text"'
    assert script(None, None) == "None"


def test_repr_of_containers():
    x = tirx.Var("x", "int32")
    assert repr(tvm.runtime.convert([x, {"a": x + 1}])) == '(x, {"a": x + 1})'


def test_printing_leaves_no_state():
    f = sample()
    assert f.script() == f.script() == IRModule({"main": f})["main"].script()


def test_call_forms():
    x, f = tirx.Var("x", "int32"), tirx.Var("f", "float32")
    for call, text in (
        (Call("tirx.exp", [f], ret_ty="float32"), "T.exp(f)"),
        (Call("tirx.exp", [f], ret_ty="float64"), 'T.Call("tirx.exp", [f], ret_ty="float64")'),
        (
            Call("tirx.call_extern", [tirx.StringImm("g"), x], ret_ty="int32"),
            'T.call_extern("int32", "g", x)',
        ),
        (
            Call("tirx.tvm_struct_get", [x, x, x], ret_ty="handle"),
            "T.tvm_struct_get(x, x, x, T.handle().ty)",
        ),
        (Call("tirx.reinterpret", [f], ret_ty="int32"), 'T.reinterpret("int32", f)'),
        (Call(GlobalVar("g"), [x], ret_ty="int32"),
         'T.Call(I.GlobalVar("g"), [x], ret_ty="int32")'),
    ):  # fmt: skip
        assert str(call) == text
        assert str(tirx.Evaluate(call)).split("\n")[-1] == text
