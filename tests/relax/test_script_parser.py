# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Programs written as Python functions and classes, and as text: what they mean, what is refused."""

from typing import TypeVar

import pytest

import tvm
from tvm import relax
from tvm.error import DiagnosticError
from tvm.ir import PrimType, assert_structural_equal
from tvm.script import from_source
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

n = TypeVar("n")
op = relax.op
TY = relax.TensorType((2, 3), "float32")


def bindings(func):
    return [b for block in func.body.blocks for b in block.bindings]


# ---- what programs mean --------------------------------------------------------------------------


def test_function_equals_the_one_built():
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            a = R.add(x, y)
            b = R.multiply(a, y)
            R.output(b)
        return b

    x, y = (relax.Var(name, TY) for name in "xy")
    bb = relax.BlockBuilder()
    with bb.function("main", [x, y]):
        with bb.dataflow():
            a = bb.emit(op.add(x, y))
            b = bb.emit_output(op.multiply(a, y))
        bb.emit_func_output(b)
    assert_structural_equal(main, bb.get()["main"])
    assert isinstance(bindings(main)[0].var, relax.DataflowVar)
    assert not isinstance(bindings(main)[1].var, relax.DataflowVar)


def test_symbols_as_type_variables_text_and_declarations():
    @R.function(private=True)
    def with_type_var(x: R.Tensor((n, 4), "float32")) -> R.Tensor((n, 4), "float32"):
        return x

    @R.function(private=True)
    def with_text(x: R.Tensor(("m", 4), "float32")) -> R.Tensor(("m", 4), "float32"):
        return x

    @R.function(private=True)
    def declared(x: R.Tensor(("m", 4), "float32")):
        m = T.int64()
        y: R.Tensor((m, 4), "float32") = x
        return y

    assert_structural_equal(with_type_var, with_text)
    symbol = with_text.params[0].ty.shape.values[0]
    assert symbol.same_as(with_text.ret_ty.shape.values[0])
    assert symbol.name == "m"
    assert declared.ret_ty.shape.values[0].same_as(declared.params[0].ty.shape.values[0])


def test_a_later_parameter_defines_a_symbol():
    @R.function
    def main(
        x: R.Tensor(("a * 2 + b",), "float32"),
        s: R.Shape(["a", "b"]),
        k: R.Prim("int64"),
        y: R.Tensor(("k", "b"), "int8"),
    ):
        return y

    a, b = main.params[1].ty.values
    assert_structural_equal(main.params[0].ty.shape.values[0], a * 2 + b)
    assert main.params[3].ty.shape.values[0].same_as(main.params[2])


def test_symbols_defined_by_match_cast():
    @R.function
    def main(x: R.Tensor(ndim=2)):
        p = T.int64()
        q = T.int64()
        y = R.match_cast(x, R.Tensor((p, q), "float32"))
        z = R.reshape(y, R.shape([p * q]))
        return z

    cast = bindings(main)[0]
    assert isinstance(cast, relax.MatchCast)
    assert cast.ty == cast.var.ty
    assert main.ret_ty == relax.TensorType(None, "float32", ndim=1)


def test_literals_and_plain_values():
    factor = 3

    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        a = 1
        b = True
        c: R.Prim("int32") = 2
        axis = [0, 1]
        d = R.sum(x, axis=axis)
        e = (1, x, (2.0, "text"))
        meta = I.meta_var(factor + 1)
        f = R.full((meta,), R.const(0.5), "float32")
        return d, e, f, a, b, c

    values = [b.value for b in bindings(main)]
    assert isinstance(values[0], relax.Constant) and str(values[0].ty.dtype.dtype) == "int32"
    assert str(values[1].ty.dtype.dtype) == "bool"
    assert values[2].ty == PrimType("int32")
    assert [str(f.ty) for f in values[4].fields] == [
        "T.int64",
        str(TY),
        "T.Tuple(T.float64, R.Any)",
    ]
    assert bindings(main)[5].var.ty == relax.TensorType((4,), "float32")


