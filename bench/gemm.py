# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Rates of fp32 matrix products here, in numpy (OpenBLAS) and in onnxruntime, beside the attained peak.

    ./dev bench gemm [--threads 1 2] [--rounds 7] [--seconds 0.2] [--only 1024x1024x1024 ...]

Shapes are M x K x N with a constant right-hand side, as weights are. Every engine runs in a process
of its own; each round times all of them in turn, then the multiply-add peak (for products with one
row: the reading rate, over weights rotated through more memory than the last-level cache holds).
Writes out/bench/gemm.json and .html.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

import common
import numpy as np
from page import write_page

ROOT = os.path.dirname(common.HERE)
ENGINES = ("opentvm", "numpy", "onnxruntime")
SHAPES = (
    (1024, 1024, 1024),
    (128, 768, 3072),
    (128, 3072, 768),
    (256, 256, 256),
    (127, 771, 3073),
    (513, 255, 129),
    (1, 4096, 4096),
)
ROTATED_BYTES = 256 << 20


def operands(m, k, n):
    """One left-hand matrix and enough right-hand ones that a matrix-vector product reads memory."""
    rng = np.random.default_rng(1)
    a = rng.standard_normal((m, k), np.float32)
    count = max(1, ROTATED_BYTES // (4 * k * n)) if m == 1 else 1
    return a, [rng.standard_normal((k, n), np.float32) for _ in range(count)]


def numpy_engine(a, weights, threads):
    out = np.empty((a.shape[0], weights[0].shape[1]), np.float32)
    return [lambda b=b: np.matmul(a, b, out=out) for b in weights]


def onnxruntime_engine(a, weights, threads):
    import onnxruntime as rt
    from onnx import TensorProto, helper, numpy_helper

    def session(b):
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["a", "b"], ["c"])],
            "g",
            [helper.make_tensor_value_info("a", TensorProto.FLOAT, list(a.shape))],
            [helper.make_tensor_value_info("c", TensorProto.FLOAT, [a.shape[0], b.shape[1]])],
            [numpy_helper.from_array(b, "b")],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        o = rt.SessionOptions()
        o.intra_op_num_threads, o.inter_op_num_threads = threads, 1
        s = rt.InferenceSession(model.SerializeToString(), o, providers=["CPUExecutionProvider"])
        bind = s.io_binding()
        bind.bind_ortvalue_input("a", rt.OrtValue.ortvalue_from_numpy(a))
        bind.bind_output("c")
        return lambda: (s.run_with_iobinding(bind), bind.copy_outputs_to_cpu()[0])[1]

    return [session(b) for b in weights]


def opentvm_engine(a, weights, threads):
    import tvm
    from tvm import relax

    target = tvm.target.Target({"kind": "llvm", "mcpu": "native"})
    x = tvm.runtime.tensor(a)

    def function(b):
        builder = relax.BlockBuilder()
        arg = relax.Var("x", relax.TensorType(a.shape, "float32"))
        with builder.function("main", [arg]):
            with builder.dataflow():
                y = builder.emit_output(relax.op.matmul(arg, relax.const(b, "float32")))
            builder.emit_func_output(y)
        main = relax.VirtualMachine(tvm.compile(builder.get(), target), tvm.cpu())["main"]
        return lambda: main(x)

    return [function(b) for b in weights]


def worker(engine, shape, threads):
    """Serve one engine at one shape; the error is relative to a product in double precision."""
    common.own_stdout()
    try:
        a, weights = operands(*shape)
        make = {"numpy": numpy_engine, "onnxruntime": onnxruntime_engine, "opentvm": opentvm_engine}
        steps = make[engine](a, weights, threads)
        got = steps[0]()
        got = got.numpy() if hasattr(got, "numpy") else got
        want = a.astype(np.float64) @ weights[0].astype(np.float64)
        error = float(np.abs(got - want).max() / np.abs(want).max())
    except Exception as e:  # reported by the parent
        common.reply(event="fail", stage="start", error=f"{type(e).__name__}: {e}")
        return
    at = [0]

    def step():
        at[0] = (at[0] + 1) % len(steps)
        steps[at[0]]()

    for _ in range(3):
        step()
    common.reply(event="ready", error=error)
    common.serve(step)


