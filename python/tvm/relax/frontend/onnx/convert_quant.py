# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Quantised operators: integers with a scale and a zero point.

Operators on quantised tensors are written as what they mean, ``quantize(f(dequantize(x), ..))``, or
as integer arithmetic on ``x - zero_point``. The compiler makes arithmetic on 8 bits of both.
"""

from __future__ import annotations

import numpy as np

from .convert_math import ops
from .node import Node, _not_implemented, find_converter, onnx_op

MICROSOFT = "com.microsoft"
_WIDER = {"int4": "int8", "uint4": "uint8"}


def _number(value):
    """A constant of 4 bits as one of 8, which holds the same numbers."""
    if isinstance(value, np.ndarray) and str(value.dtype) in _WIDER:
        return value.astype(_WIDER[str(value.dtype)])
    return value


def _zero_point(node: Node, index: int | None, dtype: str):
    """The zero point at an input, or 0."""
    if index is not None and node.has(index):
        return node.graph.as_expr(_number(node.value(index)))
    return node.graph.as_expr(np.zeros((), dtype))


def _dequantized(
    node: Node, index: int, scale: int, zero: int | None, axis: int = -1, block: int = 0
):
    """Input `index` in floats by the scale and the zero point at other inputs."""
    x = _number(node.value(index))
    dtype = str(x.dtype) if isinstance(x, np.ndarray) else node.dtype(index)
    zero_point = _zero_point(node, zero, dtype)
    x = node.graph.as_expr(x)
    operands = x, node.expr(scale), zero_point
    return node.emit(ops().dequantize(*operands, node.dtype(scale), axis, block))


def _quantized(node: Node, y, scale: int, zero: int | None, dtype: str):
    """`y` with the scale and the zero point at inputs; a missing one is 0 of `dtype`."""
    if zero is not None and node.has(zero):
        dtype = node.dtype(zero)
    _per_tensor(node, scale)
    return ops().quantize(y, node.expr(scale), _zero_point(node, zero, dtype), dtype)


def _per_tensor(node: Node, *indices: int) -> None:
    for index in indices:
        if node.has(index) and node.shape(index) not in ([], [1]):
            node.fail(f"input {index} must hold one number, found the shape {node.shape(index)}")


def _standard(node: Node, op: str, inputs: list, version: int | None = None):
    """Result of a standard operator with the node's attributes on other inputs."""
    version = version or node.graph.versions.get("", 17)
    inner = Node(node.proto, inputs, version, node.graph)
    inner.op, inner.domain, inner._used = op, "", node._used
    return node.emit(find_converter("", op, version)(inner))


# ---- quantize, dequantize ----
@onnx_op("QuantizeLinear", since=10)
@onnx_op("QuantizeLinear", domain=MICROSOFT)
def quantize(node: Node):
    node.ignore("saturate", "precision")
    block = _block_size(node)
    dtype = _output_dtype(node)
    if dtype not in ("int8", "uint8", "int16", "uint16"):
        node.fail(f"quantizing to {dtype} is not supported", _not_implemented())
    zero, axis = _zero_point(node, 2, dtype), _axis(node, 1)
    return ops().quantize(node.expr(0), node.expr(1), zero, dtype, axis, block)


def _block_size(node: Node) -> int:
    """Elements along the axis that share a scale; 0 when all do."""
    block = node.attr("block_size", 0)
    if block < 0:
        node.fail(f"block_size must be at least 0, found {block}")
    return block


def _output_dtype(node: Node) -> str:
    import onnx

    number = node.attr("output_dtype", 0)
    if node.has(2):
        return node.dtype(2)
    if not number:
        return "uint8"
    if number not in onnx.TensorProto.DataType.values():
        node.fail(f"output_dtype={number} is no element type")
    return str(np.dtype(onnx.helper.tensor_dtype_to_np_dtype(number)))


def _axis(node: Node, scale: int) -> int:
    """The axis of the channels; where there are none, what the attribute says does not matter."""
    axis = node.attr("axis", 1)
    if node.shape(scale) in ([], [1]):
        return 0
    return node.axis(axis, node.ndim(0))


@onnx_op("DequantizeLinear", since=10)
@onnx_op("DequantizeLinear", domain=MICROSOFT)
def dequantize(node: Node):
    node.ignore("output_dtype")
    block = _block_size(node)
    dtype = node.dtype(0)
    if not dtype.startswith(("int", "uint")):
        node.fail(f"dequantizing {dtype} is not supported", _not_implemented())
    if dtype in _WIDER:
        node.const(0)  # kernels read no elements of 4 bits
    return _dequantized(node, 0, 1, 2, _axis(node, 1), block)


