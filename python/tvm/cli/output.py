# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""What the command prints: progress and tables for people, one JSON object for programs."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Iterator, Sequence


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
