# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Tuning: other forms of a model's kernels are measured, and the best kept in a file.

No model needs it: kernels are planned from what is known of the machine. Where a plan misses, a
measurement on the machine itself finds it.

    with tvm.tune.tuning(60) as report:
        executable = tvm.compile(mod, {"kind": "llvm", "mcpu": "native"})
    print(report.summary())

Later compilations on the same kind of machine use what the file says.
"""

from __future__ import annotations

import contextlib
import math
import os
import tempfile
from collections.abc import Callable, Iterator

from tvm._lazy import attach as _attach

__getattr__, __dir__ = _attach(
    __name__,
    globals(),
    modules=("build_worker", "builder", "process", "runner", "tuner", "worker"),
    names={
        "BuildError": "builder",
        "Builder": "builder",
        "Choice": "tuner",
        "Form": "builder",
        "LocalBuilder": "builder",
        "Job": "runner",
        "LocalRunner": "runner",
        "Outcome": "runner",
        "Runner": "runner",
        "Kernel": "tuner",
        "Report": "tuner",
        "Tuner": "tuner",
    },
)


@contextlib.contextmanager
def tuning(
    seconds: float | None = None,
    database: str | os.PathLike | None = None,
    *,
    runner=None,
    builder=None,
    progress: Callable[[float, str], None] | None = None,
) -> Iterator:
    """Tune the Relax functions that are compiled inside, on this thread.

    Ctrl-C while measuring ends the measuring only: what was found so far is kept and used.

    Args:
        seconds: Budget of one compilation's measurements; None measures nothing and only uses the
            database.
        database: File of measurements, ``"off"`` for none. Left out: ``TVM_TUNE_DB``, else a file
            in the compile cache. Without any of these, what is measured is used but not kept.
        runner: Where candidates are measured, a :py:class:`Runner`; processes of this machine by
            default.
        builder: Where candidates are compiled, a :py:class:`Builder`; a process of this machine by
            default.
        progress: Called with the seconds spent and a text, now and then.

    Yields:
        A :py:class:`Report`, filled while the compilation runs; None without ``seconds``.

    Raises:
        ValueError: ``seconds`` is no positive finite number.
        OSError: The database cannot be written.
    """
    from . import _ffi_api

    if seconds is not None and not 0 < seconds < math.inf:
        raise ValueError(f"the seconds of tuning must be a positive number, got {seconds}")
    path = None if database is None else os.fspath(database)
    path = "" if path == "off" else path
    if seconds is None:
        with _session(path, None):
            yield None
        return
    from .tuner import Tuner

    with contextlib.ExitStack() as stack:
        if not (path := path if path is not None else str(_ffi_api.DatabasePath())):
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tvm-tune-"))
            path = os.path.join(folder, "tune.jsonl")
        # Better now than after a minute of measuring.
        with open(path, "ab"):
            pass
        tuner = Tuner(seconds, path, runner=runner, builder=builder, progress=progress)
        stack.callback(tuner.close)
        stack.enter_context(_session(path, tuner))
        yield tuner.report


@contextlib.contextmanager
def _session(path: str | None, measure) -> Iterator[None]:
    from . import _ffi_api

    _ffi_api.EnterSession(path, measure)
    try:
        yield
    finally:
        _ffi_api.ExitSession()
