# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Quantization by scale and zero point."""

from __future__ import annotations

import numpy as np

from .convert_math import ops
from .node import Node, _not_implemented, onnx_op


def _zero_point(node: Node, dtype: str):
    if node.has(2):
        return node.expr(2)
    return node.graph.as_expr(np.zeros(node.shape(1), dtype))


@onnx_op("QuantizeLinear", since=10)
def quantize(node: Node):
    node.ignore("saturate", "precision")
    node.expect("block_size", (0,), 0)
    if node.attr("output_dtype", 0):
        node.fail("output_dtype is not supported", _not_implemented())
    dtype = node.dtype(2) if node.has(2) else "uint8"
    axis = node.attr("axis", 1)
    return ops().quantize(node.expr(0), node.expr(1), _zero_point(node, dtype), dtype, axis)


@onnx_op("DequantizeLinear", since=10)
def dequantize(node: Node):
    node.expect("block_size", (0,), 0)
    zero = _zero_point(node, node.dtype(0))
    return ops().dequantize(node.expr(0), node.expr(1), zero, node.dtype(1), node.attr("axis", 1))
