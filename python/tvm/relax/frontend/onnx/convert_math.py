# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Elementwise operators, matrix products and activations."""

from __future__ import annotations

import numpy as np

from .node import Node, _not_implemented, onnx_op, plain


def ops():
    from tvm.relax import op

    return op


def _unary(names: dict[str, str]) -> None:
    for name, row in names.items():

        def convert(node: Node, row=row):
            module = ops()
            for part in row.split("."):
                module = getattr(module, part)
            return module(node.expr(0))

        onnx_op(name)(convert)


_unary(
    {
        "Neg": "negative",
        "Abs": "abs",
        "Floor": "floor",
        "Ceil": "ceil",
        "Round": "round",
        "Sqrt": "sqrt",
        "Exp": "exp",
        "Log": "log",
        "Sin": "sin",
        "Cos": "cos",
        "Tan": "tan",
        "Asin": "asin",
        "Acos": "acos",
        "Atan": "atan",
        "Sinh": "sinh",
        "Cosh": "cosh",
        "Tanh": "tanh",
        "Asinh": "asinh",
        "Acosh": "acosh",
        "Atanh": "atanh",
        "Erf": "erf",
        "Sigmoid": "sigmoid",
        "Relu": "nn.relu",
        "Sign": "sign",
        "IsNaN": "isnan",
        "Not": "logical_not",
        "BitwiseNot": "bitwise_not",
    }
)


def _binary(names: dict[str, str]) -> None:
    for name, row in names.items():

        def convert(node: Node, row=row):
            if node.version < 7:
                node.expect("broadcast", (0,), 0)
                node.ignore("axis", "consumed_inputs")
            return getattr(ops(), row)(node.expr(0), node.expr(1))

        onnx_op(name)(convert)


_binary(
    {
        "Add": "add",
        "Sub": "subtract",
        "Mul": "multiply",
        "Less": "less",
        "LessOrEqual": "less_equal",
        "Greater": "greater",
        "GreaterOrEqual": "greater_equal",
        "Equal": "equal",
        "And": "logical_and",
        "Or": "logical_or",
        "Xor": "logical_xor",
        "BitwiseAnd": "bitwise_and",
        "BitwiseOr": "bitwise_or",
        "BitwiseXor": "bitwise_xor",
    }
)


def scalar(node: Node, value, index: int = 0):
    """Constant of the type of input ``index``."""
    return node.graph.as_expr(node.full(value, index))


def _is_integer(node: Node, index: int = 0) -> bool:
    return node.dtype(index).startswith(("int", "uint"))


@onnx_op("Div")
def div(node: Node):
    # Of integers: toward zero, in integers, since floats are not exact above 2^53.
    return ops().divide(node.expr(0), node.expr(1))


@onnx_op("Pow")
def power(node: Node):
    base, exponent = node.expr(0), node.value(1)
    if isinstance(exponent, np.ndarray) and exponent.size == 1 and not _is_integer(node):
        known = float(exponent.reshape(-1)[0])
        if known == 2.0 and exponent.ndim <= node.ndim(0):
            return ops().multiply(base, base)
        if known == 3.0 and exponent.ndim <= node.ndim(0):
            return ops().multiply(base, ops().multiply(base, base))
        if known == 0.5 and exponent.ndim <= node.ndim(0):
            return ops().sqrt(base)
    exponent = node.expr(1)
    if node.dtype(1) != node.dtype(0):
        exponent = ops().astype(exponent, node.dtype(0))
    return ops().power(base, exponent)


@onnx_op("Mod")
def mod(node: Node):
    if node.attr("fmod", 0):
        return ops().mod(node.expr(0), node.expr(1))
    if not _is_integer(node):
        node.fail("fmod=0 needs integers")
    return ops().floor_mod(node.expr(0), node.expr(1))


@onnx_op("BitShift")
def bit_shift(node: Node):
    direction = node.attr("direction")
    if direction not in ("LEFT", "RIGHT"):
        node.fail(f"direction must be LEFT or RIGHT, got {direction!r}")
    fn = ops().left_shift if direction == "LEFT" else ops().right_shift
    return fn(node.expr(0), node.expr(1))


@onnx_op("Reciprocal")
def reciprocal(node: Node):
    return ops().divide(scalar(node, 1), node.expr(0))


