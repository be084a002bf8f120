# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Builds of extension libraries with ninja, cached by their inputs."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..libinfo import find_libtvm_ffi, include_paths
from ..module import Module, load_module
from ..utils.lockfile import FileLock

IS_WINDOWS = sys.platform == "win32"

# What every inline source gets, so that short snippets need no includes.
_COMMON_HEADERS = (
    "tvm/ffi/container/tensor.h",
    "tvm/ffi/dtype.h",
    "tvm/ffi/error.h",
    "tvm/ffi/extra/c_env_api.h",
    "tvm/ffi/function.h",
)
_CUDA_SUFFIXES = (".cu",)
_CPP_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


# --- small helpers ---------------------------------------------------------------------------


def _str_seq2list(seq: Sequence[str] | str | None) -> list[str]:
    """List of the strings given one by one, as a sequence or not at all."""
    if seq is None:
        return []
    return [seq] if isinstance(seq, str) else [str(item) for item in seq]


def _escape_cpp_string_literal(s: str) -> str:
    """Text for the inside of a C++ string literal."""
    out = []
    for char in s:
        if char in _CPP_ESCAPES:
            out.append(_CPP_ESCAPES[char])
        elif ord(char) < 0x20 or ord(char) == 0x7F:
            out.append(f"\\{ord(char):03o}")  # three digits: the next character cannot join
        else:
            out.append(char)
    return "".join(out)


def _ninja_path(path: str) -> str:
    return path.replace("$", "$$").replace(":", "$:").replace(" ", "$ ")


def _shell_quote(text: str) -> str:
    if IS_WINDOWS:
        return f'"{text}"' if " " in text else text
    import shlex

    return shlex.quote(text)


def _maybe_write(path: str, content: str) -> None:
    """Write a file unless it already has that content, so that ninja sees no change."""
    try:
        if Path(path).read_text(encoding="utf-8") == content:
            return
    except OSError:
        pass
    Path(path).write_text(content, encoding="utf-8")


# --- GPU toolchains --------------------------------------------------------------------------


def _find_home(what: str, variables: tuple[str, ...], compiler: str, default: str) -> str:
    for variable in variables:
        value = os.environ.get(variable)
        if value:
            return value
    found = shutil.which(compiler)
    if found is not None:
        return str(Path(found).resolve().parent.parent)
    if os.path.isdir(default):
        return default
    raise RuntimeError(
        f"Could not find {what} installation. Please set {variables[0]} environment variable."
    )


def _find_cuda_home() -> str:
    """Folder of the CUDA toolkit."""
    return _find_home("CUDA", ("CUDA_HOME", "CUDA_PATH"), "nvcc", "/usr/local/cuda")


def _find_rocm_home() -> str:
    """Folder of the ROCm toolkit."""
    return _find_home("ROCm", ("ROCM_HOME", "ROCM_PATH"), "hipcc", "/opt/rocm")


def _detect_gpu_backend() -> str:
    """``cuda`` or ``rocm``: what the environment names, else what is installed, else ``cuda``."""
    named = os.environ.get("TVM_FFI_GPU_BACKEND", "").lower()
    if named:
        if named not in ("cuda", "rocm"):
            raise ValueError(f"TVM_FFI_GPU_BACKEND must be cuda or rocm, got {named!r}")
        return named
    for backend, find in (("cuda", _find_cuda_home), ("rocm", _find_rocm_home)):
        try:
            find()
        except RuntimeError:
            continue
        return backend
    return "cuda"


def _resolve_gpu_backend(backend: str | None) -> str:
    """The backend asked for, or the one detected."""
    if backend is None:
        return _detect_gpu_backend()
    if backend not in ("cuda", "rocm"):
        raise ValueError(f"backend must be 'cuda' or 'rocm', got {backend!r}")
    return backend


def _gpu_arch_names(variable: str) -> list[str]:
    return [name for name in os.environ.get(variable, "").replace(";", " ").split() if name]


def _get_cuda_target() -> str:
    """nvcc flags for the architectures to build for."""
    names = _gpu_arch_names("TVM_FFI_CUDA_ARCH_LIST")
    if not names:
        try:
            done = subprocess.run(
                ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"],
                capture_output=True,
                text=True,
                check=True,
            )
            names = [done.stdout.strip().splitlines()[0].strip()]
        except (OSError, subprocess.CalledProcessError, IndexError):
            return ""  # nvcc's default
    flags = []
    for name in names:
        digits = name.replace(".", "")
        flags.append(f"-gencode=arch=compute_{digits},code=sm_{digits}")
    return " ".join(flags)


