// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "kernels/attention_match.h"

#include <tvm/ir/expr_functor.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>

#include <cmath>
#include <utility>

#include "kernels/names.h"

namespace tvm {
namespace kernels {

namespace {

/// `expr` with divisions by constants made multiplications, which cost a tenth.
PrimExpr MultiplyInstead(const PrimExpr& expr) {
  class Rewriter : public ExprMutator {
    Expr VisitExpr_(const tirx::DivNode* op) final {
      PrimExpr a(VisitExpr(op->a));
      const auto* by = op->b.as<FloatImmNode>();
      if (by == nullptr || op->dtype() != DataType::Float(32))
        return tirx::Div(a, PrimExpr(VisitExpr(op->b)));
      const auto factor = static_cast<float>(1.0 / by->value);
      if (!std::isnormal(factor)) return tirx::Div(a, op->b);
      return tirx::Mul(a, FloatImm(DataType::Float(32), factor));
    }
  };
  return PrimExpr(Rewriter()(expr));
}

/// `expr` without conversions between float32 and bfloat16. Clears `narrow` if none of it is in
/// bfloat16.
PrimExpr WithoutRounding(PrimExpr expr, bool* narrow) {
  auto known = [](DataType t) { return t == DataType::Float(32) || t == DataType::BFloat(16); };
  bool rounded = expr.dtype().is_bfloat16();
  while (const auto* cast = expr.as<tirx::CastNode>()) {
    if (!known(cast->dtype()) || !known(cast->value.dtype())) break;
    expr = cast->value;
    rounded = rounded || expr.dtype().is_bfloat16();
  }
  *narrow = *narrow && rounded;
  return expr;
}

class Matcher {
 public:
  Matcher(const Group& group, std::string* why) : group_(group), why_(why) {}

  std::optional<Attention> Match() {
    const Stage& anchor = group_.stages[group_.anchor];
    if (anchor.kind != ReduceKind::kSum || anchor.reduce.size() != 1) {
      return Decline("the anchor is no sum over one dimension");
    }
    if (anchor.output.dtype() != DataType::Float(32)) return Decline("sums are not in float32");
    PrimExpr value = InlineProducers(group_, anchor.value, group_.anchor);
    const auto* mul = value.as<tirx::MulNode>();
    if (mul == nullptr) return Decline("the summand is not a product");
    result_.key = anchor.reduce[0];
    result_.narrow_values = true;
    PrimExpr weight = WithoutRounding(mul->a, &result_.narrow_values);
    result_.v = WithoutRounding(mul->b, &result_.narrow_values);
    if (!weight.as<tirx::DivNode>()) std::swap(weight, result_.v);
    const auto* div = weight.as<tirx::DivNode>();
    if (div == nullptr) return Decline("no operand is divided by its sum");
    if (!ReadSoftmax(*div)) return std::nullopt;
    if (!ReadProduct() || !Classify(anchor)) return std::nullopt;
    for (const PrimExpr& operand : {result_.q, result_.k, result_.v}) {
      if (operand.dtype() != DataType::Float(32) && operand.dtype() != DataType::BFloat(16)) {
        return Decline("an operand is neither float32 nor bfloat16");
      }
    }
    return std::move(result_);
  }

 private:
  std::nullopt_t Decline(const char* reason) {
    *why_ = reason;
    return std::nullopt;
  }
  bool Fail(const char* reason) {
    *why_ = reason;
    return false;
  }

  /// The value of the reducing stage that `load` reads, over the key dimension of the anchor.
  std::optional<PrimExpr> ReducedOverKeys(const PrimExpr& load, ReduceKind kind) {
    const auto* node = load.as<BufferLoadNode>();
    const int writer = node == nullptr ? -1 : group_.Writer(node->buffer);
    if (writer < 0) return std::nullopt;
    const Stage& stage = group_.stages[writer];
    if (stage.kind != kind || stage.reduce.size() != 1) return std::nullopt;
    if (stage.reduce[0].extent != result_.key.extent) return std::nullopt;
    auto values = IterValues(stage, *node);
    if (!values) return std::nullopt;
    values->Set(stage.reduce[0].var, result_.key.var);
    return Substitute(InlineProducers(group_, stage.value, writer), *values);
  }

