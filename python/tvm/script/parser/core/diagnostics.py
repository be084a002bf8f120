# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Messages that show the place in the source."""

from __future__ import annotations

import ast

from tvm.error import DiagnosticError

from .source import Source

__all__ = ["Diagnostics", "DiagnosticError"]

# A message about a long function body shows only so many of its lines.
_MAX_LINES = 60
_MAX_COLUMNS = 2000


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
