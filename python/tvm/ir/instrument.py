# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Observers of passes."""

from __future__ import annotations

import functools
import inspect

from tvm_ffi import Object, register_object

from . import _ffi_instrument_api as _api

_HOOKS = ("enter_pass_ctx", "exit_pass_ctx", "should_run", "run_before_pass", "run_after_pass")


@register_object("instrument.PassInstrument")
class PassInstrument(Object):
    """Base of instruments; a subclass defines the hooks it needs.

    Hooks: ``enter_pass_ctx()``, ``exit_pass_ctx()``, ``should_run(mod, info) -> bool``,
    ``run_before_pass(mod, info)``, ``run_after_pass(mod, info)``.
    """

    def __init__(self) -> None:
        hooks = []
        for name in _HOOKS:
            method = getattr(type(self), name, None)
            if method is None or getattr(PassInstrument, name, None) is method:
                hooks.append(None)
            else:
                hooks.append(functools.partial(method, self))
        self.__init_handle_by_constructor__(_api.PassInstrument, type(self).__name__, *hooks)


def _wrap_class(cls):
    class PyPassInstrument(PassInstrument):
        __slots__ = ("__dict__",)

        def __init__(self, *args, **kwargs) -> None:
            instance = cls(*args, **kwargs)
            hooks = [getattr(instance, name, None) for name in _HOOKS]
            self.__init_handle_by_constructor__(_api.PassInstrument, cls.__name__, *hooks)
            self._inst = instance

        def __getattr__(self, name):
            if name == "_inst":
                raise AttributeError(name)
            return getattr(self._inst, name)

    functools.update_wrapper(PyPassInstrument.__init__, cls.__init__)
    PyPassInstrument.__name__ = cls.__name__
    PyPassInstrument.__doc__ = cls.__doc__
    PyPassInstrument.__module__ = cls.__module__
    return PyPassInstrument


def pass_instrument(pi_cls=None):
    """Class decorator: instances become instruments with the hooks that the class defines."""

    def create(cls):
        if not inspect.isclass(cls):
            raise TypeError(f"pi_cls must be a class, got {cls!r}")
        return _wrap_class(cls)

    return create if pi_cls is None else create(pi_cls)


class PassTimingInstrument(PassInstrument):
    """Measures the time of each pass."""

    def __init__(self) -> None:
        self.__init_handle_by_constructor__(_api.MakePassTimingInstrument)

    @staticmethod
    def render() -> str:
        """Times of the passes run so far, as an indented tree; call it inside the context."""
        return _api.RenderTimePassProfiles()


@pass_instrument
class PassPrintingInstrument:
    """Prints the module before and after chosen passes.

    Args:
        print_before_pass_names: Names of passes.
        print_after_pass_names: Names of passes.
    """

    def __init__(self, print_before_pass_names, print_after_pass_names) -> None:
        self.print_before_pass_names = print_before_pass_names
        self.print_after_pass_names = print_after_pass_names

    def run_before_pass(self, mod, info) -> None:
        """Print before."""
        if info.name in self.print_before_pass_names:
            print(f"Print IR before: {info.name}\n{mod}\n")

    def run_after_pass(self, mod, info) -> None:
        """Print after."""
        if info.name in self.print_after_pass_names:
            print(f"Print IR after: {info.name}\n{mod}\n")


@pass_instrument
class PrintAfterAll:
    """Prints the module after each pass."""

    def run_after_pass(self, mod, info) -> None:
        """Print."""
        print(f"After Running Pass: {info.name}\n{mod}")


@pass_instrument
class PrintBeforeAll:
    """Prints the module before each pass."""

    def run_before_pass(self, mod, info) -> None:
        """Print."""
        print(f"Before Running Pass: {info.name}\n{mod}")


@pass_instrument
class DumpIR:
    """Writes the module after each pass to numbered files.

    Args:
        dump_dir: Folder; made if missing.
        refresh: Remove earlier files of the folder first.
    """

    def __init__(self, dump_dir, refresh: bool = False) -> None:
        import os

        self.dump_dir = os.fspath(dump_dir)
        self.counter = 0
        os.makedirs(self.dump_dir, exist_ok=True)
        if refresh:
            for name in os.listdir(self.dump_dir):
                if name.endswith(".py"):
                    os.remove(os.path.join(self.dump_dir, name))

    def run_after_pass(self, mod, info) -> None:
        """Write one file."""
        import os

        name = "".join(c if c.isalnum() or c in "._-" else "_" for c in str(info.name))
        path = os.path.join(self.dump_dir, f"{self.counter:03d}_{name}.py")
        with open(path, "w", encoding="utf-8") as out:
            out.write(str(mod))
        self.counter += 1
