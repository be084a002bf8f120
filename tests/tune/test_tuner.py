# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""What the tuner keeps, with a runner whose times are scripted."""

import json

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.script import relax as R
from tvm.tune import Builder, BuildError, LocalBuilder, Outcome, Runner, tuning

TARGET = {"kind": "llvm", "mcpu": "native"}
X = np.linspace(-1, 1, 24 * 40, dtype=np.float32).reshape(24, 40)
# Large enough for threads, and so for many ways to share it out.
W = np.linspace(1, -1, 40 * 300, dtype=np.float32).reshape(40, 300)


def model():
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((24, 40), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            h = builder.emit(relax.op.matmul(x, relax.const(W)))
            y = builder.emit_output(relax.op.nn.relu(h))
        builder.emit_func_output(y)
    return builder.get()


def answer(executable):
    vm = tvm.runtime.vm.VirtualMachine(executable, tvm.cpu())
    return vm["main"](tvm.runtime.tensor(X)).numpy()


class Scripted(Runner):
    """A runner that measures nothing.

    Args:
        times: Called with the number of the job and the position of a function in it; seconds, or
            a text for a failure, or None for no turn.
    """

    def __init__(self, times):
        self.times, self.jobs = times, []

    def run(self, job, limit):
        self.jobs.append(job)
        outcomes = {}
        for position, name in enumerate(job.functions):
            result = self.times(len(self.jobs) - 1, position)
            if isinstance(result, str):
                outcomes[name] = Outcome(error=result)
            elif result is not None:
                outcomes[name] = Outcome(seconds=result)
        return outcomes


@pytest.fixture(scope="module")
def builder():
    with LocalBuilder() as builder:
        yield builder


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("TVM_CACHE_DIR", "off")
    monkeypatch.delenv("TVM_TUNE_DB", raising=False)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "tune.jsonl"


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def tune(path, times, seconds=600):
    runner = Scripted(times)
    with tuning(seconds, path, runner=runner) as report:
        executable = tvm.compile(model(), TARGET)
    np.testing.assert_allclose(answer(executable), np.maximum(X @ W, 0), rtol=1e-4, atol=1e-4)
    return report, runner


def test_a_faster_candidate_is_kept_and_used_later(path):
    # Candidate 2 of the first job is twice as fast; so it is when measured alone.
    fast = lambda job, at: {0: 1.0, 1: 1.1, 2: 0.5}.get(at, 1.2) if job == 0 else 1.0 - 0.5 * at
    limited = lambda job, at: fast(job, at) if job < 2 else None
    report, runner = tune(path, limited)
    assert [len(j.functions) for j in runner.jobs[:2]] == [7, 2]
    assert runner.jobs[0].functions[0] == "c0" and runner.jobs[1].functions[1] == "c2"
    (kernel,) = report.kernels
    assert kernel.knobs and kernel.seconds == 0.5 and kernel.untuned == 1.0
    assert report.tuned == [kernel] and "2.00x" in report.summary()
    record = lines(path)[0]
    assert record["knobs"] == kernel.knobs and record["rule"] == "contraction"
    assert (record["seconds"], record["untuned_seconds"]) == (0.5, 1.0)
    # Without measuring, the file alone gives the same kernel.
    assert tuned_loops(path, kernel) != tuned_loops("off", kernel)


def tuned_loops(path, kernel):
    """The kernel as text, compiled with a database."""

    class Keep:
        after = None

        def run_after_pass(self, mod, info):
            if info.name == "DispatchKernels":
                self.after = mod

    keep = tvm.instrument.pass_instrument(Keep)()
    with tvm.transform.PassContext(instruments=[keep]):
        executable = tvm.compile(model(), TARGET, tune_db=path)
    np.testing.assert_allclose(answer(executable), np.maximum(X @ W, 0), rtol=1e-4, atol=1e-4)
    return keep.after[kernel.name].script()


@pytest.mark.parametrize(
    "times",
    [
        lambda job, at: 1.0 if at == 0 else 0.98,  # within the margin
        lambda job, at: 1.0 + 0.1 * at,  # all slower
        # A disturbance made the untuned form slow once; alone it is as fast.
        lambda job, at: (10.0 if at == 0 else 1.0) if job % 2 == 0 else 1.0,
        # Faster in the first run, slower alone.
        lambda job, at: (1.0 if at == 0 else 0.5) if job % 2 == 0 else 1.0 + at,
        # The candidate crashes when it is measured again.
        lambda job, at: 1.0 - 0.1 * at if job % 2 == 0 else (1.0 if at == 0 else "SIGSEGV"),
        # No time was left to measure it again.
        lambda job, at: 1.0 - 0.1 * at if job % 2 == 0 else None,
    ],
)
def test_never_slower_than_untuned(path, times):
    report, _ = tune(path, lambda job, at: times(job, at) if job < 4 else None)
    assert report.tuned == []
    (kernel,) = report.kernels
    assert kernel.seconds == kernel.untuned
    assert all(r["knobs"] == {} for r in lines(path) if "error" not in r)
    assert tuned_loops(path, kernel) == tuned_loops("off", kernel)


def test_an_earlier_choice_that_does_not_hold_is_dropped(path):
    fast = lambda job, at: 1.0 - 0.1 * at if job < 2 else None
    first, _ = tune(path, fast)
    assert first.tuned
    # Position 1 is the earlier choice from now on.
    second, _ = tune(path, lambda job, at: (1.5 if at == 1 else 1.0) if job == 0 else None)
    assert second.kernels[0].knobs == {} and lines(path)[-1]["knobs"] == {}


def test_a_later_session_goes_on(path):
    one_visit = lambda job, at: 1.0 if job == 0 else None
    first, _ = tune(path, one_visit)
    second, runner = tune(path, one_visit)
    assert 7 <= first.kernels[0].tried < second.kernels[0].tried
    assert len(second.kernels[0].candidates) > 20 and len(runner.jobs[0].functions) == 7


def test_failures_are_recorded_and_not_measured_again(path):
    report, _ = tune(path, lambda job, at: ("SIGILL" if at == 3 else 1.0) if job == 0 else None)
    (failure,) = [r for r in lines(path) if "error" in r]
    assert failure["error"] == "SIGILL" and failure["knobs"]
    assert "1 candidates failed" in report.summary()
    # As if it had never been reached: the failure alone says to pass it over.
    path.write_text(json.dumps(failure) + "\n")
    again, _ = tune(path, lambda job, at: 1.0 if job == 0 else None)
    assert again.kernels[0].tried > report.kernels[0].tried


def test_an_untuned_form_that_fails_leaves_the_kernel_alone(path):
    report, runner = tune(path, lambda job, at: "SIGSEGV" if at == 0 else 0.1)
    assert report.kernels == [] and len(runner.jobs) == 1
    assert lines(path) == []


class Picky(Builder):
    """A builder that fails, as a crash of the compiler does, where one of the forms is refused."""

    def __init__(self, builder, refused):
        self.builder, self.refused, self.builds = builder, refused, 0

    def content(self, form, target):
        return self.builder.content(form, target)

    def build(self, forms, target, library):
        self.builds += 1
        if any(self.refused(form) for form in forms):
            raise BuildError("ended by signal SIGSEGV")
        self.builder.build(forms, target, library)


def test_a_crash_of_the_compiler_is_the_failure_of_one_candidate(path, builder):
    guilty = []  # the first candidate that comes

    def refused(form):
        if form.knobs and not guilty:
            guilty.append(form.knobs)
        return form.knobs in guilty

    picky = Picky(builder, refused)
    runner = Scripted(lambda job, at: 1.0 if job == 0 else None)
    with tuning(600, path, runner=runner, builder=picky) as report:
        tvm.compile(model(), TARGET)
    (failure,) = [r for r in lines(path) if "error" in r]
    assert failure["error"] == "does not compile: ended by signal SIGSEGV"
    assert failure["knobs"] == guilty[0]
    # All the others were measured.
    assert report.kernels[0].seconds == 1.0 and len(runner.jobs[0].functions) == 6


def test_a_compiler_that_always_crashes_leaves_the_model_untuned(path, builder):
    picky = Picky(builder, lambda form: True)
    with tuning(600, path, runner=Scripted(lambda job, at: 1.0), builder=picky) as report:
        executable = tvm.compile(model(), TARGET)
    np.testing.assert_allclose(answer(executable), np.maximum(X @ W, 0), rtol=1e-4, atol=1e-4)
    assert report.kernels == [] and picky.builds > 1


def convolution():
    """A 3x3 convolution for which Winograd's algorithm is planned."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((1, 32, 24, 24), "float32"))
    weight = np.random.default_rng(0).standard_normal((32, 32, 3, 3)).astype(np.float32)
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit_output(relax.op.nn.conv2d(x, relax.const(weight), padding=1))
        builder.emit_func_output(y)
    return builder.get()


def rules_of(mod, **options):
    """The kernel rules of a model, and its answer."""

    class Keep:
        rules = ()

        def run_after_pass(self, mod, info):
            if info.name == "DispatchKernels":
                functions = (f for f in mod.functions.values() if isinstance(f, tvm.tirx.PrimFunc))
                self.rules = {str(f.attrs["kernel_rule"]) for f in functions}

    instrument = tvm.instrument.pass_instrument(Keep)
    keep = instrument()
    with tvm.transform.PassContext(instruments=[keep]):
        executable = tvm.compile(mod, TARGET, **options)
    vm = tvm.runtime.vm.VirtualMachine(executable, tvm.cpu())
    x = np.random.default_rng(1).standard_normal((1, 32, 24, 24)).astype(np.float32)
    return keep.rules, vm["main"](tvm.runtime.tensor(x)).numpy()


class OfForms(Runner):
    """One second for Winograd's algorithm, something else for the direct one, no other times."""

    def __init__(self, direct):
        self.direct, self.jobs = direct, []

    def run(self, job, limit):
        self.jobs.append(job)
        if "form-0" in job.library:
            return {"c0": Outcome(seconds=1.0)}
        if "form-1" not in job.library or self.direct is None:
            return {}
        failed = isinstance(self.direct, str)
        outcome = Outcome(error=self.direct) if failed else Outcome(seconds=self.direct)
        return {"c0": outcome}


@pytest.mark.parametrize("direct", [0.5, 0.98, "SIGSEGV", None])
def test_winograd_is_left_where_the_direct_convolution_is_faster(path, builder, direct):
    runner = OfForms(direct)
    with tuning(600, path, runner=runner, builder=builder) as report:
        tvm.compile(convolution(), TARGET)
    assert len([j for j in runner.jobs if "form" in j.library]) == (
        6 if direct in (0.5, 0.98) else 4
    )
    (choice,) = report.choices
    assert choice.rules == ["winograd", "contraction"]
    assert choice.chosen == (1 if direct == 0.5 else 0)
    (record,) = [r for r in lines(path) if r["key"] == choice.key]
    assert record["rule"] == choice.rules[choice.chosen] and record["untuned_seconds"] == 1.0
    assert ("another algorithm" in report.summary()) == (direct == 0.5)
    before, want = rules_of(convolution(), tune_db="off")
    after, got = rules_of(convolution(), tune_db=path)
    assert "winograd" in before and ("winograd" in after) == (direct != 0.5)
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3 * np.abs(want).max())
    # What is known is not measured again.
    with tuning(600, path, runner=Scripted(lambda job, at: None), builder=builder) as again:
        tvm.compile(convolution(), TARGET)
    assert again.choices == []


