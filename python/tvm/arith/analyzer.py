# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Simplifier, bounds and proofs."""

from __future__ import annotations

import enum

from tvm_ffi import Object, register_object

from . import _ffi_api
from .int_set import IntSet


class ProofStrength(enum.IntEnum):
    """How hard a proof is tried."""

    DEFAULT = 0
    SYMBOLIC_BOUND = 1


class CompareResult(enum.IntEnum):
    """What is known about two values."""

    INCONSISTENT = 0
    EQ = 1
    LT = 2
    LE = 3
    GT = 4
    GE = 5
    NE = 6
    UNKNOWN = 7


class Extension(enum.Flag):
    """Optional abilities of the simplifier."""

    NoExtensions = 0
    TransitivelyProveInequalities = 1
    ConvertBooleanToAndOfOrs = 2
    ApplyConstraintsToBooleanBranches = 4
    ComparisonOfProductAndSum = 8


@register_object("arith.ModularSet")
class ModularSet(Object):
    """Integers ``coeff * k + base``."""

    def __init__(self, coeff: int, base: int) -> None:
        self.__init_handle_by_constructor__(_ffi_api.ModularSet, coeff, base)


@register_object("arith.ConstIntBound")
class ConstIntBound(Object):
    """Integers from ``min_value`` to ``max_value``.

    Args:
        min_value: Smallest; NEG_INF if not known.
        max_value: Largest; POS_INF if not known.
    """

    POS_INF = (1 << 63) - 1
    NEG_INF = -POS_INF

    def __init__(self, min_value: int, max_value: int) -> None:
        self.__init_handle_by_constructor__(_ffi_api.ConstIntBound, min_value, max_value)


class ConstraintScope:
    """Holds a condition true inside a ``with`` block."""

    def __init__(self, fenter) -> None:
        self._fenter = fenter
        self._fexit = None

    def __enter__(self) -> None:
        self._fexit = self._fenter()

    def __exit__(self, *exc_info) -> None:
        self._fexit()


@register_object("arith.Analyzer")
class Analyzer(Object):
    """Facts about variables, and what follows from them."""

    def __init__(self) -> None:
        self.__init_handle_by_constructor__(_ffi_api.Analyzer)

    def clone(self) -> Analyzer:
        """Independent analyzer with the same facts."""
        return _ffi_api.AnalyzerClone(self)

    def const_int_bound(self, expr) -> ConstIntBound:
        """Constant bounds of an expression."""
        return _ffi_api.AnalyzerConstIntBound(self, expr)

    def const_int_bound_is_bound(self, var) -> bool:
        """True if bounds of a variable were given."""
        return bool(_ffi_api.AnalyzerConstIntBoundIsBound(self, var))

    def modular_set(self, expr) -> ModularSet:
        """Residue class of an expression."""
        return _ffi_api.AnalyzerModularSet(self, expr)

    def simplify(self, expr, steps: int = 2):
        """Simplest equal expression."""
        return _ffi_api.AnalyzerSimplify(self, expr, steps)

    def rewrite_simplify(self, expr):
        """Simplify by rules only."""
        return _ffi_api.AnalyzerRewriteSimplify(self, expr)

    def canonical_simplify(self, expr):
        """Simplify by normal form only."""
        return _ffi_api.AnalyzerCanonicalSimplify(self, expr)

    def int_set(self, expr, dom_map=None) -> IntSet:
        """Set of values of an expression.

        Args:
            expr: The expression.
            dom_map: Variable -> set it ranges over; the known facts if left out.
        """
        if dom_map is None:
            return _ffi_api.AnalyzerIntSet(self, expr, None)
        return _ffi_api.AnalyzerIntSet(self, expr, _pairs(dom_map))

    def bind(self, var, expr, allow_override: bool = False) -> None:
        """State that a variable equals an expression or lies in a range."""
        _ffi_api.AnalyzerBind(self, var, expr, allow_override)

    def update(self, var, info, override: bool = False) -> None:
        """State what is known about a variable.

        Args:
            var: The variable.
            info: ConstIntBound, ModularSet or IntSet.
            override: Replace what was known.
        """
        if isinstance(info, ConstIntBound):
            _ffi_api.AnalyzerConstIntBoundUpdate(self, var, info, override)
        elif isinstance(info, ModularSet):
            _ffi_api.AnalyzerModularSetUpdate(self, var, info, override)
        elif isinstance(info, IntSet):
            _ffi_api.AnalyzerIntSetUpdate(self, var, info, override)
        else:
            raise TypeError(f"Do not know how to handle type {type(info)}")

    def can_prove(self, expr, strength: ProofStrength = ProofStrength.DEFAULT) -> bool:
        """True if a condition surely holds."""
        return bool(_ffi_api.AnalyzerCanProve(self, expr, int(strength)))

    def can_prove_equal(self, lhs, rhs) -> bool:
        """True if two expressions are surely equal."""
        return bool(_ffi_api.AnalyzerCanProveEqual(self, lhs, rhs))

    def try_compare(self, lhs, rhs, propagate_inequalities: bool = True) -> CompareResult:
        """What is known about two values."""
        return CompareResult(_ffi_api.AnalyzerTryCompare(self, lhs, rhs, propagate_inequalities))

    def constraint_scope(self, constraint) -> ConstraintScope:
        """Context in which a condition holds."""
        return ConstraintScope(lambda: _ffi_api.AnalyzerEnterConstraintContext(self, constraint))

    def set_maximum_rewrite_steps(self, maximum: int) -> None:
        """Raise an error after so many rewrites; 0 means no limit."""
        _ffi_api.AnalyzerSetMaximumRewriteSteps(self, maximum)

    def reset_rewrite_simplify_stats(self) -> None:
        """Set the counters to zero."""
        _ffi_api.AnalyzerResetRewriteSimplifyStats(self)

    @property
    def rewrite_simplify_stats(self):
        """Counters of the rule simplifier."""
        return _ffi_api.AnalyzerGetRewriteSimplifyStats(self)

    @property
    def enabled_extensions(self) -> Extension:
        """Optional abilities that are on."""
        return Extension(_ffi_api.AnalyzerGetEnabledExtensions(self))

    @enabled_extensions.setter
    def enabled_extensions(self, flags) -> None:
        _ffi_api.AnalyzerSetEnabledExtensions(self, Extension(flags).value)


def _pairs(mapping):
    """Map keyed by variables."""
    from tvm_ffi import Map

    return mapping if isinstance(mapping, Map) else Map(list(mapping.items()))
