# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Memory of compiling a model, and of a process that holds the result, beside their budgets.

    ./dev bench memory [--only NAME ...]

Both are measured in processes of their own, without a compile cache: the highest resident size from
the start of the interpreter until the library is written, and the resident size of a process that
loaded the library and answered a few times. Tools that a compilation starts (the linker) are
processes of their own and listed apart. Writes out/bench/memory.json and .html.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile

import common
import numpy as np
from models import NAMES, ROOT, make_models
from page import write_page

# MiB: (peak of compiling, steady of the loaded library); models without a row have no budget.
BUDGETS = {"resnet50": (300, 200), "bert_base": (900, 550)}
HEAD = ["model", "compile peak", "budget", "linker peak", "loaded", "budget", "seconds", ""]


def shapes_of(model):
    with np.load(model[:-5] + ".npz") as z:
        return {k: list(z[k].shape) for k in z.files}


def compile_worker(model, library):
    """Compile and export, then print this process's peak."""
    from tvm.driver.onnx import compile_onnx

    compile_onnx(model, shape_dict=shapes_of(model)).export_library(library)
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(json.dumps({"peak": common.memory()[1], "tools": children}))


def load_worker(model, library):
    """Load, answer, then print the resident size."""
    import tvm
    from tvm.cli.execute import Model

    loaded = Model(library)
    with np.load(model[:-5] + ".npz") as z:
        tensors = [tvm.runtime.tensor(z[i["name"]]) for i in loaded.inputs]
    for _ in range(5):
        loaded.main(*tensors)
    print(json.dumps({"steady": common.memory()[0]}))


def child(what, model, library, **env):
    argv = [sys.executable, os.path.abspath(__file__), "--worker", what, model, library]
    done = subprocess.run(argv, capture_output=True, text=True, env=common.clean_env(2, **env))
    if done.returncode != 0:
        raise RuntimeError(f"{what} {model} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def measure(model, scratch):
    import time

    library = os.path.join(scratch, "model.so")
    start = time.perf_counter()
    row = child("compile", model, library, TVM_CACHE_DIR="off")
    row["seconds"] = time.perf_counter() - start
    # What runs a model has no compiler.
    return row | child("load", model, library, TVM_USE_RUNTIME_LIB="1")


def cells(name, row):
    peak, steady = BUDGETS.get(name, (None, None))
    over = (peak is not None and row["peak"] > peak) or (
        steady is not None and row["steady"] > steady
    )
    return [
        name,
        f"{row['peak']:.0f}",
        peak or "-",
        f"{row['tools']:.0f}",
        f"{row['steady']:.0f}",
        steady or "-",
        f"{row['seconds']:.1f}",
        "OVER" if over else "ok" if peak else "",
    ]


def main():
    everything = [n for names in NAMES.values() for n in names]
    ap = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ap.add_argument("--only", nargs="*", choices=everything, default=list(BUDGETS))
    ap.add_argument("--models", default=os.path.join(ROOT, "out", "models"))
    ap.add_argument("--cache", default=os.path.join(ROOT, ".cache", "wheels"))
    ap.add_argument("--out", default=os.path.join(ROOT, "out", "bench", "memory"))
    ap.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    a = ap.parse_args()
    if a.worker:
        {"compile": compile_worker, "load": load_worker}[a.worker[0]](*a.worker[1:])
        return
    make_models(a.models, a.cache)
    data = {"machine": common.machine(), "rows": {}}
    for name in a.only:
        with tempfile.TemporaryDirectory() as scratch:
            data["rows"][name] = measure(os.path.join(a.models, name + ".onnx"), scratch)
        print(name, data["rows"][name], file=sys.stderr, flush=True)
    os.makedirs(os.path.dirname(a.out), exist_ok=True)
    common.save(a.out + ".json", data)
    rows = [cells(name, row) for name, row in data["rows"].items()]
    print(common.table(HEAD, rows))
    write_page(a.out + ".html", "Memory, MiB", [("Resident size", HEAD, rows)])


if __name__ == "__main__":
    main()
