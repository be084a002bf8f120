# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Source files with ``tvm-ffi-stubgen`` directives.

A file is a list of pieces: plain lines, single-line directives, and blocks between ``begin`` and
``end`` whose content the generator owns.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_TAG = "tvm-ffi-stubgen"
_COMMENT_BY_SUFFIX = {".py": "#", ".pyi": "#", ".rs": "//"}
_BLOCK_KINDS = ("global", "object", "import-section", "export", "__all__", "helpers")

RED, YELLOW, GREEN, CYAN, RESET = "\033[31m", "\033[33m", "\033[32m", "\033[36m", "\033[0m"


def comment_of(path: Path) -> str:
    """Comment opener of a source file."""
    return _COMMENT_BY_SUFFIX.get(path.suffix, "#")


@dataclass
class Piece:
    """Part of a file.

    Attributes:
        kind: ``text``, a block kind, or the name of a directive.
        param: What follows the kind or the directive's name.
        line: First line number.
        lines: Lines, markers of a block included.
    """

    kind: str
    param: str
    line: int
    lines: list[str] = field(default_factory=list)
    is_block: bool = False

    @property
    def indent(self) -> int:
        """Columns before the first marker."""
        first = self.lines[0]
        return len(first) - len(first.lstrip())

    def fill(self, content: list[str]) -> None:
        """Replace what stands between the markers."""
        pad = " " * self.indent
        self.lines[1:-1] = [pad + text if text else "" for text in content]


class SourceFile:
    """A file and its pieces."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.original = text
        self.pieces = _parse(text, comment_of(path))

    @staticmethod
    def read(path: Path) -> SourceFile | None:
        """Parse a file; None if it has no directive or asks to be left alone."""
        text = path.read_text(encoding="utf-8")
        marker = f"{comment_of(path)} {_TAG}("
        if marker not in text or f"{marker}skip-file)" in text:
            return None
        return SourceFile(path, text)

    @property
    def blocks(self) -> list[Piece]:
        """The generated blocks."""
        return [piece for piece in self.pieces if piece.is_block]

    def directives(self, name: str) -> list[Piece]:
        """Single-line directives of a name."""
        return [p for p in self.pieces if p.kind == name and not p.is_block]

    def text(self) -> str:
        """Content with the blocks as they are now."""
        lines = [line for piece in self.pieces for line in piece.lines]
        return "\n".join(lines) + ("\n" if self.original.endswith("\n") else "")

    def diff(self) -> str:
        """Coloured difference to the file on disk."""
        rows = difflib.unified_diff(
            self.original.splitlines(), self.text().splitlines(), lineterm="", n=3
        )
        colours = {"+": GREEN, "-": RED}
        shown = [row for row in rows if not row.startswith(("---", "+++"))]
        return "\n".join(f"{colours.get(row[:1], '')}{row}{RESET}" for row in shown)


def _parse(text: str, comment: str) -> list[Piece]:
    pattern = re.compile(rf"^\s*{re.escape(comment)} {_TAG}\(([^)]*)\)(?::\s*(.*?))?\s*$")
    pieces: list[Piece] = []
    block: Piece | None = None
    for number, line in enumerate(text.splitlines(), 1):
        match = pattern.match(line)
        if match is None:
            if block is not None:
                block.lines.append(line)
            elif pieces and pieces[-1].kind == "text":
                pieces[-1].lines.append(line)
            else:
                pieces.append(Piece("text", "", number, [line]))
            continue
        name, param = match.group(1), match.group(2) or ""
        if name == "begin":
            if block is not None:
                raise ValueError(f"Nested stub not permitted at line {number}")
            block = _begin(param, number, line)
            pieces.append(block)
        elif name == "end":
            if block is None:
                raise ValueError(f"Unmatched `{comment} {_TAG}(end)` found at line {number}")
            block.lines.append(line)
            block = None
        elif block is not None:
            block.lines.append(line)
        else:
            pieces.append(Piece(name, param, number, [line]))
    if block is not None:
        raise ValueError("Unclosed stub block at end of file")
    return pieces


def _begin(param: str, number: int, line: str) -> Piece:
    kind, _, rest = param.partition("/")
    if kind not in _BLOCK_KINDS or (kind in ("global", "object", "export") and not rest):
        raise ValueError(f"Unknown stub type `{param}` at line {number}")
    return Piece(kind, rest, number, [line], is_block=True)


def walk(paths: list[Path], suffixes: tuple[str, ...]) -> Iterator[Path]:
    """Source files at or under the paths, in a fixed order.

    Raises:
        FileNotFoundError: A path does not exist.
    """
    for path in paths:
        if path.is_file():
            yield path
        elif path.is_dir():
            for folder, subfolders, names in os.walk(path):
                subfolders.sort()
                for name in sorted(names):
                    if name.endswith(suffixes):
                        yield Path(folder) / name
        else:
            raise FileNotFoundError(f"{path} does not exist")
