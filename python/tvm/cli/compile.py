# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""``tvm compile``."""

from __future__ import annotations

import math
import mmap
import os
import time

from tvm.support.onnx_bytes import OnnxBytes

from .files import check_input, check_output
from .output import Output, UserError, seconds

MODEL = "an ONNX model"
# Extents are 64-bit numbers.
_MAX_EXTENT = 2**63 - 1


def parse_shapes(items: list[str]) -> dict[str, list[int]]:
    """Read ``NAME=D0,D1,..`` options.

    Raises:
        UserError: An item is not of that form, an extent is no non-negative integer of 64 bits, or
            an input is named twice.
    """
    shapes = {}
    for item in items:
        name, equals, extents = item.rpartition("=")
        try:
            shape = [int(e) for e in extents.split(",")] if extents else []
        except ValueError:
            shape = [-1]
        if not equals or not name or any(not 0 <= e <= _MAX_EXTENT for e in shape):
            raise UserError(f"--shape expects NAME=D0,D1,.. with integers, got {item!r}")
        if name in shapes:
            raise UserError(f"--shape gives {name!r} twice")
        shapes[name] = shape
    return shapes


def count_nodes(path: str) -> int:
    """Nodes of a model file, those of subgraphs included.

    Raises:
        ValueError: The file is no ONNX model.
    """
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        with memoryview(data) as view:
            return OnnxBytes(view).count_nodes()


def load_model(path: str, shapes: dict[str, list[int]] | None = None):
    """Map a model file.

    Args:
        path: The file.
        shapes: Extents by input name; the names must be the model's.

    Returns:
        What ``from_onnx`` takes; its ``proto`` is the model without its weights.

    Raises:
        UserError: The file is missing, empty, or no ONNX model, or a name is unknown.
    """
    check_input(path, MODEL)
    from tvm.relax.frontend.onnx.mapped import MappedModel

    try:
        model = MappedModel(path)
    except UnicodeEncodeError:  # a ValueError too, but of the path
        raise
    except ValueError as err:
        raise UserError(str(err)) from None
    graph = model.proto.graph
    if not graph.node and not graph.output:
        size = os.path.getsize(path)
        raise UserError(f"{path}: not an ONNX model ({size} bytes): it has no graph")
    known = {i.name for i in graph.input}
    for name in shapes or {}:
        if name not in known:
            raise UserError(f"--shape names {name!r}; the model's inputs are {sorted(known)}")
    return model


def check_tuning(args) -> None:
    """Refuse tuning options that cannot be followed, before any work is done.

    Raises:
        UserError: The seconds are no positive number, or the file cannot be written.
    """
    if args.tune is not None and not 0 < args.tune < math.inf:
        raise UserError(f"--tune expects a positive number of seconds, got {args.tune}")
    if args.tune_db is None or args.tune_db == "off":
        return
    if args.tune is not None:
        check_output(args.tune_db, args.model, args.output)
    else:
        check_input(args.tune_db, "a file written by --tune", may_be_empty=True)


def tuning_data(report) -> dict:
    """What a tuning session did, for programs; times in seconds of one run of the model."""
    return {
        "database": report.database,
        "seconds": report.elapsed,
        "interrupted": report.interrupted,
        "untuned": report.untuned_seconds,
        "tuned": report.tuned_seconds,
        "kernels": [
            {
                "kernel": k.name,
                "calls": k.calls,
                "untuned": k.untuned,
                "tuned": k.seconds,
                "rule": k.rule,
                "knobs": k.knobs,
                "tried": k.tried,
                "failed": k.failed,
            }
            for k in report.kernels
        ],
    }


def run(args, out: Output) -> None:
    """Compile ``args.model`` to ``args.output``."""
    shapes = parse_shapes(args.shape)
    if args.target == "":
        raise UserError("--target expects a kind, a tag or JSON, got nothing")
    check_output(args.output, args.model)
    check_tuning(args)
    start = time.perf_counter()
    check_input(args.model, MODEL)
    from tvm.driver.onnx import compile_onnx
    from tvm.tune import tuning

    with (
        out.progress(f"compiling {args.model}", args.tune) as progress,
        tuning(args.tune, args.tune_db, progress=progress) as report,
    ):
        executable = compile_onnx(
            args.model,
            args.target,
            shape_dict=shapes,
            exec_mode=args.exec_mode,
            precision=args.precision,
            check=lambda: load_model(args.model, shapes),
        )
    tuned = {} if report is None else {"tuning": tuning_data(report)}
    if report is not None:
        out.note(report.summary())
    with out.progress(f"writing {args.output}"):
        executable.export_library(args.output)
    took = time.perf_counter() - start
    size = os.path.getsize(args.output)
    nodes = count_nodes(args.model)
    out.result(
        {"library": args.output, "nodes": nodes, "seconds": took, "bytes": size, **tuned},
        f"{args.output}: {nodes} nodes, {size / 1e6:.1f} MB, {seconds(took)}",
    )
