# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""``tvm compile``."""

from __future__ import annotations

import os
import time

from .main import UserError
from .output import Output, seconds


def parse_shapes(items: list[str]) -> dict[str, list[int]]:
    """Read ``NAME=D0,D1,..`` options.

    Raises:
        UserError: An item is not of that form, or an extent is no non-negative integer.
    """
    shapes = {}
    for item in items:
        name, equals, extents = item.rpartition("=")
        try:
            shape = [int(e) for e in extents.split(",")] if extents else []
        except ValueError:
            shape = [-1]
        if not equals or not name or any(e < 0 for e in shape):
            raise UserError(f"--shape expects NAME=D0,D1,.. with integers, got {item!r}")
        shapes[name] = shape
    return shapes


def load_onnx(path: str):
    """Read a model file.

    Raises:
        UserError: The file is missing, empty, or no ONNX model.
    """
    import onnx

    if not os.path.isfile(path):
        raise UserError(f"{path}: no such file; expected an ONNX model")
    size = os.path.getsize(path)
    if size == 0:
        raise UserError(f"{path}: the file is empty; expected an ONNX model")
    try:
        model = onnx.load(path)
    except Exception as err:
        raise UserError(f"{path}: not an ONNX model ({size} bytes): {err}") from None
    if not model.graph.node and not model.graph.output:
        raise UserError(f"{path}: not an ONNX model ({size} bytes): it has no graph")
    return model


def run(args, out: Output) -> None:
    """Compile ``args.model`` to ``args.output``."""
    shapes = parse_shapes(args.shape)
    start = time.perf_counter()
    with out.step(f"reading {args.model}"):
        model = load_onnx(args.model)
        nodes = len(model.graph.node)
    import tvm
    from tvm.relax.frontend.onnx import from_onnx

    with out.step("importing"):
        known = {i.name for i in model.graph.input}
        for name in shapes:
            if name not in known:
                raise UserError(f"--shape names {name!r}; the model's inputs are {sorted(known)}")
        target = tvm.target.Target(args.target or {"kind": "llvm", "mcpu": "native"})
        module = from_onnx(model, shape_dict=shapes or None)
        del model
    with out.step("compiling"):
        executable = tvm.compile(module, target)
    with out.step(f"writing {args.output}"):
        executable.export_library(args.output)
    took = time.perf_counter() - start
    size = os.path.getsize(args.output)
    out.result(
        {"library": args.output, "nodes": nodes, "seconds": took, "bytes": size},
        f"{args.output}: {nodes} nodes, {size / 1e6:.1f} MB, {seconds(took)}",
    )
