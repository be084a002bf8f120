# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""What to measure next, and what to keep.

Each distinct kernel of a model has a list of candidates, ranked by its rule. The kernel with the
largest share of the model's time per visit gets the next visit: its untuned form, the best so far
and the next few candidates are compiled into one library and take turns. A candidate is kept when
it beats the untuned form by a margin, and again when the two alone are measured anew.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone

from . import _ffi_api
from .builder import Builder, BuildError, Form, LocalBuilder
from .runner import Job, LocalRunner, Runner

#: A candidate is kept when it takes less than 1 - this part of the untuned time.
MARGIN = 0.03
#: Candidates measured in one visit of a kernel, besides the untuned form and the best so far.
_PER_VISIT = 6
#: Candidates of a kernel that are looked at.
_CANDIDATES = 64
#: Assumed before anything is measured: operations and bytes a second.
_FLOPS, _BYTES = 5e10, 1e10
#: Longest that one visit measures, in seconds.
_VISIT = 3.0
#: How often each algorithm of an operator has its turns.
_FORM_TURNS = 3
#: Turns of each form in a visit, and of a winner and the untuned form alone. Least times of so many
#: turns differ by less than the margin when the forms are equally fast.
_ROUNDS, _ROUNDS_ALONE = 40, 120


@dataclass
class Kernel:
    """A distinct kernel of the model, and what is known of it.

    Attributes:
        name: Its name in the module.
        key: Key of the database.
        calls: How often the model calls it.
        untuned: Seconds of one call with the rule's own choice; estimated before the first visit.
        seconds: The same with ``knobs``.
        knobs: The best so far; empty for the rule's own choice.
        tried: Candidates measured so far, in this session or before.
        failed: Why candidates failed, by their knobs as text.
    """

    name: str
    key: str
    group: str  # as JSON
    calls: int
    rule: str = ""
    candidates: list[dict[str, int]] = field(default_factory=list)
    arguments: tuple = ()
    untuned: float = 0.0
    seconds: float = 0.0
    knobs: dict[str, int] = field(default_factory=dict)
    tried: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    visits: int = 0
    saved: int = 0
    seen: set[str] = field(default_factory=set)  # content of the forms measured so far

    @property
    def done(self) -> bool:
        """Whether nothing is left to measure."""
        return self.visits > 0 and self.tried >= len(self.candidates)

    def form(self, knobs: dict[str, int]) -> Form:
        """The kernel with these knobs."""
        return Form(self.group, self.rule, knobs)

    @property
    def weight(self) -> float:
        """Which kernel comes next: the largest first."""
        return self.untuned * self.calls / (1 + self.visits)


@dataclass
class Choice:
    """Which of several algorithms computes an operator; the first one is the planned one.

    Attributes:
        key: Key of the database.
        rules: Kernel rule of each.
        seconds: Least time of one call of each that works, by position.
        chosen: Position of the one to use.
    """

    key: str
    rules: list[str]
    seconds: dict[int, float] = field(default_factory=dict)
    chosen: int = 0


@dataclass
class Report:
    """What a tuning session did.

    Attributes:
        kernels: Those that were measured.
        choices: Operators for which several algorithms were measured.
        elapsed: Seconds that it took.
        interrupted: Whether Ctrl-C ended it.
        database: File that keeps the results.
    """

    kernels: list[Kernel] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    elapsed: float = 0.0
    interrupted: bool = False
    database: str = ""

    @property
    def tuned(self) -> list[Kernel]:
        """Kernels that will not be compiled as the rules would."""
        return [k for k in self.kernels if k.knobs]

    @property
    def untuned_seconds(self) -> float:
        """Time of all measured kernels in one run of the model, untuned."""
        return sum(k.untuned * k.calls for k in self.kernels)

    @property
    def tuned_seconds(self) -> float:
        """The same with the best knobs."""
        return sum(k.seconds * k.calls for k in self.kernels)

    def summary(self) -> str:
        """One line for people."""
        if not self.kernels and not self.choices:
            return "tuning: no kernel was measured"
        before, after = self.untuned_seconds, self.tuned_seconds
        gain = f"{before / after:.2f}x" if after else "-"
        failed = sum(len(k.failed) for k in self.kernels)
        others = sum(c.chosen != 0 for c in self.choices)
        return (
            f"tuning: {len(self.tuned)} of {len(self.kernels)} kernels got faster in "
            f"{self.elapsed:.1f} s: {before * 1e3:.3g} -> {after * 1e3:.3g} ms ({gain})"
            + (f"; {others} operators by another algorithm" if others else "")
            + (f"; {failed} candidates failed" if failed else "")
            + ("; interrupted" if self.interrupted else "")
        )


