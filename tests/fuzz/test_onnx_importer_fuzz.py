# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Mutated models: the importer answers with a module or an error, never with a crash or a hang.

Runs a few seconds by default; TVM_FUZZ_SECONDS sets how long.
"""

import os
import random
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tvm.relax.frontend.onnx import from_onnx


def seed_models():
    weight = numpy_helper.from_array(np.ones((4, 3, 3, 3), np.float32), "w")
    shape = numpy_helper.from_array(np.array([1, -1], np.int64), "s")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Transpose", ["p"], ["t"], perm=[0, 2, 3, 1]),
        helper.make_node("Reshape", ["t", "s"], ["f"]),
        helper.make_node("Softmax", ["f"], ["y"], axis=-1),
    ]
    graph = helper.make_graph(nodes, "g", [x], [y], [weight, shape])
    yield helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def mutate(rng, data):
    data = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        where = rng.randrange(len(data))
        action = rng.randrange(4)
        if action == 0:
            data[where] = rng.randrange(256)
        elif action == 1:
            data[where] ^= 1 << rng.randrange(8)
        elif action == 2:
            del data[where : where + rng.randint(1, 16)]
        else:
            data[where:where] = rng.randbytes(rng.randint(1, 8))
        if not data:
            break
    return bytes(data)


def test_mutated_models_give_a_module_or_an_error():
    seconds = float(os.environ.get("TVM_FUZZ_SECONDS", "3"))
    seed = int(os.environ.get("TVM_FUZZ_SEED", "0"))
    rng = random.Random(seed)
    seeds = [m.SerializeToString() for m in seed_models()]
    end, tried, parsed, imported = time.monotonic() + seconds, 0, 0, 0
    while time.monotonic() < end:
        data = mutate(rng, rng.choice(seeds))
        tried += 1
        try:
            model = onnx.ModelProto.FromString(data)
        except Exception:
            continue
        parsed += 1
        start = time.monotonic()
        try:
            from_onnx(model)
            imported += 1
        except (ValueError, TypeError, RuntimeError, KeyError, IndexError, OverflowError) as err:
            assert str(err), f"an error without a message; seed {seed}, try {tried}"
        assert time.monotonic() - start < 20, f"a hang; seed {seed}, try {tried}"
    assert parsed > 10 and imported > 0, (tried, parsed, imported)
