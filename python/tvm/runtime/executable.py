# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Compiled modules that can be run at once or exported."""

from __future__ import annotations

from .module import Module


class Executable:
    """A compiled module.

    Args:
        mod: The module.
    """

    def __init__(self, mod: Module) -> None:
        self.mod = mod
        self._jitted: Module | None = None

    def __getitem__(self, name: str):
        return self.jit().get_function(name, query_imports=True)

    def __call__(self, *args):
        return self.jit()["main"](*args)

    def jit(
        self,
        *,
        fcompile=None,
        addons=None,
        force_recompile: bool = False,
        **kwargs,
    ) -> Module:
        """Runnable form of the module, made once.

        Args:
            fcompile: Linker, as in :py:meth:`tvm.runtime.Module.export_library`.
            addons: Further object files.
            force_recompile: Make it anew.
            kwargs: Passed to the linker.
        """
        if self._jitted is not None and not force_recompile:
            return self._jitted
        # Bytecode needs no linking: the virtual machine loads it as it is.
        parts = self.mod._collect(0xFF)
        if all(part.is_runnable() or part.kind == "relax.VMExecutable" for part in parts):
            self._jitted = self.mod
            return self._jitted
        from tvm.support import utils

        from .module import load_module

        # Something in the tree is only source or objects: link it, then load the result.
        folder = utils.tempdir()
        path = folder.relpath("exported.so")
        self.mod.export_library(path, fcompile=fcompile, addons=addons, **kwargs)
        self._jitted = load_module(path)
        return self._jitted

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
        """Write one library; see :py:meth:`tvm.runtime.Module.export_library`."""
        return self.mod.export_library(
            file_name,
            fcompile=fcompile,
            fpack_imports=fpack_imports,
            addons=addons,
            workspace_dir=workspace_dir,
            **kwargs,
        )
