# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""A model file whose weights stay where they are.

Parsing a model copies every weight at least once. Here the file is mapped, the bytes of large
initializers are cut out before it is parsed, and each of them becomes a view of the file.
"""

from __future__ import annotations

import os

import numpy as np

import tvm_ffi
from tvm.support.onnx_bytes import OnnxBytes

# Smaller ones are parsed as usual: shapes, scales, biases.
_MIN_BYTES = 4096


class MappedModel:
    """An ONNX file, mapped.

    The file must not be shortened while it, or anything imported from it, is in use.

    Args:
        path: The file.

    Attributes:
        proto: ``onnx.ModelProto`` without the bytes of large initializers.

    Raises:
        ValueError: The file is no ONNX model.
        OSError: There is no such file.
    """

    def __init__(self, path: str | os.PathLike) -> None:
        import onnx

        self.path = os.fspath(path)
        os.stat(self.path)  # a missing file is the usual error
        self._file = tvm_ffi.get_global_func("relax.frontend.MapFile")(self.path)
        self._view = tvm_ffi.get_global_func("relax.frontend.MapView")
        self.bytes = np.from_dlpack(self._file)
        self.bytes.flags.writeable = False
        size = self.bytes.size
        try:
            outline, self._places = OnnxBytes(memoryview(self.bytes)).without_weights(_MIN_BYTES)
            self.proto = onnx.ModelProto()
            self.proto.ParseFromString(outline)
        except Exception as err:
            raise ValueError(f"{self.path}: not an ONNX model ({size} bytes): {err}") from None
        external = onnx.TensorProto.EXTERNAL
        if any(t.data_location == external for t in self.proto.graph.initializer):
            # Weights in files of their own: onnx checks where they are and reads them.
            try:
                self.proto, self._places = onnx.load(self.path), {}
            except Exception as err:
                raise ValueError(f"{self.path}: its external data is refused: {err}") from None

    def initializer(self, index: int) -> np.ndarray | None:
        """Initializer by position as an array over the file; None for one that is in the proto.

        Raises:
            ValueError: Its size does not fit its shape.
        """
        if index not in self._places:
            return None
        import onnx

        offset, nbytes = self._places[index]
        tensor = self.proto.graph.initializer[index]
        try:
            dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type))
        except KeyError:
            dtype = np.dtype(object)
        shape = tuple(tensor.dims)
        packed = str(dtype) in ("int4", "uint4")
        if dtype.hasobject or str(dtype) == "float4_e2m1fn":
            raise ValueError(f"tensor {tensor.name!r} has the element type {tensor.data_type}")
        count = int(np.prod(shape, dtype=object)) if shape else 1
        expected = (count + 1) // 2 if packed else count * dtype.itemsize
        if any(e < 0 for e in shape) or expected != nbytes:
            raise ValueError(
                f"tensor {tensor.name!r} of shape {list(shape)} is damaged: {dtype} takes "
                f"{expected} bytes, the file has {nbytes}"
            )
        data = self.bytes[offset : offset + nbytes]
        if packed:  # two to a byte, the lower half first
            halves = np.stack([data & 15, data >> 4], axis=-1).reshape(-1)[:count]
            if str(dtype) == "int4":
                halves = ((halves ^ 8).astype(np.int8) - 8).astype(np.int8)
            return halves.astype(dtype).reshape(shape)
        return data.view(dtype).reshape(shape)

    def tensor(self, array: np.ndarray):
        """A tensor over the same bytes of the file; None when `array` is not a plain part of it."""
        begin = self.bytes.ctypes.data
        at = array.ctypes.data - begin
        inside = 0 <= at and at + array.nbytes <= self.bytes.size
        if not inside or not array.flags.c_contiguous or array.nbytes < _MIN_BYTES:
            return None
        return self._view(self._file, at, str(array.dtype), tvm_ffi.Shape(array.shape))