def _get_rocm_target() -> list[str]:
    """hipcc flags for the architectures to build for."""
    names = _gpu_arch_names("TVM_FFI_ROCM_ARCH_LIST") or ["native"]
    return [f"--offload-arch={name}" for name in names]


# --- sources ---------------------------------------------------------------------------------


def _normalize_functions(
    functions: Mapping[str, str] | Sequence[str] | str | None,
) -> dict[str, str]:
    """Function names with their doc texts."""
    if functions is None:
        return {}
    if isinstance(functions, str):
        return {functions: ""}
    if isinstance(functions, Mapping):
        return {str(name): doc or "" for name, doc in functions.items()}
    return {str(name): "" for name in functions}


def _decorate_with_tvm_ffi(source: str, functions: Mapping[str, str]) -> str:
    """Source with the common includes before it and the exports behind it."""
    lines = [f"#include <{header}>" for header in _COMMON_HEADERS]
    lines += ["", source, ""]
    for name, doc in functions.items():
        lines.append(f"TVM_FFI_DLL_EXPORT_TYPED_FUNC({name}, {name});")
        if doc:
            text = _escape_cpp_string_literal(doc)
            lines.append(f'TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC({name}, "{text}");')
    lines.append("")
    return "\n".join(lines)


def _hash_sources(*parts: Any) -> str:
    """16 hex digits over everything that decides the outcome of a build."""
    digest = hashlib.sha256()

    def feed(value: Any) -> None:
        if isinstance(value, bytes):
            data = b"b" + value
        elif isinstance(value, Mapping):
            digest.update(f"m{len(value)};".encode())
            for key in sorted(value):
                feed(key)
                feed(value[key])
            return
        elif isinstance(value, (list, tuple)):
            digest.update(f"l{len(value)};".encode())
            for item in value:
                feed(item)
            return
        else:
            data = b"s" + str(value).encode()
        digest.update(f"{len(data)};".encode() + data)

    feed(list(parts))
    return digest.hexdigest()[:16]


def _file_contents(paths: list[str]) -> list[Any]:
    out: list[Any] = []
    for path in paths:
        try:
            out.append((path, Path(path).read_bytes()))
        except OSError:
            out.append((path, b""))
    return out


# --- ninja -----------------------------------------------------------------------------------


class _NinjaFile:
    """Text of a build.ninja that grows by rules and edges."""

    def __init__(self) -> None:
        self.lines = ["ninja_required_version = 1.3"]

    def variable(self, name: str, words: Sequence[str]) -> None:
        self.lines.append(f"{name} = {' '.join(word for word in words if word)}")

    def rule(self, name: str, command: str, *, depfile: bool = False) -> None:
        self.lines += ["", f"rule {name}"]
        if depfile:
            self.lines += ["  depfile = $out.d", "  deps = gcc"]
        self.lines.append(f"  command = {command}")

    def build(self, output: str, rule: str, inputs: Sequence[str], **variables: str) -> None:
        joined = " ".join(_ninja_path(path) for path in inputs)
        self.lines += ["", f"build {_ninja_path(output)}: {rule} {joined}"]
        self.lines += [f"  {name} = {value}" for name, value in variables.items()]

    def text(self, default: str) -> str:
        return "\n".join([*self.lines, "", f"default {_ninja_path(default)}", ""])


def _default_flags() -> tuple[list[str], list[str]]:
    """Compile and link flags of every build."""
    includes = include_paths()
    library_dir = str(Path(find_libtvm_ffi()).parent)
    if IS_WINDOWS:
        compile_flags = ["/std:c++17", "/MD", "/EHsc", "/O2"]
        link_flags = ["/DLL", f"/LIBPATH:{_shell_quote(library_dir)}", "tvm_ffi.lib"]
        return [*compile_flags, *(f"/I{_shell_quote(p)}" for p in includes)], link_flags
    compile_flags = ["-std=c++17", "-fPIC", "-O2", *(f"-I{_shell_quote(p)}" for p in includes)]
    link_flags = ["-shared", f"-L{_shell_quote(library_dir)}", "-ltvm_ffi"]
    if sys.platform == "darwin":
        link_flags += ["-undefined", "dynamic_lookup", f"-Wl,-rpath,{_shell_quote(library_dir)}"]
    return compile_flags, link_flags


