# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Reading text off a picture: detect lines, turn them upright, read them (PP-OCRv4)."""

import numpy as np
from PIL import Image, ImageDraw, ImageFont

LINES = ["The quick brown fox", "jumps over the lazy dog", "while 42 compilers", "measure latency"]
PICTURE = (640, 480)  # width, height
LINE_WIDTH, LINE_HEIGHT = 480, 48  # what the reader looks at
ANGLE_WIDTH = 192


def draw_picture():
    """A picture with some lines of text, one of them upside down."""
    picture = Image.new("RGB", PICTURE, "#f4efe6")
    font = ImageFont.load_default(40)
    for i, line in enumerate(LINES):
        left, top, right, bottom = font.getbbox(line)
        tile = Image.new("RGB", (right + 12, bottom + 12), "#f4efe6")
        ImageDraw.Draw(tile).text((6, 4), line, fill="#1c2833", font=font)
        if i == len(LINES) - 1:
            tile = tile.rotate(180)
        picture.paste(tile, (30 + 20 * i, 30 + 105 * i))
    return picture


def to_input(image):
    """An RGB image as float32 [1, 3, height, width] in [-1, 1]."""
    array = np.asarray(image, np.float32) / 255
    return np.ascontiguousarray(((array - 0.5) / 0.5).transpose(2, 0, 1)[None])


def components(mask):
    """Bounding boxes (left, top, right, bottom) of the 4-connected regions of a boolean image."""
    parent = []

    def find(a):
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        return a

    boxes, above = [], []
    for y, row in enumerate(mask):
        edges = np.flatnonzero(np.diff(np.concatenate(([0], row.astype(np.int8), [0]))))
        runs = []
        for left, right in zip(edges[::2], edges[1::2]):
            label = len(parent)
            parent.append(label)
            boxes.append([left, y, right, y + 1])
            for other_left, other_right, other in above:
                if other_left < right and left < other_right:
                    a, b = find(other), find(label)
                    if a != b:
                        parent[b] = a
                        pairs = zip(boxes[a], boxes[b], (min, min, max, max))
                        boxes[a] = [f(p, q) for p, q, f in pairs]
            runs.append((left, right, label))
        above = runs
    return [tuple(map(int, boxes[i])) for i in range(len(parent)) if find(i) == i]


def find_lines(probability, threshold=0.3):
    """Boxes of text lines, top to bottom, from a probability map [height, width]."""
    found = []
    for left, top, right, bottom in components(probability > threshold):
        width, height = right - left, bottom - top
        if width < 8 or height < 4:
            continue
        # The model marks the kernel of a line; it is grown back as it was shrunk for training.
        grow = width * height * 1.6 / (2 * (width + height))
        found.append(
            (
                max(0, int(left - grow)),
                max(0, int(top - grow)),
                min(probability.shape[1], int(right + grow)),
                min(probability.shape[0], int(bottom + grow)),
            )
        )
    return sorted(found, key=lambda box: (box[1], box[0]))


def fit(image, width, height):
    """Scale to `height`, pad with mid-grey on the right to `width`."""
    scaled = image.resize((min(width, max(1, round(image.width * height / image.height))), height))
    canvas = Image.new("RGB", (width, height), (127, 127, 127))
    canvas.paste(scaled, (0, 0))
    return canvas


def decode(indices, charset):
    """Collapse repeats and blanks of a per-column classification."""
    keep = [i for k, i in enumerate(indices) if k == 0 or i != indices[k - 1]]
    return "".join(charset[i] for i in keep if i)


class Reader:
    """Finds and reads lines with three models; each is a function from feeds to outputs."""

    def __init__(self, detect, angle, recognise, charset):
        self.detect, self.angle, self.recognise, self.charset = detect, angle, recognise, charset

    def read(self, picture):
        """Returns [(box, text, turned)], box in pixels of the picture."""
        (probability,) = self.detect({"x": to_input(picture)}).values()
        result = []
        for box in find_lines(probability[0, 0]):
            line = picture.crop(box)
            (turned,) = self.angle({"x": to_input(fit(line, ANGLE_WIDTH, LINE_HEIGHT))}).values()
            upside_down = bool(turned[0, 1] > 0.9)
            if upside_down:
                line = line.rotate(180)
            (scores,) = self.recognise({"x": to_input(fit(line, LINE_WIDTH, LINE_HEIGHT))}).values()
            result.append((box, decode(scores[0].argmax(-1), self.charset), upside_down))
        return result


def charset_of(path):
    """Characters of a recognition model, by class; class 0 is the blank."""
    import onnx

    metadata = {p.key: p.value for p in onnx.load(path, load_external_data=False).metadata_props}
    return ["", *metadata["character"].split("\n"), " "]
