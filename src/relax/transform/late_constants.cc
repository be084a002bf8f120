// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "relax/transform/late_constants.h"

#include <tvm/relax/op_row.h>

#include "relax/transform/const_eval.h"

namespace tvm {
namespace relax {

namespace {

/// Smaller ones are not worth it, and some rules want to see them.
constexpr int64_t kMinBytes = int64_t{1} << 16;

const TensorTypeNode* StaticTensor(const Expr& e) {
  const auto* t = e->ty.as<TensorTypeNode>();
  const bool is_static = t != nullptr && !t->IsUnknownDtype() && t->GetStaticShape().has_value();
  return is_static ? t : nullptr;
}

bool IsHostConstant(const Expr& e) {
  const auto* c = e.as<ConstantNode>();
  return c != nullptr && c->data.device().device_type == kDLCPU && c->data.IsContiguous();
}

}  // namespace

bool LateConstants::Accepts(const Call& call) const {
  const TensorTypeNode* out = StaticTensor(call);
  if (out == nullptr || call->args.empty()) return false;
  int64_t nbytes = out->ElementType().bytes();
  for (int64_t extent : out->GetStaticShape().value()) nbytes *= extent;
  const TensorTypeNode* in = StaticTensor(call->args[0]);
  if (nbytes < kMinBytes || in == nullptr) return false;
  for (const Expr& arg : call->args) {
    if (arg.as<ShapeExprNode>()) continue;
    if (!IsHostConstant(arg) && !Has(arg)) return false;
  }
  return IsHostStep(call, in->ElementType(), out->ElementType());
}

void LateConstants::Clear() {
  calls_.clear();
  kept_.clear();
}

Expr LateConstants::Make(const Expr& e) const {
  auto known = kept_.find(e.get());
  if (known != kept_.end()) return known->second;
  auto it = calls_.find(e.get());
  if (it == calls_.end()) return e;
  const Call& call = it->second;
  Array<Expr> args = call->args.Map([this](const Expr& arg) { return Make(arg); });
  Optional<Expr> value = EvalOnHost(CallWithSameTypes(call.get(), std::move(args)));
  TVM_FFI_ICHECK(value.has_value()) << "the host cannot evaluate " << call->op;
  return value.value();
}

Expr LateConstants::Keep(const Expr& e) {
  Expr value = Make(e);
  if (Has(e)) kept_.insert_or_assign(e.get(), value);
  return value;
}

}  // namespace relax
}  // namespace tvm
