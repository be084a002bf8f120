// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Operators that create tensors, casts, indexing by position and by tensors.
#include <algorithm>
#include <cmath>

#include "relax/op/common.h"
#include "relax/op/lower.h"
#include "relax/op/lower_rules.h"

namespace tvm {
namespace relax {

namespace {

DataType DtypeOr(DataType given, DataType otherwise) { return given.is_void() ? otherwise : given; }

Type FromShape(const Call& call, int arg, DataType dtype) {
  Optional<Array<PrimExpr>> dims = ShapeArg(call, arg);
  const auto* ty = call->args[arg]->ty.as<ShapeTypeNode>();
  if (!dims.has_value() && call->args[arg].as<VarNode>()) return TensorType(call->args[arg], dtype);
  return MakeTensorType(dims, dtype, ty == nullptr ? kUnknownNDim : ty->ndim);
}

void CheckScalarTensor(const Call& call, int i, const TensorTypeNode* ty) {
  TVM_FFI_CHECK(ty->ndim == 0 || ty->IsUnknownNdim(), ValueError)
      << OpName(call) << " requires the fill value to have zero dimensions, but it has "
      << ty->ndim;
}

Type InferFull(const Call& call, const BlockBuilder&) {
  const auto* fill = TensorArg(call, 1);
  CheckScalarTensor(call, 1, fill);
  return FromShape(call, 0, DtypeOr(AttrsOf<InitAttrs>(call.get())->dtype, fill->ElementType()));
}
Type InferFullLike(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  const auto* fill = TensorArg(call, 1);
  CheckScalarTensor(call, 1, fill);
  DataType dtype = AttrsOf<InitAttrs>(call.get())->dtype;
  return WithDtype(x, DtypeOr(dtype, fill->ElementType()));
}
Type InferOnes(const Call& call, const BlockBuilder&) {
  DataType dtype = AttrsOf<InitAttrs>(call.get())->dtype;
  TVM_FFI_CHECK(!dtype.is_void(), ValueError) << OpName(call) << " needs a dtype";
  return FromShape(call, 0, dtype);
}
Type InferLike(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  return WithDtype(x, DtypeOr(AttrsOf<InitAttrs>(call.get())->dtype, x->ElementType()));
}
Type InferEye(const Call& call, const BlockBuilder&) {
  return TensorType({PrimArg(call, 0), PrimArg(call, 1)}, AttrsOf<InitAttrs>(call.get())->dtype);
}
Type InferEyeLike(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  CheckRank(call, 0, x, 2);
  return WithDtype(x, DtypeOr(AttrsOf<InitAttrs>(call.get())->dtype, x->ElementType()));
}
/// Number of steps from start to end, at least 0.
Type InferArange(const Call& call, const BlockBuilder& ctx) {
  PrimExpr start = PrimArg(call, 0), end = PrimArg(call, 1), step = PrimArg(call, 2);
  DataType dtype = AttrsOf<InitAttrs>(call.get())->dtype;
  PrimExpr n;
  auto ints = [](const PrimExpr& e) { return e.dtype().is_int(); };
  if (ints(start) && ints(end) && ints(step)) {
    DataType i64 = DataType::Int(64);
    PrimExpr s = tvm::cast(i64, start), e = tvm::cast(i64, end), d = tvm::cast(i64, step);
    if (auto v = AsInt(d)) {
      TVM_FFI_CHECK(*v != 0, ValueError) << "relax.arange expects a step other than 0";
      n = *v > 0 ? tvm::floordiv(e - s + Int64(*v - 1), Int64(*v))
                 : tvm::floordiv(s - e + Int64(-*v - 1), Int64(-*v));
    } else {
      n = tvm::ceildiv(e - s, d);
    }
    n = Simplify(ctx, tvm::max(n, Int64(0)));
  } else {
    auto value = [](const PrimExpr& e) -> std::optional<double> {
      if (const auto* f = e.as<FloatImmNode>()) return f->value;
      if (const auto* i = e.as<IntImmNode>()) return static_cast<double>(i->value);
      return std::nullopt;
    };
    auto s = value(start), e = value(end), d = value(step);
    if (!s || !e || !d) return TensorType(dtype, 1);
    TVM_FFI_CHECK(*d != 0, ValueError) << "relax.arange expects a step other than 0";
    n = Int64(static_cast<int64_t>(std::max(0.0, std::ceil((*e - *s) / *d))));
  }
  return TensorType(Array<PrimExpr>{n}, dtype);
}
Type InferTrilu(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  TVM_FFI_CHECK(x->IsUnknownNdim() || x->ndim >= 2, ValueError)
      << OpName(call) << " requires the input tensor to have at least two dimensions, but it has "
      << x->ndim;
  return call->args[0]->ty;
}
Type InferAstype(const Call& call, const BlockBuilder&) {
  return WithDtype(TensorArg(call, 0), AttrsOf<AstypeAttrs>(call.get())->dtype);
}
Type InferWindow(const Call& call, const BlockBuilder&) {
  const auto* attrs = AttrsOf<WindowAttrs>(call.get());
  return TensorType(Array<PrimExpr>{Int64(attrs->window_size)}, attrs->dtype);
}

Type InferTake(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  const auto* attrs = AttrsOf<TakeAttrs>(call.get());
  std::string_view mode(attrs->mode.data(), attrs->mode.size());
  TVM_FFI_CHECK(mode == "fast" || mode == "wrap" || mode == "clip", ValueError)
      << "relax.take expects mode to be 'fast', 'wrap' or 'clip', but got '" << attrs->mode << "'";
  Optional<Array<PrimExpr>> idx_dims;
  int idx_ndim = 0;
  if (IsPrim(call->args[1])) {
    idx_dims = Array<PrimExpr>();
    TVM_FFI_CHECK(call->args[1].dtype().is_int() || call->args[1].dtype().is_uint(), TypeError)
        << "relax.take requires its indices to be integers";
  } else {
    const auto* idx = TensorArg(call, 1);
    TVM_FFI_CHECK(
        idx->IsUnknownDtype() || idx->ElementType().is_int() || idx->ElementType().is_uint(),
        TypeError)
        << "relax.take requires the input indices to have integer dtype, but the given dtype is "
        << idx->ElementType();
    idx_dims = idx->GetShape();
    idx_ndim = idx->ndim;
  }
  int axis = 0;
  if (!attrs->axis.has_value()) {
    TVM_FFI_CHECK(x->IsUnknownNdim() || x->ndim == 1, ValueError)
        << "relax.take without an axis requires a 1-D tensor, but it has " << x->ndim
        << " dimensions";
  }
  if (x->IsUnknownNdim() || idx_ndim == kUnknownNDim) {
    return TensorType(x->ElementType(), kUnknownNDim, x->vdevice);
  }
  if (attrs->axis.has_value()) axis = NormalizeAxis(call, attrs->axis.value(), x->ndim);
  auto dims = x->GetShape();
  if (!dims.has_value() || !idx_dims.has_value()) {
    return TensorType(x->ElementType(), x->ndim - 1 + idx_ndim, x->vdevice);
  }
  CheckReadable(call, dims.value()[axis], idx_dims.value());
  Array<PrimExpr> out;
  for (int i = 0; i < x->ndim; ++i) {
    if (i == axis) {
      for (const PrimExpr& d : idx_dims.value()) out.push_back(d);
    } else {
      out.push_back(dims.value()[i]);
    }
  }
  return TensorType(ShapeExpr(out), x->ElementType(), x->vdevice);
}

/// Literal integers of a tuple-of-scalars or shape operand.
std::optional<std::vector<PrimExpr>> ScalarList(const Expr& e) {
  std::vector<PrimExpr> r;
  if (const auto* s = e.as<ShapeExprNode>()) {
    for (const PrimExpr& v : s->values) r.push_back(v);
    return r;
  }
  const auto* t = e.as<TupleNode>();
  if (t == nullptr) return std::nullopt;
  for (const Expr& f : t->fields) {
    if (!IsPrim(f)) return std::nullopt;
    r.push_back(Downcast<PrimExpr>(f));
  }
  return r;
}

/// Length of a slice after numpy's clamping.
PrimExpr SliceLength(const BlockBuilder& ctx, PrimExpr dim, PrimExpr begin, PrimExpr end,
                     PrimExpr stride, bool inbound) {
  auto d = AsInt(dim), b = AsInt(begin), e = AsInt(end), s = AsInt(stride);
  // Longer steps than any extent take the first element only; sums with them must not overflow.
  constexpr int64_t kLongest = int64_t{1} << 40;
  if (s && (*s > kLongest || *s < -kLongest)) {
    s = *s > 0 ? kLongest : -kLongest;
    stride = Int64(*s);
  }
  if (d && b && e && s) {
    SliceBounds r = ResolveSlice(*d, *b, *e, *s);
    return Int64(r.length);
  }
  PrimExpr zero = Int64(0);
  auto wrap = [&](PrimExpr v) {
    if (auto k = AsInt(v)) return *k < 0 ? dim + v : v;
    return inbound ? v : tvm::if_then_else(v < zero, v + dim, v);
  };
  PrimExpr lo = wrap(begin), hi = wrap(end);
  if (!inbound && s.value_or(1) > 0) {
    auto clamp = [&](PrimExpr v) { return tvm::max(zero, tvm::min(v, dim)); };
    lo = clamp(lo);
    hi = e && *e >= (int64_t{1} << 31) - 1 ? dim : clamp(hi);
  }
  PrimExpr n = s.value_or(1) > 0 ? tvm::floordiv(hi - lo + stride - Int64(1), stride)
                                 : tvm::floordiv(lo - hi - stride - Int64(1), Int64(0) - stride);
  return Simplify(ctx, tvm::max(n, zero));
}

Type InferStridedSlice(const Call& call, const BlockBuilder& ctx) {
  const auto* x = TensorArg(call, 0);
  auto axes = ScalarList(call->args[1]);
  auto begin = ScalarList(call->args[2]);
  auto end = ScalarList(call->args[3]);
  auto dims = x->GetShape();
  if (x->IsUnknownNdim()) return TensorType(x->ElementType(), kUnknownNDim, x->vdevice);
  if (!axes || !begin || !end || !dims.has_value()) {
    return TensorType(x->ElementType(), x->ndim, x->vdevice);
  }
  TVM_FFI_CHECK(axes->size() == begin->size() && axes->size() == end->size(), ValueError)
      << "relax.strided_slice requires axes, begin and end to have the same length, but got "
      << axes->size() << ", " << begin->size() << " and " << end->size();
  std::vector<PrimExpr> strides(axes->size(), Int64(1));
  if (HasArg(call, 4)) {
    auto given = ScalarList(call->args[4]);
    if (!given) return TensorType(x->ElementType(), x->ndim, x->vdevice);
    TVM_FFI_CHECK(given->size() == axes->size(), ValueError)
        << "relax.strided_slice requires as many strides as axes";
    strides = *given;
  }
  std::vector<PrimExpr> out(dims.value().begin(), dims.value().end());
  bool inbound = AttrsOf<StridedSliceAttrs>(call.get())->assume_inbound;
  for (size_t i = 0; i < axes->size(); ++i) {
    auto axis = AsInt((*axes)[i]);
    TVM_FFI_CHECK(axis.has_value(), ValueError) << "relax.strided_slice requires literal axes";
    int a = NormalizeAxis(call, *axis, x->ndim);
    auto stride = AsInt(strides[i]);
    TVM_FFI_CHECK(!stride || *stride != 0, ValueError)
        << "relax.strided_slice requires strides other than 0";
    DataType i64 = DataType::Int(64);
    out[a] = SliceLength(ctx, dims.value()[a], tvm::cast(i64, (*begin)[i]),
                         tvm::cast(i64, (*end)[i]), tvm::cast(i64, strides[i]), inbound);
  }
  return TensorType(ShapeExpr(Array<PrimExpr>(out.begin(), out.end())), x->ElementType(),
                    x->vdevice);
}
Type InferDynamicSlice(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  for (int i = 1; i < 4; ++i) {
    const auto* t = TensorArg(call, i);
    CheckRank(call, i, t, 1);
  }
  return TensorType(x->ElementType(), x->ndim, x->vdevice);
}

}  // namespace

SliceBounds ResolveSlice(int64_t dim, int64_t begin, int64_t end, int64_t stride) {
  auto wrap = [dim](int64_t v) { return v < 0 ? v + dim : v; };
  int64_t lo = wrap(begin), hi = wrap(end);
  if (stride > 0) {
    lo = std::min(std::max<int64_t>(lo, 0), dim);
    hi = std::min(std::max<int64_t>(hi, 0), dim);
    return {lo, stride, hi > lo ? (hi - lo - 1) / stride + 1 : 0};
  }
  lo = std::min(std::max<int64_t>(lo, -1), dim - 1);
  // An end far below zero means "through the first element".
  hi = end < -dim ? -1 : std::min(std::max<int64_t>(hi, -1), dim - 1);
  return {lo, stride, lo > hi ? 1 - (lo - hi - 1) / stride : 0};
}

static const OpRow kCreateRows[] = {
    {.name = "full",
     .args = "shape:shape, fill_value",
     .attrs = "dtype=None",
     .attrs_key = "relax.attrs.InitAttrs",
     .infer = InferFull,
     .pattern = OpPattern::kBroadcast,
     .lower = LowerFull,
     .doc = "Tensor of the given shape filled with a scalar tensor."},
    {.name = "full_like",
     .args = "x, fill_value",
     .attrs = "dtype=None",
     .attrs_key = "relax.attrs.InitAttrs",
     .infer = InferFullLike,
     .pattern = OpPattern::kBroadcast,
     .lower = LowerFullLike,
     .doc = "Tensor of the shape of x filled with a scalar tensor."},
    {.name = "ones",
     .args = "shape:shape",
     .attrs = "dtype",
     .attrs_key = "relax.attrs.InitAttrs",
     .infer = InferOnes,
     .pattern = OpPattern::kInjective,
     .lower = LowerOnes,
     .doc = "Ones."},
    {.name = "zeros",
     .args = "shape:shape",
     .attrs = "dtype",
     .attrs_key = "relax.attrs.InitAttrs",
     .infer = InferOnes,
     .pattern = OpPattern::kInjective,
     .lower = LowerZeros,
     .doc = "Zeros."},
    {.name = "ones_like",
     .args = "x",
     .attrs = "dtype=None",
     .attrs_key = "relax.attrs.InitAttrs",
     .infer = InferLike,
     .pattern = OpPattern::kInjective,
     .lower = LowerOnes,
     .samples = "f32[2,3]",
     .doc = "Ones in the shape of x."},
    {.name = "zeros_like",
     .args = "x",
     .attrs = "dtype=None",
     .attrs_key = "relax.attrs.InitAttrs",
     .infer = InferLike,
     .pattern = OpPattern::kInjective,
     .lower = LowerZeros,
     .samples = "f32[2,3]",
     .doc = "Zeros in the shape of x."},
    {.name = "eye",
     .args = "n:prim, m:prim, k:prim",
     .attrs = "dtype='float32'",
     .attrs_key = "relax.attrs.InitAttrs",
     .infer = InferEye,
     .pattern = OpPattern::kInjective,
     .lower = LowerEye,
     .doc = "Ones on the k-th diagonal of an n x m matrix."},
    {.name = "eye_like",
     .args = "x, k:prim",
     .attrs = "dtype=None",
     .attrs_key = "relax.attrs.InitAttrs",
     .infer = InferEyeLike,
     .pattern = OpPattern::kInjective,
     .lower = LowerEye,
     .doc = "Ones on the k-th diagonal, in the shape of x."},
    {.name = "arange",
     .args = "start:prim, end:prim, step:prim",
     .attrs = "dtype",
     .attrs_key = "relax.attrs.InitAttrs",
     .infer = InferArange,
     .pattern = OpPattern::kInjective,
     .lower = LowerArange,
     .doc = "start, start + step, ... below end."},
    {.name = "hamming_window",
     .args = "",
     .attrs = "window_size, periodic=True, alpha=0.54, beta=0.46, dtype='float32'",
     .attrs_key = "relax.attrs.WindowAttrs",
     .infer = InferWindow,
     .pattern = OpPattern::kInjective,
     .lower = LowerHammingWindow,
     .doc = "Hamming window."},
    {.name = "tril",
     .args = "x",
     .attrs = "k=0",
     .attrs_key = "relax.attrs.TriluAttrs",
     .infer = InferTrilu,
     .pattern = OpPattern::kInjective,
     .lower = LowerTril,
     .samples = "f32[3,4]; k=1",
     .doc = "Elements on and below the k-th diagonal, else 0."},
    {.name = "triu",
     .args = "x",
     .attrs = "k=0",
     .attrs_key = "relax.attrs.TriluAttrs",
     .infer = InferTrilu,
     .pattern = OpPattern::kInjective,
     .lower = LowerTriu,
     .samples = "f32[3,4]; k=-1",
     .doc = "Elements on and above the k-th diagonal, else 0."},
    {.name = "astype",
     .args = "x",
     .attrs = "dtype",
     .attrs_key = "relax.attrs.AstypeAttrs",
     .infer = InferAstype,
     .pattern = OpPattern::kElemWise,
     .lower = LowerAstype,
     .layout = LayoutRule::kElemWise,
     .doc = "Cast to another element type."},
    {.name = "wrap_param",
     .args = "data",
     .attrs = "dtype='float32'",
     .attrs_key = "relax.attrs.AstypeAttrs",
     .infer = InferAstype,
     .pattern = OpPattern::kElemWise,
     .lower = LowerAstype,
     .doc = "Cast of a model parameter, kept apart from casts of activations."},
    {.name = "take",
     .args = "x, indices:any",
     .attrs = "axis=None, mode='fast'",
     .attrs_key = "relax.attrs.TakeAttrs",
     .infer = InferTake,
     .pattern = OpPattern::kInjective,
     .lower = LowerTake,
     .doc = "Slices of x at the indices along an axis."},
    {.name = "strided_slice",
     .args = "x, axes:any, begin:any, end:any, strides:any?",
     .attrs = "assume_inbound=False",
     .attrs_key = "relax.attrs.StridedSliceAttrs",
     .infer = InferStridedSlice,
     .pattern = OpPattern::kInjective,
     .lower = LowerStridedSlice,
     .doc = "Every stride-th element from begin to end along the axes."},
    {.name = "dynamic_strided_slice",
     .args = "x, begin, end, strides",
     .infer = InferDynamicSlice,
     .pattern = OpPattern::kInjective,
     .data_dependent = true,
     .doc = "strided_slice whose bounds are tensors."},
};
TVM_RELAX_REGISTER_OPS(kCreateRows)

}  // namespace relax
}  // namespace tvm
