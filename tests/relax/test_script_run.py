# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Programs given as scripts run; imported models and each stage of compilation read back."""

import subprocess
import sys

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.ir import assert_structural_equal
from tvm.script import from_source
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


def vm_of(mod):
    return relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu())


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@I.ir_module
class Classifier:
    @R.function
    def main(
        x: R.Tensor(("n", 16), "float32"),
        w: R.Tensor((16, 8), "float32"),
        b: R.Tensor((8,), "float32"),
    ) -> R.Tensor(("n", 16), "float32"):
        cls = Classifier
        with R.dataflow():
            y = R.matmul(x, w)
            z = R.add(y, b)
            s = cls.normalized(z)
            u = R.concat((s, z), axis=1)
            R.output(u)
        return u

    @R.function(private=True)
    def normalized(x: R.Tensor(("n", 8), "float32")) -> R.Tensor(("n", 8), "float32"):
        return R.nn.softmax(x, axis=-1)


@pytest.mark.parametrize("again", [False, True])
def test_a_parsed_program_computes(again):
    mod = from_source(Classifier.script()) if again else Classifier
    rng = np.random.default_rng(0)
    x, w, b = (rng.standard_normal(s).astype("float32") for s in ((5, 16), (16, 8), (8,)))
    z = x @ w + b
    got = vm_of(mod)["main"](*(tvm.runtime.tensor(a) for a in (x, w, b))).numpy()
    np.testing.assert_allclose(got, np.concatenate([softmax(z), z], 1), rtol=1e-5, atol=1e-6)


def test_choices_and_kernels_compute():
    @I.ir_module
    class Module:
        @T.prim_func
        def double(A: T.Buffer((2, 3), "float32"), B: T.Buffer((2, 3), "float32")):
            for i, j in T.grid(2, 3):
                B[i, j] = A[i, j] * T.float32(2)

        @R.function
        def main(x: R.Tensor((2, 3), "float32"), c: R.Tensor((), "bool")):
            cls = Module
            if c:
                y = R.call_tir(cls.double, (x,), out_ty=R.Tensor((2, 3), "float32"))
            else:
                y = R.negative(x)
            return y

    vm = vm_of(Module)
    x = np.arange(6, dtype="float32").reshape(2, 3)
    for flag, want in ((True, x * 2), (False, -x)):
        got = vm["main"](tvm.runtime.tensor(x), tvm.runtime.tensor(np.array(flag)))
        np.testing.assert_array_equal(got.numpy(), want)


# ---- stages of compilation -----------------------------------------------------------------------


def stages_of(mod):
    stages = []

    @tvm.ir.instrument.pass_instrument
    class Record:
        def run_after_pass(self, module, info):
            stages.append((str(info.name), module))

    with tvm.transform.PassContext(instruments=[Record()]):
        tvm.compile(mod, "llvm")
    return stages


def test_each_stage_of_compilation_reads_back():
    stages = stages_of(Classifier)
    assert len(stages) > 20
    compared = 0
    for name, mod in stages:
        text = mod.script(show_meta=True)
        again = from_source(text, check_well_formed=False)
        for var, func in mod.functions.items():
            # Blocks that a pass left side by side are one block in the text.
            if isinstance(func, relax.Function):
                func = relax.BlockBuilder(mod).normalize(func)
            try:
                # Kernels may share symbols with each other, so each is compared alone.
                assert_structural_equal(again[str(var.name_hint)], func)
            except ValueError as err:
                raise AssertionError(f"after {name}, function {var.name_hint}: {err}") from err
            compared += 1
    assert compared > 40


def test_the_dump_of_a_stage_reads_back(tmp_path, child_env):
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, tvm\n"
        "from tvm.script import from_source\n"
        "tvm.compile(from_source(open(sys.argv[1]).read()), 'llvm')\n"
    )
    source = tmp_path / "source.txt"
    source.write_text(Classifier.script())
    dump = tmp_path / "dump"
    env = child_env(TVM_DUMP=dump)
    subprocess.run([sys.executable, str(program), str(source)], env=env, check=True)
    files = sorted(p for p in dump.rglob("*") if p.is_file())
    assert files
    read = 0
    for path in files:
        text = path.read_text()
        if "@I.ir_module" not in text or "metadata[" in text:
            continue
        from_source(text, check_well_formed=False)
        read += 1
    assert read > 10


