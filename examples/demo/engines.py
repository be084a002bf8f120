# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""The two ways the demo runs a model: compiled by this project, and the reference to check against."""

import os
import statistics
import time

import numpy as np


class Compiled:
    """A model compiled to a shared library, loaded back and run by the VM.

    Attributes:
        nodes: Number of ONNX nodes, those of subgraphs included.
        compile_seconds: Import and compilation, the writing of the library included.
    """

    def __init__(self, path, feeds, folder):
        import onnx

        import tvm
        from tvm import relax
        from tvm.relax.frontend.onnx import from_onnx

        self.tvm = tvm
        model = onnx.load(path)
        self.nodes = count_nodes(model.graph)
        self.outputs = [o.name for o in model.graph.output]
        weights = {t.name for t in model.graph.initializer}
        self.inputs = [i.name for i in model.graph.input if i.name not in weights]
        start = time.perf_counter()
        module = from_onnx(
            model,
            shape_dict={n: list(feeds[n].shape) for n in self.inputs},
            dtype_dict={n: str(feeds[n].dtype) for n in self.inputs},
        )
        executable = tvm.compile(module, tvm.target.Target({"kind": "llvm", "mcpu": "native"}))
        self.library = os.path.join(folder, os.path.basename(path)[:-5] + ".so")
        executable.export_library(self.library)
        self.compile_seconds = time.perf_counter() - start
        self.vm = relax.VirtualMachine(tvm.runtime.load_module(self.library), tvm.cpu())
        self.main = self.vm["main"]

    def run(self, feeds):
        """Run once; `feeds` maps input names to arrays. Returns arrays by output name."""
        result = self.main(*[self.tvm.runtime.tensor(feeds[n]) for n in self.inputs])
        result = [result] if hasattr(result, "numpy") else list(result)
        return {name: value.numpy() for name, value in zip(self.outputs, result)}

    def profile(self, feeds):
        """Time per kernel of one warm call: [(kernel, calls, seconds)]."""
        arguments = [self.tvm.runtime.tensor(feeds[n]) for n in self.inputs]
        for _ in range(3):
            self.main(*arguments)
        return self.vm.profile("main", *arguments)

    def latency(self, feeds, threads, seconds=0.6):
        """Median seconds of a call with that many threads."""
        self.tvm.get_global_func("runtime.config_threadpool")(1, threads)
        arguments = [self.tvm.runtime.tensor(feeds[n]) for n in self.inputs]
        for _ in range(3):
            self.main(*arguments)
        times, end = [], time.perf_counter() + seconds
        while len(times) < 5 or time.perf_counter() < end:
            start = time.perf_counter()
            self.main(*arguments)
            times.append(time.perf_counter() - start)
        return statistics.median(times)


class Reference:
    """The same model in onnxruntime."""

    def __init__(self, path):
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.log_severity_level = 3
        self.session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.inputs = [i.name for i in self.session.get_inputs()]
        self.outputs = [o.name for o in self.session.get_outputs()]

    def run(self, feeds):
        return dict(zip(self.outputs, self.session.run(None, {n: feeds[n] for n in self.inputs})))


def count_nodes(graph):
    """Nodes of a graph and of the graphs inside its attributes."""
    inner = (a.g for n in graph.node for a in n.attribute if a.g.node)
    return len(graph.node) + sum(count_nodes(g) for g in inner)


def difference(reference, ours):
    """Worst difference over all outputs, relative to each output's largest magnitude."""
    worst = 0.0
    for name, want in reference.items():
        want, got = np.asarray(want, np.float64), np.asarray(ours[name], np.float64)
        if want.shape != got.shape:
            raise ValueError(f"output {name}: expected shape {want.shape}, got {got.shape}")
        if want.size:
            worst = max(worst, float(np.abs(want - got).max() / (np.abs(want).max() + 1e-9)))
    return worst
