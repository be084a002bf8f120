# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Latency of every model here and on its peers, interleaved on one machine, as ratios.

    ./dev bench models [--only NAME ...] [--threads 1 2] [--rounds 7] [--seconds 0.4]
                       [--peers onnxruntime openvino mnn] [--precision bf16]

Each engine runs in a process of its own, the peers in an environment of their own. For each model and
thread count all are loaded first, then timed in turn: ROUNDS rounds of about SECONDS each. The ratio
is to the fastest peer. Writes out/bench/models.json and .html.

Errors are against the first peer's answer, relative to the largest number of each output. With
--precision bf16 that peer, and all that have no such mode, run in float32; those rows then compare
our error with the error of the peers that have one. Models called _int8 are quantised files, which
every engine runs as they are: their answers differ by what intermediate rounding makes of them.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

import common
import numpy as np
from page import write_page
from peers import peers_python

ROOT = os.path.dirname(common.HERE)
PEERS = {"onnxruntime": "ort", "openvino": "openvino", "mnn": "mnn"}
NAMES = {
    "synthetic_models.py": [
        "mlp_b1",
        "mlp_b64",
        "mobilenetv2",
        "resnet50",
        "yolov8n",
        "bert_base",
        "gpt2_prefill128",
        "gpt2_decode",
        "resnet50_int8",
        "mobilenetv2_int8",
    ],
    "real_models.py": [
        "ppocr_det",
        "ppocr_rec",
        "ppocr_cls",
        "magika",
        "silero_vad",
        "minilm",
        "minilm_int8",
    ],
}
# Peers that compute in bfloat16 when asked to.
NARROW_PEERS = ("openvino",)


def tolerance(name, precision="float32"):
    """Largest error, as `difference` measures it, at which an answer still counts as the same."""
    if name.endswith("_int8"):
        return 6e-2
    return 1e-3 if precision == "float32" else 6e-2


def make_models(folder, cache, only=None):
    """Write the models that are missing; real ones come out of wheels, downloaded by name.

    `only` names the script whose models are wanted; by default all are.
    """
    os.makedirs(folder, exist_ok=True)
    for script, names in NAMES.items():
        if only not in (None, script):
            continue
        missing = [n for n in names if not os.path.exists(os.path.join(folder, n + ".npz"))]
        if missing:
            print(f"making {', '.join(missing)}", file=sys.stderr, flush=True)
            extra = ["--only", *missing] if script.startswith("synthetic") else ["--cache", cache]
            argv = [sys.executable, os.path.join(common.HERE, script), "--out", folder, *extra]
            subprocess.run(argv, check=True, stdout=sys.stderr)


def difference(reference, other):
    """Worst error over all outputs, relative to each output's largest magnitude.

    Integer outputs must be equal; a missing output or another shape is an infinite error.
    """
    worst = 0.0
    with np.load(reference) as x, np.load(other) as y:
        for k in x.files:
            if k not in y.files or x[k].shape != y[k].shape:
                return math.inf
            if not np.issubdtype(x[k].dtype, np.floating):
                worst = max(worst, 0.0 if np.array_equal(x[k], y[k]) else math.inf)
                continue
            p, q = x[k].astype(np.float64), y[k].astype(np.float64)
            if p.size:
                worst = max(worst, float(np.abs(p - q).max() / (np.abs(p).max() + 1e-9)))
    return worst


