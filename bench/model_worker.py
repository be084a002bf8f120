# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""One engine holding one model: load, compile, answer once, then time runs on demand.

Started by models.py as: PYTHON model_worker.py KIND MODEL.onnx INPUTS.npz THREADS [KEY=VALUE ...]
Each KIND is a function that takes a Job and returns step(), which runs the model once on inputs
already in the engine's own buffers, and fetch(), which gives the outputs as numpy arrays.
"""

import os
import sys
import time
import traceback

import numpy as np
from common import memory, own_stdout, reply, serve


class Job:
    """What to measure, and a clock for each stage of making it ready."""

    def __init__(self, argv):
        self.model, inputs, threads = argv[:3]
        self.threads = int(threads)
        self.opt = dict(a.split("=", 1) for a in argv[3:])
        with np.load(inputs) as z:
            self.feeds = {k: z[k] for k in z.files}
        self.stage, self.cost, self.t = "start", {}, time.perf_counter()

    def mark(self, stage):
        """Close the running stage's clock and open `stage`."""
        now = time.perf_counter()
        self.cost[self.stage] = round(now - self.t, 4)
        self.stage, self.t = stage, now


def ort(job):
    """The public onnxruntime with bound inputs and outputs."""
    import onnxruntime as rt

    job.mark("load")
    o = rt.SessionOptions()
    o.intra_op_num_threads, o.inter_op_num_threads = job.threads, 1
    o.log_severity_level = 3
    s = rt.InferenceSession(job.model, o, providers=["CPUExecutionProvider"])
    names = [x.name for x in s.get_outputs()]
    want = {x.name for x in s.get_inputs()}
    bind = s.io_binding()
    for k, v in job.feeds.items():
        if k in want:
            bind.bind_ortvalue_input(k, rt.OrtValue.ortvalue_from_numpy(v))
    for n in names:
        bind.bind_output(n)
    try:
        for _ in range(2):
            s.run_with_iobinding(bind)
        return lambda: s.run_with_iobinding(bind), lambda: dict(
            zip(names, bind.copy_outputs_to_cpu())
        )
    except RuntimeError:  # a model that declares a wrong output rank can only be run unbound
        feeds = {k: v for k, v in job.feeds.items() if k in want}
        return lambda: s.run(None, feeds), lambda: dict(zip(names, s.run(None, feeds)))


def tvm(job):
    """This project: from_onnx, tvm.compile and relax.VirtualMachine."""
    import onnx

    import tvm as t
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx

    job.mark("load")
    m = onnx.load(job.model)
    job.mark("import_model")
    init = {i.name for i in m.graph.initializer}
    names = [i.name for i in m.graph.input if i.name not in init]
    outputs = [o.name for o in m.graph.output]
    mod = from_onnx(
        m,
        shape_dict={n: list(job.feeds[n].shape) for n in names},
        dtype_dict={n: str(job.feeds[n].dtype) for n in names},
    )
    del m
    job.mark("compile")
    exe = t.compile(mod, t.target.Target({"kind": "llvm", "mcpu": "native"}))
    job.mark("create_vm")
    vm = relax.VirtualMachine(exe, t.cpu())
    main = vm["main"]
    args = [t.runtime.tensor(job.feeds[n]) for n in names]
    last = [None]

    def step():
        last[0] = main(*args)

    def fetch():
        result = last[0]
        result = [result] if hasattr(result, "numpy") else list(result)
        return {name: value.numpy() for name, value in zip(outputs, result)}

    return step, fetch


def main():
    own_stdout()
    kind, *argv = sys.argv[1:]
    job = Job(argv)
    try:
        job.mark("import_engine")
        step, fetch = {"ort": ort, "tvm": tvm}[kind](job)
        job.mark("first_run")
        step()
        job.mark("done")
        np.savez(job.opt["save"], **fetch())
    except BaseException as e:
        traceback.print_exc()
        reply(event="fail", stage=job.stage, error=f"{type(e).__name__}: {e}")
        return
    rss, peak = memory()
    reply(event="ready", cost=job.cost, rss=rss, peak=peak)
    serve(step)


if __name__ == "__main__":
    os.environ.setdefault("TVM_LOG_DEBUG", "")
    main()
