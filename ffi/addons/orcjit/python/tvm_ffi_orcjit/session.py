# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Sessions, and the libraries that they link."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import tvm_ffi
from tvm_ffi import Function, Module, Object, register_object

from . import _ffi_api


def _is_single(value) -> bool:
    return isinstance(value, (str, bytes, bytearray, memoryview, os.PathLike))


def _to_native(value, what: str):
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str):
        return value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise TypeError(
        f"{what} must be a path (str or Path) or object-file bytes, got {type(value).__name__}"
    )


@register_object("tvm_ffi_orcjit.ExecutionSession")
class ExecutionSession(Object):
    """A JIT linker with memory of its own.

    Most callers share :func:`default_session`. A session lives as long as a library or function
    of it; all methods may be called from any thread.

    Args:
        orc_rt: ``"auto"`` or None: static constructors and destructors, thread-local variables and
            exceptions are the addon's work. A path or bytes: an ORC runtime archive of
            LLVM's compiler-rt that does it instead.
        slab_size: Bytes of address space that the session takes at a time: 0 for the default, at
            least 4 MiB, or negative for a mapping of its own for each object.

    Raises:
        RuntimeError: The machine is not supported or the runtime cannot be used.
        ValueError: ``slab_size`` is too small.
    """

    def __init__(
        self, orc_rt: str | Path | bytes | bytearray | None = "auto", slab_size: int = 0
    ) -> None:
        if orc_rt is not None:
            orc_rt = _to_native(orc_rt, "orc_rt")
        self.__init_handle_by_constructor__(_ffi_api.ExecutionSession, orc_rt, slab_size)

    def load_module(
        self,
        objects: str | Path | bytes | bytearray | Sequence[str | Path | bytes | bytearray],
        name: str = "",
        keep_module_alive: bool = False,
        cxx: str | None = None,
    ) -> Module:
        """Link object files into a library of their own and run its static constructors.

        Args:
            objects: A file (path or content), or several that make one library.
            name: For messages; need not be unique.
            keep_module_alive: Never unload. Otherwise the library goes when the module and its
                functions are gone, so no other object that its code made may be left. (Objects that
                a function of the module returns keep the library for the rest of the process.)
            cxx: C++ compiler whose library the objects may need; ```` or ``c++`` by default.
                It is asked only when nothing in the process defines a symbol.

        Returns:
            The module; it behaves like one of :func:`tvm_ffi.load_module`.

        Raises:
            RuntimeError: An object is damaged or for another machine, a symbol is defined twice or
                not at all; the message names it.
            Exception: What a static constructor raised.
        """
        items = [objects] if _is_single(objects) else list(objects)
        natives = [_to_native(item, "load_module objects") for item in items]
        module = _ffi_api.SessionLoadModule(self, natives, name, cxx)
        if keep_module_alive:
            tvm_ffi.get_global_func("ffi.ModuleGlobalsAdd")(module)
        return module

    def create_library(self, name: str = "", cxx: str | None = None) -> DynamicLibrary:
        """Make an empty library, to which objects are added one by one.

        Args:
            name: For messages; need not be unique.
            cxx: As for :meth:`load_module`.
        """
        return _ffi_api.SessionCreateLibrary(self, name, cxx)

    def clear_free_slabs(self) -> int:
        """Give address space back of which nothing is in use; returns the number of slabs."""
        return _ffi_api.SessionClearFreeSlabs(self)


@register_object("tvm_ffi_orcjit.DynamicLibrary")
class DynamicLibrary(Object):
    """A library that grows; made by :meth:`ExecutionSession.create_library`."""

    def add(self, object_file: str | Path | bytes | bytearray) -> None:
        """Add an object file. It is linked at the next look-up of a function.

        Raises:
            RuntimeError: The object is damaged or for another machine, or defines a symbol that
                the library has.
        """
        _ffi_api.LibraryAdd(self, _to_native(object_file, "add object"))

    def set_link_order(self, *libraries: DynamicLibrary) -> None:
        """Let objects linked from now on use symbols of other libraries, the first match first.

        The libraries live as long as this one.

        Raises:
            ValueError: A library is of another session, or uses this one.
        """
        _ffi_api.LibrarySetLinkOrder(self, list(libraries))

    def module(self) -> Module:
        """Link what was added and return the module over the whole library.

        Raises:
            RuntimeError: A symbol is not defined. The objects added since the last call are then
                dropped.
        """
        return _ffi_api.LibraryGetModule(self)

    def get_function(self, name: str) -> Function:
        """Look a function up in what was added so far.

        Raises:
            AttributeError: There is none of that name.
            RuntimeError: As for :meth:`module`.
        """
        return self.module().get_function(name)


_DEFAULT_SESSION: ExecutionSession | None = None


def default_session() -> ExecutionSession:
    """The session that the whole process shares; it is never destroyed."""
    global _DEFAULT_SESSION
    if _DEFAULT_SESSION is None:
        _DEFAULT_SESSION = _ffi_api.GlobalDefaultSession()
    return _DEFAULT_SESSION
