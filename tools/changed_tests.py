# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Names what has to be tested after a change.

Prints one line a test: ``cpp NAME`` for a C++ test program, ``py FOLDER`` for a folder of Python
tests. The files changed against BASE (default: main's merge base, uncommitted ones included) decide: a
layer is tested when it or a layer that it may include changed; `tools/lint/layers.toml` knows.
"""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Test programs of a layer that has more than one.
CPP_TESTS = {"codegen": ["codegen", "codegen_llvm"]}
# Run when anything may have changed.
FFI_TESTS = ["ffi/tests/python", "ffi/tests/interop", "ffi/addons/orcjit/tests"]
# Python test folders by the layers they exercise; the others exercise everything.
PYTHON_TESTS = {
    "tools": [],
    "ir": ["ir", "tirx"],
    "runtime": ["runtime"],
    "script": ["script"],
    "s_tir": ["s_tir"],
}


def changed_files(base: str) -> list[str]:
    """Paths, relative to the root, that differ from the commit `base`."""
    git = ["git", "-C", str(ROOT)]
    fork = subprocess.check_output([*git, "merge-base", base, "HEAD"], text=True).strip()
    diff = subprocess.check_output([*git, "diff", "--name-only", fork], text=True)
    new = subprocess.check_output([*git, "ls-files", "-o", "--exclude-standard"], text=True)
    return (diff + new).split()


def layer_of(path: str) -> str | None:
    """Layer of a source file; "*" for one that everything depends on, None for a text."""
    parts = path.split("/")
    if parts[0] == "docs":
        return "tests/docs"  # its code blocks are tests
    if path.endswith(".md"):
        return None
    if parts[0] == "src" and len(parts) > 2:
        return parts[1]
    if path.startswith("include/tvm/") and len(parts) > 3:
        return parts[2]
    if path.startswith("python/tvm/"):
        return f"python/{parts[2]}" if len(parts) > 3 else "*"
    if parts[0] == "tests":
        return f"tests/{parts[1]}" if len(parts) > 2 else "*"
    return "*"


def tests_for(paths: list[str]) -> list[str]:
    """Lines as described at the top of the file."""
    allowed = tomllib.loads((ROOT / "tools/lint/layers.toml").read_text())["cpp"]
    touched = {layer for path in paths if (layer := layer_of(path))}
    folders = [f.name for f in (ROOT / "tests").iterdir() if any(f.glob("test_*.py"))]

    def affected(layers: list[str]) -> bool:
        return "*" in touched or bool(touched & set(layers))

    layers = [name for name, below in allowed.items() if affected([name, *below])]
    lines = [f"cpp {test}" for name in layers for test in CPP_TESTS.get(name, [name])]
    if "*" in touched:
        lines += ["cpp ffi", *(f"py {folder}" for folder in FFI_TESTS)]
    for folder in sorted(folders):
        own = PYTHON_TESTS.get(folder, list(allowed))
        below = {x for layer in own for x in [layer, *allowed.get(layer, [])]}
        python = any(layer.startswith("python/") for layer in touched)
        if affected([*below, f"tests/{folder}"]) or python:
            lines.append(f"py tests/{folder}")
    return lines


if __name__ == "__main__":
    print("\n".join(tests_for(changed_files(sys.argv[1] if len(sys.argv) > 1 else "main"))))
