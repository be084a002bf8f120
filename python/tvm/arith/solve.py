# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Bounds implied by conditions, and linear forms."""

from __future__ import annotations

from . import _ffi_api
from .analyzer import _pairs


def deduce_bound(var, cond, hint_map, relax_map):
    """Interval of a variable inside which a condition holds; nothing if not supported.

    Args:
        var: The variable.
        cond: The condition.
        hint_map: Variable -> set it ranges over.
        relax_map: Variable -> set that the condition must hold for.
    """
    return _ffi_api.DeduceBound(var, cond, _pairs(hint_map), _pairs(relax_map))


def detect_linear_equation(expr, var_list):
    """Coefficients of variables and the base; empty if the expression is not linear."""
    return _ffi_api.DetectLinearEquation(expr, list(var_list))


def detect_clip_bound(expr, var_list):
    """Lower and upper bound per variable that a condition implies; None where there is none."""
    return _ffi_api.DetectClipBound(expr, list(var_list))


def domain_touched(stmt, buffer, load: bool, store: bool):
    """Region of a buffer that a statement touches."""
    return _ffi_api.DomainTouched(stmt, buffer, load, store)


def domain_touched_access_map(func):
    """Regions of all buffers that a function touches."""
    return _ffi_api.DomainTouchedAccessMap(func)
