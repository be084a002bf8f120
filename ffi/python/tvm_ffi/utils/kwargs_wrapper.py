# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Keyword arguments and defaults in front of a function that takes positional arguments only."""

from __future__ import annotations

import functools
import inspect
import keyword
from collections.abc import Callable, Iterable
from typing import Any

from ..core import MISSING
from .unpack_dataclass import unpack_dataclass_to_tuple

# Names of the generated code; parameters may not use them.
_INTERNAL_TARGET_FUNC = "__i_target_func"
_INTERNAL_MISSING = "__i_MISSING"
_INTERNAL_DEFAULTS_DICT = "__i_arg_defaults"
_INTERNAL_UNPACK = "__i_unpack"
_INTERNAL_NAMES = {
    _INTERNAL_TARGET_FUNC,
    _INTERNAL_MISSING,
    _INTERNAL_DEFAULTS_DICT,
    _INTERNAL_UNPACK,
}


def _validate_argument_names(names: list[str], arg_type: str) -> None:
    """Refuse names that cannot be parameters."""
    for name in names:
        if not isinstance(name, str):
            raise TypeError(
                f"{arg_type} name must be a string, got {type(name).__name__}: {name!r}"
            )
    if len(set(names)) != len(names):
        raise ValueError(f"Duplicate {arg_type.lower()} names found in: {names}")
    for name in names:
        if not name.isidentifier():
            raise ValueError(
                f"Invalid {arg_type.lower()} name: {name!r} is not a valid Python identifier"
            )
        if keyword.iskeyword(name):
            raise ValueError(
                f"Invalid {arg_type.lower()} name: {name!r} is a Python keyword and cannot be used "
                "as a parameter name"
            )


def _validate_wrapper_args(
    arg_names: list[str],
    arg_defaults: tuple,
    kwonly_names: list[str],
    kwonly_defaults: dict[str, Any],
    reserved_names: set[str],
) -> None:
    """Refuse descriptions that contradict themselves."""
    _validate_argument_names(arg_names, "Argument")
    _validate_argument_names(kwonly_names, "Keyword-only argument")
    both = set(arg_names) & set(kwonly_names)
    if both:
        raise ValueError(f"Arguments cannot be both positional and keyword-only: {both}")
    if not isinstance(arg_defaults, tuple):
        raise TypeError(f"arg_defaults must be a tuple, got {type(arg_defaults).__name__}")
    if len(arg_defaults) > len(arg_names):
        raise ValueError(
            f"arg_defaults has {len(arg_defaults)} values but only {len(arg_names)} positional "
            "arguments"
        )
    for name in kwonly_defaults:
        if name not in kwonly_names:
            raise ValueError(
                f"Default provided for {name!r} which is not in kwonly_names: {kwonly_names}"
            )
    clash = (set(arg_names) | set(kwonly_names)) & reserved_names
    if clash:
        raise ValueError(
            f"Argument names conflict with internal names: {clash}. Please avoid using names "
            'starting with "__i_"'
        )


def _build_wrapper_code(
    arg_names: list[str],
    arg_defaults: tuple,
    kwonly_names: list[str],
    kwonly_defaults: dict[str, Any],
    dc_to_tuple_set: set[str],
) -> tuple[str, dict[str, Any]]:
    """Source of the wrapper, and its defaults by name."""
    defaults = dict(zip(arg_names[len(arg_names) - len(arg_defaults) :], arg_defaults))
    defaults.update(kwonly_defaults)
    parameters = [_parameter(name, defaults) for name in arg_names]
    if kwonly_names:
        parameters.append("*")
        parameters += [_parameter(name, defaults) for name in kwonly_names]
    values = []
    for name in [*arg_names, *kwonly_names]:
        value = name
        if name in defaults:
            value = (
                f"({_INTERNAL_DEFAULTS_DICT}[{name!r}] if {name} is {_INTERNAL_MISSING} "
                f"else {name})"
            )
        values.append(f"{_INTERNAL_UNPACK}({value})" if name in dc_to_tuple_set else value)
    code = (
        f"def wrapper({', '.join(parameters)}):\n"
        f"    return {_INTERNAL_TARGET_FUNC}({', '.join(values)})\n"
    )
    return code, defaults


def _parameter(name: str, defaults: dict[str, Any]) -> str:
    return f"{name}={_INTERNAL_MISSING}" if name in defaults else name


def make_kwargs_wrapper(
    target_func: Callable,
    arg_names: list[str],
    arg_defaults: tuple = (),
    kwonly_names: list[str] | None = None,
    kwonly_defaults: dict[str, Any] | None = None,
    prototype: Callable | None = None,
    map_dataclass_to_tuple: list[str] | None = None,
) -> Callable:
    """Give a positional-only function named parameters and defaults.

    Args:
        target_func: Called with all values, positional ones first.
        arg_names: Positional parameters.
        arg_defaults: Defaults of the last positional parameters.
        kwonly_names: Keyword-only parameters.
        kwonly_defaults: Their defaults, by name.
        prototype: Function whose name, doc and annotations the wrapper takes over.
        map_dataclass_to_tuple: Parameters whose values `unpack_dataclass_to_tuple` takes apart.

    Raises:
        TypeError: A name is no string, or `arg_defaults` no tuple.
        ValueError: The names or defaults contradict each other.
    """
    kwonly_names = list(kwonly_names or ())
    kwonly_defaults = dict(kwonly_defaults or {})
    _validate_wrapper_args(
        arg_names, arg_defaults, kwonly_names, kwonly_defaults, set(_INTERNAL_NAMES)
    )
    code, defaults = _build_wrapper_code(
        arg_names, arg_defaults, kwonly_names, kwonly_defaults, set(map_dataclass_to_tuple or ())
    )
    namespace: dict[str, Any] = {
        _INTERNAL_TARGET_FUNC: target_func,
        _INTERNAL_MISSING: MISSING,
        _INTERNAL_DEFAULTS_DICT: defaults,
        _INTERNAL_UNPACK: unpack_dataclass_to_tuple,
    }
    exec(code, namespace)  # noqa: S102 - every name in it was checked above
    wrapper = namespace["wrapper"]
    if prototype is not None:
        functools.update_wrapper(wrapper, prototype)
    return wrapper


def make_kwargs_wrapper_from_signature(
    target_func: Callable,
    signature: inspect.Signature,
    prototype: Callable | None = None,
    exclude_arg_names: Iterable[str] | None = None,
    map_dataclass_to_tuple: list[str] | None = None,
) -> Callable:
    """As :py:func:`make_kwargs_wrapper`, described by a signature.

    Args:
        exclude_arg_names: Parameters to leave out.

    Raises:
        ValueError: The signature has ``*args`` or ``**kwargs``.
    """
    left_out = set(exclude_arg_names or ())
    arg_names: list[str] = []
    arg_defaults: list[Any] = []
    kwonly_names: list[str] = []
    kwonly_defaults: dict[str, Any] = {}
    for name, parameter in signature.parameters.items():
        if name in left_out:
            continue
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            raise ValueError("*args not supported in wrapper generation")
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            raise ValueError("**kwargs not supported in wrapper generation")
        has_default = parameter.default is not inspect.Parameter.empty
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            kwonly_names.append(name)
            if has_default:
                kwonly_defaults[name] = parameter.default
        else:
            arg_names.append(name)
            if has_default:
                arg_defaults.append(parameter.default)
    return make_kwargs_wrapper(
        target_func,
        arg_names,
        tuple(arg_defaults),
        kwonly_names,
        kwonly_defaults,
        prototype,
        map_dataclass_to_tuple,
    )
