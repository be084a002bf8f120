// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Reductions, scans, search and sorting.
#include <algorithm>

#include "relax/op/common.h"
#include "relax/op/lower.h"
#include "relax/op/lower_rules.h"

namespace tvm {
namespace relax {

namespace {

Type ReducedType(const Call& call, const TensorTypeNode* x, const OptInts& axis, bool keepdims,
                 DataType dtype) {
  if (x->IsUnknownNdim()) {
    bool scalar = !axis.has_value() && !keepdims;
    return TensorType(dtype, scalar ? 0 : kUnknownNDim, x->vdevice);
  }
  std::vector<bool> reduced(x->ndim, !axis.has_value());
  int count = x->ndim;
  if (axis.has_value()) {
    std::vector<int> axes = NormalizeAxes(call, axis.value(), x->ndim);
    for (int a : axes) reduced[a] = true;
    count = static_cast<int>(axes.size());
  }
  int ndim = keepdims ? x->ndim : x->ndim - count;
  auto dims = x->GetShape();
  if (!dims.has_value() && ndim != 0) return TensorType(dtype, ndim, x->vdevice);
  Array<PrimExpr> out;
  for (int i = 0; i < x->ndim; ++i) {
    if (!reduced[i]) {
      out.push_back(dims.value()[i]);
    } else if (keepdims) {
      out.push_back(Int64(1));
    }
  }
  return TensorType(ShapeExpr(out), dtype, x->vdevice);
}

Type InferReduction(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  const auto* attrs = AttrsOf<StatisticalAttrs>(call.get());
  return ReducedType(call, x, attrs->axis, attrs->keepdims, x->ElementType());
}
Type InferMedian(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  const auto* attrs = AttrsOf<MedianAttrs>(call.get());
  Type values = ReducedType(call, x, attrs->axis, attrs->keepdims, x->ElementType());
  if (!attrs->axis.has_value()) return values;
  return TupleType({values, ReducedType(call, x, attrs->axis, attrs->keepdims, DataType::Int(64))});
}
Type InferScan(const Call& call, const BlockBuilder& ctx) {
  const auto* x = TensorArg(call, 0);
  const auto* attrs = AttrsOf<ScanopAttrs>(call.get());
  DataType dtype = attrs->dtype.is_void() ? x->ElementType() : attrs->dtype;
  if (attrs->axis.has_value()) {
    if (!x->IsUnknownNdim()) NormalizeAxis(call, attrs->axis.value(), x->ndim);
    return WithDtype(x, dtype);
  }
  auto dims = x->GetShape();
  if (!dims.has_value()) return TensorType(dtype, 1, x->vdevice);
  return TensorType(ShapeExpr(Array<PrimExpr>{Simplify(ctx, Product(dims.value()))}), dtype,
                    x->vdevice);
}
Type InferArg(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  const auto* attrs = AttrsOf<ArgmaxArgminAttrs>(call.get());
  OptInts axis;
  if (attrs->axis.has_value()) axis = Ints{attrs->axis.value()};
  return ReducedType(call, x, axis, attrs->keepdims, DataType::Int(64));
}

Type InferWhere(const Call& call, const BlockBuilder& ctx) {
  const auto* c = TensorArg(call, 0);
  const auto* x = TensorArg(call, 1);
  const auto* y = TensorArg(call, 2);
  TVM_FFI_CHECK(c->IsUnknownDtype() || c->ElementType().is_bool(), TypeError)
      << "relax.where requires the condition to have bool dtype, but the given dtype is "
      << c->ElementType();
  DataType dtype = x->ElementType();
  if (x->IsUnknownDtype() || y->IsUnknownDtype()) {
    dtype = DataType::Void();
  } else {
    TVM_FFI_CHECK(x->ElementType() == y->ElementType(), TypeError)
        << "relax.where requires both values to have the same dtype, but got " << x->ElementType()
        << " and " << y->ElementType();
  }
  auto cd = c->GetShape(), xd = x->GetShape(), yd = y->GetShape();
  int ndim = c->IsUnknownNdim() || x->IsUnknownNdim() || y->IsUnknownNdim()
                 ? kUnknownNDim
                 : std::max({c->ndim, x->ndim, y->ndim});
  if (cd.has_value() && xd.has_value() && yd.has_value()) {
    auto first = BroadcastDims(call, ctx, cd.value(), xd.value());
    if (first.has_value()) {
      return MakeTensorType(BroadcastDims(call, ctx, first.value(), yd.value()), dtype, ndim,
                            x->vdevice);
    }
  }
  return TensorType(dtype, ndim, x->vdevice);
}
Type InferBucketize(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  CheckRank(call, 1, TensorArg(call, 1), 1);
  bool narrow = AttrsOf<BucketizeAttrs>(call.get())->out_int32;
  return WithDtype(x, DataType::Int(narrow ? 32 : 64));
}
Type InferSort(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  if (!x->IsUnknownNdim()) NormalizeAxis(call, AttrsOf<SortAttrs>(call.get())->axis, x->ndim);
  return call->args[0]->ty;
}
Type InferArgsort(const Call& call, const BlockBuilder&) {
  const auto* attrs = AttrsOf<ArgsortAttrs>(call.get());
  const auto* x = TensorArg(call, 0);
  if (!x->IsUnknownNdim()) NormalizeAxis(call, attrs->axis, x->ndim);
  return WithDtype(x, attrs->dtype);
}
Type InferTopK(const Call& call, const BlockBuilder& ctx) {
  const auto* x = TensorArg(call, 0);
  const auto* attrs = AttrsOf<TopKAttrs>(call.get());
  std::string_view ret(attrs->ret_type.data(), attrs->ret_type.size());
  TVM_FFI_CHECK(ret == "both" || ret == "values" || ret == "indices", ValueError)
      << "relax.topk expects ret_type to be 'both', 'values' or 'indices', but got '"
      << attrs->ret_type << "'";
  auto dims = x->GetShape();
  Type values = TensorType(x->ElementType(), x->ndim, x->vdevice);
  Type indices = TensorType(attrs->dtype, x->ndim, x->vdevice);
  if (dims.has_value()) {
    int axis = NormalizeAxis(call, attrs->axis, x->ndim);
    Array<PrimExpr> out = dims.value();
    if (attrs->k > 0) out.Set(axis, Simplify(ctx, tvm::min(out[axis], Int64(attrs->k))));
    values = TensorType(ShapeExpr(out), x->ElementType(), x->vdevice);
    indices = TensorType(ShapeExpr(out), attrs->dtype, x->vdevice);
  }
  if (ret == "values") return values;
  if (ret == "indices") return indices;
  return TupleType({values, indices});
}
Type InferUnique(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  auto flag = [&](int i) { return AsInt(PrimArg(call, i)).value_or(0) != 0; };
  bool has_axis = HasArg(call, 5);
  DataType i64 = DataType::Int(64);
  Array<Type> out{TensorType(x->ElementType(), has_axis ? x->ndim : 1, x->vdevice)};
  for (int i = 2; i < 5; ++i) {
    if (flag(i)) out.push_back(TensorType(i64, 1, x->vdevice));
  }
  return out.size() == 1 ? out[0] : Type(TupleType(out));
}
Type InferNonzero(const Call& call, const BlockBuilder&) {
  TensorArg(call, 0);
  return TensorType(DataType::Int(64), 2);
}
Type InferMultinomial(const Call& call, const BlockBuilder&) {
  TensorArg(call, 0);
  TensorArg(call, 1);
  const auto* idx = TensorArg(call, 2);
  return WithDtype(idx->ndim == 2 ? idx : TensorArg(call, 1),
                   AttrsOf<MultinomialFromUniformAttrs>(call.get())->dtype);
}

}  // namespace

#define RX_REDUCE(NAME, LOWER, DOC)                                                        \
  {.name = NAME,                                                                           \
   .args = "x",                                                                            \
   .attrs = "axis=None, keepdims=False",                                                   \
   .attrs_key = "relax.attrs.StatisticalAttrs",                                            \
   .infer = InferReduction,                                                                \
   .pattern = OpPattern::kCommReduce,                                                      \
   .lower = LOWER,                                                                         \
   .layout = LayoutRule::kReduce,                                                          \
   .samples = "f32[2,3,4] | f32[2,3,4]; axis=[1], keepdims=True | f32[2,3,4]; axis=[0,2]", \
   .doc = DOC}
static const OpRow kReduceRows[] = {
    RX_REDUCE("sum", LowerSum, "Sum."),
    RX_REDUCE("prod", LowerProd, "Product."),
    RX_REDUCE("max", LowerMax, "Largest element; NaN wins."),
    RX_REDUCE("min", LowerMin, "Smallest element; NaN wins."),
    RX_REDUCE("mean", LowerMean, "Arithmetic mean."),
    RX_REDUCE("variance", LowerVariance, "Population variance."),
    RX_REDUCE("std", LowerStd, "Population standard deviation."),
    {.name = "median",
     .args = "x",
     .attrs = "axis=None, keepdims=False",
     .attrs_key = "relax.attrs.MedianAttrs",
     .infer = InferMedian,
     .doc = "Lower median; with an axis also its position."},
    {.name = "cumsum",
     .args = "data",
     .attrs = "axis=None, dtype=None, exclusive=False",
     .attrs_key = "relax.attrs.ScanopAttrs",
     .infer = InferScan,
     .pattern = OpPattern::kOpaque,
     .lower = LowerCumsum,
     .samples = "f32[2,3]; axis=1 | f32[2,3]",
     .doc = "Running sum."},
    {.name = "cumprod",
     .args = "data",
     .attrs = "axis=None, dtype=None, exclusive=False",
     .attrs_key = "relax.attrs.ScanopAttrs",
     .infer = InferScan,
     .pattern = OpPattern::kOpaque,
     .lower = LowerCumprod,
     .samples = "f32[2,3]; axis=1",
     .doc = "Running product."},
    {.name = "argmax",
     .args = "x",
     .attrs = "axis=None, keepdims=False",
     .attrs_key = "relax.attrs.ArgmaxArgminAttrs",
     .infer = InferArg,
     .pattern = OpPattern::kCommReduce,
     .lower = LowerArgmax,
     .layout = LayoutRule::kReduce,
     .samples = "f32[2,3,4]; axis=1 | f32[2,3]",
     .doc = "First position of the largest element."},
    {.name = "argmin",
     .args = "x",
     .attrs = "axis=None, keepdims=False",
     .attrs_key = "relax.attrs.ArgmaxArgminAttrs",
     .infer = InferArg,
     .pattern = OpPattern::kCommReduce,
     .lower = LowerArgmin,
     .layout = LayoutRule::kReduce,
     .samples = "f32[2,3,4]; axis=1",
     .doc = "First position of the smallest element."},
    {.name = "where",
     .args = "condition, x1, x2",
     .infer = InferWhere,
     .pattern = OpPattern::kBroadcast,
     .lower = LowerWhere,
     .layout = LayoutRule::kElemWise,
     .samples = "bool[2,3] f32[2,3] f32[3]",
     .doc = "x1 where the condition holds, else x2."},
    {.name = "bucketize",
     .args = "input_tensor, boundaries",
     .attrs = "out_int32=False, right=False",
     .attrs_key = "relax.attrs.BucketizeAttrs",
     .infer = InferBucketize,
     .pattern = OpPattern::kInjective,
     .lower = LowerBucketize,
     .doc = "Number of the interval between sorted boundaries that holds each element."},
    {.name = "sort",
     .args = "x",
     .attrs = "axis=-1, descending=False",
     .attrs_key = "relax.attrs.SortAttrs",
     .infer = InferSort,
     .lower = LowerSort,
     .samples = "f32[2,5]",
     .doc = "Elements in order."},
    {.name = "argsort",
     .args = "data",
     .attrs = "axis=-1, descending=False, dtype='int32'",
     .attrs_key = "relax.attrs.ArgsortAttrs",
     .infer = InferArgsort,
     .lower = LowerArgsort,
     .samples = "f32[2,5]",
     .doc = "Positions that would sort the elements."},
    {.name = "topk",
     .args = "data",
     .attrs = "k=1, axis=-1, ret_type='both', largest=True, dtype='int32'",
     .attrs_key = "relax.attrs.TopKAttrs",
     .infer = InferTopK,
     .lower = LowerTopK,
     .samples = "f32[2,5]; k=2",
     .doc = "The k largest (smallest) elements and their positions."},
    {.name = "unique",
     .args =
         "x, sorted:prim, return_index:prim, return_inverse:prim, return_counts:prim, axis:prim?",
     .infer = InferUnique,
     .packed = "relax.run.unique",
     .data_dependent = true,
     .doc = "Distinct elements."},
    {.name = "nonzero",
     .args = "x",
     .infer = InferNonzero,
     .packed = "relax.run.nonzero",
     .data_dependent = true,
     .doc = "Positions of the elements other than 0."},
    {.name = "multinomial_from_uniform",
     .args = "prob, uniform_sample, sample_indices",
     .attrs = "dtype='int64'",
     .attrs_key = "relax.attrs.MultinomialFromUniformAttrs",
     .infer = InferMultinomial,
     .doc = "Draws by inverting the cumulative distribution."},
};
TVM_RELAX_REGISTER_OPS(kReduceRows)
#undef RX_REDUCE

}  // namespace relax
}  // namespace tvm
