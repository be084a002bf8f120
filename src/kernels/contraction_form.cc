// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "kernels/contraction_form.h"

#include <tvm/ir/expr_functor.h>
#include <tvm/kernels/rule.h>
#include <tvm/target/cpu_features.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <algorithm>
#include <utility>

#include "kernels/names.h"

namespace tvm {
namespace kernels {
namespace {

bool IsZero(const PrimExpr& expr) {
  if (const auto* imm = expr.as<FloatImmNode>()) return imm->value == 0;
  return is_zero(expr);
}

/// The read of panels [.., words, panel] or [.., words, panel, group] in B, if there is one.
const BufferLoadNode* FindPacked(const PrimExpr& operand, int64_t panel, int64_t group) {
  const BufferLoadNode* found = nullptr;
  const size_t inner = group > 1 ? 2 : 1;
  PostOrderVisitExpr(operand, [&](const Expr& node) {
    const auto* load = node.as<BufferLoadNode>();
    if (load == nullptr || load->indices.size() < inner + 2) return;
    const auto shape = load->buffer.shape();
    if (group > 1 && !is_const_int(shape.back(), group)) return;
    if (is_const_int(shape[shape.size() - inner], panel)) found = load;
  });
  return found;
}

/// The operand before it was widened to the type of the sums.
PrimExpr Narrow(const PrimExpr& operand, DataType acc) {
  const auto* cast = operand.as<tirx::CastNode>();
  if (cast == nullptr || operand.dtype() != acc) return operand;
  const DataType from = cast->value.dtype();
  const bool exact = from.bits() < acc.bits() && !from.is_bool() && !from.is_handle() &&
                     (acc.is_float() || !from.is_any_float());
  return exact ? cast->value : operand;
}

/// Sorts the iterations; false with a reason when they do not fit.
bool SortIterations(const Stage& stage, Contraction* c, std::string* why) {
  const Iter* last = nullptr;
  for (const Iter& iter : stage.spatial) {
    if (iter.extent != 1) last = &iter;
  }
  if (c->panel > 0) {
    // With a single column the innermost dimension left is one of the rows.
    if (last != nullptr && !UsesVar(c->b, last->var)) last = nullptr;
  } else if (last != nullptr && !UsesVar(c->b, last->var)) {
    std::swap(c->a, c->b);
  }
  for (const Iter& iter : stage.spatial) {
    const bool in_a = UsesVar(c->a, iter.var), in_b = UsesVar(c->b, iter.var);
    if (&iter == last && in_a) {
      *why = "the innermost output dimension is in both operands";
      return false;
    }
    if (iter.extent == 1) {
      c->batch.push_back(iter);
    } else {
      (in_a && in_b ? c->batch : in_b ? c->cols : c->rows).push_back(iter);
    }
  }
  for (const Iter& iter : stage.reduce) {
    if (iter.extent != 1 && !UsesVar(c->a, iter.var) && !UsesVar(c->b, iter.var)) {
      *why = "a reduction that neither operand uses";
      return false;
    }
    c->depth.push_back(iter);
  }
  // Only the innermost column dimension is tiled; further ones are walked like a batch.
  while (c->cols.size() > 1) {
    if (c->panel > 0) {
      *why = "packed B with several column dimensions";
      return false;
    }
    c->batch.push_back(c->cols.front());
    c->cols.erase(c->cols.begin());
  }
  return true;
}

/// Moves factors of B that the reduction does not change out of the sum.
void TakeScale(Contraction* c) {
  auto reduces = [&](const PrimExpr& expr) {
    return std::any_of(c->depth.begin(), c->depth.end(),
                       [&](const Iter& iter) { return UsesVar(expr, iter.var); });
  };
  while (const auto* mul = c->b.as<tirx::MulNode>()) {
    const bool right = !reduces(mul->b);
    if (!right && reduces(mul->a)) return;
    PrimExpr factor = right ? mul->b : mul->a;
    c->scale = c->scale.defined() ? c->scale * factor : factor;
    c->b = right ? mul->a : mul->b;
  }
}

/// Chooses how to multiply; false with a reason when packed panels do not suit that.
bool ChooseStep(const Stage& stage, const Target& target, Contraction* c, std::string* why) {
  const DataType acc = stage.output.dtype();
  if (stage.Int(kWeightBits, 0) > 0) {
    c->packed = c->panel == 0 ? nullptr : FindPacked(c->b, c->panel, stage.Int(kKGroup, 1));
    // Words are taken apart a register at a time.
    const int64_t lanes = CpuFeaturesOf(target).vector_bits / 32;
    if (lanes == 0 || c->panel % lanes != 0) {
      *why = "packed B is for registers of another width";
      return false;
    }
    return ReadLowBits(stage, c, why);
  }
  c->a = Narrow(c->a, acc);
  c->b = Narrow(c->b, acc);
  if (acc.is_float() && !c->b.as<BufferLoadNode>()) {
    TakeScale(c);
    c->b = Narrow(c->b, acc);
  }
  auto step = ChooseDotStep(c->a.dtype(), c->b.dtype(), acc, target);
  if (!step) {
    *why = "no way to sum products of " + c->a.dtype().ToString() + " and " +
           c->b.dtype().ToString() + " in " + acc.ToString();
    return false;
  }
  c->step = *step;
  c->words = (c->k + step->group - 1) / step->group;
  if (c->panel == 0) return true;
  const int64_t group = stage.Int(kKGroup, 1);
  c->packed = FindPacked(c->b, c->panel, group);
  const bool has_sums = stage.Int(kColumnSums, 0) != 0;
  if (c->packed == nullptr || group != step->group || (step->shifts_a && !has_sums)) {
    *why = "B is packed for another way to multiply";
    return false;
  }
  const auto shape = c->packed->buffer.shape();
  const int64_t* rows = as_const_int(shape[shape.size() - (group > 1 ? 3 : 2)]);
  c->panel_words = rows == nullptr ? 0 : *rows;
  const bool plain = c->b.as<BufferLoadNode>() == c->packed;
  if (!plain && group == 1) return true;  // a dequantization: rows are its own
  c->skipped_words = has_sums ? 1 : 0;
  if (!plain || c->panel_words != c->words + c->skipped_words) {
    *why = "packed B is not read plainly";
    return false;
  }
  return true;
}

}  // namespace

std::optional<Contraction> ReadContraction(const Group& group, const Target& target,
                                           std::string* why) {
  const Stage& stage = group.stages[group.anchor];
  auto decline = [&](const char* reason) {
    *why = reason;
    return std::nullopt;
  };
  if (stage.kind != ReduceKind::kSum || !IsZero(stage.init)) return decline("not a sum from zero");
  PrimExpr value = InlineProducers(group, stage.value, group.anchor);
  const auto* mul = value.as<tirx::MulNode>();
  if (mul == nullptr) return decline("the summand is not a product");
  Contraction result;
  result.a = mul->a;
  result.b = mul->b;
  result.panel = stage.Int(kPanel, 0);
  if (result.panel > 0) {
    const int64_t words = stage.Int(kKGroup, 1);
    if (!FindPacked(result.b, result.panel, words)) std::swap(result.a, result.b);
    if (!FindPacked(result.b, result.panel, words)) {
      return decline("no operand is packed as annotated");
    }
  }
  if (!SortIterations(stage, &result, why)) return std::nullopt;
  result.m = Product(result.rows);
  result.n = Product(result.cols);
  result.k = Product(result.depth);
  if (result.m * result.n * result.k == 0) return decline("an empty contraction");
  if (!ChooseStep(stage, target, &result, why)) return std::nullopt;
  return result;
}

}  // namespace kernels
}  // namespace tvm
