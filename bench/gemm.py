# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Rates of matrix products here and in peers, beside the attained peak.

    ./dev bench gemm [--threads 1 2] [--rounds 7] [--seconds 0.2] [--only f32:1024x1024x1024 ...]

Products are TYPES:MxKxN with a constant right-hand side, as weights are. TYPES: f32, bf16 (summed
in float32), u8s8 and s8s8 (summed in int32), and w8 and w4: float32 times weights of 8 bits with a
scale for each column, and of 4 bits with a scale for each 128 rows of a column. Every engine runs in a process of its own; each round times all of them in
turn, and right after this one the peak of the multiplying instruction (for products with one row:
the rate of reading one weight after the other, scales included, rotated through more memory than
the last-level cache holds). "of peak" is the median over rounds of what this engine reached of it.
oneDNN comes from the peers' environment. Writes out/bench/gemm.json and .html.
"""

import argparse
import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
import time

import common
import numpy as np
from page import write_page
from peers import peers_python

ROOT = os.path.dirname(common.HERE)
ENGINES = ("opentvm", "numpy", "onnxruntime", "onednn")
SHAPES = (
    (1024, 1024, 1024),
    (128, 768, 3072),
    (128, 3072, 768),
    (256, 256, 256),
    (127, 771, 3073),
    (513, 255, 129),
    (1, 4096, 4096),
)
GROUP = 128  # rows of a 4-bit weight that share a scale
# Elements of a weight in bytes, its scales included, and the peak of the instruction that
# multiplies them.
TYPES = {
    "f32": (4, "fma"),
    "bf16": (2, "bf16"),
    "u8s8": (1, "vnni"),
    "s8s8": (1, "vnni"),
    "w8": (1, "fma"),
    "w4": (0.5 + 4 / GROUP, "fma"),
}
PRODUCTS = tuple(
    (types, shape)
    for types in TYPES
    for shape in SHAPES
    if not types.startswith("w") or shape[0] == 1
)
ROTATED_BYTES = 256 << 20


def matrix(types, shape, side, rng):
    """A random operand; `side` 0 is the left-hand one."""
    if types in ("u8s8", "s8s8"):
        dtype = np.dtype(np.uint8 if types == "u8s8" and side == 0 else np.int8)
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max + 1, shape, dtype)
    if types.startswith("w") and side == 1:
        return (
            rng.integers(-127, 128, shape, np.int8)
            if types == "w8"
            else rng.integers(0, 16, shape, np.uint8)
        )
    values = rng.standard_normal(shape, np.float32)
    if types == "bf16":
        import ml_dtypes

        values = values.astype(ml_dtypes.bfloat16)
    return values


def operands(types, m, k, n):
    """One left-hand matrix and enough right-hand ones that a matrix-vector product reads memory."""
    rng = np.random.default_rng(1)
    count = max(1, int(ROTATED_BYTES / (TYPES[types][0] * k * n))) if m == 1 else 1
    weights = [matrix(types, (k, n), 1, rng) for _ in range(min(count, 4))]
    # Equal values at other addresses: rotated copies are as good as fresh random numbers.
    weights += [np.roll(weights[i % 4], i) for i in range(4, count)]
    return matrix(types, (m, k), 0, rng), weights


def exact(types, a, b):
    """The product in double precision."""
    if types == "w4":
        b = (b.astype(np.float64) - 8) * SCALE
    elif types == "w8":
        b = b.astype(np.float64) * SCALE
    return a.astype(np.float64) @ b.astype(np.float64)


SCALE = 0.25


def numpy_engine(types, a, weights, threads):
    if types != "f32":
        raise NotImplementedError("not offered")
    out = np.empty((a.shape[0], weights[0].shape[1]), np.float32)
    return [lambda b=b: np.matmul(a, b, out=out) for b in weights]


def onnxruntime_engine(types, a, weights, threads):
    import onnxruntime as rt
    from onnx import TensorProto, helper, numpy_helper

    op, left, result = {
        "f32": ("MatMul", TensorProto.FLOAT, TensorProto.FLOAT),
        "u8s8": ("MatMulInteger", TensorProto.UINT8, TensorProto.INT32),
        "s8s8": ("MatMulInteger", TensorProto.INT8, TensorProto.INT32),
        "w4": ("MatMulNBits", TensorProto.FLOAT, TensorProto.FLOAT),
    }.get(types) or (None, None, None)
    if op is None:
        raise NotImplementedError("not offered")

    def operator(b):
        if types != "w4":
            return helper.make_node(op, ["a", "b"], ["c"]), {"b": b}
        (k, n), names = b.shape, ["a", "b", "s"]
        attrs = {"K": k, "N": n, "bits": 4, "block_size": GROUP}
        columns = b.T.reshape(n, -1, GROUP)
        scales = np.full(n * columns.shape[1], SCALE, np.float32)
        weights = {"b": columns[..., ::2] | columns[..., 1::2] << 4, "s": scales}
        return helper.make_node(op, names, ["c"], domain="com.microsoft", **attrs), weights

    def session(b):
        node, weights = operator(b)
        graph = helper.make_graph(
            [node],
            "g",
            [helper.make_tensor_value_info("a", left, list(a.shape))],
            [helper.make_tensor_value_info("c", result, [a.shape[0], b.shape[1]])],
            [numpy_helper.from_array(value, name) for name, value in weights.items()],
        )
        domains = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=domains, ir_version=8)
        o = rt.SessionOptions()
        o.intra_op_num_threads, o.inter_op_num_threads = threads, 1
        s = rt.InferenceSession(model.SerializeToString(), o, providers=["CPUExecutionProvider"])
        bind = s.io_binding()
        bind.bind_ortvalue_input("a", rt.OrtValue.ortvalue_from_numpy(a))
        bind.bind_output("c")
        return lambda: (s.run_with_iobinding(bind), bind.copy_outputs_to_cpu()[0])[1]

    return [session(b) for b in weights]


def onednn_engine(types, a, weights, threads):
    """Through its C++ interface, with weights in its own layout."""
    if types.startswith("w"):
        raise NotImplementedError("not offered")
    prefix = os.path.dirname(os.path.dirname(peers_python()))
    folder = tempfile.mkdtemp()
    library = os.path.join(folder, "gemm_onednn.so")
    source = os.path.join(common.HERE, "gemm_onednn.cpp")
    where = [f"-I{prefix}/include", f"-L{prefix}/lib", "-ldnnl", f"-Wl,-rpath,{prefix}/lib"]
    compiler = [os.environ.get("CXX", "c++"), "-O2", "-std=c++17", "-shared", "-fPIC"]
    subprocess.run([*compiler, source, *where, "-o", library], check=True)
    lib = ctypes.CDLL(library)
    os.remove(library)
    os.rmdir(folder)
    lib.gemm_prepare.restype = ctypes.c_void_p
    out = np.empty(
        (a.shape[0], weights[0].shape[1]), np.int32 if types.endswith("s8") else np.float32
    )

    def product(b):
        pointers = (ctypes.c_void_p(x.ctypes.data) for x in (a, b, out))
        sizes = (ctypes.c_int(s) for s in (*a.shape, b.shape[1]))
        handle = lib.gemm_prepare(types.encode(), *sizes, *pointers)
        if not handle:
            raise NotImplementedError("refused")
        return lambda: (lib.gemm_run(ctypes.c_void_p(handle)), out)[1]

    return [product(b) for b in weights]


def opentvm_engine(types, a, weights, threads):
    import tvm
    from tvm import relax

    target = tvm.target.Target({"kind": "llvm", "mcpu": "native", "num-cores": threads})
    left, out = {
        "bf16": ("bfloat16", "float32"),
        "u8s8": ("uint8", "int32"),
        "s8s8": ("int8", "int32"),
    }.get(types, ("float32", "float32"))
    x = tvm.runtime.tensor(a)

    def function(b):
        builder = relax.BlockBuilder()
        arg = relax.Var("x", relax.TensorType(a.shape, left))
        weight = relax.const(tvm.runtime.tensor(b), str(b.dtype))
        with builder.function("main", [arg]):
            with builder.dataflow():
                if types.startswith("w"):
                    weight = builder.emit(dequantized(types, weight, b.shape))
                y = builder.emit_output(relax.op.matmul(arg, weight, out_dtype=out))
            builder.emit_func_output(y)
        main = relax.VirtualMachine(tvm.compile(builder.get(), target), tvm.cpu())["main"]
        return lambda: main(x)

    return [function(b) for b in weights]


def dequantized(types, weight, shape):
    """A weight of 8 bits with a scale for each column, or of 4 bits with one for each group."""
    from tvm import relax

    k, n = shape
    # Scales that differ, so that they are read: around SCALE by what the error allows for.
    if types == "w8":
        scale = np.full(n, SCALE, np.float32)
        scale[1::2] = np.nextafter(scale[1::2], np.float32(1))
        zero, block, axis = relax.const(np.int8(0)), 0, 1
    else:
        scale = np.full((-(-k // GROUP), n), SCALE, np.float32)
        scale[:, 1::2] = np.nextafter(scale[:, 1::2], np.float32(1))
        zero, block, axis = relax.const(np.uint8(8)), GROUP, 0
    return relax.op.dequantize(weight, relax.const(scale), zero, "float32", axis, block)


def worker(engine, types, shape, threads):
    """Serve one engine at one product; the error is relative to it in double precision."""
    common.own_stdout()
    try:
        a, weights = operands(types, *shape)
        make = globals()[f"{engine}_engine"]
        steps = make(types, a, weights, threads)
        got = steps[0]()
        got = got.numpy() if hasattr(got, "numpy") else got
        want = exact(types, a, weights[0])
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

    def ask(self, kind, seconds, piece):
        """G multiplications and additions a second, or GB a second in pieces of so many bytes.

        Those of bfloat16 are what its instruction or that of float32 attains, whichever is faster.
        """
        if kind == "bf16":
            return max(self.ask_one(kind, seconds / 2, 0), self.ask_one("fma", seconds / 2, 0))
        return self.ask_one(kind, seconds, piece)

    def ask_one(self, kind, seconds, piece):
        sizes = f"{ROTATED_BYTES >> 20} {piece >> 10}" if piece else ""
        self.p.stdin.write(f"{kind} {seconds} {self.threads} {sizes}\n")
        self.p.stdin.flush()
        return float(self.p.stdout.readline())

    def close(self):
        self.p.stdin.close()
        self.p.wait(10)


def bytes_of(row):
    """Bytes of the weight, its scales included."""
    return TYPES[row["types"]][0] * row["k"] * row["n"]


def work_of(row):
    """What the peak is counted in: bytes with one row, multiplications and additions with more."""
    return bytes_of(row) if row["m"] == 1 else 2 * row["m"] * row["k"] * row["n"]


def measure(types, shape, threads, a, peaks):
    m, k, n = shape
    text = "x".join(map(str, shape))
    workers, row = [], {"types": types, "m": m, "k": k, "n": n, "threads": threads, "engines": {}}
    for engine in ENGINES:
        argv = [sys.executable, os.path.abspath(__file__), "--worker", engine, types, text]
        argv.append(str(threads))
        if w := common.start(engine, argv, threads, a.timeout, row["engines"]):
            workers.append(w)
    times, rates, shares = {w.name: [] for w in workers}, [], []
    kind = "read" if m == 1 else TYPES[types][1]
    work = 1e-9 * work_of(row)
    for r in range(a.rounds):
        for w in workers if r % 2 == 0 else workers[::-1]:
            time.sleep(0.03)
            got = w.ask(cmd="run", seconds=a.seconds, min_iters=1)
            times[w.name] += got.get("times", [])
            if w.name == "opentvm" and got.get("times"):
                piece = int(bytes_of(row)) if m == 1 else 0
                rates.append(peaks.ask(kind, min(a.seconds, 0.3), piece))
                if rates[-1] > 0:
                    shares.append(work / statistics.median(got["times"]) / rates[-1])
    for w in workers:
        row["engines"][w.name]["time"] = common.summary(times[w.name])
        w.close()
    if rates:
        row["peak"] = {"kind": kind, "median": statistics.median(rates), "max": max(rates)}
    if shares:
        row["of_peak"] = statistics.median(shares)
    return row


def report(data, out):
    head = ["types", "product", "threads", "peak", *ENGINES, "of peak", "best / ours"]
    rows = []
    for r in data["rows"]:
        one_row = r["m"] == 1
        work = 1e-9 * work_of(r)
        medians = {e: (r["engines"][e].get("time") or {}).get("median") for e in ENGINES}
        rate = {e: work / t if t else None for e, t in medians.items()}
        others = [t for e, t in medians.items() if e != "opentvm" and t]
        ours, peak = medians["opentvm"], r.get("peak", {}).get("median")
        rows.append(
            [
                r["types"],
                f"{r['m']}x{r['k']}x{r['n']}",
                r["threads"],
                f"{peak:.1f} " + ("GB/s" if one_row else "GOP/s") if peak else "-",
                *(f"{v:.1f}" if v else "-" for v in rate.values()),
                f"{100 * r['of_peak']:.1f} %" if "of_peak" in r else "-",
                f"{min(others) / ours:.3f}" if ours and others else "-",
            ]
        )
    print(common.table(head, rows))
    write_page(out + ".html", "Matrix products", [("Rates at the median", head, rows)])


def main():
    if sys.argv[1:2] == ["--worker"]:
        engine, types, shape, threads = sys.argv[2:]
        worker(engine, types, tuple(map(int, shape.split("x"))), int(threads))
        return
    ap = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ap.add_argument("--only", nargs="*", help="products such as bf16:128x768x3072")
    ap.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    ap.add_argument("--rounds", type=int, default=7)
    ap.add_argument("--seconds", type=float, default=0.2)
    ap.add_argument("--timeout", type=float, default=600)
    ap.add_argument("--out", default=os.path.join(ROOT, "out", "bench", "gemm"))
    a = ap.parse_args()
    products = PRODUCTS
    if a.only:
        pairs = [text.split(":") for text in a.only]
        products = [(types, tuple(map(int, shape.split("x")))) for types, shape in pairs]
    os.makedirs(os.path.dirname(a.out), exist_ok=True)
    common.raise_priority()
    data = {"machine": common.machine(), "rows": []}
    with tempfile.TemporaryDirectory() as folder:
        for threads in a.threads:
            peaks = Peaks(folder, threads)
            for types, shape in products:
                print(types, shape, threads, file=sys.stderr, flush=True)
                data["rows"].append(measure(types, shape, threads, a, peaks))
                common.save(a.out + ".json", data)
            peaks.close()
    report(data, a.out)


if __name__ == "__main__":
    main()
