# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Checks of the files that a user names, and writing of results."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from .output import UserError


def check_input(path: str, expected: str, *, may_be_empty: bool = False) -> None:
    """Refuse what cannot be read before any work is done.

    Args:
        path: The file.
        expected: What it should be, for the message.
        may_be_empty: Whether a file of no bytes is one.

    Raises:
        UserError: It is missing, empty, no regular file, or must not be read.
    """
    shown = path or repr(path)
    if os.path.isdir(path):
        raise UserError(f"{shown}: this is a folder; expected {expected}")
    if not os.path.exists(path):
        raise UserError(f"{shown}: no such file; expected {expected}")
    if not os.path.isfile(path):
        raise UserError(f"{shown}: this is a device or a pipe; expected {expected}")
    if not os.access(path, os.R_OK):
        raise UserError(f"{shown}: no permission to read it; expected {expected}")
    if os.path.getsize(path) == 0 and not may_be_empty:
        raise UserError(f"{shown}: the file is empty; expected {expected}")


def check_output(path: str, *inputs: str) -> None:
    """Refuse an output path before any work is done.

    Raises:
        UserError: It is no place for a file, or one of the inputs would be overwritten.
    """
    folder = os.path.dirname(os.path.realpath(path)) if path else "."
    if not path or os.path.isdir(path) or (os.path.exists(path) and not os.path.isfile(path)):
        raise UserError(f"{path or repr(path)}: expected the path of a file to write")
    if not os.path.isdir(folder):
        raise UserError(f"{path}: there is no folder {os.path.dirname(path) or folder}")
    # The folder too: a file is written beside its place first.
    if not os.access(folder, os.W_OK) or (os.path.exists(path) and not os.access(path, os.W_OK)):
        raise UserError(f"{path}: no permission to write there")
    for other in inputs:
        if os.path.exists(other) and os.path.exists(path) and os.path.samefile(path, other):
            raise UserError(f"{path}: the output would overwrite the input {other}")


@contextlib.contextmanager
def replacing(path: str) -> Iterator[str]:
    """Write a file that appears whole or not at all.

    Args:
        path: Its place.

    Yields:
        The path to write; it takes the place of `path` if the block ends without an error.

    Raises:
        UserError: The file cannot be written, e.g. because the disk is full.
    """
    place = os.path.realpath(path)
    partial = f"{place}.part{os.getpid()}"
    try:
        yield partial
        os.replace(partial, place)
    except OSError as err:
        raise UserError(f"{path}: cannot be written: {err.strerror or err}") from None
    finally:
        with contextlib.suppress(OSError):
            os.remove(partial)