def test_tuples_are_unpacked():
    @R.function
    def main(x: R.Tensor((4, 3), "float32")):
        a, b = R.split(x, 2)
        t = (a, b)
        c, d = t
        e, f = (c, R.add(d, d))
        return e, f

    kinds = [type(b.value).__name__ for b in bindings(main)]
    assert kinds == [
        "Call",
        "TupleGetItem",
        "TupleGetItem",
        "Tuple",
        "TupleGetItem",
        "TupleGetItem",
        "Var",
        "Call",
    ]


def test_python_operators_and_nested_calls():
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        return R.nn.relu(x + x) * -x

    names = [str(b.value.op.name) for b in bindings(main)]
    assert names == ["relax.add", "relax.nn.relu", "relax.negative", "relax.multiply"]


def test_module_with_kernels_external_functions_and_calls_in_any_order():
    @I.ir_module
    class Module:
        I.module_attrs({"foo": 10})
        ext = R.ExternFunc("sym")

        @R.function
        def main(x: R.Tensor((n, 4), "float32")) -> R.Tensor((n, 4), "float32"):
            cls = Module
            with R.dataflow():
                a = R.call_tir(cls.double, (x,), out_ty=R.Tensor((n, 4), dtype="float32"))
                b = cls.helper(a)
                R.output(b)
            return b

        @T.prim_func
        def double(x: T.handle, y: T.handle):
            m = T.int64()
            A = T.match_buffer(x, (m, 4), "float32")
            B = T.match_buffer(y, (m, 4), "float32")
            for i, j in T.grid(m, 4):
                B[i, j] = A[i, j] * T.float32(2)

        @R.function(private=True)
        def helper(x: R.Tensor((n, 4), "float32")) -> R.Tensor((n, 4), "float32"):
            return R.nn.relu(x)

    assert sorted(str(v.name_hint) for v in Module.get_global_vars()) == [
        "double",
        "ext",
        "helper",
        "main",
    ]
    call = bindings(Module["main"])[1].value
    assert call.op.same_as(Module.get_global_var("helper"))
    assert Module.attrs["foo"] == 10
    assert "global_symbol" not in Module["helper"].attrs
    again = from_source(Module.script(show_meta=True))
    assert_structural_equal(again, Module)


def test_nested_functions_may_call_themselves():
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), c: R.Tensor((), "bool")):
        @R.function
        def loop(y: R.Tensor((2, 3), "float32"), go: R.Tensor((), "bool")) -> R.Tensor(
            (2, 3), "float32"
        ):
            if go:
                w = loop(R.add(y, x), c)
            else:
                w = y
            return w

        z = loop(x, c)
        return z

    inner = bindings(main)[0]
    assert isinstance(inner.value, relax.Function)
    assert "global_symbol" not in inner.value.attrs
    recursive = inner.value.body.blocks[0].bindings[0].value.true_branch.blocks[0].bindings[1].value
    assert recursive.op.same_as(inner.var)
    assert_structural_equal(from_source(main.script()), main)


def test_choices():
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), c: R.Tensor((), "bool")):
        if c:
            a = R.add(x, x)
            y = R.multiply(a, x)
        elif c:
            y = x
        else:
            y = R.negative(x)
        return y

    choice = bindings(main)[0].value
    assert isinstance(choice, relax.If)
    assert str(bindings(main)[0].var.name) == "y"
    assert len(choice.true_branch.blocks[0].bindings) == 2
    nested = choice.false_branch.blocks[0].bindings[0].value
    assert nested.true_branch.body.same_as(main.params[0])
    assert len(nested.true_branch.blocks) == 0


