# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""``tvm explain``: where a model's time goes, kernel by kernel, and what the machine would allow."""

from __future__ import annotations

import math
import os

from .compile import load_model, parse_shapes
from .execute import Model, check_threads, random_inputs
from .files import check_input, check_output, replacing
from .output import Output, UserError, seconds
from .page import write_page

_MIB = 1 << 20


class _Watch:
    """Keeps the module as it is before and after the kernels get their loops."""

    before = after = None

    def run_before_pass(self, mod, info):
        if info.name == "DispatchKernels":
            self.before = mod

    def run_after_pass(self, mod, info):
        if info.name == "DispatchKernels":
            self.after = mod


def describe_kernels(before, after, target) -> dict[str, dict]:
    """Work and rule of each kernel.

    Args:
        before: Module with the kernels as blocks.
        after: The same module with their loops.
        target: Target for which they were compiled.

    Returns:
        Name -> ``rule``, ``layout``, ``operands``, ``type`` of most products, and ``flops``,
        ``bound_flops`` (those that the rule cannot save) and ``bytes`` of one call, which are None
        when an extent is open; ``tuned`` is what :py:func:`tuned_kernels` says, or None.
    """
    import tvm

    info_of = tvm.get_global_func("driver.KernelInfo")
    tuned = tuned_kernels(before, target)
    kernels = {}
    for var, func in before.functions.items():
        if not isinstance(func, tvm.tirx.PrimFunc):
            continue
        info = {str(k): v for k, v in info_of(func).items()}
        attrs = after[var.name_hint].attrs
        rule = attrs["kernel_rule"] if attrs and "kernel_rule" in attrs else "as written"
        kernels[str(var.name_hint)] = {
            "rule": str(rule),
            "layout": str(info["layout"]),
            "operands": [str(o) for o in info["operands"]],
            "type": str(info["type"]),
            "flops": info["flops"],
            "bound_flops": info["bound_flops"],
            "bytes": info["bytes"],
            "tuned": tuned.get(str(var.name_hint)),
        }
    return kernels


def tuned_kernels(before, target) -> dict[str, dict]:
    """What the database in use says of kernels: knobs, seconds of one call tuned and untuned."""
    import tvm
    from tvm.tune import _ffi_api as tune

    path = str(tune.DatabasePath())
    found = {}
    for var, func in before.functions.items() if path else ():
        if not isinstance(func, tvm.tirx.PrimFunc):
            continue
        record = tune.Find(path, tune.KernelKey(func, target))
        if record is not None:
            found[str(var.name_hint)] = {
                "knobs": str(record["text"]),
                "seconds": record["seconds"],
                "untuned_seconds": record["untuned_seconds"],
                "gain": record["untuned_seconds"] / record["seconds"] if record["seconds"] else 1.0,
            }
    return found


def probe_bytes() -> int:
    """Size of a buffer that does not fit the caches; at most 512 MiB."""
    try:
        with open("/sys/devices/system/cpu/cpu0/cache/index3/size", encoding="ascii") as file:
            text = file.read().strip()
        last = int(text.rstrip("KM")) << {"K": 10, "M": 20}.get(text[-1], 0)
    except (OSError, ValueError, IndexError):
        last = 32 * _MIB
    return min(max(4 * last, 128 * _MIB), 512 * _MIB)


def machine(args, threads: int) -> dict:
    """Operations of each type and bytes a second that this machine attains.

    Measured, unless they are given; other types keep their ratio to a given peak of float32.
    """
    import tvm

    measured = tvm.get_global_func("driver.MeasureMachine")(threads, probe_bytes(), 0.1)
    scale = 1.0 if args.peak is None else args.peak * 1e9 / measured["float32"]
    peaks = {kind: measured[kind] * scale / 1e9 for kind in ("float32", "bfloat16", "int8")}
    bandwidth = measured["bandwidth"] / 1e9 if args.bandwidth is None else args.bandwidth
    if args.peak is not None:
        peaks["float32"] = float(args.peak)
    return {
        "gflops": peaks["float32"],
        "gflops_of": peaks,
        "gbytes": float(bandwidth),
        "threads": threads,
    }


def bound(kernel: dict, peak: dict) -> tuple[float | None, str]:
    """Least seconds of one call by the roofline, and which side it is: compute or memory."""
    if kernel["bound_flops"] is None or kernel["bytes"] is None:
        return None, "unknown"
    compute = kernel["bound_flops"] / (peak["gflops_of"][kernel["type"]] * 1e9)
    memory = kernel["bytes"] / (peak["gbytes"] * 1e9)
    return (compute, "compute") if compute >= memory else (memory, "memory")


def measure(model: Model, repeat: int) -> list[tuple[str, int, float]]:
    """``[(kernel, calls, seconds)]`` of one run; each kernel's best of some runs."""
    tensors = model.tensors(random_inputs(model))
    model.main(*tensors)
    best: dict[str, tuple[int, float]] = {}
    for _ in range(repeat):
        for name, calls, spent in model.vm.profile("main", *tensors):
            known = best.get(name)
            if known is None or spent < known[1]:
                best[name] = (int(calls), spent)
    rows = [(name, calls, spent) for name, (calls, spent) in best.items()]
    return sorted(rows, key=lambda row: -row[2])


