// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "relax/transform/product_kinds.h"

#include <tvm/relax/attrs.h>
#include <tvm/relax/expr_functor.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "relax/op/common.h"

namespace tvm {
namespace relax {
namespace transform {

namespace {

/// Constant extents of a tensor.
std::optional<Array<int64_t>> ShapeOf(const Expr& e) {
  const auto* type = e->ty.as<TensorTypeNode>();
  if (type == nullptr) return std::nullopt;
  auto shape = type->GetStaticShape();
  if (!shape.has_value()) return std::nullopt;
  return shape.value();
}
double Elements(const Array<int64_t>& shape) {
  double count = 1;
  for (int64_t extent : shape) count *= static_cast<double>(extent);
  return count;
}

/// The layout of a convolution's weight, if the call is one, and its groups.
struct KernelLayout {
  String layout;
  int groups;
  bool transposed;
};
template <typename T>
bool ReadLayout(const CallNode* call, bool transposed, KernelLayout* found) {
  const auto* attrs = call->attrs.as<T>();
  if (attrs == nullptr) return false;
  *found = {attrs->kernel_layout, static_cast<int>(attrs->groups), transposed};
  return true;
}
bool ReadAnyLayout(const CallNode* call, KernelLayout* found) {
  return ReadLayout<Conv1DAttrs>(call, false, found) ||
         ReadLayout<Conv2DAttrs>(call, false, found) ||
         ReadLayout<Conv3DAttrs>(call, false, found) ||
         ReadLayout<Conv1DTransposeAttrs>(call, true, found) ||
         ReadLayout<Conv2DTransposeAttrs>(call, true, found) ||
         ReadLayout<Conv3DTransposeAttrs>(call, true, found);
}

/// A product of one row that is too small to gain by fewer bytes.
bool IsSmallRow(const CallNode* call) {
  constexpr int64_t kFewElements = int64_t{1} << 16;
  return IsOneRow(call) && call->args[1].as<ConstantNode>()->data.numel() < kFewElements;
}

constexpr double kUnknown = std::numeric_limits<double>::infinity();

/// What a product takes in float32, in multiply-adds of a large one: one row of data waits for the
/// matrix to come through memory. Infinity when unknown.
double Cost(const CallNode* call, const std::optional<double>& multiply_adds) {
  constexpr double kWaits = 8;
  return multiply_adds.value_or(kUnknown) * (IsOneRow(call) ? kWaits : 1);
}

struct Sized {
  double cost;
  const CallNode* call;
};
/// Adds products whose costs add up to `limit` at most: each that still fits, in their order. What
/// an early one loses passes through more layers.
void AddFitting(const std::vector<Sized>& products, double limit,
                std::unordered_set<const CallNode*>* result) {
  double used = 0;
  for (const Sized& product : products) {
    if (used + product.cost > limit) continue;
    used += product.cost;
    result->insert(product.call);
  }
}

/// Does not change what is between 0 and 1 but for zeros.
bool PassesWeights(const CallNode* call) {
  static const std::unordered_set<std::string_view> kPasses{
      "reshape", "permute_dims", "expand_dims", "squeeze", "astype", "where"};
  return kPasses.count(OpNameOf(call)) != 0;
}

/// What a product multiplies: an operand computed of constants alone, a softmax, neither.
enum class Operands { kWeight, kSoftmax, kActivations };

/// All products of a function in their order.
class Products : public ExprVisitor {
 public:
  std::vector<std::pair<const CallNode*, Operands>> calls;

  void VisitVarBinding(const VarBindingNode* b) override {
    ExprVisitor::VisitVarBinding(b);
    const auto* call = b->value.as<CallNode>();
    if (call == nullptr) return;
    if (std::all_of(call->args.begin(), call->args.end(),
                    [this](const Expr& arg) { return arg.as<ShapeExprNode>() || IsFixed(arg); })) {
      fixed_.insert(b->var.get());
    }
    const bool softmax =
        OpNameOf(call) == "nn.softmax" || (PassesWeights(call) && AnySoftmax(call));
    if (softmax) softmax_.insert(b->var.get());
  }

  using ExprVisitor::VisitExpr_;
  void VisitExpr_(const CallNode* call) override {
    ExprVisitor::VisitExpr_(call);
    if (!IsProduct(call)) return;
    const bool fixed = IsFixed(call->args[0]) || IsFixed(call->args[1]);
    calls.emplace_back(call, fixed              ? Operands::kWeight
                             : AnySoftmax(call) ? Operands::kSoftmax
                                                : Operands::kActivations);
  }