class Tuner:
    """Measures the kernels of a module within a time budget.

    Args:
        seconds: The budget, for everything.
        database: File to which results are added.
        runner: Where to measure; processes of this machine by default.
        builder: Where to compile; processes of this machine by default.
        progress: Called with the seconds spent and a text, now and then.
        clock: Monotonic time in seconds; for tests.
    """

    def __init__(
        self,
        seconds: float,
        database: str,
        *,
        runner: Runner | None = None,
        builder: Builder | None = None,
        progress: Callable[[float, str], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.report = Report(database=database)
        self._seconds, self._database = seconds, database
        self._own = [
            part for part, given in (("runner", runner), ("builder", builder)) if not given
        ]
        self._runner = runner or LocalRunner()
        self._builder = builder or LocalBuilder()
        self._progress = progress or (lambda spent, text: None)
        self._clock = clock
        self._start: float | None = None  # of the compilation that is measured
        self._build_cost = 0.0  # seconds of compiling one candidate, measured

    def __call__(self, tasks, target) -> None:
        """Measure the kernels of a module, or the forms of one operator; called by the compiler.

        Args:
            tasks: ``{"name", "key", "func", "calls"}`` of each distinct kernel, which ends the
                measuring; before that, one ``{"key", "forms": [{"rule", "func"}]}`` at a time.
            target: Target to compile for.
        """
        if self._start is None:
            self._start = self._clock()
        if len(tasks) == 1 and "forms" in tasks[0]:
            self._choose(tasks[0], target)
            return
        kernels: list[Kernel] = []
        try:
            if not self.report.interrupted:
                with tempfile.TemporaryDirectory(prefix="tvm-tune-") as folder:
                    self._kernels(tasks, target, kernels)
                    self._loop(kernels, target, folder)
        except KeyboardInterrupt:
            self.report.interrupted = True
        finally:
            self.close()
            for kernel in kernels:
                self._save(kernel, target)
            self.report.kernels += [k for k in kernels if k.seconds > 0]
            self.report.elapsed = self._clock() - self._start
            self._start = None

    def close(self) -> None:
        """End the processes that were not given; they are started again when they are needed."""
        for part in self._own:
            getattr(self, f"_{part}").close()

    def _left(self) -> float:
        return self._seconds - (self._clock() - self._start)

    def _kernels(self, tasks, target, kernels: list[Kernel]) -> None:
        """Add the kernels with something to choose, with an estimate of their time."""
        import tvm

        info_of = tvm.get_global_func("driver.KernelInfo")
        for task in tasks:
            if self._left() <= 0:
                break
            func, arguments = task["func"], _ffi_api.Arguments(task["func"])
            if arguments is None:
                continue
            found = _ffi_api.Candidates(func, target, _CANDIDATES)
            if len(found["knobs"]) < 2:
                continue
            info = info_of(func)
            text = tvm.ir.save_json(func)
            kernel = Kernel(str(task["name"]), str(task["key"]), text, int(task["calls"]))
            kernel.rule = str(found["rule"])
            kernel.candidates = [_plain(knobs) for knobs in found["knobs"]]
            kernel.arguments = _shapes(arguments)
            kernel.untuned = (info["flops"] or 0.0) / _FLOPS + (info["bytes"] or 0.0) / _BYTES
            self._recall(kernel)
            kernels.append(kernel)

    def _recall(self, kernel: Kernel) -> None:
        """Go on where an earlier session ended."""
        known = _ffi_api.Find(self._database, kernel.key)
        if known is not None and str(known["rule"]) == kernel.rule:
            knobs = _plain(known["knobs"])
            kernel.knobs = knobs if knobs in kernel.candidates else {}
            kernel.tried = kernel.saved = min(int(known["tried"]), len(kernel.candidates))
        for text in _ffi_api.Failed(self._database, kernel.key):
            kernel.failed[str(text)] = "failed before"

    def _loop(self, kernels: list[Kernel], target, folder: str) -> None:
        waiting = [k for k in kernels if not k.done]
        while waiting and self._left() > 0:
            kernel = max(waiting, key=lambda k: k.weight)
            # What is compiled must also be measured.
            count = _PER_VISIT
            if self._build_cost:
                count = min(count, int(0.5 * self._left() / self._build_cost) - 1)
            if count < 1:
                break
            gain = f", {kernel.untuned / kernel.seconds:.2f}x" if kernel.seconds else ""
            self._progress(
                self._clock() - self._start,
                f"{kernel.name}: {kernel.tried} of {len(kernel.candidates)} candidates{gain}",
            )
            if not self._visit(kernel, count, target, folder) or kernel.done:
                waiting.remove(kernel)

    def _content(self, kernel: Kernel, knobs: dict[str, int], target) -> str | None:
        """What the form with these knobs is, or None when it fails."""
        try:
            return self._builder.content(kernel.form(knobs), target)
        except BuildError as err:
            self._fail(kernel, knobs, str(err), target)
            return None

    def _take(self, kernel: Kernel, count: int, target) -> list[dict[str, int]]:
        """The knobs of the untuned form, of the best so far, and of the next candidates.

        Those known to fail are passed over, and those that say what another form does anyway.
        """
        forms = []
        for knobs in [{}, kernel.knobs] if kernel.knobs else [{}]:
            if (content := self._content(kernel, knobs, target)) is not None:
                kernel.seen.add(content)
                forms.append(knobs)
        old = len(forms)
        kernel.tried = max(kernel.tried, 1)
        while len(forms) - old < count and kernel.tried < len(kernel.candidates):
            knobs = kernel.candidates[kernel.tried]
            kernel.tried += 1
            if knobs == kernel.knobs or _text(knobs) in kernel.failed:
                continue
            content = self._content(kernel, knobs, target)
            if content is not None and content not in kernel.seen:
                kernel.seen.add(content)
                forms.append(knobs)
        return forms

    def _visit(self, kernel: Kernel, count: int, target, folder: str) -> bool:
        """Measure some candidates; False when the kernel cannot be measured."""
        before, started = kernel.tried, self._clock()
        forms = self._take(kernel, count, target)
        kernel.visits += 1
        library = os.path.join(folder, f"{kernel.key[:16]}-{kernel.visits}.so")
        try:
            built = self._build(kernel, forms, target, library)
            self._build_cost = max(self._clock() - started, 1e-3) / len(forms) if forms else 0.0
            if {} not in built.values():
                return False
            limit = min(_VISIT, self._left())
            if limit <= 0:
                kernel.tried = before  # not measured after all
                return False
            times = self._measure(kernel, tuple(built), built, library, limit, target)
            if "c0" not in times:
                return False
            kernel.untuned = times["c0"]
            self._judge(kernel, built, times, library, target)
            return True
        finally:
            if os.path.exists(library):
                os.unlink(library)

    def _judge(self, kernel: Kernel, built, times, library: str, target) -> None:
        """Keep the best form if it stays faster than the untuned one when both are alone."""
        best = min(times, key=times.get)
        kept = next((n for n, knobs in built.items() if n != "c0" and knobs == kernel.knobs), "c0")
        # An earlier choice that is not faster any more is dropped.
        if kept not in times or times[kept] > times["c0"]:
            kept = "c0"
        wins = times[best] <= (1 - MARGIN) * times["c0"]
        if wins and best != kept and (limit := min(_VISIT, self._left())) > 0:
            alone = ("c0", best)
            again = self._measure(kernel, alone, built, library, limit, target, _ROUNDS_ALONE)
            if len(again) == 2 and again[best] <= (1 - MARGIN) * again["c0"]:
                if kept == "c0" or times[best] < times[kept]:
                    kept = best
                    times = {**times, **again}
                    kernel.untuned = times["c0"]
        changed = kernel.knobs != built[kept]
        kernel.knobs, kernel.seconds = built[kept], times[kept]
        if changed:
            self._save(kernel, target, force=True)

    def _measure(
        self, kernel: Kernel, names, built, library, limit, target, rounds: int = _ROUNDS
    ) -> dict[str, float]:
        """Seconds by name of those that work; the others are recorded as failed."""
        job = Job(library, names, kernel.arguments, rounds)
        times = {}
        for name, outcome in self._runner.run(job, limit).items():
            if outcome.error is not None:
                self._fail(kernel, built[name], outcome.error, target)
            elif outcome.seconds is not None and outcome.seconds > 0:
                times[name] = outcome.seconds
        return times

    def _build(self, kernel: Kernel, forms, target, library: str) -> dict[str, dict[str, int]]:
        """Compile forms of a kernel into a library; those that compile, by name, untuned first."""
        if not forms:
            return {}
        try:
            self._builder.build([kernel.form(knobs) for knobs in forms], target, library)
            return {f"c{index}": knobs for index, knobs in enumerate(forms)}
        except BuildError as err:
            if len(forms) == 1:
                self._fail(kernel, forms[0], f"does not compile: {err}", target)
                return {}
        # Which one is it?
        works = [form for form in forms if self._build(kernel, [form], target, library)]
        return self._build(kernel, works, target, library) if len(works) < len(forms) else {}

    def _choose(self, task, target) -> None:
        """Measure forms of an operator and record the best, unless too little time is left."""
        import tvm

        forms = [Form(tvm.ir.save_json(f["func"]), str(f["rule"])) for f in task["forms"]]
        arguments = [_ffi_api.Arguments(f["func"]) for f in task["forms"]]
        # Most of the budget is for the kernels.
        if self.report.interrupted or self._left() < 0.5 * self._seconds or None in arguments:
            return
        choice = Choice(str(task["key"]), [form.rule for form in forms])
        text = f"{' or '.join(choice.rules)} ({len(self.report.choices) + 1})"
        self._progress(self._clock() - self._start, text)
        try:
            with tempfile.TemporaryDirectory(prefix="tvm-tune-") as folder:
                self._time_forms(choice, forms, [_shapes(a) for a in arguments], target, folder)
        except KeyboardInterrupt:
            self.report.interrupted = True
        if 0 not in choice.seconds:
            return
        self.report.choices.append(choice)
        result = {
            "rule": choice.rules[choice.chosen],
            "knobs": {"form": choice.chosen} if choice.chosen else {},
            "seconds": choice.seconds[choice.chosen],
            "untuned_seconds": choice.seconds[0],
            "tried": len(forms),
            "date": _now(),
        }
        _ffi_api.Append(self._database, choice.key, target, result)

    def _time_forms(self, choice: Choice, forms, arguments, target, folder: str) -> None:
        """Fill a choice: forms take other weights, so each has jobs of its own, in turns."""
        jobs = {}
        for position, form in enumerate(forms):
            library = os.path.join(folder, f"form-{position}.so")
            try:
                self._builder.build([form], target, library)
            except BuildError:
                if position == 0:
                    return
                continue
            jobs[position] = Job(library, ("c0",), arguments[position], _ROUNDS)
        if 0 not in jobs:
            return
        seconds: dict[int, float] = {}
        for _ in range(_FORM_TURNS):
            for position in list(jobs):
                limit = min(_VISIT, self._left())
                outcome = self._runner.run(jobs[position], limit).get("c0") if limit > 0 else None
                if outcome is None or outcome.seconds is None:
                    del jobs[position]
                    seconds.pop(position, None)
                    continue
                seconds[position] = min(outcome.seconds, seconds.get(position, outcome.seconds))
        if 0 not in jobs:
            return
        choice.seconds = seconds
        best = min(seconds, key=seconds.get)
        if seconds[best] <= (1 - MARGIN) * seconds[0]:
            choice.chosen = best

    def _fail(self, kernel: Kernel, knobs: dict[str, int], why: str, target) -> None:
        if _text(knobs) in kernel.failed:
            return
        kernel.failed[_text(knobs)] = why
        self._progress(self._clock() - self._start, f"{kernel.name}: {_text(knobs)}: {why}")
        if not knobs:
            return  # the next session may fare better
        result = {"rule": kernel.rule, "knobs": knobs, "error": why[:1000], "date": _now()}
        _ffi_api.Append(self._database, kernel.key, target, result)

    def _save(self, kernel: Kernel, target, force: bool = False) -> None:
        """Record the state of a kernel, unless it is recorded already."""
        if kernel.seconds <= 0 or (kernel.saved == kernel.tried and not force):
            return
        result = {
            "rule": kernel.rule,
            "knobs": kernel.knobs,
            "seconds": kernel.seconds,
            "untuned_seconds": kernel.untuned,
            "tried": kernel.tried,
            "date": _now(),
        }
        _ffi_api.Append(self._database, kernel.key, target, result)
        kernel.saved = kernel.tried


def _shapes(arguments) -> tuple:
    return tuple((str(dtype), tuple(int(e) for e in shape)) for dtype, shape in arguments)


def _plain(knobs) -> dict[str, int]:
    return {str(name): int(value) for name, value in knobs.items()}


def _text(knobs: dict[str, int]) -> str:
    return str(_ffi_api.KnobsText(knobs))


def _now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
