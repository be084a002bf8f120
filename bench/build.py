# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""How long the tree takes to build: from nothing, with one pass touched, with nothing changed.

    ./dev bench build [--touch FILE] [--keep]

Builds into out/bench/build without ccache and prints each time beside its budget on 2 cores.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time

import common

ROOT = os.path.dirname(common.HERE)
BUDGETS = {"from nothing": 600, "one pass touched": 30, "nothing changed": 3}


def timed(argv, env):
    start = time.perf_counter()
    done = subprocess.run(argv, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.exit(f"{' '.join(argv)} failed:\n{done.stdout.decode()[-4000:]}")
    return time.perf_counter() - start


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--touch", default="src/tirx/transform/stmt_simplify.cc")
    ap.add_argument("--keep", action="store_true", help="keep the build folder")
    a = ap.parse_args()
    folder = os.path.join(ROOT, "out", "bench", "build")
    shutil.rmtree(folder, ignore_errors=True)
    env = {**os.environ, "CCACHE_DISABLE": "1"}
    configure = ["cmake", "--preset", os.environ.get("TVM_PRESET", "release"), "-B", folder]
    seconds = {"from nothing": timed(configure, env) + timed(["ninja", "-C", folder], env)}
    os.utime(os.path.join(ROOT, a.touch))
    seconds["one pass touched"] = timed(["ninja", "-C", folder], env)
    seconds["nothing changed"] = timed(["ninja", "-C", folder], env)
    rows = [
        (what, f"{took:.1f} s", f"{BUDGETS[what]} s", "ok" if took <= BUDGETS[what] else "OVER")
        for what, took in seconds.items()
    ]
    print(common.table(["build", "time", "budget", ""], rows))
    os.makedirs(os.path.join(ROOT, "out", "bench"), exist_ok=True)
    common.save(os.path.join(ROOT, "out", "bench", "build.json"), seconds)
    if not a.keep:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
