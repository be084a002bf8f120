// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "relax/transform/quantized_values.h"

#include <tvm/relax/analysis.h>
#include <tvm/relax/attrs.h>
#include <tvm/relax/op_row.h>

#include <cmath>

#include "relax/transform/const_eval.h"
#include "relax/transform/quantized_weight.h"

namespace tvm {
namespace relax {
namespace transform {

DataType DtypeOf(const Expr& e) {
  const auto* t = e->ty.as<TensorTypeNode>();
  return t == nullptr || t->IsUnknownDtype() ? DataType::Void() : t->ElementType();
}
bool IsByte(const Expr& e) {
  const DataType dtype = DtypeOf(e);
  return dtype == DataType::Int(8) || dtype == DataType::UInt(8);
}
int RankOf(const Expr& e) {
  const auto* t = e->ty.as<TensorTypeNode>();
  return t == nullptr ? -1 : t->ndim;
}
bool SameConstant(const Expr& a, const Expr& b) {
  auto x = NumbersOf(a), y = NumbersOf(b);
  return DtypeOf(a) == DtypeOf(b) && x && y && *x == *y;
}
std::string_view NameOf(const CallNode* call) {
  const auto* op = call->op.as<OpNode>();
  if (op == nullptr) return "";
  std::string_view name(op->name.data(), op->name.size());
  return name.substr(0, 6) == "relax." ? name.substr(6) : name;
}

namespace {

/// What a call of dequantize with constant scale and zero point gives.
std::optional<Quantized> ReadDequantize(const CallNode* call) {
  Quantized known{call->args[0], call->args[1], call->args[2], {}, {}, 0};
  auto scales = NumbersOf(known.scale);
  auto zeros = IntegersOf(known.zero);
  if (!scales || !zeros || scales->empty() || zeros->empty()) return std::nullopt;
  if (!IsByte(known.q) || DtypeOf(known.scale) != DataType::Float(32)) return std::nullopt;
  if (AttrsOf<QuantizeAttrs>(call)->out_dtype != DataType::Float(32)) return std::nullopt;
  // Weights may have scales below 0; of other values the order is used.
  const bool is_weight = known.q.as<ConstantNode>() != nullptr;
  for (double s : *scales) {
    if (!std::isfinite(s) || (s <= 0 && !is_weight)) return std::nullopt;
  }
  known.scales = *std::move(scales);
  known.zeros = *std::move(zeros);
  if (RankOf(known.scale) > 1 || RankOf(known.zero) > 1) {
    known.block = AttrsOf<QuantizeAttrs>(call)->block_size;
  }
  const int64_t axis = AttrsOf<QuantizeAttrs>(call)->axis;
  known.axis = static_cast<int>(axis < 0 ? axis + RankOf(known.q) : axis);
  return known;
}

}  // namespace

BindingBlock QuantizedMutator::VisitBindingBlock(const BindingBlock& block) {
  BindingBlock result = ExprMutator::VisitBindingBlock(block);
  // What is known is written in variables that later blocks may not see.
  quantized_.clear();
  shifted_.clear();
  scaled_.clear();
  return result;
}

void QuantizedMutator::CountUses(const Function& func) {
  struct Counter : public ExprVisitor {
    std::unordered_map<const VarNode*, int>* uses;
    void VisitExpr_(const VarNode* op) override { ++(*uses)[op]; }
  };
  Counter counter;
  counter.uses = &uses_;
  counter.VisitExpr(func);
}

void QuantizedMutator::Learn(const Var& var, const Expr& value) {
  keep_.push_back(var);
  if (made_) {
    scaled_[var.get()] = *std::move(made_);
    made_.reset();
  }
  const auto* call = value.as<CallNode>();
  if (call == nullptr) return;
  const std::string_view name = NameOf(call);
  if (name == "dequantize") {
    if (auto known = ReadDequantize(call)) quantized_[var.get()] = *std::move(known);
  } else if (name == "astype" && DtypeOf(value) == DataType::Int(32) && IsByte(call->args[0])) {
    shifted_[var.get()] = {call->args[0], Expr()};
  } else if (name == "subtract" && DtypeOf(value) == DataType::Int(32)) {
    const Shifted* x = Find(shifted_, call->args[0]);
    if (x != nullptr && !x->zero.defined()) shifted_[var.get()] = {x->q, call->args[1]};
  }
}

const CallNode* QuantizedMutator::OnlyUse(const Expr& e) {
  const auto* v = e.as<VarNode>();
  if (v == nullptr || uses_[v] != 1) return nullptr;
  auto value = builder_->LookupBinding(GetRef<Var>(v));
  return value.has_value() ? value.value().as<CallNode>() : nullptr;
}

Optional<Expr> QuantizedMutator::ConstantOf(const Expr& e) {
  if (e.as<ConstantNode>() || e.as<ShapeExprNode>()) return e;
  const auto* v = e.as<VarNode>();
  if (v == nullptr) return std::nullopt;
  auto value = builder_->LookupBinding(GetRef<Var>(v));
  const auto* call = value.has_value() ? value.value().as<CallNode>() : nullptr;
  if (call == nullptr || NameOf(call).empty()) return std::nullopt;
  Array<Expr> args;
  for (const Expr& a : call->args) {
    Optional<Expr> known = ConstantOf(a);
    if (!known.has_value()) return std::nullopt;
    args.push_back(known.value());
  }
  return EvalOnHost(Downcast<Call>(builder_->Normalize(CallWithArgs(call, args))));
}

Var QuantizedMutator::Emit(const Expr& e) {
  Expr value = Normal(e);
  Var var = builder_->Emit(value);
  uses_[var.get()] = 1;
  Learn(var, value);
  return var;
}

}  // namespace transform
}  // namespace relax
}  // namespace tvm
