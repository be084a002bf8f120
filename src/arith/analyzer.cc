// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/arith/analyzer.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/reflection/registry.h>

#include "arith/analyzer_impl.h"

namespace tvm::arith {

using namespace tirx;  // NOLINT(build/namespaces): the scalar nodes
using Impl = AnalyzerObj::Impl;

// ---------------------------------------------------------------------------------------------
// Value objects

void ConstIntBoundNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<ConstIntBoundNode>()
      .def_ro("min_value", &ConstIntBoundNode::min_value)
      .def_ro("max_value", &ConstIntBoundNode::max_value);
}

ConstIntBound::ConstIntBound(int64_t min_value, int64_t max_value) {
  auto node = ffi::make_object<ConstIntBoundNode>();
  node->min_value = min_value;
  node->max_value = max_value;
  data_ = std::move(node);
}

void ModularSetNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<ModularSetNode>()
      .def_ro("coeff", &ModularSetNode::coeff)
      .def_ro("base", &ModularSetNode::base);
}

ModularSet::ModularSet(int64_t coeff, int64_t base) {
  auto node = ffi::make_object<ModularSetNode>();
  node->coeff = coeff;
  node->base = base;
  data_ = std::move(node);
}

/// Counters of the work done, for tests of complexity.
class SimplifierStatsNode : public ffi::Object {
 public:
  int64_t nodes_visited = 0;
  int64_t constraints_entered = 0;
  int64_t rewrites_attempted = 0;
  int64_t rewrites_performed = 0;
  int64_t max_recursive_depth = 0;
  int64_t num_recursive_rewrites = 0;

  static void RegisterReflection() {
    namespace refl = ffi::reflection;
    refl::ObjectDef<SimplifierStatsNode>()
        .def_ro("nodes_visited", &SimplifierStatsNode::nodes_visited)
        .def_ro("constraints_entered", &SimplifierStatsNode::constraints_entered)
        .def_ro("rewrites_attempted", &SimplifierStatsNode::rewrites_attempted)
        .def_ro("rewrites_performed", &SimplifierStatsNode::rewrites_performed)
        .def_ro("max_recursive_depth", &SimplifierStatsNode::max_recursive_depth)
        .def_ro("num_recursive_rewrites", &SimplifierStatsNode::num_recursive_rewrites);
  }
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("arith.RewriteSimplifierStats", SimplifierStatsNode,
                                    ffi::Object);
};

// ---------------------------------------------------------------------------------------------
// Proofs

bool Impl::ProveEqual(const PrimExpr& lhs, const PrimExpr& rhs) {
  if (lhs.same_as(rhs)) return true;
  if (lhs.dtype() != rhs.dtype()) return false;
  if (UsesLinear(lhs.dtype())) {
    auto la = Lin(lhs), lb = Lin(rhs);
    if (la->valid && lb->valid) {
      Linear d = SubLinear(lhs.dtype(), *la, *lb);
      if (d.valid) {
        d = MergeSplits(std::move(d), lhs.dtype());
        if (d.is_zero()) return true;
        Interval bound = BoundOf(d, lhs.dtype());
        if (bound.lo == 0 && bound.hi == 0) return true;
      }
    }
    Linear ea = Expand(lhs), eb = Expand(rhs);
    if (ea.valid && eb.valid) {
      Linear d = SubLinear(lhs.dtype(), ea, eb);
      if (d.valid && MergeSplits(std::move(d), lhs.dtype()).is_zero()) return true;
    }
    return false;
  }
  PrimExpr a = Simp(lhs), b = Simp(rhs);
  if (ExprDeepEqual()(a, b)) return true;
  return false;
}

