// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/arith/int_set.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

#include "arith/interval_set.h"

namespace tvm::arith {

using namespace tirx;  // NOLINT(build/namespaces): the scalar nodes

void IntervalSetNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<IntervalSetNode>()
      .def_ro("min_value", &IntervalSetNode::min_value)
      .def_ro("max_value", &IntervalSetNode::max_value);
}

// The infinities are two variables that nothing else refers to.
PrimExpr pos_inf() {
  static auto* value = new PrimExpr(Var("pos_inf", DataType::Int(64)));
  return *value;
}
PrimExpr neg_inf() {
  static auto* value = new PrimExpr(Var("neg_inf", DataType::Int(64)));
  return *value;
}
bool is_pos_inf(const PrimExpr& value) { return value.same_as(pos_inf()); }
bool is_neg_inf(const PrimExpr& value) { return value.same_as(neg_inf()); }

IntervalSet::IntervalSet(PrimExpr min_value, PrimExpr max_value) {
  auto node = ffi::make_object<IntervalSetNode>();
  // One object for equal literal ends, so that a point is known as one.
  if (!min_value.same_as(max_value) && is_same_value(min_value, max_value)) max_value = min_value;
  node->min_value = std::move(min_value);
  node->max_value = std::move(max_value);
  data_ = std::move(node);
}

IntSet IntSet::Nothing() { return IntervalSet::Empty(); }
IntSet IntSet::Everything() { return IntervalSet::Everything(); }
IntSet IntSet::SinglePoint(PrimExpr point) { return IntervalSet::SinglePoint(std::move(point)); }

IntSet IntSet::Interval(PrimExpr min, PrimExpr max) {
  if (min.same_as(max)) return SinglePoint(min);
  return IntervalSet(std::move(min), std::move(max));
}

IntSet IntSet::FromMinExtent(PrimExpr min, PrimExpr extent) {
  if (is_one(extent)) return SinglePoint(min);
  PrimExpr last = min + (extent - make_const(extent.dtype(), 1));
  // The builders fold constants; only symbolic ends need more.
  if (!is_const_int(last)) last = Analyzer()->Simplify(last);
  return IntervalSet(min, last);
}

IntSet IntSet::FromRange(const Range& range) { return FromMinExtent(range->min, range->extent); }

IntSet IntSet::Vector(PrimExpr vector) {
  TVM_FFI_CHECK(vector.defined(), TypeError) << "IntSet::Vector: expected an expression, got None";
  if (vector.dtype().is_scalar()) return SinglePoint(vector);
  return EvalSet(vector, ffi::Map<Var, IntSet>());
}

PrimExpr IntSet::min() const { return ToInterval(*this)->min_value; }
PrimExpr IntSet::max() const { return ToInterval(*this)->max_value; }
bool IntSet::IsNothing() const { return defined() && ToInterval(*this)->IsEmpty(); }
bool IntSet::IsEverything() const { return ToInterval(*this)->IsEverything(); }
bool IntSet::IsSinglePoint() const { return ToInterval(*this)->IsSinglePoint(); }
bool IntSet::HasLowerBound() const { return ToInterval(*this)->HasLowerBound(); }
bool IntSet::HasUpperBound() const { return ToInterval(*this)->HasUpperBound(); }

bool IntSet::CanProveSinglePoint(const Analyzer& analyzer) const {
  IntervalSet interval = ToInterval(*this);
  if (interval->IsSinglePoint()) return true;
  if (!interval->HasLowerBound() || !interval->HasUpperBound()) return false;
  return analyzer->CanProveEqual(interval->min_value, interval->max_value);
}

bool IntSet::CanProvePositive() const {
  IntervalSet interval = ToInterval(*this);
  return interval->HasLowerBound() && Analyzer()->CanProveGreaterEqual(interval->min_value, 1);
}
bool IntSet::CanProveNonNegative() const {
  IntervalSet interval = ToInterval(*this);
  return interval->HasLowerBound() && Analyzer()->CanProveGreaterEqual(interval->min_value, 0);
}
bool IntSet::CanProveNegative() const {
  IntervalSet interval = ToInterval(*this);
  return interval->HasUpperBound() && Analyzer()->CanProveLess(interval->max_value, 0);
}
bool IntSet::CanProveNonPositive() const {
  IntervalSet interval = ToInterval(*this);
  return interval->HasUpperBound() && Analyzer()->CanProveLess(interval->max_value, 1);
}

