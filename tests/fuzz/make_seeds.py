# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Writes valid inputs for the fuzz targets: ``make_seeds.py FOLDER`` makes FOLDER/<target>/<seed>."""

import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import tvm
from tvm.relax.frontend.onnx import from_onnx


def small_model():
    """A graph with a constant, two inputs and two kernels."""
    weight = numpy_helper.from_array(np.ones((4, 3), np.float32), "w")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"]),
        helper.make_node("Softmax", ["m"], ["y"], axis=-1),
    ]
    graph = helper.make_graph(nodes, "g", [x], [y], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def main(folder: Path) -> None:
    """Compile the model once and save each of its parts where a target looks for it."""
    names = ("elf_reader_fuzz", "vm_executable_fuzz", "params_fuzz", "tune_record_fuzz")
    elf, executable, params, records = (folder / name for name in names)
    for target in (elf, executable, params, records):
        target.mkdir(parents=True, exist_ok=True)
    compiled = tvm.compile(from_onnx(small_model()), target="llvm")
    compiled.export_library(str(elf / "model.so"))
    compiled.mod.write_to_file(str(executable / "model.vmexec"))
    arrays = {
        "scalar": np.float32(1.5),
        "matrix": np.arange(6, dtype="float32").reshape(2, 3),
        "empty": np.zeros((0, 4), "int64"),
    }
    result = {"rule": "map", "knobs": {"parallel": 1}, "date": "2026-01-02T03:04:05Z"}
    for kind in ({"seconds": 1e-5, "untuned_seconds": 2e-5, "tried": 3}, {"error": "SIGSEGV"}):
        file, fields = str(records / next(iter(kind))), result | kind
        tvm.get_global_func("tune.Append")(file, "0" * 64, tvm.target.Target("llvm"), fields)
    named = {name: tvm.runtime.tensor(np.asarray(value)) for name, value in arrays.items()}
    (params / "three.params").write_bytes(bytes(tvm.runtime.save_param_dict(named)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