  /// The iterations of a stage at which it wrote what `load` reads.
  static std::optional<Map<Var, PrimExpr>> IterValues(const Stage& stage,
                                                      const BufferLoadNode& load) {
    Map<Var, PrimExpr> values;
    for (size_t i = 0; i < load.indices.size(); ++i) {
      const auto* var = stage.indices[i].as<VarNode>();
      if (var != nullptr) {
        values.Set(ffi::GetRef<Var>(var), load.indices[i]);
      } else if (!is_zero(stage.indices[i])) {
        return std::nullopt;
      }
    }
    return values;
  }

  /// exp(x - max) / sum of it, all of the same row.
  bool ReadSoftmax(const tirx::DivNode& div) {
    const auto* exp = div.a.as<CallNode>();
    const auto* op = exp == nullptr ? nullptr : exp->op.as<OpNode>();
    if (op == nullptr || op->name != "tirx.exp") return Fail("the dividend is no exponential");
    PrimExpr argument(exp->args[0]);
    const auto* sub = argument.as<tirx::SubNode>();
    if (sub == nullptr) return Fail("the exponential is not of a difference");
    auto sum = ReducedOverKeys(div.b, ReduceKind::kSum);
    auto max = ReducedOverKeys(sub->b, ReduceKind::kMax);
    ExprDeepEqual equal;
    if (!sum || !equal(*sum, div.a)) return Fail("the divisor is not the sum of the dividends");
    if (!max || !equal(*max, sub->a)) return Fail("what is subtracted is not the maximum");
    result_.score = sub->a;
    return true;
  }

  bool ReadProduct() {
    const BufferLoadNode* product = nullptr;
    bool one = true;
    ExprDeepEqual equal;
    PostOrderVisitExpr(result_.score, [&](const Expr& node) {
      const auto* load = node.as<BufferLoadNode>();
      if (load == nullptr || group_.Writer(load->buffer) < 0) return;
      if (product == nullptr) product = load;
      one = one && equal(ffi::GetRef<PrimExpr>(load), ffi::GetRef<PrimExpr>(product));
    });
    if (product == nullptr || !one) return Fail("the scores come from no single product");
    const int writer = group_.Writer(product->buffer);
    const Stage& stage = group_.stages[writer];
    auto values = IterValues(stage, *product);
    if (stage.kind != ReduceKind::kSum || !values || stage.output.dtype() != DataType::Float(32)) {
      return Fail("the scores come from no sum in float32");
    }
    PrimExpr value = Substitute(InlineProducers(group_, stage.value, writer), *values);
    const auto* mul = value.as<tirx::MulNode>();
    if (mul == nullptr) return Fail("the scores come from no product");
    result_.narrow_scores = true;
    result_.q = WithoutRounding(mul->a, &result_.narrow_scores);
    result_.k = WithoutRounding(mul->b, &result_.narrow_scores);
    result_.depth = stage.reduce;
    result_.product = Var("product", stage.output.dtype());
    result_.score = MultiplyInstead(ReplaceLoads(result_.score, stage.output, result_.product));
    return true;
  }

