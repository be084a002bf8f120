# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Malformed programs are refused with a message that shows the place; none crashes."""

import textwrap

import pytest

import tvm
from tvm.error import DiagnosticError
from tvm.script import from_source
from tvm.script import ir as I
from tvm.script import tirx as T

HEAD = "@T.prim_func\ndef f(A: T.Buffer((8,), 'float32'), n: T.int32):\n"


def refuse(text: str, **kwargs) -> str:
    with pytest.raises(DiagnosticError) as caught:
        from_source(textwrap.dedent(text), **kwargs)
    return str(caught.value)


def refuse_body(body: str) -> str:
    return refuse(HEAD + "".join(f"    {line}\n" for line in body.split("\n")))


def test_text_of_a_diagnostic():
    message = refuse_body("A[n] = undefined_x + 1")
    assert message == (
        "error: Undefined variable: undefined_x\n"
        " --> <str>:3:5\n"
        "   |  \n"
        " 3 |      A[n] = undefined_x + 1\n"
        "   |      ^^^^^^^^^^^^^^^^^^^^^^"
    )


def test_several_lines_are_marked():
    message = refuse_body("A[n] = T.no_such(\n    1,\n    2)")
    assert message.endswith(
        " --> <str>:3:12\n   |  \n 3 |      A[n] = T.no_such(\n   |             ^^^^^^^^^"
    )
    message = refuse_body("T.evaluate(T.exp(\n    1, 2, 3,\n    4))")
    assert message.endswith(
        "   |  \n"
        " 3 |      T.evaluate(T.exp(\n"
        "   |                 ^^^^^^\n"
        " 4 |          1, 2, 3,\n"
        "   |  ^^^^^^^^^^^^^^^^\n"
        " 5 |          4))\n"
        "   |  ^^^^^^^^^^"
    )


def test_columns_count_characters():
    message = refuse_body("A[n] = 'äöü'.no_such")
    assert " --> <str>:3:12\n" in message and message.endswith("^" * 13)


def test_place_in_a_file():
    with pytest.raises(DiagnosticError) as caught:

        @T.prim_func
        def f(A: T.Buffer((8,), "float32")):
            A[0] = A.no_such  # MARK

    import inspect

    lines, start = inspect.getsourcelines(test_place_in_a_file)
    line = start + next(i for i, text in enumerate(lines) if "# MARK" in text and "def" not in text)
    assert f"{__file__}:{line}:20\n" in str(caught.value)


def test_place_in_a_module():
    with pytest.raises(DiagnosticError, match=r"test_parser_errors.py:\d+:17\n"):

        @I.ir_module
        class Module:
            @T.prim_func
            def f(A: T.Buffer((8,), "float32")):
                A[0] = undefined_name  # noqa: F821


