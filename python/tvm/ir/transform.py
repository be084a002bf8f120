# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Passes, their context, and passes written in Python."""

from __future__ import annotations

import functools
import inspect

from tvm_ffi import Object, register_object

from . import _ffi_transform_api as _api


@register_object("transform.PassInfo")
class PassInfo(Object):
    """Name, level and requirements of a pass."""

    def __init__(self, opt_level, name, required=None, traceable=False) -> None:
        self.__init_handle_by_constructor__(
            _api.PassInfo, opt_level, name, list(required or []), traceable
        )


@register_object("transform.PassContext")
class PassContext(Object):
    """Options for passes that run inside its ``with`` block.

    Args:
        opt_level: Passes of a higher level are skipped.
        required_pass: Names of passes that run at any level.
        disabled_pass: Names of passes that never run.
        instruments: Observers of passes.
        config: Option -> value; unknown options are refused.
    """

    def __init__(
        self,
        opt_level: int = 2,
        required_pass=None,
        disabled_pass=None,
        instruments=None,
        config=None,
    ) -> None:
        for name, value in (("required_pass", required_pass), ("disabled_pass", disabled_pass)):
            if value is not None and not _is_sequence(value):
                raise TypeError(f"{name} is expected to be a list/tuple/set, got {type(value)}")
        if instruments is not None and not _is_sequence(instruments):
            raise TypeError(f"instruments is expected to be a list, got {type(instruments)}")
        self.__init_handle_by_constructor__(
            _api.PassContext,
            opt_level,
            list(required_pass or []),
            list(disabled_pass or []),
            list(instruments or []),
            config,
        )

    def __enter__(self) -> PassContext:
        _api.EnterPassContext(self)
        return self

    def __exit__(self, *exc_info) -> None:
        _api.ExitPassContext(self)

    def override_instruments(self, instruments) -> None:
        """Leave the current instruments and enter others."""
        _api.OverrideInstruments(self, list(instruments or []))

    def pass_enabled(self, info: PassInfo) -> bool:
        """Tell whether a pass would run."""
        return bool(_api.PassEnabled(self, info))

    @staticmethod
    def current() -> PassContext:
        """Innermost context of this thread."""
        return _api.GetCurrentPassContext()

    @staticmethod
    def list_configs():
        """Registered options: name -> ``{"type": ..}``."""
        return _api.ListConfigs()


def _is_sequence(value) -> bool:
    return isinstance(value, (list, tuple, set)) or type(value).__name__ in ("Array", "List")


@register_object("transform.Pass")
class Pass(Object):
    """Function from module to module."""

    @property
    def info(self) -> PassInfo:
        """Name, level and requirements."""
        return _api.Info(self)

    def __call__(self, mod):
        """Run the pass.

        Args:
            mod: The module; it is not changed.

        Returns:
            The new module; the same object if nothing changed.
        """
        return _api.RunPass(self, mod)


@register_object("transform.ModulePass")
class ModulePass(Pass):
    """Pass over a whole module; see :py:func:`module_pass`."""


@register_object("transform.Sequential")
class Sequential(Pass):
    """Passes in order.

    Args:
        passes: The passes.
        opt_level: Level of the whole.
        name: Name of the whole.
        required: Names of passes that run first.
        traceable: Whether traces may record it.
    """

    def __init__(
        self, passes=None, opt_level=0, name="sequential", required=None, traceable=False
    ) -> None:
        passes = list(passes or [])
        self.__init_handle_by_constructor__(
            _api.Sequential, passes, opt_level, name, list(required or []), traceable
        )


def _wrap_pass_class(cls, info: PassInfo, method: str, make, base: type):
    """Class whose instances are passes that run ``cls.method``."""

    class PyPass(base):
        __slots__ = ("__dict__",)

        def __init__(self, *args, **kwargs) -> None:
            instance = cls(*args, **kwargs)

            # The closure must not hold `self`: the pass would keep itself alive.
            def run(*call_args):
                return getattr(instance, method)(*call_args)

            self.__init_handle_by_constructor__(make, run, info)
            self._inst = instance

        def __getattr__(self, name):
            if name == "_inst":
                raise AttributeError(name)
            return getattr(self._inst, name)

    functools.update_wrapper(PyPass.__init__, cls.__init__)
    PyPass.__name__ = cls.__name__
    PyPass.__qualname__ = cls.__qualname__
    PyPass.__doc__ = cls.__doc__
    PyPass.__module__ = cls.__module__
    return PyPass


def _make_decorator(make, method: str, base: type, function, opt_level, name, required, traceable):
    if opt_level is None:
        raise ValueError("Please provide opt_level for the pass.")
    if required is not None and not isinstance(required, (list, tuple)):
        raise TypeError(f"Required is expected to be the type of list/tuple, got {type(required)}")

    def create(target):
        info = PassInfo(opt_level, name or target.__name__, required, traceable)
        if inspect.isclass(target):
            if not hasattr(target, method):
                raise TypeError(f"{target.__name__} must have a method {method}")
            return _wrap_pass_class(target, info, method, make, base)
        if not callable(target):
            raise TypeError("pass_func must be a callable or a class")
        return make(target, info)

    return create if function is None else create(function)


def module_pass(pass_func=None, opt_level=None, name=None, required=None, traceable=False):
    """Make a pass of a function ``fn(mod, ctx) -> mod``, or of a class with ``transform_module``.

    Args:
        pass_func: The function or class; a decorator is returned if left out.
        opt_level: Level.
        name: Name; that of the function if left out.
        required: Names of passes that run first.
        traceable: Whether traces may record it.
    """
    return _make_decorator(
        _api.MakeModulePass, "transform_module", ModulePass, pass_func, opt_level, name, required,
        traceable,
    )  # fmt: skip


def PrintIR(header: str = "") -> Pass:  # noqa: N802 - public name
    """Pass that logs the module."""
    return _api.PrintIR(header)


def ApplyPassToFunction(
    transform: Pass, func_name_regex: str, error_if_no_function_matches_regex: bool = False
) -> Pass:  # noqa: N802,E501
    """Pass that runs another one only on functions whose name matches."""
    import re

    pattern = re.compile(func_name_regex)

    @module_pass(opt_level=0, name=f"ApplyPassToFunction[{transform.info.name}]")
    def run(mod, _ctx):
        from .module import IRModule

        matched = [gv for gv, _ in mod.functions_items() if pattern.search(str(gv.name_hint))]
        if not matched and error_if_no_function_matches_regex:
            raise ValueError(f"no function matches {func_name_regex!r}")
        if not matched:
            return mod
        part = IRModule()
        for gv in matched:
            part[gv] = mod[gv]
        result = mod.clone()
        done = transform(part)
        for gv in matched:
            if gv not in done:
                del result[gv]
        result.update(done)
        return result

    return run
