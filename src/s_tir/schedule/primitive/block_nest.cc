// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "s_tir/schedule/primitive/block_nest.h"

#include <algorithm>

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)
using arith::Analyzer;

namespace {

/// The largest value an extent can have, if that is a number.
PrimExpr ConstantExtent(const PrimExpr& extent, const Analyzer& analyzer) {
  if (is_const_int(extent)) return extent;
  int64_t high = analyzer->GetConstIntBound(extent)->max_value;
  // Symbolic extents have no useful bound; those of tiles are small.
  if (high >= INT32_MAX || high < 0) return extent;
  return make_const(extent.dtype(), high);
}

struct BoundVar {
  PrimExpr low, extent;
  bool whole = false;
};

BoundVar BindVar(const IterVar& iter, const std::optional<VarBounds>& bounds,
                 const Analyzer& analyzer) {
  BoundVar whole{iter->dom->min, iter->dom->extent, true};
  if (!bounds.has_value()) return whole;
  DataType dtype = iter->var->dtype();
  PrimExpr low = analyzer->Simplify(cast(dtype, bounds->low));
  PrimExpr extent = analyzer->Simplify(cast(dtype, bounds->high) - low + make_const(dtype, 1));
  extent = ConstantExtent(extent, analyzer);
  if (analyzer->CanProve(extent >= iter->dom->extent)) return whole;
  return {low, extent, false};
}

}  // namespace

Stmt MakeBlockNest(const SBlock& block, const BlockBounds& bounds, bool preserve_unit_loops,
                   const Analyzer& outer_analyzer) {
  Analyzer analyzer = outer_analyzer.Clone();
  std::vector<Var> vars;
  std::vector<Range> ranges;
  ffi::Array<PrimExpr> values;
  PrimExpr predicate = Bool(true);
  for (size_t i = 0; i < block->iter_vars.size(); ++i) {
    const IterVar& iter = block->iter_vars[i];
    const BoundVar bound = BindVar(iter, bounds[i], analyzer);
    PrimExpr value = bound.low;
    if (preserve_unit_loops || !is_one(bound.extent)) {
      DataType dtype = iter->var->dtype();
      Var var("ax" + std::to_string(vars.size()), dtype);
      Range range = Range::FromMinExtent(make_zero(dtype), cast(dtype, bound.extent));
      analyzer->Bind(var, range);
      // A loop of one iteration must stay visible in the binding.
      value = is_zero(bound.low) ? PrimExpr(var) : bound.low + var;
      vars.push_back(var);
      ranges.push_back(range);
    }
    values.push_back(value);
    if (bound.whole) continue;
    PrimExpr end = iter->dom->min + iter->dom->extent;
    if (!analyzer->CanProve(value >= iter->dom->min)) {
      predicate = Conjoin(predicate, value >= iter->dom->min);
    }
    if (!analyzer->CanProve(value < end)) predicate = Conjoin(predicate, value < end);
  }
  return NestLoops(vars, ranges, SBlockRealize(values, predicate, block));
}

namespace {

/// index = sum of coefficient * variable + rest, with the variables of `domains`.
struct Linear {
  std::vector<std::pair<Var, int64_t>> terms;
  PrimExpr rest;
};

bool Collect(const PrimExpr& expr, int64_t scale, const ffi::Map<Var, Range>& domains,
             Linear* linear) {
  auto uses = [&](const PrimExpr& e) {
    return UsesVar(e, [&](const VarNode* v) { return domains.count(ffi::GetRef<Var>(v)) != 0; });
  };
  if (!uses(expr)) {
    linear->rest = linear->rest + expr * make_const(expr.dtype(), scale);
    return true;
  }
  if (auto var = expr.as<Var>()) {
    for (auto& [known, coefficient] : linear->terms) {
      if (known.same_as(*var)) {
        coefficient += scale;
        return true;
      }
    }
    linear->terms.emplace_back(*var, scale);
    return true;
  }
  if (const auto* op = expr.as<AddNode>()) {
    return Collect(op->a, scale, domains, linear) && Collect(op->b, scale, domains, linear);
  }
  if (const auto* op = expr.as<SubNode>()) {
    return Collect(op->a, scale, domains, linear) && Collect(op->b, -scale, domains, linear);
  }
  if (const auto* op = expr.as<MulNode>()) {
    if (const int64_t* c = as_const_int(op->b)) return Collect(op->a, scale * *c, domains, linear);
    if (const int64_t* c = as_const_int(op->a)) return Collect(op->b, scale * *c, domains, linear);
  }
  if (const auto* op = expr.as<CastNode>()) {
    if (expr.dtype().is_int() && op->value.dtype().is_int()) {
      return Collect(op->value, scale, domains, linear);
    }
  }
  return false;
}

/// What the other terms of a linear index can add up to.
VarBounds OthersRange(const Linear& linear, size_t skip, const ffi::Map<Var, Range>& domains,
                      DataType dtype) {
  VarBounds result{make_zero(dtype), make_zero(dtype)};
  for (size_t i = 0; i < linear.terms.size(); ++i) {
    if (i == skip) continue;
    const auto& [var, coefficient] = linear.terms[i];
    Range domain = domains[var];
    PrimExpr c = make_const(dtype, coefficient);
    PrimExpr at_min = cast(dtype, domain->min) * c;
    PrimExpr at_max = cast(dtype, domain->min + domain->extent - 1) * c;
    result.low = result.low + (coefficient > 0 ? at_min : at_max);
    result.high = result.high + (coefficient > 0 ? at_max : at_min);
  }
  return result;
}

}  // namespace

