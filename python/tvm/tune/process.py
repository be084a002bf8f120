# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Processes of this machine that do what may crash or never return, and send JSON lines."""

from __future__ import annotations

import ctypes
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self


class Closeable:
    """A part of the tuner that may hold a process; a context that closes it at the end."""

    def close(self) -> None:
        """Free what is held; the part must not be used after."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc) -> None:
        self.close()


class Ended(Exception):
    """The process ended, or was ended because it stayed silent; the text says which."""


class Worker:
    """A process that takes and sends messages, each a JSON object in a line.

    Args:
        command: What to run.
        runtime_only: Whether it must not load the compiler.
    """

    def __init__(self, command: Sequence[str], *, runtime_only: bool) -> None:
        env = dict(os.environ)
        if runtime_only:
            env["TVM_USE_RUNTIME_LIB"] = "1"
        env["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
        # A session of its own: Ctrl-C is for the compiler, which then ends this process.
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
            start_new_session=True,
        )
        self._rest = b""
        self._selector = selectors.DefaultSelector()
        self._selector.register(self.process.stdout, selectors.EVENT_READ)

    def send(self, message: dict) -> None:
        """Send a message.

        Raises:
            Ended: The process has ended.
        """
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise Ended(self.end()) from None

    def receive(self, patience: float) -> dict:
        """Next message.

        Raises:
            Ended: None came within ``patience`` seconds, or the process has ended.
        """
        until = time.monotonic() + patience
        while b"\n" not in self._rest:
            left = until - time.monotonic()
            if left <= 0 or not self._selector.select(left):
                self.end()
                raise Ended(f"no answer within {patience:.1f} s")
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            if not data:
                raise Ended(self.end())
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            self.end()
            raise Ended("sent something that is no message")
        return message

    def end(self) -> str:
        """End the process if it still runs; how it ended."""
        # It closes its end of the pipe a moment before it is gone.
        try:
            code = self.process.wait(0.2)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self._selector.close()
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                pipe.close()
            except OSError:
                pass  # what could not be written is of no use any more
        if code >= 0:
            return f"the process ended with code {code}"
        try:
            return f"ended by signal {signal.Signals(-code).name}"
        except ValueError:
            return f"ended by signal {-code}"


class Kept:
    """A worker that is started when it is first needed, and anew when it has ended.

    Args:
        task: What it does, for the error when it does not start.
        command: What to run.
        runtime_only: Whether it must not load the compiler.
        patience: Seconds that it may take to start.
    """

    def __init__(
        self, task: str, command: Sequence[str], *, runtime_only: bool, patience: float
    ) -> None:
        self._task, self._command = task, list(command)
        self._runtime_only, self._patience = runtime_only, patience
        self.worker: Worker | None = None

    def started(self) -> Worker:
        """The running worker, which has said that it is ready.

        Raises:
            RuntimeError: It does not start.
        """
        if self.worker is None:
            worker = Worker(self._command, runtime_only=self._runtime_only)
            try:
                worker.receive(self._patience)
            except Ended as ended:
                raise RuntimeError(
                    f"the process that {self._task} does not start: {ended}; command: "
                    + " ".join(self._command)
                ) from None
            except BaseException:
                worker.end()
                raise
            self.worker = worker
        return self.worker

    def forget(self) -> None:
        """The worker has ended."""
        self.worker = None

    def close(self) -> None:
        """End the worker."""
        if self.worker is not None:
            worker, self.worker = self.worker, None
            worker.process.kill()
            worker.end()


def serve(prepare: Callable[[], object] = lambda: None) -> tuple[Callable[[dict], None], Iterator]:
    """In a worker: say that it is ready; what sends messages, and the messages that come in."""
    if sys.platform == "linux":
        # What hangs must not outlive the compiler.
        set_death_signal = 1  # PR_SET_PDEATHSIG
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What others print must not end up among the messages.
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def send(message: dict) -> None:
        channel.write(json.dumps(message) + "\n")
        channel.flush()

    prepare()
    send({"ready": os.getpid()})
    return send, map(json.loads, sys.stdin)
