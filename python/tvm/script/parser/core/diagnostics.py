# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Messages that show the place in the source."""

from __future__ import annotations

import ast
from collections.abc import Callable

from tvm.error import DiagnosticError

from .source import Source

__all__ = ["Diagnostics", "DiagnosticError"]

# A message about a long function body shows only so many of its lines.
_MAX_LINES = 60
_MAX_COLUMNS = 2000


class ErrorsAt:
    """Scope whose errors show a node; those that show a place already pass.

    A class and not a generator, which could not tell a StopIteration of the program from its own.

    Args:
        make: ``fn(node, error)`` gives the error to raise.
        node: The node.
        passing: Kinds of errors that pass as well.
    """

    __slots__ = ("make", "node", "passing")

    def __init__(
        self,
        make: Callable[[ast.AST, Exception], Exception],
        node: ast.AST,
        passing: tuple[type[Exception], ...] = (),
    ) -> None:
        self.make = make
        self.node = node
        self.passing = passing

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind, err, trace) -> None:
        if not isinstance(err, Exception) or isinstance(err, (DiagnosticError, *self.passing)):
            return
        shown = self.make(self.node, err)
        if shown is not err:
            raise shown from err


class Diagnostics:
    """Makes the errors of one source."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def error(self, node: ast.AST, message: str, level: str = "error") -> DiagnosticError:
        """Error that points at a node.

        Args:
            node: Node with a place in the source.
            message: What is wrong.
            level: First word of the message.
        """
        line, column, end_line, end_column = self.source.position(node)
        head = f"{level}: {message}\n --> {self.source.source_name}:{line}:{column}"
        return DiagnosticError(
            "\n".join([head, *self._excerpt(line, column, end_line, end_column)])
        )

    def _excerpt(self, line: int, column: int, end_line: int, end_column: int) -> list[str]:
        width = len(str(end_line))
        gutter = " " * (width + 2) + "|  "
        rows = [gutter]
        last = min(end_line, line + _MAX_LINES - 1)
        for number in range(line, last + 1):
            text = self.source.line(number)
            if text is None:
                break
            begin = column - 1 if number == line else 0
            end = end_column - 1 if number == end_line else len(text)
            marks = " " * min(begin, _MAX_COLUMNS) + "^" * max(end - begin, 0)
            rows.append(f" {number:>{width}} |  {text[:_MAX_COLUMNS]}")
            rows.append(f"{gutter}{marks[:_MAX_COLUMNS]}".rstrip())
        if last < end_line:
            rows.append(f"{gutter}... ({end_line - last} lines more)")
        return rows
