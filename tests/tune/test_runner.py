# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Candidates that crash, hang, raise or lie do not take the compiler with them."""

import os
import sys
import time

import pytest

import tvm
from tvm.script import tirx as T
from tvm.tune import Job, LocalRunner

ARGUMENTS = (("float32", (64,)), ("float32", (64,)))


def extern(name):
    @T.prim_func
    def func(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        T.evaluate(T.call_extern("int32", name))

    return func


@T.prim_func
def double(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(64):
        B[i] = A[i] * T.float32(2)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    funcs = {"good": double, "same": double, "crash": extern("abort"), "hang": extern("pause")}
    mod = tvm.IRModule({n: f.with_attr("global_symbol", n) for n, f in funcs.items()})
    path = str(tmp_path_factory.mktemp("runner") / "lib.so")
    tvm.driver.build_prim_funcs(mod, "llvm").export_library(path)
    return path


@pytest.fixture(scope="module")
def runner():
    with LocalRunner(patience=20, least_patience=2) as runner:
        yield runner


def test_times_of_functions_that_work(library, runner):
    outcomes = runner.run(Job(library, ("good", "same"), ARGUMENTS), 60)
    assert sorted(outcomes) == ["good", "same"]
    for outcome in outcomes.values():
        assert outcome.error is None and 0 < outcome.seconds < 1e-2


def test_crash_and_hang_are_told_apart_and_the_others_measured(library, runner):
    job = Job(library, ("good", "crash", "hang", "same"), ARGUMENTS)
    start = time.monotonic()
    outcomes = runner.run(job, 300)
    assert time.monotonic() - start < 250
    assert "SIGABRT" in outcomes["crash"].error and outcomes["crash"].seconds is None
    assert "no answer within 2.0 s" in outcomes["hang"].error
    assert outcomes["good"].seconds > 0 and outcomes["same"].seconds > 0
    # It is as good as new.
    assert runner.run(Job(library, ("good",), ARGUMENTS), 60)["good"].seconds > 0


def test_a_yardstick_that_crashes_ends_the_job(library, runner):
    outcomes = runner.run(Job(library, ("crash", "good"), ARGUMENTS), 60)
    assert "SIGABRT" in outcomes["crash"].error and "good" not in outcomes


def test_what_does_not_load_or_raises_is_an_outcome(library, runner, tmp_path):
    missing = runner.run(Job(str(tmp_path / "none.so"), ("a", "b"), ARGUMENTS), 60)
    assert all("does not load" in o.error for o in missing.values()) and len(missing) == 2
    wrong = runner.run(Job(library, ("good",), ARGUMENTS[:1]), 60)
    assert wrong["good"].seconds is None and "Error" in wrong["good"].error


def test_no_turn_after_the_limit(library, runner):
    runner.run(Job(library, ("good",), ARGUMENTS), 60)  # it runs
    start = time.monotonic()
    outcomes = runner.run(Job(library, ("good", "same"), ARGUMENTS, rounds=10**7), 0.5)
    assert time.monotonic() - start < 20
    assert outcomes["good"].seconds > 0
    assert runner.run(Job(library, ("good",), ARGUMENTS), 0) == {}


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("import sys; sys.exit(3)", "code 3"),
        ("import time; time.sleep(60)", "no answer within"),
        ("print('hello')", "no message"),
        ("print('[1]')", "no message"),
    ],
)
def test_a_process_that_does_not_start_is_an_error(library, program, message):
    command = [sys.executable, "-c", program]
    with LocalRunner(start_patience=5, command=command) as runner:
        with pytest.raises(RuntimeError, match="does not start") as info:
            runner.run(Job(library, ("good",), ARGUMENTS), 60)
    assert message in str(info.value)


def test_no_function_finds_warm_what_another_has_just_used():
    from tvm.tune.worker import _Arguments, _Timer

    used = {"a": [], "b": []}
    arguments = _Arguments([[i] for i in range(4)])
    timers = {name: _Timer(calls.append, arguments) for name, calls in used.items()}
    for _ in range(3):
        for timer in timers.values():
            timer.turn()
    assert used == {"a": [0, 2, 0], "b": [1, 3, 1]}


def test_nothing_is_left_behind(library):
    runner = LocalRunner()
    runner.run(Job(library, ("good",), ARGUMENTS), 60)
    pid = runner._kept.worker.process.pid
    os.kill(pid, 0)
    runner.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "int8", "int32", "bool"])
def test_arguments_of_any_type(dtype):
    from tvm.tune.worker import _tensor

    tensor, nbytes = _tensor(dtype, [3, 5])
    assert tuple(tensor.shape) == (3, 5) and str(tensor.dtype) == dtype
    assert nbytes == 15 * tvm.runtime.empty((1,), dtype).dtype.itemsize
    assert _tensor(dtype, [0, 5])[1] == 0
    if dtype not in ("bfloat16",):
        values = tensor.numpy()
        assert (values >= 0).all() and (values <= 1).all()
        assert ("float" in dtype) == bool((values > 0).all())
