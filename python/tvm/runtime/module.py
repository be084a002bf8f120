# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Modules: timing, export to a library, loading."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable

from tvm_ffi import Module as _FFIModule
from tvm_ffi import get_global_func, register_object, system_lib
from tvm_ffi import load_module as _load_module

from . import _ffi_api
from .device import Device


class BenchmarkResult:
    """Times of repeated runs.

    Args:
        results: Seconds per call, one entry a repeat.
    """

    def __init__(self, results) -> None:
        import statistics

        self.results = tuple(results)
        self.mean = statistics.fmean(self.results)
        self.median = statistics.median(self.results)
        self.std = statistics.pstdev(self.results)
        self.min = min(self.results)
        self.max = max(self.results)

    def __repr__(self) -> str:
        return (
            f"BenchmarkResult(min={self.min}, mean={self.mean}, median={self.median}, "
            f"max={self.max}, std={self.std}, results={self.results})"
        )

    def __str__(self) -> str:
        head = ("mean (ms)", "median (ms)", "max (ms)", "min (ms)", "std (ms)")
        row = (self.mean, self.median, self.max, self.min, self.std)
        cells = "".join(f"{value * 1e3:^14.4f}" for value in row)
        return f"Execution time summary:\n{''.join(f'{name:^14}' for name in head)}\n{cells}\n"


@register_object("ffi.Module")
class Module(_FFIModule):
    """A bundle of functions: a loaded library, compiled code, an executable."""

    __slots__ = ()

    def time_evaluator(
        self,
        func_name: str,
        dev: Device,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
        cache_flush_bytes: int = 0,
        f_preproc: str = "",
    ) -> Callable[..., BenchmarkResult]:
        """Make a function that times one of this module's functions.

        Args:
            func_name: The function.
            dev: Device it runs on.
            number: Calls per repeat.
            repeat: Repeats.
            min_repeat_ms: Raise `number` until a repeat takes so long.
            limit_zero_time_iterations: Stop raising after so many repeats of no time.
            cooldown_interval_ms: Pause every `repeats_to_cooldown` repeats.
            repeats_to_cooldown: See above.
            cache_flush_bytes: Overwrite so many bytes before each repeat.
            f_preproc: Global function called before each repeat.

        Returns:
            A function of the timed function's arguments.
        """
        evaluator = _ffi_api.RPCTimeEvaluator(
            self,
            func_name,
            dev.dlpack_device_type(),
            dev.index,
            number,
            repeat,
            min_repeat_ms,
            limit_zero_time_iterations,
            cooldown_interval_ms,
            repeats_to_cooldown,
            cache_flush_bytes,
            f_preproc,
        )

        def run(*args) -> BenchmarkResult:
            blob = evaluator(*args)
            return BenchmarkResult(struct.unpack(f"<{repeat}d", blob))

        return run

    def _collect(self, mask: int) -> list[Module]:
        """This module and all imports that have a property, each once, imports after importers."""
        found: list[Module] = []
        seen = set()
        pending = [self]
        while pending:
            module = pending.pop()
            if module.id_ in seen:
                continue
            seen.add(module.id_)
            if module.get_property_mask() & mask:
                found.append(module)
            pending.extend(module.imports)
        return found

    def export_library(
        self,
        file_name,
        *,
        fcompile=None,
        fpack_imports=None,
        addons=None,
        workspace_dir=None,
        **kwargs,
    ):
        """Write the module with everything it imports into one library.

        Args:
            file_name: Output; ``.so``, ``.tar`` or ``.o`` archives by suffix.
            fcompile: ``fn(file_name, files, **kwargs)`` that links; chosen by suffix if left out.
            fpack_imports: ``fn(module, is_system_lib, symbol_prefix, directory) -> path`` that
                packs what is no code.
            addons: Further object files.
            workspace_dir: Folder for intermediate files, a temporary one if left out.
            kwargs: Passed to `fcompile`.

        Returns:
            What `fcompile` returned.

        Raises:
            RuntimeError: There is no compiler here, or a module cannot be exported.
        """
        from tvm.runtime._export import export_library

        return export_library(
            self,
            os.fspath(file_name),
            fcompile=fcompile,
            fpack_imports=fpack_imports,
            addons=addons,
            workspace_dir=workspace_dir,
            **kwargs,
        )


def load_module(path, keep_module_alive: bool = True) -> Module:
    """Load a module from a library or an object file.

    Args:
        path: A shared library of any name, or an ``.o`` or ``.tar`` file, which is linked first.
            Other files by the loader that is registered for their suffix.
        keep_module_alive: Never unload it.

    Raises:
        ValueError: The file is not there, or no archive.
        RuntimeError: It cannot be linked or loaded.
    """
    path = os.fspath(path)
    if not os.path.isfile(path):
        raise ValueError(f"cannot find file {path}")
    if path.endswith((".o", ".tar")):
        return _link_and_load(path, keep_module_alive)
    with open(path, "rb") as file:
        is_elf = file.read(4) == b"\x7fELF"
    if is_elf and not path.endswith((".so", ".dso")):  # e.g. libfoo.so.2, or no suffix at all
        module = get_global_func("ffi.Module.load_from_file.so")(path, "so")
        if keep_module_alive:
            get_global_func("ffi.ModuleGlobalsAdd")(module)
        return module
    return _load_module(path, keep_module_alive=keep_module_alive)


def _link_and_load(path: str, keep_module_alive: bool) -> Module:
    from tvm.support import cc, tar, utils

    # The system keeps a library that is loaded when its file is removed.
    with utils.tempdir() as folder:
        files = [path]
        if path.endswith(".tar"):
            files = tar.normalize_file_list_by_unpacking_tars(folder, [path])
        library = folder.relpath("linked.so")
        cc.create_shared(library, files)
        return _load_module(library, keep_module_alive=keep_module_alive)


def load_static_library(path, func_names) -> Module:
    """Wrap an object file or archive so that it can be exported inside a library.

    Args:
        path: The file.
        func_names: Functions it defines.
    """
    return _ffi_api.ModuleLoadStaticLibrary(os.fspath(path), list(func_names))


def enabled(target: str) -> bool:
    """Tell whether a runtime or code generator is built in.

    Args:
        target: Target kind such as ``"llvm"`` or ``"cuda"``.
    """
    return bool(_ffi_api.RuntimeEnabled(target))


def num_threads() -> int:
    """Threads of the pool that parallel loops use."""
    return _ffi_api.NumThreads()


__all__ = [
    "BenchmarkResult",
    "Module",
    "enabled",
    "load_module",
    "load_static_library",
    "num_threads",
    "system_lib",
]
