# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Registration of classes and global functions."""

from __future__ import annotations

import sys

from . import core

# Set in runtime-only mode, where classes of the compiler have no type behind them.
_SKIP_UNKNOWN_OBJECTS = False


def register_object(type_key=None, *, init: bool = True):
    """Bind a class to an FFI type.

    Adds the reflected fields and methods, ``__tvm_ffi_type_info__`` and ``__ffi_init__`` to the
    class. Objects of the type are then handed out as instances of the class.

    Args:
        type_key: Key of a registered type; the class name if left out.
        init: Also give the class an ``__init__`` if it has none of its own.

    Returns:
        A decorator, or the class when used without parentheses.

    Raises:
        TypeError: `type_key` is neither a str nor a class.
        ValueError: No type has that key.
    """

    def bind(cls):
        key = type_key if isinstance(type_key, str) else cls.__name__
        index = core._object_type_key_to_index(key)
        if index is None:
            if _SKIP_UNKNOWN_OBJECTS:
                return cls
            raise ValueError(f"Cannot find object type index for {key}")
        core._register_object_by_index(index, cls, init)
        return cls

    if isinstance(type_key, type):
        return bind(type_key)
    if type_key is not None and not isinstance(type_key, str):
        raise TypeError(f"type_key must be a str, a class or None, got {type(type_key).__name__}")
    return bind


def _warn_missing_field_annotations(cls, type_info, *, stacklevel):
    """Warn about reflected fields that the class body does not annotate."""
    import warnings

    annotations = cls.__dict__.get("__annotations__", {})
    missing = [member.name for member in type_info.fields if member.name not in annotations]
    if missing:
        warnings.warn(
            f"@c_class({type_info.type_key!r}): class `{cls.__name__}` does not annotate the "
            f"following reflected field(s): {', '.join(missing)}. Annotate them in the class body "
            "for editors and documentation.",
            UserWarning,
            stacklevel=stacklevel + 1,
        )


def register_global_func(func_name, f=None, override: bool = False):
    """Put a function into the global table.

    Args:
        func_name: Global name, or the function itself (then its ``__name__`` is the name).
        f: The function; left out when used as a decorator.
        override: Replace a function of the same name.

    Returns:
        A decorator if `f` is left out, else the function.

    Raises:
        RuntimeError: The name is taken and `override` is false.
    """
    if callable(func_name):
        f, func_name = func_name, func_name.__name__
    if not isinstance(func_name, str):
        raise TypeError(f"expected a name or a function, got {type(func_name).__name__}")
    if f is not None:
        return core._register_global_func(func_name, f, override)

    def register(function):
        core._register_global_func(func_name, function, override)
        return function

    return register


get_global_func = core.get_global_func


def list_global_func_names() -> list[str]:
    """Names of all global functions."""
    names = get_global_func("ffi.FunctionListGlobalNamesFunctor")()
    return [names(i) for i in range(names(-1))]


def remove_global_func(name: str) -> None:
    """Remove a global function; a missing one is no error."""
    get_global_func("ffi.FunctionRemoveGlobal")(name)


def get_global_func_metadata(name: str) -> dict:
    """Metadata of a global function, e.g. its type schema as JSON text."""
    import json

    return json.loads(get_global_func("ffi.GetGlobalFuncMetadata")(name) or "{}")


def get_registered_type_keys() -> list[str]:
    """Keys of all registered types."""
    return list(get_global_func("ffi.GetRegisteredTypeKeys")())


def init_ffi_api(namespace: str, target_module_name: str | None = None) -> None:
    """Bind every global function ``namespace.X`` as attribute ``X`` of a module.

    Args:
        namespace: Prefix, e.g. ``"relax.op"``.
        target_module_name: Module to fill, named `namespace` if left out. Names that the module
            already has stay.
    """
    module = sys.modules[target_module_name or namespace]
    prefix = namespace + "."
    for name in list_global_func_names():
        if not name.startswith(prefix):
            continue
        attribute = name[len(prefix) :]
        if "." in attribute or attribute in module.__dict__:
            continue
        function = get_global_func(name, allow_missing=True)
        if function is not None:
            setattr(module, attribute, function)


__all__ = [
    "get_global_func",
    "get_global_func_metadata",
    "get_registered_type_keys",
    "init_ffi_api",
    "list_global_func_names",
    "register_global_func",
    "register_object",
    "remove_global_func",
]
