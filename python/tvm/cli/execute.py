# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""``tvm run`` and ``tvm bench``. They need the runtime only, not the compiler."""

from __future__ import annotations

import json
import statistics
import time
import zipfile

import numpy as np

from .files import check_input, check_output, replacing
from .output import Output, UserError, seconds, table

# Seconds between two reports of progress: rare enough not to show in the measurement.
_SHOW_EVERY = 0.5
LIBRARY = "a library made by 'tvm compile'"


def check_threads(threads: int) -> None:
    """Refuse what is no number of threads."""
    if not 1 <= threads <= 4096:
        raise UserError(f"--threads expects a number from 1 to 4096, got {threads}")


def check_magic(path: str, kinds: dict[str, bytes], expected: str) -> str:
    """Tell which of some kinds of files this is by its first bytes.

    Raises:
        UserError: It is none of them; the message shows the bytes.
    """
    with open(path, "rb") as file:
        head = file.read(8)
    for kind, magic in kinds.items():
        if head.startswith(magic):
            return kind
    raise UserError(f"{path}: expected {expected}, found a file that begins with {head!r}")


class Model:
    """A compiled model loaded from a library.

    Attributes:
        inputs: ``[{"name", "dtype", "shape"}]``; an open extent is ``None``.
        outputs: The same for the results.
    """

    def __init__(self, path: str) -> None:
        import tvm

        check_input(path, LIBRARY)
        if not path.endswith((".o", ".tar")):
            check_magic(path, {"an ELF file": b"\x7fELF"}, LIBRARY)
        self._load(tvm.runtime.load_module(path))

    @classmethod
    def of(cls, executable) -> Model:
        """Of an executable in this process."""
        model = cls.__new__(cls)
        model._load(executable)
        return model

    def _load(self, module) -> None:
        import tvm
        from tvm.runtime.vm import VirtualMachine

        self.tvm = tvm
        self.vm = VirtualMachine(module, tvm.cpu())
        self.main = self.vm["main"]
        try:
            text = self.vm["__tvm_signature_main"]()
        except (AttributeError, RuntimeError):
            raise UserError(
                f"expected {LIBRARY}, found one without a signature of `main`"
            ) from None
        signature = json.loads(str(text))
        self.inputs, self.outputs = signature["inputs"], signature["outputs"]

    def set_threads(self, threads: int | None) -> None:
        if threads is None:
            return
        check_threads(threads)
        self.tvm.get_global_func("runtime.config_threadpool")(1, threads)

    def tensors(self, feeds: dict[str, np.ndarray]) -> list:
        return [self.tvm.runtime.tensor(feeds[i["name"]]) for i in self.inputs]

    def call(self, tensors: list) -> dict[str, np.ndarray]:
        result = self.main(*tensors)
        values = [result] if hasattr(result, "numpy") else list(result)
        return {o["name"]: v.numpy() for o, v in zip(self.outputs, values)}


def describe(spec: dict) -> str:
    extents = ", ".join("?" if e is None else str(e) for e in spec["shape"])
    return f"{spec['name']}: {spec['dtype']}[{extents}]"


_ARRAYS = {".npy": b"\x93NUMPY", ".npz": b"PK"}


def read_file(path: str) -> np.ndarray | dict[str, np.ndarray]:
    """Read a ``.npy`` or ``.npz`` file, whatever its name.

    Raises:
        UserError: It is neither, is damaged, or has something besides plain arrays.
    """
    check_input(path, "a .npy or .npz file")
    kind = check_magic(path, _ARRAYS, "a .npy or .npz file")
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        with loaded:
            found = {name: loaded[name] for name in loaded.files}
    except Exception as err:
        raise UserError(f"{path}: a damaged {kind} file, or not of plain arrays: {err}") from None
    for name, value in found.items():
        if not isinstance(value, np.ndarray):
            raise UserError(f"{path}: the entry {name!r} is no array; expected .npy files in it")
    return found


def read_arrays(items: list[str]) -> dict[str | None, np.ndarray]:
    """Arrays by name from ``[NAME=]FILE`` options; an unnamed ``.npy`` has the name ``None``."""
    arrays: dict[str | None, np.ndarray] = {}
    for item in items:
        name, equals, path = item.partition("=")
        if not equals:
            name, path = None, item
        found = {name: a} if isinstance(a := read_file(path), np.ndarray) else a
        if twice := sorted(str(k) for k in found if k in arrays):
            raise UserError(f"{path}: the inputs {twice} are given twice")
        arrays.update(found)
    return arrays