bool Impl::Prove(const PrimExpr& cond, ProofStrength strength) {
  if (const int64_t* value = as_const_int(cond)) return *value != 0;
  PrimExpr simple = Simp(cond);
  if (const int64_t* value = as_const_int(simple)) return *value != 0;
  if (const auto* both = simple.as<AndNode>()) {
    return Prove(both->a, strength) && Prove(both->b, strength);
  }
  PrimExpr a, b;
  int64_t need = 0;  // a - b <= need
  bool is_equality = false;
  if (const auto* node = simple.as<LTNode>()) {
    a = node->a;
    b = node->b;
    need = -1;
  } else if (const auto* node = simple.as<LENode>()) {
    a = node->a;
    b = node->b;
  } else if (const auto* node = simple.as<EQNode>()) {
    a = node->a;
    b = node->b;
    is_equality = true;
  } else {
    return false;
  }
  if (!UsesLinear(a.dtype())) return false;
  if (is_equality) return ProveEqual(a, b);
  const DataType dtype = a.dtype();
  Linear ea = Expand(a), eb = Expand(b);
  if (!ea.valid || !eb.valid) return false;
  Linear d = SubLinear(dtype, ea, eb);
  if (!d.valid) return false;
  d = MergeSplits(std::move(d), dtype);
  if (BoundOf(d, dtype).hi <= need) return true;
  if (!linear_facts.empty() && UpperByChains(d, dtype, 3) <= need) return true;
  if (strength == ProofStrength::kSymbolicBound) {
    // The largest value of a - b over the sets of its variables, ends left symbolic.
    ffi::Map<Var, IntSet> sets;
    for (const Var& var : FreeVars(simple)) {
      const VarFact* fact = FindFact(var.get());
      if (fact != nullptr && fact->set.defined()) sets.Set(var, fact->set);
    }
    if (sets.empty()) return false;
    Analyzer plain;
    for (const auto& [var, fact] : facts) {
      // Variables without a set stay symbols with their bounds.
      if (!fact.set.defined() && fact.bound.has_value() && !fact.value.defined()) {
        plain->impl()->SetBound(fact.var, *fact.bound, true);
      }
    }
    IntSet set = EvalSet(ToExpr(d, dtype), sets, plain);
    if (!set.HasUpperBound()) return false;
    PrimExpr upper = set.max();
    if (UsesVar(upper,
                [&](const VarNode* var) { return sets.count(ffi::GetRef<Var>(var)) != 0; })) {
      return false;
    }
    return plain->CanProve(LE(upper, IntImm(dtype, need)));
  }
  return false;
}

CompareResult Impl::Compare(const PrimExpr& lhs, const PrimExpr& rhs, bool propagate) {
  if (lhs.dtype() != rhs.dtype() || !UsesLinear(lhs.dtype())) {
    if (ExprDeepEqual()(Simp(lhs), Simp(rhs))) return CompareResult::kEQ;
    return CompareResult::kUnknown;
  }
  const DataType dtype = lhs.dtype();
  if (ProveEqual(lhs, rhs)) return CompareResult::kEQ;
  auto la = Lin(lhs), lb = Lin(rhs);
  if (!la->valid || !lb->valid) return CompareResult::kUnknown;
  Linear d = SubLinear(dtype, *la, *lb);
  if (!d.valid) return CompareResult::kUnknown;
  d = MergeSplits(std::move(d), dtype);
  Interval bound = BoundOf(d, dtype);
  if (propagate) {
    bound.hi = std::min(bound.hi, UpperByChains(d, dtype, 4));
    int64_t low = UpperByChains(ScaleLinear(dtype, d, -1), dtype, 4);
    if (low != Interval::kPosInf) bound.lo = std::max(bound.lo, -low);
  }
  bool not_equal = false;
  auto it = known.find(Simp(EQ(lhs, rhs)));
  if (it != known.end() && !it->second) not_equal = true;
  if (is_const_int(Simp(NE(lhs, rhs)), 1)) not_equal = true;
  if (bound.is_empty()) return CompareResult::kInconsistent;
  if (bound.hi < 0) return CompareResult::kLT;
  if (bound.lo > 0) return CompareResult::kGT;
  if (bound.lo == 0 && bound.hi == 0) {
    return not_equal ? CompareResult::kInconsistent : CompareResult::kEQ;
  }
  if (bound.hi == 0) return not_equal ? CompareResult::kLT : CompareResult::kLE;
  if (bound.lo == 0) return not_equal ? CompareResult::kGT : CompareResult::kGE;
  if (not_equal) return CompareResult::kNE;
  return CompareResult::kUnknown;
}

