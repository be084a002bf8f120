# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Docs to Python text."""

from __future__ import annotations

from tvm_ffi.access_path import AccessPath

from . import _ffi_api
from .config import PrinterConfig
from .doc import Doc


def to_python_script(
    doc: Doc,
    indent_spaces: int = 4,
    print_line_numbers: bool = False,
    num_context_lines: int | None = None,
    path_to_underline: list[AccessPath] | None = None,
) -> str:
    """Print a doc.

    Args:
        doc: The doc.
        indent_spaces: Spaces per level.
        print_line_numbers: Whether lines start with their number.
        num_context_lines: Lines kept around what is underlined; all if left out.
        path_to_underline: Places whose docs are underlined.

    Returns:
        The text.
    """
    return _ffi_api.DocToPythonScript(
        doc,
        PrinterConfig(
            indent_spaces=indent_spaces,
            print_line_numbers=print_line_numbers,
            num_context_lines=num_context_lines,
            path_to_underline=path_to_underline,
        ),
    )