# ---- weights of a few bits ----
@onnx_op("MatMulNBits", domain=MICROSOFT)
def matmul_nbits(node: Node):
    """A times a weight [K, N] that is stored by columns, each in blocks along K."""
    node.ignore("accuracy_level")  # what may be rounded; nothing is
    node.expect("bits", (4, 8), 4)
    if node.has(4):
        node.fail("g_idx, an order of the rows, is not supported", _not_implemented())
    bits, k, n = node.attr("bits", 4), node.positive("K"), node.positive("N")
    block = node.positive("block_size")
    if block * bits % 8:
        node.fail(f"a block of {block} elements of {bits} bits is no whole number of bytes")
    blocks = -(-k // block)
    q = _unpacked(node, 1, n, blocks * block, bits)[:, :k].T
    scale = _by_columns(node, 2, n, blocks)
    y = ops().matmul(
        node.expr(0), _weight(node, q, scale, _block_zeros(node, n, blocks, bits), block)
    )
    return ops().add(node.emit(y), node.expr(5)) if node.has(5) else y


def _weight(node: Node, q: np.ndarray, scale: np.ndarray, zero: np.ndarray, block: int):
    """(q - zero) * scale, kept as it is where zero points are integers."""
    as_expr, dtype = node.graph.as_expr, str(scale.dtype)
    whole = zero.astype(np.uint8)
    if (whole == zero).all():
        operands = [as_expr(np.array(v, order="C")) for v in (q, scale, whole)]
        return node.emit(ops().dequantize(*operands, dtype, 0, block))
    scale, zero = (np.repeat(v, block, 0)[: q.shape[0]].astype(np.float32) for v in (scale, zero))
    return as_expr(((q - zero) * scale).astype(dtype))


def _unpacked(node: Node, index: int, rows: int, count: int, bits: int) -> np.ndarray:
    """The first `count` numbers of each row of bytes, lower halves first where they have 4 bits."""
    data = node.const(index)
    width = -(-count * bits // 8)
    if data.dtype != np.uint8 or data.size != rows * width:
        node.fail(
            f"input {index} must hold {rows} x {width} bytes, found {data.dtype}{list(data.shape)}"
        )
    data = data.reshape(rows, width)
    if bits == 4:
        data = np.stack([data & 15, data >> 4], -1).reshape(rows, 2 * width)
    return data[:, :count]


def _by_columns(node: Node, index: int, n: int, blocks: int) -> np.ndarray:
    """One float for each block of each of n columns, as [blocks, n]."""
    value = node.const(index)
    if value.size != n * blocks or np.issubdtype(value.dtype, np.integer):
        node.fail(f"input {index} must hold {n} x {blocks} floats, found {list(value.shape)}")
    return value.reshape(n, blocks).T


def _block_zeros(node: Node, n: int, blocks: int, bits: int) -> np.ndarray:
    """Zero points as [blocks, n], or one for all."""
    if not node.has(3):
        return np.array(1 << (bits - 1), np.uint8)
    if node.const(3).dtype == np.uint8:
        return _unpacked(node, 3, n, blocks, bits).T
    return _by_columns(node, 3, n, blocks)


@onnx_op("DynamicQuantizeLinear", since=11)
def dynamic_quantize(node: Node):
    return _dynamically_quantized(node, node.expr(0))


def _dynamically_quantized(node: Node, x) -> list:
    """uint8 of the range of `x`, widened to hold 0; its scale and its zero point."""
    emit, zero, full = node.emit, _float(node, 0), _float(node, 255)
    high = emit(ops().maximum(emit(ops().max(x)), zero))
    low = emit(ops().minimum(emit(ops().min(x)), zero))
    step = emit(ops().divide(emit(ops().subtract(high, low)), full))
    scale = emit(ops().where(emit(ops().equal(high, low)), _float(node, 1), step))
    point = emit(ops().subtract(zero, emit(ops().divide(low, scale))))
    point = emit(ops().minimum(emit(ops().maximum(point, zero)), full))
    point = emit(ops().astype(emit(ops().round(point)), "uint8"))
    return [emit(ops().quantize(x, scale, point, "uint8")), scale, point]


def _float(node: Node, value: float):
    return node.graph.as_expr(np.array(value, np.float32))


# ---- integer products ----
def _shifted(node: Node, index: int, zero: int, shape: list[int] | None = None):
    """Input `index` as int32 less the zero point at another input, which `shape` places."""
    x = node.emit(ops().astype(node.expr(index), "int32"))
    if not node.has(zero):
        return x
    point = node.value(zero)
    if isinstance(point, np.ndarray) and not point.any():
        return x
    point = node.emit(ops().astype(node.graph.as_expr(point), "int32"))
    if shape is not None and node.ndim(zero) == 1:
        point = node.emit(ops().reshape(point, [] if node.shape(zero) == [1] else shape))
    return node.emit(ops().subtract(x, point))


def _matmul_integer(node: Node, a_zero: int, b_zero: int):
    return ops().matmul(_shifted(node, 0, a_zero, [-1, 1]), _shifted(node, 1, b_zero, [-1]))


@onnx_op("MatMulInteger", since=10)
def matmul_integer(node: Node):
    return _matmul_integer(node, 2, 3)


@onnx_op("ConvInteger", since=10)
def conv_integer(node: Node):
    _per_tensor(node, 2)
    weight = _shifted(node, 1, 3, [-1] + [1] * (node.ndim(1) - 1))
    return _standard(node, "Conv", [_shifted(node, 0, 2, []), weight])


@onnx_op("MatMulIntegerToFloat", domain=MICROSOFT)
def matmul_integer_to_float(node: Node):
    scale = node.emit(ops().multiply(node.expr(2), node.expr(3)))
    return _in_float(node, node.emit(_matmul_integer(node, 4, 5)), scale, 6)


@onnx_op("DynamicQuantizeMatMul", domain=MICROSOFT)
def dynamic_quantize_matmul(node: Node):
    a, a_scale, a_zero = _dynamically_quantized(node, node.expr(0))
    a = node.emit(ops().astype(a, "int32"))
    a = node.emit(ops().subtract(a, node.emit(ops().astype(a_zero, "int32"))))
    product = node.emit(ops().matmul(a, _shifted(node, 1, 3, [-1])))
    return _in_float(node, product, node.emit(ops().multiply(a_scale, node.expr(2))), 4)


def _in_float(node: Node, product, scale, bias: int):
    result = node.emit(ops().multiply(node.emit(ops().astype(product, "float32")), scale))
    return ops().add(result, node.expr(bias)) if node.has(bias) else result


# ---- standard operators on quantised tensors ----
def _int32_bias(node: Node, index: int, x_scale: int, w_scale: int):
    """An int32 bias in units of the product of the scales of the data and the weight."""
    scales = [node.inputs[x_scale], node.inputs[w_scale]]
    if all(isinstance(s, np.ndarray) for s in scales):
        scale = node.graph.as_expr(scales[0].reshape(-1) * scales[1].reshape(-1))
    else:
        scale = node.emit(ops().multiply(node.expr(x_scale), node.expr(w_scale)))
        scale = node.emit(ops().reshape(scale, [-1]))
    zero = node.graph.as_expr(np.zeros((), "int32"))
    return node.emit(ops().dequantize(node.expr(index), scale, zero, "float32", 0))


@onnx_op("QLinearConv", since=10)
def qlinear_conv(node: Node):
    _per_tensor(node, 1, 2)
    inputs = [_dequantized(node, 0, 1, 2), _dequantized(node, 3, 4, 5, 0)]
    if node.has(8):
        inputs.append(_int32_bias(node, 8, 1, 4))
    return _quantized(node, _standard(node, "Conv", inputs), 6, 7, node.dtype(0))


@onnx_op("QLinearMatMul", since=10)
def qlinear_matmul(node: Node):
    for index in (1, 4):
        if node.ndim(index) > 1:
            node.fail(f"scales of rank {node.ndim(index)} are not supported", _not_implemented())
    a, b = _dequantized(node, 0, 1, 2, -2), _dequantized(node, 3, 4, 5, -1)
    return _quantized(node, node.emit(ops().matmul(a, b)), 6, 7, node.dtype(0))


@onnx_op("QGemm", domain=MICROSOFT)
def qgemm(node: Node):
    transposed = bool(node.attr("transB", 0))
    a, b = _dequantized(node, 0, 1, 2), _dequantized(node, 3, 4, 5, 0 if transposed else 1)
    inputs = [a, b]
    if node.has(6):
        node.expect("alpha", (1.0,), 1.0)  # the bias would have to be divided by it
        inputs.append(_int32_bias(node, 6, 1, 4))
    y = _standard(node, "Gemm", inputs)
    return _quantized(node, y, 7, 8, node.dtype(0)) if node.has(7) else y


@onnx_op("QLinearAdd", "QLinearMul", domain=MICROSOFT)
def qlinear_binary(node: Node):
    fn = ops().add if node.op == "QLinearAdd" else ops().multiply
    y = node.emit(fn(_dequantized(node, 0, 1, 2), _dequantized(node, 3, 4, 5)))
    return _quantized(node, y, 6, 7, node.dtype(0))


@onnx_op("QLinearWhere", domain=MICROSOFT)
def qlinear_where(node: Node):
    x, y = _dequantized(node, 1, 2, 3), _dequantized(node, 4, 5, 6)
    return _quantized(node, node.emit(ops().where(node.expr(0), x, y)), 7, 8, node.dtype(1))


@onnx_op(
    "QLinearSigmoid",
    "QLinearLeakyRelu",
    "QLinearGlobalAveragePool",
    "QLinearAveragePool",
    "QLinearSoftmax",
    domain=MICROSOFT,
)
def qlinear_unary(node: Node):
    node.expect("channels_last", (0,), 0)
    version = node.attr("opset") if node.op == "QLinearSoftmax" else None
    inputs = [_dequantized(node, 0, 1, 2)]
    y = _standard(node, node.op.removeprefix("QLinear"), inputs, version)
    return _quantized(node, y, 3, 4, node.dtype(0))


@onnx_op("QLinearConcat", domain=MICROSOFT)
def qlinear_concat(node: Node):
    if len(node) < 5 or len(node) % 3 != 2:
        node.fail(f"expected a scale and a zero point for each tensor, found {len(node)} inputs")
    parts = [_dequantized(node, i, i + 1, i + 2) for i in range(2, len(node), 3)]
    return _quantized(node, _standard(node, "Concat", parts), 0, 1, node.dtype(2))
