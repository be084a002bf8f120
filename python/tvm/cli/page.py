# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""One HTML file with a table: no script, and nothing is fetched when it is opened."""

from __future__ import annotations

import html
from collections.abc import Sequence

_STYLE = """
:root{color-scheme:light dark}
body{font:14px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:90rem;padding:0 1rem}
table{border-collapse:collapse;width:100%}
th{position:sticky;top:0;background:Canvas;text-align:right}
th,td{padding:.25rem .7rem;border-bottom:1px solid #8884;white-space:nowrap}
td{text-align:right;font-variant-numeric:tabular-nums}
th:first-child,td:first-child{text-align:left}
.bar{background:linear-gradient(#4a90d966,#4a90d966) no-repeat left/var(--w) 100%}
details{white-space:pre;font-family:ui-monospace,monospace;font-size:12px}
"""


def write_page(
    path: str,
    title: str,
    summary: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    details: Sequence[str],
    shares: Sequence[float],
) -> None:
    """Write a table to an HTML file.

    Args:
        path: The file.
        title: Heading.
        summary: A sentence below it.
        head: Names of the columns.
        rows: Cells as text.
        details: Text that unfolds below the first cell of each row; may be empty.
        shares: A number from 0 to 1 for each row, shown as a bar behind its last cell.

    Raises:
        OSError: The file cannot be written.
    """
    esc = html.escape
    parts = [
        '<!doctype html><html lang="en"><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>{esc(title)}</title><style>{_STYLE}</style>",
        f"<h1>{esc(title)}</h1><p>{esc(summary)}</p><table><tr>",
        *(f'<th scope="col">{esc(name)}</th>' for name in head),
        "</tr>",
    ]
    for row, detail, share in zip(rows, details, shares, strict=True):
        first = esc(row[0])
        if detail:
            first = f"<details><summary>{first}</summary>{esc(detail)}</details>"
        middle = "".join(f"<td>{esc(cell)}</td>" for cell in row[1:-1])
        width = f"{100 * min(max(share, 0.0), 1.0):.1f}%"
        last = f'<td class="bar" style="--w:{width}">{esc(row[-1])}</td>'
        parts.append(f"<tr><td>{first}</td>{middle}{last}</tr>")
    parts.append("</table></html>")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(parts) + "\n")
