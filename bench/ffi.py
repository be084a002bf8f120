# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Cost of crossing from Python to C++ and back, beside the released binding and its peers.

    ./dev bench ffi --released VENV [--ours PYTHON] [--rows WORD] [--check]

VENV holds the released apache-tvm-ffi with numpy, pytest, nanobind and cython
(ffi/tests/interop/make_release_venv.sh makes one). Ours is the tree's own build unless --ours names
another interpreter. Each subject is a process of its own; rows are measured in turns, so that noise
hits all alike. Calls are measured with the interpreter lock kept, as the peers do, and released,
which is the default of both tvm_ffi packages. Writes out/bench/ffi.json. --check exits 1 if a row
misses its goal or a subject does not start.
"""

import argparse
import os
import statistics
import subprocess
import sys

import common

ROOT = os.path.dirname(common.HERE)
SOURCES = os.path.join(ROOT, "ffi", "bench")

NANOBIND_GOAL, RELEASED_GOAL, RELEASED_LIMIT, IMPORT_GOAL = 1.2, 0.5, 0.7, 0.6
# Rows that nanobind has not but that have a goal against the release.
AGAINST_RELEASE = (
    "call, 3 own tensors",
    "wrap a numpy array",
    "own tensor to numpy",
    "object there and back",
    "find a global function",
)

# Numpy's own work for the larger part: it cannot be half of what it is.
WITHOUT_GOAL = ("own tensor to numpy by numpy.from_dlpack",)


def ask_python(python, code):
    done = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def build_peers(python, folder):
    """Compile the extensions; returns the kinds that were built."""
    os.makedirs(folder, exist_ok=True)
    suffix = ask_python(python, "import sysconfig as s; print(s.get_config_var('EXT_SUFFIX'))")
    include = ask_python(python, "import sysconfig as s; print(s.get_path('include'))")
    flags = ["-O3", "-DNDEBUG", "-shared", "-fPIC", "-fvisibility=hidden", f"-I{include}"]
    cython_c = os.path.join(folder, "cython_ext.c")

    def output(kind):
        return os.path.join(folder, f"{kind}_ext{suffix}")

    def nanobind():
        root = ask_python(python, "import nanobind, os; print(os.path.dirname(nanobind.__file__))")
        return [
            *("g++", "-std=c++17", "-fno-strict-aliasing", "-Wl,-s", *flags),
            *(f"-I{root}/include", f"-I{root}/ext/robin_map/include"),
            *(f"{root}/src/nb_combined.cpp", f"{SOURCES}/nanobind_ext.cpp"),
            *("-o", output("nanobind")),
        ]

    steps = {
        "capi": lambda: [["gcc", *flags, f"{SOURCES}/capi_ext.c", "-o", output("capi")]],
        "cython": lambda: [
            [python, "-m", "cython", "-3", f"{SOURCES}/cython_ext.pyx", "-o", cython_c],
            ["gcc", *flags, cython_c, "-o", output("cython")],
        ],
        "nanobind": lambda: [nanobind()],
    }
    built = []
    for kind, commands in steps.items():
        source = [f for f in os.listdir(SOURCES) if f.startswith(f"{kind}_ext")][0]
        if (
            os.path.exists(output(kind))
            and os.stat(output(kind)).st_mtime > os.stat(f"{SOURCES}/{source}").st_mtime
        ):
            built.append(kind)
            continue
        try:
            for command in commands():
                subprocess.run(command, check=True, capture_output=True, text=True)
            built.append(kind)
        except (subprocess.CalledProcessError, OSError) as error:
            print(f"{kind} was not built: {getattr(error, 'stderr', error)}", file=sys.stderr)
    return built


def import_times(subjects, rounds):
    """Seconds of `import tvm_ffi` in fresh interpreters, in turns."""
    code = "import time; t = time.perf_counter(); import tvm_ffi; print(time.perf_counter() - t)"
    times = {name: [] for name, _, _ in subjects}
    for _ in range(rounds):
        for name, python, env in subjects:
            done = subprocess.run(
                [python, "-c", code],
                check=True,
                capture_output=True,
                text=True,
                env={**common.clean_env(1), **env},
            )
            times[name].append(float(done.stdout.split()[-1]))
    return {name: statistics.median(t) for name, t in times.items()}


def judge(row, nanoseconds):
    """(ratio to nanobind, ratio to the release, verdict) of one row."""
    ours = nanoseconds["ours"].get(row)
    peer, released = (nanoseconds.get(k, {}).get(row) for k in ("nanobind", "released"))
    to_peer = ours / peer if peer else None
    to_released = ours / released if released else None
    misses = []
    if to_peer is not None and to_peer > NANOBIND_GOAL:
        misses.append(f"nanobind {NANOBIND_GOAL}")
    if to_released is not None and row not in WITHOUT_GOAL:
        limit = RELEASED_GOAL if row in AGAINST_RELEASE else RELEASED_LIMIT
        if to_released > limit:
            misses.append(f"release {limit}")
    return to_peer, to_released, "over " + ", ".join(misses) if misses else "ok"


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    ap.add_argument("--released", required=True, type=os.path.abspath)
    ap.add_argument("--ours", help="interpreter with our package installed")
    ap.add_argument("--library-path", default=os.environ.get("TVM_LIBRARY_PATH", ""))
    ap.add_argument("--rounds", type=int, default=15)
    ap.add_argument("--seconds", type=float, default=0.02, help="per row, subject and round")
    ap.add_argument("--rows", default="", help="only rows that contain this")
    ap.add_argument("--only", default="", help="comma-separated subjects")
    ap.add_argument("--check", action="store_true")
    a = ap.parse_args()
    folder = os.path.join(ROOT, "out", "bench", "ffi")
    release_python = os.path.join(a.released, "bin", "python")
    common.raise_priority()
    tree = {"PYTHONPATH": os.path.join(ROOT, "ffi", "python"), "TVM_LIBRARY_PATH": a.library_path}
    foreign = {"PYTHONPATH": "", "TVM_LIBRARY_PATH": ""}  # else the release would be the tree's
    ours_python, ours_env = (a.ours, foreign) if a.ours else (sys.executable, tree)
    subjects = [
        ("ours", "tvm_ffi", ours_python, ours_env),
        ("released", "tvm_ffi", release_python, foreign),
    ]
    built = build_peers(release_python, folder)
    subjects += [(kind, kind, release_python, foreign) for kind in built]
    if a.only:
        subjects = [s for s in subjects if s[0] in a.only.split(",")]
    workers, rows, failed, over = [], [], {}, False
    for name, kind, python, env in subjects:
        worker = common.Worker(
            name,
            [python, os.path.join(common.HERE, "ffi_worker.py"), kind, folder],
            1,
            env=env.items(),
        )
        if worker.state["event"] != "ready":
            print(name, worker.state, file=sys.stderr)
            over = True
            continue
        workers.append(worker)
        failed[name] = worker.state["failed"]
        rows += [row for row in worker.state["rows"] if row not in rows and a.rows in row]
    times = {w.name: {row: [] for row in rows if row in w.state["rows"]} for w in workers}
    for turn in range(a.rounds):
        for row in rows:
            for worker in workers if turn % 2 == 0 else workers[::-1]:
                if row in times[worker.name]:
                    got = worker.ask(row=row, seconds=a.seconds)
                    times[worker.name][row] += got["times"]
    for worker in workers:
        worker.close()
    medians = {
        name: {row: statistics.median(t) * 1e9 for row, t in of.items()}
        for name, of in times.items()
    }
    names = [w.name for w in workers]
    table = []
    for row in rows:
        peer, released, verdict = judge(row, medians) if "ours" in medians else (None, None, "")
        over |= verdict not in ("ok", "")
        table.append(
            [
                row,
                *(f"{medians[n][row]:.0f}" if row in medians[n] else "-" for n in names),
                f"{peer:.2f}" if peer else "-",
                f"{released:.2f}" if released else "-",
                verdict,
            ]
        )
    print("Nanoseconds, medians\n")
    print(common.table(["operation", *names, "ours/nanobind", "ours/released", ""], table))
    for name, why in failed.items():
        for row, text in why.items():
            print(f"\n- {name}, {row}: {text}")
    imports = {}
    if not a.rows:
        both = [(n, python, env) for n, kind, python, env in subjects if kind == "tvm_ffi"]
        imports = import_times(both, max(5, a.rounds))
        line = ", ".join(f"{n} {common.fmt(t)}" for n, t in imports.items())
        if len(imports) == 2:
            ratio = imports["ours"] / imports["released"]
            over |= ratio > IMPORT_GOAL
            line += f", ratio {ratio:.2f}" + (
                f" (over {IMPORT_GOAL})" if ratio > IMPORT_GOAL else ""
            )
        print(f"\nimport tvm_ffi: {line}")
    os.makedirs(folder, exist_ok=True)
    out = os.path.join(ROOT, "out", "bench", "ffi.json")
    common.save(out, {"machine": common.machine(), "nanoseconds": medians, "import": imports})
    sys.exit(1 if a.check and over else 0)


if __name__ == "__main__":
    main()
