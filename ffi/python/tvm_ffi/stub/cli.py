# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Command ``tvm-ffi-stubgen``.

Fills the directive blocks of source files with type stubs, made from the functions and types that
are registered once the given libraries are loaded. With ``--init-*`` it first writes the files of a
package that has none.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import json
import sys
import traceback
from pathlib import Path
from typing import Any

from . import python_target, rust_target
from .blocks import CYAN, RED, RESET, YELLOW, SourceFile, walk
from .layout import classify
from .registry_info import ObjectInfo, global_functions, object_info, type_keys

_TARGETS: dict[str, Any] = {
    "python": python_target.PythonTarget,
    "rust": rust_target.RustTarget,
}


class _Failure(Exception):
    """A file could not be processed; the reason was printed."""


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tvm-ffi-stubgen",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--imports", default="", help="modules to import first, separated by ';'")
    add("--dlls", default="", metavar="LIBS", help="libraries to load first, separated by ';'")
    add("--init-pypkg", default="", help="distribution that ships the library")
    add("--init-lib", default="", help="name of the library, without prefix and suffix")
    add("--init-prefix", default="", help="prefix of the functions and types to generate")
    add("--indent", type=int, default=4, help="columns that members are moved in")
    add("--target", choices=("python", "rust"), default="python", help="language of the stubs")
    add("--verbose", action="store_true", help="show the changes")
    add("--dry-run", action="store_true", help="write nothing")
    add("--check", action="store_true", help="write nothing; exit with 1 if a file is stale")
    add("--coverage-out", default="", metavar="JSON", help="write a report of type layouts")
    add("paths", nargs="*", metavar="PATH", help="files or folders")
    args = parser.parse_args(argv)
    init = [args.init_pypkg, args.init_lib, args.init_prefix]
    if any(init) and not all(init):
        parser.error("--init-pypkg, --init-lib, and --init-prefix must be provided together")
    if any(init) and args.check:
        parser.error("--check cannot be combined with --init-*")
    if not args.paths and not args.coverage_out:
        parser.print_help()
        sys.exit(1)
    args.has_init = all(init)
    return args


def _preload(args: argparse.Namespace) -> list[ctypes.CDLL]:
    """Import modules and load libraries; the handles must stay alive."""
    for name in args.imports.split(";"):
        if name.strip():
            importlib.import_module(name.strip())
    return [ctypes.CDLL(lib.strip()) for lib in args.dlls.split(";") if lib.strip()]


def _report_failure(path: Path) -> None:
    print(f"{RED}[Error] {path}\n{traceback.format_exc()}{RESET}")


def _collect(paths: list[Path], suffixes: tuple[str, ...]) -> tuple[list[SourceFile], bool]:
    """Files with directives, and whether all could be read."""
    files, ok = [], True
    for path in walk(paths, suffixes):
        try:
            found = SourceFile.read(path)
        except (ValueError, UnicodeDecodeError):
            _report_failure(path)
            ok = False
            continue
        if found is not None:
            files.append(found)
    return files, ok


def _ty_map(files: list[SourceFile], directives: tuple[str, ...]) -> dict[str, str]:
    out = {}
    for source in files:
        for piece in source.pieces:
            if piece.kind == "text" or piece.is_block:
                continue
            if piece.kind not in directives:
                raise ValueError(f"Unknown directive `{piece.kind}` at line {piece.line}")
        for piece in source.directives("ty-map"):
            left, arrow, right = (part.strip() for part in piece.param.partition("->"))
            if not (left and arrow and right):
                raise ValueError(
                    f"Invalid ty_map format at line {piece.line}. Example: `A.B -> C.D`"
                )
            out[left] = right
    return out


def _init_files(args: argparse.Namespace, root: Path) -> None:
    """Write the package files that are missing, with empty blocks."""
    prefix = args.init_prefix.rstrip(".")
    functions = global_functions()
    inside = lambda name: name == prefix or name.startswith(prefix + ".")  # noqa: E731
    by_prefix: dict[str, list[ObjectInfo]] = {name: [] for name in functions if inside(name)}
    for key in type_keys():
        owner = key.rpartition(".")[0]
        if owner and inside(owner):
            by_prefix.setdefault(owner, []).append(object_info(key))
    by_prefix.setdefault(prefix, [])
    for name, objects in sorted(by_prefix.items()):
        folder = python_target.package_folder(root, name)
        folder.mkdir(parents=True, exist_ok=True)
        api, init = folder / "_ffi_api.py", folder / "__init__.py"
        existing = api.read_text(encoding="utf-8") if api.exists() else ""
        api.write_text(
            python_target.initial_api_file(
                existing,
                name,
                _parents_first(objects),
                args.init_pypkg,
                args.init_lib,
                name == prefix,
            ),
            encoding="utf-8",
        )
        existing = init.read_text(encoding="utf-8") if init.exists() else ""
        init.write_text(python_target.initial_init_file(existing, name), encoding="utf-8")


def _parents_first(objects: list[ObjectInfo]) -> list[ObjectInfo]:
    return sorted(objects, key=lambda info: (len(info.type_info.type_ancestors), info.type_key))


def _process(args: argparse.Namespace, files: list[SourceFile]) -> tuple[Any, int]:
    """Regenerate all files; returns the target and the number of stale files.

    Raises:
        _Failure: Some file could not be processed.
    """
    failed, stale = False, 0
    functions, cache = global_functions(), {}

    def lookup(key: str, line: int) -> ObjectInfo:
        if key not in cache:
            cache[key] = object_info(key, line)
        return cache[key]

    target_class = _TARGETS[args.target]
    ty_map: dict[str, str] = {}
    for source in files:
        try:
            ty_map.update(_ty_map([source], target_class.directives))
        except ValueError:
            _report_failure(source.path)
            raise _Failure from None
    target = target_class(functions, lookup, ty_map, args.indent)
    for source in files:
        try:
            target.fill(source)
        except (ValueError, TypeError, KeyError):
            _report_failure(source.path)
            failed = True
            continue
        if source.text() == source.original or (args.check and target.is_current(source)):
            continue
        stale += 1
        if args.verbose:
            print(f"{CYAN}[File] {source.path}{RESET}\n{source.diff()}")
        if args.check:
            print(f"{YELLOW}[Stale] {source.path}{RESET}")
        elif not args.dry_run:
            source.path.write_text(source.text(), encoding="utf-8")
    if failed:
        raise _Failure
    return target, stale


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns the exit status: 0, 1 for stale files, 2 for failures."""
    args = _arguments(argv)
    handles = _preload(args)
    paths = [Path(path) for path in args.paths]
    if args.has_init:
        _init_files(args, paths[0])
    try:
        files, ok = _collect(paths, _TARGETS[args.target].suffixes)
        target, stale = _process(args, files)
    except _Failure:
        ok, stale, target = False, 0, None
    except FileNotFoundError as error:
        print(f"{RED}[Error] {error}{RESET}")
        return 2
    if args.coverage_out:
        verdicts = classify(type_keys())
        if target is not None:
            verdicts = target.refine(verdicts)
        report = {key: v.to_json_obj() for key, v in verdicts.items()}
        Path(args.coverage_out).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    del handles
    if not ok:
        return 2
    return 1 if args.check and stale else 0


def __main__() -> int:
    """Entry point of the console script."""
    return main()


if __name__ == "__main__":
    sys.exit(main())
