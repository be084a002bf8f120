# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Shared by the benchmark drivers: machine facts, priority, workers, medians, tables."""

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def raise_priority(level=-15):
    """Keep neighbours off the measured cores. Linux weighs whole sessions against each other
    (autogroup), so a plain nice value is not enough there. Needs root; silently does without."""
    for attempt in (
        lambda: open("/proc/self/autogroup", "w").write(str(level)),
        lambda: os.setpriority(os.PRIO_PROCESS, 0, level),
    ):
        try:
            attempt()
        except OSError:
            pass


def machine():
    info = {}
    with open("/proc/cpuinfo") as f:
        for line in f:
            key, _, val = line.partition(":")
            info.setdefault(key.strip(), val.strip())
    flags = info.get("flags", "").split()
    return {
        "cpu": info.get("model name"),
        "family_model": f"{info.get('cpu family')}/{info.get('model')}",
        "cores": os.cpu_count(),
        "isa": [
            f
            for f in (
                "avx2",
                "fma",
                "avx512f",
                "avx512_vnni",
                "avx512_bf16",
                "avx512_fp16",
                "avx_vnni",
                "amx_tile",
            )
            if f in flags
        ],
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def clean_env(threads, **extra):
    env = {
        k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
    }
    for key in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TVM_NUM_THREADS"):
        env[key] = str(threads)
    env.update({"PYTHONDONTWRITEBYTECODE": "", "TF_CPP_MIN_LOG_LEVEL": "3"}, **extra)
    return env


def pin(threads):
    """One thread runs on the last core, which the kernel's own work uses least."""
    n = os.cpu_count()
    os.sched_setaffinity(0, range(n - threads, n) if threads < n else range(n))


class Worker:
    """A child that prepares one subject, says so in a JSON line, then answers commands."""

    def __init__(self, name, argv, threads, timeout=1200, env=()):
        self.name, self.timeout = name, timeout
        self.err = tempfile.TemporaryFile()
        self.p = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.err,
            env=clean_env(threads, **dict(env)),
            preexec_fn=lambda: pin(threads),
            cwd=HERE,
        )
        self.state = self._read()

    def _read(self):
        import select

        deadline, buf = time.time() + self.timeout, b""
        fd = self.p.stdout.fileno()
        while True:
            left = deadline - time.time()
            if left <= 0 or not select.select([fd], [], [], left)[0]:
                self.p.kill()
                return {
                    "event": "fail",
                    "stage": "timeout",
                    "error": f"no answer in {self.timeout} s",
                }
            chunk = os.read(fd, 65536)
            if not chunk:
                self.p.wait()
                self.err.seek(0)
                said = self.err.read().decode(errors="replace").strip()
                said = said if len(said) < 600 else said[:300] + " ... " + said[-300:]
                return {
                    "event": "fail",
                    "stage": "crash",
                    "error": f"exit {self.p.returncode}: {said}",
                }
            buf += chunk
            for line in buf.split(b"\n")[:-1]:
                if line.startswith(b'{"event"'):
                    return json.loads(line)
            buf = buf[buf.rfind(b"\n") + 1 :]

    def ask(self, **msg):
        self.p.stdin.write((json.dumps(msg) + "\n").encode())
        self.p.stdin.flush()
        return self._read()

    def close(self):
        try:
            self.p.stdin.close()
            self.p.wait(10)
        except Exception:
            self.p.kill()
        self.err.close()


def start(engine, argv, threads, timeout, states):
    """A Worker for `engine` that is ready, or None with its error on stderr; `states` keeps its state."""
    w = Worker(engine, argv, threads, timeout)
    states[engine] = w.state
    if w.state["event"] == "ready":
        return w
    w.close()
    print(f"  {engine}: {w.state['error'][-500:]}", file=sys.stderr, flush=True)
    return None


def reply(**msg):
    """From inside a worker. Never mixed with what a library prints: the event key comes first."""
    os.write(reply.fd, (json.dumps({"event": msg.pop("event"), **msg}) + "\n").encode())


reply.fd = 1


def own_stdout():
    """In a worker: keep the pipe for replies, send every library's stdout to stderr."""
    reply.fd = os.dup(1)
    os.dup2(2, 1)


def memory():
    """(current, peak) resident MiB of this process."""
    got = {}
    with open("/proc/self/status") as f:
        for line in f:
            if line.startswith(("VmRSS", "VmHWM")):
                got[line[:5]] = int(line.split()[1]) / 1024
    return round(got["VmRSS"], 1), round(got["VmHWM"], 1)


def interleave(workers, rounds, seconds, min_iters=1):
    """Round-robin: in every round each worker runs for about `seconds`. Returns all times."""
    times = {w.name: [] for w in workers}
    for r in range(rounds):
        for w in workers if r % 2 == 0 else workers[::-1]:
            time.sleep(0.03)  # let the previous worker's pool stop spinning
            got = w.ask(cmd="run", seconds=seconds, min_iters=min_iters)
            if got["event"] == "times":
                times[w.name] += got["times"]
            else:
                times[w.name] = times[w.name] or []
                w.state = got
    return times


def serve(step):
    """In a worker: answer run commands by timing step()."""
    for line in sys.stdin:
        msg = json.loads(line)
        times, end = [], time.perf_counter() + msg["seconds"]
        while len(times) < msg["min_iters"] or time.perf_counter() < end:
            t = time.perf_counter()
            step()
            times.append(time.perf_counter() - t)
        reply(event="times", times=times)


def summary(times):
    if not times:
        return None
    s = sorted(times)
    return {
        "n": len(s),
        "median": statistics.median(s),
        "min": s[0],
        "p90": s[int(0.9 * (len(s) - 1))],
    }


def fmt(seconds):
    if seconds is None:
        return "-"
    for unit, k in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * k >= 1 or unit == "µs":
            v = seconds * k
            return f"{v:.3g} {unit}" if v < 1000 else f"{v:.0f} {unit}"


def table(head, rows):
    out = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(out + ["| " + " | ".join(str(c) for c in row) + " |" for row in rows])


def save(path, data):
    with open(path, "w") as f:
        json.dump(data, f, indent=1)
        f.write("\n")
