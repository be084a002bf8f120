# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Finding speech in a clip that espeak-ng makes (Silero VAD)."""

import shutil
import subprocess
import tempfile
import wave

import numpy as np

RATE = 16000  # samples a second
CHUNK, CONTEXT = 512, 64  # samples of a step, and those kept of the step before


def make_clip():
    """Float32 samples at RATE: silence, speech, silence, speech. Returns (samples, spans in s)."""
    parts, spans, at = [], [], 0.0
    for silence, sentence in ((1.0, "the whole path works"), (1.2, "from model to machine code")):
        parts.append(np.zeros(int(silence * RATE), np.float32))
        speech = speak(sentence)
        at += silence
        spans.append((at, at + len(speech) / RATE))
        at += len(speech) / RATE
        parts.append(speech)
    parts.append(np.zeros(RATE, np.float32))
    return np.concatenate(parts), spans


def speak(sentence):
    if shutil.which("espeak-ng") is None:
        raise RuntimeError("espeak-ng not found: run ./dev setup")
    with tempfile.NamedTemporaryFile(suffix=".wav") as f:
        subprocess.run(["espeak-ng", "-w", f.name, sentence], check=True)
        with wave.open(f.name) as w:
            samples = np.frombuffer(w.readframes(w.getnframes()), np.int16)
            rate = w.getframerate()
    samples = samples.astype(np.float32) / 32768
    n = int(len(samples) * RATE / rate)
    return np.interp(np.arange(n) / RATE, np.arange(len(samples)) / rate, samples).astype(
        np.float32
    )


def first_feeds(clip):
    """Inputs of one step, for compiling and measuring."""
    middle = len(clip) // 2
    return {
        "input": np.ascontiguousarray(clip[None, middle : middle + CHUNK + CONTEXT]),
        "state": np.zeros((2, 1, 128), np.float32),
        "sr": np.array(RATE, np.int64),
    }


def probabilities(run, clip):
    """Probability of speech for each chunk of the clip."""
    state, context = np.zeros((2, 1, 128), np.float32), np.zeros(CONTEXT, np.float32)
    result = []
    for at in range(0, len(clip) - CHUNK + 1, CHUNK):
        window = np.concatenate([context, clip[at : at + CHUNK]])
        out = list(
            run({"input": window[None], "state": state, "sr": np.array(RATE, np.int64)}).values()
        )
        result.append(float(out[0].ravel()[0]))
        state, context = out[1], window[-CONTEXT:]
    return np.array(result)


def find_speech(probability, threshold=0.5, gap=0.35):
    """Spans (start, end) in seconds where speech is likely; short gaps are bridged."""
    step = CHUNK / RATE
    spans = []
    for i in np.flatnonzero(probability > threshold):
        start, end = i * step, (i + 1) * step
        if spans and start - spans[-1][1] <= gap:
            spans[-1] = (spans[-1][0], float(end))
        else:
            spans.append((float(start), float(end)))
    return [(a, b) for a, b in spans if b - a >= 0.1]
