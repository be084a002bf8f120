# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Several machines at work at once: the total against the same calls one after the other.

    ./dev bench several [--only NAME ...] [--machines 4] [--threads 2] [--rounds 5]

One process compiles each model and makes several virtual machines of it, which share the pool of
worker threads. They answer in turn, then each from a thread of its own; every answer is compared.
Processor time says whether threads got in each other's way even where other programs are running.
Writes out/bench/several.json and .html.
"""

import argparse
import json
import os
import subprocess
import sys
import threading
import time

import common
import numpy as np
from models import NAMES, ROOT, make_models
from page import write_page

# The total of all at once may be this much above that of one after the other.
GOAL = 1.15
HEAD = ["model", "machines", "threads", "in turn", "at once", "ratio", "CPU ratio", ""]


def answers(result):
    return [r.numpy() for r in ([result] if hasattr(result, "numpy") else result)]


class Caller:
    """A machine with inputs of its own, and the answer that it must give."""

    def __init__(self, executable, feeds):
        import tvm
        from tvm.cli.execute import Model

        model = Model.of(executable)
        self.main = model.main
        self.tensors = [tvm.runtime.tensor(feeds[i["name"]]) for i in model.inputs]
        self.wanted = answers(self.main(*self.tensors))
        self.good = True

    def run(self, calls):
        for _ in range(calls):
            result = self.main(*self.tensors)
        for got, wanted in zip(answers(result), self.wanted):
            self.good = self.good and np.allclose(got, wanted, rtol=1e-4, atol=1e-5)


def in_turn(callers, calls):
    for caller in callers:
        caller.run(calls)


def at_once(callers, calls):
    threads = [threading.Thread(target=c.run, args=(calls,)) for c in callers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def worker(model, machines, rounds, seconds):
    from tvm.driver.onnx import compile_onnx

    with np.load(model[:-5] + ".npz") as z:
        feeds = {k: z[k] for k in z.files}
    executable = compile_onnx(model, shape_dict={k: list(v.shape) for k, v in feeds.items()})
    callers = [Caller(executable, feeds) for _ in range(machines)]
    start = time.perf_counter()
    callers[0].run(1)
    calls = max(1, int(seconds / (time.perf_counter() - start)))
    walls, cpus = {}, {}
    for _ in range(rounds):
        for way in (in_turn, at_once):
            start, cpu = time.perf_counter(), time.process_time()
            way(callers, calls)
            walls.setdefault(way.__name__, []).append(time.perf_counter() - start)
            cpus.setdefault(way.__name__, []).append(time.process_time() - cpu)
    row = {way: float(np.median(times)) for way, times in walls.items()}
    row["ratio"] = row["at_once"] / row["in_turn"]
    row["cpu_ratio"] = float(np.median(cpus["at_once"]) / np.median(cpus["in_turn"]))
    print(json.dumps(row | {"calls": calls, "right": all(c.good for c in callers)}))


def measure(model, a):
    argv = [sys.executable, os.path.abspath(__file__), "--worker", model]
    argv += ["--machines", str(a.machines), "--rounds", str(a.rounds), "--seconds", str(a.seconds)]
    done = subprocess.run(argv, capture_output=True, text=True, env=common.clean_env(a.threads))
    if done.returncode != 0:
        raise RuntimeError(f"{model} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def cells(name, row, a):
    times = [common.fmt(row["in_turn"]), common.fmt(row["at_once"])]
    verdict = "OVER" if row["ratio"] > GOAL else "ok"
    ratios = [f"{row['ratio']:.2f}", f"{row['cpu_ratio']:.2f}"]
    return [name, a.machines, a.threads, *times, *ratios, verdict if row["right"] else "WRONG"]


def main():
    everything = [n for names in NAMES.values() for n in names]
    ap = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    only = ["mobilenetv2", "mlp_b64", "silero_vad"]
    ap.add_argument("--only", nargs="*", choices=everything, default=only)
    ap.add_argument("--machines", type=int, default=4)
    ap.add_argument("--threads", type=int, default=os.cpu_count())
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--seconds", type=float, default=0.2, help="of calls of each machine")
    ap.add_argument("--models", default=os.path.join(ROOT, "out", "models"))
    ap.add_argument("--cache", default=os.path.join(ROOT, ".cache", "wheels"))
    ap.add_argument("--out", default=os.path.join(ROOT, "out", "bench", "several"))
    ap.add_argument("--worker", help=argparse.SUPPRESS)
    a = ap.parse_args()
    if a.worker:
        worker(a.worker, a.machines, a.rounds, a.seconds)
        return
    make_models(a.models, a.cache)
    common.raise_priority()
    data = {"machine": common.machine(), "rows": {}}
    for name in a.only:
        data["rows"][name] = measure(os.path.join(a.models, name + ".onnx"), a)
        print(name, data["rows"][name], file=sys.stderr, flush=True)
    os.makedirs(os.path.dirname(a.out), exist_ok=True)
    common.save(a.out + ".json", data)
    rows = [cells(name, row, a) for name, row in data["rows"].items()]
    print(common.table(HEAD, rows))
    write_page(a.out + ".html", "Several machines at once", [("Seconds", HEAD, rows)])


if __name__ == "__main__":
    main()
