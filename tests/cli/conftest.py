# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""The small model that several files compile."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import tvm
from tvm.runtime.vm import VirtualMachine


class Chain:
    """Products with ReLU, one after the other: (rows, 48) float32 to (rows, width)."""

    def __init__(self, rows, width):
        self.rows, self.width = rows, width
        self.x = np.linspace(-1, 1, rows * 48, dtype=np.float32).reshape(rows, 48)

    def model(self, seed=0, layers=2, step=0):
        """With a step each product is wider than the one before, so that all are distinct."""
        rng = np.random.default_rng(seed)
        nodes, weights, name, columns, width = [], [], "x", 48, self.width
        for i in range(layers):
            w = rng.standard_normal((columns, width), dtype=np.float32) / 8
            weights.append(numpy_helper.from_array(w, f"w{i}"))
            nodes.append(helper.make_node("MatMul", [name, f"w{i}"], [f"h{i}"]))
            nodes.append(helper.make_node("Relu", [f"h{i}"], [f"r{i}"]))
            name, columns = f"r{i}", width
            width += step
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [self.rows, 48])
        y = helper.make_tensor_value_info(name, TensorProto.FLOAT, [self.rows, columns])
        graph = helper.make_graph(nodes, "g", [x], [y], weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    def reference(self, proto):
        value = self.x
        for tensor in proto.graph.initializer:
            value = np.maximum(value @ numpy_helper.to_array(tensor), 0)
        return value

    def answer(self, executable):
        return VirtualMachine(executable, tvm.cpu())["main"](tvm.runtime.tensor(self.x)).numpy()


@pytest.fixture(scope="session")
def make_chain():
    return Chain
