# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Parser core: sources, names, evaluation, spans, modules."""

from __future__ import annotations

import textwrap
from typing import TypeVar

import pytest

import tvm
from tvm.ir import assert_structural_equal
from tvm.script import from_source
from tvm.script import ir as I
from tvm.script import tirx as T

SCALE = 3


def evaluate(text: str, **names):
    """Value of the first argument of `probe(..)` in a function that evaluates `text`."""
    seen = []
    from_source(
        "@T.prim_func\ndef f(A: T.Buffer((8,), 'float32'), n: T.int32, m: T.int32):\n"
        f"    probe({text})\n",
        extra_vars={"probe": seen.append, **names},
        check_well_formed=False,
    )
    return seen[0]


def test_python_expressions_keep_python_meaning():
    assert evaluate("[i * k for i in range(4) if i % 2 for k in (1, 10)]") == [1, 10, 3, 30]
    assert evaluate("{k: v for k, v in zip('ab', (1, 2))}") == {"a": 1, "b": 2}
    assert evaluate("sum(x for x in {1, 2, 3})") == 6
    assert evaluate("(lambda a, *b, c=5, **d: (a, b, c, d))(1, 2, 3, e=4)") == (
        1, (2, 3), 5, {"e": 4},
    )  # fmt: skip
    assert evaluate("f'{3:>4}|{\"x\"!r}'") == "   3|'x'"
    assert evaluate("[*[1, 2], *(3,)]") == [1, 2, 3]
    assert evaluate("{**{'a': 1}, 'b': 2}") == {"a": 1, "b": 2}
    assert evaluate("'abc'[::-1][0:2]") == "cb"
    assert evaluate("1 < 2 < 3") is True
    assert evaluate("1 < 2 > 3 < undefined") is False
    assert evaluate("0 or [] or 'x'") == "x"
    assert evaluate("1 and 0 and undefined") == 0
    assert evaluate("None is not None or not []") is True
    assert evaluate("1 if '' else 2") == 2
    assert evaluate("3 in (1, 2, 3)") is True


def test_short_circuit_does_not_evaluate_the_rest():
    assert evaluate("False and undefined_name") is False
    assert evaluate("True or undefined_name") is True


def test_logic_on_expressions_builds_nodes():
    both = evaluate("n > 1 and m > 2")
    assert isinstance(both, tvm.tirx.And)
    assert isinstance(evaluate("n > 1 or m > 2"), tvm.tirx.Or)
    assert isinstance(evaluate("not n > 1"), tvm.tirx.Not)
    chain = evaluate("0 < n < m")
    assert isinstance(chain, tvm.tirx.And)
    assert isinstance(chain.a, tvm.tirx.LT) and isinstance(chain.b, tvm.tirx.LT)
    assert int(chain.a.a) == 0
    choice = evaluate("n if m > 0 else 2")
    assert choice.op.name == "tirx.if_then_else"
    assert isinstance(evaluate("True and n > 1"), tvm.tirx.GT)
    assert isinstance(evaluate("n == m"), tvm.tirx.EQ)
    assert isinstance(evaluate("1 != n"), tvm.tirx.NE)


def test_slices_are_vectors_where_they_are_operands():
    value = evaluate("A[0:4] + A[4:8]")
    assert str(value.dtype) == "float32x4"
    assert isinstance(evaluate("A[0:4]"), tvm.tirx.BufferRegion)
    assert str(evaluate("-A[0:4]").dtype) == "float32x4"
    assert str(evaluate("A[0:4] < 1.0").dtype) == "boolx4"
    assert str(evaluate("T.exp(A[0:4])").dtype) == "float32x4"


def test_names_resolve_as_in_python():
    offset = 2

    def make(width):
        @T.prim_func
        def f(A: T.Buffer((width,), "float32")):
            A[offset] = T.float32(SCALE)

        return f

    f = make(5)
    assert int(f.params[0].shape[0]) == 5
    assert int(f.body.indices[0]) == 2 and float(f.body.value.value) == 3.0


