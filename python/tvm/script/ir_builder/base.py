# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Builder of IR by nested scopes, and the base of its frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import contextmanager
from typing import Any

from tvm.ir.base import Span
from tvm_ffi import Object, register_object

from . import _ffi_api


@register_object("script.ir_builder.IRBuilderFrame")
class IRBuilderFrame(Object):
    """One open scope: ``with frame:`` opens it, leaving it builds the node."""

    def __enter__(self) -> IRBuilderFrame:
        _ffi_api.IRBuilderFrameEnter(self)
        return self

    def __exit__(self, kind, value, trace) -> None:
        if kind is None:
            _ffi_api.IRBuilderFrameExit(self)
        else:
            _ffi_api.IRBuilderFrameAbandon(self)

    def add_callback(self, callback: Callable[[], None]) -> None:
        """Run a function when the frame is left without an error; the last one added runs first.

        Raises:
            ValueError: No frame is open.
        """
        _ffi_api.IRBuilderFrameAddCallback(self, callback)


@register_object("script.ir_builder.IRBuilder")
class IRBuilder(Object):
    """Stack of open frames and the result.

    Example:
        >>> with IRBuilder() as ib:
        ...     with T.prim_func():
        ...         T.evaluate(0)
        >>> func = ib.get()
    """

    def __init__(self) -> None:
        self.__init_handle_by_constructor__(_ffi_api.IRBuilder)

    def __enter__(self) -> IRBuilder:
        _ffi_api.IRBuilderEnter(self)
        return self

    def __exit__(self, kind, value, trace) -> None:
        _ffi_api.IRBuilderExit(self)

    @staticmethod
    def current() -> IRBuilder:
        """Builder of the innermost ``with`` of this thread.

        Raises:
            ValueError: There is none.
        """
        return _ffi_api.IRBuilderCurrent()

    @staticmethod
    def is_in_scope() -> bool:
        """True inside of a ``with IRBuilder()``."""
        return bool(_ffi_api.IRBuilderIsInScope())

    def get(self) -> Any:
        """What the outermost frame built.

        Raises:
            ValueError: Nothing was built.
        """
        return _ffi_api.IRBuilderGet(self)

    @staticmethod
    def name(s: str, v: Any) -> Any:
        """Name a variable; see :py:func:`name`."""
        return _ffi_api.IRBuilderName(s, v)

    @staticmethod
    def name_many(s: Iterable[str], vs: Iterable[Any]) -> list[Any]:
        """Name several variables; see :py:func:`name_many`."""
        return name_many(s, vs)

    @contextmanager
    def with_source_span(self, span: Span | None):
        """Give what is built inside a place in the source."""
        if span is None:
            yield
            return
        _ffi_api.IRBuilderPushSpan(self, span)
        try:
            yield
        finally:
            _ffi_api.IRBuilderPopSpan(self)


def name(s: str, v: Any) -> Any:
    """Name a variable.

    Args:
        s: The name.
        v: Variable, buffer, iteration variable, or a list of them (``s_0``, ``s_1``, ..).

    Returns:
        `v`.
    """
    return _ffi_api.IRBuilderName(s, v)


def name_many(s: Iterable[str], vs: Iterable[Any]) -> list[Any]:
    """Name several variables.

    Raises:
        ValueError: There are more or fewer names than variables.
    """
    return [name(text, value) for text, value in zip(s, vs, strict=True)]


class meta_var:  # noqa: N801 - public name
    """Marks a value as one that the parser binds to a name as it is, without making IR for it."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __iter__(self):
        return (meta_var(item) for item in self.value)
