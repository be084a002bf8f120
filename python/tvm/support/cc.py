# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""The system's C++ compiler, used as a linker of exported code."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys


def _is_posix() -> bool:
    return sys.platform != "win32"


def get_cc() -> str | None:
    """Path of the default C++ compiler.

    ``CXX`` and ``CC`` win; then the first of g++, gcc, clang++, clang, c++, cc on the path.
    """
    if not _is_posix():
        return None
    for variable in ("CXX", "CC"):
        if os.environ.get(variable):
            return os.environ[variable]
    for name in ("g++", "gcc", "clang++", "clang", "c++", "cc"):
        path = shutil.which(name)
        if path is not None:
            return path
    return None


def _run(command: list[str], cwd, ccache_env, failure: str) -> None:
    env = None
    if ccache_env is not None:
        ccache = shutil.which("ccache")
        if ccache is None:
            raise ValueError("ccache not found")
        command = [ccache, *command]
        env = {**os.environ, **ccache_env}
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=cwd, env=env, check=False
    )
    if done.returncode != 0:
        text = done.stdout.decode("utf-8", "replace")
        raise RuntimeError(f"{failure}:\n{text}\nCommand line: {' '.join(command)}")


def _as_list(value) -> list[str]:
    if value is None:
        return []
    return [value] if isinstance(value, str) else [os.fspath(item) for item in value]


def _compiler(cc: str | None) -> str:
    compiler = cc or get_cc()
    if compiler is None:
        raise ValueError("no C++ compiler found; set CXX or pass cc")
    return compiler


def create_shared(output, objects, options=None, cc=None, cwd=None, ccache_env=None) -> None:
    """Link a shared library.

    Args:
        output: File to make.
        objects: Object or source files.
        options: Further options.
        cc: Compiler; the default one if left out.
        cwd: Folder to run in.
        ccache_env: Run through ccache with these variables.

    Raises:
        RuntimeError: The compiler failed; the message holds its output.
    """
    if not _is_posix():
        raise ValueError("Unsupported platform: use TVM_WIN_CC with clang on Windows")
    flags = ["-shared", "-fPIC"]
    if sys.platform == "darwin":
        flags += ["-undefined", "dynamic_lookup"]
    command = [
        _compiler(cc), *flags, "-o", os.fspath(output), *_as_list(objects), *_as_list(options),
    ]  # fmt: skip
    _run(command, cwd, ccache_env, "Compilation error")


def create_executable(output, objects, options=None, cc=None, cwd=None, ccache_env=None) -> None:
    """Link a program; arguments as in :py:func:`create_shared`."""
    command = [_compiler(cc), "-o", os.fspath(output), *_as_list(objects), *_as_list(options)]
    _run(command, cwd, ccache_env, "Compilation error")


def create_staticlib(output, inputs, ar=None) -> None:
    """Make an archive.

    Args:
        output: File to make.
        inputs: Object files, and ``.tar`` files of them.
        ar: Archiver.

    Raises:
        RuntimeError: It failed.
    """
    from . import tar, utils

    folder = utils.tempdir()
    files = tar.normalize_file_list_by_unpacking_tars(folder, _as_list(inputs))
    path = os.fspath(output)
    if os.path.exists(path):  # ar would add to it
        os.remove(path)
    _run([ar or "ar", "qcs", path, *files], None, None, "AR error")


def get_global_symbol_section_map(path, *, nm=None) -> dict[str, str]:
    """Global symbols of a library: name -> section letter.

    Args:
        path: The file.
        nm: Tool that lists symbols.
    """
    tool = [nm or "nm", "-gU"] if sys.platform == "darwin" else [nm or "nm", "-gD"]
    done = subprocess.run(
        [*tool, os.fspath(path)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    text = done.stdout.decode("utf-8", "replace")
    if done.returncode != 0:
        raise RuntimeError(f"Runtime error:\n{text}")
    found = {}
    for line in text.splitlines():
        parts = line.split()
        if len(parts) >= 2:
            found[parts[-1]] = parts[-2]
    return found


def get_target_by_dump_machine(compiler):
    """Function that asks a compiler for its target triple."""

    def get_target_triple() -> str | None:
        if not compiler:
            return None
        done = subprocess.run(
            [compiler, "-dumpmachine"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        text = done.stdout.decode("utf-8", "replace")
        if done.returncode != 0:
            raise RuntimeError(f"dumpmachine error:\n{text}")
        return text.strip()

    return get_target_triple


create_shared.output_format = "so"  # type: ignore[attr-defined]
create_shared.get_target_triple = get_target_by_dump_machine(  # type: ignore[attr-defined]
    os.environ.get("CXX") or get_cc()
)


def cross_compiler(
    compile_func, options=None, output_format=None, get_target_triple=None, add_files=None
):
    """Make a link function for another compiler.

    Args:
        compile_func: Compiler, or function like :py:func:`create_shared`.
        options: Options of every call.
        output_format: Suffix of the result.
        get_target_triple: Function that tells the target triple.
        add_files: Files linked into every result.
    """
    base_options = list(options or [])
    extra = _as_list(add_files)
    format_name = output_format or getattr(compile_func, "output_format", None) or "so"
    triple = get_target_triple or getattr(compile_func, "get_target_triple", None)
    cc = None
    function = compile_func
    if isinstance(compile_func, str):
        cc = compile_func
        function = create_shared
        triple = triple or get_target_by_dump_machine(compile_func)

    def link(outputs, objects, options=None, **kwargs) -> None:
        all_options = [*base_options, *(options or [])]
        if cc is not None:
            kwargs["cc"] = cc
        function(outputs, [*_as_list(objects), *extra], options=all_options, **kwargs)

    link.output_format = format_name  # type: ignore[attr-defined]
    link.get_target_triple = triple  # type: ignore[attr-defined]
    return link
