# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Error kinds: the link between C++ error names and Python exception classes."""

from __future__ import annotations

from . import core
from .core import Error


def register_error(name_or_cls=None, cls: type | None = None):
    """Let errors of a kind arrive as a Python class, and the class leave as that kind.

    Args:
        name_or_cls: Kind, or the class itself (then its name is the kind).
        cls: Exception class; left out when used as a decorator.

    Returns:
        The class, or a decorator.

    Example:
        >>> @register_error
        ... class QuotaError(RuntimeError):
        ...     pass
    """
    name = name_or_cls
    if isinstance(name_or_cls, type):
        cls, name = name_or_cls, name_or_cls.__name__

    def register(error_cls: type) -> type:
        if not (isinstance(error_cls, type) and issubclass(error_cls, BaseException)):
            raise TypeError(f"expected an exception class, got {error_cls!r}")
        core._register_error_kind(name or error_cls.__name__, error_cls)
        return error_cls

    return register if cls is None else register(cls)


__all__ = ["Error", "register_error"]
