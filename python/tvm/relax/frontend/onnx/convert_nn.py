# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Convolutions, pooling, normalization, resizing, recurrent layers."""

from __future__ import annotations

import numpy as np

from .convert_math import ops, scalar
from .node import Node, _not_implemented, onnx_op

LAYOUTS = {1: ("NCW", "OIW", "IOW"), 2: ("NCHW", "OIHW", "IOHW"), 3: ("NCDHW", "OIDHW", "IODHW")}


def window(node: Node, kernel: list[int], *, dilations: bool = True):
    """Strides, paddings (all starts, then all ends) and dilations of a sliding window."""
    rank = len(kernel)
    strides = node.attr("strides", [1] * rank)
    dilation = node.attr("dilations", [1] * rank) if dilations else [1] * rank
    pads = node.attr("pads", None)
    mode = node.attr("auto_pad", "NOTSET")
    for what, values in (("strides", strides), ("dilations", dilation), ("kernel_shape", kernel)):
        if len(values) != rank or any(v < 1 for v in values):
            node.fail(f"{what} must be {rank} positive numbers, got {values}")
    if pads is not None and any(p < 0 for p in pads):
        node.fail(f"pads must not be negative, found {pads}")
    if any(v >= 1 << 40 for v in (*strides, *dilation, *kernel, *(pads or ()))):
        node.fail("a stride, dilation, pad or kernel extent of 2^40 or more")
    if mode == "NOTSET":
        pads = [0] * (2 * rank) if pads is None else pads
        if len(pads) != 2 * rank:
            node.fail(f"pads must have {2 * rank} numbers, got {pads}")
    elif mode == "VALID":
        pads = [0] * (2 * rank)
    elif mode in ("SAME_UPPER", "SAME_LOWER"):
        pads = [0] * (2 * rank)
        for i, extent in enumerate(node.shape(0)[2:]):
            out = -(-extent // strides[i])
            need = max(0, (out - 1) * strides[i] + (kernel[i] - 1) * dilation[i] + 1 - extent)
            small, large = need // 2, need - need // 2
            begin, end = (small, large) if mode == "SAME_UPPER" else (large, small)
            pads[i], pads[rank + i] = begin, end
    else:
        node.fail(f"auto_pad {mode!r} is unknown")
    return strides, pads, dilation


def _kernel(node: Node) -> list[int]:
    weight = node.shape(1)
    kernel = node.attr("kernel_shape", weight[2:])
    if kernel != weight[2:]:
        node.fail(f"kernel_shape {kernel} does not fit the weight's shape {weight}")
    rank = len(kernel)
    if rank not in LAYOUTS:
        node.fail(f"{rank} spatial dimensions are not supported", _not_implemented())
    if node.ndim(0) != rank + 2:
        node.fail(f"the data has rank {node.ndim(0)}, the weight needs {rank + 2}")
    return kernel


def _add_bias(node: Node, result, rank: int, index: int = 2):
    if not node.has(index):
        return result
    bias = node.value(index)
    node.rank(index, 1, 1)
    channels = node.graph.static_shape(result, node)[1]
    if node.shape(index) != [channels]:
        node.fail(f"the bias must have {channels} numbers, found the shape {node.shape(index)}")
    shape = [1, -1] + [1] * rank
    if isinstance(bias, np.ndarray):
        return ops().add(result, node.graph.as_expr(bias.reshape(shape)))
    return ops().add(result, node.emit(ops().reshape(bias, shape)))


@onnx_op("Conv")
def conv(node: Node):
    kernel = _kernel(node)
    rank = len(kernel)
    strides, pads, dilation = window(node, kernel)
    group = node.attr("group", 1)
    data, weight = node.shape(0), node.shape(1)
    if group < 1 or data[1] != weight[1] * group or weight[0] % group:
        node.fail(f"{data[1]} channels and weight {weight} do not fit {group} groups")
    fn = getattr(ops().nn, f"conv{rank}d")
    layout, kernel_layout, _ = LAYOUTS[rank]
    result = fn(node.expr(0), node.expr(1), strides, pads, dilation, group, layout, kernel_layout)
    return _add_bias(node, node.emit(result), rank)


@onnx_op("ConvTranspose")
def conv_transpose(node: Node):
    kernel = _kernel(node)
    rank = len(kernel)
    if node.attr("output_shape", None) is not None:
        node.fail("output_shape is not supported", _not_implemented())
    node.expect("auto_pad", ("NOTSET", "VALID"), "NOTSET")
    strides, pads, dilation = window(node, kernel)
    extra = node.attr("output_padding", [0] * rank)
    if len(extra) != rank:
        node.fail(f"output_padding must have {rank} numbers, found {extra}")
    fn = getattr(ops().nn, f"conv{rank}d_transpose")
    layout, _, kernel_layout = LAYOUTS[rank]
    group = node.positive("group", 1)
    if node.shape(0)[1] % group:
        node.fail(f"{node.shape(0)[1]} channels do not divide into {group} groups")
    result = fn(
        node.expr(0), node.expr(1), strides, pads, extra, dilation, group, layout, kernel_layout
    )
    return _add_bias(node, node.emit(result), rank)


@onnx_op("MaxPool", "AveragePool")
def pool(node: Node):
    kernel = node.attr("kernel_shape")
    rank = len(kernel)
    if rank not in LAYOUTS or node.ndim(0) != rank + 2:
        node.fail(f"kernel {kernel} does not fit data of rank {node.ndim(0)}")
    node.expect("storage_order", (0,), 0)
    strides, pads, dilation = window(node, kernel)
    for i in range(rank):
        reach = (kernel[i] - 1) * dilation[i] + 1
        if max(pads[i], pads[rank + i]) >= reach:
            node.fail(f"pads {pads} must be less than the kernel's reach, {reach} in dimension {i}")
        if (extent := node.shape(0)[2 + i]) + pads[i] + pads[rank + i] < reach:
            node.fail(f"the kernel {kernel} is larger than the padded extent {extent}")
    ceil = bool(node.attr("ceil_mode", 0))
    if node.op == "MaxPool":
        if len([o for o in node.proto.output if o]) > 1:
            node.fail("the output Indices is not supported", _not_implemented())
        fn, include = getattr(ops().nn, f"max_pool{rank}d"), False
    else:
        fn = getattr(ops().nn, f"avg_pool{rank}d")
        include = bool(node.attr("count_include_pad", 0))
    return fn(node.expr(0), kernel, strides, pads, dilation, ceil, include, LAYOUTS[rank][0])


@onnx_op("GlobalAveragePool", "GlobalMaxPool")
def global_pool(node: Node):
    axes = list(range(2, node.rank(0, 2)))
    if not axes:
        return node.expr(0)
    fn = ops().mean if node.op == "GlobalAveragePool" else ops().max
    return fn(node.expr(0), axes, True)


@onnx_op("BatchNormalization", since=7)
def batch_norm(node: Node):
    node.ignore("momentum", "spatial")
    node.expect("training_mode", (0,), 0)
    from tvm.relax import TupleGetItem

    x = [node.expr(i) for i in range(5)]
    result = ops().nn.batch_norm(*x, 1, node.attr("epsilon", 1e-5), True, True, 0.1, False)
    return TupleGetItem(node.emit(result), 0)


@onnx_op("LayerNormalization", since=17)
def layer_norm(node: Node):
    node.ignore("stash_type")
    rank = node.ndim(0)
    axis = node.axis(node.attr("axis", -1), rank)
    axes = list(range(axis, rank))
    scale = node.expr(1)
    if node.has(2):
        bias = node.expr(2)
    else:
        bias = node.graph.as_expr(np.zeros(node.shape(1), node.dtype(1)))
    return ops().nn.layer_norm(node.expr(0), scale, bias, axes, node.attr("epsilon", 1e-5))


@onnx_op("InstanceNormalization", since=6)
def instance_norm(node: Node):
    rank = node.ndim(0)
    x, scale, bias = (node.expr(i) for i in range(3))
    return ops().nn.instance_norm(
        x, scale, bias, 1, list(range(2, rank)), node.attr("epsilon", 1e-5)
    )


@onnx_op("LRN")
def lrn(node: Node):
    alpha, beta = node.attr("alpha", 1e-4), node.attr("beta", 0.75)
    bias, size = node.attr("bias", 1.0), node.positive("size")
    x = node.expr(0)
    node.rank(0, 3)
    n, c, *spatial = node.shape(0)
    square = node.emit(ops().multiply(x, x))
    flat = node.emit(ops().reshape(square, [n, 1, c, int(np.prod(spatial))]))
    before, after = (size - 1) // 2, size // 2
    mean = ops().nn.avg_pool2d(
        flat, [size, 1], [1, 1], [before, 0, after, 0], [1, 1], False, True, "NCHW"
    )
    mean = node.emit(ops().reshape(node.emit(mean), [n, c, *spatial]))
    base = ops().add(ops().multiply(mean, scalar(node, alpha)), scalar(node, bias))
    return ops().divide(x, ops().power(base, scalar(node, beta)))


@onnx_op("Dropout")
def dropout(node: Node):
    node.ignore("seed", "ratio", "is_test")
    if node.has(2) and bool(node.const(2).reshape(-1)[0]):
        node.fail("training_mode is not supported", _not_implemented())
    mask = np.ones(node.shape(0), bool) if len(node.proto.output) > 1 else None
    return [node.expr(0)] if mask is None else [node.expr(0), mask]


def _resize_sizes(node: Node, shape: list[int], scales, sizes) -> list[int]:
    if sizes is not None:
        if len(sizes) != len(shape):
            node.fail(f"sizes {sizes} do not fit data of shape {shape}")
        if any(s < 0 or (s > 0 and e == 0) for s, e in zip(sizes, shape)):
            node.fail(f"data of shape {shape} cannot be resized to {list(sizes)}")
        return sizes
    if scales is None or len(scales) != len(shape):
        node.fail(f"scales {scales} do not fit data of shape {shape}")
    if not all(0 < float(s) < 1 << 31 for s in scales):
        node.fail(f"scales must be positive, found {[float(s) for s in scales]}")
    return [int(np.floor(e * float(s))) for e, s in zip(shape, scales)]


def _resize(node: Node, scales, sizes, coordinates: str, nearest: str):
    shape = node.shape(0)
    mode = node.attr("mode", "nearest")
    target = _resize_sizes(node, shape, scales, sizes)
    if len(shape) != 4 or target[:2] != shape[:2]:
        node.fail(
            f"resizing {shape} to {target} is not supported; only the last two of four "
            "dimensions can change",
            _not_implemented(),
        )
    if sizes is None:
        for extent, new, scale in zip(shape, target, scales):
            # The row derives the scale from the extents; they must say the same.
            if abs(extent * float(scale) - new) > 1e-6:
                node.fail(
                    f"scale {float(scale)} of extent {extent} is no whole number",
                    _not_implemented(),
                )
    methods = {"nearest": "nearest_neighbor", "linear": "linear", "cubic": "cubic"}
    if mode not in methods:
        node.fail(f"mode {mode!r} is unknown")
    rounding = {
        "round_prefer_floor": "round_prefer_floor",
        "round_prefer_ceil": "round_prefer_ceil",
        "floor": "floor",
        "ceil": "ceil",
    }
    if nearest not in rounding:
        node.fail(f"nearest_mode {nearest!r} is unknown")
    return ops().image.resize2d(
        node.expr(0),
        target[2:],
        layout="NCHW",
        method=methods[mode],
        coordinate_transformation_mode=coordinates,
        rounding_method=rounding[nearest] if mode == "nearest" else "",
        cubic_alpha=node.attr("cubic_coeff_a", -0.75),
        cubic_exclude=node.attr("exclude_outside", 0),
        extrapolation_value=node.attr("extrapolation_value", 0.0),
    )


@onnx_op("Resize", since=10)
def resize10(node: Node):
    return _resize(node, node.const(1).reshape(-1), None, "asymmetric", "floor")


@onnx_op("Resize", since=11)
def resize(node: Node):
    node.expect("antialias", (0,), 0)
    node.expect("keep_aspect_ratio_policy", ("stretch",), "stretch")
    axes = node.attr("axes", None)
    coordinates = node.attr("coordinate_transformation_mode", "half_pixel")
    if coordinates not in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"):
        node.fail(
            f"coordinate_transformation_mode {coordinates!r} is not supported", _not_implemented()
        )
    scales = node.const(2).reshape(-1) if node.has(2) and node.const(2).size else None
    sizes = node.ints(3) if node.has(3) else None
    if scales is not None and sizes is not None:
        node.fail("scales and sizes are both given; one of them is expected")
    if axes is not None:
        shape = node.shape(0)
        if len(scales if scales is not None else sizes if sizes is not None else ()) != len(axes):
            node.fail(f"scales or sizes must have one number for each of the axes {axes}")
        axes = [node.axis(a, len(shape)) for a in axes]
        if scales is not None:
            full = np.ones(len(shape), np.float32)
            full[axes] = scales
            scales = full
        else:
            full = list(shape)
            for a, s in zip(axes, sizes):
                full[a] = s
            sizes = full
    return _resize(
        node, scales, sizes, coordinates, node.attr("nearest_mode", "round_prefer_floor")
    )


@onnx_op("Upsample", since=7)
def upsample(node: Node):
    scales = node.const(1) if node.has(1) else np.array(node.attr("scales"), np.float32)
    return _resize(node, scales.reshape(-1), None, "asymmetric", "floor")


@onnx_op("DepthToSpace")
def depth_to_space(node: Node):
    block, mode = node.positive("blocksize"), node.attr("mode", "DCR")
    node.rank(0, 4, 4)
    n, c, h, w = node.shape(0)
    if c % (block * block):
        node.fail(f"{c} channels are no multiple of {block}^2")
    rest = c // (block * block)
    if mode == "DCR":
        split, axes = [n, block, block, rest, h, w], [0, 3, 4, 1, 5, 2]
    elif mode == "CRD":
        split, axes = [n, rest, block, block, h, w], [0, 1, 4, 2, 5, 3]
    else:
        node.fail(f"mode must be DCR or CRD, got {mode!r}")
    x = node.emit(ops().reshape(node.expr(0), split))
    x = node.emit(ops().permute_dims(x, axes))
    return ops().reshape(x, [n, rest, h * block, w * block])


@onnx_op("SpaceToDepth")
def space_to_depth(node: Node):
    block = node.positive("blocksize")
    node.rank(0, 4, 4)
    n, c, h, w = node.shape(0)
    if h % block or w % block:
        node.fail(f"{h} x {w} is no multiple of blocks of {block}")
    x = node.emit(ops().reshape(node.expr(0), [n, c, h // block, block, w // block, block]))
    x = node.emit(ops().permute_dims(x, [0, 3, 5, 1, 2, 4]))
    return ops().reshape(x, [n, c * block * block, h // block, w // block])


@onnx_op("LSTM", since=7)
def lstm(node: Node):
    if node.has(4) or node.has(7):
        node.fail("sequence_lens and peepholes are not supported", _not_implemented())
    node.expect("layout", (0,), 0)
    node.expect("input_forget", (0,), 0)
    if node.attr("clip", None) is not None:
        node.fail("clip is not supported", _not_implemented())
    direction = node.attr("direction", "forward")
    if direction not in ("forward", "reverse", "bidirectional"):
        node.fail(f"direction must be forward, reverse or bidirectional, found {direction!r}")
    count = 2 if direction == "bidirectional" else 1
    default = ["Sigmoid", "Tanh", "Tanh"] * count
    names = [f.lower() for f in node.attr("activations", default)]
    if names != [f.lower() for f in default]:
        node.fail(f"activations {names} are not supported", _not_implemented())
    node.ignore("activation_alpha", "activation_beta")
    node.rank(0, 3, 3)
    steps, batch, _ = node.shape(0)
    if steps == 0:
        node.fail("there are no steps: the first extent of the data is 0", _not_implemented())
    node.rank(2, 3, 3)
    hidden = node.attr("hidden_size", node.shape(2)[2])
    if hidden != node.shape(2)[2]:
        node.fail(f"hidden_size is {hidden}, but input 2 has the shape {node.shape(2)}")
    dtype = node.dtype(0)

    def given(index, shape):
        return node.expr(index) if node.has(index) else node.graph.as_expr(np.zeros(shape, dtype))

    bias = given(3, (count, 8 * hidden))
    h0, c0 = given(5, (count, batch, hidden)), given(6, (count, batch, hidden))
    from tvm.relax import TupleGetItem

    result = node.emit(
        ops().nn.lstm(node.expr(0), node.expr(1), node.expr(2), bias, h0, c0, direction)
    )
    return [node.emit(TupleGetItem(result, i)) for i in range(3)]
