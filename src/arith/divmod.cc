// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// floordiv and floormod of sums.
///
/// For a constant divisor c > 0 and a sum L = c * Q + R:
///   L // c = Q + R // c                          L % c = R % c
/// and when R = g * H + T with g | c and 0 <= T < g:
///   R // c = H // (c / g)                        R % c = (H % (c / g)) * g + T
#include <algorithm>
#include <numeric>

#include "arith/analyzer_impl.h"

namespace tvm::arith {

using namespace tirx;  // NOLINT(build/namespaces): the scalar nodes
using Impl = AnalyzerObj::Impl;

namespace {

Linear Invalid() {
  Linear sum;
  sum.valid = false;
  return sum;
}

Linear Constant(int64_t value) {
  Linear sum;
  sum.constant = value;
  return sum;
}

}  // namespace

bool Impl::SplitByRange(const Linear& sum, int64_t modulus, DataType dtype, Linear* high,
                        Linear* low, int64_t* g_out) {
  // Candidates for g: the common divisor of the modulus and the largest coefficients. Terms are
  // tried from the largest coefficient down.
  std::vector<Term> terms =
      SortTerms(sum.terms, [&](const Term& t) { return std::gcd(t.coef, modulus); });
  int64_t g = modulus;
  bool has_unit = false;  // some high term has coefficient g
  for (size_t count = 1; count <= terms.size(); ++count) {
    g = std::gcd(g, terms[count - 1].coef);
    if (g <= 1) return false;
    has_unit = false;
    for (size_t i = 0; i < count; ++i) has_unit |= terms[i].coef == g || terms[i].coef == -g;
    // x * 6 // 4 stays as it is: dividing by the common factor would give x * 3 // 2.
    if (!has_unit && count == terms.size()) return false;
    LinearBuilder high_builder(dtype), low_builder(dtype);
    // Keep the order of the sum in both parts.
    std::vector<AtomId> in_high;
    for (size_t i = 0; i < count; ++i) in_high.push_back(terms[i].atom);
    for (const Term& term : sum.terms) {
      bool is_high = std::find(in_high.begin(), in_high.end(), term.atom) != in_high.end();
      if (is_high) {
        high_builder.AddTerm(term.atom, term.coef / g);
      } else {
        low_builder.AddTerm(term.atom, term.coef);
      }
    }
    // The part of the constant that keeps the low part in [0, g): try the remainder first.
    const int64_t remainder = FloorModInt(sum.constant, g);
    low_builder.AddConstant(remainder);
    high_builder.AddConstant(FloorDivInt(sum.constant, g));
    Linear low_part = low_builder.Finish();
    if (!low_part.valid) continue;
    Interval bound = BoundOf(low_part, dtype);
    if (!bound.has_lo() || !bound.has_hi()) continue;
    int64_t shift = FloorDivInt(bound.lo, g);
    if (shift != FloorDivInt(bound.hi, g)) continue;
    high_builder.AddConstant(shift);
    LinearBuilder shifted(dtype);
    shifted.Add(low_part);
    shifted.AddConstant(shift, -g);
    *low = shifted.Finish();
    *high = high_builder.Finish();
    if (!low->valid || !high->valid) continue;
    *g_out = g;
    return true;
  }
  return false;
}

Linear Impl::FloorDivConst(const Linear& a, int64_t c, DataType dtype) {
  if (c == 1) return a;
  if (c < 0) {
    // x // -c = -x // c; the divisor of smallest value has no opposite.
    if (c == MinIntOf(dtype)) return Invalid();
    Linear negated = ScaleLinear(dtype, a, -1);
    if (!negated.valid) return Invalid();
    return FloorDivConst(negated, -c, dtype);
  }
  if (a.is_constant()) return Constant(FloorDivInt(a.constant, c));
  LinearBuilder quotient(dtype), rest_builder(dtype);
  for (const Term& term : a.terms) {
    if (term.coef % c == 0) {
      quotient.AddTerm(term.atom, term.coef / c);
    } else {
      rest_builder.AddTerm(term.atom, term.coef);
    }
  }
  quotient.AddConstant(FloorDivInt(a.constant, c));
  rest_builder.AddConstant(FloorModInt(a.constant, c));
  Linear rest = rest_builder.Finish();
  if (rest.is_constant()) return quotient.Finish();

  Interval bound = BoundOf(rest, dtype);
  if (bound.has_lo() && bound.has_hi() && FloorDivInt(bound.lo, c) == FloorDivInt(bound.hi, c)) {
    quotient.AddConstant(FloorDivInt(bound.lo, c));
    return quotient.Finish();
  }

  Linear high, low;
  int64_t g;
  if (SplitByRange(rest, c, dtype, &high, &low, &g)) {
    Linear part = g == c ? high : FloorDivConst(high, c / g, dtype);
    quotient.Add(part);
    return quotient.Finish();
  }

  // A sum is divided as one source; one atom may be a split that the division refines.
  if (rest.is_atom()) {
    const Atom atom = atoms[rest.terms[0].atom];
    if (atom.kind == Atom::Kind::kSplit) {
      __int128 lower = static_cast<__int128>(atom.lower) * c;
      if (lower <= MaxIntOf(dtype)) {
        if (atom.upper == 0) {
          quotient.Add(
              FloorDivConst(*Lin(atoms[atom.source].expr), static_cast<int64_t>(lower), dtype));
          return quotient.Finish();
        }
        if (atom.upper % lower == 0) {
          quotient.AddTerm(atoms.InternSplit(atom.source, static_cast<int64_t>(lower), atom.upper),
                           1);
          return quotient.Finish();
        }
      }
    }
  }
  quotient.AddTerm(atoms.InternSplit(InternLinear(rest, dtype), c, 0), 1);
  return quotient.Finish();
}

Linear Impl::FloorModConst(const Linear& a, int64_t c, DataType dtype) {
  if (c == 1 || c == -1) return Constant(0);
  if (c < 0) {
    if (c == MinIntOf(dtype)) return Invalid();
    Linear negated = ScaleLinear(dtype, a, -1);
    if (!negated.valid) return Invalid();
    return ScaleLinear(dtype, FloorModConst(negated, -c, dtype), -1);
  }
  if (a.is_constant()) return Constant(FloorModInt(a.constant, c));
  LinearBuilder rest_builder(dtype);
  for (const Term& term : a.terms) {
    if (term.coef % c != 0) rest_builder.AddTerm(term.atom, term.coef);
  }
  rest_builder.AddConstant(FloorModInt(a.constant, c));
  Linear rest = rest_builder.Finish();
  if (rest.is_constant()) return Constant(FloorModInt(rest.constant, c));

  Interval bound = BoundOf(rest, dtype);
  if (bound.has_lo() && bound.has_hi() && FloorDivInt(bound.lo, c) == FloorDivInt(bound.hi, c)) {
    LinearBuilder result(dtype);
    result.Add(rest);
    result.AddConstant(FloorDivInt(bound.lo, c), -c);
    return result.Finish();
  }
  Residue residue = ResidueOf(rest);
  if (residue.coeff % c == 0) return Constant(FloorModInt(residue.base, c));

  Linear high, low;
  int64_t g;
  if (SplitByRange(rest, c, dtype, &high, &low, &g)) {
    if (g == c) return low;
    LinearBuilder result(dtype);
    result.Add(FloorModConst(high, c / g, dtype), g);
    result.Add(low);
    return result.Finish();
  }

  if (rest.is_atom()) {
    const Atom atom = atoms[rest.terms[0].atom];
    if (atom.kind == Atom::Kind::kSplit) {
      __int128 upper = static_cast<__int128>(atom.lower) * c;
      if (upper <= MaxIntOf(dtype) && (atom.upper == 0 || atom.upper % upper == 0)) {
        return AtomLinear(atoms.InternSplit(atom.source, atom.lower, static_cast<int64_t>(upper)));
      }
    }
  }
  return AtomLinear(atoms.InternSplit(InternLinear(rest, dtype), 1, c));
}

namespace {

/// Factors of an atom, itself if it is no product.
std::vector<AtomId> FactorsOf(const AtomTable& atoms, AtomId id) {
  const Atom& atom = atoms[id];
  return atom.kind == Atom::Kind::kProduct ? atom.factors : std::vector<AtomId>{id};
}

/// Removes each of `divisor`'s factors once; false when one is missing.
bool DivideFactors(std::vector<AtomId>* factors, const std::vector<AtomId>& divisor) {
  for (AtomId id : divisor) {
    auto it = std::find(factors->begin(), factors->end(), id);
    if (it == factors->end()) return false;
    factors->erase(it);
  }
  return true;
}

}  // namespace

/// Takes the multiples of a symbolic divisor out of a sum: a = divisor * quotient + rest.
static void DivideBySymbol(Impl* impl, const Linear& a, const Linear& divisor, DataType dtype,
                           Linear* quotient, Linear* rest) {
  LinearBuilder q(dtype), r(dtype);
  AtomTable& atoms = impl->atoms;
  const bool is_monomial = divisor.terms.size() == 1 && divisor.constant == 0;
  std::vector<AtomId> wanted = is_monomial
                                   ? FactorsOf(atoms, divisor.terms[0].atom)
                                   : std::vector<AtomId>{impl->InternLinear(divisor, dtype)};
  const int64_t coef = is_monomial ? divisor.terms[0].coef : 1;
  for (const Term& term : a.terms) {
    std::vector<AtomId> factors = FactorsOf(atoms, term.atom);
    if (term.coef % coef == 0 && DivideFactors(&factors, wanted)) {
      if (factors.empty()) {
        q.AddConstant(term.coef / coef);
      } else {
        AtomId left = factors.size() == 1 ? factors[0] : atoms.InternProduct(factors);
        q.AddTerm(left, term.coef / coef);
      }
    } else {
      r.AddTerm(term.atom, term.coef);
    }
  }
  r.AddConstant(a.constant);
  Linear left = r.Finish();
  if (!is_monomial && !divisor.terms.empty()) {
    // k * (n + 1) written out.
    const Term& lead = divisor.terms[0];
    const Term* found = left.Find(lead.atom);
    if (found != nullptr && found->coef % lead.coef == 0) {
      const int64_t k = found->coef / lead.coef;
      LinearBuilder next(dtype);
      next.Add(left);
      next.Add(divisor, -k);
      Linear reduced = next.Finish();
      if (reduced.valid && reduced.terms.size() < left.terms.size() &&
          reduced.terms.size() + divisor.terms.size() <= left.terms.size() + 0) {
        q.AddConstant(k);
        left = std::move(reduced);
      }
    }
  }
  *quotient = q.Finish();
  *rest = std::move(left);
}

Linear Impl::FloorDivLinear(const Linear& a, const PrimExpr& divisor, DataType dtype) {
  std::shared_ptr<const Linear> b = Lin(divisor);
  if (!a.valid || !b->valid) return Invalid();
  if (b->is_constant()) {
    TVM_FFI_CHECK(b->constant != 0, ValueError)
        << "Divide by zero: " << ToExpr(a, dtype) << " // 0";
    return FloorDivConst(a, b->constant, dtype);
  }
  Linear quotient, rest;
  DivideBySymbol(this, a, *b, dtype, &quotient, &rest);
  if (!quotient.valid || !rest.valid) return Invalid();
  if (rest.is_zero()) return quotient;
  Interval rest_bound = BoundOf(rest, dtype), divisor_bound = BoundOf(*b, dtype);
  if (rest_bound.lo >= 0) {
    Linear gap = SubLinear(dtype, *b, rest);
    bool below = gap.valid && (BoundOf(gap, dtype).lo > 0 ||
                               -UpperByChains(ScaleLinear(dtype, gap, -1), dtype, 2) > 0);
    if (below) return quotient;
  }
  if (divisor_bound.lo > 0 || divisor_bound.hi < 0) {
    Interval ratio = FloorDivInterval(rest_bound, divisor_bound);
    if (ratio.is_point() && ratio.has_lo() && ratio.has_hi()) {
      LinearBuilder builder(dtype);
      builder.Add(quotient);
      builder.AddConstant(ratio.lo);
      return builder.Finish();
    }
  }
  LinearBuilder builder(dtype);
  builder.Add(quotient);
  builder.AddTerm(atoms.Intern(FloorDiv(ToExpr(rest, dtype), ToExpr(*b, dtype))), 1);
  return builder.Finish();
}

Linear Impl::FloorModLinear(const Linear& a, const PrimExpr& divisor, DataType dtype) {
  std::shared_ptr<const Linear> b = Lin(divisor);
  if (!a.valid || !b->valid) return Invalid();
  if (b->is_constant()) {
    TVM_FFI_CHECK(b->constant != 0, ValueError) << "Divide by zero: " << ToExpr(a, dtype) << " % 0";
    return FloorModConst(a, b->constant, dtype);
  }
  Linear quotient, rest;
  DivideBySymbol(this, a, *b, dtype, &quotient, &rest);
  if (!quotient.valid || !rest.valid) return Invalid();
  if (rest.is_zero()) return rest;
  if (BoundOf(rest, dtype).lo >= 0) {
    Linear gap = SubLinear(dtype, *b, rest);
    bool below = gap.valid && (BoundOf(gap, dtype).lo > 0 ||
                               -UpperByChains(ScaleLinear(dtype, gap, -1), dtype, 2) > 0);
    if (below) return rest;
  }
  return AtomLinear(atoms.Intern(FloorMod(ToExpr(rest, dtype), ToExpr(*b, dtype))));
}

}  // namespace tvm::arith
