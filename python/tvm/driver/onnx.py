# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""From an ONNX file to an executable, through the compile cache.

What was compiled before is found by the content of the file: neither the importer nor the compiler
runs then, and the weights are used in the mapped cache entry.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import operator
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from tvm.runtime.vm import VMExecutable
from tvm.support.onnx_bytes import OnnxBytes
from tvm.target import Target

from . import _ffi_api

_CHUNK = 8 << 20


def compile_onnx(
    path: str | os.PathLike,
    target: Target | str | dict | None = None,
    *,
    shape_dict: Mapping[str, Sequence[int]] | None = None,
    relax_pipeline: str = "default",
    exec_mode: str = "bytecode",
    precision: str = "float32",
    check: Callable[[], object] | None = None,
) -> VMExecutable:
    """Compile a model file, or take it out of the compile cache.

    Args:
        path: ONNX file. It must not be shortened while it is being compiled.
        target: Target, or what makes one; by default the CPU of this machine.
        shape_dict: Extents by input name; needed where the model leaves them open.
        relax_pipeline: Name of the graph compiler's pipeline.
        exec_mode: ``"bytecode"``, which the virtual machine interprets, or ``"compiled"``.
        precision: Of the operands of products: ``"float32"`` or ``"bf16"``.
        check: Called before a file that is not in the cache is compiled. What it returns, unless
            None, goes to ``from_onnx`` in place of the path.

    Returns:
        Executable for :py:class:`tvm.runtime.vm.VirtualMachine`.

    Raises:
        ValueError: The file is no ONNX model, or the shapes do not fit it.
        TypeError: An extent is no integer.
        OSError: The file cannot be read.
        tvm.error.OpNotImplemented: The model has operators that are not supported.

    Example:
        >>> executable = compile_onnx("model.onnx", shape_dict={"x": [1, 3, 224, 224]})
        >>> vm = tvm.runtime.vm.VirtualMachine(executable, tvm.cpu())
    """
    if exec_mode not in ("bytecode", "compiled"):
        raise ValueError(f"exec_mode must be 'bytecode' or 'compiled', but got {exec_mode!r}")
    path = os.fspath(path)
    shapes = {name: _extents(name, shape) for name, shape in (shape_dict or {}).items()}
    if not isinstance(target, Target):
        target = Target(target or {"kind": "llvm", "mcpu": "native"})
    key, before = None, _identity(path)
    if _ffi_api.CacheFolder() is not None:
        key = _describe(path, shapes, relax_pipeline, exec_mode, precision)
    if key is not None and (module := _ffi_api.LoadCachedModel(key, target)) is not None:
        return VMExecutable(module)
    from tvm.driver import compile
    from tvm.relax.frontend.onnx import from_onnx

    model = check() if check is not None else None
    module = from_onnx(path if model is None else model, shape_dict=shapes or None)
    del model
    executable = compile(
        module, target, relax_pipeline=relax_pipeline, exec_mode=exec_mode, precision=precision
    )
    # What changed meanwhile may not be what the digest is of.
    if key is not None and before == _identity(path):
        _ffi_api.StoreCachedModel(key, target, executable.mod)
    return executable


def _identity(path: str) -> tuple[int, ...]:
    info = os.stat(path)
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns


def _extents(name: str, shape) -> list[int]:
    try:
        return [operator.index(extent) for extent in shape]
    except TypeError:
        raise TypeError(
            f"shape_dict: expected integers for input {name!r}, got {shape!r}"
        ) from None


def _describe(
    path: str, shapes: dict, relax_pipeline: str, exec_mode: str, precision: str
) -> str | None:
    """All that the result depends on besides the compiler's libraries; None if that is not known."""
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return None
        # All of it is about to be read.
        flags = mmap.MAP_PRIVATE | getattr(mmap, "MAP_POPULATE", 0)
        with (
            mmap.mmap(file.fileno(), 0, flags=flags, prot=mmap.PROT_READ) as data,
            memoryview(data) as view,
        ):
            try:
                if OnnxBytes(view).has_external_data():
                    return None
            except ValueError:
                return None  # no model: the importer says so
            content = content_digest(view)
    facts = {
        "content": content,
        "shapes": shapes,
        "pipeline": relax_pipeline,
        "exec_mode": exec_mode,
        "precision": precision,
        "importer": _importer_digest(),
    }
    return json.dumps(facts, sort_keys=True)


def content_digest(view: memoryview) -> str:
    """SHA-256 of the SHA-256 of each 8 MiB of some bytes, computed on all cores."""

    def one(at: int) -> bytes:
        with view[at : at + _CHUNK] as part:
            return hashlib.sha256(part).digest()

    starts = range(0, len(view), _CHUNK)
    with ThreadPoolExecutor(min(len(starts), os.cpu_count() or 1) or 1) as pool:
        return hashlib.sha256(b"".join(pool.map(one, starts))).hexdigest()


def _importer_digest() -> str:
    """Digest of the Python code between the file and the compiler."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    whole = hashlib.sha256()
    for folder, _, names in sorted(os.walk(os.path.join(package, "relax"))):
        for name in sorted(names):
            if name.endswith(".py"):
                full = os.path.join(folder, name)
                with open(full, "rb") as file:
                    text = file.read()
                whole.update(f"{os.path.relpath(full, package)} {len(text)}\n".encode())
                whole.update(text)
    return whole.hexdigest()
