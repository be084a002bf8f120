# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Text of a script, with lines and columns as in the file it comes from."""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
from typing import Any

from tvm.error import DiagnosticError
from tvm.ir.base import SourceName, Span

_STRING_NAME = "<str>"


class Source:
    """A script given as text, or as a Python function or class whose source can be found.

    Args:
        program: Text or object.
        line_hint: Line of the object's file at which its definition, or a decorator of it, starts;
            found out if left out.

    Attributes:
        source_name: File, or ``<str>`` for text.
        start_line: Line of the file at which `source` starts, counted from 1.
        start_column: Indentation of its first line.
        source: The text.
    """

    def __init__(self, program: Any, line_hint: int | None = None) -> None:
        self.start_line = 1
        self.start_column = 0
        self._first_kept_line = 1
        if isinstance(program, str):
            self.source_name = _STRING_NAME
            self.source = program
        else:
            self.source_name, lines, self.start_line = _locate(program, line_hint)
            self.source = "".join(lines)
            first = lines[0]
            self.start_column = len(first) - len(first.lstrip())
        self.lines = self.source.splitlines()
        self.full_source = self.source
        self._source_object: SourceName | None = None
        self._spans: dict[tuple, Span] = {}

    def as_ast(self) -> ast.Module:
        """Parse the text. Lines and columns of the nodes are those of the file.

        Raises:
            DiagnosticError: The text is no Python, or nested too deeply.
        """
        # Indented code parses as the body of an `if`: columns need no correction then.
        indented = self.start_column > 0
        text = f"if True:\n{self.source}" if indented else self.source
        shift = self.start_line - (2 if indented else 1)
        if "\0" in text:  # Python's parser does not tell where
            before = text[: text.index("\0")]
            err = SyntaxError("source code string cannot contain null bytes")
            err.lineno = before.count("\n") + 1
            err.offset = len(before) - before.rfind("\n")
            raise self._syntax_error(err, shift)
        try:
            tree = ast.parse(text, filename=self.source_name)
        except SyntaxError as err:
            raise self._syntax_error(err, shift) from err
        except (RecursionError, MemoryError) as err:
            raise DiagnosticError(
                f"error: the program is nested too deeply\n --> {self.source_name}:"
                f"{self.start_line}:1"
            ) from err
        if shift:
            ast.increment_lineno(tree, shift)
        if indented:
            tree.body = tree.body[0].body
        return tree

    def _syntax_error(self, err: SyntaxError, shift: int) -> DiagnosticError:
        line = (err.lineno or 1) + shift
        column = err.offset or 1
        width = len(str(line))
        gutter = " " * (width + 2) + "|  "
        text = self.line(line)
        rows = [f"error: {err.msg}", f" --> {self.source_name}:{line}:{column}", gutter]
        if text is not None:
            rows += [f" {line} |  {text[:2000]}", f"{gutter}{' ' * min(column - 1, 2000)}^"]
        return DiagnosticError("\n".join(rows))

    def line(self, number: int) -> str | None:
        """Line of the file, or None if it is not part of the script."""
        index = number - self.start_line
        return self.lines[index] if 0 <= index < len(self.lines) else None

    def position(self, node: ast.AST) -> tuple[int, int, int, int]:
        """First line and column, last line and column after the end; all counted from 1."""
        line = getattr(node, "lineno", None)
        if line is None:
            end = len(self.lines[0]) if self.lines else self.start_column
            return self.start_line, self.start_column + 1, self.start_line, end + 1
        end_line = getattr(node, "end_lineno", None) or line
        column = self._column(line, node.col_offset)
        end_offset = getattr(node, "end_col_offset", None)
        end_column = column if end_offset is None else self._column(end_line, end_offset)
        return line, column, end_line, end_column

    def _column(self, line: int, offset: int) -> int:
        """Column in characters of an offset in UTF-8 bytes."""
        text = self.line(line)
        if text is None or text.isascii():
            return offset + 1
        return len(text.encode()[:offset].decode(errors="ignore")) + 1

    def to_span(self, node: ast.AST) -> Span:
        """Place of a node as an IR object."""
        key = self.position(node)
        span = self._spans.get(key)
        if span is None:
            if self._source_object is None:
                self._source_object = SourceName(self.source_name)
            line, column, end_line, end_column = key
            span = Span(self._source_object, line, end_line, column, end_column)
            self._spans[key] = span
        return span


def _locate(program: Any, line_hint: int | None) -> tuple[str, list[str], int]:
    """File, lines and first line of the definition of a function or class."""
    if not (inspect.isfunction(program) or inspect.isclass(program)):
        raise TypeError(
            f"expected the text of a program, a function or a class, got {type(program).__name__}"
        )
    try:
        name = inspect.getsourcefile(program) or inspect.getfile(program)
    except TypeError:
        module = sys.modules.get(getattr(program, "__module__", ""), None)
        name = getattr(module, "__file__", None) or "<unknown>"
    if inspect.isfunction(program):
        name = program.__code__.co_filename
        line_hint = program.__code__.co_firstlineno
    elif line_hint is None:
        line_hint = _first_line_of_class(program)
    lines = linecache.getlines(name, getattr(program, "__globals__", None))
    if line_hint is not None and 0 < line_hint <= len(lines):
        block = inspect.getblock(lines[line_hint - 1 :])
        if block and _defines(block, program.__name__):
            return name, block, line_hint
    try:
        block, line = inspect.getsourcelines(program)
    except (OSError, TypeError) as err:
        raise DiagnosticError(
            f"error: could not get source code of {program.__qualname__}, defined in {name}"
        ) from err
    return name, block, max(line, 1)


def _first_line_of_class(program: type) -> int | None:
    return getattr(program, "__firstlineno__", None)


def _defines(block: list[str], name: str) -> bool:
    return any(
        line.lstrip().startswith(("def ", "class ", "async def ")) and name in line
        for line in block
    )