@pytest.mark.parametrize(
    ("body", "message", "place"),
    [
        ("for i in [1, 2]:\n    A[i] = 1.0",
         "Expect the for loop to be one of the following: range, T.serial, T.grid, T.parallel, "
         "T.vectorized, T.unroll, T.thread_binding", "3:14"),
        ("if A[0]:\n    A[0] = 1.0", "If condition must be a boolean expression, but got", "3:8"),
        ("while n:\n    A[0] = 1.0", "condition must be a boolean expression", "3:11"),
        ("a = b = 1", "Consequential assignments like 'a = b = c' are not supported.", "3:5"),
        ("x: 3 = 3", "Annotation should resolve to Var", "3:8"),
        ("x: T.handle = A.data", "Use T.let[...] for non-PrimType annotations (e.g. PointerType, "
         "handle)", "3:8"),
        ("x: T.let", "T.let annotation requires a value", "3:5"),
        ("x: T.float32[4] = 1", "Vector annotation does not support initial value", "3:5"),
        ("p = A.data\np = A.data", "Pointer variable 'p' cannot be reassigned", "4:5"),
        ("assert n > 0, ('A',)", "Assert message tuple must have exactly 2 elements "
         "(kind, [parts...]), got 1 elements", "3:5"),
        ("return", "Expression to be returned must be a Expr", "3:5"),
        ("return [A]", "Expression to be returned must be a Expr", "3:5"),
        ("A", None, None),
        ("[1, 2]", "Parsing resulted in unexpected type <class 'list'>", "3:5"),
        ("def g(x: T.int32):\n    return x", "Function must be decorated", "3:5"),
        ("@T.prim_func\ndef g(x: T.int32):\n    T.evaluate(x)", "PrimFuncFrame", "4:5"),
        ("class G:\n    pass", "Class must be decorated", "3:5"),
        ("try:\n    pass\nexcept E:\n    pass", "not implemented: Try", "3:5"),
        ("del n", "not implemented: Delete", "3:5"),
        ("global n", "not implemented: Global", "3:5"),
        ("async def g():\n    pass", "not implemented: AsyncFunctionDef", "3:5"),
        ("yield n", "Expression of kind Yield is not supported", "3:5"),
        ("A[0] = 'text'", "Incompatible types in BufferStore", "3:5"),
        ("A[0, 1] = 1.0", "cannot be indexed with the 2-dimensional indices", "3:5"),
        ("A[0:n] = 1.0", "needs a constant length", "3:5"),
        ("n[0] = 1", "it is no buffer", "3:5"),
        ("n.x = 1", "cannot assign to attribute x", "3:5"),
        ("x, y = 1, 2, 3", "too many values to unpack (expected 2)", "3:5"),
        ("x, y, *z = 1,", "not enough values to unpack (expected at least 2, got 1)", "3:5"),
        ("{'a': 1}['b']", "KeyError: 'b'", "3:5"),
        ("T.evaluate(n ** 2)", "unsupported operand type(s) for **", "3:16"),
        ("T.evaluate(n / 2)", "multiple types of integer divisions", "3:16"),
        ("T.evaluate(10 ** 10 ** 10)", "too large", "3:16"),
        ("T.evaluate(T.Add(n, 1.0))", "ismatched types", "3:16"),
        ("with n:\n    pass", "Invalid context expression in the with-statement", "3:10"),
        ("T.evaluate(n)\nT.func_name('g')", "Duplicate prim func name", "4:5"),
        ("T.func_attr({'a': 1})\nT.func_attr({'a': 2})", "Duplicate prim func annotation", "4:5"),
        ("T.reads(A[0])", "T.reads must be used inside of T.sblock()", "3:5"),
        ("with T.Then():\n    pass", "T.Then must stand directly in T.If()", "3:5"),
        ("with T.If(n > 0):\n    pass", "at least one then branch", "3:5"),
        ("T.static_assert(1 > 2, 'no')", "no", "3:5"),
        ("for i in T.serial(1.5):\n    pass", "must be scalar integers", "3:14"),
        ("T.int8(300)", "exceeds maximum of int8", "3:5"),
        ("T.uint64(2**65)", "exceeds maximum of uint64", "3:5"),
        ("x: T.int32 = A[0:4]", "Incompatible types", "3:5"),
        ("for i in range(4):\n    A[i] = 1.0\nelse:\n    pass", "`else` of a loop", "6:9"),
    ],
)  # fmt: skip
def test_statements(body, message, place):
    if message is None:
        from_source(HEAD + f"    {body}\n")
        return
    text = refuse_body(body)
    assert message in text
    assert f" --> <str>:{place}\n" in text, text


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        ("def f(A):", "Type annotation required for function parameters."),
        ("def f(A: 3):", "Annotation should resolve to Var"),
        ("def f(*A: T.int32):", "only plain parameters are supported"),
        ("def f(A: T.Optional[T.int32]):", "T.Optional parameter annotations are only supported by "
         "@T.jit"),
        ("def f(A: T.constexpr):", "has no value; use @T.jit"),
        ("def f(A: T.Buffer((no_such,), 'float32')):", "Undefined variable: no_such"),
        ("def f(A: T.Buffer((1.5,), 'float32')):", "must be an integer"),
        ("def f(A: T.Buffer((4,), 'no_type')):", "no_type"),
        ("def f(A: T.int32) -> 3:", "Annotation should resolve to Var"),
    ],
)  # fmt: skip
def test_signatures(signature, message):
    assert message in refuse(f"@T.prim_func\n{signature}\n    T.evaluate(0)\n")


