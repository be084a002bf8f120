// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Convolutions, their transposes, and pooling in one, two and three dimensions.
#include <algorithm>

#include "relax/op/common.h"
#include "relax/op/lower.h"
#include "relax/op/lower_rules.h"

namespace tvm {
namespace relax {

namespace {

const char* SpatialAxes(int n) { return n == 1 ? "W" : n == 2 ? "HW" : "DHW"; }

/// Repeats a single value for every spatial dimension.
void ExpandPerDim(Ints* v, int n, const OpRow& row, const char* what) {
  if (v->size() == 1 && n > 1) {
    int64_t x = (*v)[0];
    *v = Ints(std::vector<int64_t>(n, x));
  }
  TVM_FFI_CHECK(static_cast<int>(v->size()) == n, ValueError)
      << "relax." << row.name << " expects " << what << " to have 1 or " << n << " values, but got "
      << v->size();
}
/// One value: all sides; n values: symmetric; 2n values: begins, then ends.
void ExpandPadding(Ints* v, int n, const OpRow& row) {
  if (v->size() == 1) {
    int64_t x = (*v)[0];
    *v = Ints(std::vector<int64_t>(2 * n, x));
  } else if (static_cast<int>(v->size()) == n) {
    std::vector<int64_t> both(v->begin(), v->end());
    both.insert(both.end(), v->begin(), v->end());
    *v = Ints(both);
  }
  TVM_FFI_CHECK(static_cast<int>(v->size()) == 2 * n, ValueError)
      << "relax." << row.name << " expects padding to have 1, " << n << " or " << 2 * n
      << " values, but got " << v->size();
}

int SpatialDims(const OpRow& row) {
  std::string_view name(row.name);
  return name.find("3d") != name.npos ? 3 : name.find("2d") != name.npos ? 2 : 1;
}

template <typename A>
Expr PrepareConv(Array<Expr> args, Attrs attrs, const OpRow& row) {
  auto* a = const_cast<A*>(attrs.as<A>());
  int n = SpatialDims(row);
  ExpandPerDim(&a->strides, n, row, "strides");
  ExpandPerDim(&a->dilation, n, row, "dilation");
  ExpandPadding(&a->padding, n, row);
  if constexpr (requires { a->output_padding; }) {
    ExpandPerDim(&a->output_padding, n, row, "output_padding");
  }
  TVM_FFI_CHECK(a->groups > 0, ValueError)
      << "relax." << row.name << " expects a positive number of groups, but got " << a->groups;
  if (a->out_layout.empty()) a->out_layout = a->data_layout;
  return Call(Op::Get(String(std::string("relax.") + row.name)), args, attrs);
}

template <typename A>
Expr PreparePool(Array<Expr> args, Attrs attrs, const OpRow& row) {
  auto* a = const_cast<A*>(attrs.as<A>());
  int n = SpatialDims(row);
  ExpandPerDim(&a->pool_size, n, row, "pool_size");
  ExpandPerDim(&a->strides, n, row, "strides");
  ExpandPerDim(&a->dilation, n, row, "dilation");
  ExpandPadding(&a->padding, n, row);
  if (a->out_layout.empty()) a->out_layout = a->layout;
  return Call(Op::Get(String(std::string("relax.") + row.name)), args, attrs);
}

template <typename A>
Expr PrepareAdaptive(Array<Expr> args, Attrs attrs, const OpRow& row) {
  auto* a = const_cast<A*>(attrs.as<A>());
  int n = SpatialDims(row);
  if (a->output_size.has_value()) {
    Ints size = a->output_size.value();
    ExpandPerDim(&size, n, row, "output_size");
    a->output_size = size;
  }
  if (a->out_layout.empty()) a->out_layout = a->layout;
  return Call(Op::Get(String(std::string("relax.") + row.name)), args, attrs);
}

DataType ConvDtype(const Call& call, const TensorTypeNode* x, const TensorTypeNode* w,
                   DataType given) {
  if (!given.is_void()) return given;
  if (x->IsUnknownDtype() || w->IsUnknownDtype()) return DataType::Void();
  TVM_FFI_CHECK(x->ElementType() == w->ElementType(), TypeError)
      << OpName(call) << " requires data and weight to have the same dtype when out_dtype is not "
      << "given, but got " << x->ElementType() << " and " << w->ElementType();
  return x->ElementType();
}

void CheckLayout(const Call& call, const String& layout, const char* letters) {
  std::string_view l(layout.data(), layout.size());
  std::string_view want(letters);
  bool ok = l.size() == want.size();
  for (char c : want) ok = ok && l.find(c) != l.npos;
  TVM_FFI_CHECK(ok, ValueError) << OpName(call) << " expects a layout over the axes " << letters
                                << ", but got '" << layout << "'";
}

/// Dimensions of the output in its layout from channel and spatial extents.
Array<PrimExpr> Assemble(const String& layout, const PrimExpr& n, const PrimExpr& c,
                         const std::vector<PrimExpr>& spatial, int dims) {
  std::vector<PrimExpr> out(layout.size());
  out[LayoutAxis(layout, 'N')] = n;
  out[LayoutAxis(layout, 'C')] = c;
  for (int i = 0; i < dims; ++i) out[LayoutAxis(layout, SpatialAxes(dims)[i])] = spatial[i];
  return Array<PrimExpr>(out.begin(), out.end());
}

void CheckMultiple(const Call& call, const PrimExpr& lhs, const PrimExpr& rhs, const char* what) {
  auto a = AsInt(lhs), b = AsInt(rhs);
  TVM_FFI_CHECK(!a || !b || *a == *b, ValueError)
      << OpName(call) << ": " << what << ", but they are " << lhs << " and " << rhs;
}

template <typename A, int D>
Type InferConv(const Call& call, const BlockBuilder& ctx) {
  const auto* x = TensorArg(call, 0);
  const auto* w = TensorArg(call, 1);
  const auto* a = AttrsOf<A>(call.get());
  CheckRank(call, 0, x, D + 2);
  CheckRank(call, 1, w, D + 2);
  std::string axes = SpatialAxes(D);
  CheckLayout(call, a->data_layout, ("NC" + axes).c_str());
  CheckLayout(call, a->kernel_layout, ("OI" + axes).c_str());
  CheckLayout(call, a->out_layout, ("NC" + axes).c_str());
  DataType dtype = ConvDtype(call, x, w, a->out_dtype);
  auto xd = x->GetShape(), wd = w->GetShape();
  if (!xd.has_value() || !wd.has_value()) return TensorType(dtype, D + 2, x->vdevice);
  auto X = [&](char c) { return xd.value()[LayoutAxis(a->data_layout, c)]; };
  auto W = [&](char c) { return wd.value()[LayoutAxis(a->kernel_layout, c)]; };
  CheckMultiple(call, X('C'), Simplify(ctx, W('I') * Int64(a->groups)),
                "the channels of the data must equal the input channels of the weight times the "
                "groups");
  if (auto o = AsInt(W('O'))) {
    TVM_FFI_CHECK(*o % a->groups == 0, ValueError)
        << OpName(call) << ": the output channels (" << *o << ") must divide by the groups ("
        << a->groups << ")";
  }
  std::vector<PrimExpr> spatial;
  for (int i = 0; i < D; ++i) {
    PrimExpr in = X(axes[i]) + Int64(a->padding[i] + a->padding[D + i]);
    PrimExpr k = (W(axes[i]) - Int64(1)) * Int64(a->dilation[i]) + Int64(1);
    PrimExpr out = Simplify(ctx, tvm::floordiv(in - k, Int64(a->strides[i])) + Int64(1));
    TVM_FFI_CHECK(AsInt(out).value_or(0) >= 0, ValueError)
        << OpName(call) << ": the kernel is larger than the padded input";
    spatial.push_back(out);
  }
  return TensorType(ShapeExpr(Assemble(a->out_layout, X('N'), W('O'), spatial, D)), dtype,
                    x->vdevice);
}

template <typename A, int D>
Type InferConvTranspose(const Call& call, const BlockBuilder& ctx) {
  const auto* x = TensorArg(call, 0);
  const auto* w = TensorArg(call, 1);
  const auto* a = AttrsOf<A>(call.get());
  CheckRank(call, 0, x, D + 2);
  CheckRank(call, 1, w, D + 2);
  std::string axes = SpatialAxes(D);
  CheckLayout(call, a->data_layout, ("NC" + axes).c_str());
  CheckLayout(call, a->kernel_layout, ("OI" + axes).c_str());
  CheckLayout(call, a->out_layout, ("NC" + axes).c_str());
  DataType dtype = ConvDtype(call, x, w, a->out_dtype);
  auto xd = x->GetShape(), wd = w->GetShape();
  if (!xd.has_value() || !wd.has_value()) return TensorType(dtype, D + 2, x->vdevice);
  auto X = [&](char c) { return xd.value()[LayoutAxis(a->data_layout, c)]; };
  auto W = [&](char c) { return wd.value()[LayoutAxis(a->kernel_layout, c)]; };
  CheckMultiple(call, X('C'), W('I'),
                "the channels of the data must equal the input channels of the weight");
  std::vector<PrimExpr> spatial;
  for (int i = 0; i < D; ++i) {
    TVM_FFI_CHECK(a->output_padding[i] < std::max(a->strides[i], a->dilation[i]), ValueError)
        << OpName(call) << ": output_padding must be smaller than the stride or the dilation";
    PrimExpr out =
        (X(axes[i]) - Int64(1)) * Int64(a->strides[i]) - Int64(a->padding[i] + a->padding[D + i]) +
        Int64(a->dilation[i]) * (W(axes[i]) - Int64(1)) + Int64(a->output_padding[i] + 1);
    spatial.push_back(Simplify(ctx, out));
  }
  PrimExpr channels = Simplify(ctx, W('O') * Int64(a->groups));
  return TensorType(ShapeExpr(Assemble(a->out_layout, X('N'), channels, spatial, D)), dtype,
                    x->vdevice);
}

template <typename A, int D>
Type InferPool(const Call& call, const BlockBuilder& ctx) {
  const auto* x = TensorArg(call, 0);
  const auto* a = AttrsOf<A>(call.get());
  CheckRank(call, 0, x, D + 2);
  std::string axes = SpatialAxes(D);
  CheckLayout(call, a->layout, ("NC" + axes).c_str());
  auto xd = x->GetShape();
  if (!xd.has_value()) return TensorType(x->ElementType(), D + 2, x->vdevice);
  auto X = [&](char c) { return xd.value()[LayoutAxis(a->layout, c)]; };
  std::vector<PrimExpr> spatial;
  for (int i = 0; i < D; ++i) {
    PrimExpr in = X(axes[i]) + Int64(a->padding[i] + a->padding[D + i]);
    PrimExpr numerator = in - Int64(a->dilation[i] * (a->pool_size[i] - 1) + 1);
    if (a->ceil_mode) numerator = numerator + Int64(a->strides[i] - 1);
    PrimExpr out = Simplify(ctx, tvm::floordiv(numerator, Int64(a->strides[i])) + Int64(1));
    if (a->ceil_mode) {
      // A window that starts in the end padding is dropped.
      auto o = AsInt(out), dim = AsInt(X(axes[i]));
      if (o && dim && (*o - 1) * a->strides[i] >= *dim + a->padding[i]) out = Int64(*o - 1);
    }
    spatial.push_back(out);
  }
  return TensorType(ShapeExpr(Assemble(a->out_layout, X('N'), X('C'), spatial, D)),
                    x->ElementType(), x->vdevice);
}

template <typename A, int D>
Type InferAdaptive(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  const auto* a = AttrsOf<A>(call.get());
  CheckRank(call, 0, x, D + 2);
  std::string axes = SpatialAxes(D);
  CheckLayout(call, a->layout, ("NC" + axes).c_str());
  auto xd = x->GetShape();
  if (!xd.has_value()) return TensorType(x->ElementType(), D + 2, x->vdevice);
  auto X = [&](char c) { return xd.value()[LayoutAxis(a->layout, c)]; };
  std::vector<PrimExpr> spatial;
  for (int i = 0; i < D; ++i) {
    spatial.push_back(a->output_size.has_value() ? Int64(a->output_size.value()[i]) : X(axes[i]));
  }
  return TensorType(ShapeExpr(Assemble(a->out_layout, X('N'), X('C'), spatial, D)),
                    x->ElementType(), x->vdevice);
}

}  // namespace

#define RX_CONV(D, DATA, KERNEL, SAMPLES)                                    \
  {.name = "nn.conv" #D "d",                                                 \
   .args = "data, weight",                                                   \
   .attrs = "strides=1, padding=0, dilation=1, groups=1, data_layout='" DATA \
            "', kernel_layout='" KERNEL "', out_layout='', out_dtype=None",  \
   .attrs_key = "relax.attrs.Conv" #D "DAttrs",                              \
   .infer = InferConv<Conv##D##DAttrs, D>,                                   \
   .pattern = OpPattern::kOutEWiseFusable,                                   \
   .lower = LowerConv,                                                       \
   .prepare = PrepareConv<Conv##D##DAttrs>,                                  \
   .layout = LayoutRule::kDataLayout,                                        \
   .samples = SAMPLES,                                                       \
   .doc = #D "-D convolution (cross-correlation)."}
#define RX_CONVT(D, DATA, KERNEL, SAMPLES)                                                     \
  {.name = "nn.conv" #D "d_transpose",                                                         \
   .args = "data, weight",                                                                     \
   .attrs = "strides=1, padding=0, output_padding=0, dilation=1, groups=1, data_layout='" DATA \
            "', kernel_layout='" KERNEL "', out_layout='', out_dtype=None",                    \
   .attrs_key = "relax.attrs.Conv" #D "DTransposeAttrs",                                       \
   .infer = InferConvTranspose<Conv##D##DTransposeAttrs, D>,                                   \
   .pattern = OpPattern::kOutEWiseFusable,                                                     \
   .lower = LowerConvTranspose,                                                                \
   .prepare = PrepareConv<Conv##D##DTransposeAttrs>,                                           \
   .layout = LayoutRule::kDataLayout,                                                          \
   .samples = SAMPLES,                                                                         \
   .doc = "Transpose of the " #D "-D convolution."}
#define RX_POOL(KIND, D, LAYOUT, LOWER, SAMPLES, DOC)                     \
  {.name = "nn." KIND "_pool" #D "d",                                     \
   .args = "data",                                                        \
   .attrs =                                                               \
       "pool_size=1, strides=1, padding=0, dilation=1, ceil_mode=False, " \
       "count_include_pad=False, layout='" LAYOUT "', out_layout=''",     \
   .attrs_key = "relax.attrs.Pool" #D "DAttrs",                           \
   .infer = InferPool<Pool##D##DAttrs, D>,                                \
   .pattern = OpPattern::kOutEWiseFusable,                                \
   .lower = LOWER,                                                        \
   .prepare = PreparePool<Pool##D##DAttrs>,                               \
   .layout = LayoutRule::kDataLayout,                                     \
   .samples = SAMPLES,                                                    \
   .doc = DOC}
#define RX_ADAPTIVE(D, LAYOUT, SAMPLES)                             \
  {.name = "nn.adaptive_avg_pool" #D "d",                           \
   .args = "data",                                                  \
   .attrs = "output_size=None, layout='" LAYOUT "', out_layout=''", \
   .attrs_key = "relax.attrs.AdaptivePool" #D "DAttrs",             \
   .infer = InferAdaptive<AdaptivePool##D##DAttrs, D>,              \
   .pattern = OpPattern::kOutEWiseFusable,                          \
   .lower = LowerAdaptiveAvgPool,                                   \
   .prepare = PrepareAdaptive<AdaptivePool##D##DAttrs>,             \
   .layout = LayoutRule::kDataLayout,                               \
   .samples = SAMPLES,                                              \
   .doc = "Mean over windows that divide the input into output_size parts."}

static const OpRow kConvRows[] = {
    RX_CONV(1, "NCW", "OIW",
            "f32[2,4,9] f32[6,4,3]; padding=1 | "
            "f32[1,4,9] f32[6,2,3]; groups=2, strides=2, dilation=2, padding=[1,2]"),
    RX_CONV(2, "NCHW", "OIHW",
            "f32[1,3,8,9] f32[5,3,3,3] | f32[2,4,8,8] f32[6,2,3,3]; groups=2, padding=1 | "
            "f32[1,3,9,8] f32[5,3,3,2]; strides=[2,1], padding=[0,1,2,1], dilation=[1,2] | "
            "f32[1,4,6,6] f32[4,1,3,3]; groups=4, padding=1 | "
            "f32[1,40,6,5] f32[20,2,3,3]; groups=20, padding=1 | "
            "f32[2,18,5,6] f32[36,1,3,3]; groups=18, strides=2, padding=1"),
    RX_CONV(3, "NCDHW", "OIDHW", "f32[1,2,5,6,7] f32[3,2,2,3,3]; padding=1"),
    RX_CONVT(1, "NCW", "IOW", "f32[1,4,5] f32[4,3,3]; strides=2, padding=1, output_padding=1"),
    RX_CONVT(2, "NCHW", "IOHW",
             "f32[1,4,5,4] f32[4,3,2,2]; strides=2 | "
             "f32[1,4,5,4] f32[4,3,3,3]; strides=2, padding=1, output_padding=1, groups=2"),
    RX_CONVT(3, "NCDHW", "IODHW", "f32[1,2,3,3,3] f32[2,3,2,2,2]; strides=2"),
    RX_POOL("max", 1, "NCW", LowerMaxPool, "f32[1,3,9]; pool_size=3, strides=2", "Window maximum."),
    RX_POOL("max", 2, "NCHW", LowerMaxPool,
            "f32[1,3,8,9]; pool_size=3, strides=2, padding=1 | "
            "f32[1,3,8,9]; pool_size=[2,2], strides=[2,2], ceil_mode=True",
            "Window maximum."),
    RX_POOL("max", 3, "NCDHW", LowerMaxPool, "f32[1,2,4,5,6]; pool_size=2, strides=2",
            "Window maximum."),
    RX_POOL("avg", 1, "NCW", LowerAvgPool, "f32[1,3,9]; pool_size=3, strides=2", "Window mean."),
    RX_POOL("avg", 2, "NCHW", LowerAvgPool,
            "f32[1,3,8,9]; pool_size=3, strides=2, padding=1 | "
            "f32[1,3,8,9]; pool_size=3, strides=2, padding=1, count_include_pad=True",
            "Window mean."),
    RX_POOL("avg", 3, "NCDHW", LowerAvgPool, "f32[1,2,4,5,6]; pool_size=2, strides=2",
            "Window mean."),
    RX_ADAPTIVE(1, "NCW", "f32[1,3,9]; output_size=[4]"),
    RX_ADAPTIVE(2, "NCHW", "f32[1,3,8,9]; output_size=[1,1] | f32[1,3,7,9]; output_size=[3,2]"),
    RX_ADAPTIVE(3, "NCDHW", "f32[1,2,4,5,6]; output_size=[2,2,2]"),
};
TVM_RELAX_REGISTER_OPS(kConvRows)

#undef RX_CONV
#undef RX_CONVT
#undef RX_POOL
#undef RX_ADAPTIVE

}  // namespace relax
}  // namespace tvm
