# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Where the native files of the package lie. Importing this loads no native code."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

from . import _paths

_PACKAGE_NAME = "opentvm-ffi"


def _existing(candidates: list[Path], what: str) -> str:
    found = _resolve_and_validate(candidates, lambda path: path.exists())
    if found is None:
        searched = "\n".join(str(path) for path in candidates)
        raise RuntimeError(f"Cannot find {what}; searched:\n{searched}")
    return found


def _resolve_and_validate(paths, cond) -> str | None:
    """First path that passes `cond`, resolved; None if none does.

    Args:
        paths: Candidate paths.
        cond: Returns True to accept the path, a Path to accept that one instead, False to go on.
    """
    for path in paths:
        try:
            resolved = Path(path).resolve()
            verdict = cond(resolved)
        except OSError:
            continue
        if isinstance(verdict, Path):
            return str(verdict)
        if verdict:
            return str(resolved)
    return None


def _package_dir() -> Path:
    return Path(_paths.PACKAGE)


def _ffi_root() -> Path:
    """Folder with ``include`` and ``cmake``: the source tree in development, else the package."""
    root = _paths.dev_root()
    return _package_dir() if root is None else Path(root) / "ffi"


def find_libtvm_ffi() -> str:
    """Path of the core library."""
    return _find_library_by_basename(_PACKAGE_NAME, "tvm_ffi")


def find_windows_implib() -> str:
    """Path of the Windows import library."""
    return _existing([Path(d) / "tvm_ffi.lib" for d in _paths.library_dirs()], "tvm_ffi.lib")


def find_source_path() -> str:
    """Folder with the C++ sources."""
    return _existing([_package_dir() / "src", _ffi_root()], "the source path")


def find_cmake_path() -> str:
    """Folder with ``tvm_ffi-config.cmake``."""
    return _existing(
        [_package_dir() / "share" / "cmake" / "tvm_ffi", _ffi_root() / "cmake"], "the CMake path"
    )


def find_include_path() -> str:
    """Folder with the C and C++ headers."""
    return _existing([_package_dir() / "include", _ffi_root() / "include"], "the include path")


def find_dlpack_include_path() -> str:
    """Folder with ``dlpack/dlpack.h``."""
    return _existing(
        [
            _package_dir() / "include",
            _ffi_root() / "3rdparty" / "dlpack" / "include",
        ]
        if _paths.dev_root() is None
        else [_ffi_root() / "3rdparty" / "dlpack" / "include"],
        "the DLPack include path",
    )


def find_cython_lib() -> str:
    """Path of the extension module ``tvm_ffi.core``."""
    from importlib.machinery import EXTENSION_SUFFIXES

    dirs = [os.environ.get("TVM_LIBRARY_PATH"), _paths.PACKAGE, *_paths.library_dirs()]
    candidates = [Path(d) / f"core{suffix}" for d in dirs if d for suffix in EXTENSION_SUFFIXES]
    return _existing(candidates, "the extension module tvm_ffi.core")


def find_python_helper_include_path() -> str:
    """Folder with the C++ headers of the extension module."""
    return _existing([_package_dir() / "cython", _package_dir() / "include"], "the helper headers")


def include_paths() -> list[str]:
    """Include folders that a client of the C++ API needs."""
    out = []
    for path in (find_include_path(), find_dlpack_include_path()):
        if path not in out:
            out.append(path)
    return out


def _split_env_var(name: str, separator: str) -> list[str]:
    value = os.environ.get(name)
    return [part.strip() for part in value.split(separator) if part.strip()] if value else []


def _record_candidates(package: str, filename: str) -> list[Path]:
    """Files of that name which an installed distribution lists in its RECORD."""
    from importlib import metadata

    try:
        files = metadata.distribution(package).files or []
    except metadata.PackageNotFoundError:
        return []
    return [Path(str(f.locate())) for f in files if f.name == filename]


def _find_library_by_basename(
    package: str,
    target_name: str,
    extra_lib_paths: list[Path] | None = None,
    *,
    use_fallback_build_path: bool = True,
    use_env_path: bool = True,
) -> str:
    """Path of a shared library.

    Args:
        package: Distribution whose files are looked at first.
        target_name: Library name without prefix and suffix.
        extra_lib_paths: Directories searched next.
        use_fallback_build_path: Look into this package's own and development folders.
        use_env_path: Look into the dynamic loader's path and ``PATH``.

    Raises:
        RuntimeError: Not found; lists the searched directories.
        TypeError: An extra path is no ``pathlib.Path``.
    """
    for i, path in enumerate(extra_lib_paths or []):
        if not isinstance(path, Path):
            raise TypeError(
                f"extra_lib_paths[{i}] must be a pathlib.Path, got {type(path).__name__}"
            )
    filename = _paths.library_name(target_name)
    override = os.environ.get("TVM_LIBRARY_PATH")
    dirs: list[Path] = [Path(override)] if override and use_fallback_build_path else []
    found = _resolve_and_validate([d / filename for d in dirs], lambda p: p.is_file())
    if found is not None:
        return found
    found = _resolve_and_validate(_record_candidates(package, filename), lambda p: p.is_file())
    if found is not None:
        return found
    dirs.extend(extra_lib_paths or [])
    if use_fallback_build_path:
        dirs.extend(Path(d) for d in _paths.library_dirs())
    if use_env_path:
        if sys.platform == "darwin":
            dirs.extend(Path(d) for d in _split_env_var("DYLD_LIBRARY_PATH", ":"))
        elif sys.platform != "win32":
            dirs.extend(Path(d) for d in _split_env_var("LD_LIBRARY_PATH", ":"))
        dirs.extend(Path(d) for d in _split_env_var("PATH", os.pathsep))
    found = _resolve_and_validate([d / filename for d in dirs], lambda p: p.is_file())
    if found is None:
        listing = "\n".join(str(d) for d in dirs)
        raise RuntimeError(
            f"Cannot find library {filename} of package {package}; searched directories:\n{listing}"
        )
    return found


def load_lib_ctypes(
    package: str,
    target_name: str,
    mode: str,
    extra_lib_paths: list[Path] | None = None,
) -> ctypes.CDLL:
    """Load a shared library with ctypes.

    Args:
        package: Distribution that ships the library.
        target_name: Library name without prefix and suffix.
        mode: Name of a ctypes mode: ``"RTLD_LOCAL"`` or ``"RTLD_GLOBAL"``.
        extra_lib_paths: Directories to search besides the standard ones.

    Returns:
        The handle; keep it alive.
    """
    path = _find_library_by_basename(package, target_name, extra_lib_paths)
    if sys.platform == "win32":
        os.add_dll_directory(str(Path(path).parent))
    return ctypes.CDLL(path, getattr(ctypes, mode))


def load_lib_module(
    package: str,
    target_name: str,
    keep_module_alive: bool = True,
    extra_lib_paths: list[Path] | None = None,
):
    """Load a shared library as an FFI module; arguments as in :py:func:`load_lib_ctypes`."""
    from .module import load_module

    path = _find_library_by_basename(package, target_name, extra_lib_paths)
    return load_module(path, keep_module_alive=keep_module_alive)
