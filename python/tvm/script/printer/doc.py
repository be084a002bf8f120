# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Docs: a syntax tree of Python, from which scripts are printed."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum, unique

from tvm_ffi import Object, register_object
from tvm_ffi.access_path import AccessPath

from . import _ffi_api

__all__ = [
    "Doc",
    "ExprDoc",
    "StmtDoc",
    "StmtBlockDoc",
    "LiteralDoc",
    "IdDoc",
    "ExprStringDoc",
    "AttrAccessDoc",
    "IndexDoc",
    "CallDoc",
    "OperationKind",
    "OperationDoc",
    "LambdaDoc",
    "TupleDoc",
    "ListDoc",
    "DictDoc",
    "SliceDoc",
    "AssignDoc",
    "IfDoc",
    "WhileDoc",
    "ForDoc",
    "ScopeDoc",
    "ExprStmtDoc",
    "AssertDoc",
    "ReturnDoc",
    "BreakDoc",
    "ContinueDoc",
    "FunctionDoc",
    "ClassDoc",
    "CommentDoc",
    "DocStringDoc",
    "OpCallDoc",
]


@register_object("script.printer.Doc")
class Doc(Object):
    """Base of all docs; ``source_paths`` are the places in the printed object that it shows."""

    @property
    def source_paths(self) -> Sequence[AccessPath]:
        """Places in the printed object."""
        return _ffi_api.DocSourcePaths(self)

    @source_paths.setter
    def source_paths(self, paths: Sequence[AccessPath]) -> None:
        _ffi_api.DocSetSourcePaths(self, list(paths))


@register_object("script.printer.ExprDoc")
class ExprDoc(Doc):
    """Base of expressions."""

    def attr(self, name: str) -> ExprDoc:
        """``self.name``."""
        return _ffi_api.ExprDocAttr(self, name)

    def call(self, *args: ExprDoc, **kwargs: ExprDoc) -> ExprDoc:
        """``self(*args, **kwargs)``."""
        return _ffi_api.ExprDocCall(self, list(args), list(kwargs.keys()), list(kwargs.values()))

    def __getitem__(self, indices) -> ExprDoc:
        """``self[indices]``."""
        if not isinstance(indices, tuple):
            indices = (indices,)
        converted = []
        for index in indices:
            if isinstance(index, slice):
                index = SliceDoc(index.start, index.stop, index.step)
            converted.append(index)
        return _ffi_api.ExprDocIndex(self, converted)

    def __iter__(self):
        raise RuntimeError(f"{type(self).__name__} cannot be iterated")


@register_object("script.printer.StmtDoc")
class StmtDoc(Doc):
    """Base of statements; ``comment`` is a line printed with the statement."""

    @property
    def comment(self) -> str | None:
        """Comment of the statement.

        Raises:
            ValueError: (on assignment) It has more than one line.
        """
        return _ffi_api.StmtDocComment(self)

    @comment.setter
    def comment(self, text: str | None) -> None:
        _ffi_api.StmtDocSetComment(self, text)


@register_object("script.printer.StmtBlockDoc")
class StmtBlockDoc(StmtDoc):
    """Statements in a row.

    Args:
        stmts: The statements.
    """

    def __init__(self, stmts: list[StmtDoc]) -> None:
        self.__init_handle_by_constructor__(_ffi_api.StmtBlockDoc, stmts)


@register_object("script.printer.LiteralDoc")
class LiteralDoc(ExprDoc):
    """A constant.

    Args:
        value: None, bool, int, float or str.
        path: Where it comes from.

    Raises:
        TypeError: It is something else.
    """

    def __init__(self, value, path: AccessPath | None = None) -> None:
        if value is None:
            self.__init_handle_by_constructor__(_ffi_api.LiteralDocNone, path)
            return
        for kind, build in (
            (str, "LiteralDocStr"),
            (bool, "LiteralDocBoolean"),
            (int, "LiteralDocInt"),
            (float, "LiteralDocFloat"),
        ):
            if isinstance(value, kind):
                self.__init_handle_by_constructor__(getattr(_ffi_api, build), value, path)
                return
        raise TypeError(f"Unsupported type {type(value)} for LiteralDoc")


@register_object("script.printer.IdDoc")
class IdDoc(ExprDoc):
    """A name.

    Args:
        name: The name.
    """

    def __init__(self, name: str) -> None:
        self.__init_handle_by_constructor__(_ffi_api.IdDoc, name)


