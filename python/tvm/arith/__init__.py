# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Integer arithmetic: simplifier, bounds, sets, iteration maps."""

from .analyzer import (
    Analyzer,
    CompareResult,
    ConstIntBound,
    ConstraintScope,
    Extension,
    ModularSet,
    ProofStrength,
)
from .int_set import (
    IntervalSet,
    IntSet,
    estimate_region_lower_bound,
    estimate_region_strict_bound,
    estimate_region_upper_bound,
    neg_inf,
    pos_inf,
    union_lower_bound,
)
from .iter_affine_map import (
    IterMapExpr,
    IterMapLevel,
    IterMapResult,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    detect_iter_map,
    inverse_affine_iter_map,
    iter_map_simplify,
    normalize_iter_map_to_expr,
    normalize_to_iter_sum,
    subspace_divide,
)
from .solve import (
    deduce_bound,
    detect_clip_bound,
    detect_linear_equation,
    domain_touched,
    domain_touched_access_map,
)