@onnx_op("IsInf")
def is_inf(node: Node):
    positive, negative = node.attr("detect_positive", 1), node.attr("detect_negative", 1)
    x = node.expr(0)
    result = ops().isinf(x)
    if positive and negative:
        return result
    zero = scalar(node, 0)
    side = ops().greater(x, zero) if positive else ops().less(x, zero)
    if not positive and not negative:
        side = ops().not_equal(x, x)  # nothing is asked for: false (NaN is not infinite either)
    return ops().logical_and(result, side)


@onnx_op("Sum", "Min", "Max", "Mean")
def variadic(node: Node):
    fn = {"Min": ops().minimum, "Max": ops().maximum}.get(node.op, ops().add)
    result = node.expr(0)
    for i in range(1, len(node)):
        result = node.emit(fn(result, node.expr(i)))
    if node.op == "Mean" and len(node) > 1:
        result = ops().multiply(result, scalar(node, 1.0 / len(node)))
    return result


@onnx_op("Clip", since=1)
def clip_attr(node: Node):
    return _clip(node, node.attr("min", None), node.attr("max", None))


@onnx_op("Clip", since=11)
def clip(node: Node):
    bounds = []
    for i in (1, 2):
        value = node.inputs[i] if node.has(i) else None
        if value is not None and not isinstance(value, np.ndarray):
            return _clip_dynamic(node)
        bounds.append(None if value is None else node.scalar(i))
    return _clip(node, *bounds)


def _clip(node: Node, low, high):
    x = node.expr(0)
    if low is not None and high is None and float(low) == 0.0:
        return ops().nn.relu(x)
    if low is not None:
        x = node.emit(ops().maximum(x, scalar(node, low)))
    if high is not None:
        x = node.emit(ops().minimum(x, scalar(node, high)))
    return x


def _clip_dynamic(node: Node):
    x = node.expr(0)
    if node.has(1):
        x = node.emit(ops().maximum(x, node.expr(1)))
    return node.emit(ops().minimum(x, node.expr(2))) if node.has(2) else x


def cast_type(node: Node) -> str:
    """Element type that a Cast node names.

    Raises:
        OpNotImplemented: One that kernels cannot store.
    """
    import onnx

    to = node.attr("to")
    names = onnx.TensorProto.DataType
    if to not in names.values() or to == onnx.TensorProto.UNDEFINED:
        node.fail(f"to={to} is no element type")
    dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(to))
    if dtype.kind not in "fiub" and dtype.name != "bfloat16" or "int4" in dtype.name:
        node.fail(f"casting to {names.Name(to)} is not supported", _not_implemented())
    return str(dtype)


@onnx_op("Cast")
def cast(node: Node):
    node.ignore("saturate", "round_mode")
    dtype = cast_type(node)
    x = node.expr(0)
    if dtype == node.dtype(0):
        return x
    if dtype == "bool":
        return ops().not_equal(x, scalar(node, 0))
    return ops().astype(x, dtype)


@onnx_op("Where")
def where(node: Node):
    return ops().where(node.expr(0), node.expr(1), node.expr(2))


# ---- activations ----
@onnx_op("HardSigmoid")
def hard_sigmoid(node: Node):
    alpha, beta = node.attr("alpha", 0.2), node.attr("beta", 0.5)
    x = node.emit(ops().multiply(node.expr(0), scalar(node, alpha)))
    x = node.emit(ops().add(x, scalar(node, beta)))
    x = node.emit(ops().maximum(x, scalar(node, 0)))
    return ops().minimum(x, scalar(node, 1))


@onnx_op("HardSwish", since=14)
def hard_swish(node: Node):
    x = node.expr(0)
    y = node.emit(ops().add(ops().multiply(x, scalar(node, 1 / 6)), scalar(node, 0.5)))
    y = node.emit(ops().minimum(ops().maximum(y, scalar(node, 0)), scalar(node, 1)))
    return ops().multiply(x, y)


@onnx_op("LeakyRelu")
def leaky_relu(node: Node):
    return ops().nn.leakyrelu(node.expr(0), node.attr("alpha", 0.01))


@onnx_op("PRelu")
def prelu(node: Node):
    x = node.expr(0)
    scaled = ops().multiply(x, node.expr(1))
    return ops().where(ops().less(x, scalar(node, 0)), scaled, x)


