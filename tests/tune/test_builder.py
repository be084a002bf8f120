# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Compilers that crash, hang or refuse a candidate do not take the compilation with them."""

import os
import sys

import numpy as np
import pytest

import tvm
from tvm import te
from tvm.tune import BuildError, Form, LocalBuilder, _ffi_api

TARGET = tvm.target.Target({"kind": "llvm", "mcpu": "native"})


def group(m=24, n=300, k=40):
    i64 = lambda x: tvm.tirx.const(x, "int64")
    a, b = te.placeholder((m, k), "float32", "a"), te.placeholder((k, n), "float32", "b")
    axis = te.reduce_axis((i64(0), i64(k)), "k")
    shape = (i64(m), i64(n))
    attrs = {"tile_op": "gemm"}
    c = te.compute(shape, lambda i, j: te.sum(a[i, axis] * b[axis, j], axis), "c", attrs=attrs)
    return te.create_prim_func([a, b, c])


def forms(func, count):
    found = _ffi_api.Candidates(func, TARGET, count)
    text = tvm.ir.save_json(func)
    knobs = [{str(k): int(v) for k, v in each.items()} for each in found["knobs"]]
    return [Form(text, str(found["rule"]), each) for each in knobs]


@pytest.fixture(scope="module")
def builder():
    with LocalBuilder() as builder:
        yield builder


def test_forms_become_functions_of_a_library(builder, tmp_path):
    path = str(tmp_path / "lib.so")
    builder.build(forms(group(), 3), TARGET, path)
    library = tvm.runtime.load_module(path)
    rng = np.random.default_rng(0)
    a, b = rng.random((24, 40), np.float32), rng.random((40, 300), np.float32)
    for name in ("c0", "c1", "c2"):
        out = tvm.runtime.tensor(np.zeros((24, 300), np.float32))
        library[name](tvm.runtime.tensor(a), tvm.runtime.tensor(b), out)
        np.testing.assert_allclose(out.numpy(), a @ b, rtol=1e-5)


def test_content_tells_forms_apart(builder):
    own = forms(group(), 1)[0]
    other = Form(own.group, own.rule, {"copy_a": 1})
    assert builder.content(own, TARGET) == builder.content(own, TARGET)
    assert builder.content(own, TARGET) != builder.content(other, TARGET)
    assert builder.content(forms(group(n=301), 1)[0], TARGET) != builder.content(own, TARGET)
    # As if it had been emitted here.
    func = _ffi_api.Emit(tvm.ir.load_json(own.group), TARGET, own.rule, own.knobs)
    assert builder.content(own, TARGET) == str(_ffi_api.KernelKey(func, TARGET))


def test_a_refused_form_is_an_error_with_its_reason(builder, tmp_path):
    own = forms(group(), 1)[0]
    wrong = Form(own.group, own.rule, {"rows": 1000000})
    with pytest.raises(BuildError, match="no candidate"):
        builder.content(wrong, TARGET)
    with pytest.raises(BuildError, match="no candidate"):
        builder.build([own, wrong], TARGET, str(tmp_path / "lib.so"))
    assert builder.content(own, TARGET)


def test_a_killed_process_is_an_error_and_the_next_one_knows_all(tmp_path):
    own, other = forms(group(), 2)
    with LocalBuilder() as builder:
        builder.content(own, TARGET)
        pid = builder._kept.worker.process.pid
        os.kill(pid, 9)
        with pytest.raises(BuildError, match="SIGKILL"):
            builder.content(other, TARGET)
        builder.build([own, other], TARGET, str(tmp_path / "lib.so"))
        pid = builder._kept.worker.process.pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize(
    ("then", "message"),
    [
        ("os.abort()", "SIGABRT"),
        ("time.sleep(60)", "no answer within 1.0 s"),
        ("sys.exit(3)", "code 3"),
        ("print('hello', flush=True); time.sleep(60)", "no message"),
    ],
)
def test_what_becomes_of_the_process(then, message):
    program = f"import os, sys, time; print('{{}}', flush=True); input(); {then}"
    with LocalBuilder(patience=1, command=[sys.executable, "-c", program]) as builder:
        for _ in range(2):
            with pytest.raises(BuildError, match=message):
                builder.content(Form("{}", "contraction"), TARGET)


def test_a_process_that_does_not_start_is_an_error():
    command = [sys.executable, "-c", "import sys; sys.exit(4)"]
    with LocalBuilder(command=command) as builder:
        with pytest.raises(RuntimeError, match="compiles candidates does not start.*code 4"):
            builder.content(Form("{}", "contraction"), TARGET)