// ---------------------------------------------------------------------------------------------
// Public interface

AnalyzerObj::AnalyzerObj() : impl_(std::make_unique<Impl>()) {}
AnalyzerObj::~AnalyzerObj() = default;

Analyzer::Analyzer() : ffi::ObjectRef(ffi::UnsafeInit{}) {
  data_ = ffi::make_object<AnalyzerObj>();
}

Analyzer Analyzer::Clone() const {
  Analyzer copy;
  copy->impl()->CopyFactsFrom(*get()->impl());
  return copy;
}

void AnalyzerObj::Bind(const Var& var, const PrimExpr& value, bool allow_override) {
  impl_->BindValue(var, value, allow_override);
}

void AnalyzerObj::Bind(const Var& var, const Range& range, bool allow_override) {
  impl_->BindRange(var, range, allow_override);
}

void AnalyzerObj::Bind(const ffi::Map<Var, Range>& ranges, bool allow_override) {
  for (const auto& [var, range] : ranges) impl_->BindRange(var, range, allow_override);
}

void AnalyzerObj::MarkGlobalNonNegValue(const PrimExpr& value) { impl_->MarkNonNegative(value); }

void AnalyzerObj::Update(const Var& var, const ConstIntBound& bound, bool allow_override) {
  impl_->SetBound(var, {bound->min_value, bound->max_value}, allow_override);
}

void AnalyzerObj::Update(const Var& var, const ModularSet& set, bool allow_override) {
  impl_->SetResidue(var, Residue::Make(set->coeff, set->base), allow_override);
}

void AnalyzerObj::Update(const Var& var, const IntSet& set, bool allow_override) {
  impl_->SetIntSet(var, set, allow_override);
}

std::function<void()> AnalyzerObj::EnterConstraint(const PrimExpr& condition) {
  return impl_->EnterConstraint(condition);
}

PrimExpr AnalyzerObj::Simplify(const PrimExpr& expr, int steps) {
  TVM_FFI_CHECK(expr.defined(), ValueError) << "simplify of an undefined expression";
  if (!IsPrimExpr(expr)) return expr;
  PrimExpr result = impl_->Simp(expr);
  for (int i = 1; i < steps && !is_const_int(result); ++i) {
    PrimExpr next = impl_->Simp(result);
    if (next.same_as(result)) break;
    result = next;
  }
  // The same object when nothing changed, so that passes can tell.
  return ExprDeepEqual()(result, expr) ? expr : result;
}

PrimExpr AnalyzerObj::RewriteSimplify(const PrimExpr& expr) { return Simplify(expr, 1); }
PrimExpr AnalyzerObj::CanonicalSimplify(const PrimExpr& expr) { return Simplify(expr, 1); }

ConstIntBound AnalyzerObj::GetConstIntBound(const PrimExpr& expr) {
  Interval bound = impl_->Bound(expr);
  if (bound.is_empty()) bound = TypeInterval(expr.dtype());
  return ConstIntBound(bound.lo, bound.hi);
}

bool AnalyzerObj::IsConstIntBoundBound(const Var& var) const {
  auto it = impl_->facts.find(var.get());
  return it != impl_->facts.end() && it->second.bound.has_value();
}

ModularSet AnalyzerObj::GetModularSet(const PrimExpr& expr) {
  Residue residue = impl_->ResidueOf(expr);
  return ModularSet(residue.coeff, residue.base);
}

