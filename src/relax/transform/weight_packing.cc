// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "relax/transform/weight_packing.h"

#include <tvm/kernels/winograd.h>

#include <algorithm>
#include <cstring>
#include <vector>

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

/// `weight` [k, n] as [ceil(n / panel), ceil(k / group), panel, group], zero past its end; with
/// `sums`, each panel starts with one more row: the int32 of -128 times the sum of each column.
template <typename T>
void PackWords(const char* weight, int64_t k, int64_t n, int64_t panel, int64_t group, bool sums,
               T* to) {
  const int64_t words = (k + group - 1) / group + (sums ? 1 : 0);
  for (int64_t first = 0; first < n; first += panel, to += words * panel * group) {
    const int64_t width = std::min(panel, n - first);
    std::memset(to, 0, static_cast<size_t>(words * panel * group) * sizeof(T));
    std::vector<int64_t> total(static_cast<size_t>(panel), 0);
    for (int64_t r = 0; r < k; ++r) {
      const char* from = weight + (r * n + first) * static_cast<int64_t>(sizeof(T));
      T* row = to + (r / group + (sums ? 1 : 0)) * panel * group + r % group;
      for (int64_t col = 0; col < width; ++col) {
        T value;  // a constant in a mapped file may lie anywhere
        std::memcpy(&value, from + col * static_cast<int64_t>(sizeof(T)), sizeof(T));
        row[col * group] = value;
        total[static_cast<size_t>(col)] += value;
      }
    }
    for (int64_t col = 0; sums && col < width; ++col) {
      const auto start =
          static_cast<int32_t>(static_cast<uint32_t>(-128 * total[static_cast<size_t>(col)]));
      std::memcpy(to + col * group, &start, sizeof(start));
    }
  }
}

ffi::Tensor PackWordsOf(const ffi::Tensor& weight, int64_t k, int64_t n,
                        const kernels::KernelPlan& plan) {
  const DataType dtype(weight.dtype());
  const int64_t words = (k + plan.k_group - 1) / plan.k_group + (plan.column_sums ? 1 : 0);
  ffi::Tensor to =
      NewHostTensor({(n + plan.panel - 1) / plan.panel, words, plan.panel, plan.k_group}, dtype);
  const char* from = TensorBytes(weight);
  auto pack = [&]<typename T>(T) {
    PackWords(from, k, n, plan.panel, plan.k_group, plan.column_sums,
              reinterpret_cast<T*>(TensorBytes(to)));
  };
  if (dtype.bits() == 8 && dtype.is_int()) {
    pack(int8_t{});
  } else if (dtype.bits() == 8) {
    pack(uint8_t{});
  } else if (dtype.bits() == 16) {
    pack(uint16_t{});
  } else {
    TVM_FFI_THROW(InternalError) << "no kernel groups the rows of a weight of " << dtype.ToString();
  }
  return to;
}

}  // namespace

void WeightPacking::Pack(const Expr& weight, int64_t k, int64_t n, const kernels::KernelPlan& plan,
                         PackedWeight* result) {
  const std::string form = "p" + std::to_string(plan.panel) + "g" + std::to_string(plan.k_group) +
                           (plan.column_sums ? "s" : "");
  result->original = weight;
  result->anchor_attrs.Set(kernels::kPanel, plan.panel);
  if (plan.k_group > 1) result->anchor_attrs.Set(kernels::kKGroup, plan.k_group);
  if (plan.column_sums) result->anchor_attrs.Set(kernels::kColumnSums, int64_t{1});
  result->key = form;
  Key key{weight.get(), k, n, form};
  auto it = packed_.find(key);
  if (it == packed_.end()) {
    const ffi::Tensor& data = weight.as<ConstantNode>()->data;
    ffi::Tensor packed =
        plan.k_group > 1 ? PackWordsOf(data, k, n, plan) : PackPanels(data, k, n, n, 1, plan.panel);
    it = packed_.emplace(key, Constant(packed)).first;
  }
  result->value = it->second;
}

Expr WeightPacking::PackWinograd(const Expr& weight, int64_t ic, int64_t oc, int64_t panel) {
  Key key{weight.get(), ic, oc, "w" + std::to_string(panel)};
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
  Pack(call->args[1], q.k, q.n, *plan, &r);
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
  if (plan->weight_form == kernels::kWinograd) {
    r.original = call->args[1];
    r.value = PackWinograd(call->args[1], q->k / 9, q->n, plan->panel);
    r.anchor_attrs.Set(kernels::kPanel, plan->panel);
    r.anchor_attrs.Set(kernels::kWinograd, int64_t{1});
    r.key = "w" + std::to_string(plan->panel);
    return r;
  }
  Pack(call->args[1], q->k, q->n, *plan, &r);
  return r;
}

PackedWeight WeightPacking::Plan(const Call& anchor) {
  if (anchor->op.same_as(TVM_RX_OP("matmul"))) return PlanMatmul(anchor);
  if (anchor->op.same_as(TVM_RX_OP("nn.conv2d"))) return PlanConv2d(anchor);
  return {};
}

}  // namespace relax
}  // namespace tvm
