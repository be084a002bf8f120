// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "relax/transform/weight_packing.h"

#include <tvm/kernels/winograd.h>

#include "relax/ir/utils.h"
#include "relax/op/call_like.h"
#include "relax/op/common.h"
#include "relax/transform/const_eval.h"

namespace tvm {
namespace relax {

namespace {

std::optional<std::vector<int64_t>> StaticDims(const Expr& e) {
  const auto* t = e->ty.as<TensorTypeNode>();
  if (t == nullptr) return std::nullopt;
  auto s = t->GetStaticShape();
  if (!s.has_value()) return std::nullopt;
  return std::vector<int64_t>(s.value().begin(), s.value().end());
}
DataType DtypeOf(const Expr& e) { return e->ty.as<TensorTypeNode>()->ElementType(); }

PackedWeight Annotate(const kernels::KernelPlan& plan) {
  PackedWeight r;
  r.anchor_attrs.Set(kernels::kKernelRule, String(plan.rule));
  return r;
}

}  // namespace

Expr WeightPacking::Pack(const Expr& weight, int64_t k, int64_t n, int64_t stride_k,
                         int64_t stride_n, int64_t panel) {
  Key key{weight.get(), k, n, stride_k, stride_n, panel};
  auto it = packed_.find(key);
  if (it != packed_.end()) return it->second;
  const auto* c = weight.as<ConstantNode>();
  Expr value = Constant(PackPanels(c->data, k, n, stride_k, stride_n, panel));
  packed_.emplace(key, value);
  return value;
}

Expr WeightPacking::PackWinograd(const Expr& weight, int64_t ic, int64_t oc, int64_t panel) {
  constexpr int64_t kWinogradKey = -1;  // in the place of a stride
  Key key{weight.get(), ic, oc, kWinogradKey, kWinogradKey, panel};
  auto it = packed_.find(key);
  if (it != packed_.end()) return it->second;
  constexpr int64_t kPoints = kernels::kWinogradPoints * kernels::kWinogradPoints;
  const ffi::Tensor& from = weight.as<ConstantNode>()->data;
  ffi::Tensor to =
      NewHostTensor({(oc + panel - 1) / panel, kPoints, ic, panel}, DataType(from.dtype()));
  kernels::WinogradPack(reinterpret_cast<const float*>(TensorBytes(from)), ic, oc, panel,
                        reinterpret_cast<float*>(TensorBytes(to)));
  Expr value = Constant(to);
  packed_.emplace(key, value);
  return value;
}

PackedWeight WeightPacking::PlanMatmul(const Call& call) {
  auto a = StaticDims(call->args[0]), b = StaticDims(call->args[1]), c = StaticDims(call);
  if (!a || !b || !c || b->size() < 2) return {};
  kernels::KernelQuery q;
  q.tile_op = "gemm";
  q.a_dtype = DtypeOf(call->args[0]);
  q.b_dtype = DtypeOf(call->args[1]);
  q.out_dtype = DtypeOf(call);
  q.k = a->back();
  q.n = b->back();
  q.m = 1;
  for (int64_t d : *c) q.m *= d;
  q.m /= std::max<int64_t>(1, q.n);
  if (b->size() > 2) {
    q.batch = 1;
    for (size_t d = 0; d + 2 < b->size(); ++d) q.batch *= (*b)[d];
    q.m /= std::max<int64_t>(1, q.batch);
  }
  const auto* w = call->args[1].as<ConstantNode>();
  q.constant_b = w != nullptr && b->size() == 2 && w->data.IsContiguous();
  auto plan = kernels::Query(q, target_);
  if (!plan) return {};
  PackedWeight r = Annotate(*plan);
  if (!q.constant_b || plan->panel <= 0 || q.k * q.n == 0) return r;
  r.original = call->args[1];
  r.value = Pack(call->args[1], q.k, q.n, q.n, 1, plan->panel);
  r.anchor_attrs.Set(kernels::kPanel, plan->panel);
  r.key = "m" + std::to_string(plan->panel);
  return r;
}

std::optional<kernels::KernelQuery> QueryOfConv2d(const Call& call) {
  const auto* attrs = AttrsOf<Conv2DAttrs>(call.get());
  auto x = StaticDims(call->args[0]), w = StaticDims(call->args[1]), y = StaticDims(call);
  if (attrs == nullptr || !x || !w || !y) return std::nullopt;
  auto W = [&](char axis) { return (*w)[LayoutAxis(attrs->kernel_layout, axis)]; };
  auto Y = [&](char axis) { return (*y)[LayoutAxis(attrs->out_layout, axis)]; };
  kernels::KernelQuery q;
  q.tile_op = "conv2d";
  if (attrs->groups > 1) {
    if (W('I') != 1 || W('O') != attrs->groups) return std::nullopt;
    q.tile_op = "depthwise_conv2d";
  }
  q.a_dtype = DtypeOf(call->args[0]);
  q.b_dtype = DtypeOf(call->args[1]);
  q.out_dtype = DtypeOf(call);
  q.groups = attrs->groups;
  q.m = Y('N') * Y('H') * Y('W');
  q.n = W('O') / attrs->groups;
  q.k = W('H') * W('W') * W('I');
  q.kernel = {W('H'), W('W')};
  auto list = [](const Ints& v) { return std::vector<int64_t>(v.begin(), v.end()); };
  q.strides = list(attrs->strides);
  q.padding = list(attrs->padding);
  q.dilation = list(attrs->dilation);
  q.out = {Y('H'), Y('W')};
  q.constant_b = call->args[1].as<ConstantNode>() != nullptr;
  return q;
}

PackedWeight WeightPacking::PlanConv2d(const Call& call) {
  auto q = QueryOfConv2d(call);
  if (!q) return {};
  const auto* attrs = AttrsOf<Conv2DAttrs>(call.get());
  const auto* w = call->args[1].as<ConstantNode>();
  bool rows = attrs->kernel_layout == "HWIO" && attrs->data_layout == "NHWC" &&
              attrs->out_layout == "NHWC" && q->groups == 1;
  bool packs = w != nullptr && rows && w->data.IsContiguous();
  q->constant_b = packs;
  auto plan = kernels::Query(*q, target_);
  if (!plan) return {};
  PackedWeight r = Annotate(*plan);
  if (!packs || plan->panel <= 0) return r;
  r.original = call->args[1];
  if (plan->weight_form == kernels::kWinograd) {
    r.value = PackWinograd(call->args[1], q->k / 9, q->n, plan->panel);
    r.anchor_attrs.Set(kernels::kPanel, plan->panel);
    r.anchor_attrs.Set(kernels::kWinograd, int64_t{1});
    r.key = "w" + std::to_string(plan->panel);
    return r;
  }
  r.value = Pack(call->args[1], q->k, q->n, q->n, 1, plan->panel);
  r.anchor_attrs.Set(kernels::kPanel, plan->panel);
  r.key = "c" + std::to_string(plan->panel);
  return r;
}

PackedWeight WeightPacking::Plan(const Call& anchor) {
  if (anchor->op.same_as(TVM_RX_OP("matmul"))) return PlanMatmul(anchor);
  if (anchor->op.same_as(TVM_RX_OP("nn.conv2d"))) return PlanConv2d(anchor);
  return {};
}

}  // namespace relax
}  // namespace tvm
