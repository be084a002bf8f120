# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Checks of arguments against the annotations of a method."""

from __future__ import annotations

import collections.abc
import functools
import inspect
import types
import typing
from typing import Any, Union


def _fits(value, hint) -> bool:
    if hint is Any:
        return True
    if hint is None or hint is type(None):
        return value is None
    origin = typing.get_origin(hint)
    args = typing.get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, option) for option in args)
    if origin in (list, collections.abc.Sequence):
        is_list = isinstance(value, (list, tuple)) or type(value).__name__ == "Array"
        return is_list and all(_fits(part, args[0]) for part in value)
    if origin is tuple:
        return (
            isinstance(value, tuple)
            and len(value) == len(args)
            and all(_fits(part, option) for part, option in zip(value, args))
        )
    if origin is dict:
        return isinstance(value, dict) and all(
            _fits(key, args[0]) and _fits(part, args[1]) for key, part in value.items()
        )
    if origin is collections.abc.Callable:
        return callable(value)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, hint)


def type_checked(method):
    """Raise TypeError for arguments that do not fit the annotations of a method."""
    signature = inspect.signature(method)
    hints: dict[str, Any] = {}

    @functools.wraps(method)
    def checked(*args, **kwargs):
        if not hints:
            hints.update(typing.get_type_hints(method))
        bound = signature.bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            if name not in hints:
                continue
            variadic = signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
            for part in value if variadic else (value,):
                if not _fits(part, hints[name]):
                    raise TypeError(
                        f'Schedule.{method.__name__}: argument "{name}" has to be of type '
                        f"{signature.parameters[name].annotation}, but got {part!r} of type "
                        f"{type(part).__name__}"
                    )
        return method(*args, **kwargs)

    return checked
