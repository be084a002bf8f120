# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""The public headers stand alone, compile without warnings and stay small.

A compiler that is not installed is skipped. By default each header is compiled alone in one cell of
the matrix, a different one for neighbours, and all headers together in every cell; with
``TVM_TEST_LONG=1`` each header is compiled alone in every cell.
"""

import itertools
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tvm_ffi import libinfo

INCLUDE = Path(libinfo.find_include_path())
HEADERS = sorted(str(path.relative_to(INCLUDE)) for path in (INCLUDE / "tvm/ffi").rglob("*.h"))
# These need the CUDA toolkit.
CUDA_HEADERS = {name for name in HEADERS if name.startswith("tvm/ffi/extra/cuda/")}
PLAIN_HEADERS = [name for name in HEADERS if name not in CUDA_HEADERS]

# Lines of <tvm/ffi/function.h> of apache-tvm-ffi 0.1.15.post2 after `g++ -E -P -std=c++17`, by the
# release of libstdc++ that supplied the standard headers. Measured with the published wheel.
RELEASED_FUNCTION_LINES = {12: 51249}
GOAL = 0.65


def find_compilers() -> list[str]:
    """One g++ and one clang++, where installed."""
    families = (("g++",), ("clang++", "clang++-22", "clang++-19", "clang++-16", "clang++-14"))
    found = (next(filter(shutil.which, names), None) for names in families)
    return [name for name in found if name is not None]


CELLS = list(itertools.product(find_compilers(), ("c++17", "c++20")))


def run_compiler(cell: tuple[str, str], source: str, *options: str) -> subprocess.CompletedProcess:
    compiler, standard = cell
    command = [compiler, f"-std={standard}", "-x", "c++", "-", *options]
    command += [f"-I{path}" for path in libinfo.include_paths()]
    return subprocess.run(command, input=source, capture_output=True, text=True, check=False)


def check(cell: tuple[str, str], headers: list[str]) -> None:
    source = "".join(f"#include <{name}>\n" for name in headers)
    done = run_compiler(cell, source, "-fsyntax-only", "-Wall", "-Wextra", "-Werror")
    assert done.returncode == 0, f"{cell}:\n{source}{done.stderr[:4000]}"


def test_there_is_something_to_check():
    assert len(PLAIN_HEADERS) > 50
    assert "tvm/ffi/function.h" in PLAIN_HEADERS


@pytest.mark.skipif(not CELLS, reason="neither g++ nor clang++ is installed")
@pytest.mark.parametrize("header", PLAIN_HEADERS)
def test_header_compiles_alone(header):
    start = PLAIN_HEADERS.index(header)
    full = "TVM_TEST_LONG" in os.environ
    for cell in CELLS if full else [CELLS[start % len(CELLS)]]:
        check(cell, [header])


@pytest.mark.parametrize("cell", CELLS, ids="-".join)
def test_all_headers_together(cell):
    check(cell, PLAIN_HEADERS[::-1])


def preprocessed_lines(include: str, options: list[str]) -> tuple[int, int]:
    """Lines of function.h with all it includes, and the release of libstdc++."""
    source = "#include <tvm/ffi/function.h>\nint libstdcxx_release = _GLIBCXX_RELEASE;\n"
    command = ["g++", "-std=c++17", "-E", "-P", "-x", "c++", "-", f"-I{include}", *options]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    release = re.search(r"libstdcxx_release = (\d+)", lines[-1])
    return len(lines), int(release[1]) if release else 0


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
def test_function_header_stays_small():
    ours, release = preprocessed_lines(
        str(INCLUDE), [f"-I{path}" for path in libinfo.include_paths()]
    )
    if release not in RELEASED_FUNCTION_LINES:
        pytest.skip(f"no number of the released headers with libstdc++ {release}")
    assert ours <= GOAL * RELEASED_FUNCTION_LINES[release]