IntSet AnalyzerObj::GetIntSet(const PrimExpr& expr) {
  ffi::Map<Var, IntSet> sets;
  for (const Var& var : FreeVars(expr)) {
    auto it = impl_->facts.find(var.get());
    if (it != impl_->facts.end() && it->second.set.defined()) sets.Set(var, it->second.set);
  }
  return GetIntSet(expr, sets);
}

IntSet AnalyzerObj::GetIntSet(const PrimExpr& expr, const ffi::Map<Var, IntSet>& dom_map) {
  return EvalSet(expr, dom_map, Analyzer(ffi::GetObjectPtr<AnalyzerObj>(this)));
}

bool AnalyzerObj::CanProve(const PrimExpr& cond, ProofStrength strength) {
  return impl_->Prove(cond, strength);
}

bool AnalyzerObj::CanProveEqual(const PrimExpr& lhs, const PrimExpr& rhs) {
  return impl_->ProveEqual(lhs, rhs);
}

bool AnalyzerObj::CanProveGreaterEqual(const PrimExpr& expr, int64_t lower_bound) {
  if (const int64_t* value = as_const_int(expr)) return *value >= lower_bound;
  Interval bound = impl_->Bound(expr);
  if (bound.has_lo() && bound.lo >= lower_bound) return true;
  PrimExpr simple = impl_->Simp(expr);
  bound = impl_->Bound(simple);
  return bound.has_lo() && bound.lo >= lower_bound;
}

bool AnalyzerObj::CanProveLess(const PrimExpr& expr, int64_t upper_bound) {
  if (const int64_t* value = as_const_int(expr)) return *value < upper_bound;
  Interval bound = impl_->Bound(expr);
  if (bound.has_hi() && bound.hi < upper_bound) return true;
  PrimExpr simple = impl_->Simp(expr);
  bound = impl_->Bound(simple);
  return bound.has_hi() && bound.hi < upper_bound;
}

bool AnalyzerObj::CanProveLessEqualThanSymbolicShapeValue(const PrimExpr& lhs,
                                                          const PrimExpr& shape) {
  if (CanProve(less_equal(lhs, shape), ProofStrength::kSymbolicBound)) return true;
  // A shape value is positive: c <= c * n for every n >= 1.
  const int64_t* value = as_const_int(lhs);
  if (value == nullptr) return false;
  if (*value <= 1) return true;
  const auto* mul = shape.as<MulNode>();
  const int64_t* factor = mul != nullptr ? as_const_int(mul->b) : nullptr;
  return factor != nullptr && *value <= *factor;
}

CompareResult AnalyzerObj::TryCompare(const PrimExpr& lhs, const PrimExpr& rhs,
                                      bool propagate_inequalities) {
  return impl_->Compare(lhs, rhs, propagate_inequalities);
}

int64_t AnalyzerObj::GetEnabledExtensions() const { return impl_->extensions; }
void AnalyzerObj::SetEnabledExtensions(int64_t flags) { impl_->extensions = flags; }
void AnalyzerObj::SetMaximumRewriteSteps(int64_t steps) { impl_->max_rewrite_steps = steps; }
void AnalyzerObj::SetAllowUIntAsIndex(bool allow) {
  if (impl_->allow_uint_as_index == allow) return;
  impl_->allow_uint_as_index = allow;
  for (auto& cache : impl_->caches) cache->Clear();
}

ffi::ObjectRef AnalyzerObj::GetStats() const {
  auto stats = ffi::make_object<SimplifierStatsNode>();
  stats->nodes_visited = impl_->nodes_visited;
  stats->constraints_entered = impl_->constraints_entered;
  stats->rewrites_attempted = impl_->nodes_visited;
  stats->rewrites_performed = impl_->rewrites_performed;
  return ffi::ObjectRef(ffi::ObjectPtr<ffi::Object>(std::move(stats)));
}

void AnalyzerObj::ResetStats() {
  impl_->nodes_visited = impl_->constraints_entered = impl_->rewrites_performed = 0;
}

}  // namespace tvm::arith
