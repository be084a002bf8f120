# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Where candidates are measured: an interface, and processes of this machine.

A candidate may crash or never return. So it runs in a process of its own, which is given up and
started anew when it ends or stays silent for too long.
"""

from __future__ import annotations

import abc
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from .process import Closeable, Ended, Kept


@dataclass(frozen=True)
class Job:
    """Functions of a library to compare.

    Attributes:
        library: Path of the shared library.
        functions: Names; all take the same arguments. The first one is the yardstick: the others
            are given up when they take many times as long.
        arguments: Element type and extents of each argument, a tensor.
        rounds: How often each function has its turn.
    """

    library: str
    functions: tuple[str, ...]
    arguments: tuple[tuple[str, tuple[int, ...]], ...]
    rounds: int = 12


@dataclass(frozen=True)
class Outcome:
    """What became of one function.

    Attributes:
        seconds: Least time of one call; None when it failed.
        error: Why it failed, or None.
    """

    seconds: float | None = None
    error: str | None = None


class Runner(Closeable, abc.ABC):
    """Measures functions somewhere. Use it as a context, or call :py:meth:`close` at the end."""

    @abc.abstractmethod
    def run(self, job: Job, limit: float) -> dict[str, Outcome]:
        """Measure the functions of a job, taking turns, on random arguments.

        Args:
            job: What to measure.
            limit: Seconds after which no further turn begins.

        Returns:
            Outcome by name. A function whose turn did not come is left out.

        Raises:
            RuntimeError: Nothing can be measured there at all.
        """


class LocalRunner(Runner):
    """Runs candidates in a process of this machine, with the thread pool that models use.

    Args:
        patience: Seconds that the first function may take for one turn, and the most that any may.
        least_patience: Seconds that every function has for one turn, however quick the first is.
        start_patience: Seconds that the process may take to start.
        command: Command of the process; for tests.
    """

    def __init__(
        self,
        *,
        patience: float = 20.0,
        least_patience: float = 2.0,
        start_patience: float = 120.0,
        command: Sequence[str] | None = None,
    ) -> None:
        self._patience = patience
        self._least = min(least_patience, patience)
        self._kept = Kept(
            "measures candidates",
            command or (sys.executable, "-m", "tvm.tune.worker"),
            runtime_only=True,
            patience=start_patience,
        )

    def run(self, job: Job, limit: float) -> dict[str, Outcome]:
        """See :py:meth:`Runner.run`."""
        until = time.monotonic() + limit
        outcomes: dict[str, Outcome] = {}
        left = list(job.functions)
        while left and (seconds := until - time.monotonic()) > 0:
            current: list[str] = []
            try:
                outcomes |= self._attempt(job, left, seconds, current)
                break
            except Ended as ended:
                self._kept.forget()
                # What was measured before shared its turns with the one that failed.
                guilty = current[0] if current else left[0]
                outcomes[guilty] = Outcome(error=str(ended))
                left.remove(guilty)
                if guilty == job.functions[0]:
                    break
            except BaseException:
                self.close()
                raise
        return outcomes

    def _attempt(self, job: Job, names, limit: float, current: list[str]) -> dict[str, Outcome]:
        """One run; ``current`` holds the function that is running, for when the process ends."""
        worker = self._kept.started()
        worker.send(
            {
                "library": job.library,
                "functions": names,
                "arguments": job.arguments,
                "rounds": job.rounds,
                "limit": limit,
            }
        )
        outcomes: dict[str, Outcome] = {}
        patience = self._patience
        while True:
            message = worker.receive(patience)
            if "start" in message:
                current[:] = [message["start"]]
            elif "first" in message:
                if names and current == [names[0]]:
                    patience = min(self._patience, max(self._least, 100 * message["first"]))
            elif "failed" in message:
                outcomes[message["failed"]] = Outcome(error=message["error"])
            elif "done" in message:
                for name, seconds in message["done"].items():
                    outcomes[name] = Outcome(seconds=seconds)
                return outcomes

    def close(self) -> None:
        """End the process."""
        self._kept.close()
