# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Runs the Python tests of tvm_ffi under the address, undefined-behaviour and leak sanitizers.

    python ffi/tools/sanitize_python.py [--build FOLDER] [pytest arguments]

The interpreter that runs this is the one that is tested; it needs Cython and what the tests need.
The library and the extension are built with clang ($CC, $CXX) into FOLDER (build-asan-python). The
interpreter itself is not instrumented and leaks on purpose, so that of the leaks only those count
that our own libraries allocated.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

FFI = Path(__file__).resolve().parents[1]
ROOT = FFI.parent
# Not the check of function types: it reads what stands before the code, which JIT compilers need not have.
FLAGS = (
    "-O1 -gline-tables-only -fsanitize=address,undefined -fno-sanitize=function"
    " -fno-omit-frame-pointer"
)
OWN_LIBRARY = re.compile(r"/(?:libtvm_ffi(?:_testing)?\.so|core\.[\w.-]*so)\+")
# Innermost frames of a leak that are looked at: our own call of malloc or of a Python allocator.
LEAK_FRAMES = 4
# Tests of other programs, and those that measure or forbid what a sanitizer does itself.
LEFT_OUT = (
    "--ignore=ffi/tests/python/test_headers.py",
    "--ignore=ffi/tests/python/test_typing.py",
    "--ignore=ffi/tests/python/test_memory.py",
    "--deselect=tests/python/test_rough_edges.py::test_import_installs_no_signal_handler",
)


def build(folder: Path, cxx: str, cc: str) -> None:
    """Configure and build the sanitised library and extension."""
    if not (folder / "build.ninja").exists():
        options = {
            "CMAKE_C_COMPILER": cc,
            "CMAKE_CXX_COMPILER": cxx,
            "CMAKE_C_FLAGS": FLAGS,
            "CMAKE_CXX_FLAGS": FLAGS,
            "TVM_FFI_BUILD_PYTHON": "ON",
            "TVM_FFI_BUILD_TESTS": "OFF",
            "Python_EXECUTABLE": sys.executable,
        }
        command = ["cmake", "-G", "Ninja", "-S", str(FFI), "-B", str(folder)]
        subprocess.run(command + [f"-D{k}={v}" for k, v in options.items()], check=True)
    targets = ["tvm_ffi_shared", "tvm_ffi_testing", "tvm_ffi_cython"]
    subprocess.run(["ninja", "-C", str(folder), *targets], check=True)


def runtime_of(cxx: str) -> str:
    """Shared runtime of the sanitizers."""
    for name in (
        "libclang_rt.asan.so",
        "libclang_rt.asan-x86_64.so",
        "libclang_rt.asan-aarch64.so",
    ):
        done = subprocess.run(
            [cxx, f"-print-file-name={name}"], capture_output=True, text=True, check=True
        )
        if os.path.isfile(done.stdout.strip()):
            return done.stdout.strip()
    raise SystemExit(f"{cxx} has no shared runtime of the address sanitizer")


def environment(folder: Path, cxx: str, log: Path) -> dict[str, str]:
    """Environment of the tests and of the interpreters that they start."""
    options = "detect_leaks=1:leak_check_at_exit=1:exitcode=23:allocator_may_return_null=1"
    return {
        **os.environ,
        "LD_PRELOAD": runtime_of(cxx),
        # Leaks are judged below; a process that only leaks ends with its own status.
        "ASAN_OPTIONS": f"{options}:detect_odr_violation=0:log_path={log}:log_exe_name=1",
        "LSAN_OPTIONS": "exitcode=0:report_objects=0",
        "UBSAN_OPTIONS": f"halt_on_error=1:print_stacktrace=1:log_path={log}",
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": os.pathsep.join([str(FFI / "python"), *filter(None, sys.path)]),
        "TVM_LIBRARY_PATH": str(folder / "lib"),
    }


def own_findings(text: str) -> list[str]:
    """Reports that are about our libraries: every error, and leaks that they allocated."""
    blocks = re.split(r"\n(?=(?:Direct|Indirect) leak of|=+\d+=+ERROR|[^\n]*runtime error:)", text)
    out = []
    for block in blocks:
        if block.startswith("Direct leak of"):
            frames = [line for line in block.splitlines() if re.match(r"\s+#\d+ ", line)]
            if any(OWN_LIBRARY.search(line) for line in frames[:LEAK_FRAMES]):
                out.append(block)
        elif "AddressSanitizer" in block.split("\n", 3)[0] or "runtime error:" in block:
            out.append(block)
    return out


def main() -> None:
    """Build, run the tests, and report what the sanitizers found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build-asan-python")
    options, tests = parser.parse_known_args()
    folder = options.build.resolve()
    cxx, cc = os.environ.get("CXX", "clang++-22"), os.environ.get("CC", "clang-22")
    build(folder, cxx, cc)
    log = folder / "sanitizer"
    for old in folder.glob("sanitizer.*"):
        old.unlink()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *LEFT_OUT]
    if not any((ROOT / each.split("::")[0]).exists() for each in tests):  # options only
        tests.append("ffi/tests/python")
    done = subprocess.run(command + tests, cwd=ROOT, env=environment(folder, cxx, log))
    reports = sorted(folder.glob("sanitizer.*"))
    found = [item for path in reports for item in own_findings(path.read_text(errors="replace"))]
    print(f"{len(reports)} reports, {len(found)} of them about tvm_ffi")
    for item in dict.fromkeys(found):
        print("\n".join(item.splitlines()[:20]), "\n")
    sys.exit(1 if found else done.returncode)


if __name__ == "__main__":
    main()
