# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Build the synthetic benchmark models: real architectures, seeded random weights.

    python synthetic_models.py --out DIR [--only NAME ...]

Needs: onnx, numpy; onnxruntime as well for the int8 models (it does the calibration).
Every model is written as DIR/NAME.onnx together with DIR/NAME.npz, the inputs of one run.
The graphs are what an exporter gives for the published network: BatchNorm folded into the
convolution, GELU as Erf, LayerNormalization as one operator (opset 17), Gemm for linear heads.
"""

import argparse
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


class Graph:
    """A thin ONNX graph writer: methods add a node and return its output name."""

    def __init__(self, name, seed):
        self.name, self.rng = name, np.random.default_rng(seed)
        self.nodes, self.init, self.ins, self.outs, self.n = [], [], [], [], 0

    def fresh(self, stem):
        self.n += 1
        return f"{stem}_{self.n}"

    def const(self, arr, stem="w"):
        name = self.fresh(stem)
        self.init.append(numpy_helper.from_array(np.array(arr, order="C"), name))
        return name

    def rand(self, shape, std, stem="w"):
        return self.const(self.rng.standard_normal(shape, dtype=np.float32) * np.float32(std), stem)

    def op(self, kind, *ins, outs=1, **attrs):
        names = [self.fresh(kind.lower()) for _ in range(outs)]
        self.nodes.append(helper.make_node(kind, list(ins), names, name=self.fresh("n"), **attrs))
        return names[0] if outs == 1 else names

    def input(self, name, dtype, shape):
        self.ins.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def output(self, value, name, dtype, shape):
        self.nodes.append(helper.make_node("Identity", [value], [name], name=self.fresh("n")))
        self.outs.append(helper.make_tensor_value_info(name, dtype, shape))

    def save(self, path):
        g = helper.make_graph(self.nodes, self.name, self.ins, self.outs, self.init)
        m = helper.make_model(g, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
        onnx.checker.check_model(m)
        onnx.save(m, path)

    # --- layers -------------------------------------------------------------------------
    def conv(self, x, cin, cout, k, s=1, groups=1, gain=1.0):
        fan = cin // groups * k * k
        w = self.rand((cout, cin // groups, k, k), gain * (2.0 / fan) ** 0.5)
        b = self.rand((cout,), 0.05)
        p = k // 2
        return self.op(
            "Conv", x, w, b, kernel_shape=[k, k], strides=[s, s], group=groups, pads=[p, p, p, p]
        )

    def linear(self, x, cin, cout, std=0.02):
        y = self.op("MatMul", x, self.rand((cin, cout), std))
        return self.op("Add", y, self.rand((cout,), 0.01))

    def layernorm(self, x, d):
        scale = self.const(np.float32(1) + 0.1 * self.rng.standard_normal(d, dtype=np.float32))
        return self.op("LayerNormalization", x, scale, self.rand((d,), 0.02), axis=-1, epsilon=1e-5)

    def gelu_erf(self, x):
        e = self.op("Erf", self.op("Div", x, self.const(np.float32(2**0.5))))
        y = self.op("Mul", x, self.op("Add", e, self.const(np.float32(1))))
        return self.op("Mul", y, self.const(np.float32(0.5)))

    def gelu_tanh(self, x):
        cube = self.op("Pow", x, self.const(np.float32(3)))
        inner = self.op("Add", x, self.op("Mul", cube, self.const(np.float32(0.044715))))
        t = self.op("Tanh", self.op("Mul", inner, self.const(np.float32((2 / np.pi) ** 0.5))))
        y = self.op("Mul", x, self.const(np.float32(0.5)))
        return self.op("Mul", y, self.op("Add", t, self.const(np.float32(1))))

    def heads(self, x, seq, n, d):
        y = self.op("Reshape", x, self.const(np.array([1, seq, n, d], np.int64)))
        return self.op("Transpose", y, perm=[0, 2, 1, 3])

    def attention(self, q, k, v, d, mask=None):
        s = self.op("MatMul", q, self.op("Transpose", k, perm=[0, 1, 3, 2]))
        s = self.op("Div", s, self.const(np.float32(d**0.5)))
        if mask is not None:
            s = self.op("Add", s, mask)
        return self.op("MatMul", self.op("Softmax", s, axis=-1), v)

    def merge(self, x, seq, width):
        y = self.op("Transpose", x, perm=[0, 2, 1, 3])
        return self.op("Reshape", y, self.const(np.array([1, seq, width], np.int64)))


def image(rng, h, w):
    """A natural-looking test picture: low-frequency colour plus noise, normalised."""
    base = rng.standard_normal((1, 3, h // 16, w // 16)).astype(np.float32)
    return (base.repeat(16, 2).repeat(16, 3) + 0.3 * rng.standard_normal((1, 3, h, w))).astype(
        np.float32
    )


# --- networks ---------------------------------------------------------------------------
def resnet50(path):
    g = Graph("resnet50", 50)
    x = g.input("x", TensorProto.FLOAT, [1, 3, 224, 224])
    x = g.op("Relu", g.conv(x, 3, 64, 7, 2))
    x = g.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    cin = 64
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(blocks):
            s = stride if i == 0 else 1
            short = g.conv(x, cin, width * 4, 1, s, gain=0.7) if i == 0 else x
            y = g.op("Relu", g.conv(x, cin, width, 1))
            y = g.op("Relu", g.conv(y, width, width, 3, s))
            y = g.conv(y, width, width * 4, 1, gain=0.3)
            x, cin = g.op("Relu", g.op("Add", y, short)), width * 4
    x = g.op("Flatten", g.op("GlobalAveragePool", x), axis=1)
    x = g.op("Gemm", x, g.rand((1000, 2048), 0.02), g.rand((1000,), 0.01), transB=1)
    g.output(x, "logits", TensorProto.FLOAT, [1, 1000])
    g.save(path)
    return {"x": image(g.rng, 224, 224)}


def mobilenetv2(path):
    g = Graph("mobilenetv2", 51)
    x = g.input("x", TensorProto.FLOAT, [1, 3, 224, 224])
    lo, hi = g.const(np.float32(0)), g.const(np.float32(6))
    relu6 = lambda v: g.op("Clip", v, lo, hi)
    x, cin = relu6(g.conv(x, 3, 32, 3, 2)), 32
    for t, c, n, s in (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ):
        for i in range(n):
            stride, mid = (s if i == 0 else 1), cin * t
            y = relu6(g.conv(x, cin, mid, 1)) if t != 1 else x
            y = relu6(g.conv(y, mid, mid, 3, stride, groups=mid))
            y = g.conv(y, mid, c, 1, gain=0.6)
            x, cin = (g.op("Add", x, y) if stride == 1 and cin == c else y), c
    x = relu6(g.conv(x, 320, 1280, 1))
    x = g.op("Flatten", g.op("GlobalAveragePool", x), axis=1)
    x = g.op("Gemm", x, g.rand((1000, 1280), 0.02), g.rand((1000,), 0.01), transB=1)
    g.output(x, "logits", TensorProto.FLOAT, [1, 1000])
    g.save(path)
    return {"x": image(g.rng, 224, 224)}


def bert_base(path, layers=12, width=768, n=12, seq=128):
    g = Graph("bert_base", 52)
    ids = g.input("input_ids", TensorProto.INT64, [1, seq])
    att = g.input("attention_mask", TensorProto.INT64, [1, seq])
    typ = g.input("token_type_ids", TensorProto.INT64, [1, seq])
    x = g.op(
        "Add",
        g.op("Gather", g.rand((30522, width), 0.05), ids),
        g.op("Gather", g.rand((2, width), 0.05), typ),
    )
    x = g.layernorm(g.op("Add", x, g.rand((1, seq, width), 0.05)), width)
    m = g.op(
        "Cast", g.op("Unsqueeze", att, g.const(np.array([1, 2], np.int64))), to=TensorProto.FLOAT
    )
    m = g.op("Mul", g.op("Sub", g.const(np.float32(1)), m), g.const(np.float32(-10000)))
    for _ in range(layers):
        q, k, v = (g.heads(g.linear(x, width, width), seq, n, width // n) for _ in range(3))
        y = g.merge(g.attention(q, k, v, width // n, m), seq, width)
        x = g.layernorm(g.op("Add", g.linear(y, width, width), x), width)
        y = g.linear(g.gelu_erf(g.linear(x, width, 4 * width)), 4 * width, width)
        x = g.layernorm(g.op("Add", y, x), width)
    first = g.op("Gather", x, g.const(np.array(0, np.int64)), axis=1)
    pooled = g.op(
        "Tanh", g.op("Gemm", first, g.rand((width, width), 0.02), g.rand((width,), 0.01), transB=1)
    )
    g.output(x, "last_hidden_state", TensorProto.FLOAT, [1, seq, width])
    g.output(pooled, "pooler_output", TensorProto.FLOAT, [1, width])
    g.save(path)
    mask = np.ones((1, seq), np.int64)
    mask[:, 100:] = 0
    return {
        "input_ids": g.rng.integers(0, 30522, (1, seq)),
        "attention_mask": mask,
        "token_type_ids": np.zeros((1, seq), np.int64),
    }


def gpt2(path, seq, past, layers=12, width=768, n=12, vocab=50257):
    """GPT-2 124M: `seq` new tokens after `past` cached ones; returns logits and the new cache."""
    g = Graph("gpt2", 53)
    d = width // n
    ids = g.input("input_ids", TensorProto.INT64, [1, seq])
    wte = g.rand((vocab, width), 0.02, "wte")
    x = g.op("Add", g.op("Gather", wte, ids), g.rand((1, seq, width), 0.01))
    mask = None
    if seq > 1:
        tri = np.triu(np.full((seq, past + seq), -1e4, np.float32), past + 1)
        mask = g.const(tri.reshape(1, 1, seq, past + seq), "mask")
    feeds = {"input_ids": np.random.default_rng(7).integers(0, vocab, (1, seq))}
    for i in range(layers):
        h = g.layernorm(x, width)
        qkv = g.op(
            "Split",
            g.linear(h, width, 3 * width),
            g.const(np.array([width] * 3, np.int64)),
            outs=3,
            axis=-1,
        )
        q, k, v = (g.heads(t, seq, n, d) for t in qkv)
        if past:
            pk = g.input(f"past_k{i}", TensorProto.FLOAT, [1, n, past, d])
            pv = g.input(f"past_v{i}", TensorProto.FLOAT, [1, n, past, d])
            k, v = g.op("Concat", pk, k, axis=2), g.op("Concat", pv, v, axis=2)
            for key in (pk, pv):
                feeds[key] = g.rng.standard_normal((1, n, past, d), dtype=np.float32)
        g.output(k, f"present_k{i}", TensorProto.FLOAT, [1, n, past + seq, d])
        g.output(v, f"present_v{i}", TensorProto.FLOAT, [1, n, past + seq, d])
        y = g.merge(g.attention(q, k, v, d, mask), seq, width)
        x = g.op("Add", x, g.linear(y, width, width))
        h = g.gelu_tanh(g.linear(g.layernorm(x, width), width, 4 * width))
        x = g.op("Add", x, g.linear(h, 4 * width, width))
    logits = g.op("MatMul", g.layernorm(x, width), g.op("Transpose", wte, perm=[1, 0]))
    g.output(logits, "logits", TensorProto.FLOAT, [1, seq, vocab])
    g.save(path)
    return feeds


def yolov8n(path, size=640, classes=80):
    """YOLOv8-nano: C2f blocks, SPPF, PAN neck with Resize and Concat, DFL head, sigmoid scores."""
    g = Graph("yolov8n", 54)
    x = g.input("images", TensorProto.FLOAT, [1, 3, size, size])

    def cbs(v, cin, cout, k=1, s=1):
        y = g.conv(v, cin, cout, k, s, gain=1.2)
        return g.op("Mul", y, g.op("Sigmoid", y))

    def c2f(v, cin, cout, n, shortcut):
        h = cout // 2
        y = cbs(v, cin, cout)
        parts = list(g.op("Split", y, g.const(np.array([h, h], np.int64)), outs=2, axis=1))
        for _ in range(n):
            t = cbs(cbs(parts[-1], h, h, 3), h, h, 3)
            parts.append(g.op("Add", parts[-1], t) if shortcut else t)
        return cbs(g.op("Concat", *parts, axis=1), (2 + n) * h, cout)

    def up(v):
        return g.op(
            "Resize",
            v,
            "",
            g.const(np.array([1, 1, 2, 2], np.float32)),
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        )

    x = cbs(cbs(x, 3, 16, 3, 2), 16, 32, 3, 2)
    x = c2f(x, 32, 32, 1, True)
    p3 = c2f(cbs(x, 32, 64, 3, 2), 64, 64, 2, True)
    p4 = c2f(cbs(p3, 64, 128, 3, 2), 128, 128, 2, True)
    x = c2f(cbs(p4, 128, 256, 3, 2), 256, 256, 1, True)
    pools = [cbs(x, 256, 128)]
    for _ in range(3):
        pools.append(
            g.op("MaxPool", pools[-1], kernel_shape=[5, 5], strides=[1, 1], pads=[2, 2, 2, 2])
        )
    p5 = cbs(g.op("Concat", *pools, axis=1), 512, 256)
    n4 = c2f(g.op("Concat", up(p5), p4, axis=1), 384, 128, 1, False)
    n3 = c2f(g.op("Concat", up(n4), p3, axis=1), 192, 64, 1, False)
    n4 = c2f(g.op("Concat", cbs(n3, 64, 64, 3, 2), n4, axis=1), 192, 128, 1, False)
    n5 = c2f(g.op("Concat", cbs(n4, 128, 128, 3, 2), p5, axis=1), 384, 256, 1, False)
    flat, grid, stride = [], [], []
    for v, c, s in ((n3, 64, 8), (n4, 128, 16), (n5, 256, 32)):
        box = g.conv(cbs(cbs(v, c, 64, 3), 64, 64, 3), 64, 64, 1)
        cls = g.conv(cbs(cbs(v, c, classes, 3), classes, classes, 3), classes, classes, 1)
        cells = (size // s) ** 2
        flat.append(
            g.op(
                "Reshape",
                g.op("Concat", box, cls, axis=1),
                g.const(np.array([1, 64 + classes, cells], np.int64)),
            )
        )
        a = np.arange(size // s, dtype=np.float32) + 0.5
        grid.append(np.stack(np.meshgrid(a, a, indexing="xy")).reshape(2, cells))
        stride.append(np.full(cells, s, np.float32))
    cells = sum(len(s) for s in stride)
    y = g.op("Concat", *flat, axis=2)
    box, cls = g.op("Split", y, g.const(np.array([64, classes], np.int64)), outs=2, axis=1)
    dist = g.op(
        "Transpose",
        g.op("Reshape", box, g.const(np.array([1, 4, 16, cells], np.int64))),
        perm=[0, 2, 1, 3],
    )
    w = g.const(np.arange(16, dtype=np.float32).reshape(1, 16, 1, 1))
    dist = g.op(
        "Reshape",
        g.op("Conv", g.op("Softmax", dist, axis=1), w),
        g.const(np.array([1, 4, cells], np.int64)),
    )
    lt, rb = g.op("Split", dist, g.const(np.array([2, 2], np.int64)), outs=2, axis=1)
    anchors = g.const(np.concatenate(grid, 1)[None])
    p1, p2 = g.op("Sub", anchors, lt), g.op("Add", anchors, rb)
    centre = g.op("Div", g.op("Add", p1, p2), g.const(np.float32(2)))
    boxes = g.op(
        "Mul",
        g.op("Concat", centre, g.op("Sub", p2, p1), axis=1),
        g.const(np.concatenate(stride).reshape(1, 1, -1)),
    )
    g.output(
        g.op("Concat", boxes, g.op("Sigmoid", cls), axis=1),
        "detections",
        TensorProto.FLOAT,
        [1, 4 + classes, cells],
    )
    g.save(path)
    return {"images": np.clip(image(g.rng, size, size) * 0.2 + 0.5, 0, 1).astype(np.float32)}


def mlp(path, batch=1, sizes=(784, 1024, 1024, 1024, 10)):
    g = Graph("mlp", 55)
    x = g.input("x", TensorProto.FLOAT, [batch, sizes[0]])
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        x = g.op("Gemm", x, g.rand((b, a), (2 / a) ** 0.5), g.rand((b,), 0.01), transB=1)
        x = g.op("Relu", x) if i < len(sizes) - 2 else g.op("Softmax", x, axis=-1)
    g.output(x, "probs", TensorProto.FLOAT, [batch, sizes[-1]])
    g.save(path)
    return {"x": g.rng.standard_normal((batch, sizes[0]), dtype=np.float32)}


def int8(path, base):
    """Static QDQ quantisation of a float model: uint8 activations, per-channel int8 weights."""
    from onnxruntime import quantization as q

    float_path = os.path.join(os.path.dirname(path), base.__name__ + ".onnx")
    feeds = base(float_path)
    name, rng = next(iter(feeds)), np.random.default_rng(56)

    class Reader(q.CalibrationDataReader):
        def __init__(self):
            self.it = iter([{name: image(rng, 224, 224)} for _ in range(8)])

        def get_next(self):
            return next(self.it, None)

    q.quantize_static(
        float_path,
        path,
        Reader(),
        quant_format=q.QuantFormat.QDQ,
        per_channel=True,
        activation_type=q.QuantType.QUInt8,
        weight_type=q.QuantType.QInt8,
    )
    return feeds


MODELS = {
    "mlp_b1": lambda p: mlp(p, 1),
    "mlp_b64": lambda p: mlp(p, 64),
    "mobilenetv2": mobilenetv2,
    "resnet50": resnet50,
    "yolov8n": yolov8n,
    "bert_base": bert_base,
    "gpt2_prefill128": lambda p: gpt2(p, 128, 0),
    "gpt2_decode": lambda p: gpt2(p, 1, 128),
    "resnet50_int8": lambda p: int8(p, resnet50),
    "mobilenetv2_int8": lambda p: int8(p, mobilenetv2),
}


def main():
    ap = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ap.add_argument("--out", required=True)
    ap.add_argument("--only", nargs="*", choices=list(MODELS))
    a = ap.parse_args()
    os.makedirs(a.out, exist_ok=True)
    for name in a.only or MODELS:
        path = os.path.join(a.out, name + ".onnx")
        np.savez(os.path.join(a.out, name + ".npz"), **MODELS[name](path))
        print(f"{name}: {os.path.getsize(path) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
