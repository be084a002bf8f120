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


def openvino(job):
    """OpenVINO for one stream, in float32 unless the job says otherwise."""
    import openvino as ov

    job.mark("load")
    core = ov.Core()
    model = core.read_model(job.model)
    model.reshape({p.any_name: job.feeds[p.any_name].shape for p in model.inputs})
    job.mark("compile")
    options = {
        "INFERENCE_NUM_THREADS": job.threads,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": job.opt.get("precision", "f32"),
    }
    compiled = core.compile_model(model, "CPU", options)
    request = compiled.create_infer_request()
    for p in compiled.inputs:
        request.set_tensor(p, ov.Tensor(job.feeds[p.any_name]))

    def fetch():
        import onnx

        # OpenVINO also knows an output by the names of what it fused into it.
        wanted = {output.name for output in onnx.load(job.model).graph.output}
        return {
            name: request.get_tensor(p).data.copy()
            for p in compiled.outputs
            for name in p.names & wanted
        }

    return request.infer, fetch


def with_fixed_shapes(job, path):
    """Write the model with the extents of the job's inputs, and return its ModelProto."""
    import onnx

    model = onnx.load(job.model)
    constants = {i.name for i in model.graph.initializer}
    inputs = [i for i in model.graph.input if i.name not in constants]
    del model.graph.input[:]
    for i in inputs:
        dims = i.type.tensor_type.shape
        del dims.dim[:]
        for extent in job.feeds[i.name].shape:
            dims.dim.add().dim_value = extent
        model.graph.input.append(i)
    del model.graph.value_info[:]
    onnx.save(model, path)
    return model


def mnn(job):
    """MNN at full precision; its converter's command also calls home, so its library is used."""
    import subprocess
    import tempfile

    import MNN

    job.mark("import_model")
    with tempfile.TemporaryDirectory() as folder:
        fixed, converted = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.mnn")
        model = with_fixed_shapes(job, fixed)
        argv = ["mnnconvert", "-f", "ONNX", "--modelFile", fixed, "--MNNModel", converted]
        code = f"import MNN, _tools; _tools.mnnconvert({[*argv, '--bizCode', 'bench']!r})"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        if not os.path.exists(converted):
            raise RuntimeError((done.stdout + done.stderr).strip()[-600:])
        job.mark("compile")
        config = {
            "backend": "CPU",
            "numThread": job.threads,
            "precision": job.opt.get("precision", "high"),
        }
        runtime = MNN.nn.create_runtime_manager((config,))
        names = [i.name for i in model.graph.input]
        outputs = [o.name for o in model.graph.output]
        net = MNN.nn.load_module_from_file(converted, names, outputs, runtime_manager=runtime)
    args = []
    for name in names:
        v = job.feeds[name]
        v = v.astype(np.int32) if v.dtype == np.int64 else v
        kind = MNN.expr.int if v.dtype == np.int32 else MNN.expr.float
        data = v.ravel().tolist() if v.size < 4 else np.ascontiguousarray(v)
        args.append(MNN.expr.const(data, list(v.shape), MNN.expr.NCHW, kind))
    last = [None]

    def step():
        last[0] = net.forward(args)

    def fetch():
        values = (MNN.expr.convert(v, MNN.expr.NCHW) for v in last[0])
        return {name: np.array(v.read()) for name, v in zip(outputs, values)}

    return step, fetch


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
    target = t.target.Target({"kind": "llvm", "mcpu": "native"})
    exe = t.compile(mod, target, precision=job.opt.get("precision", "float32"))
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
        step, fetch = {"ort": ort, "openvino": openvino, "mnn": mnn, "tvm": tvm}[kind](job)
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
