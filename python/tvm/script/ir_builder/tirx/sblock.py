# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Blocks of the schedulable dialect."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

from tvm import tirx
from tvm.ir import Range, Var

from . import _ffi_api, frame
from .buffers import Buffer
from .values import as_value


def sblock(name: str = "", no_realize: bool = False) -> frame.SBlockFrame:
    """Open a block.

    Args:
        name: Its name.
        no_realize: Make the block alone, without values of its axes.
    """
    return _ffi_api.SBlock(name, no_realize)


@contextmanager
def block_name_suffix_context(suffix: str):
    """Append text to the names of the blocks made inside."""
    previous = _ffi_api.SetBlockNameSuffix(suffix)
    try:
        yield
    finally:
        _ffi_api.SetBlockNameSuffix(previous)


def init() -> frame.SBlockInitFrame:
    """Open what a block runs before its first reduction step."""
    return _ffi_api.SBlockInit()


def where(predicate: Any) -> None:
    """Run the block only where a condition holds."""
    predicate = as_value(predicate)
    if isinstance(predicate, bool):
        predicate = tirx.const(predicate, "bool")
    _ffi_api.Where(predicate)


def reads(*buffer_slices: Any) -> None:
    """State what the block reads; it is found from the body if left out."""
    _ffi_api.Reads(_regions(buffer_slices))


def writes(*buffer_slices: Any) -> None:
    """State what the block writes; it is found from the body if left out."""
    _ffi_api.Writes(_regions(buffer_slices))


def _regions(values: tuple) -> list:
    if len(values) == 1 and isinstance(values[0], (list, tuple)):
        values = values[0]
    return [getattr(value, "buffer", value) if _is_scalar(value) else value for value in values]


def _is_scalar(value: Any) -> bool:
    from .values import ScalarVar

    return isinstance(value, ScalarVar)


def sblock_attr(attrs: dict[str, Any]) -> None:
    """Annotate the block."""
    _ffi_api.SBlockAttrs(attrs)


def sblock_alloc_buffer(shape: Any, dtype: Any = "float32", *args: Any, **options: Any):
    """Allocate a buffer in the block, or in the root block of the function.

    Args:
        shape: Extents.
        dtype: Element type.
        args: As of ``T.Buffer``.
        options: As of ``T.Buffer``.
    """
    return _ffi_api.SBlockAllocBuffer(Buffer(shape, dtype, *args, **options))


def _domain(dom: Any) -> Range:
    if isinstance(dom, Range):
        return dom
    if isinstance(dom, (list, tuple)):
        if len(dom) != 2:
            raise ValueError(f"the domain of an axis is an extent or a pair, got {len(dom)} values")
        return Range(as_value(dom[0]), as_value(dom[1]))
    dom = as_value(dom)
    if isinstance(dom, int):
        return Range(0, dom)
    return Range(tirx.const(0, dom.dtype), dom)


class axis:  # noqa: N801 - public name
    """Axes of a block."""

    @staticmethod
    def spatial(dom: Any, binding: Any = None, dtype: str = "int32") -> Var:
        """Axis whose iterations do not depend on each other.

        Args:
            dom: Extent, pair of bounds or Range.
            binding: Value of the axis for this run of the block.
            dtype: Not used: the type is that of domain and value.
        """
        del dtype
        return _ffi_api.AxisSpatial(_domain(dom), as_value(binding))

    @staticmethod
    def reduce(dom: Any, binding: Any = None, dtype: str = "int32") -> Var:
        """Axis over which values are combined."""
        del dtype
        return _ffi_api.AxisReduce(_domain(dom), as_value(binding))

    @staticmethod
    def scan(dom: Any, binding: Any = None, dtype: str = "int32") -> Var:
        """Axis that must run in order."""
        del dtype
        return _ffi_api.AxisScan(_domain(dom), as_value(binding))

    @staticmethod
    def opaque(dom: Any, binding: Any = None, dtype: str = "int32") -> Var:
        """Axis about which nothing is known."""
        del dtype
        return _ffi_api.AxisOpaque(_domain(dom), as_value(binding))

    @staticmethod
    def remap(kinds: str, bindings: Any, dtype: str = "int32") -> list[Var] | Var:
        """Axes with the domains of loops.

        Args:
            kinds: Per axis ``S`` (spatial) or ``R`` (reduce).
            bindings: Loop variables.
            dtype: Not used.
        """
        del dtype
        result = _ffi_api.AxisRemap(kinds, [as_value(item) for item in bindings])
        return result[0] if len(result) == 1 else list(result)

    S = spatial
    R = reduce


__all__ = [
    "axis", "block_name_suffix_context", "init", "reads", "sblock", "sblock_alloc_buffer",
    "sblock_attr", "where", "writes",
]  # fmt: skip
