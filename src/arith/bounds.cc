// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Intervals and residues of expressions.
#include <algorithm>
#include <cmath>

#include "arith/analyzer_impl.h"

namespace tvm::arith {

using namespace tirx;  // NOLINT(build/namespaces): the scalar nodes
using Impl = AnalyzerObj::Impl;

namespace {

constexpr size_t kMaxCacheEntries = 1 << 17;

bool IsIntLike(DataType dtype) { return dtype.is_int() || dtype.is_uint() || dtype.is_bool(); }

}  // namespace

Interval Impl::Bound(const PrimExpr& expr) {
  if (const auto* imm = expr.as<IntImmNode>()) return Interval::Point(imm->value);
  DataType dtype = expr.dtype();
  if (!IsIntLike(dtype)) return {};
  auto& memo = cache().bounds;
  auto it = memo.find(expr.get());
  if (it != memo.end()) return it->second.second;
  CheckStackDepth();
  Interval bound = ComputeBound(expr);
  auto& after = cache().bounds;
  if (after.size() > kMaxCacheEntries) after.clear();
  after[expr.get()] = {expr, bound};
  return bound;
}

Interval Impl::ComputeBound(const PrimExpr& expr) {
  const DataType dtype = expr.dtype();
  const Interval all = TypeInterval(dtype);
  if (UsesLinear(dtype)) {
    const bool is_sum = expr.as<AddNode>() || expr.as<SubNode>() || expr.as<MulNode>() ||
                        expr.as<FloorDivNode>() || expr.as<FloorModNode>();
    if (is_sum) {
      auto sum = Lin(expr);
      if (sum->valid) return BoundOf(*sum, dtype);
    }
  }
  if (const auto* var = expr.as<VarNode>()) {
    const VarFact* fact = FindFact(var);
    Interval bound = all;
    if (fact != nullptr && fact->value.defined()) bound = Bound(fact->value);
    if (fact != nullptr && fact->bound.has_value()) bound = Intersect(bound, *fact->bound);
    auto narrow = narrowed.empty() ? narrowed.end() : narrowed.find(atoms.Intern(expr));
    if (narrow != narrowed.end()) bound = Intersect(bound, narrow->second);
    return bound.is_empty() ? all : bound;
  }
  if (const auto* add = expr.as<AddNode>()) {
    return FitToType(dtype, AddWide(Bound(add->a), Bound(add->b)));
  }
  if (const auto* sub = expr.as<SubNode>()) {
    return FitToType(dtype, AddWide(Bound(sub->a), ScaleWide(Bound(sub->b), -1)));
  }
  if (const auto* mul = expr.as<MulNode>()) {
    return FitToType(dtype, MulWide(Bound(mul->a), Bound(mul->b)));
  }
  if (const auto* div = expr.as<FloorDivNode>()) {
    Interval b = Bound(div->b);
    if (b == Interval::Point(0)) return all;
    return FitToType(dtype, FloorDivInterval(Bound(div->a), b));
  }
  if (const auto* mod = expr.as<FloorModNode>()) {
    Interval b = Bound(mod->b);
    if (b == Interval::Point(0)) return all;
    return FitToType(dtype, FloorModInterval(Bound(mod->a), b));
  }
  if (const auto* div = expr.as<DivNode>()) {
    Interval a = Bound(div->a), b = Bound(div->b);
    if (b == Interval::Point(0)) return all;
    return FitToType(dtype, TruncDivInterval(a, b));
  }
  if (const auto* mod = expr.as<ModNode>()) {
    Interval a = Bound(mod->a), b = Bound(mod->b);
    if (b == Interval::Point(0)) return all;
    int64_t largest = Interval::kPosInf;
    if (b.has_lo() && b.has_hi()) {
      largest = std::max({int64_t{0}, b.hi - 1, b.lo < 0 ? -(b.lo + 1) : int64_t{0}});
    }
    Interval r{a.lo >= 0 ? 0 : -largest, a.hi <= 0 ? 0 : largest};
    if (a.lo >= 0) r.hi = std::min(r.hi, a.hi);
    if (a.hi <= 0) r.lo = std::max(r.lo, a.lo);
    return FitToType(dtype, r);
  }
  if (const auto* low = expr.as<MinNode>()) {
    Interval a = Bound(low->a), b = Bound(low->b);
    return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
  }
  if (const auto* high = expr.as<MaxNode>()) {
    Interval a = Bound(high->a), b = Bound(high->b);
    return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
  }
  if (const auto* select = expr.as<SelectNode>()) {
    return Hull(Bound(select->true_value), Bound(select->false_value));
  }
  if (const auto* cast = expr.as<CastNode>()) {
    DataType from = cast->value.dtype();
    if (!IsIntLike(from)) {
      // round(log2(x)) of an integer x.
      if (const auto* call = cast->value.as<CallNode>();
          call != nullptr && call->op.same_as(builtin_scalar::ceil())) {
        const auto* log = call->args[0].as<CallNode>();
        const auto* inner = log != nullptr && log->op.same_as(builtin_scalar::log2())
                                ? log->args[0].as<CastNode>()
                                : nullptr;
        if (inner != nullptr && IsIntLike(inner->value.dtype())) {
          Interval x = Bound(inner->value);
          auto ceil_log2 = [](int64_t v) -> int64_t {
            return v <= 1 ? 0 : 64 - __builtin_clzll(static_cast<uint64_t>(v - 1));
          };
          if (x.lo > 0) return {ceil_log2(x.lo), x.has_hi() ? ceil_log2(x.hi) : 63};
        }
      }
      return all;
    }
    Interval value = Intersect(Bound(cast->value), ClosedTypeInterval(from));
    if (dtype.is_bool()) return {0, 1};
    Interval range = ClosedTypeInterval(dtype);
    const bool fits = range.lo <= value.lo && value.hi <= range.hi;
    if (dtype.is_uint() && value.lo < 0) return all;
    return fits ? value : all;
  }
  if (const auto* call = expr.as<CallNode>()) return Intersect(BoundOfCall(call), all);
  if (const auto* ramp = expr.as<RampNode>()) {
    const int64_t* lanes = as_const_int(ramp->lanes);
    if (lanes == nullptr) return all;
    Interval base = Bound(ramp->base);
    WideInterval reach = MulWide(Bound(ramp->stride), {0, *lanes - 1});
    return FitToType(dtype, AddWide(base, reach));
  }
  if (const auto* broadcast = expr.as<BroadcastNode>()) return Bound(broadcast->value);
  if (const auto* let = expr.as<LetNode>()) {
    if (!IsPrimExpr(let->value) || !IsPrimExpr(let->body)) return all;
    if (scopes.empty() && IsIntLike(let->value.dtype())) {
      Interval value = Bound(PrimExpr(let->value));
      VarFact& fact = facts[let->var.get()];
      if (!fact.var.defined()) {
        fact.var = let->var;
        fact.bound = value;
      }
    }
    return Bound(PrimExpr(let->body));
  }
  return all;
}

Interval Impl::BoundOfCall(const CallNode* call) {
  const Interval all = TypeInterval(call->dtype());
  auto arg = [&](size_t i) { return PrimExpr(call->args[i]); };
  if (call->op.same_as(builtin_scalar::likely())) return Bound(arg(0));
  if (call->op.same_as(builtin_scalar::if_then_else())) return Hull(Bound(arg(1)), Bound(arg(2)));
  if (call->op.same_as(builtin_scalar::shift_right())) {
    Interval a = Bound(arg(0)), b = Bound(arg(1));
    if (b.lo < 0 || b.hi > 62) return a.lo >= 0 ? Interval{0, a.hi} : all;
    Interval r;
    if (a.has_lo()) r.lo = std::min(a.lo >> b.lo, a.lo >> b.hi);
    if (a.has_hi()) r.hi = std::max(a.hi >> b.lo, a.hi >> b.hi);
    return r;
  }
  if (call->op.same_as(builtin_scalar::shift_left())) {
    Interval a = Bound(arg(0)), b = Bound(arg(1));
    if (b.lo < 0 || b.hi > 62) return all;
    return FitToType(call->dtype(), MulWide(a, {int64_t{1} << b.lo, int64_t{1} << b.hi}));
  }
  if (call->op.same_as(builtin_scalar::bitwise_and())) {
    Interval a = Bound(arg(0)), b = Bound(arg(1));
    if (a.lo >= 0 && b.lo >= 0) return {0, std::min(a.hi, b.hi)};
    if (b.lo >= 0) return {0, b.hi};
    if (a.lo >= 0) return {0, a.hi};
    return all;
  }
  if (call->op.same_as(builtin_scalar::clz())) return {0, arg(0).dtype().bits()};
  if (call->op.same_as(builtin_scalar::popcount())) return {0, arg(0).dtype().bits()};
  if (call->op.same_as(builtin_scalar::vscale())) return {1, 16};
  return all;
}

// ---------------------------------------------------------------------------------------------
// Sums

Interval Impl::BoundOfAtom(AtomId id) {
  auto& memo = cache().atom_bounds;
  auto it = memo.find(id);
  if (it != memo.end()) return it->second;
  Interval bound = ComputeAtomBound(id);
  auto narrow = narrowed.find(id);
  if (narrow != narrowed.end()) {
    Interval both = Intersect(bound, narrow->second);
    // Contradicting facts: the code is never reached, any answer is right; keep a proper interval.
    if (!both.is_empty()) bound = both;
  }
  cache().atom_bounds[id] = bound;
  return bound;
}

Interval Impl::ComputeAtomBound(AtomId id) {
  const Atom atom = atoms[id];
  DataType dtype = atom.expr.dtype();
  switch (atom.kind) {
    case Atom::Kind::kProduct: {
      Interval bound{1, 1};
      for (size_t i = 0; i < atom.factors.size(); ++i) {
        bound = FitToType(dtype, MulWide(bound, BoundOfAtom(atom.factors[i])));
      }
      // A square is not negative.
      bool square = atom.factors.size() % 2 == 0;
      for (size_t i = 0; square && i < atom.factors.size(); i += 2) {
        square = atom.factors[i] == atom.factors[i + 1];
      }
      if (square && bound.lo < 0) bound.lo = bound.has_hi() || IsIndexType(dtype) ? 0 : bound.lo;
      return bound;
    }
    case Atom::Kind::kSplit: {
      Interval source = Bound(atoms[atom.source].expr);
      Interval bound = FloorDivInterval(source, Interval::Point(atom.lower));
      if (atom.upper != 0) {
        bound = FloorModInterval(bound, Interval::Point(atom.upper / atom.lower));
      }
      return bound;
    }
    case Atom::Kind::kOpaque:
      break;
  }
  // Not through Bound: a sum that is an atom here must not be taken apart again.
  if (const auto* div = atom.expr.as<FloorDivNode>()) {
    Interval b = Bound(div->b);
    return b == Interval::Point(0) ? TypeInterval(dtype)
                                   : FitToType(dtype, FloorDivInterval(Bound(div->a), b));
  }
  if (const auto* mod = atom.expr.as<FloorModNode>()) {
    Interval b = Bound(mod->b);
    return b == Interval::Point(0) ? TypeInterval(dtype)
                                   : FitToType(dtype, FloorModInterval(Bound(mod->a), b));
  }
  return Bound(atom.expr);
}

Interval Impl::BoundOf(const Linear& sum, DataType dtype) {
  if (!sum.valid) return TypeInterval(dtype);
  WideInterval total = Interval::Point(sum.constant);
  total.has_lo = total.has_hi = true;
  total.lo = total.hi = sum.constant;
  for (const Term& term : sum.terms) {
    total = AddWide(total, ScaleWide(BoundOfAtom(term.atom), term.coef));
  }
  Interval bound = FitToType(dtype, total);
  if (sum.terms.size() > 1) {
    // Parts of one source are not independent: s % u and s // u below a bound of s.
    if (!linear_facts.empty()) bound = BoundByFacts(sum, dtype, bound);
  } else if (sum.terms.size() == 1 && !linear_facts.empty()) {
    bound = BoundByFacts(sum, dtype, bound);
  }
  return bound;
}

Interval Impl::BoundByFacts(const Linear& sum, DataType dtype, Interval bound) {
  for (const Term& lead : sum.terms) {
    auto it = facts_by_atom.find(lead.atom);
    if (it == facts_by_atom.end()) continue;
    for (size_t index : it->second) {
      const LinearFact& fact = linear_facts[index];
      // Visit each fact once: through its first term.
      if (fact.sum.terms[0].atom != lead.atom) continue;
      if (lead.coef % fact.sum.terms[0].coef != 0) continue;
      const int64_t k = lead.coef / fact.sum.terms[0].coef;
      bool contained = true;
      for (const Term& term : fact.sum.terms) {
        const Term* found = sum.Find(term.atom);
        contained =
            contained && found != nullptr && static_cast<__int128>(term.coef) * k == found->coef;
      }
      if (!contained) continue;
      WideInterval total = Interval::Point(0);
      total = AddWide(ScaleWide(fact.bound, k), total);
      WideInterval constant;
      constant.has_lo = constant.has_hi = true;
      constant.lo = constant.hi = sum.constant;
      total = AddWide(total, constant);
      for (const Term& term : sum.terms) {
        if (fact.sum.Find(term.atom) != nullptr) continue;
        total = AddWide(total, ScaleWide(BoundOfAtom(term.atom), term.coef));
      }
      Interval both = Intersect(bound, FitToType(dtype, total));
      if (!both.is_empty()) bound = both;
    }
  }
  return bound;
}

int64_t Impl::UpperByChains(const Linear& sum, DataType dtype, int depth) {
  if (!sum.valid) return Interval::kPosInf;
  int64_t best = BoundOf(sum, dtype).hi;
  if (depth <= 0 || linear_facts.empty() || sum.terms.size() > 8) return best;
  for (const Term& lead : sum.terms) {
    auto it = facts_by_atom.find(lead.atom);
    if (it == facts_by_atom.end()) continue;
    const std::vector<size_t> indices = it->second;
    for (size_t index : indices) {
      const LinearFact fact = linear_facts[index];
      const Term* mine = fact.sum.Find(lead.atom);
      if (lead.coef % mine->coef != 0) continue;
      const int64_t k = lead.coef / mine->coef;
      const int64_t end = k > 0 ? fact.bound.hi : fact.bound.lo;
      if (end == Interval::kPosInf || end == Interval::kNegInf) continue;
      // sum = k * fact + rest
      LinearBuilder builder(dtype);
      builder.Add(sum);
      builder.Add(fact.sum, -k);
      Linear rest = builder.Finish();
      if (!rest.valid || rest.terms.size() > sum.terms.size() + 1) continue;
      int64_t rest_upper = UpperByChains(rest, dtype, depth - 1);
      if (rest_upper == Interval::kPosInf) continue;
      __int128 total = static_cast<__int128>(end) * k + rest_upper;
      if (total < best && total >= MinIntOf(dtype)) best = static_cast<int64_t>(total);
    }
  }
  return best;
}

// ---------------------------------------------------------------------------------------------
// Residues

Residue Impl::ResidueOfAtom(AtomId id) {
  const Atom atom = atoms[id];
  if (atom.kind == Atom::Kind::kProduct) {
    Residue product = Residue::Point(1);
    for (AtomId factor : atom.factors) product = MulResidue(product, ResidueOfAtom(factor));
    return product;
  }
  if (atom.kind == Atom::Kind::kSplit) {
    Residue source = ResidueOf(atoms[atom.source].expr);
    // (c * k + b) // l with l | c is (c / l) * k + b // l.
    if (source.coeff % atom.lower != 0) return Residue::Anything();
    Residue part = Residue::Make(source.coeff / atom.lower, FloorDivInt(source.base, atom.lower));
    if (atom.upper == 0) return part;
    const int64_t modulus = atom.upper / atom.lower;
    int64_t g = std::gcd(part.coeff, modulus);
    if (part.coeff % modulus == 0) return Residue::Point(FloorModInt(part.base, modulus));
    return Residue::Make(g, part.base);
  }
  if (const auto* var = atom.expr.as<VarNode>()) {
    Residue residue = Residue::Anything();
    const VarFact* fact = FindFact(var);
    if (fact != nullptr && fact->residue.has_value()) residue = *fact->residue;
    auto scoped = scoped_residues.find(var);
    if (scoped != scoped_residues.end() && scoped->second.coeff != 1) residue = scoped->second;
    return residue;
  }
  // A division by a symbol is an atom of its own linear form: asking for that would not end.
  if (atom.expr.as<FloorDivNode>() != nullptr || atom.expr.as<FloorModNode>() != nullptr) {
    return Residue::Anything();
  }
  return ResidueOf(atom.expr);
}

Residue Impl::ResidueOf(const Linear& sum) {
  if (!sum.valid) return Residue::Anything();
  Residue total = Residue::Point(sum.constant);
  for (const Term& term : sum.terms) {
    total = AddResidue(total, MulResidue(Residue::Point(term.coef), ResidueOfAtom(term.atom)));
    if (total.coeff == 1) break;
  }
  return total;
}

Residue Impl::ResidueOf(const PrimExpr& expr) {
  CheckStackDepth();
  if (const auto* imm = expr.as<IntImmNode>()) return Residue::Point(imm->value);
  DataType dtype = expr.dtype();
  if (UsesLinear(dtype)) {
    const bool is_sum = expr.as<AddNode>() || expr.as<SubNode>() || expr.as<MulNode>() ||
                        expr.as<FloorDivNode>() || expr.as<FloorModNode>() || expr.as<VarNode>();
    if (is_sum) {
      auto sum = Lin(expr);
      return sum->valid ? ResidueOf(*sum) : Residue::Anything();
    }
  }
  if (const auto* low = expr.as<MinNode>())
    return JoinResidue(ResidueOf(low->a), ResidueOf(low->b));
  if (const auto* high = expr.as<MaxNode>()) {
    return JoinResidue(ResidueOf(high->a), ResidueOf(high->b));
  }
  if (const auto* select = expr.as<SelectNode>()) {
    return JoinResidue(ResidueOf(select->true_value), ResidueOf(select->false_value));
  }
  if (const auto* div = expr.as<DivNode>()) {
    const int64_t* c = as_const_int(div->b);
    Residue a = ResidueOf(div->a);
    if (c != nullptr && *c > 0 && a.coeff % *c == 0 && (a.base == 0 || Bound(div->a).lo >= 0)) {
      return Residue::Make(a.coeff / *c, FloorDivInt(a.base, *c));
    }
    return Residue::Anything();
  }
  if (const auto* mod = expr.as<ModNode>()) {
    const int64_t* c = as_const_int(mod->b);
    Residue a = ResidueOf(mod->a);
    if (c != nullptr && *c > 0 && Bound(mod->a).lo >= 0) {
      int64_t g = std::gcd(a.coeff, *c);
      return Residue::Make(g, a.base);
    }
    return Residue::Anything();
  }
  if (const auto* call = expr.as<CallNode>()) {
    if (call->op.same_as(builtin_scalar::if_then_else())) {
      return JoinResidue(ResidueOf(PrimExpr(call->args[1])), ResidueOf(PrimExpr(call->args[2])));
    }
    if (call->op.same_as(builtin_scalar::likely())) return ResidueOf(PrimExpr(call->args[0]));
    if (call->op.same_as(builtin_scalar::shift_right())) {
      const int64_t* c = as_const_int(call->args[1]);
      if (c != nullptr && *c >= 0 && *c < 62) {
        Residue a = ResidueOf(PrimExpr(call->args[0]));
        const int64_t l = int64_t{1} << *c;
        if (a.coeff % l == 0) return Residue::Make(a.coeff / l, FloorDivInt(a.base, l));
      }
      return Residue::Anything();
    }
    if (call->op.same_as(builtin_scalar::shift_left())) {
      const int64_t* c = as_const_int(call->args[1]);
      if (c != nullptr && *c >= 0 && *c < 62) {
        return MulResidue(ResidueOf(PrimExpr(call->args[0])), Residue::Point(int64_t{1} << *c));
      }
      return Residue::Anything();
    }
    if (call->op.same_as(builtin_scalar::bitwise_and())) {
      // x & (2^k - 1) keeps the residue modulo 2^k.
      const int64_t* c = as_const_int(call->args[1]);
      if (c != nullptr && *c > 0 && ((*c + 1) & *c) == 0) {
        Residue a = ResidueOf(PrimExpr(call->args[0]));
        return Residue::Make(std::gcd(a.coeff, *c + 1), a.base);
      }
    }
    return Residue::Anything();
  }
  if (const auto* ramp = expr.as<RampNode>()) {
    return JoinResidue(ResidueOf(ramp->base),
                       AddResidue(ResidueOf(ramp->base), ResidueOf(ramp->stride)));
  }
  if (const auto* broadcast = expr.as<BroadcastNode>()) return ResidueOf(broadcast->value);
  if (const auto* cast = expr.as<CastNode>()) {
    // The value survives unless it wraps around.
    DataType from = cast->value.dtype();
    if (IsIntLike(from) && dtype.is_int() && from.is_int() && dtype.bits() >= from.bits()) {
      return ResidueOf(cast->value);
    }
    return Residue::Anything();
  }
  if (const auto* let = expr.as<LetNode>()) {
    return IsPrimExpr(let->body) ? ResidueOf(PrimExpr(let->body)) : Residue::Anything();
  }
  return Residue::Anything();
}

}  // namespace tvm::arith
