// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Uses of detected iteration maps: back to expressions, inverse, division into subspaces, regions.
#include <tvm/arith/iter_affine_map.h>
#include <tvm/arith/pattern.h>
#include <tvm/ffi/error.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "arith/interval_set.h"

namespace tvm::arith {

using namespace tirx;  // NOLINT(build/namespaces): the scalar nodes

namespace {

class ExprNormalizer {
 public:
  PrimExpr Convert(const PrimExpr& expr) {
    if (const auto* sum = expr.as<IterSumExprNode>()) return ConvertSum(sum);
    if (const auto* split = expr.as<IterSplitExprNode>()) return ConvertSplit(split);
    return expr;
  }

 private:
  PrimExpr ConvertSum(const IterSumExprNode* sum) {
    PrimExpr result;
    for (const IterSplitExpr& arg : sum->args) {
      PrimExpr term = ConvertSplit(arg.get());
      result = result.defined() ? result + term : term;
    }
    if (!result.defined()) return sum->base;
    return is_zero(sum->base) ? result : result + sum->base;
  }

  PrimExpr ConvertSplit(const IterSplitExprNode* split) {
    PrimExpr source = Convert(split->source->source);
    PrimExpr result = is_one(split->lower_factor) ? source : floordiv(source, split->lower_factor);
    // The topmost part needs no remainder.
    const bool topmost =
        analyzer_->CanProve(split->source->extent <= split->lower_factor * split->extent);
    if (!topmost) result = floormod(result, split->extent);
    return is_one(split->scale) ? result : result * split->scale;
  }

  Analyzer analyzer_;
};

}  // namespace

PrimExpr NormalizeIterMapToExpr(const PrimExpr& expr) { return ExprNormalizer().Convert(expr); }

ffi::Array<PrimExpr> IterMapSimplify(const ffi::Array<PrimExpr>& indices,
                                     const ffi::Map<Var, Range>& input_iters,
                                     const PrimExpr& input_pred, IterMapLevel check_level,
                                     const Analyzer& analyzer, bool simplify_trivial_iterators) {
  IterMapResult detected = DetectIterMap(indices, input_iters, input_pred, check_level, analyzer,
                                         simplify_trivial_iterators);
  const bool padded = !is_const_int(detected->padding_predicate, 0);
  Analyzer bound = analyzer.Clone();
  bound->Bind(input_iters, /*allow_override=*/true);
  if (detected->indices.empty() || padded) {
    // Each index on its own may still be one.
    ffi::Array<PrimExpr> result;
    for (const PrimExpr& index : indices) {
      IterMapResult one = DetectIterMap({index}, input_iters, const_true(), check_level, analyzer,
                                        simplify_trivial_iterators);
      const bool usable = !one->indices.empty() && is_const_int(one->padding_predicate, 0);
      result.push_back(bound->Simplify(usable ? NormalizeIterMapToExpr(one->indices[0]) : index));
    }
    return result;
  }
  ffi::Array<PrimExpr> result;
  for (const IterSumExpr& sum : detected->indices) {
    result.push_back(bound->Simplify(NormalizeIterMapToExpr(sum)));
  }
  return result;
}

// ---------------------------------------------------------------------------------------------
// Inverse

namespace {

/// Marks so that each comes before the marks it is made of.
std::vector<IterMark> TopDown(const ffi::Array<IterSumExpr>& sums) {
  std::vector<IterMark> order;
  std::unordered_set<const IterMarkNode*> seen;
  std::function<void(const IterMark&)> visit = [&](const IterMark& mark) {
    if (!seen.insert(mark.get()).second) return;
    if (const auto* sum = mark->source.as<IterSumExprNode>()) {
      for (const IterSplitExpr& arg : sum->args) visit(arg->source);
    }
    order.push_back(mark);
  };
  for (const IterSumExpr& sum : sums) {
    for (const IterSplitExpr& arg : sum->args) visit(arg->source);
  }
  std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace

ffi::Map<Var, PrimExpr> InverseAffineIterMap(const ffi::Array<IterSumExpr>& iter_map,
                                             const ffi::Array<PrimExpr>& outputs) {
  TVM_FFI_CHECK(iter_map.size() == outputs.size(), ValueError)
      << "inverse of a map with " << iter_map.size() << " indices needs as many outputs, found "
      << outputs.size();
  Analyzer analyzer;
  std::unordered_map<const IterMarkNode*, PrimExpr> value_of;
  auto contribute = [&](const IterSplitExpr& split, const PrimExpr& value) {
    PrimExpr part = analyzer->Simplify(value * split->lower_factor);
    PrimExpr& total = value_of[split->source.get()];
    total = total.defined() ? analyzer->Simplify(total + part) : part;
  };
  // Values of the splits of a sum, from the value of the sum: outer scale first.
  auto distribute = [&](const ffi::Array<IterSplitExpr>& args, const PrimExpr& value) {
    std::vector<IterSplitExpr> sorted(args.begin(), args.end());
    for (size_t i = 0; i < sorted.size(); ++i) {
      PrimExpr digit = value;
      if (!is_one(sorted[i]->scale)) digit = floordiv(digit, sorted[i]->scale);
      if (sorted.size() > 1 && i > 0) digit = floormod(digit, sorted[i]->extent);
      contribute(sorted[i], analyzer->Simplify(digit));
    }
  };
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (iter_map[i]->args.empty()) continue;
    PrimExpr value = analyzer->Simplify(outputs[i] - iter_map[i]->base);
    distribute(iter_map[i]->args, value);
  }
  ffi::Map<Var, PrimExpr> inverse;
  for (const IterMark& mark : TopDown(iter_map)) {
    PrimExpr value = value_of.at(mark.get());
    if (const auto* sum = mark->source.as<IterSumExprNode>()) {
      distribute(sum->args, analyzer->Simplify(value - sum->base));
    } else if (auto var = mark->source.as<Var>()) {
      inverse.Set(*var, value);
    } else if (const auto* sub = mark->source.as<SubNode>()) {
      // The iterator counts from the start of its range: var - min.
      auto shifted = sub->a.as<Var>();
      TVM_FFI_ICHECK(shifted.has_value()) << "unexpected source of an iterator";
      inverse.Set(*shifted, analyzer->Simplify(value + sub->b));
    } else if (const auto* add = mark->source.as<AddNode>()) {
      auto shifted = add->a.as<Var>();
      TVM_FFI_ICHECK(shifted.has_value()) << "unexpected source of an iterator";
      inverse.Set(*shifted, analyzer->Simplify(value - add->b));
    } else {
      TVM_FFI_THROW(InternalError) << "unexpected source of an iterator: " << Expr(mark->source);
    }
  }
  return inverse;
}

// ---------------------------------------------------------------------------------------------
// Subspaces

namespace {

/// Divides iterators into an outer part and an inner part over given variables.
class SubspaceDivider {
 public:
  SubspaceDivider(const ffi::Array<Var>& sub_iters, Analyzer analyzer)
      : analyzer_(std::move(analyzer)) {
    for (const Var& var : sub_iters) inner_vars_.insert(var.get());
  }

