# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Models imported from their file: the same program as from a parsed model, weights in place."""

import os

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

import tvm
from tvm.relax.frontend.onnx import from_onnx
from tvm.relax.frontend.onnx.mapped import MappedModel
from tvm.runtime.vm import VirtualMachine
from tvm.support.onnx_bytes import OnnxBytes

TARGET = {"kind": "llvm", "mcpu": "native"}


def network(pad=0):
    """A convolution, a bias, a product; `pad` moves the weights in the file."""
    rng = np.random.default_rng(1)
    weights = {
        "k": rng.standard_normal((32, 16, 3, 3), dtype=np.float32) / 12,
        "b": rng.standard_normal((1, 32, 1, 1), dtype=np.float32),
        "w": rng.standard_normal((1536, 40), dtype=np.float32) / 40,
        "table": np.arange(4000, dtype=np.int64) % 1536,
    }
    nodes = [
        helper.make_node("Conv", ["x", "k"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("Add", ["c", "b"], ["a"]),
        helper.make_node("Relu", ["a"], ["r"]),
        helper.make_node("Flatten", ["r"], ["f"]),
        helper.make_node("MatMul", ["f", "w"], ["m"]),
        helper.make_node("Gather", ["f", "table"], ["g"], axis=1),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 16, 12, 16])]
    outputs = [
        helper.make_tensor_value_info("m", TensorProto.FLOAT, [1, 40]),
        helper.make_tensor_value_info("g", TensorProto.FLOAT, [1, 4000]),
    ]
    graph = helper.make_graph(
        nodes, "g", inputs, outputs, [numpy_helper.from_array(v, k) for k, v in weights.items()]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    model.producer_name = "p" * pad
    return model


def run(module):
    x = np.random.default_rng(2).standard_normal((1, 16, 12, 16), dtype=np.float32)
    vm = VirtualMachine(tvm.compile(module, TARGET), tvm.cpu())
    return [v.numpy() for v in vm["main"](tvm.runtime.tensor(x))]


@pytest.mark.parametrize("pad", range(5))
def test_same_results_at_any_offset(tmp_path, pad):
    path = str(tmp_path / "m.onnx")
    onnx.save(network(pad), path)
    for got, wanted in zip(run(from_onnx(path)), run(from_onnx(network(pad))), strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_large_weights_stay_in_the_file(tmp_path):
    path = str(tmp_path / "m.onnx")
    onnx.save(network(), path)
    model = MappedModel(path)
    graph = model.proto.graph
    sizes = {t.name: len(t.raw_data) for t in graph.initializer}
    assert sizes == {"k": 0, "b": 128, "w": 0, "table": 0}
    parsed = network().graph.initializer
    for i, tensor in enumerate(parsed):
        array = model.initializer(i)
        if sizes[tensor.name]:
            assert array is None
            continue
        np.testing.assert_array_equal(array, numpy_helper.to_array(tensor))
        view = model.tensor(array.reshape(-1))
        np.testing.assert_array_equal(view.numpy(), array.reshape(-1))
        assert model.tensor(array.T if array.ndim == 2 else array[::2]) is None
    assert model.tensor(np.zeros(5000, np.float32)) is None


def test_weights_in_files_of_their_own(tmp_path):
    path = str(tmp_path / "m.onnx")
    onnx.save(network(), path, save_as_external_data=True, location="w.bin", size_threshold=100)
    with open(path, "rb") as file:
        assert OnnxBytes(memoryview(file.read())).has_external_data()
    for got, wanted in zip(run(from_onnx(path)), run(from_onnx(network())), strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_size_that_does_not_fit_the_shape(tmp_path):
    model = network()
    model.graph.initializer[2].dims[0] = 1535
    path = str(tmp_path / "m.onnx")
    onnx.save(model, path)
    with pytest.raises(ValueError, match=r"'w' of shape \[1535, 40\] is damaged: float32 takes"):
        from_onnx(path)


def test_released_pages_are_read_again(tmp_path):
    data = np.arange(1 << 16, dtype=np.float32)
    path = tmp_path / "f.bin"
    path.write_bytes(b"abc" + data.tobytes())
    get = tvm.get_global_func
    file = get("relax.frontend.MapFile")(str(path))
    view = get("relax.frontend.MapView")(file, 3, "float32", [1 << 16])
    for _ in range(2):
        np.testing.assert_array_equal(view.numpy(), data)
        get("relax.frontend.ReleasePages")(view)
    own = tvm.runtime.tensor(data)
    get("relax.frontend.ReleasePages")(own)  # not of a file: nothing is lost
    np.testing.assert_array_equal(own.numpy(), data)
    for offset, shape in ((4, [1 << 16]), (-1, [1]), (0, [1 << 62, 8]), (0, [-1])):
        with pytest.raises(ValueError, match="lies outside of it"):
            get("relax.frontend.MapView")(file, offset, "float32", shape)
    with pytest.raises(RuntimeError, match="cannot map"):
        get("relax.frontend.MapFile")(str(tmp_path / "absent"))


BYTES = network().SerializeToString()


@settings(max_examples=150 * int(os.environ.get("TVM_TEST_LONG", "1")), deadline=None)
@given(st.integers(0, len(BYTES) - 1), st.integers(1, 255), st.integers(0, len(BYTES)))
def test_damaged_bytes_are_errors(at, flip, end):
    # Whatever the bytes are: an outline with every place inside the file, or ValueError.
    data = bytearray(BYTES)
    data[at] ^= flip
    for piece in (data, data[:end]):
        try:
            outline, places = OnnxBytes(memoryview(piece)).without_weights(4096)
        except ValueError:
            continue
        assert len(outline) <= len(piece) + 64
        assert all(0 <= a and a + n <= len(piece) for a, n in places.values())


def test_outline_keeps_everything_else():
    outline, places = OnnxBytes(memoryview(BYTES)).without_weights(4096)
    model = onnx.ModelProto.FromString(outline)
    for index, (at, size) in places.items():
        model.graph.initializer[index].raw_data = BYTES[at : at + size]
    assert model == network()
