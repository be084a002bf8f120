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
    func: object
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

    @property
    def weight(self) -> float:
        """Which kernel comes next: the largest first."""
        return self.untuned * self.calls / (1 + self.visits)


@dataclass
class Report:
    """What a tuning session did.

    Attributes:
        kernels: Those that were measured.
        elapsed: Seconds that it took.
        interrupted: Whether Ctrl-C ended it.
        database: File that keeps the results.
    """

    kernels: list[Kernel] = field(default_factory=list)
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
        if not self.kernels:
            return "tuning: no kernel was measured"
        before, after = self.untuned_seconds, self.tuned_seconds
        gain = f"{before / after:.2f}x" if after else "-"
        failed = sum(len(k.failed) for k in self.kernels)
        return (
            f"tuning: {len(self.tuned)} of {len(self.kernels)} kernels got faster in "
            f"{self.elapsed:.1f} s: {before * 1e3:.3g} -> {after * 1e3:.3g} ms ({gain})"
            + (f"; {failed} candidates failed" if failed else "")
            + ("; interrupted" if self.interrupted else "")
        )


class Tuner:
    """Measures the kernels of a module within a time budget.

    Args:
        seconds: The budget, for everything.
        database: File to which results are added.
        runner: Where to measure; processes of this machine by default.
        progress: Called with the seconds spent and a text, now and then.
        clock: Monotonic time in seconds; for tests.
    """

    def __init__(
        self,
        seconds: float,
        database: str,
        *,
        runner: Runner | None = None,
        progress: Callable[[float, str], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.report = Report(database=database)
        self._seconds, self._database = seconds, database
        self._runner = runner
        self._progress = progress or (lambda spent, text: None)
        self._clock = clock
        self._start = 0.0
        self._build_cost = 0.0  # seconds of compiling one candidate, measured

    def __call__(self, tasks, target) -> None:
        """Measure the kernels of a module; called by the compiler.

        Args:
            tasks: ``{"name", "key", "func", "calls"}`` of each distinct kernel.
            target: Target to compile for.
        """
        self._start = self._clock()
        runner = self._runner or LocalRunner()
        kernels: list[Kernel] = []
        try:
            with tempfile.TemporaryDirectory(prefix="tvm-tune-") as folder:
                kernels = self._kernels(tasks, target)
                self._loop(kernels, target, runner, folder)
        except KeyboardInterrupt:
            self.report.interrupted = True
        finally:
            if self._runner is None:
                runner.close()
            for kernel in kernels:
                self._save(kernel, target)
            self.report.kernels += [k for k in kernels if k.seconds > 0]
            self.report.elapsed = self._clock() - self._start

    def _left(self) -> float:
        return self._seconds - (self._clock() - self._start)

    def _kernels(self, tasks, target) -> list[Kernel]:
        """Kernels with something to choose, with an estimate of their time."""
        import tvm

        info_of = tvm.get_global_func("driver.KernelInfo")
        kernels = []
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
            kernel = Kernel(str(task["name"]), str(task["key"]), func, int(task["calls"]))
            kernel.rule = str(found["rule"])
            kernel.candidates = [_plain(knobs) for knobs in found["knobs"]]
            kernel.arguments = tuple((str(t), tuple(int(e) for e in s)) for t, s in arguments)
            kernel.untuned = (info["flops"] or 0.0) / _FLOPS + (info["bytes"] or 0.0) / _BYTES
            self._recall(kernel)
            kernels.append(kernel)
        return kernels

    def _recall(self, kernel: Kernel) -> None:
        """Go on where an earlier session ended."""
        known = _ffi_api.Find(self._database, kernel.key)
        if known is not None and str(known["rule"]) == kernel.rule:
            knobs = _plain(known["knobs"])
            kernel.knobs = knobs if knobs in kernel.candidates else {}
            kernel.tried = kernel.saved = min(int(known["tried"]), len(kernel.candidates))
        for text in _ffi_api.Failed(self._database, kernel.key):
            kernel.failed[str(text)] = "failed before"

    def _loop(self, kernels: list[Kernel], target, runner: Runner, folder: str) -> None:
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
            if not self._visit(kernel, count, target, runner, folder) or kernel.done:
                waiting.remove(kernel)

    def _emit(self, kernel: Kernel, knobs: dict[str, int], target):
        """The form with these knobs, or None when it fails."""
        try:
            return _ffi_api.Emit(kernel.func, target, kernel.rule, knobs)
        except Exception as err:
            self._fail(kernel, knobs, f"{type(err).__name__}: {err}", target)
            return None

    def _take(self, kernel: Kernel, count: int, target) -> list[tuple[dict[str, int], object]]:
        """The untuned form, the best so far, and the next candidates, each with its function.

        Those known to fail are passed over, and those that say what another form does anyway.
        """
        forms = []
        for knobs in [{}, kernel.knobs] if kernel.knobs else [{}]:
            if (func := self._emit(kernel, knobs, target)) is not None:
                kernel.seen.add(str(_ffi_api.KernelKey(func, target)))
                forms.append((knobs, func))
        old = len(forms)
        kernel.tried = max(kernel.tried, 1)
        while len(forms) - old < count and kernel.tried < len(kernel.candidates):
            knobs = kernel.candidates[kernel.tried]
            kernel.tried += 1
            if knobs == kernel.knobs or _text(knobs) in kernel.failed:
                continue
            func = self._emit(kernel, knobs, target)
            content = "" if func is None else str(_ffi_api.KernelKey(func, target))
            if func is not None and content not in kernel.seen:
                kernel.seen.add(content)
                forms.append((knobs, func))
        return forms

    def _visit(self, kernel: Kernel, count: int, target, runner: Runner, folder: str) -> bool:
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
            times = self._measure(kernel, tuple(built), built, library, runner, limit, target)
            if "c0" not in times:
                return False
            kernel.untuned = times["c0"]
            self._judge(kernel, built, times, library, runner, target)
            return True
        finally:
            if os.path.exists(library):
                os.unlink(library)

    def _judge(self, kernel: Kernel, built, times, library: str, runner: Runner, target) -> None:
        """Keep the best form if it stays faster than the untuned one when both are alone."""
        best = min(times, key=times.get)
        kept = next((n for n, knobs in built.items() if n != "c0" and knobs == kernel.knobs), "c0")
        # An earlier choice that is not faster any more is dropped.
        if kept not in times or times[kept] > times["c0"]:
            kept = "c0"
        wins = times[best] <= (1 - MARGIN) * times["c0"]
        if wins and best != kept and (limit := min(_VISIT, self._left())) > 0:
            again = self._measure(
                kernel, ("c0", best), built, library, runner, limit, target, _ROUNDS_ALONE
            )
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
        self, kernel: Kernel, names, built, library, runner, limit, target, rounds: int = _ROUNDS
    ) -> dict[str, float]:
        """Seconds by name of those that work; the others are recorded as failed."""
        job = Job(library, names, kernel.arguments, rounds)
        times = {}
        for name, outcome in runner.run(job, limit).items():
            if outcome.error is not None:
                self._fail(kernel, built[name], outcome.error, target)
            elif outcome.seconds is not None and outcome.seconds > 0:
                times[name] = outcome.seconds
        return times

    def _build(self, kernel: Kernel, forms, target, library: str) -> dict[str, dict[str, int]]:
        """Compile forms of a kernel into a library; those that compile, by name, untuned first."""
        from tvm.driver import build_prim_funcs
        from tvm.ir import GlobalVar, IRModule

        emitted, built = {}, {}
        for index, (knobs, func) in enumerate(forms):
            name = f"c{index}"
            emitted[GlobalVar(name)] = func.with_attr("global_symbol", name)
            built[name] = knobs
        try:
            if built:
                build_prim_funcs(IRModule(emitted), target).export_library(library)
            return built
        except Exception as err:
            if len(forms) == 1:
                self._fail(kernel, forms[0][0], f"does not compile: {err}", target)
                return {}
        # Which one is it?
        works = [form for form in forms if self._build(kernel, [form], target, library)]
        return self._build(kernel, works, target, library) if len(works) < len(forms) else {}

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


def _plain(knobs) -> dict[str, int]:
    return {str(name): int(value) for name, value in knobs.items()}


def _text(knobs: dict[str, int]) -> str:
    return str(_ffi_api.KnobsText(knobs))


def _now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
