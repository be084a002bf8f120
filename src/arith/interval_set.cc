// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "arith/interval_set.h"

#include <tvm/ffi/error.h>

namespace tvm::arith {

using namespace tirx;  // NOLINT(build/namespaces): the scalar nodes

namespace {

bool IsInf(const PrimExpr& x) { return is_pos_inf(x) || is_neg_inf(x); }

PrimExpr AddEnd(const Analyzer& analyzer, const PrimExpr& a, const PrimExpr& b) {
  if (IsInf(a)) return a;
  if (IsInf(b)) return b;
  return analyzer->Simplify(a + b);
}

PrimExpr SubEnd(const Analyzer& analyzer, const PrimExpr& a, const PrimExpr& b) {
  if (IsInf(a)) return a;
  if (is_pos_inf(b)) return neg_inf();
  if (is_neg_inf(b)) return pos_inf();
  return analyzer->Simplify(a - b);
}

PrimExpr MinEnd(const Analyzer& analyzer, const PrimExpr& a, const PrimExpr& b) {
  if (is_pos_inf(a)) return b;
  if (is_pos_inf(b)) return a;
  if (is_neg_inf(a) || is_neg_inf(b)) return neg_inf();
  return analyzer->Simplify(min(a, b));
}

PrimExpr MaxEnd(const Analyzer& analyzer, const PrimExpr& a, const PrimExpr& b) {
  if (is_neg_inf(a)) return b;
  if (is_neg_inf(b)) return a;
  if (is_pos_inf(a) || is_pos_inf(b)) return pos_inf();
  return analyzer->Simplify(max(a, b));
}

/// x * c for an end of an interval; c is not infinite and has a known sign.
PrimExpr ScaleEnd(const Analyzer& analyzer, const PrimExpr& x, const PrimExpr& c, bool positive) {
  if (is_pos_inf(x)) return positive ? pos_inf() : neg_inf();
  if (is_neg_inf(x)) return positive ? neg_inf() : pos_inf();
  return analyzer->Simplify(x * c);
}

}  // namespace

IntervalSet CombineIntervals(const Analyzer& analyzer, BinaryKind kind, const IntervalSet& a,
                             const IntervalSet& b, DataType dtype) {
  const PrimExpr &al = a->min_value, &ah = a->max_value, &bl = b->min_value, &bh = b->max_value;
  auto one = [&] { return make_const(dtype, 1); };
  switch (kind) {
    case BinaryKind::kAdd:
      return IntervalSet(AddEnd(analyzer, al, bl), AddEnd(analyzer, ah, bh));
    case BinaryKind::kSub:
      return IntervalSet(SubEnd(analyzer, al, bh), SubEnd(analyzer, ah, bl));
    case BinaryKind::kMul: {
      // One factor a point: its sign orders the ends.
      if (!a->IsSinglePoint() && !b->IsSinglePoint()) {
        if (is_const_int(al) && is_const_int(ah) && is_const_int(bl) && is_const_int(bh)) {
          PrimExpr c[4] = {al * bl, al * bh, ah * bl, ah * bh};
          PrimExpr low = c[0], high = c[0];
          for (const PrimExpr& x : c) {
            low = MinEnd(analyzer, low, x);
            high = MaxEnd(analyzer, high, x);
          }
          return IntervalSet(low, high);
        }
        // Both not negative: the ends multiply.
        const bool finite = !IsInf(al) && !IsInf(bl);
        if (finite && analyzer->CanProveGreaterEqual(al, 0) &&
            analyzer->CanProveGreaterEqual(bl, 0)) {
          PrimExpr high = IsInf(ah) || IsInf(bh) ? pos_inf() : analyzer->Simplify(ah * bh);
          return IntervalSet(analyzer->Simplify(al * bl), high);
        }
        return IntervalSet::Everything();
      }
      const IntervalSet& x = b->IsSinglePoint() ? a : b;
      const PrimExpr& c = b->IsSinglePoint() ? bl : al;
      if (IsInf(c)) return IntervalSet::Everything();
      if (x->IsSinglePoint()) return IntervalSet::SinglePoint(analyzer->Simplify(x->min_value * c));
      if (is_zero(c)) return IntervalSet::SinglePoint(c);
      if (analyzer->CanProveGreaterEqual(c, 0)) {
        return IntervalSet(ScaleEnd(analyzer, x->min_value, c, true),
                           ScaleEnd(analyzer, x->max_value, c, true));
      }
      if (analyzer->CanProveLess(c, 1)) {
        return IntervalSet(ScaleEnd(analyzer, x->max_value, c, false),
                           ScaleEnd(analyzer, x->min_value, c, false));
      }
      return IntervalSet::Everything();
    }
    case BinaryKind::kFloorDiv:
    case BinaryKind::kDiv: {
      if (!b->IsSinglePoint() || IsInf(bl)) return IntervalSet::Everything();
      TVM_FFI_CHECK(!is_zero(bl), ValueError) << "Divide by zero in the set of a quotient";
      auto divide = [&](const PrimExpr& x, bool positive) -> PrimExpr {
        if (is_pos_inf(x)) return positive ? pos_inf() : neg_inf();
        if (is_neg_inf(x)) return positive ? neg_inf() : pos_inf();
        return analyzer->Simplify(kind == BinaryKind::kDiv ? truncdiv(x, bl) : floordiv(x, bl));
      };
      // Both roundings are monotone.
      if (analyzer->CanProveGreaterEqual(bl, 1)) {
        return IntervalSet(divide(al, true), divide(ah, true));
      }
      if (analyzer->CanProveLess(bl, 0)) {
        return IntervalSet(divide(ah, false), divide(al, false));
      }
      return IntervalSet::Everything();
    }
    case BinaryKind::kFloorMod:
    case BinaryKind::kMod: {
      if (!b->IsSinglePoint() || IsInf(bl)) return IntervalSet::Everything();
      TVM_FFI_CHECK(!is_zero(bl), ValueError) << "Divide by zero in the set of a remainder";
      if (!analyzer->CanProveGreaterEqual(bl, 1)) return IntervalSet::Everything();
      const bool from_zero = !IsInf(al) && analyzer->CanProveGreaterEqual(al, 0);
      if (kind == BinaryKind::kMod && !from_zero) {
        PrimExpr last = analyzer->Simplify(bl - one());
        return IntervalSet(analyzer->Simplify(one() - bl), last);
      }
      if (!IsInf(al) && !IsInf(ah)) {
        // Within one period the order is kept.
        PrimExpr low = analyzer->Simplify(floordiv(al, bl));
        PrimExpr high = analyzer->Simplify(floordiv(ah, bl));
        if (analyzer->CanProveEqual(low, high)) {
          return IntervalSet(analyzer->Simplify(al - low * bl), analyzer->Simplify(ah - low * bl));
        }
        if (from_zero) {
          PrimExpr last = analyzer->Simplify(bl - one());
          return IntervalSet(make_zero(dtype), MinEnd(analyzer, last, ah));
        }
      }
      return IntervalSet(make_zero(dtype), analyzer->Simplify(bl - one()));
    }
    case BinaryKind::kMin:
      return IntervalSet(MinEnd(analyzer, al, bl), MinEnd(analyzer, ah, bh));
    case BinaryKind::kMax:
      return IntervalSet(MaxEnd(analyzer, al, bl), MaxEnd(analyzer, ah, bh));
    default:
      return IntervalSet::Everything();
  }
}

IntervalSet UnionIntervals(const Analyzer& analyzer, const IntervalSet& a, const IntervalSet& b) {
  if (a->IsEmpty()) return b;
  if (b->IsEmpty()) return a;
  return IntervalSet(MinEnd(analyzer, a->min_value, b->min_value),
                     MaxEnd(analyzer, a->max_value, b->max_value));
}

IntervalSet IntersectIntervals(const Analyzer& analyzer, const IntervalSet& a,
                               const IntervalSet& b) {
  PrimExpr low = MaxEnd(analyzer, a->min_value, b->min_value);
  PrimExpr high = MinEnd(analyzer, a->max_value, b->max_value);
  if (is_pos_inf(low) || is_neg_inf(high)) return IntervalSet::Empty();
  if (!IsInf(low) && !IsInf(high) && analyzer->CanProve(high < low)) return IntervalSet::Empty();
  return IntervalSet(low, high);
}

IntervalSet ToInterval(const IntSet& set) {
  if (auto interval = set.as<IntervalSet>()) return *interval;
  return IntervalSet::Everything();
}

}  // namespace tvm::arith