# ---- imported models -----------------------------------------------------------------------------


def _onnx_models():
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(1)

    def weight(name, *shape):
        return numpy_helper.from_array(rng.standard_normal(shape).astype("float32"), name)

    def value(name, shape, kind=TensorProto.FLOAT):
        return helper.make_tensor_value_info(name, kind, shape)

    def model(nodes, inputs, outputs, weights):
        graph = helper.make_graph(nodes, "g", inputs, outputs, weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    node = helper.make_node
    yield (
        "convolution",
        model(
            [
                node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
                node("Relu", ["c"], ["r"]),
                node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
                node("GlobalAveragePool", ["p"], ["g"]),
                node("Flatten", ["g"], ["f"]),
                node("Gemm", ["f", "v"], ["y"], transB=1, alpha=0.5),
            ],
            [value("x", [1, 3, 16, 16])],
            [value("y", [1, 5])],
            [weight("w", 4, 3, 3, 3), weight("b", 4), weight("v", 5, 4)],
        ),
        {"x": rng.standard_normal((1, 3, 16, 16)).astype("float32")},
    )
    yield (
        "symbolic",
        model(
            [
                node("MatMul", ["x", "w"], ["m"]),
                node("LayerNormalization", ["m", "scale"], ["l"], axis=-1),
                node("Add", ["l", "m"], ["y"]),
            ],
            [value("x", ["batch", "seq", 8])],
            [value("y", None)],
            [weight("w", 8, 8), weight("scale", 8)],
        ),
        {"x": rng.standard_normal((2, 3, 8)).astype("float32")},
    )
    yield (
        "choice",
        model(
            [
                node(
                    "If",
                    ["c"],
                    ["y"],
                    then_branch=helper.make_graph(
                        [node("Add", ["x", "x"], ["t"])], "t", [], [value("t", [2, 3])]
                    ),
                    else_branch=helper.make_graph(
                        [node("Neg", ["x"], ["e"])], "e", [], [value("e", [2, 3])]
                    ),
                )
            ],
            [value("x", [2, 3]), value("c", [], TensorProto.BOOL)],
            [value("y", [2, 3])],
            [],
        ),
        {"x": np.ones((2, 3), "float32"), "c": np.array(True)},
    )
    del onnx


@pytest.mark.parametrize("index", range(3))
def test_imported_models(index):
    from tvm.relax.frontend.onnx import from_onnx

    name, model, feeds = list(_onnx_models())[index]
    try:
        mod = from_onnx(model)
    except tvm.error.OpNotImplemented as err:
        pytest.skip(f"{name}: {err}")
    again = from_source(mod.script(show_meta=True))
    assert_structural_equal(again, mod)
    args = [tvm.runtime.tensor(a) for a in feeds.values()]
    want, got = (vm_of(m)["main"](*args).numpy() for m in (mod, again))
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("exec_mode", ["bytecode", "compiled"])
def test_a_local_function_sees_the_variables_around_it(exec_mode):
    @I.ir_module
    class Outer:
        @R.function
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")) -> R.Tensor(
            (4,), "float32"
        ):
            @R.function
            def inner(a: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
                b: R.Tensor((4,), "float32") = R.add(a, y)
                return b

            z: R.Tensor((4,), "float32") = inner(x)
            return z

    vm = relax.VirtualMachine(tvm.compile(Outer, "llvm", exec_mode=exec_mode), tvm.cpu())
    x, y = (np.arange(4, dtype="float32") + k for k in (0, 5))
    got = vm["main"](tvm.runtime.tensor(x), tvm.runtime.tensor(y)).numpy()
    np.testing.assert_array_equal(got, x + y)