  struct Division {
    IterMark outer, inner;
  };

  std::optional<Division> Divide(const IterSumExpr& index) {
    const DataType dtype = index.dtype();
    if (index->args.empty()) {
      return Division{IterMark(IterSumExpr({}, index->base), One(dtype)), Unit(dtype)};
    }
    if (index->args.size() != 1) return std::nullopt;
    const IterSplitExpr& split = index->args[0];
    const PrimExpr& whole = index;
    switch (KindOf(split->source)) {
      case Kind::kOuter:
        return Division{IterMark(whole, split->extent), Unit(dtype)};
      case Kind::kInner:
        return Division{Unit(dtype), IterMark(whole, split->extent)};
      case Kind::kMixed:
        return DivideFused(index, split);
    }
    return std::nullopt;
  }

 private:
  enum class Kind { kInner, kOuter, kMixed };

  static PrimExpr One(DataType dtype) { return make_const(dtype, 1); }
  static IterMark Unit(DataType dtype) {
    return IterMark(IterSumExpr({}, make_zero(dtype)), One(dtype));
  }

  Kind KindOf(const IterMark& mark) {
    bool inner = false, outer = false;
    std::function<void(const PrimExpr&)> visit = [&](const PrimExpr& source) {
      if (const auto* sum = source.as<IterSumExprNode>()) {
        for (const IterSplitExpr& arg : sum->args) visit(arg->source->source);
        return;
      }
      for (const Var& var : FreeVars(source)) {
        (inner_vars_.count(var.get()) != 0 ? inner : outer) = true;
      }
    };
    visit(mark->source);
    if (inner && outer) return Kind::kMixed;
    return inner ? Kind::kInner : Kind::kOuter;
  }

