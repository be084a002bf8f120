# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Sets of integers."""

from __future__ import annotations

from tvm_ffi import Object, register_object

from . import _ffi_api


@register_object("ir.IntSet")
class IntSet(Object):
    """Base of integer sets."""

    def is_nothing(self) -> bool:
        """True for the empty set."""
        return bool(_ffi_api.IntSetIsNothing(self))

    def is_everything(self) -> bool:
        """True for all integers."""
        return bool(_ffi_api.IntSetIsEverything(self))

    @staticmethod
    def vector(vec) -> IntSet:
        """Set of the lanes of a vector."""
        return _ffi_api.intset_vector(vec)

    @staticmethod
    def single_point(point) -> IntSet:
        """Set of one value."""
        return _ffi_api.intset_single_point(point)


@register_object("arith.IntervalSet")
class IntervalSet(IntSet):
    """Integers from ``min_value`` to ``max_value``, both included."""

    def __init__(self, min_value, max_value) -> None:
        self.__init_handle_by_constructor__(_ffi_api.IntervalSet, min_value, max_value)


def estimate_region_lower_bound(region, var_dom, predicate, analyzer=None):
    """Set of indices surely touched, or None."""
    return _ffi_api.EstimateRegionLowerBound(region, var_dom, predicate, analyzer)


def estimate_region_strict_bound(region, var_dom, predicate, analyzer=None):
    """Exact set of indices touched, or None."""
    return _ffi_api.EstimateRegionStrictBound(region, var_dom, predicate, analyzer)


def estimate_region_upper_bound(region, var_dom, predicate, analyzer=None):
    """Set of indices possibly touched."""
    return _ffi_api.EstimateRegionUpperBound(region, var_dom, predicate, analyzer)


def pos_inf():
    """Plus infinity, as the end of an interval."""
    return _ffi_api.PosInf()


def neg_inf():
    """Minus infinity, as the end of an interval."""
    return _ffi_api.NegInf()


def union_lower_bound(sets):
    """Largest known set inside the union."""
    return _ffi_api.UnionLowerBound(list(sets))
