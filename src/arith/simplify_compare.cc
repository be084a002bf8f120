// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Comparisons, min and max.
///
/// A comparison of index values is one of a sum with 0. Its normal form has the positive terms on
/// the left, the negative ones on the right, and the constant where it is positive.
#include <algorithm>
#include <limits>
#include <numeric>

#include "arith/analyzer_impl.h"

namespace tvm::arith {

using namespace tirx;  // NOLINT(build/namespaces): the scalar nodes
using Impl = AnalyzerObj::Impl;

namespace {

PrimExpr Build(CompareKind kind, const PrimExpr& a, const PrimExpr& b) {
  switch (kind) {
    case CompareKind::kLT:
      return LT(a, b);
    case CompareKind::kLE:
      return LE(a, b);
    case CompareKind::kEQ:
      return EQ(a, b);
    case CompareKind::kNE:
      return NE(a, b);
  }
  return PrimExpr();
}

BinaryKind FoldKind(CompareKind kind) {
  switch (kind) {
    case CompareKind::kLT:
      return BinaryKind::kLT;
    case CompareKind::kLE:
      return BinaryKind::kLE;
    case CompareKind::kEQ:
      return BinaryKind::kEQ;
    default:
      return BinaryKind::kNE;
  }
}

/// What the interval of a - b decides about a `kind` b.
std::optional<bool> Decide(CompareKind kind, const Interval& d) {
  switch (kind) {
    case CompareKind::kLT:
      if (d.hi < 0) return true;
      if (d.lo >= 0) return false;
      break;
    case CompareKind::kLE:
      if (d.hi <= 0) return true;
      if (d.lo > 0) return false;
      break;
    case CompareKind::kEQ:
      if (d.lo == 0 && d.hi == 0) return true;
      if (d.lo > 0 || d.hi < 0) return false;
      break;
    case CompareKind::kNE:
      if (d.lo == 0 && d.hi == 0) return false;
      if (d.lo > 0 || d.hi < 0) return true;
      break;
  }
  return std::nullopt;
}

bool IsIntLike(DataType dtype) { return dtype.is_int() || dtype.is_uint() || dtype.is_bool(); }

}  // namespace

PrimExpr Impl::SimpCompare(CompareKind kind, const PrimExpr& a, const PrimExpr& b) {
  if (UsesLinear(a.dtype())) return CompareLinear(kind, a, b);
  PrimExpr sa = Simp(a), sb = Simp(b);
  if (PrimExpr folded = TryFold(FoldKind(kind), sa, sb); folded.defined()) return folded;
  DataType dtype = sa.dtype();
  if (IsIntLike(dtype)) {
    if (ExprDeepEqual()(sa, sb)) {
      return IntImm::Bool(kind == CompareKind::kLE || kind == CompareKind::kEQ);
    }
    // Values are compared as they are: no difference that could wrap around.
    Interval x = Bound(sa), y = Bound(sb);
    if (x.has_hi() && y.has_lo() && x.hi < y.lo) {
      return IntImm::Bool(kind != CompareKind::kEQ);
    }
    if (x.has_lo() && y.has_hi() && x.lo > y.hi) return IntImm::Bool(kind == CompareKind::kNE);
    if (kind == CompareKind::kLE && x.has_hi() && y.has_lo() && x.hi <= y.lo) {
      return IntImm::Bool(true);
    }
    if (kind == CompareKind::kLT && x.has_lo() && y.has_hi() && x.lo >= y.hi) {
      return IntImm::Bool(false);
    }
    if (dtype.is_bool() && (kind == CompareKind::kEQ || kind == CompareKind::kNE)) {
      const int64_t* value = as_const_int(sb);
      PrimExpr other = sa;
      if (value == nullptr) {
        value = as_const_int(sa);
        other = sb;
      }
      if (value != nullptr) {
        const bool keep = (*value != 0) == (kind == CompareKind::kEQ);
        return keep ? other : SimpNot(other);
      }
    }
  }
  return LookUpKnown(Build(kind, sa, sb));
}

PrimExpr Impl::CompareLinear(CompareKind kind, const PrimExpr& a, const PrimExpr& b) {
  const DataType dtype = a.dtype();
  auto la = Lin(a), lb = Lin(b);
  Linear difference;
  if (la->valid && lb->valid) difference = SubLinear(dtype, *la, *lb);
  if (!la->valid || !lb->valid || !difference.valid) {
    PrimExpr sa = Simp(a), sb = Simp(b);
    // Only the values themselves may be compared.
    Interval x = Bound(sa), y = Bound(sb);
    if (x.has_hi() && y.has_lo() && x.hi < y.lo) return IntImm::Bool(kind != CompareKind::kEQ);
    if (x.has_lo() && y.has_hi() && x.lo > y.hi) return IntImm::Bool(kind == CompareKind::kNE);
    return LookUpKnown(Build(kind, sa, sb));
  }
  Linear d = MergeSplits(std::move(difference), dtype);
  if (auto decided = Decide(kind, BoundOf(d, dtype))) return IntImm::Bool(*decided);
  const bool is_equality = kind == CompareKind::kEQ || kind == CompareKind::kNE;
  if (is_equality) {
    Residue residue = ResidueOf(d);
    if (residue.coeff != 1 && residue.base != 0) return IntImm::Bool(kind == CompareKind::kNE);
  }

  // sum (kind) bound, the sum without constant.
  Linear sum = d;
  sum.constant = 0;
  int128 bound = -static_cast<int128>(d.constant);
  int64_t g = ContentOf(sum);
  if (g > 1) {
    if (is_equality) {
      if (bound % g != 0) return IntImm::Bool(kind == CompareKind::kNE);
      bound /= g;
    } else {
      // g * S < c is S < ceil(c / g);  g * S <= c is S <= floor(c / g).
      int128 floor = bound / g - (bound % g != 0 && bound < 0 ? 1 : 0);
      int128 ceil = bound % g == 0 ? bound / g : floor + 1;
      bound = kind == CompareKind::kLT ? ceil : floor;
    }
    for (Term& term : sum.terms) term.coef /= g;
  }
  if (!is_equality && sum.terms.size() > 1) {
    // g * H + L < c with L in [0, g) is H < c / g when g divides c.
    {
      int64_t modulus = 0;
      for (const Term& term : sum.terms) modulus = std::max(modulus, std::abs(term.coef));
      Linear high, low;
      int64_t factor;
      if (modulus > 1 && SplitByRange(sum, modulus, dtype, &high, &low, &factor)) {
        int128 strict = kind == CompareKind::kLT ? bound : bound + 1;
        if (strict % factor == 0) {
          strict = strict / factor - high.constant;
          high.constant = 0;
          const int128 limit = std::numeric_limits<int64_t>::max();
          if (strict < limit && strict > -limit && !high.is_constant()) {
            Linear left = high;
            PrimExpr lhs = ToExpr(left, dtype);
            if (strict >= MinIntOf(dtype) && strict <= MaxIntOf(dtype)) {
              return Simp(LT(lhs, IntImm(dtype, static_cast<int64_t>(strict))));
            }
          }
        }
      }
    }
  }
  Linear positive, negative;
  for (const Term& term : sum.terms) {
    if (term.coef > 0) {
      positive.terms.push_back(term);
    } else {
      negative.terms.push_back({-term.coef, term.atom});
    }
  }
  if (bound > MaxIntOf(dtype) || bound < -static_cast<int128>(MaxIntOf(dtype))) {
    return LookUpKnown(Build(kind, Simp(a), Simp(b)));
  }
  int64_t constant = static_cast<int64_t>(bound);
  if (positive.is_constant() && is_equality) {
    std::swap(positive, negative);
    constant = -constant;
  }
  if (positive.is_constant()) {
    // -N < c is -c < N.
    return LookUpKnown(Build(kind, IntImm(dtype, -constant), ToExpr(negative, dtype)));
  }
  if (!negative.is_constant()) {
    if (kind == CompareKind::kLT && constant == 1) {
      kind = CompareKind::kLE;
      constant = 0;
    } else if (kind == CompareKind::kLE && constant == -1) {
      kind = CompareKind::kLT;
      constant = 0;
    }
    // Keep x - y in the way it was written when that was an equality.
    if (constant < 0) {
      positive.constant = -constant;
    } else {
      negative.constant = constant;
    }
    return LookUpKnown(Build(kind, ToExpr(positive, dtype), ToExpr(negative, dtype)));
  }
  return LookUpKnown(Build(kind, ToExpr(positive, dtype), IntImm(dtype, constant)));
}

// ---------------------------------------------------------------------------------------------
// Min and max

namespace {

/// Operands of nested nodes of one kind.
void Flatten(bool is_min, const PrimExpr& expr, std::vector<PrimExpr>* out) {
  std::vector<PrimExpr> stack{expr};
  while (!stack.empty()) {
    PrimExpr top = std::move(stack.back());
    stack.pop_back();
    const auto* low = is_min ? top.as<MinNode>() : nullptr;
    const auto* high = is_min ? nullptr : top.as<MaxNode>();
    if (low != nullptr) {
      stack.push_back(low->b);
      stack.push_back(low->a);
    } else if (high != nullptr) {
      stack.push_back(high->b);
      stack.push_back(high->a);
    } else {
      out->push_back(std::move(top));
    }
  }
}

PrimExpr BuildMinMax(bool is_min, const PrimExpr& a, const PrimExpr& b) {
  return is_min ? PrimExpr(Min(a, b)) : PrimExpr(Max(a, b));
}

}  // namespace

PrimExpr Impl::SimpMinMax(bool is_min, const PrimExpr& a, const PrimExpr& b) {
  const DataType dtype = a.dtype();
  const BinaryKind fold_kind = is_min ? BinaryKind::kMin : BinaryKind::kMax;
  if (PrimExpr folded = TryFold(fold_kind, a, b); folded.defined()) return folded;
  if (!IsIntLike(dtype)) {
    // NaN would be lost by anything but an exact duplicate.
    return ExprDeepEqual()(a, b) ? a : BuildMinMax(is_min, a, b);
  }
  std::vector<PrimExpr> operands, kept;
  Flatten(is_min, a, &operands);
  Flatten(is_min, b, &operands);
  constexpr size_t kMaxOperands = 8;
  if (operands.size() > kMaxOperands) return BuildMinMax(is_min, a, b);

  // x wins over y when it is always the result of the two.
  auto wins = [&](const PrimExpr& x, const PrimExpr& y) {
    if (ExprDeepEqual()(x, y)) return true;
    if (UsesLinear(dtype)) {
      auto lx = Lin(x), ly = Lin(y);
      if (lx->valid && ly->valid) {
        Linear d = is_min ? SubLinear(dtype, *lx, *ly) : SubLinear(dtype, *ly, *lx);
        if (d.valid && BoundOf(MergeSplits(std::move(d), dtype), dtype).hi <= 0) return true;
      }
      // min(x, max(x, y)) is x.
      std::vector<PrimExpr> inner;
      Flatten(!is_min, y, &inner);
      if (inner.size() > 1) {
        for (const PrimExpr& part : inner) {
          if (ExprDeepEqual()(part, x)) return true;
          auto lp = Lin(part);
          if (lx->valid && lp->valid) {
            Linear d = is_min ? SubLinear(dtype, *lx, *lp) : SubLinear(dtype, *lp, *lx);
            if (d.valid && BoundOf(d, dtype).hi <= 0) return true;
          }
        }
      }
      return false;
    }
    Interval bx = Bound(x), by = Bound(y);
    return is_min ? bx.has_hi() && by.has_lo() && bx.hi <= by.lo
                  : bx.has_lo() && by.has_hi() && bx.lo >= by.hi;
  };
  for (const PrimExpr& operand : operands) {
    bool beaten = false;
    for (const PrimExpr& other : kept) beaten = beaten || wins(other, operand);
    if (beaten) continue;
    kept.erase(std::remove_if(kept.begin(), kept.end(),
                              [&](const PrimExpr& other) { return wins(operand, other); }),
               kept.end());
    kept.push_back(operand);
  }
  // A constant goes last.
  for (size_t i = 0; i + 1 < kept.size(); ++i) {
    if (as_const_int(kept[i]) != nullptr)
      std::rotate(kept.begin() + i, kept.begin() + i + 1, kept.end());
  }
  if (kept.size() == 1) return kept[0];

  if (kept.size() == 2 && UsesLinear(dtype)) {
    auto lx = Lin(kept[0]), ly = Lin(kept[1]);
    if (lx->valid && ly->valid) {
      // min(x + y, x + z) is x + min(y, z).
      LinearBuilder common(dtype);
      bool has_common = false;
      for (const Term& term : lx->terms) {
        const Term* found = ly->Find(term.atom);
        if (found != nullptr && found->coef == term.coef) {
          common.AddTerm(term.atom, term.coef);
          has_common = true;
        }
      }
      if (lx->constant == ly->constant && lx->constant != 0) {
        common.AddConstant(lx->constant);
        has_common = true;
      }
      if (has_common) {
        Linear shared = common.Finish();
        Linear rx = SubLinear(dtype, *lx, shared), ry = SubLinear(dtype, *ly, shared);
        if (rx.valid && ry.valid && shared.valid) {
          PrimExpr rest = SimpMinMax(is_min, ToExpr(rx, dtype), ToExpr(ry, dtype));
          LinearBuilder whole(dtype);
          whole.Add(*Lin(rest));
          whole.Add(shared);
          Linear sum = whole.Finish();
          if (sum.valid) return ToExpr(sum, dtype);
        }
      }
      // min(c - x, d) is c - max(x, c - d).
      const bool is_mirrored = lx->terms.size() == 1 && lx->terms[0].coef == -1 &&
                               ly->is_constant() && lx->constant != 0;
      if (is_mirrored) {
        LinearBuilder gap(dtype);
        gap.AddConstant(lx->constant);
        gap.AddConstant(ly->constant, -1);
        Linear limit = gap.Finish();
        if (limit.valid) {
          PrimExpr inner =
              SimpMinMax(!is_min, atoms[lx->terms[0].atom].expr, IntImm(dtype, limit.constant));
          LinearBuilder whole(dtype);
          whole.AddConstant(lx->constant);
          whole.Add(*Lin(inner), -1);
          Linear sum = whole.Finish();
          if (sum.valid) return ToExpr(sum, dtype);
        }
      }
      // min(x * c, y * c) is min(x, y) * c for c > 0.
      int64_t g = std::gcd(ContentOf(*lx), ContentOf(*ly));
      g = std::gcd(g, std::gcd(lx->constant, ly->constant));
      if (g > 1) {
        auto divided = [&](Linear sum) {
          for (Term& term : sum.terms) term.coef /= g;
          sum.constant /= g;
          return ToExpr(sum, dtype);
        };
        PrimExpr inner = SimpMinMax(is_min, divided(*lx), divided(*ly));
        Linear sum = ScaleLinear(dtype, *Lin(inner), g);
        if (sum.valid) return ToExpr(sum, dtype);
      }
    }
  }
  PrimExpr result = kept[0];
  for (size_t i = 1; i < kept.size(); ++i) result = BuildMinMax(is_min, result, kept[i]);
  return result;
}

}  // namespace tvm::arith
