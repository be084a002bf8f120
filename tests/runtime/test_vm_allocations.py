# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""A repeated VM call makes no heap or map call: the C++ test runs under the allocation counter."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def _runtime_tests():
    folders = [ROOT / "build" / "bin"]
    if "TVM_LIBRARY_PATH" in os.environ:
        folders.insert(0, pathlib.Path(os.environ["TVM_LIBRARY_PATH"]).parent / "bin")
    for folder in folders:
        if (folder / "runtime_tests").exists():
            return folder / "runtime_tests"
    pytest.skip("runtime_tests is not built")


@pytest.fixture
def counter(tmp_path):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    out = tmp_path / "liballoc_counter.so"
    source = ROOT / "tests" / "runtime" / "alloc_counter.c"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-o", str(out), str(source), "-ldl"], check=True
    )
    return out


def test_steady_calls_allocate_nothing(counter):
    env = dict(os.environ, LD_PRELOAD=str(counter))
    run = subprocess.run(
        [str(_runtime_tests()), "--gtest_filter=*SteadyCallsAllocateNothing"],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "[  PASSED  ] 1 test" in run.stdout
    assert "SKIPPED" not in run.stdout


PROGRAM = """
import ctypes, sys
import numpy as np
import tvm
from tvm import relax
from tvm.tirx import Var

mode = sys.argv[1]
n = Var("n", "int64")
bb = relax.BlockBuilder()
x = relax.Var("x", relax.TensorType([n, 4], "float32"))
w = relax.const(np.ones((4, 8), "float32"))
with bb.function("main", [x]):
    y = bb.emit(relax.op.matmul(bb.emit(relax.op.exp(x)), w))
    z = bb.emit(relax.op.reshape(y, relax.ShapeExpr([n * 8])))
    out = [bb.emit(relax.op.nn.relu(z)), bb.emit(relax.op.shape_of(y))]
    bb.emit_func_output(relax.Tuple(out))
vm = relax.VirtualMachine(relax.build(bb.get(), "llvm", exec_mode=mode), tvm.cpu())
vm.save_function("main", "saved", tvm.runtime.tensor(np.ones((3, 4), "float32")),
                 include_return=False)
counter = ctypes.CDLL(None)


def count(calls):
    timer = vm.time_evaluator("saved", tvm.cpu(), number=calls, repeat=1)
    timer()
    got = (ctypes.c_long * 4)()
    counter.alloc_counter_begin()
    timer()
    counter.alloc_counter_end(got)
    return list(got)


few, many = count(5), count(1005)
assert few[0] > 0, few  # the counter counts: the timer itself allocates
print("more", [b - a for a, b in zip(few, many)])
"""


@pytest.mark.parametrize("mode", ["bytecode", "compiled"])
def test_a_compiled_program_allocates_nothing_more_when_called_more(mode, counter, child_env):
    env = child_env(LD_PRELOAD=counter)
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, mode],
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "more [0, 0, 0, 0]" in run.stdout