def _gpu_rule(ninja: _NinjaFile, backend: str, flags: list[str], includes: list[str]) -> list[str]:
    """Add the rule `compile_gpu`; returns extra link flags."""
    include_flags = [f"-I{_shell_quote(p)}" for p in (*include_paths(), *includes)]
    if backend == "cuda":
        home = _find_cuda_home()
        ninja.variable("nvcc", [os.path.join(home, "bin", "nvcc")])
        defaults = ["-std=c++17", "-O2", _get_cuda_target()]
        if not IS_WINDOWS:
            defaults += ["-Xcompiler", "-fPIC"]
        ninja.variable("gpuflags", [*defaults, *include_flags, *flags])
        ninja.rule(
            "compile_gpu",
            "$nvcc --generate-dependencies-with-compile --dependency-output $out.d "
            "$gpuflags -c $in -o $out",
            depfile=True,
        )
        return [f"-L{_shell_quote(os.path.join(home, 'lib64'))}", "-lcudart"]
    home = _find_rocm_home()
    ninja.variable("hipcc", [os.path.join(home, "bin", "hipcc")])
    defaults = ["-std=c++17", "-O2", "-fPIC", *_get_rocm_target()]
    ninja.variable("gpuflags", [*defaults, *include_flags, *flags])
    ninja.rule("compile_gpu", "$hipcc -MMD -MF $out.d $gpuflags -c $in -o $out", depfile=True)
    return [f"-L{_shell_quote(os.path.join(home, 'lib'))}", "-lamdhip64"]


def _is_gpu_source(path: str) -> bool:
    return path.endswith(_CUDA_SUFFIXES)


def _generate_ninja_build(
    name: str,
    extra_cflags: Sequence[str],
    extra_cuda_cflags: Sequence[str],
    extra_ldflags: Sequence[str],
    extra_include_paths: Sequence[str],
    sources: Sequence[str],
    embed_cubin: Mapping[str, bytes] | None = None,
    backend: str | None = None,
    output: str | None = None,
) -> str:
    """Text of the build file of one extension."""
    ninja = _NinjaFile()
    compile_flags, link_flags = _default_flags()
    includes = [str(path) for path in extra_include_paths]
    prefix = "/I" if IS_WINDOWS else "-I"
    compile_flags += [f"{prefix}{_shell_quote(path)}" for path in includes]
    ninja.variable("cxx", [os.environ.get("CXX", "cl" if IS_WINDOWS else "c++")])
    ninja.variable("cxxflags", [*compile_flags, *extra_cflags])
    if any(_is_gpu_source(source) for source in sources):
        link_flags += _gpu_rule(
            ninja, _resolve_gpu_backend(backend), list(extra_cuda_cflags), includes
        )
    ninja.variable("ldflags", [*link_flags, *extra_ldflags])
    if IS_WINDOWS:
        ninja.rule("compile", "$cxx /showIncludes $cxxflags /c $in /Fo$out")
        ninja.rule("link", "$cxx $in /link $ldflags /out:$out")
    else:
        ninja.rule("compile", "$cxx -MMD -MF $out.d $cxxflags -c $in -o $out", depfile=True)
        ninja.rule("link", "$cxx $in $ldflags -o $out")
        ninja.rule("merge_objects", "ld -r -o $out $in")
        ninja.rule("copy_object", "cp -f $in $out")
    objects = []
    for index, source in enumerate(sources):
        kind = "gpu" if _is_gpu_source(source) else "cpp"
        objects.append(f"{kind}_{index}.{'obj' if IS_WINDOWS else 'o'}")
        ninja.build(objects[-1], "compile_gpu" if kind == "gpu" else "compile", [source])
    if embed_cubin:
        objects[-1:] = [_embed_edges(ninja, objects[-1], embed_cubin)]
    target = output if output is not None else name + (".dll" if IS_WINDOWS else ".so")
    if target.endswith((".o", ".obj")):
        ninja.build(target, "copy_object" if len(objects) == 1 else "merge_objects", objects)
    else:
        ninja.build(target, "link", objects)
    return ninja.text(target)


def _embed_edges(ninja: _NinjaFile, source: str, cubins: Mapping[str, bytes]) -> str:
    """Edges that put GPU binaries into an object; returns the final object."""
    command = (
        f"{_shell_quote(sys.executable)} -m tvm_ffi.utils.embed_cubin --output-obj $out "
        "--input-obj $in --cubin $cubin --name $cubin_name"
    )
    ninja.rule("embed_cubin", command)
    current = source
    for index, key in enumerate(cubins):
        following = f"embedded_{index}.o"
        ninja.build(following, "embed_cubin", [current], cubin=f"{key}.cubin", cubin_name=key)
        current = following
    return current


