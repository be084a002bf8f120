# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""What the command prints: progress and tables for people, one JSON object for programs."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

Show = Callable[[float, str], None]


class UserError(Exception):
    """Something the user gave cannot be used; the text says why."""


class Output:
    """Prints results to stdout and progress to stderr.

    A closed or full stderr loses messages but never stops the work.

    Args:
        json_mode: Print the result, or the failure, as one JSON object; no progress.
    """

    def __init__(self, *, json_mode: bool) -> None:
        self.json_mode = json_mode

    @contextlib.contextmanager
    def progress(self, what: str, total: float | None = None) -> Iterator[Show]:
        """Show that ``what`` is under way: a bar on a terminal, plain lines elsewhere.

        Args:
            what: A few words.
            total: Seconds of the part whose length is known; None makes the bar run to and fro.

        Yields:
            Function of the seconds spent and a text, to be called now and then.
        """
        start = time.perf_counter()
        if self.json_mode:
            yield _ignore
            return
        if sys.stderr is not None and sys.stderr.isatty():
            with _bar(what, total) as show:
                yield show
        else:
            self.note(f"{what} ...")
            yield self._plain_line(total)
        self.note(f"{what}: {time.perf_counter() - start:.2f} s")

    def _plain_line(self, total: float | None) -> Show:
        of_total = "" if total is None else f" of {total:g}"
        return lambda spent, text: self.note(f"{spent:.1f}{of_total} s: {text}")

    def note(self, text: str) -> None:
        """Tell people something besides the result."""
        if not self.json_mode:
            _to_stderr(text)

    def result(self, data: dict, text: str) -> None:
        """Print ``text``, or ``data`` as JSON."""
        print(json.dumps(data, indent=1) if self.json_mode else text)

    def error(self, message: str) -> None:
        """Report a failure on stderr, and as JSON on stdout when that was asked for."""
        _to_stderr(f"tvm: error: {message}")
        if self.json_mode and sys.stdout is not None:
            try:
                print(json.dumps({"error": message}), flush=True)
            except (OSError, ValueError):
                self.drop_stdout()

    def drop_stdout(self) -> None:
        """Forget what is still to be printed: nobody takes it, and the exit code shall stay."""
        _drop(sys.stdout)


def _ignore(spent: float, text: str) -> None:
    pass


def _drop(stream: TextIO | None) -> None:
    """Lead a stream into nothing. What it still holds would fail again when Python ends."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _to_stderr(text: str) -> None:
    if sys.stderr is None:  # print would take stdout instead
        return
    try:
        print(text, file=sys.stderr, flush=True)
    except (OSError, ValueError):
        _drop(sys.stderr)


@contextlib.contextmanager
def _bar(what: str, total: float | None) -> Iterator[Show]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    # A line of a narrow terminal holds the bar and one text.
    columns = [BarColumn(bar_width=20), TextColumn("{task.fields[text]}")]
    if total is None:
        columns.insert(1, TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total, text=what)

        def show(spent: float, text: str) -> None:
            if total is None:
                bar.update(task, text=text)
            else:
                bar.update(task, completed=min(spent, total), text=f"{spent:.0f} s, {text}")

        yield show


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Plain text table with aligned columns."""
    cells = [[str(c) for c in row] for row in [head, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths)).rstrip() for row in cells]
    lines.insert(1, "  ".join("-" * w for w in widths))
    return "\n".join(lines)


def seconds(value: float) -> str:
    """A duration with three digits and a fitting unit."""
    for unit, scale in (("s", 1), ("ms", 1e3)):
        if value * scale >= 1:
            return f"{value * scale:.3g} {unit}"
    return f"{value * 1e6:.3g} us"