def test_annotations_as_text_see_the_functions_around():
    # `from __future__ import annotations`: Python does not capture `rows`, nobody else names it.
    rows = 7

    def inner():
        @T.prim_func
        def f(A: T.Buffer((rows, 2), "float32")):
            A[0, 0] = 1.0

        return f

    assert int(inner().params[0].shape[0]) == 7


def test_local_name_hides_global():
    SCALE = 9  # noqa: N806

    @T.prim_func
    def f(A: T.Buffer((4,), "float32")):
        A[0] = T.float32(SCALE)

    assert float(f.body.value.value) == 9.0


def test_two_classes_of_one_name_are_told_apart():
    @I.ir_module
    class Module:
        @T.prim_func
        def f(A: T.Buffer((4,), "float32")):
            A[0] = 1.0

    first = Module

    @I.ir_module
    class Module:
        @T.prim_func
        def f(A: T.Buffer((4,), "float32")):
            A[0] = 2.0

    assert float(first["f"].body.value.value) == 1.0
    assert float(Module["f"].body.value.value) == 2.0
    assert Module.__name__ == "Module"


class TestClass:
    """A function in a class that is no module is parsed where it stands."""

    @T.prim_func
    def f(A: T.Buffer((4,), "float32")):
        A[0] = 1.0

    def test_it_is_a_function(self):
        assert isinstance(self.f, tvm.tirx.PrimFunc)


def test_module_functions_call_each_other():
    @I.ir_module
    class Module:
        I.module_attrs({"a": 1})
        I.module_global_infos({"d": [I.dummy_global_info()]})

        @T.prim_func
        def main(A: T.Buffer((8,), "float32"), n: T.int32):
            cls.helper(n)
            x: T.int32 = Module.helper(n)
            A[x] = 1.0

        @T.prim_func
        def helper(a: T.int32) -> T.int32:
            return a + 1

    assert {str(v.name_hint) for v in Module.get_global_vars()} == {"main", "helper"}
    call = Module["main"].body.seq[0].value
    assert call.op.same_as(Module.get_global_var("helper"))
    assert str(call.dtype) == "int32"
    assert Module.get_attr("a") == 1
    assert len(Module.global_infos["d"]) == 1


def test_module_takes_functions_made_elsewhere():
    @T.prim_func(private=True)
    def made(A: T.Buffer((4,), "float32")):
        A[0] = 1.0

    @I.ir_module
    class Module:
        other = made

    assert_structural_equal(Module["other"], made)


def test_python_functions_of_a_module_stay_python():
    @I.ir_module
    class Module:
        @I.pyfunc
        def double(x):
            return 2 * x * SCALE

        @T.prim_func
        def f(A: T.Buffer((4,), "float32")):
            A[0] = 1.0

    assert Module.pyfuncs["double"](2) == 12
    assert [str(v.name_hint) for v in Module.get_global_vars()] == ["f"]


def test_module_attributes_and_errors():
    def attrs_twice():
        @I.ir_module
        class Module:
            I.module_attrs({"a": 1})
            I.module_attrs({"a": 2})

    with pytest.raises(tvm.error.DiagnosticError, match="Duplicate module attrs, previous one is"):
        attrs_twice()

    @I.ir_module
    class Module:
        I.module_attrs({"a": 1})
        I.module_attrs({"a": 2}, allow_overwrite=True)
        I.module_set_attr("b", 3)
        I.module_global_infos(
            {"vdevice": [I.vdevice("llvm"), I.vdevice("llvm", 1), I.vdevice("c", 0)]}
        )

    assert Module.get_attr("a") == 2 and Module.get_attr("b") == 3
    assert len(Module.global_infos["vdevice"]) == 3


def test_lookup_vdevice():
    found = []
    from_source(
        textwrap.dedent("""
        @I.ir_module
        class Module:
            I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("llvm", 1)]})
            probe(I.lookup_vdevice("llvm"))
            probe(I.lookup_vdevice("llvm", 0))
        """),
        {"probe": found.append},
    )
    assert [device.vdevice_id for device in found] == [1, 0]
    with pytest.raises(tvm.error.DiagnosticError, match="was not found"):
        from_source("@I.ir_module\nclass M:\n    I.lookup_vdevice('cuda')\n")


