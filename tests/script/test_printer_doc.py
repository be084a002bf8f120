# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Docs built in Python, and their text."""

import ast
import itertools

import pytest

from tvm.script.printer.doc import (
    AssertDoc,
    AssignDoc,
    AttrAccessDoc,
    BreakDoc,
    CallDoc,
    ClassDoc,
    CommentDoc,
    ContinueDoc,
    DictDoc,
    DocStringDoc,
    ExprStmtDoc,
    ExprStringDoc,
    ForDoc,
    FunctionDoc,
    IdDoc,
    IfDoc,
    IndexDoc,
    LambdaDoc,
    ListDoc,
    LiteralDoc,
    OpCallDoc,
    OperationDoc,
    OperationKind,
    ReturnDoc,
    ScopeDoc,
    SliceDoc,
    StmtBlockDoc,
    TupleDoc,
    WhileDoc,
)
from tvm.script.printer.doc_printer import to_python_script
from tvm_ffi.access_path import AccessPath

A, B, C = IdDoc("a"), IdDoc("b"), IdDoc("c")
FOO = ExprStmtDoc(IdDoc("foo"))
K = OperationKind


def op(kind, *operands):
    return OperationDoc(kind, list(operands))


@pytest.mark.parametrize(
    "doc, text",
    [
        (LiteralDoc(None), "None"),
        (LiteralDoc(True), "True"),
        (LiteralDoc(-5), "-5"),
        (LiteralDoc(1.0), "1.0"),
        (LiteralDoc(0.1), "0.10000000000000001"),
        (LiteralDoc(1e16), "10000000000000000.0"),
        (LiteralDoc(float("-inf")), '"-inf"'),
        (LiteralDoc('a"b\n'), '"a\\"b\\n"'),
        (ExprStringDoc("x + y"), "x + y"),
        (A.attr("x").call(B, k=C), "a.x(b, k=c)"),
        (CallDoc(A, LambdaDoc([B], C)), "a(lambda b: c)"),
        (A[B, SliceDoc(B, C)], "a[b, b:c]"),
        (A[B:C], "a[b:c]"),
        (IndexDoc(A, []), "a[()]"),
        (IndexDoc(A, [TupleDoc([B])]), "a[(b,)]"),
        (TupleDoc([]), "()"),
        (TupleDoc([A, B]), "(a, b)"),
        (ListDoc([A]), "[a]"),
        (DictDoc({B: C, LiteralDoc(1): C}), "{b: c, 1: c}"),
        (AttrAccessDoc(op(K.Add, A, B), "x"), "(a + b).x"),
        (op(K.IfThenElse, A, B, C), "b if a else c"),
        (op(K.MatMul, A, B), "a @ b"),
        (op(K.Invert, op(K.Add, A, B)), "~(a + b)"),
    ],
)
def test_expressions(doc, text):
    assert to_python_script(doc) == text


BINARY = [k for k in K if K._BinaryStart < k < K._BinaryEnd]
UNARY = [K.USub, K.Invert, K.Not]


def tree_of(doc):
    """What Python should read back, as nested tuples."""
    if isinstance(doc, IdDoc):
        return doc.name
    return (K(doc.kind).name, *(tree_of(o) for o in doc.operands))


def tree_of_ast(node):
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.BinOp):
        name = type(node.op).__name__.replace("MatMult", "MatMul")
        return (name, tree_of_ast(node.left), tree_of_ast(node.right))
    if isinstance(node, ast.UnaryOp):
        return (type(node.op).__name__, tree_of_ast(node.operand))
    if isinstance(node, ast.Compare):
        assert len(node.ops) == 1, "a chain of comparisons"
        return (
            type(node.ops[0]).__name__,
            tree_of_ast(node.left),
            tree_of_ast(node.comparators[0]),
        )
    if isinstance(node, ast.BoolOp):
        tree = tree_of_ast(node.values[0])
        for value in node.values[1:]:
            tree = (type(node.op).__name__, tree, tree_of_ast(value))
        return tree
    assert isinstance(node, ast.IfExp)
    return ("IfThenElse", *(tree_of_ast(n) for n in (node.test, node.body, node.orelse)))


def test_any_nesting_reads_back():
    """Every pair of operators, nested on each side."""
    inner = [op(k, A, B) for k in BINARY] + [op(k, A) for k in UNARY]
    inner += [op(K.IfThenElse, A, B, C)]
    outer = [op(k, x, C) for k, x in itertools.product(BINARY, inner)]
    outer += [op(k, C, x) for k, x in itertools.product(BINARY, inner)]
    outer += [op(k, x) for k, x in itertools.product(UNARY, inner)]
    outer += [
        op(K.IfThenElse, *order) for x in inner for order in ((x, A, B), (A, x, B), (A, B, x))
    ]
    for doc in outer:
        text = to_python_script(doc)
        assert tree_of_ast(ast.parse(text, mode="eval").body) == tree_of(doc), text


