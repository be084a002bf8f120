# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Attributes of packages that are imported on first use."""

from __future__ import annotations

import importlib


def attach(
    package: str,
    namespace: dict,
    modules=(),
    names: dict[str, str] | None = None,
    absent: dict[str, str] | None = None,
):
    """Make a module ``__getattr__`` that imports submodules when they are asked for.

    Args:
        package: Name of the package.
        namespace: Its ``globals()``; results are stored there.
        modules: Submodules that appear as attributes.
        names: Attribute -> submodule that defines it.
        absent: Submodules that cannot be used in this process -> why.

    Returns:
        Functions ``__getattr__`` and ``__dir__``.
    """
    names, absent = names or {}, absent or {}

    def __getattr__(name):
        reason = absent.get(names.get(name, name))
        if reason is not None:
            raise AttributeError(f"{package}.{name} cannot be used here: {reason}")
        if name in modules:
            full = f"{package}.{name}"
            try:
                value = importlib.import_module(full)
            except ModuleNotFoundError as err:
                if err.name != full:
                    raise
                raise AttributeError(f"{full} is not part of this installation") from None
        elif name in names:
            value = getattr(importlib.import_module(f"{package}.{names[name]}"), name)
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        namespace[name] = value
        return value

    def __dir__():
        here = {name for name in (*modules, *names) if names.get(name, name) not in absent}
        return sorted({*namespace, *here})

    return __getattr__, __dir__


class FFINamespace:
    """Global functions ``prefix.*`` as attributes, looked up on first use.

    Unlike binding them all at import, this costs nothing for those never called, and sees functions
    that are registered later.
    """

    def __init__(self, prefix: str) -> None:
        self.__prefix = prefix

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        from tvm_ffi import core

        full = f"{self.__prefix}.{name}"
        function = core.get_global_func(full, True)
        if function is None:
            from . import base

            hint = "; this needs the compiler library" if base._RUNTIME_ONLY else ""
            raise AttributeError(f"there is no global function {full}{hint}")
        setattr(self, name, function)
        return function