 private:
  bool IsFixed(const Expr& e) const { return e.as<ConstantNode>() || fixed_.count(e.get()) != 0; }
  bool AnySoftmax(const CallNode* call) const {
    return std::any_of(call->args.begin(), call->args.end(),
                       [this](const Expr& arg) { return softmax_.count(arg.get()) != 0; });
  }

  std::unordered_set<const ffi::Object*> fixed_, softmax_;
};

}  // namespace

std::string_view OpNameOf(const CallNode* call) {
  const auto* op = call == nullptr ? nullptr : call->op.as<OpNode>();
  if (op == nullptr) return "";
  std::string_view name(op->name.data(), op->name.size());
  return name.substr(0, 6) == "relax." ? name.substr(6) : name;
}

bool HasType(const Type& ty, DataType dtype) {
  const auto* t = ty.as<TensorTypeNode>();
  return t != nullptr && !t->IsUnknownDtype() && t->ElementType() == dtype;
}

bool IsProduct(const CallNode* call) {
  const std::string_view name = OpNameOf(call);
  if (name != "matmul" && name.substr(0, 7) != "nn.conv") return false;
  const DataType wide = DataType::Float(32);
  return HasType(call->ty, wide) && HasType(call->args[0]->ty, wide) &&
         HasType(call->args[1]->ty, wide);
}

bool IsDepthwise(const CallNode* call) {
  KernelLayout layout;
  if (!ReadAnyLayout(call, &layout) || layout.transposed || layout.groups <= 1) return false;
  auto shape = ShapeOf(call->args[1]);
  if (!shape) return false;
  auto extent = [&](char axis) { return (*shape)[LayoutAxis(layout.layout, axis)]; };
  return extent('I') == 1 && extent('O') == layout.groups;
}

bool IsOneRow(const CallNode* call) {
  if (OpNameOf(call) != "matmul" || !call->args[1].as<ConstantNode>()) return false;
  auto x = ShapeOf(call->args[0]), weight = ShapeOf(call->args[1]);
  if (!x || !weight || weight->size() != 2) return false;
  return std::all_of(x->begin(), x->end() - 1, [](int64_t extent) { return extent == 1; });
}

std::optional<double> MultiplyAdds(const CallNode* call) {
  const auto *out = call->ty.as<TensorTypeNode>(), *in = call->args[0]->ty.as<TensorTypeNode>();
  auto result = out->GetStaticShape(), data = in->GetStaticShape();
  auto weight = ShapeOf(call->args[1]);
  if (!result.has_value() || !data.has_value() || !weight) return std::nullopt;
  KernelLayout layout;
  if (!ReadAnyLayout(call, &layout)) {
    return Elements(result.value()) * static_cast<double>(data.value().back());
  }
  // What one element of the result reads, or, transposed, one element of the data goes to.
  const int64_t channels = (*weight)[LayoutAxis(layout.layout, layout.transposed ? 'I' : 'O')];
  const double taps = Elements(*weight) / static_cast<double>(std::max<int64_t>(1, channels));
  return taps * Elements(layout.transposed ? data.value() : result.value());
}

std::unordered_set<const CallNode*> WideProducts(const Function& func) {
  constexpr double kShareOfWeights = 0.0065, kShareOfActivations = 0.05;
  constexpr double kFew = 1 << 21;
  Products products;
  products.VisitExpr(func);
  std::unordered_set<const CallNode*> wide;
  std::vector<Sized> weighted, activations;
  double cost = 0, work = 0;  // without depthwise convolutions; `work` without rows as well
  for (const auto& [call, kind] : products.calls) {
    if (IsSmallRow(call)) wide.insert(call);
    if (IsDepthwise(call)) continue;
    const auto size = MultiplyAdds(call);
    cost += Cost(call, size);
    if (!IsOneRow(call)) work += size.value_or(kUnknown);
    if (kind == Operands::kWeight) weighted.push_back({Cost(call, size), call});
    if (kind == Operands::kActivations) activations.push_back({Cost(call, size), call});
  }
  if (!std::isfinite(cost)) return wide;
  if (work <= kFew) {
    for (const auto& [call, kind] : products.calls) {
      if (!IsOneRow(call)) wide.insert(call);
    }
  }
  AddFitting(weighted, kShareOfWeights * cost, &wide);
  AddFitting(activations, kShareOfActivations * cost, &wide);
  return wide;
}

}  // namespace transform
}  // namespace relax
}  // namespace tvm
