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
#include "relax/transform/kernel_builder.h"

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

/// Extents of a packed weight of k rows and n columns for each of some groups.
std::vector<int64_t> PackedShape(const kernels::KernelPlan& plan, int64_t k, int64_t n,
                                 int64_t groups) {
  const int64_t panels = (n + plan.panel - 1) / plan.panel;
  if (plan.weight_form == kernels::kWinograd) {
    return {panels, kernels::kWinogradPoints * kernels::kWinogradPoints, k / 9, plan.panel};
  }
  const int64_t words = (k + plan.k_group - 1) / plan.k_group + (plan.column_sums ? 1 : 0);
  std::vector<int64_t> shape{panels, words, plan.panel};
  if (groups > 1) shape.insert(shape.begin(), groups);
  if (plan.k_group > 1) shape.push_back(plan.k_group);
  return shape;
}

PackedWeight Annotate(const kernels::KernelPlan& plan) {
  PackedWeight r;
  r.anchor_attrs.Set(kernels::kKernelRule, String(plan.rule));
  return r;
}

/// What the anchor block says about the plan when the weight is packed.
Map<String, ffi::Any> AnnotationsOf(const kernels::KernelPlan& plan) {
  Map<String, ffi::Any> attrs{{kernels::kKernelRule, String(plan.rule)},
                              {kernels::kPanel, plan.panel}};
  if (plan.k_group > 1) attrs.Set(kernels::kKGroup, plan.k_group);
  if (plan.column_sums) attrs.Set(kernels::kColumnSums, int64_t{1});
  if (plan.weight_form == kernels::kWinograd) attrs.Set(kernels::kWinograd, int64_t{1});
  return attrs;
}