std::vector<IndexSolution> SolveIndex(const PrimExpr& index, const PrimExpr& extent,
                                      const VarBounds& target, const ffi::Map<Var, Range>& domains,
                                      const Analyzer& analyzer) {
  std::vector<IndexSolution> result;
  const DataType dtype = index.dtype();
  if (const auto* div = index.as<FloorDivNode>()) {
    // floordiv(e, c) in [low, high]  <=>  e in [low * c, high * c + c - 1]
    const int64_t* c = as_const_int(div->b);
    if (c == nullptr || *c <= 0 || !is_one(extent)) return result;
    PrimExpr factor = make_const(dtype, *c);
    return SolveIndex(div->a, extent,
                      {target.low * factor, target.high * factor + make_const(dtype, *c - 1)},
                      domains, analyzer);
  }
  Linear linear{{}, make_zero(dtype)};
  if (!Collect(index, 1, domains, &linear)) return result;
  for (size_t i = 0; i < linear.terms.size(); ++i) {
    const auto& [var, c] = linear.terms[i];
    if (c <= 0) continue;
    VarBounds others = OthersRange(linear, i, domains, dtype);
    // touches: c v + others.high + rest + extent - 1 >= low, c v + others.low + rest <= high
    PrimExpr low = target.low - linear.rest - others.high - (cast(dtype, extent) - 1);
    PrimExpr high = target.high - linear.rest - others.low;
    PrimExpr step = make_const(dtype, c);
    const bool point = linear.terms.size() == 1 && is_one(extent);
    low = c == 1 ? low : floordiv(low + step - 1, step);
    high = c == 1 ? high : floordiv(high, step);
    result.push_back({var, {analyzer->Simplify(low), analyzer->Simplify(high)}, point});
  }
  return result;
}

InsertRange PositionsBetween(const State& state, const StmtSRef& block, const StmtSRef& loop,
                             const ffi::Array<StmtSRef>& before,
                             const ffi::Array<StmtSRef>& after) {
  ffi::Array<Stmt> members = StmtsOf(BodyOf(loop));
  auto position = [&](const StmtSRef& other) -> int64_t {
    if (!Encloses(loop, other) || other.same_as(block)) return -1;
    Stmt member = MemberTowards(state, loop, other);
    for (size_t i = 0; i < members.size(); ++i) {
      if (members[i].same_as(member)) return static_cast<int64_t>(i);
    }
    TVM_FFI_THROW(InternalError) << "a block is in no member of its loop's body";
    TVM_FFI_UNREACHABLE();
  };
  InsertRange range{0, static_cast<int64_t>(members.size())};
  for (const StmtSRef& other : before) range.first = std::max(range.first, position(other) + 1);
  for (const StmtSRef& other : after) {
    if (int64_t at = position(other); at >= 0) range.last = std::min(range.last, at);
  }
  SCHEDULE_CHECK(range.first <= range.last, block, loop)
      << "There is no place in the loop {1} that comes after all producers and before all "
         "consumers of the block {0}";
  return range;
}

int64_t ChoosePosition(const StmtSRef& block, const StmtSRef& loop, const InsertRange& range,
                       int64_t index) {
  if (index == -1) return range.last;
  if (index == -2) return range.first;
  SCHEDULE_CHECK(index >= range.first && index <= range.last, block, loop)
      << "The block {0} can be put at the positions " << range.first << " to " << range.last
      << " of the loop {1}, but index is " << index;
  return index;
}

void MoveBlock(State* state, const StmtSRef& block, const StmtSRef& scope_root,
               const StmtSRef& loop, const Stmt& nest, int64_t position) {
  ffi::Array<Stmt> members = StmtsOf(BodyOf(loop));
  ffi::Array<Stmt> seq(members.begin(), members.begin() + position);
  seq.push_back(nest);
  for (size_t i = static_cast<size_t>(position); i < members.size(); ++i) {
    seq.push_back(members[i]);
  }
  For old_loop = Downcast<For>(loop->stmt.value());
  For new_loop = old_loop;
  new_loop.CopyOnWrite()->body = SeqStmt::Flatten(seq);
  Removal removal = PlanRemoval(*state, block, scope_root);
  SBlock root = Downcast<SBlock>(scope_root->stmt.value());
  BlockReuse reuse;
  Stmt body = ReplaceStmt(root->body, old_loop.get(), new_loop, &reuse);
  body = ReplaceStmt(body, removal.what.get(), Stmt(), &reuse);
  SBlock changed = WithBody(root, body);
  reuse.Set(root, changed);
  state->Replace(scope_root, changed, reuse);
}

}  // namespace s_tir
}  // namespace tvm
