# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Every benchmark model, compiled to a library, loaded back and compared with onnxruntime."""

import models
import numpy as np
import onnx
import pytest

import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

ALL = [name for names in models.NAMES.values() for name in names]


def reference(path, feeds):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    wanted = {i.name for i in session.get_inputs()}
    return session.run(None, {k: v for k, v in feeds.items() if k in wanted})


@pytest.mark.parametrize("mode", ["bytecode", "compiled"])
@pytest.mark.parametrize("name", ALL)
def test_model_agrees_with_onnxruntime(name, mode, model_folder, tmp_path):
    path = model_folder / f"{name}.onnx"
    with np.load(model_folder / f"{name}.npz") as z:
        feeds = {k: z[k] for k in z.files}
    model = onnx.load(str(path))
    weights = {t.name for t in model.graph.initializer}
    inputs = [i.name for i in model.graph.input if i.name not in weights]
    module = from_onnx(
        model,
        shape_dict={n: list(feeds[n].shape) for n in inputs},
        dtype_dict={n: str(feeds[n].dtype) for n in inputs},
    )
    del model
    library = str(tmp_path / f"{name}.so")
    tvm.compile(module, "llvm", exec_mode=mode).export_library(library)
    vm = relax.VirtualMachine(tvm.runtime.load_module(library), tvm.cpu())
    result = vm["main"](*[tvm.runtime.tensor(feeds[n]) for n in inputs])
    result = [result] if hasattr(result, "numpy") else list(result)
    expected = reference(path, feeds)
    assert len(result) == len(expected)
    for got, want in zip(result, expected):
        got = got.numpy()
        assert got.shape == want.shape and got.dtype == want.dtype
        if np.issubdtype(want.dtype, np.floating):
            assert np.abs(got - want).max() <= models.tolerance(name) * np.abs(want).max()
        else:
            np.testing.assert_array_equal(got, want)