def test_modules():
    text = """
    @I.ir_module
    class M:
        @T.prim_func
        def f(a: T.int32):
            T.evaluate(cls.no_such(a))
    """
    assert "Cannot find the function `no_such` in the current IRModule" in refuse(text)
    text = """
    @I.ir_module
    class M:
        @T.prim_func
        def f(a: T.int32):
            T.evaluate(a)
        @T.prim_func
        def f(a: T.int32):
            T.evaluate(a)
    """
    assert "function f already exists" in refuse(text)
    assert "must be decorated" in refuse("@I.ir_module\nclass M:\n    def f(a):\n        pass\n")
    assert "is of type <class 'int'>" in refuse("@I.ir_module\nclass M:\n    x = 3\n")
    assert "neither a module nor a function" in refuse("x = 3\n")


def test_malformed_programs_are_refused_unless_asked_for():
    text = HEAD + "    x = T.int32()\n    A[x] = 1.0\n"
    message = refuse(text)
    assert message.startswith(
        "error: Program is not well-formed. If this is deliberate, consider setting "
        "check_well_formed in the top-level decorator to False (e.g., "
        "@I.ir_module(check_well_formed=False) or @R.function(check_well_formed=False))."
    )
    assert "undefined variable x" in message
    assert isinstance(from_source(text, check_well_formed=False), tvm.tirx.PrimFunc)


@pytest.mark.parametrize(
    "text",
    [
        "", "(", "@T.prim_func", "def f(:", "\x00", "@T.prim_func\ndef f()", "'''", "1 +",
        "@T.prim_func\ndef f():\n", "@T.prim_func\ndef f():\n  pass\n pass", "\\", "@", "@1\ndef f(): pass",
        "@T\ndef f(): pass", "class A: pass", "def f(): pass", "lambda",
        "\ud800",
    ],
)  # fmt: skip
def test_broken_text(text):
    with pytest.raises((DiagnosticError, UnicodeError)):
        from_source(text)


@pytest.mark.parametrize(
    "expression",
    [
        "(" * 100_000 + "1" + ")" * 100_000,
        "[" * 100_000 + "1" + "]" * 100_000,
        "-" * 100_000 + "1",
        "not " * 100_000 + "n > 1",
        "n" + ".a" * 100_000,
        "n" + "(1)" * 100_000,
        "n" + "[0]" * 100_000,
        "lambda: " * 50_000 + "1",
        "1 if n > 0 else " * 50_000 + "2",
    ],
)
def test_deep_expressions_are_errors(expression):
    assert refuse_body(f"T.evaluate({expression})")


def test_deep_statements_are_errors():
    assert refuse_body(
        "\n".join(" " * i + "if n > 0:" for i in range(2000)) + "\n" + " " * 2000 + "pass"
    )
    chain = "if n == 0:\n    pass\n" + "elif n == 1:\n    pass\n" * 20_000
    assert refuse_body(chain)


def test_long_sums_are_fine():
    terms = " + ".join(["n"] * 900)
    func = from_source(HEAD + f"    T.evaluate({terms})\n")
    assert isinstance(func.body.value, tvm.tirx.Add)


def test_endless_inlining_is_an_error():
    text = HEAD + "    @T.inline\n    def g(x):\n        g(x + 1)\n    g(n)\n"
    assert "nested too deeply" in refuse(text)


def test_the_builder_recovers_after_an_error():
    refuse_body("for i in range(8):\n    with T.If(i > 1):\n        undefined")
    assert not tvm.script.ir_builder.IRBuilder.is_in_scope()
    from_source(HEAD + "    A[n] = 1.0\n")


class CustomError(Exception):
    pass


def test_interrupts_and_causes_travel():
    def interrupt():
        raise KeyboardInterrupt

    def fail():
        raise CustomError("mine")

    text = HEAD + "    call()\n"
    with pytest.raises(KeyboardInterrupt):
        from_source(text, {"call": interrupt})
    with pytest.raises(DiagnosticError, match="mine") as caught:
        from_source(text, {"call": fail})
    assert isinstance(caught.value.__cause__, CustomError)
    from_source(HEAD + "    A[n] = 1.0\n")


def test_wrong_arguments():
    with pytest.raises(TypeError, match="Expect a function"):
        T.prim_func(3)
    with pytest.raises(TypeError, match="Expect a class"):
        I.ir_module(3)
    with pytest.raises(TypeError, match="expected the text of a program"):
        from_source(3)