  std::optional<Division> DivideFused(const IterSumExpr& index, const IterSplitExpr& split) {
    const DataType dtype = index.dtype();
    const auto* sum = split->source->source.as<IterSumExprNode>();
    // Only a whole fused iterator: outer parts first, then inner ones.
    if (sum == nullptr || !is_one(split->lower_factor) ||
        !analyzer_->CanProveEqual(split->extent, split->source->extent)) {
      return std::nullopt;
    }
    ffi::Array<IterSplitExpr> outer_args, inner_args;
    PrimExpr outer_extent = One(dtype), inner_extent = One(dtype);
    for (const IterSplitExpr& arg : sum->args) {
      Kind kind = KindOf(arg->source);
      if (kind == Kind::kMixed) return std::nullopt;
      if (kind == Kind::kOuter) {
        if (!inner_args.empty()) return std::nullopt;
        outer_args.push_back(arg);
        outer_extent = analyzer_->Simplify(outer_extent * arg->extent);
      } else {
        inner_args.push_back(arg);
        inner_extent = analyzer_->Simplify(inner_extent * arg->extent);
      }
    }
    // An extent cut by a predicate spans both parts and cannot be divided.
    if (!analyzer_->CanProveEqual(split->source->extent, outer_extent * inner_extent)) {
      return std::nullopt;
    }
    ffi::Array<IterSplitExpr> normalized;
    for (IterSplitExpr arg : outer_args) {
      arg.CopyOnWrite()->scale = analyzer_->Simplify(floordiv(arg->scale, inner_extent));
      normalized.push_back(arg);
    }
    PrimExpr zero = make_zero(dtype);
    IterMark outer(IterSumExpr(normalized, zero), outer_extent);
    IterMark inner(IterSumExpr(inner_args, zero), inner_extent);
    PrimExpr outer_scale = analyzer_->Simplify(split->scale * inner_extent);
    return Division{
        IterMark(IterSumExpr({IterSplitExpr(outer, outer_scale)}, index->base), outer_extent),
        IterMark(IterSumExpr({IterSplitExpr(inner, split->scale)}, zero), inner_extent)};
  }