@register_object("script.printer.ExprStringDoc")
class ExprStringDoc(ExprDoc):
    """Text printed as it stands.

    Args:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        self.__init_handle_by_constructor__(_ffi_api.ExprStringDoc, text)


@register_object("script.printer.AttrAccessDoc")
class AttrAccessDoc(ExprDoc):
    """``value.name``.

    Args:
        value: The object.
        name: The attribute.
    """

    def __init__(self, value: ExprDoc, name: str) -> None:
        self.__init_handle_by_constructor__(_ffi_api.AttrAccessDoc, value, name)


@register_object("script.printer.IndexDoc")
class IndexDoc(ExprDoc):
    """``value[indices]``.

    Args:
        value: The object.
        indices: Expressions and slices.
    """

    def __init__(self, value: ExprDoc, indices: list[ExprDoc | SliceDoc]) -> None:
        self.__init_handle_by_constructor__(_ffi_api.IndexDoc, value, indices)


@register_object("script.printer.CallDoc")
class CallDoc(ExprDoc):
    """``callee(*args, **kwargs)``.

    Args:
        callee: The function.
        args: Positional arguments.
        kwargs: Keyword arguments.
    """

    def __init__(self, callee: ExprDoc, *args: ExprDoc, **kwargs: ExprDoc) -> None:
        self.__init_handle_by_constructor__(
            _ffi_api.CallDoc, callee, list(args), list(kwargs.keys()), list(kwargs.values())
        )


@unique
class OperationKind(IntEnum):
    """Operators of Python; the numbers are those of the C++ enumeration."""

    USub = 1
    Invert = 2
    Not = 3
    Add = 6
    Sub = 7
    Mult = 8
    Div = 9
    FloorDiv = 10
    Mod = 11
    Pow = 12
    LShift = 13
    RShift = 14
    BitAnd = 15
    BitOr = 16
    BitXor = 17
    Lt = 18
    LtE = 19
    Eq = 20
    NotEq = 21
    Gt = 22
    GtE = 23
    And = 24
    Or = 25
    MatMul = 26
    IfThenElse = 29

    # Ends of the ranges, for loops over the kinds.
    _UnaryStart = 0
    _UnaryEnd = 4
    _BinaryStart = 5
    _BinaryEnd = 27
    _SpecialStart = 28
    _SpecialEnd = 30


@register_object("script.printer.OperationDoc")
class OperationDoc(ExprDoc):
    """An operator with its operands.

    Args:
        kind: The operator.
        operands: One, two, or (for IfThenElse) condition, then and else value.
    """

    def __init__(self, kind: OperationKind, operands: list[ExprDoc]) -> None:
        self.__init_handle_by_constructor__(_ffi_api.OperationDoc, int(kind), operands)


@register_object("script.printer.LambdaDoc")
class LambdaDoc(ExprDoc):
    """``lambda args: body``.

    Args:
        args: Names of the parameters.
        body: The value.
    """

    def __init__(self, args: list[IdDoc], body: ExprDoc) -> None:
        self.__init_handle_by_constructor__(_ffi_api.LambdaDoc, args, body)


@register_object("script.printer.TupleDoc")
class TupleDoc(ExprDoc):
    """``(elements,)``.

    Args:
        elements: The elements.
    """

    def __init__(self, elements: list[ExprDoc]) -> None:
        self.__init_handle_by_constructor__(_ffi_api.TupleDoc, elements)


@register_object("script.printer.ListDoc")
class ListDoc(ExprDoc):
    """``[elements]``.

    Args:
        elements: The elements.
    """

    def __init__(self, elements: list[ExprDoc]) -> None:
        self.__init_handle_by_constructor__(_ffi_api.ListDoc, elements)


@register_object("script.printer.DictDoc")
class DictDoc(ExprDoc):
    """``{key: value}``.

    Args:
        content: Docs of the keys and values, in order.
    """

    def __init__(self, content: dict[ExprDoc, ExprDoc]) -> None:
        self.__init_handle_by_constructor__(
            _ffi_api.DictDoc, list(content.keys()), list(content.values())
        )


@register_object("script.printer.SliceDoc")
class SliceDoc(Doc):
    """``start:stop:step``, inside an index.

    Args:
        start: First index.
        stop: Index after the last.
        step: Distance.
    """

    def __init__(
        self,
        start: ExprDoc | None = None,
        stop: ExprDoc | None = None,
        step: ExprDoc | None = None,
    ) -> None:
        self.__init_handle_by_constructor__(_ffi_api.SliceDoc, start, stop, step)


@register_object("script.printer.AssignDoc")
class AssignDoc(StmtDoc):
    """``lhs: annotation = rhs``.

    Args:
        lhs: What is assigned.
        rhs: The value.
        annotation: The type.
    """

    def __init__(
        self, lhs: ExprDoc, rhs: ExprDoc | None, annotation: ExprDoc | None = None
    ) -> None:
        self.__init_handle_by_constructor__(_ffi_api.AssignDoc, lhs, rhs, annotation)


@register_object("script.printer.IfDoc")
class IfDoc(StmtDoc):
    """``if``; at least one branch has a statement.

    Args:
        predicate: The condition.
        then_branch: Statements.
        else_branch: Statements.
    """

    def __init__(
        self, predicate: ExprDoc, then_branch: list[StmtDoc], else_branch: list[StmtDoc]
    ) -> None:
        self.__init_handle_by_constructor__(_ffi_api.IfDoc, predicate, then_branch, else_branch)


@register_object("script.printer.WhileDoc")
class WhileDoc(StmtDoc):
    """``while predicate``.

    Args:
        predicate: The condition.
        body: Statements.
    """

    def __init__(self, predicate: ExprDoc, body: list[StmtDoc]) -> None:
        self.__init_handle_by_constructor__(_ffi_api.WhileDoc, predicate, body)


@register_object("script.printer.ForDoc")
class ForDoc(StmtDoc):
    """``for lhs in rhs``.

    Args:
        lhs: Loop variable or variables.
        rhs: What is iterated.
        body: Statements.
    """

    def __init__(self, lhs: ExprDoc, rhs: ExprDoc, body: list[StmtDoc]) -> None:
        self.__init_handle_by_constructor__(_ffi_api.ForDoc, lhs, rhs, body)


@register_object("script.printer.ScopeDoc")
class ScopeDoc(StmtDoc):
    """``with rhs as lhs``.

    Args:
        lhs: Name, or None.
        rhs: The context.
        body: Statements.
    """

    def __init__(self, lhs: ExprDoc | None, rhs: ExprDoc, body: list[StmtDoc]) -> None:
        self.__init_handle_by_constructor__(_ffi_api.ScopeDoc, lhs, rhs, body)


@register_object("script.printer.ExprStmtDoc")
class ExprStmtDoc(StmtDoc):
    """An expression as a statement.

    Args:
        expr: The expression.
    """

    def __init__(self, expr: ExprDoc) -> None:
        self.__init_handle_by_constructor__(_ffi_api.ExprStmtDoc, expr)


@register_object("script.printer.AssertDoc")
class AssertDoc(StmtDoc):
    """``assert test, msg``.

    Args:
        test: The condition.
        msg: The message.
    """

    def __init__(self, test: ExprDoc, msg: ExprDoc | None = None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.AssertDoc, test, msg)


@register_object("script.printer.ReturnDoc")
class ReturnDoc(StmtDoc):
    """``return value``.

    Args:
        value: The value.
    """

    def __init__(self, value: ExprDoc) -> None:
        self.__init_handle_by_constructor__(_ffi_api.ReturnDoc, value)


@register_object("script.printer.BreakDoc")
class BreakDoc(StmtDoc):
    """``break``."""

    def __init__(self) -> None:
        self.__init_handle_by_constructor__(_ffi_api.BreakDoc)


@register_object("script.printer.ContinueDoc")
class ContinueDoc(StmtDoc):
    """``continue``."""

    def __init__(self) -> None:
        self.__init_handle_by_constructor__(_ffi_api.ContinueDoc)


@register_object("script.printer.FunctionDoc")
class FunctionDoc(StmtDoc):
    """``def name[type_params](args) -> return_type``; the comment is its doc string.

    Args:
        name: The name.
        args: Parameters, each with annotation or default.
        decorators: Decorators.
        return_type: Annotation of the result.
        body: Statements.
        type_params: PEP 695 parameters.
    """

    def __init__(
        self,
        name: IdDoc,
        args: list[AssignDoc],
        decorators: list[ExprDoc],
        return_type: ExprDoc | None,
        body: list[StmtDoc],
        type_params: list[Doc] | None = None,
    ) -> None:
        self.__init_handle_by_constructor__(
            _ffi_api.FunctionDoc, name, args, decorators, return_type, body, type_params
        )


@register_object("script.printer.ClassDoc")
class ClassDoc(StmtDoc):
    """``class name``; the comment is its doc string.

    Args:
        name: The name.
        decorators: Decorators.
        body: Statements.
    """

    def __init__(self, name: IdDoc, decorators: list[ExprDoc], body: list[StmtDoc]) -> None:
        self.__init_handle_by_constructor__(_ffi_api.ClassDoc, name, decorators, body)


@register_object("script.printer.CommentDoc")
class CommentDoc(StmtDoc):
    """``# comment``, one line of it or several.

    Args:
        comment: The text.
    """

    def __init__(self, comment: str) -> None:
        self.__init_handle_by_constructor__(_ffi_api.CommentDoc, comment)


@register_object("script.printer.DocStringDoc")
class DocStringDoc(StmtDoc):
    """A doc string.

    Args:
        docs: The text.
    """

    def __init__(self, docs: str) -> None:
        self.__init_handle_by_constructor__(_ffi_api.DocStringDoc, docs)


@register_object("script.printer.OpCallDoc")
class OpCallDoc(StmtDoc):
    """A tile primitive, ``callee(args, workspace=.., dispatch=.., **config)``.

    Args:
        callee: The primitive.
        args: Arguments.
        workspace: Dictionary of buffers.
        config: DictDoc whose keys become keywords.
        dispatch: Name of the variant.
    """

    def __init__(
        self,
        callee: ExprDoc,
        args: list[ExprDoc],
        workspace: ExprDoc | None = None,
        config: ExprDoc | None = None,
        dispatch: ExprDoc | None = None,
    ) -> None:
        self.__init_handle_by_constructor__(
            _ffi_api.OpCallDoc, callee, args, workspace, config, dispatch
        )
