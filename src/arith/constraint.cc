// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Facts: what variables are, and what conditions hold in a scope.
#include <tvm/ffi/error.h>

#include <algorithm>

#include "arith/analyzer_impl.h"

namespace tvm::arith {

using namespace tirx;  // NOLINT(build/namespaces): the scalar nodes
using Impl = AnalyzerObj::Impl;

Impl::Impl() { caches.push_back(std::make_unique<ScopeCache>()); }

const VarFact* Impl::FindFact(const VarNode* var) {
  auto it = facts.find(var);
  if (it == facts.end()) {
    looked_at.insert(var);
    return nullptr;
  }
  return &it->second;
}

void Impl::ForgetVar(const Var& var) {
  auto uses = [&](AtomId id) { return UsesVar(atoms[id].expr, var); };
  for (LinearFact& fact : linear_facts) {
    for (const Term& term : fact.sum.terms) {
      if (uses(term.atom)) fact.bound = Interval();
    }
  }
  for (auto& [id, bound] : narrowed) {
    if (uses(id)) bound = Interval();
  }
  scoped_residues.erase(var.get());
}

void Impl::FactsChanged(const VarNode* var) {
  // Results that never asked about the variable stay valid.
  const bool seen = looked_at.count(var) != 0 || facts.count(var) != 0;
  if (!seen) return;
  for (auto& cache : caches) cache->Clear();
}

// ---------------------------------------------------------------------------------------------
// Variables

void Impl::BindValue(const Var& var, const PrimExpr& value, bool allow_override) {
  PrimExpr simple = Simp(value);
  // A variable that is itself tells nothing and would make the rewriting endless.
  if (UsesVar(simple, var)) {
    TVM_FFI_CHECK(simple.same_as(var), ValueError)
        << "cannot bind " << var->name << " to " << Expr(simple) << ", which contains it";
    return;
  }
  auto it = facts.find(var.get());
  if (it != facts.end() && it->second.value.defined() && !allow_override) {
    TVM_FFI_CHECK(ExprDeepEqual()(it->second.value, simple), ValueError)
        << "Trying to update var '" << var->name << "' with a different value: "
        << "original=" << Expr(it->second.value) << ", new=" << Expr(simple);
  }
  if (allow_override && it != facts.end()) ForgetVar(var);
  FactsChanged(var.get());
  VarFact& fact = facts[var.get()];
  fact.var = var;
  fact.value = simple;
  DataType dtype = var.dtype();
  if (dtype.is_int() || dtype.is_uint()) {
    fact.bound = std::nullopt;
    fact.residue = std::nullopt;
    Interval bound = Bound(simple);
    Residue residue = ResidueOf(simple);
    VarFact& again = facts[var.get()];
    again.bound = bound;
    again.residue = residue;
    again.set = IntSet::SinglePoint(simple);
  }
}

void Impl::BindRange(const Var& var, const Range& range, bool allow_override) {
  TVM_FFI_CHECK(range.defined(), ValueError) << "bind of " << var->name << " to no range";
  if (is_one(range->extent)) {
    BindValue(var, range->min, allow_override);
    return;
  }
  PrimExpr min = Simp(range->min), extent = Simp(range->extent);
  if (is_one(extent)) {
    BindValue(var, min, allow_override);
    return;
  }
  const DataType dtype = var.dtype();
  if (allow_override && facts.count(var.get()) != 0) ForgetVar(var);
  Interval low = Bound(min), size = Bound(extent);
  // An extent that may not be positive: the variable then takes no value at all.
  WideInterval last = AddWide(low, AddWide(size, Interval::Point(-1)));
  WideInterval whole;
  whole.has_lo = low.has_lo();
  whole.lo = low.lo;
  whole.has_hi = last.has_hi;
  whole.hi = last.hi;
  Interval bound = FitToType(dtype, whole);
  if (whole.has_hi && whole.hi > MaxIntOf(dtype)) {
    // The end of the loop overflows: nothing but the start is known, and not even that it grows.
    bound = TypeInterval(dtype);
  }
  SetBound(var, bound, allow_override);
  facts[var.get()].set = IntSet::FromMinExtent(min, extent);
  if (UsesLinear(dtype) && !(is_const_int(min) && is_const_int(extent))) {
    // var - min >= 0 and var - min - extent <= -1
    auto lv = Lin(var), lm = Lin(min), le = Lin(extent);
    if (lv->valid && lm->valid && le->valid && min.dtype() == dtype && extent.dtype() == dtype) {
      Linear from_start = SubLinear(dtype, *lv, *lm);
      if (from_start.valid && !is_const_int(min)) {
        AssumeLinear(from_start, {0, Interval::kPosInf}, dtype);
      }
      if (from_start.valid && !is_const_int(extent)) {
        Linear to_end = SubLinear(dtype, from_start, *le);
        if (to_end.valid) AssumeLinear(to_end, {Interval::kNegInf, -1}, dtype);
      }
      for (auto& cache : caches) cache->Clear();
    }
  }
}

void Impl::SetBound(const Var& var, const Interval& bound, bool allow_override) {
  auto it = facts.find(var.get());
  if (it != facts.end() && it->second.bound.has_value() && !allow_override) {
    TVM_FFI_CHECK(*it->second.bound == bound, ValueError)
        << "Trying to update var '" << var->name << "' with a different const bound: original=["
        << it->second.bound->lo << ", " << it->second.bound->hi << "], new=[" << bound.lo << ", "
        << bound.hi << "]";
  }
  FactsChanged(var.get());
  VarFact& fact = facts[var.get()];
  fact.var = var;
  fact.bound = bound;
  if (allow_override) fact.value = PrimExpr();
}

void Impl::SetResidue(const Var& var, const Residue& residue, bool allow_override) {
  auto it = facts.find(var.get());
  if (it != facts.end() && it->second.residue.has_value() && !allow_override) {
    const Residue& old = *it->second.residue;
    TVM_FFI_CHECK(old.coeff == residue.coeff && old.base == residue.base, ValueError)
        << "Trying to update var '" << var->name << "' with a different modular set: original=("
        << old.coeff << ", " << old.base << "), new=(" << residue.coeff << ", " << residue.base
        << ")";
  }
  FactsChanged(var.get());
  VarFact& fact = facts[var.get()];
  fact.var = var;
  fact.residue = residue;
}

void Impl::SetIntSet(const Var& var, const IntSet& set, bool allow_override) {
  auto it = facts.find(var.get());
  if (it != facts.end() && it->second.set.defined() && !allow_override) {
    const bool same = it->second.set.same_as(set) || (ProveEqual(it->second.set.min(), set.min()) &&
                                                      ProveEqual(it->second.set.max(), set.max()));
    TVM_FFI_CHECK(same, ValueError)
        << "Trying to update var '" << var->name << "' with a different set";
  }
  FactsChanged(var.get());
  VarFact& fact = facts[var.get()];
  fact.var = var;
  fact.set = set;
}

void Impl::MarkNonNegative(const PrimExpr& value) {
  // A sum of variables is marked through each of them when it is a positive multiple or a variable.
  if (!UsesLinear(value.dtype())) return;
  if (const auto* var = value.as<VarNode>()) {
    const VarFact* fact = FindFact(var);
    Interval bound = fact != nullptr && fact->bound.has_value() ? *fact->bound : Interval();
    Interval positive = Intersect(bound, {0, Interval::kPosInf});
    if (!positive.is_empty()) SetBound(ffi::GetRef<Var>(var), positive, true);
    return;
  }
  auto sum = Lin(value);
  if (sum->valid && !sum->is_constant()) {
    AssumeLinear(*sum, {0, Interval::kPosInf}, value.dtype());
    for (auto& cache : caches) cache->Clear();
  }
}

void Impl::CopyFactsFrom(const Impl& other) {
  atoms = other.atoms;
  facts = other.facts;
  linear_facts = other.linear_facts;
  facts_by_atom = other.facts_by_atom;
  narrowed = other.narrowed;
  scoped_residues = other.scoped_residues;
  known = other.known;
  constraints = other.constraints;
  looked_at = other.looked_at;
  extensions = other.extensions;
  max_rewrite_steps = other.max_rewrite_steps;
  allow_uint_as_index = other.allow_uint_as_index;
}

// ---------------------------------------------------------------------------------------------
// Conditions

void Impl::PushScope() {
  Scope scope;
  scope.num_linear_facts = linear_facts.size();
  scopes.push_back(std::move(scope));
  caches.push_back(std::make_unique<ScopeCache>());
}

void Impl::PopScope() {
  Scope scope = std::move(scopes.back());
  scopes.pop_back();
  caches.pop_back();
  while (linear_facts.size() > scope.num_linear_facts) {
    const size_t index = linear_facts.size() - 1;
    for (const Term& term : linear_facts[index].sum.terms) {
      auto& indices = facts_by_atom[term.atom];
      if (!indices.empty() && indices.back() == index) indices.pop_back();
    }
    linear_facts.pop_back();
  }
  for (size_t i = scope.known.size(); i-- > 0;) {
    auto& [condition, before] = scope.known[i];
    if (before.has_value()) {
      known[condition] = *before;
    } else {
      known.erase(condition);
    }
  }
  for (size_t i = scope.atom_bounds.size(); i-- > 0;) {
    auto& [atom, before] = scope.atom_bounds[i];
    if (before.has_value()) {
      narrowed[atom] = *before;
    } else {
      narrowed.erase(atom);
    }
  }
  for (size_t i = scope.residues.size(); i-- > 0;) {
    auto& [var, before] = scope.residues[i];
    if (before.has_value()) {
      scoped_residues[var] = *before;
    } else {
      scoped_residues.erase(var);
    }
  }
}

void Impl::SetKnown(const PrimExpr& condition, bool value) {
  std::optional<bool> before;
  auto it = known.find(condition);
  if (it != known.end()) before = it->second;
  if (!scopes.empty()) scopes.back().known.emplace_back(condition, before);
  known[condition] = value;
}

void Impl::NarrowAtom(AtomId id, Interval bound) {
  std::optional<Interval> before;
  auto it = narrowed.find(id);
  if (it != narrowed.end()) {
    before = it->second;
    bound = Intersect(bound, it->second);
  }
  if (!scopes.empty()) scopes.back().atom_bounds.emplace_back(id, before);
  narrowed[id] = bound;
}

void Impl::AddLinearFact(Linear sum, Interval bound) {
  // The first coefficient is positive, so that a sum and its opposite are one fact.
  if (sum.terms[0].coef < 0) {
    for (Term& term : sum.terms) term.coef = -term.coef;
    bound = NegInterval(bound);
  }
  const size_t index = linear_facts.size();
  for (const Term& term : sum.terms) facts_by_atom[term.atom].push_back(index);
  linear_facts.push_back({std::move(sum), bound});
}

/// Records lo <= sum <= hi, where the sum may have a constant and a common factor.
void Impl::AssumeLinear(const Linear& sum, Interval bound, DataType dtype) {
  if (!sum.valid || sum.is_constant()) return;
  Linear plain = sum;
  plain.constant = 0;
  auto shift = [&](int64_t end) -> std::optional<int64_t> {
    int64_t moved;
    if (__builtin_sub_overflow(end, sum.constant, &moved)) return std::nullopt;
    return moved;
  };
  Interval moved;
  if (bound.has_lo()) moved.lo = shift(bound.lo).value_or(Interval::kNegInf);
  if (bound.has_hi()) moved.hi = shift(bound.hi).value_or(Interval::kPosInf);
  const int64_t g = ContentOf(plain);
  if (g > 1) {
    for (Term& term : plain.terms) term.coef /= g;
    if (moved.has_lo()) moved.lo = -FloorDivInt(-moved.lo, g);
    if (moved.has_hi()) moved.hi = FloorDivInt(moved.hi, g);
  }
  if (moved.is_everything()) return;
  if (plain.terms.size() == 1) {
    const Term& term = plain.terms[0];
    if (term.coef < 0) moved = NegInterval(moved);
    NarrowAtom(term.atom, moved);
    const Atom atom = atoms[term.atom];
    if (atom.kind == Atom::Kind::kSplit && atom.upper == 0) {
      // s // l in [a, b] means s in [a * l, b * l + l - 1].
      auto source = Lin(atoms[atom.source].expr);
      WideInterval wide = ScaleWide(moved, atom.lower);
      Interval source_bound;
      const int128 limit = MaxIntOf(dtype);
      if (wide.has_lo && wide.lo >= -limit) source_bound.lo = static_cast<int64_t>(wide.lo);
      if (wide.has_hi && wide.hi + atom.lower - 1 <= limit) {
        source_bound.hi = static_cast<int64_t>(wide.hi + atom.lower - 1);
      }
      if (source->valid) AssumeLinear(*source, source_bound, dtype);
    }
    if (atom.kind == Atom::Kind::kSplit && atom.lower == 1 && atom.upper != 0 && moved.is_point()) {
      // x % m == r is a residue of x.
      if (const auto* var = atoms[atom.source].expr.as<VarNode>()) {
        std::optional<Residue> before;
        auto it = scoped_residues.find(var);
        if (it != scoped_residues.end()) before = it->second;
        if (!scopes.empty()) scopes.back().residues.emplace_back(var, before);
        scoped_residues[var] = Residue::Make(atom.upper, moved.lo);
      }
    }
    return;
  }
  AddLinearFact(std::move(plain), moved);
}

void Impl::Assume(const PrimExpr& literal) {
  if (is_const_int(literal)) return;
  if (const auto* both = literal.as<AndNode>()) {
    Assume(both->a);
    Assume(both->b);
    return;
  }
  if (const auto* call = literal.as<CallNode>();
      call != nullptr && call->op.same_as(builtin_scalar::likely())) {
    Assume(PrimExpr(call->args[0]));
    return;
  }
  PrimExpr negated;
  {
    // The negation in the same normal form; taken before the literal itself is known.
    negated = SimpNot(literal);
  }
  PrimExpr a, b;
  CompareKind kind = CompareKind::kEQ;
  auto match = [&](const auto* node, CompareKind k) {
    if (node == nullptr) return;
    a = node->a;
    b = node->b;
    kind = k;
  };
  match(literal.as<LTNode>(), CompareKind::kLT);
  match(literal.as<LENode>(), CompareKind::kLE);
  match(literal.as<EQNode>(), CompareKind::kEQ);
  match(literal.as<NENode>(), CompareKind::kNE);
  if (a.defined() && UsesLinear(a.dtype())) {
    const DataType dtype = a.dtype();
    auto la = Lin(a), lb = Lin(b);
    if (la->valid && lb->valid) {
      Linear d = SubLinear(dtype, *la, *lb);
      if (d.valid) {
        switch (kind) {
          case CompareKind::kLT:
            AssumeLinear(d, {Interval::kNegInf, -1}, dtype);
            break;
          case CompareKind::kLE:
            AssumeLinear(d, {Interval::kNegInf, 0}, dtype);
            break;
          case CompareKind::kEQ:
            AssumeLinear(d, {0, 0}, dtype);
            break;
          case CompareKind::kNE: {
            Interval bound = BoundOf(d, dtype);
            if (bound.lo == 0) AssumeLinear(d, {1, Interval::kPosInf}, dtype);
            if (bound.hi == 0) AssumeLinear(d, {Interval::kNegInf, -1}, dtype);
            break;
          }
        }
      }
    }
  }
  SetKnown(literal, true);
  if (negated.defined() && !is_const_int(negated)) SetKnown(negated, false);
}

std::function<void()> Impl::EnterConstraint(const PrimExpr& condition) {
  PrimExpr simple = Simp(condition);
  ++constraints_entered;
  PushScope();
  constraints.push_back(simple);
  Assume(simple);
  // What was computed while the facts came in may miss the later ones.
  cache().Clear();
  const size_t depth = scopes.size();
  return [this, depth]() {
    TVM_FFI_ICHECK_EQ(scopes.size(), depth)
        << "constraints must be left in the reverse order of entering";
    constraints.pop_back();
    PopScope();
  };
}

}  // namespace tvm::arith