def test_macros_are_inlined():
    bias = relax.const(1.0)

    @R.macro(hygienic=True)
    def shifted(value, times):
        result = value
        for_all = R.add(result, bias)
        return R.multiply(for_all, times)

    @R.macro(hygienic=False)
    def late(value):
        return R.add(value, own)

    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        own = R.negative(x)  # noqa: F841 - the macro uses it
        y = shifted(x, R.const(2.0))
        z = late(y)
        return z

    names = [str(b.value.op.name) for b in bindings(main) if hasattr(b.value, "op")]
    assert names == ["relax.negative", "relax.add", "relax.multiply", "relax.add"]
    assert bindings(main)[-1].value.args[1].same_as(bindings(main)[0].var)


def test_python_functions_stay_python():
    @I.ir_module
    class Module:
        @I.pyfunc
        def helper(self, x):
            return x + 1

        @R.function
        def main(x: R.Any) -> R.Any:
            return x

    assert Module.pyfuncs["helper"](None, 2) == 3
    assert len(Module.get_global_vars()) == 1


def test_kernels_made_while_parsing():
    from tvm import te

    def plus_one(a):
        return te.compute(a.shape, lambda *i: a(*i) + tvm.tirx.const(1.0, "float32"), name="out")

    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")):
            y = R.emit_te(plus_one, x)
            z = R.emit_te(plus_one, y)
            return z

    assert sorted(str(v.name_hint) for v in Module.get_global_vars()) == ["main", "plus_one"]


def test_vdevices():
    @I.ir_module
    class Module:
        I.module_global_infos({"vdevice": [I.vdevice("llvm", 0), I.vdevice("llvm", 1)]})

        @R.function
        def main(x: R.Tensor((2, 3), "float32", "llvm:0")):
            y = R.to_vdevice(x, "llvm:1")
            return y

    devices = Module.global_infos["vdevice"]
    assert Module["main"].params[0].ty.vdevice == devices[0]
    assert Module["main"].ret_ty.vdevice == devices[1]


def test_annotations_are_types_outside_of_functions():
    assert R.Tensor((2, 3), "float32") == TY
    assert relax.Var("x", R.Tensor((2, 3), "float32")).ty == TY
    assert R.Tuple(R.Any, R.Shape([1])) == relax.TupleType([relax.AnyType(), relax.ShapeType([1])])
    with pytest.raises(ValueError, match="known only inside a function"):
        R.Tensor(("n",), "float32").as_ty()


def test_pure_and_attributes():
    @R.function(pure=False)
    def main(x: R.Tensor((2, 3), "float32")):
        R.func_attr({"num_input": 1, "relax.force_pure": False})
        y = R.call_packed("test.f", x, ty_args=R.Tensor((2, 3), "float32"))
        R.print(y, format="{}")
        return y

    assert not main.is_pure
    assert main.attrs["num_input"] == 1
    assert bindings(main)[0].value.ty == TY


def test_every_operator_of_the_table_has_a_name():
    from tvm.relax.op._table import rows

    for name in rows():
        target = R
        for part in name.split("."):
            target = getattr(target, part)
        assert callable(target), name
    with pytest.raises(AttributeError, match="no operator 'nn.nothing'"):
        R.nn.nothing  # noqa: B018


def test_spans_are_places_in_the_source():
    func = from_source(
        """\
@R.function
def f(x: R.Tensor((2, 3), "float32")):
    y = R.add(x, x)
    return y
"""
    )
    span = bindings(func)[0].value.span
    assert (span.line, span.column, span.end_line, span.end_column) == (3, 9, 3, 20)


# ---- what is refused -----------------------------------------------------------------------------

