# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Naming file types by content (Magika)."""

import io
import json

import numpy as np
from PIL import Image

SIZE = 1024  # bytes looked at from each end


def samples(readme):
    """Some files, as (what it is, content)."""
    picture = io.BytesIO()
    Image.effect_noise((64, 64), 40).save(picture, "PNG")
    python = "\n".join(
        ["import math", "", "", "def area(radius):", '    """Area of a circle."""']
        + ["    return math.pi * radius ** 2", "", "", "for r in range(10):", "    print(area(r))"]
    )
    table = json.dumps(
        {"cities": [{"name": n, "people": 1000 * len(n)} for n in "abcdef"]}, indent=1
    )
    return [
        ("a Python program", python.encode()),
        ("a PNG picture", picture.getvalue()),
        ("a JSON document", table.encode()),
        ("this project's README", readme),
    ]


def feeds(content):
    """The model's input: int32 [1, 2048], the two ends of the stripped file, 256 where it ends."""
    head = np.full(SIZE, 256, np.int32)
    tail = np.full(SIZE, 256, np.int32)
    front, back = content.lstrip()[:SIZE], content.rstrip()[-SIZE:]
    head[: len(front)] = np.frombuffer(front, np.uint8)
    if back:
        tail[-len(back) :] = np.frombuffer(back, np.uint8)
    return {"bytes": np.concatenate([head, tail])[None]}


def name_type(run, content, labels):
    """Returns (label, probability)."""
    (scores,) = run(feeds(content)).values()
    best = int(scores[0].argmax())
    return labels[best], float(scores[0, best])
