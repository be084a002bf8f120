// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "kernels/epilogue.h"

#include <tvm/ir/expr_functor.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>

#include <algorithm>
#include <array>

#include "kernels/names.h"

namespace tvm {
namespace kernels {

namespace {

/// The iteration v of the indices (.., v // extent, v % extent, ..) at `i`, which a reshape of the
/// anchor leaves; null when they are something else.
const VarNode* SplitIteration(const BufferLoadNode* load, size_t i) {
  if (i + 1 >= load->indices.size()) return nullptr;
  const auto* quotient = load->indices[i].as<tirx::FloorDivNode>();
  const auto* rest = load->indices[i + 1].as<tirx::FloorModNode>();
  if (quotient == nullptr || rest == nullptr) return nullptr;
  const auto* var = quotient->a.as<VarNode>();
  const int64_t* extent = as_const_int(load->buffer.shape()[i + 1]);
  const bool same = var != nullptr && var == rest->a.as<VarNode>() && extent != nullptr &&
                    is_const_int(quotient->b, *extent) && is_const_int(rest->b, *extent);
  return same ? var : nullptr;
}

}  // namespace

std::optional<Epilogue> ReadEpilogue(const Group& group, std::string* why) {
  const Stage& anchor = group.stages[group.anchor];
  const Stage& last = group.stages.back();
  auto decline = [&](const char* reason) {
    *why = reason;
    return std::nullopt;
  };
  if (&anchor == &last) return Epilogue{&last, PrimExpr(), anchor.indices};
  for (size_t i = group.anchor + 1; i < group.stages.size(); ++i) {
    if (!group.stages[i].reduce.empty()) return decline("a reduction after the anchor");
    if (i + 1 < group.stages.size() && group.IsParam(group.stages[i].output)) {
      return decline("several outputs");
    }
  }
  if (group.IsParam(anchor.output)) return decline("the anchor is an output and is read again");
  PrimExpr value =
      InlineProducers(group, last.value, static_cast<int>(group.stages.size()), {anchor.output});
  Map<Var, PrimExpr> iters;  // iterations of the output in terms of the anchor's
  const BufferLoadNode* first = nullptr;
  bool same = true;
  PostOrderVisitExpr(value, [&](const Expr& node) {
    const auto* load = node.as<BufferLoadNode>();
    if (load == nullptr || !load->buffer.same_as(anchor.output)) return;
    if (first == nullptr) first = load;
    for (size_t i = 0; i < load->indices.size(); ++i) {
      same = same && ExprDeepEqual()(load->indices[i], first->indices[i]);
    }
  });
  if (first == nullptr || !same) return decline("the epilogue reads the anchor at several places");
  for (size_t i = 0; i < first->indices.size(); ++i) {
    const auto* position = anchor.indices[i].as<VarNode>();
    if (is_zero(first->indices[i])) continue;
    const VarNode* split = SplitIteration(first, i);
    const auto* var = split != nullptr ? split : first->indices[i].as<VarNode>();
    if (var == nullptr || position == nullptr || iters.count(ffi::GetRef<Var>(var))) {
      return decline("the epilogue permutes the anchor in another way");
    }
    PrimExpr value_of_var = ffi::GetRef<Var>(position);
    if (split != nullptr) {
      const PrimExpr extent = first->buffer.shape()[++i];
      value_of_var = value_of_var * extent + anchor.indices[i];
    }
    iters.Set(ffi::GetRef<Var>(var), value_of_var);
  }
  for (const Iter& iter : last.spatial) {
    if (iters.count(iter.var)) continue;
    if (iter.extent != 1) return decline("the epilogue broadcasts the anchor");
    iters.Set(iter.var, Index(0));
  }
  return Epilogue{&last, Substitute(value, iters), last.indices.Map([&](const PrimExpr& index) {
                    return Substitute(index, iters);
                  })};
}

PrimExpr TakeStart(const tirx::Buffer& sum, const std::vector<Iter>& rows, Epilogue* epilogue) {
  class Taker : public ExprMutator {
   public:
    Taker(const tirx::Buffer& sum, const std::vector<Iter>& rows) : sum_(sum), rows_(rows) {}
    PrimExpr term;
    bool elsewhere = false;  // the sum is also read without the term

   private:
    bool IsSum(const PrimExpr& expr) const {
      const auto* load = expr.as<BufferLoadNode>();
      return load != nullptr && load->buffer.same_as(sum_);
    }
    bool IsTerm(const PrimExpr& expr) const {
      if (term.defined()) return ExprDeepEqual()(expr, term);
      for (const Iter& row : rows_) {
        if (UsesVar(expr, row.var)) return false;
      }
      for (const tirx::Buffer& buffer : ReadBuffers(expr)) {
        if (buffer.same_as(sum_)) return false;
      }
      return true;
    }
    Expr VisitExpr_(const tirx::AddNode* op) final {
      const bool left = IsSum(op->a);
      const PrimExpr other = left ? op->b : op->a;
      if ((!left && !IsSum(op->b)) || !IsTerm(other)) return ExprMutator::VisitExpr_(op);
      term = other;
      return left ? op->a : op->b;
    }
    Expr VisitExpr_(const BufferLoadNode* op) final {
      elsewhere = elsewhere || op->buffer.same_as(sum_);
      return ExprMutator::VisitExpr_(op);
    }
    const tirx::Buffer& sum_;
    const std::vector<Iter>& rows_;
  };
  if (!epilogue->value.defined()) return PrimExpr();
  Taker taker(sum, rows);
  const PrimExpr rest(taker(epilogue->value));
  if (!taker.term.defined() || taker.elsewhere) return PrimExpr();
  epilogue->value = rest;
  return taker.term;
}

int64_t EpilogueSteps(const PrimExpr& value) {
  constexpr int64_t kFunction = 20;  // a polynomial and what prepares its argument
  // Calls that are an instruction or less.
  static const std::array kInstructions{
      tirx::builtin::if_then_else(), tirx::builtin::fma(),  tirx::builtin::reinterpret(),
      Op::Get("tirx.nearbyint"),     Op::Get("tirx.floor"), Op::Get("tirx.ceil"),
      Op::Get("tirx.trunc"),         Op::Get("tirx.fabs"),  Op::Get("tirx.sqrt")};
  if (!value.defined()) return 0;
  int64_t steps = 0;
  PostOrderVisitExpr(value, [&](const Expr& node) {
    const auto* call = node.as<CallNode>();
    if (call != nullptr) {
      const bool plain = std::any_of(kInstructions.begin(), kInstructions.end(),
                                     [&](const Op& op) { return call->op.same_as(op); });
      steps += plain ? 1 : kFunction;
    } else if (!node.as<VarNode>() && !node.as<IntImmNode>() && !node.as<FloatImmNode>() &&
               !node.as<OpNode>()) {
      ++steps;
    }
  });
  return steps;
}

}  // namespace kernels
}  // namespace tvm
