# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""The process that measures candidates; see :py:class:`tvm.tune.LocalRunner`.

It reads jobs from standard input, a JSON object a line, and says what it does before it does it, so
that the other side knows which candidate it died of:

    {"start": name}   about to run it
    {"first": s}      its first call took so long
    {"failed": name, "error": text}
    {"done": {name: seconds of one call}}
"""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Callable

from .process import serve

#: Arguments come in several copies, which calls use in turn, of about so many bytes together: in a
#: model the operands of a kernel are not all in the first caches either.
_ROTATED_BYTES = 16 << 20
_MOST_COPIES = 8
#: Seconds of calls in one turn, at least: clocks and wake-ups do not count then.
_TURN = 3e-4
#: A function that takes so many times the least time has no more turns.
_HOPELESS = 1.3


def _tensor(dtype: str, shape: list[int]):
    """Tensor of random floats between 0.1 and 1, or of zeros: indices then stay inside."""
    import numpy as np

    import tvm
    import tvm_ffi
    from tvm.runtime import _ffi_api

    tensor = tvm.runtime.empty(tuple(shape), dtype)
    count = math.prod(shape)
    if dtype in ("float16", "float32", "float64", "bfloat16"):
        block = np.random.default_rng(0).random(min(count, 1 << 16), np.float32) * 0.9 + 0.1
        data = np.resize(block, count)
        if dtype == "bfloat16":
            data = (data.view(np.uint32) >> 16).astype(np.uint16)
        else:
            data = data.astype(dtype)
    else:
        bits = tvm_ffi.dtype(dtype).bits * tvm_ffi.dtype(dtype).lanes
        data = np.zeros((count * bits + 7) // 8, np.uint8)
    if data.nbytes:
        _ffi_api.TVMTensorCopyFromBytes(tensor, ctypes.c_void_p(data.ctypes.data), data.nbytes)
    return tensor, data.nbytes


def _copies(arguments) -> list[list]:
    first, size = [], 0
    for dtype, shape in arguments:
        tensor, nbytes = _tensor(dtype, shape)
        first.append(tensor)
        size += nbytes
    count = min(_MOST_COPIES, max(1, -(-_ROTATED_BYTES // max(size, 1))))
    return [first] + [[_tensor(*a)[0] for a in arguments] for _ in range(count - 1)]


class _Arguments:
    """Copies of the arguments in turn, whoever asks.

    With turns of its own, each function would find what the one before it has just brought into the
    caches, and the first one would look slow.
    """

    def __init__(self, copies: list[list]) -> None:
        self._copies, self._next = copies, 0

    def take(self, count: int) -> list[list]:
        """The next ``count``."""
        at, size = self._next, len(self._copies)
        self._next = (at + count) % size
        return [self._copies[i % size] for i in range(at, at + count)]


class _Timer:
    """One function and its least time."""

    def __init__(self, function, arguments: _Arguments) -> None:
        self._function, self._arguments = function, arguments
        self._calls = 1
        self.best = math.inf

    def first(self) -> float:
        """Calls that bring the code in and show how many make a turn."""
        self.turn()
        self.best = math.inf
        took = self.turn()
        self._calls = max(1, min(1000, round(_TURN / max(took, 1e-7))))
        return took

    def turn(self) -> float:
        function, calls = self._function, self._arguments.take(self._calls)
        start = time.perf_counter()
        for call in calls:
            function(*call)
        took = (time.perf_counter() - start) / len(calls)
        self.best = min(self.best, took)
        return took


def measure(job: dict, send: Callable[[dict], None]) -> None:
    """Do one job; messages go to ``send``."""
    import tvm

    until = time.monotonic() + job["limit"]
    try:
        module = tvm.runtime.load_module(job["library"])
        arguments = _Arguments(_copies(job["arguments"]))
    except Exception as err:
        for name in job["functions"]:
            send({"failed": name, "error": f"the library does not load: {err}"})
        send({"done": {}})
        return
    timers: dict[str, _Timer] = {}

    def attempt(name: str, work: Callable[[], object]) -> object:
        send({"start": name})
        try:
            return work()
        except Exception as err:
            timers.pop(name, None)
            send({"failed": name, "error": f"{type(err).__name__}: {err}"})
            return None

    for name in job["functions"]:
        if time.monotonic() > until:
            break
        timers[name] = _Timer(module[name], arguments)
        took = attempt(name, timers[name].first)
        if took is not None:
            send({"first": took})
    yardstick = job["functions"][0]
    hopeless: set[str] = set()
    for number in range(job["rounds"]):
        if time.monotonic() > until:
            break
        # Forth and back, so that none always follows the same one.
        order = [n for n in timers if n not in hopeless]
        for name in order if number % 2 == 0 else reversed(order):
            attempt(name, timers[name].turn)
        least = min((t.best for t in timers.values()), default=math.inf)
        # The first turn may have met a disturbance.
        if number > 0:
            hopeless = {n for n, t in timers.items() if t.best > _HOPELESS * least} - {yardstick}
    send({"done": {n: t.best for n, t in timers.items()}})


def _load() -> None:
    """Importing takes its time, which is not the first job's."""
    import tvm  # noqa: F401


def main() -> None:
    """Serve jobs until standard input ends."""
    send, jobs = serve(_load)
    for job in jobs:
        measure(job, send)


if __name__ == "__main__":
    main()
