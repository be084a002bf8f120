# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""A repeated VM call makes no heap or map call: the C++ test runs under the allocation counter."""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def _runtime_tests():
    folders = [ROOT / "build" / "bin"]
    if "TVM_LIBRARY_PATH" in os.environ:
        folders.insert(0, pathlib.Path(os.environ["TVM_LIBRARY_PATH"]).parent / "bin")
    for folder in folders:
        if (folder / "runtime_tests").exists():
            return folder / "runtime_tests"
    pytest.skip("runtime_tests is not built")


@pytest.fixture
def counter(tmp_path):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    out = tmp_path / "liballoc_counter.so"
    source = ROOT / "tests" / "runtime" / "alloc_counter.c"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-o", str(out), str(source), "-ldl"], check=True
    )
    return out


def test_steady_calls_allocate_nothing(counter):
    env = dict(os.environ, LD_PRELOAD=str(counter))
    run = subprocess.run(
        [str(_runtime_tests()), "--gtest_filter=*SteadyCallsAllocateNothing"],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "[  PASSED  ] 1 test" in run.stdout
    assert "SKIPPED" not in run.stdout