HEAD = '@R.function\ndef f(x: R.Tensor((2, 3), "float32"), c: R.Tensor((), "bool")):\n'
# Body, part of the message, line and column of the place.
REFUSED = {
    "no return": ("    y = R.add(x, x)\n", "must have a return value", (2, 1)),
    "undefined": ("    return yy\n", "Undefined variable: yy", (3, 5)),
    "statement": (
        "    R.add(x, x)\n    return x\n",
        "Non-void relax expressions must be bound to a variable, but expression of type "
        'R.Tensor((2, 3), dtype="float32") was used as a statement.',
        (3, 5),
    ),
    "no else": (
        "    if c:\n        y = R.add(x, x)\n    return y\n",
        "Empty body is not allowed for 'R.Else' statements.",
        (3, 5),
    ),
    "different names": (
        "    if c:\n        y = R.add(x, x)\n    else:\n        z = R.add(x, x)\n    return y\n",
        "the R.Then branch provides variable y, while the R.Else branch provides variable z",
        (3, 5),
    ),
    "local of a block": (
        "    with R.dataflow():\n        y = R.add(x, x)\n        z = R.add(x, x)\n"
        "        R.output(z)\n    return y\n",
        "Undefined variable: y",
        (7, 5),
    ),
    "binding after output": (
        "    with R.dataflow():\n        y = R.add(x, x)\n        R.output(y)\n"
        "        z = R.add(x, x)\n    return y\n",
        "New binding is not allowed after dataflow block output.",
        (6, 9),
    ),
    "output of another block": (
        "    y = R.add(x, x)\n    with R.dataflow():\n        R.output(y)\n    return y\n",
        "An output variable is not emitted by this dataflow block",
        None,
    ),
    "output outside": (
        "    y = R.add(x, x)\n    R.output(y)\n    return y\n",
        "`R.output` should appear inside a dataflow block.",
        None,
    ),
    "nested dataflow": (
        "    with R.dataflow():\n        y = R.add(x, x)\n        with R.dataflow():\n"
        "            z = R.add(x, x)\n            R.output(z)\n        R.output(y)\n    return y\n",
        "must not be inside of another one",
        (5, 9),
    ),
    "two returns": (
        "    return x\n    return x\n",
        "do not support multiple return statements",
        (4, 5),
    ),
    "return in a branch": (
        "    if c:\n        y = R.add(x, x)\n        return y\n    else:\n        y = x\n"
        "    return y\n",
        "do not support a return inside of a branch",
        (5, 9),
    ),
    "statement after return": (
        "    return x\n    y = R.add(x, x)\n",
        "no statement may follow the return",
        (4, 5),
    ),
    "None": (
        "    return None\n",
        "Cannot convert None with type <class 'NoneType'> to `relax.Expr`",
        (3, 5),
    ),
    "loop": (
        "    for i in range(3):\n        y = x\n    return x\n",
        "not implemented: For",
        (3, 5),
    ),
    "while": ("    while c:\n        y = x\n    return x\n", "not implemented: While", (3, 5)),
    "chained": (
        "    a = b = x\n    return a\n",
        "Consequential assignments like 'a = b = c' are not supported.",
        (3, 5),
    ),
    "shapes": (
        "    y = R.add(x, R.zeros((4, 3), 'float32'))\n    return y\n",
        "not broadcastable",
        (3, 5),
    ),
    "keyword": ("    y = R.sum(x, axes=1)\n    return y\n", "unexpected keyword argument", (3, 9)),
    "operator": ("    y = R.nothing(x)\n    return y\n", "R has no operator 'nothing'", (3, 9)),
    "number operand": (
        "    y = x + 1\n    return y\n",
        "Please convert 1 with `const` first",
        None,
    ),
    "with": ("    with x:\n        y = x\n    return x\n", "Invalid context expression", (3, 10)),
    "cast to nothing": (
        "    y = R.match_cast(x, R.Tensor((2,), 'float32'))\n    return y\n",
        "It is impossible to match cast any value into the target ty",
        (3, 5),
    ),
    "import": (
        "    import os\n    return x\n",
        "Only 'from __future__ import annotations'",
        (3, 5),
    ),
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refused_with_its_place(name):
    body, message, place = REFUSED[name]
    with pytest.raises(DiagnosticError) as info:
        from_source(HEAD + body)
    text = str(info.value)
    assert message in text
    assert text.startswith("error: ")
    if place is not None:
        assert f" --> <str>:{place[0]}:{place[1]}\n" in text


SIGNATURES = {
    "no annotation": ("def f(x):", "Type annotation is required for function parameters."),
    "unknown symbol": ('def f(x: R.Tensor(("n * 2",), "int8")):', "name 'n' is not defined"),
    "no type": ("def f(x: 3):", "3 is no type annotation"),
    "starred": ("def f(*x: R.Any):", "takes no *x parameter"),
    "default": ("def f(x: R.Any = 1):", "have no defaults"),
    "bad dimension": ('def f(x: R.Tensor(("n +",), "int8")):', "is no expression"),
    "both": ('def f(x: R.Tensor((2,), "int8", ndim=1)):', "Cannot specify both shape and ndim"),
    "twice": ("def f(x: R.Any, x: R.Any):", "Variable x already defined in current scope"),
}


@pytest.mark.parametrize("name", sorted(SIGNATURES))
def test_refused_signatures(name):
    line, message = SIGNATURES[name]
    with pytest.raises(DiagnosticError) as info:
        from_source(f"@R.function\n{line}\n    return x\n")
    assert message in str(info.value)


MALFORMED = {
    "impure": (
        '    y = R.call_packed("f", x, ty_args=R.Any)\n    return y\n',
        "in a function marked pure",
    ),
    "undefined symbol": (
        "    m = T.int64()\n    y = R.zeros(R.shape([m]), 'float32')\n    return y\n",
        "Symbolic Var m is not defined",
    ),
    "annotation": (
        "    y: R.Tensor((2, 4), 'float32') = R.add(x, x)\n    return y\n",
        "is bound to a value of type",
    ),
}


@pytest.mark.parametrize("name", sorted(MALFORMED))
def test_malformed_programs(name):
    body, cause = MALFORMED[name]
    with pytest.raises(DiagnosticError) as info:
        from_source(HEAD + body)
    text = str(info.value)
    assert text.startswith(
        "error: Program is not well-formed. If this is deliberate, consider setting "
        "check_well_formed in the top-level decorator to False (e.g., "
        "@I.ir_module(check_well_formed=False) or @R.function(check_well_formed=False))."
    )
    assert cause in text
    func = from_source(HEAD + body, check_well_formed=False)
    assert isinstance(func, relax.Function)
    assert not relax.analysis.check_well_formed(func)


def test_the_check_can_be_turned_off():
    @R.function(check_well_formed=False)
    def main(x: R.Tensor((2, 3), "float32")):
        y = R.call_packed("f", x, ty_args=R.Any)
        return y

    assert main.is_pure
    with pytest.raises(DiagnosticError, match="Program is not well-formed"):

        @R.function
        def again(x: R.Tensor((2, 3), "float32")):
            y = R.call_packed("f", x, ty_args=R.Any)
            return y


def test_deep_programs_are_refused_not_fatal():
    deep = "(" * 3000 + "x" + ",)" * 3000
    with pytest.raises(DiagnosticError):
        from_source(f"{HEAD}    y = {deep}\n    return y\n")
    deep = "R.negative(" * 5000 + "x" + ")" * 5000
    with pytest.raises(DiagnosticError, match="nested too deeply|too many nested"):
        from_source(f"{HEAD}    y = {deep}\n    return y\n")
    with pytest.raises(DiagnosticError):
        from_source(
            "@R.function\ndef f(x: R.Tensor(("
            + '"'
            + "-" * 100000
            + 'n",), "int8")):\n    return x\n'
        )


def test_exceptions_of_the_program_keep_their_cause():
    class Mine(Exception):
        pass

    def fail():
        raise Mine("no luck")

    with pytest.raises(DiagnosticError, match="no luck") as info:
        from_source(f"{HEAD}    y = fail()\n    return x\n", {**_names(), "fail": fail})
    assert isinstance(info.value.__cause__, Mine)


def _names():
    return {"R": R, "T": T, "I": I}


def test_keyboard_interrupt_passes():
    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        from_source(f"{HEAD}    y = stop()\n    return x\n", {**_names(), "stop": stop})
