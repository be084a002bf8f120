# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Programs that are wrong or odd: each is an error that shows the right place, or works."""

import re

import numpy as np
import pytest

import tvm
from tvm.error import DiagnosticError
from tvm.script import from_source
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

HEAD = "@T.prim_func\ndef f(A: T.Buffer((8,), 'float32'), k: T.int32):\n"
MODULE = "@I.ir_module\nclass M:\n    @T.prim_func\n    def f(A: T.int32):\n        T.evaluate(A)\n"
GRAPH = "@R.function\ndef f(x: R.Tensor((3, 4), 'float32')):\n"


def body(*lines, head=HEAD):
    return head + "".join(f"    {line}\n" for line in lines)


def failure(source):
    """Message, line, column and marked text of the error of a program."""
    with pytest.raises(DiagnosticError) as info:
        from_source(source)
    text = str(info.value)
    line, column = map(int, re.search(r"\n --> .*:(\d+):(\d+)\n", text).groups())
    rows = text.split("\n")
    marks = next((i for i, row in enumerate(rows) if re.fullmatch(r" *\| +\^+", row)), None)
    marked = "" if marks is None else rows[marks - 1][rows[marks].index("^") : len(rows[marks])]
    return text.split("\n")[0], line, column, marked


ERRORS = {
    # What was not there before it was tried: a crash, a wrong place, or silence.
    "none": (body("A[0] = None"), "must not be None", 3, 5, "A[0] = None"),
    "none as an index": (body("A[None] = 1.0"), "must not be None", 3, 5, "A[None] = 1.0"),
    "none as an extent": (body("for i in T.grid(None):", "    A[i] = 1.0"), "None", 3, 14, None),
    "large literal": (body("x = 1 << 70"), "does not fit int64", 3, 5, "x = 1 << 70"),
    "large index": (body("A[10**30] = 1.0"), "does not fit int64", 3, 5, "A[10**30] = 1.0"),
    "call of a number": (body("x = k(3)"), "cannot be called", 3, 9, "k(3)"),
    "parameter": (body("k = 3"), "Variable k already defined", 3, 5, "k = 3"),
    "buffer": (body("A = 3.0"), "Variable A already defined", 3, 5, "A = 3.0"),
    "loop variable": (
        body("for i in range(8):", "    i = 3"), "Variable i already defined", 4, 9, "i = 3"
    ),
    "kind of an assertion": (body("assert k > 0, (3, 4)"), "must be text", 3, 5, None),
    "iteration": (body("x = next(iter([]))"), "StopIteration", 3, 9, "next(iter([]))"),
    "endless recursion": (
        body("@T.inline", "def g(x):", "    return g(x)", "A[0] = g(1.0)"),
        "nested too deeply", 5, 9, "return g(x)",
    ),
    "asynchronous": (body("x = [q async for q in range(3)]"), "asynchronous", 3, 9, None),
    "option": ("@T.prim_func(foo=3)\ndef f(A: T.int32):\n    pass\n", "no option foo", 1, 2, None),
    "positional option": (
        "@T.prim_func(3)\ndef f(A: T.int32):\n    pass\n", "no positional", 1, 2, None
    ),
    "option of a module": (
        MODULE.replace("module", "module(foo=1)", 1), "no option foo", 1, 2, None
    ),
    "option of a graph": (
        GRAPH.replace("function", "function(1)") + "    return x\n", "no positional", 1, 2, None
    ),
    "two decorators": (
        "@T.prim_func\n@T.prim_func\ndef f(A: T.int32):\n    pass\n", "one decorator", 2, 2, None
    ),
    "unknown decorator": (
        "@foo\ndef f(A: T.int32):\n    pass\n", "Undefined variable: foo", 1, 2, "foo"
    ),
    "parameters of one name": (
        "@T.prim_func\ndef f(A: T.int32, A: T.int32):\n    pass\n",
        "Variable A already defined", 2, 19, "A: T.int32",
    ),
    "text of an annotation": (
        "@T.prim_func\ndef f(A: 'T.Buffer(('):\n    pass\n", "never closed", 2, 10, "'T.Buffer(('"
    ),
    "text of an annotation in a graph": (
        "@R.function\ndef f(x: 'R.Tensor(('):\n    return x\n", "never closed", 2, 10, None
    ),
    "result type": (
        "@R.function\ndef f(x: R.Tensor) -> zz:\n    return x\n", "Undefined variable: zz", 2, 23,
        "zz",
    ),
    "symbol of a result": (
        "@R.function\ndef f(x: R.Tensor) -> R.Tensor(('q',), 'float32'):\n    return x\n",
        "'q' is not defined", 2, 23, "R.Tensor(('q',), 'float32')",
    ),
    "dimension": (
        "@R.function\ndef f(x: R.Tensor((None,), 'float32')):\n    return x\n", "None", 2, 10, None
    ),
    "module in a module": (
        "@I.ir_module\nclass M:\n    @I.ir_module\n    class N:\n        pass\n", "outermost", 4, 5,
        None,
    ),
    "null byte": ("@T.prim_func\ndef f(A: T.int32):\n    pass # \0\n", "null bytes", 3, 12, None),
    "empty program": ("# nothing\n", "neither a module nor a function", 1, 1, "# nothing"),
    "wide characters": (
        body("T.evaluate(T.call_extern('int32', 'äö', 1 // 0))"), "division", 3, 45, "1 // 0"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    source, message, line, column, marked = ERRORS[name]
    found = failure(source)
    assert message in found[0]
    assert found[1:3] == (line, column)
    if marked is not None:
        assert found[3] == marked


def test_message_parts_that_are_expressions():
    func = from_source(body("assert k < 8, ('ValueError', ['too large: ', k])"))
    assert 'assert k < 8, ("ValueError", ["too large: ", "k"])' in func.script()
    library = tvm.compile(tvm.IRModule({"f": func}), target="llvm")
    with pytest.raises(ValueError, match="too large"):
        library["f"](tvm.runtime.tensor(np.zeros(8, "float32")), 9)


def test_functions_without_source():
    for text in (
        "@T.prim_func\ndef f(A: T.int32):\n    T.evaluate(A)\n",
        "@T.inline\ndef f(A):\n    T.evaluate(A)\n",
        "@R.function\ndef f(x: R.Tensor):\n    return x\n",
        MODULE,
    ):
        with pytest.raises(DiagnosticError, match="could not get source code"):
            exec(text, {"T": T, "R": R, "I": I})


def test_lambdas_are_no_definitions():
    for decorate in (T.prim_func, T.inline, T.jit, R.function):
        with pytest.raises(DiagnosticError):
            decorate(lambda x: x)
    for decorate in (T.prim_func, T.inline, T.jit, R.function, R.macro(hygienic=True)):
        with pytest.raises(TypeError, match="Expect a function"):
            decorate(3)


def test_closures_over_loop_variables():
    made = []
    for i in range(3):

        @T.prim_func
        def f(A: T.Buffer((8,), "int32")):
            for j in range(i + 1):  # noqa: B023 - parsed at once
                A[j] = i  # noqa: B023

        made.append(f)
    assert [f"range({i + 1})" in f.script() for i, f in enumerate(made)] == [True] * 3


@pytest.mark.parametrize("name", ["T", "R", "cls", "def", "None", "print", "range", "", "1a", "ä"])
def test_names(name):
    var = tvm.tirx.Var(name, "int32")
    loop = tvm.tirx.For(
        tvm.tirx.Var(name, "int32"), 0, 4, tvm.tirx.ForKind.SERIAL, tvm.tirx.Evaluate(var)
    )
    func = tvm.tirx.PrimFunc([var], loop).with_attr("global_symbol", name or "q")
    module = tvm.IRModule({name or "q": func})
    for program in (func, module):
        assert tvm.ir.structural_equal(from_source(program.script()), program)


def test_annotation_of_a_value_of_unknown_type():
    func = from_source(
        "@R.function\ndef f(x: R.Tensor):\n    y: R.Tensor((3, 4)) = R.exp(x)\n    return y\n"
    )
    assert str(func.ret_ty) == "R.Tensor((3, 4))"