def report(kernels: dict[str, dict], times: list[tuple[str, int, float]], peak: dict) -> dict:
    """Everything in one structure; times in seconds, sizes in bytes, per run of the model."""
    total = sum(spent for _, _, spent in times) or 1.0
    rows = []
    for name, calls, spent in times:
        known = kernels.get(name)
        row = {"kernel": name, "calls": calls, "seconds": spent, "share": spent / total}
        if known is None:  # a call of the machine itself
            row |= {"rule": None, "layout": None, "operands": [], "type": None, "flops": None}
            row |= {"bound_flops": None, "bytes": None, "bound_seconds": None, "bound": None}
            row |= {"attained": None, "tuned": None}
        else:
            least, side = bound(known, peak)
            whole_run = ("flops", "bound_flops", "bytes")
            scaled = {k: None if known[k] is None else known[k] * calls for k in whole_run}
            row |= {**known, **scaled, "bound": side}
            row["bound_seconds"] = None if least is None else least * calls
            row["attained"] = None if least is None or spent == 0 else least * calls / spent
        rows.append(row)
    bounds = [r["bound_seconds"] for r in rows if r["bound_seconds"] is not None]
    return {"machine": peak, "seconds": total, "bound_seconds": sum(bounds), "kernels": rows}


_HEAD = ["kernel", "calls", "rule", "layout", "type", "GFLOP", "MiB", "bound", "time", "of bound"]
_HEAD += ["tuned", "share"]


def cells(row: dict) -> list[str]:
    """One kernel as text, in the order of the table's columns."""
    number = lambda value, unit: "-" if value is None else f"{value / unit:.3g}"
    least = row["bound_seconds"]
    return [
        row["kernel"],
        str(row["calls"]),
        row["rule"] or "-",
        row["layout"] or "-",
        row["type"] or "-",
        number(row["flops"], 1e9),
        number(row["bytes"], _MIB),
        "-" if least is None else f"{seconds(least)} {row['bound']}",
        seconds(row["seconds"]),
        "-" if row["attained"] is None else f"{row['attained']:.0%}",
        "-" if row["tuned"] is None else f"{row['tuned']['gain']:.2f}x",
        f"{row['share']:.1%}",
    ]


def knobs_of(row: dict) -> list[str]:
    """A line about the knobs of a kernel that was tuned."""
    if row["tuned"] is None:
        return []
    return [f"tuned: {row['tuned']['knobs'] or 'the own choice of the rule is the best so far'}"]


def print_table(data: dict, summary: str) -> None:
    """The table on a terminal, as wide as it needs elsewhere."""
    from rich.console import Console
    from rich.table import Table

    table = Table(*_HEAD, box=None, header_style="bold", pad_edge=False)
    for column in table.columns[5:]:
        column.justify = "right"
    for row in data["kernels"]:
        style = "red" if row["attained"] is not None and row["attained"] < 0.3 else None
        table.add_row(*cells(row), style=style if row["share"] > 0.02 else None)
    console = Console(soft_wrap=False)
    if not console.is_terminal:
        console.width = 200
    console.print(table)
    console.print(summary, highlight=False)


def run(args, out: Output) -> None:
    """Explain ``args.model``."""
    shapes = parse_shapes(args.shape)
    if args.html is not None:
        check_output(args.html, args.model)
    for name, value in (("--peak", args.peak), ("--bandwidth", args.bandwidth)):
        if value is not None and not 0 < value < math.inf:
            raise UserError(f"{name} expects a positive number, got {value}")
    if args.tune_db not in (None, "off"):
        check_input(args.tune_db, "a file of `tvm compile --tune`", may_be_empty=True)
    mapped = load_model(args.model, shapes)
    if args.repeat < 1:
        raise UserError(f"--repeat expects a positive number, got {args.repeat}")
    import tvm
    from tvm.relax.frontend.onnx import from_onnx
    from tvm.tune import tuning

    if args.threads is not None:
        check_threads(args.threads)
        tvm.get_global_func("runtime.config_threadpool")(1, args.threads)
    threads = args.threads or os.cpu_count() or 1
    watch = tvm.instrument.pass_instrument(_Watch)()
    target = tvm.target.Target({"kind": "llvm", "mcpu": "native"})
    with tuning(database=args.tune_db):
        with out.progress("compiling"):
            module = from_onnx(mapped, shape_dict=shapes or None)
            with tvm.transform.PassContext(instruments=[watch]):
                executable = tvm.compile(module, target, precision=args.precision)
        kernels = describe_kernels(watch.before, watch.after, target)
    with out.progress("measuring this machine"):
        peak = machine(args, threads)
    with out.progress("measuring the model"):
        times = measure(Model.of(executable), args.repeat)
    data = report(kernels, times, peak)
    data["model"], data["precision"] = args.model, args.precision
    used = {"float32"} | {row["type"] for row in data["kernels"] if row["type"]}
    rates = ", ".join(f"{peak['gflops_of'][kind]:.0f} of {kind}" for kind in sorted(used))
    summary = (
        f"{seconds(data['seconds'])} in {len(data['kernels'])} kernels; the bounds add up to "
        f"{seconds(data['bound_seconds'])}, on {threads} thread(s) with {rates} GFLOP/s and "
        f"{peak['gbytes']:.1f} GB/s."
    )
    if args.html:
        title = f"{os.path.basename(args.model)}: where the time goes"
        rows = [cells(row) for row in data["kernels"]]
        details = ["\n".join(row["operands"] + knobs_of(row)) for row in data["kernels"]]
        shares = [row["share"] for row in data["kernels"]]
        with replacing(args.html) as partial:
            write_page(partial, title, summary, _HEAD, rows, details, shares)
    if args.json:
        out.result(data, "")
    else:
        print_table(data, summary)
        if args.html:
            print(f"written to {args.html}")
