# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""What the command prints: progress and tables for people, one JSON object for programs."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence


class Output:
    """Prints results to stdout and progress to stderr.

    Args:
        json_mode: Collect results and print them as one JSON object at the end.
    """

    def __init__(self, *, json_mode: bool) -> None:
        self.json_mode = json_mode

    @contextlib.contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Show that ``what`` is under way: a spinner on a terminal, a line elsewhere."""
        start = time.perf_counter()
        if self.json_mode:
            yield
        elif sys.stderr.isatty():
            from rich.console import Console

            with Console(stderr=True).status(what):
                yield
            print(f"{what}: {time.perf_counter() - start:.2f} s", file=sys.stderr)
        else:
            print(f"{what} ...", file=sys.stderr, flush=True)
            yield
            print(f"{what}: {time.perf_counter() - start:.2f} s", file=sys.stderr, flush=True)

    @contextlib.contextmanager
    def progress(self, what: str, total: float | None) -> Iterator[Callable[[float, str], None]]:
        """Show that ``what`` is under way, part of which takes up to ``total`` seconds.

        Args:
            what: A few words.
            total: Seconds of the part that can be told; None makes this a plain :py:meth:`step`.

        Yields:
            Function of the seconds spent and a text: a bar on a terminal, a line elsewhere.
        """
        if total is None or self.json_mode or not sys.stderr.isatty():
            with self.step(what):
                yield self._plain_progress(total)
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        start = time.perf_counter()
        columns = (BarColumn(bar_width=20), TextColumn("{task.fields[text]}"))
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("", total=total, text=what)

            def show(spent: float, text: str) -> None:
                bar.update(task, completed=min(spent, total), text=f"{spent:.0f} s, {text}")

            yield show
        print(f"{what}: {time.perf_counter() - start:.2f} s", file=sys.stderr)

    def _plain_progress(self, total: float | None) -> Callable[[float, str], None]:
        def show(spent: float, text: str) -> None:
            if not self.json_mode:
                print(f"{spent:.1f} of {total:g} s: {text}", file=sys.stderr, flush=True)

        return show

    def note(self, text: str) -> None:
        """Tell people something besides the result."""
        if not self.json_mode:
            print(text, file=sys.stderr, flush=True)

    def result(self, data: dict, text: str) -> None:
        """Print ``text``, or ``data`` as JSON."""
        print(json.dumps(data, indent=1) if self.json_mode else text)

    def error(self, message: str) -> None:
        """Report a failure on stderr, and as JSON on stdout when that was asked for."""
        if self.json_mode:
            print(json.dumps({"error": message}))
        print(f"tvm: error: {message}", file=sys.stderr)


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
