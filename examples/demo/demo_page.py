# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""The demo's report: one HTML file with everything inside."""

import base64
import html
import io

STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:62rem;padding:0 1rem;color:#222}
h1{font-size:1.6rem}h2{font-size:1.15rem;margin-top:2rem}
table{border-collapse:collapse}th,td{padding:.3rem .9rem;border-bottom:1px solid #ddd}
td{text-align:right;font-variant-numeric:tabular-nums}td:first-child,th:first-child{text-align:left}
th{background:#f4f4f4}figure{margin:0;position:relative;display:inline-block}
figure svg{position:absolute;left:0;top:0}.bar{background:#4a7fb5;height:.8rem;display:inline-block}
"""


def escape(value):
    return html.escape(str(value))


def table(head, rows):
    cells = "".join(f"<th>{escape(h)}</th>" for h in head)
    lines = "".join(
        "<tr>"
        + "".join(f"<td>{v if str(v).startswith('<span') else escape(v)}</td>" for v in row)
        + "</tr>"
        for row in rows
    )
    return f"<table><tr>{cells}</tr>{lines}</table>"


def picture_figure(picture, words):
    """The picture with the boxes found and the words read drawn over it."""
    data = io.BytesIO()
    picture.save(data, "PNG")
    source = base64.b64encode(data.getvalue()).decode()
    marks = []
    for (left, top, right, bottom), line, turned in words:
        note = line + (" (turned)" if turned else "")
        marks.append(
            f'<rect x="{left}" y="{top}" width="{right - left}" height="{bottom - top}" '
            'fill="none" stroke="#c0392b" stroke-width="2"/>'
            f'<text x="{left}" y="{max(12, top - 4)}" font-size="15" fill="#c0392b">'
            f"{escape(note)}</text>"
        )
    width, height = picture.size
    return (
        f'<figure><img src="data:image/png;base64,{source}" width="{width}" height="{height}" '
        f'alt="picture with text"><svg width="{width}" height="{height}">{"".join(marks)}</svg>'
        "</figure>"
    )


def sound_figure(clip, probability, spoken, heard, width=900, height=180):
    """Loudness and probability of speech over time; spans found are shaded."""
    seconds = len(clip) / 16000
    x = lambda t: t / seconds * width
    parts = [f'<svg width="{width}" height="{height}" style="background:#fafafa">']
    for begin, end in heard:
        parts.append(
            f'<rect x="{x(begin):.1f}" y="0" width="{x(end) - x(begin):.1f}" height="{height}" '
            'fill="#d5f0dc"/>'
        )
    for begin, end in spoken:
        parts.append(
            f'<line x1="{x(begin):.1f}" x2="{x(end):.1f}" y1="{height - 3}" y2="{height - 3}" '
            'stroke="#27ae60" stroke-width="4"/>'
        )
    step = max(1, len(clip) // width)
    for i in range(0, len(clip) - step, step):
        loud = abs(clip[i : i + step]).max() * height / 2
        at = i / len(clip) * width
        parts.append(
            f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{height / 2 - loud:.1f}" '
            f'y2="{height / 2 + loud:.1f}" stroke="#aab7c4"/>'
        )
    points = " ".join(
        f"{(i + 0.5) / len(probability) * width:.1f},{height - 6 - p * (height - 12):.1f}"
        for i, p in enumerate(probability)
    )
    parts.append(f'<polyline points="{points}" fill="none" stroke="#c0392b" stroke-width="1.5"/>')
    return "".join(parts) + "</svg>"


def profile_table(profile, limit=20):
    """Time per kernel, largest first; `profile` is a list of (name, calls, seconds)."""
    total = sum(seconds for _, _, seconds in profile) or 1.0
    rows = []
    for name, calls, seconds in sorted(profile, key=lambda p: -p[2])[:limit]:
        bar = f'<span class=bar style="width:{seconds / total * 300:.0f}px"></span>'
        rows.append((name, calls, f"{seconds * 1e3:.3f} ms", f"{seconds / total:.1%}", bar))
    rest = sorted(profile, key=lambda p: -p[2])[limit:]
    if rest:
        seconds = sum(p[2] for p in rest)
        rows.append(
            (
                f"{len(rest)} others",
                sum(p[1] for p in rest),
                f"{seconds * 1e3:.3f} ms",
                f"{seconds / total:.1%}",
                "",
            )
        )
    return table(["kernel", "calls", "time", "share", ""], rows)


def write_demo(path, rows, picture, words, sound, types, profile):
    """Write the report to `path`."""
    models = [
        (
            r["model"],
            r["nodes"],
            f"{r['compile_s']:.2f} s",
            f"{r['one_thread_s'] * 1e3:.3f} ms",
            f"{r['two_threads_s'] * 1e3:.3f} ms",
            f"{r['difference']:.1e}",
        )
        for r in rows
    ]
    head = ["model", "nodes", "compile", "1 thread", "2 threads", "difference from the reference"]
    clip, probability, spoken, heard = sound
    parts = [
        "<!doctype html><meta charset=utf-8><title>OpenTVM demo</title>",
        f"<style>{STYLE}</style><h1>OpenTVM demo</h1>",
        "<p>Real models, compiled to native libraries on this machine and run on real inputs.</p>",
        "<h2>Models</h2>" + table(head, models),
        "<h2>Text read off a picture</h2>" + picture_figure(picture, words),
        "<h2>Speech in a clip</h2><p>Grey: loudness; red: probability of speech; shaded: found; "
        "green line: where it was spoken.</p>" + sound_figure(clip, probability, spoken, heard),
        "<h2>File types</h2>"
        + table(["file", "type", "probability"], [(w, t, f"{p:.3f}") for w, t, p in types]),
        "<h2>Time per kernel, text detection</h2>" + profile_table(profile),
    ]
    with open(path, "w", encoding="utf8") as f:
        f.write("\n".join(parts))
