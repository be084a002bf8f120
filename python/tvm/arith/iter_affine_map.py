# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Affine maps of iteration variables, undone by splits and fusions."""

from __future__ import annotations

from enum import IntEnum

from tvm.ir import IntImm
from tvm.ir.expr import Expr
from tvm_ffi import Object, register_object

from . import _ffi_api
from .analyzer import _pairs


class IterMapLevel(IntEnum):
    """What a map must fulfil."""

    Bijective = 0
    Surjective = 1
    NoCheck = 3

    @staticmethod
    def from_str(name: str | None) -> IterMapLevel:
        """Level of a name, in any case; None means Surjective."""
        if name is None:
            return IterMapLevel.Surjective
        levels = {
            "bijective": IterMapLevel.Bijective,
            "surjective": IterMapLevel.Surjective,
            "nocheck": IterMapLevel.NoCheck,
        }
        if name.lower() not in levels:
            raise ValueError(f"Unknown iter map level {name!r}, expected one of {list(levels)}")
        return levels[name.lower()]


@register_object("arith.IterMapExpr")
class IterMapExpr(Expr):
    """Base of parts of a map."""


@register_object("arith.IterMark")
class IterMark(Object):
    """An iterator, or a fusion of iterators, with its extent."""

    def __init__(self, source, extent) -> None:
        self.__init_handle_by_constructor__(_ffi_api.IterMark, source, extent)


@register_object("arith.IterSplitExpr")
class IterSplitExpr(IterMapExpr):
    """``source // lower_factor % extent * scale``."""

    def __init__(self, source, lower_factor, extent, scale) -> None:
        self.__init_handle_by_constructor__(
            _ffi_api.IterSplitExpr, source, lower_factor, extent, scale
        )


@register_object("arith.IterSumExpr")
class IterSumExpr(IterMapExpr):
    """Sum of splits and a base."""

    def __init__(self, args, base) -> None:
        self.__init_handle_by_constructor__(_ffi_api.IterSumExpr, list(args), base)


@register_object("arith.IterMapResult")
class IterMapResult(Object):
    """Indices as sums of splits; empty with ``errors`` if that failed."""


def _level(level) -> int:
    return int(IterMapLevel.from_str(level) if isinstance(level, str) else level)


def _condition(value):
    return IntImm("bool", value) if isinstance(value, bool) else value


def detect_iter_map(
    indices,
    input_iters,
    predicate=True,
    check_level=IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
    analyzer=None,
) -> IterMapResult:
    """Write indices as sums of splits of iterators.

    Args:
        indices: The indices.
        input_iters: Variable -> range.
        predicate: Condition under which they are used.
        check_level: What the map must fulfil.
        simplify_trivial_iterators: Drop iterators of extent 1.
        analyzer: Further facts.
    """
    return _ffi_api.DetectIterMap(
        list(indices),
        _pairs(input_iters),
        _condition(predicate),
        _level(check_level),
        simplify_trivial_iterators,
        analyzer,
    )


def normalize_to_iter_sum(index, input_iters, analyzer=None) -> IterSumExpr:
    """Write an index as a sum of splits with a remainder."""
    return _ffi_api.NormalizeToIterSum(index, _pairs(input_iters), analyzer)


def iter_map_simplify(
    indices,
    input_iters,
    predicate=True,
    check_level=IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
    analyzer=None,
):
    """Simplify indices by detecting maps."""
    return _ffi_api.IterMapSimplify(
        list(indices),
        _pairs(input_iters),
        _condition(predicate),
        _level(check_level),
        simplify_trivial_iterators,
        analyzer,
    )


def normalize_iter_map_to_expr(expr):
    """Plain expression of a part of a map."""
    return _ffi_api.NormalizeIterMapToExpr(expr)


def subspace_divide(
    bindings,
    input_iters,
    sub_iters,
    predicate=True,
    check_level=IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
    analyzer=None,
):
    """Divide bindings into an outer part and one over `sub_iters`; the predicates come last."""
    return _ffi_api.SubspaceDivide(
        list(bindings),
        _pairs(input_iters),
        list(sub_iters),
        _condition(predicate),
        _level(check_level),
        simplify_trivial_iterators,
        analyzer,
    )


def inverse_affine_iter_map(iter_map, outputs):
    """Iterators from the outputs of a bijective map."""
    return _ffi_api.InverseAffineIterMap(list(iter_map), list(outputs))