/// `weight` [k, n] as [ceil(n / panel), ceil(k / group), panel, group], zero past its end; with
/// `sums`, each panel starts with one more row: the int32 of -128 times the sum of each column.
/// Rows of the weight lie `pitch` elements apart.
template <typename T>
void PackWords(const char* weight, int64_t k, int64_t n, int64_t pitch, int64_t panel,
               int64_t group, bool sums, T* to) {
  const int64_t words = (k + group - 1) / group + (sums ? 1 : 0);
  for (int64_t first = 0; first < n; first += panel, to += words * panel * group) {
    const int64_t width = std::min(panel, n - first);
    std::memset(to, 0, static_cast<size_t>(words * panel * group) * sizeof(T));
    std::vector<int64_t> total(static_cast<size_t>(panel), 0);
    for (int64_t r = 0; r < k; ++r) {
      const char* from = weight + (r * pitch + first) * static_cast<int64_t>(sizeof(T));
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

ffi::Tensor PackWordsOf(const ffi::Tensor& weight, int64_t k, int64_t n, int64_t groups,
                        const kernels::KernelPlan& plan) {
  const DataType dtype(weight.dtype());
  ffi::Tensor to = NewHostTensor(PackedShape(plan, k, n, groups), dtype);
  const int64_t each = to.numel() / groups;
  auto pack = [&]<typename T>(T) {
    for (int64_t g = 0; g < groups; ++g) {
      PackWords(TensorBytes(weight) + g * n * static_cast<int64_t>(sizeof(T)), k, n, groups * n,
                plan.panel, plan.k_group, plan.column_sums,
                reinterpret_cast<T*>(TensorBytes(to)) + g * each);
    }
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

bool WeightPacking::IsConstant(const Expr& e) const {
  const auto* c = e.as<ConstantNode>();
  return c != nullptr ? c->data.IsContiguous() : late_->Has(e);
}

ffi::Tensor WeightPacking::DataOf(const Expr& weight) const {
  return Downcast<Constant>(late_->Make(weight))->data;
}

void WeightPacking::Pack(const Expr& weight, int64_t k, int64_t n, int64_t groups,
                         const kernels::KernelPlan& plan, PackedWeight* result) {
  const std::string form = "p" + std::to_string(plan.panel) + "g" + std::to_string(plan.k_group) +
                           (plan.column_sums ? "s" : "") +
                           (groups > 1 ? "n" + std::to_string(groups) : "");
  result->anchor_attrs = AnnotationsOf(plan);
  result->key = form;
  Key key{weight.get(), k, n, form};
  auto it = packed_.find(key);
  if (it == packed_.end()) {
    const ffi::Tensor data = DataOf(weight);
    ffi::Tensor packed = plan.k_group > 1
                             ? PackWordsOf(data, k, n, groups, plan)
                             : PackPanels(data, k, n, groups * n, 1, plan.panel, groups);
    if (groups > 1 && plan.k_group == 1) {
      packed = ReshapeTensor(packed, PackedShape(plan, k, n, groups));
    }
    it = packed_.emplace(key, Constant(packed)).first;
  }
  result->operands.emplace_back(weight, it->second);
}

Expr WeightPacking::PackWinograd(const Expr& weight, int64_t ic, int64_t oc, int64_t panel) {
  Key key{weight.get(), ic, oc, "w" + std::to_string(panel)};
  auto it = packed_.find(key);
  if (it != packed_.end()) return it->second;
  constexpr int64_t kPoints = kernels::kWinogradPoints * kernels::kWinogradPoints;
  const ffi::Tensor from = DataOf(weight);
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
  q.constant_b = IsConstant(call->args[1]) && b->size() == 2;
  auto plan = kernels::Query(q, target_);
  if (!plan) return {};
  PackedWeight r = Annotate(*plan);
  if (!q.constant_b || plan->panel <= 0 || q.k * q.n == 0) return r;
  Pack(call->args[1], q.k, q.n, 1, *plan, &r);
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
  if (attrs->groups > 1 && W('O') == attrs->groups && W('I') == 1) q.tile_op = "depthwise_conv2d";
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

std::optional<kernels::KernelPlan> WeightPacking::PlanOf(const Call& call,
                                                         const kernels::KernelQuery& query) {
  const std::vector<kernels::KernelPlan> plans = kernels::QueryAll(query, target_);
  if (plans.empty()) return std::nullopt;
  if (plans.size() == 1) return plans[0];
  auto make = [&] {
    std::vector<kernels::AnchorForm> forms;
    for (const kernels::KernelPlan& plan : plans) {
      KernelBuilder builder(target_);
      const Expr& weight = call->args[1];
      if (plan.panel > 0) {
        Array<PrimExpr> shape;
        for (int64_t extent : PackedShape(plan, query.k, query.n, query.groups)) {
          shape.push_back(Int64(extent));
        }
        builder.BindInput(weight, weight, te::placeholder(shape, query.b_dtype, "packed"));
      }
      Var result("y", call->ty);
      builder.Add(result, call, AnnotationsOf(plan));
      forms.push_back({plan.rule, builder.Finish({result}).func});
    }
    return forms;
  };
  return plans[kernels::ChooseForm(make, target_)];
}

PackedWeight WeightPacking::PlanConv2d(const Call& call) {
  auto q = QueryOfConv2d(call);
  if (!q) return {};
  const auto* attrs = AttrsOf<Conv2DAttrs>(call.get());
  bool rows = attrs->kernel_layout == "HWIO" && attrs->data_layout == "NHWC" &&
              attrs->out_layout == "NHWC" && q->tile_op == "conv2d";
  bool packs = rows && IsConstant(call->args[1]);
  q->constant_b = packs;
  auto plan = packs ? PlanOf(call, *q) : kernels::Query(*q, target_);
  if (!plan) return {};
  PackedWeight r = Annotate(*plan);
  if (!packs || plan->panel <= 0) return r;
  if (plan->weight_form == kernels::kWinograd) {
    r.operands.emplace_back(call->args[1],
                            PackWinograd(call->args[1], q->k / 9, q->n, plan->panel));
    r.anchor_attrs = AnnotationsOf(*plan);
    r.key = "w" + std::to_string(plan->panel);
    return r;
  }
  Pack(call->args[1], q->k, q->n, q->groups, *plan, &r);
  return r;
}

PackedWeight WeightPacking::PlanLowBitMatmul(const Call& call) {
  const auto* attrs = AttrsOf<LowBitMatmulAttrs>(call.get());
  auto x = StaticDims(call->args[0]), w = StaticDims(call->args[1]), y = StaticDims(call);
  if (!x || !w || !y) return {};
  kernels::KernelQuery q;
  q.tile_op = "gemm";
  q.a_dtype = DtypeOf(call->args[0]);
  q.b_dtype = DtypeOf(call->args[1]);
  q.out_dtype = DtypeOf(call);
  q.k = x->back();
  q.n = y->back();
  for (size_t d = 0; d + 1 < y->size(); ++d) q.m *= (*y)[d];
  q.weight_bits = static_cast<int>(attrs->bits);
  q.constant_b = true;
  for (int i = 1; i <= 3; ++i) {
    q.constant_b = q.constant_b && IsConstant(call->args[i]);
  }
  if (!q.constant_b || q.m * q.k * q.n == 0) return {};
  auto plan = kernels::Query(q, target_);
  if (!plan) return {};
  PackedWeight r;
  Pack(call->args[1], (*w)[0], q.n, 1, *plan, &r);
  r.anchor_attrs.Set(kernels::kWeightBits, attrs->bits);
  r.anchor_attrs.Set(kernels::kScaleBlock, attrs->block_size);
  kernels::KernelPlan rows = *plan;
  rows.k_group = 1;
  for (int i = 2; i <= 3; ++i) {
    auto dims = StaticDims(call->args[i]);
    if (!dims || dims->empty()) continue;  // one value for all
    PackedWeight packed;
    Pack(call->args[i], (*dims)[0], q.n, 1, rows, &packed);
    r.operands.push_back(packed.operands[0]);
  }
  return r;
}

PackedWeight WeightPacking::Plan(const Call& anchor) {
  if (anchor->op.same_as(TVM_RX_OP("matmul"))) return PlanMatmul(anchor);
  if (anchor->op.same_as(TVM_RX_OP("nn.conv2d"))) return PlanConv2d(anchor);
  if (anchor->op.same_as(TVM_RX_OP("nn.low_bit_matmul"))) return PlanLowBitMatmul(anchor);
  return {};
}

}  // namespace relax
}  // namespace tvm
