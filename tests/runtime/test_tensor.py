# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Tensors: values, views, copies, odd element types."""

import os

import ml_dtypes
import numpy as np
import pytest

import tvm

_DTYPES = ["int8", "uint8", "int16", "int32", "int64", "uint64", "float16", "float32", "float64",
           "bool"]  # fmt: skip


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("shape", [(), (1,), (3, 4), (0, 2), (2, 1, 3)])
def test_round_trip(dtype, shape):
    array = np.random.default_rng(0).integers(0, 2, size=shape).astype(dtype)
    tensor = tvm.runtime.tensor(array)
    assert tuple(tensor.shape) == shape and str(tensor.dtype) == dtype
    assert isinstance(tensor, tvm.runtime.Tensor)
    np.testing.assert_array_equal(tensor.numpy(), array)


def test_numpy_is_a_copy():
    tensor = tvm.runtime.tensor(np.zeros(3))
    tensor.numpy()[0] = 1
    assert tensor.numpy()[0] == 0


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_narrow_floats(dtype):
    array = np.array([0.5, -1.0, 2.0]).astype(getattr(ml_dtypes, dtype))
    tensor = tvm.runtime.tensor(array)
    assert str(tensor.dtype) == dtype
    np.testing.assert_array_equal(tensor.numpy().astype("float32"), array.astype("float32"))


def test_four_bit_integers_are_packed():
    tensor = tvm.runtime.empty((2, 3), "int4")
    values = np.array([[-8, 7, 0], [1, -1, 3]], "int8")
    tensor.copyfrom(values)
    np.testing.assert_array_equal(tensor.numpy(), values)
    unsigned = tvm.runtime.empty((3,), "uint4").copyfrom(np.array([15, 0, 9], "uint8"))
    np.testing.assert_array_equal(unsigned.numpy(), [15, 0, 9])


def test_copies():
    source = tvm.runtime.tensor(np.arange(6, dtype="float32").reshape(2, 3))
    target = tvm.runtime.empty((2, 3))
    assert source.copyto(target).same_as(target)
    np.testing.assert_array_equal(target.numpy(), source.numpy())
    clone = source.copyto(tvm.cpu())
    assert clone.data_ptr() != source.data_ptr()
    target[:] = np.full((2, 3), 7)
    assert target.numpy().sum() == 42
    target[:] = 1
    assert target.numpy().sum() == 6
    target[:] = source
    np.testing.assert_array_equal(target.numpy(), source.numpy())
    with pytest.raises(ValueError, match="do not match the shape"):
        target.copyfrom(np.zeros((3, 2)))
    with pytest.raises(TypeError, match="array_like"):
        target.copyfrom({"a": 1})
    with pytest.raises(ValueError):
        target[0] = 1


def test_views():
    tensor = tvm.runtime.tensor(np.arange(8, dtype="int32"))
    view = tensor._create_view((2, 4))
    np.testing.assert_array_equal(view.numpy(), np.arange(8).reshape(2, 4))
    part = tensor._create_view((2,), relative_byte_offset=8)
    np.testing.assert_array_equal(part.numpy(), [2, 3])
    bytes_view = tensor._create_view((32,), "uint8")
    assert bytes_view.numpy()[4] == 1
    with pytest.raises(ValueError):
        tensor._create_view((9,))


def test_strided_source():
    array = np.arange(24, dtype="float32").reshape(4, 6)
    np.testing.assert_array_equal(tvm.runtime.tensor(array[::2, ::3]).numpy(), array[::2, ::3])


def test_dlpack_both_ways():
    tensor = tvm.runtime.tensor(np.arange(4, dtype="float32"))
    shared = np.from_dlpack(tensor)
    shared[0] = 5
    assert tensor.numpy()[0] == 5
    again = tvm.runtime.from_dlpack(tensor)
    assert again.data_ptr() == tensor.data_ptr()


def test_parameter_files(tmp_path):
    params = {"x": np.arange(3, dtype="int64"), "a.b": np.ones((2, 2), "float32")}
    blob = tvm.runtime.save_param_dict(params)
    assert blob[:8] == (0xF7E58D4F05049CB7).to_bytes(8, "little")
    back = tvm.runtime.load_param_dict(blob)
    assert sorted(back) == ["a.b", "x"]
    np.testing.assert_array_equal(back["x"].numpy(), params["x"])
    path = tmp_path / "p.bin"
    tvm.runtime.save_param_dict_to_file(params, path)
    np.testing.assert_array_equal(
        tvm.runtime.load_param_dict_from_file(path)["a.b"].numpy(), params["a.b"]
    )
    for cut in (0, 7, len(blob) // 2, len(blob) - 1):
        with pytest.raises(RuntimeError):
            tvm.runtime.load_param_dict(blob[:cut])


def test_files_of_parameters_that_cannot_be(tmp_path):
    params = {"a": np.ones(3, "float32")}
    save, load = tvm.runtime.save_param_dict_to_file, tvm.runtime.load_param_dict_from_file
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (tmp_path, pipe, tmp_path / "absent" / "x", str(tmp_path / "a") + "\0b"):
        with pytest.raises(ValueError, match="cannot|zero byte"):
            save(params, path)
    assert pipe.is_fifo() and os.listdir(tmp_path) == ["pipe"]
    for path in (tmp_path, tmp_path / "absent", str(tmp_path / "pipe") + "\0b"):
        with pytest.raises(ValueError, match="cannot|zero byte"):
            load(path)