def build_ninja(build_dir: str) -> None:
    """Run ninja in a folder.

    Raises:
        RuntimeError: It fails; the message holds what it printed.
    """
    command = [shutil.which("ninja") or _packaged_ninja(), "-v"]
    jobs = os.environ.get("MAX_JOBS")
    if jobs:
        command += ["-j", str(int(jobs))]
    done = subprocess.run(command, check=False, cwd=build_dir, capture_output=True)
    text = {
        stream: getattr(done, stream).decode(errors="replace") for stream in ("stdout", "stderr")
    }
    if done.returncode != 0:
        parts = [f"ninja exited with status {done.returncode}"]
        parts += [f"{stream}:\n{value}" for stream, value in text.items() if value]
        raise RuntimeError("\n".join(parts))
    if os.environ.get("TVM_FFI_CPP_EXTENSION_LOG_BUILD", "0") not in ("", "0"):
        sys.stderr.write(text["stdout"] + text["stderr"])


def _packaged_ninja() -> str:
    """The ninja of the Python package, or an error that says how to get it."""
    try:
        import ninja
    except ImportError:
        raise RuntimeError(
            "ninja is needed to build extensions but is neither in PATH nor installed as the "
            "Python package `ninja`"
        ) from None
    return os.path.join(ninja.BIN_DIR, "ninja")


# --- entry points ----------------------------------------------------------------------------


def _cache_dir() -> str:
    return os.environ.get("TVM_FFI_CACHE_DIR") or os.path.expanduser("~/.cache/tvm-ffi")


def _build_impl(
    name: str,
    sources: Sequence[str] | str | None,
    extra_cflags: Sequence[str] | None,
    extra_cuda_cflags: Sequence[str] | None,
    extra_ldflags: Sequence[str] | None,
    extra_include_paths: Sequence[str] | None,
    build_directory: str | None,
    need_lock: bool = True,
    embed_cubin: Mapping[str, bytes] | None = None,
    backend: str | None = None,
    output: str | None = None,
) -> str:
    """Build source files; returns the path of the library."""
    source_list = [str(Path(path).resolve()) for path in _str_seq2list(sources)]
    assert source_list, "sources must be provided."
    cflags, cuda_cflags = _str_seq2list(extra_cflags), _str_seq2list(extra_cuda_cflags)
    ldflags = _str_seq2list(extra_ldflags)
    includes = [str(Path(path).resolve()) for path in _str_seq2list(extra_include_paths)]
    if build_directory is None:
        digest = _hash_sources(
            _file_contents(source_list),
            cflags,
            cuda_cflags,
            ldflags,
            includes,
            output or "",
            embed_cubin or {},
        )
        folder = Path(_cache_dir()) / f"{name}_{digest}"
    else:
        folder = Path(build_directory).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    text = _generate_ninja_build(
        name, cflags, cuda_cflags, ldflags, includes, source_list, embed_cubin, backend, output
    )

    def run() -> None:
        for key, data in (embed_cubin or {}).items():
            (folder / f"{key}.cubin").write_bytes(data)
        _maybe_write(str(folder / "build.ninja"), text)
        build_ninja(str(folder))

    if need_lock:
        with FileLock(str(folder / "lock")):
            run()
    else:
        run()
    suffix = ".dll" if IS_WINDOWS else ".so"
    return str((folder / (output if output is not None else name + suffix)).resolve())