PrimExpr IntSet::PointValue() const {
  IntervalSet interval = ToInterval(*this);
  TVM_FFI_ICHECK(interval->IsSinglePoint()) << "PointValue of a set that is no single point";
  return interval->min_value;
}

Range IntSet::CoverRange(Range max_range) const {
  IntervalSet interval = ToInterval(*this);
  if (interval->HasLowerBound() && interval->HasUpperBound()) {
    PrimExpr extent = Analyzer()->Simplify(interval->max_value - interval->min_value +
                                           make_const(interval->min_value.dtype(), 1));
    return Range::FromMinExtent(interval->min_value, extent);
  }
  return max_range;
}

bool IntSet::MatchRange(const Range& range) const {
  IntervalSet interval = ToInterval(*this);
  if (!interval->HasLowerBound() || !interval->HasUpperBound()) return false;
  Analyzer analyzer;
  PrimExpr extent =
      interval->max_value - interval->min_value + make_const(interval->min_value.dtype(), 1);
  return analyzer->CanProveEqual(interval->min_value, range->min) &&
         analyzer->CanProveEqual(extent, range->extent);
}

// ---------------------------------------------------------------------------------------------
// Evaluation

namespace {

/// Set of values of an expression, by the sets of its variables.
class SetEvaluator final : public ExprFunctor<IntervalSet(const Expr&)> {
 public:
  using SetOf = std::function<IntSet(const Var&)>;
  SetEvaluator(const Analyzer& analyzer, SetOf set_of)
      : analyzer_(analyzer), set_of_(std::move(set_of)) {}

  IntervalSet Eval(const PrimExpr& expr) { return VisitExpr(expr); }

  IntervalSet VisitExpr_(const IntImmNode* node) final {
    return IntervalSet::SinglePoint(ffi::GetRef<PrimExpr>(node));
  }