def match_inputs(model: Model, arrays: dict[str | None, np.ndarray]) -> dict[str, np.ndarray]:
    """Check names, count, dtypes, ranks and extents.

    Raises:
        UserError: Something does not fit; the message lists what the model expects.
    """
    wanted = "; the model takes " + ", ".join(map(describe, model.inputs))
    if None in arrays:
        if len(model.inputs) != 1 or len(arrays) != 1:
            raise UserError(f"--input FILE.npy needs NAME= here{wanted}")
        arrays = {model.inputs[0]["name"]: arrays[None]}
    names = [i["name"] for i in model.inputs]
    unknown = [n for n in arrays if n not in names]
    missing = [n for n in names if n not in arrays]
    if unknown or missing:
        raise UserError(f"inputs unknown: {unknown}, missing: {missing}{wanted}")
    for spec in model.inputs:
        array = arrays[spec["name"]]
        found = f"{array.dtype}{list(array.shape)}"
        if str(array.dtype) != spec["dtype"]:
            raise UserError(f"input {describe(spec)}: expected dtype {spec['dtype']}, got {found}")
        if len(array.shape) != len(spec["shape"]):
            raise UserError(
                f"input {describe(spec)}: expected rank {len(spec['shape'])}, got {found}"
            )
        if any(e is not None and e != f for e, f in zip(spec["shape"], array.shape)):
            raise UserError(f"input {describe(spec)}: the extents differ, got {found}")
    return {n: np.ascontiguousarray(arrays[n]) for n in names}


def write_npz(path: str, arrays: dict[str, np.ndarray]) -> None:
    """Write arrays under any names to exactly ``path``."""
    with replacing(path) as partial, zipfile.ZipFile(partial, "w", allowZip64=True) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def run(args, out: Output) -> None:
    """Run ``args.library`` once on the files of ``args.input``."""
    if args.output is not None:
        check_output(args.output, args.library, *(i.partition("=")[2] or i for i in args.input))
    model = Model(args.library)
    model.set_threads(args.threads)
    feeds = match_inputs(model, read_arrays(args.input))
    results = model.call(model.tensors(feeds))
    if args.output:
        write_npz(args.output, results)
    rows = []
    for name, value in results.items():
        flat = value.reshape(-1)[:6]
        rows.append((name, value.dtype, list(value.shape), np.array2string(flat, precision=5)))
    data = {n: {"dtype": str(v.dtype), "shape": list(v.shape)} for n, v in results.items()}
    text = table(["output", "dtype", "shape", "first values"], rows)
    out.result({"outputs": data, "written": args.output}, text)


def numpy_dtype(name: str) -> np.dtype:
    """Numpy's type of a type's name; narrow floats come from ml_dtypes."""
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))


def random_inputs(model: Model) -> dict[str, np.ndarray]:
    """Inputs for a measurement: floats from a normal distribution, other types zero."""
    rng = np.random.default_rng(0)
    feeds = {}
    for spec in model.inputs:
        if any(e is None for e in spec["shape"]):
            raise UserError(f"input {describe(spec)} has an open extent; compile with --shape")
        dtype = numpy_dtype(spec["dtype"])
        if spec["dtype"].startswith(("float", "bfloat")):
            feeds[spec["name"]] = rng.standard_normal(spec["shape"]).astype(dtype)
        else:
            feeds[spec["name"]] = np.zeros(spec["shape"], dtype)
    return feeds


def bench(args, out: Output) -> None:
    """Measure ``args.library``."""
    if not 0 <= args.seconds < 1e6:
        raise UserError(f"--seconds expects a number of at least 0, got {args.seconds}")
    model = Model(args.library)
    model.set_threads(args.threads)
    tensors = model.tensors(random_inputs(model))
    times = []
    with out.progress(f"measuring {args.library}", args.seconds) as show:
        for _ in range(3):
            model.main(*tensors)
        begin = time.perf_counter()
        shown, spent = begin, 0.0
        while len(times) < 5 or spent < args.seconds:
            start = time.perf_counter()
            model.main(*tensors)
            end = time.perf_counter()
            times.append(end - start)
            spent = end - begin
            if end - shown > _SHOW_EVERY:
                show(spent, f"{len(times)} calls")
                shown = time.perf_counter()
    times.sort()
    stats = {
        "calls": len(times),
        "median": statistics.median(times),
        "min": times[0],
        "p90": times[int(0.9 * (len(times) - 1))],
    }
    text = table(
        ["calls", "median", "min", "p90"],
        [(stats["calls"], *(seconds(stats[k]) for k in ("median", "min", "p90")))],
    )
    if args.profile:
        rows = profile(model, tensors)
        stats["kernels"] = [{"name": n, "calls": c, "seconds": s} for n, c, s in rows]
        total = sum(s for _, _, s in rows) or 1.0
        shown = [(n, c, seconds(s), f"{s / total:.1%}") for n, c, s in rows]
        text += "\n\n" + table(["kernel", "calls", "time", "share"], shown)
    out.result(stats, text)


def profile(model: Model, tensors: list, repeat: int = 5) -> list[tuple[str, int, float]]:
    """Time per kernel of one call, ``[(name, calls, seconds)]``, largest first."""
    totals: dict[str, list[float]] = {}
    for _ in range(repeat):
        for name, calls, spent in model.vm.profile("main", *tensors):
            entry = totals.setdefault(name, [calls, 0.0])
            entry[1] += spent / repeat
    rows = [(name, int(calls), spent) for name, (calls, spent) in totals.items()]
    return sorted(rows, key=lambda row: -row[2])
