# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Time from a model file to the first answer, each in a fresh process.

    ./dev bench first_answer [--only NAME ...] [--rounds 3] [--openvino]

`off` compiles without a cache, `cold` fills an empty one, `warm` finds the model in it. With
--openvino that engine is measured in the same rounds, in the peers' environment, and the ratios are
printed. The clock starts when the engine is imported; importing is listed apart.
Writes out/bench/first_answer.json and .html.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import common
import numpy as np
from models import NAMES, ROOT, make_models
from page import write_page
from peers import peers_python

GOALS = {"cold": 4.0, "warm": 0.8}
HEAD = ["model", "threads", "import", "off", "cold", "warm", "openvino", "cold ratio", "warm ratio"]


def ours(model, feeds):
    import tvm
    from tvm.cli.execute import Model
    from tvm.driver.onnx import compile_onnx

    start = time.perf_counter()
    shapes = {k: list(v.shape) for k, v in feeds.items()}
    loaded = Model.of(compile_onnx(model, shape_dict=shapes))
    loaded.main(*[tvm.runtime.tensor(feeds[i["name"]]) for i in loaded.inputs])
    return start


def openvino(model, feeds):
    import openvino as ov

    start = time.perf_counter()
    core = ov.Core()
    read = core.read_model(model)
    read.reshape({p.any_name: feeds[p.any_name].shape for p in read.inputs})
    options = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1}
    options["INFERENCE_NUM_THREADS"] = int(os.environ["OMP_NUM_THREADS"])
    request = core.compile_model(read, "CPU", options).create_infer_request()
    for port in read.inputs:
        request.set_tensor(port.any_name, ov.Tensor(feeds[port.any_name]))
    request.infer()
    return start


def worker(kind, model):
    with np.load(model[:-5] + ".npz") as z:
        feeds = {k: z[k] for k in z.files}
    begin = time.perf_counter()
    start = {"ours": ours, "openvino": openvino}[kind](model, feeds)
    end = time.perf_counter()
    print(json.dumps({"import": start - begin, "seconds": end - start}))


def child(python, kind, model, threads, **env):
    argv = [python, os.path.abspath(__file__), "--worker", kind, model]
    done = subprocess.run(
        argv, capture_output=True, text=True, env=common.clean_env(threads, **env)
    )
    if done.returncode != 0:
        raise RuntimeError(f"{kind} {model} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def measure(model, threads, a):
    times = {}
    for _ in range(a.rounds):
        with tempfile.TemporaryDirectory() as cache:
            os.chmod(cache, 0o700)
            for what, folder in (("off", "off"), ("cold", cache), ("warm", cache)):
                got = child(sys.executable, "ours", model, threads, TVM_CACHE_DIR=folder)
                times.setdefault(what, []).append(got["seconds"])
                times.setdefault("import", []).append(got["import"])
        if a.openvino:
            got = child(peers_python(), "openvino", model, threads)
            times.setdefault("openvino", []).append(got["seconds"])
    return {what: float(np.median(values)) for what, values in times.items()}


def cells(name, threads, row):
    peer = row.get("openvino")
    ratios = []
    for what, goal in GOALS.items():
        ratio = row[what] / peer if peer else None
        ratios.append("-" if ratio is None else f"{ratio:.2f}" + (" OVER" if ratio > goal else ""))
    times = [common.fmt(row.get(k)) for k in ("import", "off", "cold", "warm", "openvino")]
    return [name, threads, *times, *ratios]


def main():
    everything = [n for names in NAMES.values() for n in names]
    ap = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ap.add_argument("--only", nargs="*", choices=everything, default=["resnet50", "bert_base"])
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--threads", type=int, default=os.cpu_count())
    ap.add_argument("--openvino", action="store_true", help="measure OpenVINO as well")
    ap.add_argument("--models", default=os.path.join(ROOT, "out", "models"))
    ap.add_argument("--cache", default=os.path.join(ROOT, ".cache", "wheels"))
    ap.add_argument("--out", default=os.path.join(ROOT, "out", "bench", "first_answer"))
    ap.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    a = ap.parse_args()
    if a.worker:
        worker(*a.worker)
        return
    make_models(a.models, a.cache)
    common.raise_priority()
    data = {"machine": common.machine(), "rows": {}}
    for name in a.only:
        data["rows"][name] = measure(os.path.join(a.models, name + ".onnx"), a.threads, a)
        print(name, data["rows"][name], file=sys.stderr, flush=True)
    os.makedirs(os.path.dirname(a.out), exist_ok=True)
    common.save(a.out + ".json", data)
    rows = [cells(name, a.threads, row) for name, row in data["rows"].items()]
    print(common.table(HEAD, rows))
    write_page(a.out + ".html", "Time to the first answer", [("Seconds", HEAD, rows)])


if __name__ == "__main__":
    main()