def test_no_algorithm_is_measured_when_half_of_the_budget_is_gone(path, builder):
    ticks = iter(range(10**6))
    tuner = tvm.tune.Tuner(
        20, str(path), runner=Scripted(lambda job, at: 1.0), builder=builder,
        clock=lambda: 11.0 * next(ticks),
    )  # fmt: skip
    path.touch()
    with tvm.tune._session(str(path), tuner):
        tvm.compile(convolution(), TARGET)
    assert tuner.report.choices == []


def test_interrupt_keeps_what_was_found(path):
    def times(job, at):
        if job == 2:
            raise KeyboardInterrupt
        return 1.0 - 0.1 * at

    report, _ = tune(path, times)
    assert report.interrupted and "interrupted" in report.summary()
    assert report.tuned and lines(path)[0]["knobs"] == report.kernels[0].knobs


def test_budget_ends_the_measuring(path):
    class Clock:
        now = 0.0

        def __call__(self):
            self.now += 0.25  # every look at the clock
            return self.now

    clock, runner = Clock(), Scripted(lambda job, at: 1.0)
    tuner = tvm.tune.Tuner(30.0, str(path), runner=runner, clock=clock)
    path.touch()
    with tvm.tune._session(str(path), tuner):
        tvm.compile(model(), TARGET)
    assert 10 < tuner.report.elapsed < 33
    assert 1 <= len(runner.jobs) < 20


def test_compile_tunes_with_real_processes(path):
    executable = tvm.compile(model(), TARGET, tune=5, tune_db=path)
    np.testing.assert_allclose(answer(executable), np.maximum(X @ W, 0), rtol=1e-4, atol=1e-4)
    assert all(0 < r["seconds"] <= r["untuned_seconds"] < 1 for r in lines(path))


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_seconds_are_checked(path, seconds):
    with pytest.raises(ValueError, match="positive number"), tuning(seconds, path):
        pass
    assert not path.exists()


def test_the_file_is_checked_before_anything_is_measured(tmp_path):
    with pytest.raises(OSError), tuning(1, tmp_path / "no" / "file"):
        pass


def test_prim_funcs_have_nothing_to_tune():
    from tvm.script import tirx as T

    @T.prim_func
    def main(A: T.Buffer((4,), "float32")):
        A[0] = T.float32(1)

    with pytest.raises(ValueError, match="tune is for Relax functions"):
        tvm.compile(main, "llvm", tune=1)
