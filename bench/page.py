# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""A self-contained HTML page of tables: no script, no link to anything outside the file."""

import html

STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem;color:#222}
table{border-collapse:collapse;margin:1rem 0}th,td{padding:.3rem .8rem;border-bottom:1px solid #ddd}
td{text-align:right;font-variant-numeric:tabular-nums}td:first-child,th:first-child{text-align:left}
th{background:#f4f4f4}.note{color:#666;font-size:12px}
"""


def write_page(path, title, tables, note=""):
    """Write `tables`, a list of (heading, column names, rows), to the HTML file `path`."""
    cell = lambda tag, value: f"<{tag}>{html.escape(str(value))}</{tag}>"
    parts = [f"<!doctype html><meta charset=utf-8><title>{html.escape(title)}</title>"]
    parts.append(f"<style>{STYLE}</style><h1>{html.escape(title)}</h1>")
    for heading, head, rows in tables:
        parts.append(f"<h2>{html.escape(heading)}</h2><table><tr>")
        parts.append("".join(cell("th", h) for h in head) + "</tr>")
        parts += ["<tr>" + "".join(cell("td", v) for v in row) + "</tr>" for row in rows]
        parts.append("</table>")
    if note:
        parts.append(f"<p class=note>{html.escape(note)}</p>")
    with open(path, "w", encoding="utf8") as f:
        f.write("\n".join(parts))