def build_inline(
    name: str,
    *,
    cpp_sources: Sequence[str] | str | None = None,
    cuda_sources: Sequence[str] | str | None = None,
    functions: Mapping[str, str] | Sequence[str] | str | None = None,
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str] | None = None,
    build_directory: str | None = None,
    embed_cubin: Mapping[str, bytes] | None = None,
    backend: str | None = None,
    output: str | None = None,
) -> str:
    """Compile source text into a library.

    Args:
        name: Name of the library.
        cpp_sources: C++ source texts, joined into one file.
        cuda_sources: CUDA or HIP source texts, joined into one file.
        functions: Functions to export: a name, names, or names with doc texts. They are exported
            from the C++ source, or from the GPU source if there is no C++ source.
        extra_cflags: More flags for the C++ compiler.
        extra_cuda_cflags: More flags for the GPU compiler.
        extra_ldflags: More flags for the linker.
        extra_include_paths: More include folders.
        build_directory: Where to build; a folder in the cache, named by the inputs, if left out.
        embed_cubin: GPU binaries by name, for ``TVM_FFI_EMBED_CUBIN``.
        backend: ``"cuda"`` or ``"rocm"``; detected if left out.
        output: Name of the result; ``.o`` makes an object file.

    Returns:
        Path of the library. The cache is used again while the inputs stay the same.

    Raises:
        RuntimeError: The compiler fails.
    """
    cpp = "\n".join(_str_seq2list(cpp_sources))
    cuda = "\n".join(_str_seq2list(cuda_sources))
    assert cpp or cuda, "sources must be provided."
    exports = _normalize_functions(functions)
    texts = {}
    if cpp:
        texts["main.cpp"] = _decorate_with_tvm_ffi(cpp, exports)
    if cuda:
        texts["cuda.cu"] = _decorate_with_tvm_ffi(cuda, {} if cpp else exports)
    if build_directory is None:
        digest = _hash_sources(
            texts,
            _str_seq2list(extra_cflags),
            _str_seq2list(extra_cuda_cflags),
            _str_seq2list(extra_ldflags),
            _str_seq2list(extra_include_paths),
            output or "",
            embed_cubin or {},
            backend or "",
        )
        folder = Path(_cache_dir()) / f"{name}_{digest}"
    else:
        folder = Path(build_directory).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(str(folder / "lock")):
        for file_name, text in texts.items():
            _maybe_write(str(folder / file_name), text)
        return _build_impl(
            name=name,
            sources=[str(folder / file_name) for file_name in texts],
            extra_cflags=extra_cflags,
            extra_cuda_cflags=extra_cuda_cflags,
            extra_ldflags=extra_ldflags,
            extra_include_paths=extra_include_paths,
            build_directory=str(folder),
            need_lock=False,
            embed_cubin=embed_cubin,
            backend=backend,
            output=output,
        )


def load_inline(
    name: str,
    *,
    cpp_sources: Sequence[str] | str | None = None,
    cuda_sources: Sequence[str] | str | None = None,
    functions: Mapping[str, str] | Sequence[str] | str | None = None,
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str] | None = None,
    build_directory: str | None = None,
    embed_cubin: Mapping[str, bytes] | None = None,
    keep_module_alive: bool = True,
    backend: str | None = None,
) -> Module:
    """Compile source text and load it; arguments as for :py:func:`build_inline`.

    Args:
        keep_module_alive: Never unload the library.

    Example:
        >>> mod = load_inline("hello", cpp_sources="int add1(int x) { return x + 1; }",
        ...                   functions="add1")
        >>> mod.add1(3)
        4
    """
    path = build_inline(
        name,
        cpp_sources=cpp_sources,
        cuda_sources=cuda_sources,
        functions=functions,
        extra_cflags=extra_cflags,
        extra_cuda_cflags=extra_cuda_cflags,
        extra_ldflags=extra_ldflags,
        extra_include_paths=extra_include_paths,
        build_directory=build_directory,
        embed_cubin=embed_cubin,
        backend=backend,
    )
    return load_module(path, keep_module_alive=keep_module_alive)


def build(
    name: str,
    *,
    sources: Sequence[str] | str | None = None,
    cpp_files: Sequence[str] | str | None = None,
    cuda_files: Sequence[str] | str | None = None,
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str] | None = None,
    build_directory: str | None = None,
    backend: str | None = None,
    output: str | None = None,
) -> str:
    """Compile source files into a library; other arguments as for :py:func:`build_inline`.

    Args:
        sources: Source files; those that end in ``.cu`` go to the GPU compiler.
        cpp_files: More C++ files.
        cuda_files: More GPU files.

    Returns:
        Path of the library.
    """
    return _build_impl(
        name=name,
        sources=[*_str_seq2list(sources), *_str_seq2list(cpp_files), *_str_seq2list(cuda_files)],
        extra_cflags=extra_cflags,
        extra_cuda_cflags=extra_cuda_cflags,
        extra_ldflags=extra_ldflags,
        extra_include_paths=extra_include_paths,
        build_directory=build_directory,
        backend=backend,
        output=output,
    )


def load(
    name: str,
    *,
    sources: Sequence[str] | str | None = None,
    cpp_files: Sequence[str] | str | None = None,
    cuda_files: Sequence[str] | str | None = None,
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str] | None = None,
    build_directory: str | None = None,
    keep_module_alive: bool = True,
    backend: str | None = None,
) -> Module:
    """Compile source files and load them; arguments as for :py:func:`build`."""
    path = build(
        name,
        sources=sources,
        cpp_files=cpp_files,
        cuda_files=cuda_files,
        extra_cflags=extra_cflags,
        extra_cuda_cflags=extra_cuda_cflags,
        extra_ldflags=extra_ldflags,
        extra_include_paths=extra_include_paths,
        build_directory=build_directory,
        backend=backend,
    )
    return load_module(path, keep_module_alive=keep_module_alive)