@onnx_op("Elu")
def elu(node: Node):
    x, zero = node.expr(0), scalar(node, 0)
    below = ops().subtract(ops().exp(ops().minimum(x, zero)), scalar(node, 1))
    below = ops().multiply(below, scalar(node, node.attr("alpha", 1.0)))
    return ops().where(ops().less(x, zero), below, x)


@onnx_op("Selu")
def selu(node: Node):
    alpha = node.attr("alpha", 1.67326319217681884765625)
    gamma = node.attr("gamma", 1.05070102214813232421875)
    x, zero = node.expr(0), scalar(node, 0)
    below = ops().subtract(ops().exp(ops().minimum(x, zero)), scalar(node, 1))
    below = ops().multiply(below, scalar(node, alpha))
    return ops().multiply(ops().where(ops().less(x, zero), below, x), scalar(node, gamma))


@onnx_op("ThresholdedRelu")
def thresholded_relu(node: Node):
    x = node.expr(0)
    above = ops().greater(x, scalar(node, node.attr("alpha", 1.0)))
    return ops().where(above, x, scalar(node, 0))


@onnx_op("Softplus")
def softplus(node: Node):
    return ops().nn.softplus(node.expr(0))


@onnx_op("Softsign")
def softsign(node: Node):
    x = node.expr(0)
    return ops().divide(x, ops().add(ops().abs(x), scalar(node, 1)))


@onnx_op("Mish", since=18)
def mish(node: Node):
    x = node.expr(0)
    return ops().multiply(x, ops().tanh(ops().nn.softplus(x)))


@onnx_op("Gelu", since=20)
def gelu(node: Node):
    kind = node.attr("approximate", "none")
    if kind not in ("none", "tanh"):
        node.fail(f"approximate must be none or tanh, got {kind!r}")
    return (ops().nn.gelu_tanh if kind == "tanh" else ops().nn.gelu)(node.expr(0))


@onnx_op("Shrink", since=9)
def shrink(node: Node):
    bias, limit = node.attr("bias", 0.0), node.attr("lambd", 0.5)
    x = node.expr(0)
    low = ops().less(x, scalar(node, -limit))
    high = ops().greater(x, scalar(node, limit))
    outer = ops().where(high, ops().subtract(x, scalar(node, bias)), scalar(node, 0))
    return ops().where(low, ops().add(x, scalar(node, bias)), outer)


# ---- products ----
@onnx_op("MatMul")
def matmul(node: Node):
    return ops().matmul(node.expr(0), node.expr(1))


@onnx_op("Gemm")
def gemm(node: Node):
    alpha, beta = node.attr("alpha", 1.0), node.attr("beta", 1.0)
    if node.version < 7:
        node.ignore("broadcast")
    a, b = node.expr(0), node.expr(1)
    for i in (0, 1):
        if node.ndim(i) != 2:
            node.fail(f"input {i} must have rank 2, has {node.ndim(i)}")
    if node.attr("transA", 0):
        a = node.emit(ops().permute_dims(a, [1, 0]))
    if node.attr("transB", 0):
        # Of a weight too: the compiler turns it where it lies in the file, without a copy here.
        b = node.emit(ops().permute_dims(b, [1, 0]))
    result = node.emit(ops().matmul(a, b))
    if alpha != 1.0:
        result = node.emit(ops().multiply(result, scalar(node, alpha)))
    if node.has(2) and beta != 0.0:
        c = node.expr(2)
        rows = node.graph.extents(result)
        if len(node.graph.extents(c) or ()) > 2 or any(
            isinstance(e, int) and isinstance(n, int) and e not in (1, n)
            for e, n in zip((node.graph.extents(c) or [])[::-1], (rows or [])[::-1])
        ):
            node.fail(
                f"input 2 of shape ({', '.join(map(plain, node.graph.extents(c)))}) does not "
                f"broadcast to ({', '.join(map(plain, rows))})"
            )
        if beta != 1.0:
            c = node.emit(ops().multiply(c, scalar(node, beta)))
        result = ops().add(result, c)
    return result


@onnx_op("Einsum", since=12)
def einsum(node: Node):
    from tvm.relax import Tuple

    operands = Tuple([node.expr(i) for i in range(len(node))])
    return ops().einsum(operands, node.attr("equation").replace(" ", ""))