  IntervalSet VisitExpr_(const VarNode* node) final {
    Var var = ffi::GetRef<Var>(node);
    if (!IsPrimExpr(node)) return IntervalSet::Everything();
    IntSet set = set_of_(var);
    if (!set.defined()) return IntervalSet::SinglePoint(var);
    IntervalSet interval = ToInterval(set);
    if (interval->min_value.same_as(var) && interval->max_value.same_as(var)) return interval;
    // The ends may be in terms of other variables that have a set.
    if (depth_ >= kMaxDepth) return IntervalSet::Everything();
    ++depth_;
    IntervalSet result = EvalEnds(interval);
    --depth_;
    return result;
  }

#define TVM_EVAL_BINARY(Name)                            \
  IntervalSet VisitExpr_(const Name##Node* node) final { \
    return Combine(BinaryKind::k##Name, node);           \
  }
  TVM_EVAL_BINARY(Add)
  TVM_EVAL_BINARY(Sub)
  TVM_EVAL_BINARY(Mul)
  TVM_EVAL_BINARY(Div)
  TVM_EVAL_BINARY(Mod)
  TVM_EVAL_BINARY(FloorDiv)
  TVM_EVAL_BINARY(FloorMod)
  TVM_EVAL_BINARY(Min)
  TVM_EVAL_BINARY(Max)
  TVM_EVAL_BINARY(EQ)
  TVM_EVAL_BINARY(NE)
  TVM_EVAL_BINARY(LT)
  TVM_EVAL_BINARY(LE)
  TVM_EVAL_BINARY(GT)
  TVM_EVAL_BINARY(GE)
  TVM_EVAL_BINARY(And)
  TVM_EVAL_BINARY(Or)
#undef TVM_EVAL_BINARY

  IntervalSet VisitExpr_(const SelectNode* node) final {
    return UnionIntervals(analyzer_, VisitExpr(node->true_value), VisitExpr(node->false_value));
  }

  IntervalSet VisitExpr_(const CastNode* node) final {
    DataType from = node->value.dtype(), to = node->dtype();
    const bool ints = (from.is_int() || from.is_uint() || from.is_bool()) && to.is_int() &&
                      to.bits() >= from.bits() + (from.is_uint() ? 1 : 0);
    IntervalSet value = VisitExpr(node->value);
    if (value->IsSinglePoint() && value->min_value.same_as(node->value)) {
      return IntervalSet::SinglePoint(ffi::GetRef<PrimExpr>(node));
    }
    if (!ints) return Opaque(node);
    PrimExpr low = is_neg_inf(value->min_value) ? neg_inf() : cast(to, value->min_value);
    PrimExpr high = is_pos_inf(value->max_value) ? pos_inf() : cast(to, value->max_value);
    return IntervalSet(low, high);
  }

  IntervalSet VisitExpr_(const RampNode* node) final {
    const int64_t* lanes = as_const_int(node->lanes);
    if (lanes == nullptr) return IntervalSet::Everything();
    IntervalSet base = VisitExpr(node->base), stride = VisitExpr(node->stride);
    DataType dtype = node->base.dtype();
    IntervalSet lane(make_zero(dtype), make_const(dtype, *lanes - 1));
    IntervalSet reach = CombineIntervals(analyzer_, BinaryKind::kMul, stride, lane, dtype);
    return CombineIntervals(analyzer_, BinaryKind::kAdd, base, reach, dtype);
  }

  IntervalSet VisitExpr_(const BroadcastNode* node) final { return VisitExpr(node->value); }

  IntervalSet VisitExpr_(const CallNode* node) final {
    if (node->op.same_as(builtin_scalar::likely())) return VisitExpr(node->args[0]);
    if (node->op.same_as(builtin_scalar::if_then_else())) {
      return UnionIntervals(analyzer_, VisitExpr(node->args[1]), VisitExpr(node->args[2]));
    }
    return Opaque(node);
  }

  IntervalSet VisitExpr_(const LetNode* node) final { return Opaque(node); }
  IntervalSet VisitExprDefault_(const ffi::Object* node) final {
    return Opaque(static_cast<const ExprNode*>(node));
  }

 private:
  static constexpr int kMaxDepth = 16;

  IntervalSet EvalEnds(const IntervalSet& interval) {
    PrimExpr low = interval->min_value, high = interval->max_value;
    if (interval->IsSinglePoint() && !is_pos_inf(low) && !is_neg_inf(low)) return VisitExpr(low);
    if (!is_neg_inf(low) && !is_pos_inf(low) && !is_const_int(low)) {
      low = VisitExpr(low)->min_value;
    }
    if (!is_pos_inf(high) && !is_neg_inf(high) && !is_const_int(high)) {
      high = VisitExpr(high)->max_value;
    }
    return IntervalSet(low, high);
  }

  /// A value that is not taken apart: a symbol, unless it depends on a variable with a set.
  IntervalSet Opaque(const ExprNode* node) {
    PrimExpr expr = ffi::GetRef<PrimExpr>(node);
    const bool depends =
        UsesVar(expr, [&](const VarNode* var) { return set_of_(ffi::GetRef<Var>(var)).defined(); });
    return depends ? IntervalSet::Everything() : IntervalSet::SinglePoint(expr);
  }

  template <typename Node>
  IntervalSet Combine(BinaryKind kind, const Node* node) {
    IntervalSet a = VisitExpr(node->a), b = VisitExpr(node->b);
    if (a->IsEmpty()) return a;
    if (b->IsEmpty()) return b;
    if (a->IsSinglePoint() && b->IsSinglePoint()) {
      PrimExpr expr = ffi::GetRef<PrimExpr>(node);
      if (a->min_value.same_as(node->a) && b->min_value.same_as(node->b)) {
        return IntervalSet::SinglePoint(expr);
      }
      if (a->IsEverything() || b->IsEverything()) return IntervalSet::Everything();
    }
    if (IsCompare(kind) || kind == BinaryKind::kAnd || kind == BinaryKind::kOr) {
      return IntervalSet(IntImm::Bool(false), IntImm::Bool(true));
    }
    const DataType dtype = node->dtype().element_of();
    const bool wraps = !dtype.is_int() || dtype.bits() < 32;
    const bool may_leave = kind == BinaryKind::kAdd || kind == BinaryKind::kSub ||
                           kind == BinaryKind::kMul || kind == BinaryKind::kDiv ||
                           kind == BinaryKind::kFloorDiv;
    // Ends of types that wrap around by definition do not bound what lies between.
    if (wraps && may_leave) return Opaque(node);
    return CombineIntervals(analyzer_, kind, a, b, dtype);
  }

  Analyzer analyzer_;
  SetOf set_of_;
  int depth_ = 0;
};

IntSet EvalWith(const PrimExpr& expr, const Analyzer& analyzer, SetEvaluator::SetOf set_of) {
  return SetEvaluator(analyzer, std::move(set_of)).Eval(expr);
}

SetEvaluator::SetOf FromMap(const ffi::Map<Var, IntSet>& dom_map) {
  return [&dom_map](const Var& var) {
    auto it = dom_map.find(var);
    return it == dom_map.end() ? IntSet() : (*it).second;
  };
}

}  // namespace

IntSet EvalSet(const PrimExpr& expr, const ffi::Map<Var, IntSet>& dom_map,
               const Analyzer& analyzer) {
  return EvalWith(analyzer->Simplify(expr), analyzer, FromMap(dom_map));
}

IntSet EvalSet(const PrimExpr& expr, const ffi::Map<Var, IntSet>& dom_map) {
  return EvalSet(expr, dom_map, Analyzer());
}

IntSet EvalSet(const PrimExpr& expr, const IntSetMap& dom_map) {
  Analyzer analyzer;
  return EvalWith(analyzer->Simplify(expr), analyzer, [&dom_map](const Var& var) {
    auto it = dom_map.find(var);
    return it == dom_map.end() ? IntSet() : it->second;
  });
}

namespace {

/// Covers [min, min + extent - 1] while variables run over their sets.
IntSet EvalRange(const Range& range, const ffi::Map<Var, IntSet>& dom_map,
                 const Analyzer& analyzer) {
  PrimExpr last = range->min + (range->extent - make_const(range->extent.dtype(), 1));
  IntSet low = EvalSet(range->min, dom_map, analyzer);
  if (is_one(range->extent)) return low;
  IntSet high = EvalSet(last, dom_map, analyzer);
  return IntSet::Interval(low.min(), high.max());
}

}  // namespace

IntSet EvalSet(const Range& range, const ffi::Map<Var, IntSet>& dom_map) {
  return EvalRange(range, dom_map, Analyzer());
}

ffi::Array<IntSet> EvalSet(const ffi::Array<Range>& region, const ffi::Map<Var, IntSet>& dom_map) {
  Analyzer analyzer;
  ffi::Array<IntSet> sets;
  for (const Range& range : region) sets.push_back(EvalRange(range, dom_map, analyzer));
  return sets;
}

ffi::Map<Var, IntSet> AsIntSet(const ffi::Map<Var, Range>& ranges) {
  ffi::Map<Var, IntSet> sets;
  for (const auto& [var, range] : ranges) sets.Set(var, IntSet::FromRange(range));
  return sets;
}

IntSet Union(const ffi::Array<IntSet>& sets) {
  if (sets.empty()) return IntSet::Nothing();
  Analyzer analyzer;
  IntervalSet total = ToInterval(sets[0]);
  for (size_t i = 1; i < sets.size(); ++i) {
    total = UnionIntervals(analyzer, total, ToInterval(sets[i]));
  }
  return total;
}

IntSet UnionLowerBound(const ffi::Array<IntSet>& sets) {
  if (sets.empty()) return IntSet::Nothing();
  Analyzer analyzer;
  IntervalSet total = ToInterval(sets[0]);
  for (size_t i = 1; i < sets.size(); ++i) {
    IntervalSet next = ToInterval(sets[i]);
    if (total->IsEmpty() || next->IsEverything()) {
      total = next;
      continue;
    }
    if (next->IsEmpty() || total->IsEverything()) continue;
    // Two intervals that touch are one interval, nothing in between is added.
    auto reaches = [&](const IntervalSet& a, const IntervalSet& b) {
      if (is_neg_inf(b->min_value) || is_pos_inf(a->max_value)) return true;
      if (is_pos_inf(b->min_value) || is_neg_inf(a->max_value)) return false;
      return analyzer->CanProve(b->min_value <= a->max_value + make_const(a->max_value.dtype(), 1));
    };
    if (reaches(total, next) && reaches(next, total)) {
      total = UnionIntervals(analyzer, total, next);
    }
  }
  return total;
}

IntSet Intersect(const ffi::Array<IntSet>& sets) {
  if (sets.empty()) return IntSet::Nothing();
  Analyzer analyzer;
  IntervalSet total = ToInterval(sets[0]);
  for (size_t i = 1; i < sets.size(); ++i) {
    total = IntersectIntervals(analyzer, total, ToInterval(sets[i]));
  }
  return total;
}

namespace {

template <typename F>
ffi::Array<IntSet> JoinRegions(const ffi::Array<ffi::Array<IntSet>>& regions, F join) {
  if (regions.empty()) return {};
  ffi::Array<IntSet> result;
  for (size_t dim = 0; dim < regions[0].size(); ++dim) {
    ffi::Array<IntSet> sets;
    for (const ffi::Array<IntSet>& region : regions) {
      TVM_FFI_CHECK(region.size() == regions[0].size(), ValueError)
          << "union of regions of " << region.size() << " and " << regions[0].size()
          << " dimensions";
      sets.push_back(region[dim]);
    }
    result.push_back(join(sets));
  }
  return result;
}

}  // namespace

ffi::Array<IntSet> UnionRegion(const ffi::Array<ffi::Array<IntSet>>& regions) {
  return JoinRegions(regions, [](const ffi::Array<IntSet>& sets) { return Union(sets); });
}

ffi::Array<IntSet> UnionRegionLowerBound(const ffi::Array<ffi::Array<IntSet>>& regions) {
  return JoinRegions(regions, [](const ffi::Array<IntSet>& sets) { return UnionLowerBound(sets); });
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  IntervalSetNode::RegisterReflection();
  refl::TypeAttrDef<IntervalSetNode>().def(
      "__ffi_repr__", [](const IntervalSet& set, const ffi::Function&) -> ffi::String {
        return "IntervalSet[" + std::string(DebugText(set->min_value)) + ", " +
               std::string(DebugText(set->max_value)) + "]";
      });
  refl::GlobalDef()
      .def("arith.IntervalSet", [](PrimExpr lo, PrimExpr hi) { return IntervalSet(lo, hi); })
      .def("arith.intset_single_point", [](PrimExpr p) { return IntSet::SinglePoint(p); })
      .def("arith.intset_vector", [](PrimExpr v) { return IntSet::Vector(v); })
      .def("arith.intset_interval",
           [](PrimExpr lo, PrimExpr hi) { return IntSet::Interval(lo, hi); })
      .def("arith.IntervalSetGetMin", [](const IntSet& set) { return set.min(); })
      .def("arith.IntervalSetGetMax", [](const IntSet& set) { return set.max(); })
      .def("arith.IntSetIsNothing", [](const IntSet& set) { return set.IsNothing(); })
      .def("arith.IntSetIsEverything", [](const IntSet& set) { return set.IsEverything(); })
      .def("arith.PosInf", []() { return pos_inf(); })
      .def("arith.NegInf", []() { return neg_inf(); })
      .def("arith.UnionLowerBound", UnionLowerBound)
      .def("arith.EvalSet",
           [](PrimExpr expr, ffi::Map<Var, IntSet> sets) { return EvalSet(expr, sets); });
}

}  // namespace tvm::arith