  Analyzer analyzer_;
  std::unordered_set<const VarNode*> inner_vars_;
};

}  // namespace

ffi::Array<ffi::Array<IterMark>> SubspaceDivide(const ffi::Array<PrimExpr>& bindings,
                                                const ffi::Map<Var, Range>& input_iters,
                                                const ffi::Array<Var>& sub_iters,
                                                const PrimExpr& predicate, IterMapLevel check_level,
                                                const Analyzer& analyzer,
                                                bool simplify_trivial_iterators) {
  IterMapResult detected = DetectIterMap(bindings, input_iters, predicate, check_level, analyzer,
                                         simplify_trivial_iterators);
  if (detected->indices.empty() && !bindings.empty()) return {};
  SubspaceDivider divider(sub_iters, analyzer);
  ffi::Array<ffi::Array<IterMark>> results;
  for (const IterSumExpr& index : detected->indices) {
    auto division = divider.Divide(index);
    if (!division) return {};
    results.push_back({division->outer, division->inner});
  }
  // The predicate: conditions on outer variables only, and the others.
  std::unordered_set<const VarNode*> inner;
  for (const Var& var : sub_iters) inner.insert(var.get());
  PrimExpr outer_pred = const_true(), inner_pred = const_true();
  std::vector<PrimExpr> stack;
  if (predicate.defined()) stack.push_back(predicate);
  while (!stack.empty()) {
    PrimExpr cond = stack.back();
    stack.pop_back();
    if (const auto* both = cond.as<AndNode>()) {
      stack.push_back(both->b);
      stack.push_back(both->a);
      continue;
    }
    bool uses_inner = false, uses_outer = false;
    for (const Var& var : FreeVars(cond)) {
      (inner.count(var.get()) != 0 ? uses_inner : uses_outer) = true;
    }
    if (uses_inner && uses_outer) return {};
    PrimExpr& target = uses_inner ? inner_pred : outer_pred;
    target = target && cond;
  }
  PrimExpr one = make_const(DataType::Int(32), 1);
  results.push_back(
      {IterMark(IterSumExpr({}, outer_pred), one), IterMark(IterSumExpr({}, inner_pred), one)});
  return results;
}

// ---------------------------------------------------------------------------------------------
// Regions

namespace {

/// Values that scale * i + base + [0, extent) takes for i in [0, n), when they have no gaps.
std::optional<IntSet> RegionOfSum(const IterSumExpr& sum, const PrimExpr& extent,
                                  const Analyzer& analyzer) {
  const DataType dtype = sum.dtype();
  if (sum->args.empty()) return IntSet::FromMinExtent(sum->base, extent);
  if (sum->args.size() != 1) return std::nullopt;
  const IterSplitExpr& split = sum->args[0];
  if (!analyzer->CanProve(split->scale <= extent) ||
      !analyzer->CanProveGreaterEqual(split->scale, 1)) {
    return std::nullopt;
  }
  PrimExpr one = make_const(dtype, 1);
  PrimExpr last = sum->base + (split->extent - one) * split->scale + extent - one;
  return IntSet::Interval(sum->base, analyzer->Simplify(last));
}

ffi::Optional<ffi::Array<IntSet>> RegionByIterMap(const ffi::Array<Range>& region,
                                                  const ffi::Map<Var, Range>& var_dom,
                                                  const PrimExpr& predicate,
                                                  const Analyzer& analyzer) {
  ffi::Array<PrimExpr> starts;
  for (const Range& range : region) {
    const bool varies = UsesVar(range->extent, [&](const VarNode* var) {
      return var_dom.count(ffi::GetRef<Var>(var)) != 0;
    });
    if (varies) return std::nullopt;
    starts.push_back(range->min);
  }
  IterMapResult detected = DetectIterMap(starts, var_dom, predicate, kSurjective, analyzer);
  if (detected->indices.empty() && !region.empty()) return std::nullopt;
  if (!is_const_int(detected->padding_predicate, 0)) return std::nullopt;
  ffi::Array<IntSet> sets;
  for (size_t i = 0; i < region.size(); ++i) {
    auto set = RegionOfSum(detected->indices[i], region[i]->extent, analyzer);
    if (!set) return std::nullopt;
    sets.push_back(*set);
  }
  return sets;
}

}  // namespace

ffi::Optional<ffi::Array<IntSet>> EstimateRegionStrictBound(const ffi::Array<Range>& region,
                                                            const ffi::Map<Var, Range>& var_dom,
                                                            const PrimExpr& predicate,
                                                            const Analyzer& analyzer) {
  return RegionByIterMap(region, var_dom, predicate, analyzer);
}

ffi::Optional<ffi::Array<IntSet>> EstimateRegionLowerBound(const ffi::Array<Range>& region,
                                                           const ffi::Map<Var, Range>& var_dom,
                                                           const PrimExpr& predicate,
                                                           const Analyzer& analyzer) {
  auto exact = RegionByIterMap(region, var_dom, predicate, analyzer);
  if (exact.has_value()) return exact;
  // Each dimension on its own covers what it touches, but not their product: only when one
  // dimension varies is the product the region.
  int varying = 0;
  ffi::Array<IntSet> sets;
  for (const Range& range : region) {
    const bool varies = UsesVar(
        range->min, [&](const VarNode* var) { return var_dom.count(ffi::GetRef<Var>(var)) != 0; });
    varying += varies;
    auto one = RegionByIterMap({range}, var_dom, predicate, analyzer);
    if (!one.has_value()) return std::nullopt;
    sets.push_back(one.value()[0]);
  }
  if (varying > 1) return std::nullopt;
  return sets;
}

ffi::Array<IntSet> EstimateRegionUpperBound(const ffi::Array<Range>& region,
                                            const ffi::Map<Var, Range>& var_dom,
                                            const PrimExpr& predicate, const Analyzer& analyzer) {
  auto exact = RegionByIterMap(region, var_dom, predicate, analyzer);
  if (exact.has_value()) return exact.value();
  // Bounds of single variables in the predicate narrow their domains.
  ffi::Map<Var, IntSet> domains = AsIntSet(var_dom);
  std::vector<PrimExpr> stack;
  if (predicate.defined()) stack.push_back(predicate);
  while (!stack.empty()) {
    PrimExpr cond = stack.back();
    stack.pop_back();
    if (const auto* both = cond.as<AndNode>()) {
      stack.push_back(both->a);
      stack.push_back(both->b);
      continue;
    }
    for (const auto& [var, range] : var_dom) {
      if (!UsesVar(cond, var)) continue;
      ffi::Array<PrimExpr> ends = DetectClipBound(cond, {var});
      if (ends.size() != 2) continue;
      auto is_fixed = [&](const PrimExpr& end) {
        return !UsesVar(end, [&](const VarNode* v) { return var_dom.count(ffi::GetRef<Var>(v)); });
      };
      PrimExpr low = ends[0].defined() && is_fixed(ends[0]) ? ends[0] : neg_inf();
      PrimExpr high = ends[1].defined() && is_fixed(ends[1]) ? ends[1] : pos_inf();
      IntervalSet narrowed =
          IntersectIntervals(analyzer, ToInterval(domains[var]), IntervalSet(low, high));
      if (!narrowed->IsEmpty()) domains.Set(var, narrowed);
    }
  }
  ffi::Array<IntSet> sets;
  for (const Range& range : region) {
    // One dimension may be exact where the whole region is not.
    auto one = RegionByIterMap({range}, var_dom, predicate, analyzer);
    sets.push_back(one.has_value() ? one.value()[0] : EvalSet(range, domains));
  }
  return sets;
}

}  // namespace tvm::arith