def commented(doc, text):
    doc.comment = text
    return doc


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: AssignDoc(TupleDoc([A, B]), TupleDoc([A, B])), "a, b = a, b"),
        (lambda: AssignDoc(A, None, C), "a: c"),
        (lambda: AssignDoc(A, B, C), "a: c = b"),
        (lambda: IfDoc(A, [FOO], []), "if a:\n    foo"),
        (lambda: IfDoc(A, [], [FOO]), "if a:\n    pass\nelse:\n    foo"),
        (lambda: WhileDoc(A, []), "while a:\n    pass"),
        (lambda: ForDoc(TupleDoc([A]), B, [FOO]), "for a, in b:\n    foo"),
        (lambda: ScopeDoc(A, B, [FOO]), "with b as a:\n    foo"),
        (lambda: ScopeDoc(None, B, []), "with b:\n    pass"),
        (lambda: AssertDoc(A, B), "assert a, b"),
        (lambda: ReturnDoc(TupleDoc([A, B])), "return (a, b)"),
        (BreakDoc, "break"),
        (ContinueDoc, "continue"),
        (lambda: CommentDoc("x\ny"), "# x\n# y"),
        (lambda: DocStringDoc("x"), '"""\nx\n"""'),
        (lambda: StmtBlockDoc([AssignDoc(A, B), FOO]), "a = b\nfoo"),
        (lambda: commented(AssignDoc(A, B), "why"), "a = b  # why"),
        (lambda: commented(ForDoc(A, B, [FOO]), "why"), "# why\nfor a in b:\n    foo"),
        (
            lambda: commented(
                FunctionDoc(
                    IdDoc("f"), [AssignDoc(A, None, B), AssignDoc(B, C)], [IdDoc("d")], C, [FOO]
                ),
                "text",
            ),
            '@d\ndef f(a: b, b = c) -> c:\n    """\n    text\n    """\n    foo',
        ),
        (
            lambda: FunctionDoc(IdDoc("f"), [], [], None, [], [IdDoc("n"), IdDoc("m")]),
            "def f[n, m]():\n    pass",
        ),
        (
            lambda: ClassDoc(IdDoc("K"), [A], [FunctionDoc(IdDoc("f"), [], [], None, [FOO]), FOO]),
            "@a\nclass K:\n    def f():\n        foo\n\n    foo",
        ),
        (
            lambda: OpCallDoc(
                IdDoc("op"), [A], DictDoc({}), DictDoc({LiteralDoc("k"): B}), LiteralDoc("v")
            ),
            'op(a, dispatch="v", k=b)',
        ),
    ],
)
def test_statements(make, text):
    assert to_python_script(make()) == text


def test_errors():
    with pytest.raises(ValueError, match="one line"):
        AssignDoc(A, B).comment = "two\nlines"
    with pytest.raises(ValueError, match="both branches are empty"):
        IfDoc(A, [], [])
    with pytest.raises(ValueError, match="takes 2 operands"):
        OperationDoc(K.Add, [A])
    with pytest.raises(ValueError, match="a value or an annotation"):
        AssignDoc(A, None)
    with pytest.raises(TypeError, match="Unsupported type"):
        LiteralDoc(object())
    with pytest.raises(RuntimeError, match="cannot be iterated"):
        list(A)
    with pytest.raises(TypeError):
        CallDoc(A, FOO)


def stmt(name, *paths):
    doc = ExprStmtDoc(IdDoc(name))
    doc.source_paths = [AccessPath.root().attr(p) for p in paths]
    return doc


def test_paths_are_kept():
    doc = stmt("x", "a", "b")
    assert [str(p) for p in doc.source_paths] == ["<root>.a", "<root>.b"]


def test_underline_all_docs_of_a_path():
    docs = [IdDoc(n) for n in ("aa", "bb", "cc")]
    for doc, path in zip(docs, "abb"):
        doc.source_paths = [AccessPath.root().attr(path)]
    total = op(K.Add, docs[0], op(K.Mult, docs[1], docs[2]))
    text = to_python_script(total, path_to_underline=[AccessPath.root().attr("b")])
    assert text == "Access path: <root>.b\n\naa + bb * cc\n     ^^   ^^"


def test_underline_skips_comments_and_blank_lines():
    function = FunctionDoc(
        IdDoc("f"), [], [], None, [stmt("foo"), CommentDoc("note"), commented(stmt("bar"), "end")]
    )
    function.source_paths = [AccessPath.root().attr("F")]
    text = to_python_script(
        ClassDoc(IdDoc("K"), [], [function, stmt("x")]),
        path_to_underline=[AccessPath.root().attr("F")],
    )
    assert text.split("\n")[2:] == [
        "class K:",
        "    def f():",
        "    ^^^^^^^^",
        "        foo",
        "        ^^^",
        "        # note",
        "        bar  # end",
        "        ^^^",
        "",
        "    x",
    ]


@pytest.mark.parametrize(
    "context, skipped", [(0, (5, 6)), (1, (4, 5)), (4, (None, 2)), (5, (None, None))]
)
def test_context_lines(context, skipped):
    block = StmtBlockDoc([stmt(f"s{i}", f"p{i}") for i in range(12)])
    text = to_python_script(
        block, num_context_lines=context, path_to_underline=[AccessPath.root().attr("p5")]
    )
    notes = [line for line in text.split("\n") if "skipped" in line]
    want = [f"(... {n} lines skipped ...)" for n in skipped if n is not None]
    assert notes == want
    assert text.count("^^") == 1


def test_line_numbers_are_aligned():
    block = StmtBlockDoc([stmt(f"s{i}", f"p{i}") for i in range(10)])
    text = to_python_script(
        block, print_line_numbers=True, path_to_underline=[AccessPath.root().attr("p0")]
    )
    assert text.split("\n")[2:4] == [" 1 s0", "   ^^"] and text.endswith("10 s9")


def test_path_that_is_not_shown():
    text = to_python_script(stmt("s", "p"), path_to_underline=[AccessPath.root().attr("q")])
    assert text == (
        "Access path: <root>.q\n"
        "Note: No visible object for this path is rendered in TVMScript.\n\ns"
    )
