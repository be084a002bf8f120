# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Dataclass values as tuples, without copying what they hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Class -> function that takes a value of exactly that class apart.
_PLANS: dict[type, Callable[[Any], Any]] = {}


def unpack_dataclass_to_tuple(x: Any) -> Any:
    """Turn dataclass instances into tuples of their field values.

    Goes into lists, tuples and the values of dicts, keeping their classes. Everything else,
    dataclass *classes* included, is returned as it is.
    """
    plan = _PLANS.get(type(x))
    if plan is None:
        plan = _plan_for(type(x))
    return plan(x)


def _plan_for(cls: type) -> Callable[[Any], Any]:
    plan = _make_plan(cls)
    if len(_PLANS) > 4096:  # classes made in a loop must not pile up here
        _PLANS.clear()
    _PLANS[cls] = plan
    return plan


def _make_plan(cls: Any) -> Callable[[Any], Any]:
    fields = getattr(cls, "__dataclass_fields__", None)
    if fields is not None and not issubclass(cls, type):
        from dataclasses import fields as fields_of

        return _compile_record([f.name for f in fields_of(cls)])
    unpack = unpack_dataclass_to_tuple
    if issubclass(cls, tuple):
        if hasattr(cls, "_fields"):
            return lambda value: cls(*[unpack(item) for item in value])
        if cls is tuple:
            return lambda value: tuple([unpack(item) for item in value])
        return _identity
    if cls is list:
        return lambda value: [unpack(item) for item in value]
    if cls is dict:
        return lambda value: {key: unpack(item) for key, item in value.items()}
    return _identity


def _identity(value: Any) -> Any:
    return value


def _compile_record(names: list[str]) -> Callable[[Any], Any]:
    """Function for a dataclass; written out, which is about twice as fast as a loop."""
    parts = "".join(f"unpack(value.{name}), " for name in names)
    namespace: dict[str, Any] = {"unpack": unpack_dataclass_to_tuple}
    exec(f"def plan(value):\n    return ({parts})\n", namespace)  # noqa: S102 - names of fields
    return namespace["plan"]


__all__ = ["unpack_dataclass_to_tuple"]
