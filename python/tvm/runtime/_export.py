# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Export of a module tree into one library."""

from __future__ import annotations

import os

from tvm import base

from . import _ffi_api


def _is_system_lib(kwargs: dict, modules) -> tuple[bool, str]:
    """Whether the code registers its functions at start, and with which prefix."""
    prefix = kwargs.pop("system_lib_prefix", None)
    if prefix is not None:
        return True, prefix
    for module in modules:
        if module.implements_function("__tvm_is_system_module"):
            return True, module.get_function("__tvm_get_system_lib_prefix")() or ""
    return False, ""


def export_library(module, file_name, *, fcompile, fpack_imports, addons, workspace_dir, **kwargs):
    """See :py:meth:`tvm.runtime.Module.export_library`."""
    if base._RUNTIME_ONLY:
        raise RuntimeError("export_library needs the compiler library, which is not loaded")
    export = _find_native_export()
    if export is not None and fcompile is None and fpack_imports is None and not kwargs:
        # The driver writes code, constants and the module tree in one go.
        return export(module, file_name, list(addons or []), workspace_dir or "")
    from tvm.support import cc, tar, utils

    folder = utils.tempdir(workspace_dir)
    suffix = os.path.splitext(file_name)[1]
    if fcompile is None:
        fcompile = tar.tar if suffix == ".tar" else cc.create_shared
    object_format = getattr(fcompile, "object_format", None) or "o"
    files = list(addons or [])
    exportable = module._collect(4)
    system_lib, prefix = _is_system_lib(kwargs, exportable)
    has_c = False
    for index, part in enumerate(exportable):
        formats = list(part.get_write_formats())
        fmt = object_format if object_format in formats else formats[0]
        has_c |= fmt in ("c", "cc", "cpp")
        path = folder.relpath(f"lib{index}.{fmt}")
        part.write_to_file(path, fmt)
        files.append(path)
    if len(exportable) != len(module._collect(0xFF)) or module.imports:
        files.append(_pack_imports(module, folder, fpack_imports, system_lib, prefix, has_c))
    if has_c:
        from tvm import libinfo

        options = list(kwargs.pop("options", None) or [])
        options += [f"-I{path}" for path in libinfo.find_include_path()]
        kwargs["options"] = options
    return fcompile(file_name, files, **kwargs)


def _find_native_export():
    from tvm_ffi import get_global_func

    return get_global_func("driver.ExportLibrary", allow_missing=True)


def _pack_imports(module, folder, fpack_imports, system_lib, prefix, has_c) -> str:
    if fpack_imports is not None:
        return fpack_imports(module, system_lib, prefix, folder.temp_dir)
    if has_c or not _ffi_api.RuntimeEnabled("llvm"):
        path = folder.relpath("devc.c")
        with open(path, "w", encoding="utf-8") as out:
            out.write(_ffi_api.ModulePackImportsToC(module, system_lib, prefix))
        return path
    path = folder.relpath("devc.o")
    packed = _ffi_api.ModulePackImportsToLLVM(module, system_lib, "", prefix)
    packed.write_to_file(path, "o")
    return path
