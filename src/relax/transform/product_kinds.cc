// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "relax/transform/product_kinds.h"

#include <tvm/relax/attrs.h>
#include <tvm/relax/expr_functor.h>

#include <algorithm>
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

struct Sized {
  double multiply_adds;
  size_t order;
  const CallNode* call;

  bool operator<(const Sized& other) const {
    return multiply_adds < other.multiply_adds ||
           (multiply_adds == other.multiply_adds && order < other.order);
  }
};
/// Adds the smallest products whose sizes add up to `limit` at most, earlier ones first.
void AddSmallest(std::vector<Sized> products, double limit,
                 std::unordered_set<const CallNode*>* result) {
  std::sort(products.begin(), products.end());
  double used = 0;
  for (const Sized& product : products) {
    used += product.multiply_adds;
    if (used > limit) break;
    result->insert(product.call);
  }
}

class Products : public ExprVisitor {
 public:
  std::vector<const CallNode*> calls;

  using ExprVisitor::VisitExpr_;
  void VisitExpr_(const CallNode* call) override {
    if (IsProduct(call)) calls.push_back(call);
    ExprVisitor::VisitExpr_(call);
  }
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
  constexpr double kShareOfWeights = 0.03, kShareOfActivations = 0.05;
  Products products;
  products.VisitExpr(func);
  std::unordered_set<const CallNode*> wide;
  std::vector<Sized> weights, activations;
  double all = 0;
  size_t sized = 0;
  bool known = true;
  for (const CallNode* call : products.calls) {
    if (IsSmallRow(call)) wide.insert(call);
    if (IsDepthwise(call)) continue;
    auto size = MultiplyAdds(call);
    known = known && size;
    if (!size) continue;
    (call->args[1].as<ConstantNode>() ? weights : activations).push_back({*size, sized++, call});
    all += *size;
  }
  if (!known) return wide;
  AddSmallest(std::move(weights), kShareOfWeights * all, &wide);
  AddSmallest(std::move(activations), kShareOfActivations * all, &wide);
  return wide;
}

}  // namespace transform
}  // namespace relax
}  // namespace tvm