def test_type_variables():
    source = """
    n = TypeVar("n")
    @T.prim_func
    def f(A: T.Buffer((n, 4), "float32"), B: T.Buffer((n * 2,), "float32")):
        for i in range(n):
            A[i, 0] = B[i * 2]
    """
    f = from_source(textwrap.dedent(source))
    n = f.params[0].shape[0]
    assert str(n.dtype) == "int64" and n.name == "n"
    assert f.body.extent.same_as(n)
    assert f.params[1].shape[0].a.same_as(n)

    m = TypeVar("m")

    @T.prim_func
    def g(A: T.Buffer((m,), "float32")):
        A[m - 1] = 0.0

    assert g.body.indices[0].a.same_as(g.params[0].shape[0])


def test_text_in_shapes_names_variables():
    @T.prim_func
    def f(A: T.Buffer(("n", "m + 1"), "float32"), B: T.Buffer(("n",), "float32"), m: T.int64):
        A[n - 1, m] = B[0]

    n = f.params[0].shape[0]
    assert str(n.dtype) == "int32"
    assert f.params[1].shape[0].same_as(n)
    assert f.params[0].shape[1].a.same_as(f.params[2])

    @T.prim_func
    def g(A: T.Buffer(("n",), "float32")):
        n = T.int64()
        A[n - 1] = 0.0

    assert str(g.params[0].shape[0].dtype) == "int64"
    assert g.body.indices[0].a.same_as(g.params[0].shape[0])


def test_spans_of_statements_and_calls():
    f = from_source(
        "@T.prim_func\n"
        "def f(A: T.Buffer((8,), 'float32')):\n"
        "    for i in range(8):\n"
        "        A[i] = T.exp(A[i]) + 1.0\n"
    )
    span = f.body.span
    assert (span.line, span.column, span.end_line, span.end_column) == (3, 5, 4, 33)
    assert span.source_name.name == "<str>"
    store = f.body.body
    assert (store.span.line, store.span.column) == (4, 9)
    call = store.value.a
    assert (call.span.line, call.span.column, call.span.end_column) == (4, 16, 27)


@T.inline
def add_one(buffer, index):
    buffer[index] = buffer[index] + 1.0


def test_spans_of_inlined_code_name_call_and_definition():
    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        add_one(A, 3)

    spans = f.body.span.spans
    assert len(spans) == 2
    assert spans[0].line > spans[1].line  # the call stands below the helper in this file
    assert spans[0].source_name.name.endswith("test_parser_core.py")


def test_spans_do_not_count_in_comparison():
    text = "@T.prim_func\ndef f(A: T.Buffer((8,), 'float32')):\n    A[0] = 1.0\n"
    assert_structural_equal(from_source(text), from_source("\n\n" + text))


def test_future_import_is_the_only_one():
    text = (
        "from __future__ import annotations\n@T.prim_func\ndef f(a: T.int32):\n    T.evaluate(a)\n"
    )
    assert isinstance(from_source(text), tvm.tirx.PrimFunc)
    for line in ("import os", "from os import path", "from __future__ import division"):
        with pytest.raises(tvm.error.DiagnosticError, match="Only 'from __future__"):
            from_source(line + "\n" + text)


def test_dialects_can_be_registered():
    class Dialect:
        answer = 42

    tvm.script.register_dialect("testing_dialect", Dialect)
    assert tvm.script.testing_dialect is Dialect
    f = from_source("@T.prim_func\ndef f(a: T.int32):\n    T.evaluate(testing_dialect.answer)\n")
    assert int(f.body.value) == 42


def test_importing_tvm_does_not_load_the_parser():
    import subprocess
    import sys

    code = "import sys, tvm; sys.exit(any(m.startswith('tvm.script.parser') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
