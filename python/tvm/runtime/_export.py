# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Export of a module tree into one library."""

from __future__ import annotations

import os

from tvm import base
from tvm._lazy import FFINamespace

_driver = FFINamespace("driver")


def export_library(module, file_name, *, fcompile, fpack_imports, addons, workspace_dir, **kwargs):
    """See :py:meth:`tvm.runtime.Module.export_library`."""
    if base._RUNTIME_ONLY:
        raise RuntimeError("export_library needs the compiler library, which is not loaded")
    addons = [os.fspath(path) for path in addons or []]
    is_tar = file_name.endswith(".tar")
    if fcompile is None and fpack_imports is None and not is_tar:
        # The driver writes code, constants and the module tree, and links them.
        return _driver.ExportLibrary(
            module, file_name, _driver_options(addons, workspace_dir, kwargs)
        )
    from tvm.support import cc, tar, utils

    folder = utils.tempdir(workspace_dir)
    if fpack_imports is not None:
        files = _write_parts(module, folder)
        files.append(fpack_imports(module, False, "", folder.temp_dir))
    else:
        files = list(_driver.ExportObjects(module, folder.temp_dir, {}))
    if fcompile is None:
        fcompile = tar.tar if is_tar else cc.create_shared
    return fcompile(file_name, [*files, *addons], **kwargs)


def _driver_options(addons: list[str], workspace_dir, kwargs: dict) -> dict:
    options: dict = {}
    if addons:
        options["addons"] = addons
    if workspace_dir is not None:
        options["workspace_dir"] = os.fspath(workspace_dir)
    for key, value in kwargs.items():
        if key not in ("cc", "options"):
            raise TypeError(f"export_library got an unexpected option {key!r}")
        options[key] = value if isinstance(value, str) else [str(item) for item in value]
    return options


def _write_parts(module, folder) -> list[str]:
    """Write every module of the tree that is code."""
    files = []
    for index, part in enumerate(module._collect(4)):
        formats = list(part.get_write_formats())
        fmt = "o" if "o" in formats else formats[0]
        path = folder.relpath(f"lib{index}.{fmt}")
        part.write_to_file(path, fmt)
        files.append(path)
    return files
