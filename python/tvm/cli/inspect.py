# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""``tvm inspect``: read a file without running anything of it."""

from __future__ import annotations

import json
import os

from .compile import MODEL, count_nodes
from .execute import describe
from .files import check_input
from .output import Output, UserError, table


def run(args, out: Output) -> None:
    """Describe ``args.file``: an ONNX model, or an ELF library or object."""
    check_input(args.file, "a model, a library or an object file")
    with open(args.file, "rb") as f:
        magic = f.read(4)
    if magic == b"\x7fELF":
        data = inspect_elf(args.file)
    else:
        data = inspect_onnx(args.file)
    out.result(data, render(data))


def inspect_elf(path: str) -> dict:
    """What the ELF reader says of a library or object file.

    Functions of the virtual machine have ``inputs`` and ``outputs``, each a list of ``name``,
    ``dtype`` and ``shape`` (an open extent is None), where the compiler recorded them.
    """
    import tvm

    def plain(value):
        if hasattr(value, "items"):
            return {str(k): plain(v) for k, v in value.items()}
        if isinstance(value, (str, bytes)):
            return str(value)
        if hasattr(value, "__iter__"):
            return [plain(v) for v in value]
        return value

    data = plain(tvm.get_global_func("runtime.InspectLibrary")(path))
    del data["path"]
    for function in data.get("vm_functions", []):
        function |= json.loads(function.pop("signature", "{}"))
    return {"file": path, **data}


def read_outline(path: str):
    """Model without its large weights, and their bytes; needs no native code.

    Raises:
        UserError: The file is no ONNX model.
    """
    import mmap

    import onnx

    from tvm.support.onnx_bytes import OnnxBytes

    check_input(path, MODEL)
    size = os.path.getsize(path)
    model, problem = None, ""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        with memoryview(data) as view:
            # An error in flight would keep parts of the view alive, which then could not be closed.
            try:
                outline, places = OnnxBytes(view).without_weights(4096)
                model = onnx.ModelProto.FromString(outline)
            except Exception as err:
                problem = str(err)
    if model is None:
        raise UserError(f"{path}: not an ONNX model ({size} bytes): {problem}")
    if not model.graph.node and not model.graph.output:
        raise UserError(f"{path}: not an ONNX model ({size} bytes): it has no graph")
    return model, sum(nbytes for _, nbytes in places.values())


def inspect_onnx(path: str) -> dict:
    """Inputs, outputs, weights, nodes and operator counts of an ONNX model."""
    from collections import Counter

    import onnx

    model, large = read_outline(path)
    weights = {t.name: t for t in model.graph.initializer}

    def spec(value) -> dict:
        tensor = value.type.tensor_type
        extents = [
            d.dim_value if d.HasField("dim_value") else d.dim_param for d in tensor.shape.dim
        ]
        dtype = onnx.TensorProto.DataType.Name(tensor.elem_type).lower()
        return {"name": value.name, "dtype": dtype, "shape": extents}

    operators = Counter((n.domain + "." if n.domain else "") + n.op_type for n in model.graph.node)
    return {
        "file": path,
        "format": "onnx",
        "ir_version": model.ir_version,
        "opset": {o.domain or "ai.onnx": o.version for o in model.opset_import},
        "producer": model.producer_name,
        "inputs": [spec(i) for i in model.graph.input if i.name not in weights],
        "outputs": [spec(o) for o in model.graph.output],
        "weights": {
            "count": len(weights),
            "bytes": sum(w.ByteSize() for w in weights.values()) + large,
        },
        "nodes": count_nodes(path),
        "operators": dict(operators.most_common()),
    }


def cell(value) -> str:
    """One value of a table; tensors as ``name: dtype[extents]``."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return ", ".join(describe(tensor) for tensor in value)
    return str(value)


def render(data: dict) -> str:
    """The same as text: scalars first, then a table for each list or mapping."""
    lines, blocks = [], []
    for key, value in data.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            head = list(dict.fromkeys(h for row in value for h in row))
            rows = [[cell(row.get(h, "")) for h in head] for row in value]
            blocks.append(f"{key}\n" + table(head, rows))
        elif isinstance(value, dict) and value:
            blocks.append(f"{key}\n" + table(["name", "value"], list(value.items())))
        elif isinstance(value, list) and value:
            blocks.append(f"{key} ({len(value)})\n" + "\n".join(f"  {v}" for v in value))
        else:
            lines.append(f"{key}: {value if value not in ([], {}) else '-'}")
    return "\n\n".join(["\n".join(lines), *blocks])
