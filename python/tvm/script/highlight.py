# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Coloured output of scripts."""

from __future__ import annotations

import os
import warnings

_STYLES = ("light", "dark", "ansi")


def cprint(printable, style: str | None = None, black_format: bool | None = None) -> None:
    """Print text or the script of an object, in colours if pygments is installed.

    Args:
        printable: Text, or an object with ``script()``.
        style: ``"light"``, ``"dark"``, ``"ansi"`` or a pygments style; ``TVM_PYGMENTIZE_STYLE`` if
            left out.
        black_format: Run the text through black; ``TVM_BLACK_FORMAT`` if left out.
    """
    text = printable if isinstance(printable, str) else printable.script()
    if black_format is None:
        black_format = os.environ.get("TVM_BLACK_FORMAT", "0") not in ("", "0")
    if black_format:
        text = _black(text)
    style = style or os.environ.get("TVM_PYGMENTIZE_STYLE") or "ansi"
    try:
        from pygments import highlight
        from pygments.formatters import Terminal256Formatter, TerminalFormatter
        from pygments.lexers.python import Python3Lexer
    except ImportError:
        print(text)
        return
    if style in _STYLES:
        formatter = TerminalFormatter(bg="dark" if style == "dark" else "light")
    else:
        formatter = Terminal256Formatter(style=style)
    print(highlight(text, Python3Lexer(), formatter))


def _black(text: str) -> str:
    try:
        import black
    except ImportError:
        warnings.warn("black is not installed; the text is printed as it is", stacklevel=3)
        return text
    return black.format_str(text, mode=black.FileMode(line_length=100))