  /// Sorts the anchor's iterations, and q and k, by what uses them.
  bool Classify(const Stage& anchor) {
    for (const Iter& iter : anchor.spatial) {
      const bool in_v = UsesVar(result_.v, iter.var), in_q = UsesVar(result_.q, iter.var),
                 in_k = UsesVar(result_.k, iter.var), in_score = UsesVar(result_.score, iter.var);
      if (iter.extent == 1 || (in_v && (in_q || in_k || in_score))) {
        result_.batch.push_back(iter);
      } else if (in_v) {
        result_.cols.push_back(iter);
      } else if (in_q && in_k) {
        result_.batch.push_back(iter);
      } else {
        result_.rows.push_back(iter);
      }
    }
    if (result_.rows.size() > 1 || result_.cols.size() > 1) {
      return Fail("several row or column dimensions");
    }
    const Var& key = result_.key.var;
    auto swapped = [&] {
      if (UsesVar(result_.q, key)) return true;
      return !result_.rows.empty() && UsesVar(result_.k, result_.rows[0].var);
    };
    if (swapped()) std::swap(result_.q, result_.k);
    if (swapped()) return Fail("an operand of the scores is read by row and by key");
    for (const PrimExpr& operand : {result_.q, result_.k, result_.v}) {
      const auto* load = operand.as<BufferLoadNode>();
      if (load == nullptr || group_.Writer(load->buffer) >= 0) {
        return Fail("an operand is no plain read");
      }
    }
    return true;
  }

  const Group& group_;
  std::string* why_;
  Attention result_;
};

}  // namespace

std::optional<Attention> MatchAttention(const Group& group, std::string* why) {
  if (group.anchor < 0) {
    *why = "no anchor";
    return std::nullopt;
  }
  return Matcher(group, why).Match();
}

PrimExpr ReplaceEqual(const PrimExpr& expr, const PrimExpr& load, const PrimExpr& value) {
  class Replacer : public ExprMutator {
   public:
    Replacer(const PrimExpr& load, const PrimExpr& value) : load_(load), value_(value) {}

   private:
    Expr VisitExpr_(const BufferLoadNode* op) final {
      if (ExprDeepEqual()(ffi::GetRef<PrimExpr>(op), load_)) return value_;
      return ExprMutator::VisitExpr_(op);
    }
    const PrimExpr &load_, &value_;
  };
  return PrimExpr(Replacer(load, value)(expr));
}

std::optional<VisibleKeys> ReadCausalMask(const Attention& attention, FlatAccess* access) {
  const auto* select = attention.score.as<tirx::SelectNode>();
  if (select == nullptr || attention.rows.empty()) return std::nullopt;
  const auto* hidden = select->false_value.as<FloatImmNode>();
  if (hidden == nullptr || hidden->value != -INFINITY) return std::nullopt;
  const Var &row = attention.rows[0].var, &key = attention.key.var;
  // row - key + constant, from either side of a comparison
  auto offset = [&](const PrimExpr& difference) -> std::optional<int64_t> {
    auto by_row = access->Coefficient(difference, row),
         by_key = access->Coefficient(difference, key);
    if (by_row != 1 || by_key != -1) return std::nullopt;
    PrimExpr rest = access->Simplify(
        Substitute(difference, Map<Var, PrimExpr>{{row, Index(0)}, {key, Index(0)}}));
    const int64_t* value = as_const_int(rest);
    return value == nullptr ? std::nullopt : std::optional<int64_t>(*value);
  };
  VisibleKeys visible;
  PrimExpr causal = select->condition;
  if (const auto* both = causal.as<tirx::AndNode>()) {
    // row + shift - key < window
    const auto* near = both->b.as<tirx::LTNode>();
    const int64_t* window = near == nullptr ? nullptr : as_const_int(near->b);
    auto shift = near == nullptr ? std::nullopt : offset(near->a);
    if (window == nullptr || !shift) return std::nullopt;
    visible.window = *window - *shift;  // until the shift of the other side is known
    causal = both->a;
  }
  const auto* before = causal.as<tirx::LENode>();  // key <= row + shift
  auto shift = before == nullptr ? std::nullopt : offset(before->b - before->a);
  if (!shift) return std::nullopt;
  visible.shift = *shift;
  if (visible.window) *visible.window += *shift;
  return visible;
}

}  // namespace kernels
}  // namespace tvm