def measure(name, threads, a, scratch):
    """One row: every engine's state and times, our worst error, our ratio to the fastest peer."""
    model = os.path.join(a.models, name + ".onnx")
    workers, row = [], {"model": name, "threads": threads, "engines": {}}

    def saved(engine):
        return os.path.join(scratch, engine + ".npz")

    for engine in [*a.peers, "opentvm"]:
        python = peers_python() if engine in PEERS else sys.executable
        argv = [python, os.path.join(common.HERE, "model_worker.py"), PEERS.get(engine, "tvm")]
        argv += [model, model[:-5] + ".npz", str(threads), f"save={saved(engine)}"]
        if a.precision != "float32" and engine in (*NARROW_PEERS, "opentvm"):
            argv.append(f"precision={a.precision}")
        if w := common.start(engine, argv, threads, a.timeout, row["engines"]):
            workers.append(w)
    reference = a.peers[0]
    row["errors"] = {
        engine: difference(saved(reference), saved(engine))
        for engine in [*a.peers[1:], "opentvm"]
        if os.path.exists(saved(reference)) and os.path.exists(saved(engine))
    }
    times = common.interleave(workers, a.rounds, a.seconds)
    for w in workers:
        row["engines"][w.name]["time"] = common.summary(times[w.name])
        w.close()
    ours = median(row, "opentvm")
    best = min((t for e in a.peers if (t := median(row, e))), default=None)
    row["ratio"] = ours / best if ours and best else None
    return row


def median(row, engine):
    """Median seconds of an engine in a row, None if it failed."""
    return (row["engines"][engine].get("time") or {}).get("median")


def report(data, peers, out):
    """Print the table and write the page."""
    engines = [*peers, "opentvm"]
    head = ["model", "threads", *engines, "ratio", "compile", "error", "peers' error", "peak MiB"]
    rows = []
    for r in data["rows"]:
        ours = r["engines"]["opentvm"]
        times = [median(r, e) for e in engines]
        cost = ours.get("cost", {})
        rows.append(
            [
                r["model"],
                r["threads"],
                *(common.fmt(t) for t in times),
                f"{r['ratio']:.2f}" if r["ratio"] else "fails",
                common.fmt(cost.get("import_model", 0) + cost.get("compile", 0)) if cost else "-",
                f"{r['errors']['opentvm']:.1e}" if "opentvm" in r["errors"] else "-",
                " ".join(f"{e:.1e}" for name, e in r["errors"].items() if name != "opentvm") or "-",
                f"{ours['peak']:.0f}" if "peak" in ours else "-",
            ]
        )
    text = common.table(head, rows)
    ratios = [r["ratio"] for r in data["rows"] if r["ratio"]]
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        text += (
            f"\n\nGeometric mean of the ratios to the fastest of {', '.join(peers)}: "
            f"{mean:.3f} over {len(ratios)} rows"
        )
    print(text)
    note = json.dumps(data["machine"])
    write_page(out + ".html", "Models against " + ", ".join(peers), [("Latency", head, rows)], note)


def main():
    ap = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    everything = [n for names in NAMES.values() for n in names]
    ap.add_argument("--only", nargs="*", choices=everything, default=everything)
    ap.add_argument("--peers", nargs="+", choices=list(PEERS), default=["onnxruntime"])
    ap.add_argument("--precision", choices=["float32", "bf16"], default="float32")
    ap.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    ap.add_argument("--rounds", type=int, default=7)
    ap.add_argument("--seconds", type=float, default=0.4)
    ap.add_argument("--timeout", type=float, default=600)
    ap.add_argument("--models", default=os.path.join(ROOT, "out", "models"))
    ap.add_argument("--cache", default=os.path.join(ROOT, ".cache", "wheels"))
    ap.add_argument("--out", default=os.path.join(ROOT, "out", "bench", "models"))
    a = ap.parse_args()
    make_models(a.models, a.cache)
    os.makedirs(os.path.dirname(a.out), exist_ok=True)
    common.raise_priority()
    data = {"machine": common.machine(), "precision": a.precision, "rows": []}
    for name in a.only:
        for threads in a.threads:
            print(f"{name}, {threads} thread(s)", file=sys.stderr, flush=True)
            with tempfile.TemporaryDirectory() as scratch:
                data["rows"].append(measure(name, threads, a, scratch))
            common.save(a.out + ".json", data)
    report(data, a.peers, a.out)


if __name__ == "__main__":
    main()
