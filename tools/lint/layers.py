# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Check that C++ includes and Python imports follow ``layers.toml`` and that no cycle exists."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^">]+)[">]', re.MULTILINE)


def layer_of(include: str, layers: set[str]) -> str | None:
    """Name the layer an include path belongs to; ``None`` for anything that is not ours."""
    parts = include.split("/")
    if parts[0] == "tvm" and len(parts) > 2:
        return parts[1] if parts[1] in layers else None
    return parts[0] if len(parts) > 1 and parts[0] in layers else None


def check_cpp(allowed: dict[str, list[str]]) -> list[str]:
    errors = []
    layers = set(allowed)
    for folder in ("src", "include/tvm"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in (".cc", ".h", ".c") or path.name.endswith(
                ("_test.cc", "_fuzz.cc")
            ):
                continue
            own = path.relative_to(ROOT / folder).parts[0]
            name = path.relative_to(ROOT)
            for include in INCLUDE.findall(path.read_text(encoding="utf8")):
                if ".." in include.split("/"):
                    errors.append(f"{name}: include path with '..': {include}")
                layer = layer_of(include, layers)
                if layer is None or layer == own:
                    continue
                if own not in allowed:
                    errors.append(f"{name}: folder {own!r} is no layer of tools/lint/layers.toml")
                elif layer not in allowed[own]:
                    errors.append(f"{name}: layer {own!r} must not include {include} ({layer!r})")
    return errors


def find_cycle(edges: dict[str, list[str]], what: str) -> list[str]:
    """The first cycle of a graph as a message, or nothing."""
    state: dict[str, int] = {}

    def visit(node: str, path: list[str]) -> list[str]:
        if state.get(node) == 2:
            return []
        if state.get(node) == 1:
            return [f"cycle of {what}: " + " -> ".join([*path[path.index(node) :], node])]
        state[node] = 1
        for lower in edges.get(node, []):
            if found := visit(lower, [*path, node]):
                return found
        state[node] = 2
        return []

    for node in edges:
        if found := visit(node, []):
            return found
    return []


def top_level_imports(tree: ast.Module):
    """Yield the dotted names that a module imports when it is loaded."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            dots = "." * node.level
            module = node.module or ""
            yield dots + module, node.lineno
            for alias in node.names:
                yield f"{dots}{module}.{alias.name}" if module else dots + alias.name, node.lineno


def check_python(forbidden: dict[str, list[str]]) -> list[str]:
    errors = []
    base = ROOT / "python" / "tvm"
    for package, banned in forbidden.items():
        for path in sorted((base / package).rglob("*.py")):
            depth = len(path.relative_to(base).parts) - 1
            for name, line in top_level_imports(ast.parse(path.read_text(encoding="utf8"))):
                level = len(name) - len(name.lstrip("."))
                if level:
                    rest = name.lstrip(".").split(".")
                    target = rest[0] if level == depth + 1 else None
                else:
                    parts = name.split(".")
                    target = parts[1] if parts[0] == "tvm" and len(parts) > 1 else None
                if target in banned:
                    errors.append(
                        f"{path.relative_to(ROOT)}:{line}: {package!r} must not import {target!r}"
                    )
    return errors


def python_edges() -> dict[str, list[str]]:
    """Modules of python/tvm, each with those that it imports while it is being loaded.

    That a module loads the packages around it does not count.
    """
    base = ROOT / "python"
    paths = {}
    for path in sorted((base / "tvm").rglob("*.py")):
        parts = path.relative_to(base).with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    edges: dict[str, list[str]] = {}
    for name, path in paths.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        found = set()
        for node in ast.parse(path.read_text(encoding="utf8")).body:
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                module = node.module or ""
                if node.level:
                    around = package.split(".")
                    around = around[: len(around) - node.level + 1]
                    module = ".".join([*around, module] if module else around)
                full = {f"{module}.{alias.name}" for alias in node.names}
                found |= {each if each in paths else module for each in full}
        edges[name] = sorted(found & paths.keys() - {name})
    return edges


def main() -> int:
    config = tomllib.loads((Path(__file__).parent / "layers.toml").read_text(encoding="utf8"))
    errors = find_cycle(config["cpp"], "layers") + check_cpp(config["cpp"])
    errors += find_cycle(python_edges(), "imports") + check_python(config["python"])
    for error in errors:
        print(error, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