class Peaks:
    """The machine's rates: peaks.c, built in a scratch folder and kept running."""

    def __init__(self, folder, threads):
        program = os.path.join(folder, "peaks")
        source = os.path.join(common.HERE, "peaks.c")
        flags = ["-O3", "-march=native", "-ffp-contract=fast", "-pthread"]
        subprocess.run([os.environ.get("CC", "cc"), *flags, source, "-o", program], check=True)
        self.threads = threads
        self.p = subprocess.Popen(
            [program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: common.pin(threads),
        )

    def ask(self, kind, seconds):
        """G multiply-adds and additions a second, or GB a second."""
        self.p.stdin.write(f"{kind} {seconds} {self.threads} {ROTATED_BYTES >> 20}\n")
        self.p.stdin.flush()
        return float(self.p.stdout.readline())

    def close(self):
        self.p.stdin.close()
        self.p.wait(10)


def measure(shape, threads, a, peaks):
    m, k, n = shape
    text = "x".join(map(str, shape))
    workers, row = [], {"m": m, "k": k, "n": n, "threads": threads, "engines": {}}
    for engine in ENGINES:
        argv = [sys.executable, os.path.abspath(__file__), "--worker", engine, text, str(threads)]
        if w := common.start(engine, argv, threads, a.timeout, row["engines"]):
            workers.append(w)
    times, rates = {w.name: [] for w in workers}, []
    kind = "read" if m == 1 else "fma"
    for r in range(a.rounds):
        for w in workers if r % 2 == 0 else workers[::-1]:
            time.sleep(0.03)
            got = w.ask(cmd="run", seconds=a.seconds, min_iters=1)
            times[w.name] += got.get("times", [])
        rates.append(peaks.ask(kind, min(a.seconds, 0.3)))
    for w in workers:
        row["engines"][w.name]["time"] = common.summary(times[w.name])
        w.close()
    row["peak"] = {"kind": kind, "median": statistics.median(rates), "max": max(rates)}
    return row


def report(data, out):
    head = ["product", "threads", "peak", *ENGINES, "of peak", "best / ours"]
    rows = []
    for r in data["rows"]:
        one_row = r["m"] == 1
        work = 4e-9 * r["k"] * r["n"] if one_row else 2e-9 * r["m"] * r["k"] * r["n"]
        medians = {e: (r["engines"][e].get("time") or {}).get("median") for e in ENGINES}
        rate = {e: work / t if t else None for e, t in medians.items()}
        others = [t for e, t in medians.items() if e != "opentvm" and t]
        ours = medians["opentvm"]
        rows.append(
            [
                f"{r['m']}x{r['k']}x{r['n']}",
                r["threads"],
                f"{r['peak']['median']:.1f} " + ("GB/s" if one_row else "GFLOP/s"),
                *(f"{v:.1f}" if v else "fails" for v in rate.values()),
                f"{100 * rate['opentvm'] / r['peak']['median']:.1f} %" if ours else "-",
                f"{min(others) / ours:.3f}" if ours and others else "-",
            ]
        )
    print(common.table(head, rows))
    write_page(out + ".html", "Matrix products", [("Rates at the median", head, rows)])


def main():
    if sys.argv[1:2] == ["--worker"]:
        engine, shape, threads = sys.argv[2:]
        worker(engine, tuple(map(int, shape.split("x"))), int(threads))
        return
    ap = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ap.add_argument("--only", nargs="*", help="shapes such as 128x768x3072")
    ap.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    ap.add_argument("--rounds", type=int, default=7)
    ap.add_argument("--seconds", type=float, default=0.2)
    ap.add_argument("--timeout", type=float, default=600)
    ap.add_argument("--out", default=os.path.join(ROOT, "out", "bench", "gemm"))
    a = ap.parse_args()
    shapes = [tuple(map(int, s.split("x"))) for s in a.only] if a.only else SHAPES
    os.makedirs(os.path.dirname(a.out), exist_ok=True)
    common.raise_priority()
    data = {"machine": common.machine(), "rows": []}
    with tempfile.TemporaryDirectory() as folder:
        for threads in a.threads:
            peaks = Peaks(folder, threads)
            for shape in shapes:
                print(shape, threads, file=sys.stderr, flush=True)
                data["rows"].append(measure(shape, threads, a, peaks))
                common.save(a.out + ".json", data)
            peaks.close()
    report(data, a.out)


if __name__ == "__main__":
    main()
