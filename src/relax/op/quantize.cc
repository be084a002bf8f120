// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Numbers as integers with a scale and a zero point: quantize and dequantize.
///
///   quantize(x)   = saturate(round(x / scale) + zero_point), ties to even
///   dequantize(q) = (q - zero_point) * scale
///
/// Scale and zero point are scalars, or hold one number for each position of an axis; with a
/// block size they have the dimensions of x, with one number for each run of so many positions of
/// the axis.
#include "relax/ir/utils.h"
#include "relax/op/common.h"
#include "relax/op/lower.h"

namespace tvm {
namespace relax {

namespace {

const DataType kF32 = DataType::Float(32);

/// Scale or zero point for each run of positions along the axis.
void CheckBlocks(const Call& call, const TensorTypeNode* x, int k, const QuantizeAttrs& attrs) {
  const auto* t = TensorArg(call, k);
  if (t->IsUnknownNdim() || x->IsUnknownNdim()) return;
  CheckRank(call, k, t, x->ndim);
  const int axis = NormalizeAxis(call, attrs.axis, x->ndim);
  auto dims = t->GetStaticShape(), data = x->GetStaticShape();
  if (!dims.has_value() || !data.has_value()) return;
  for (int d = 0; d < x->ndim; ++d) {
    const int64_t extent = data.value()[d];
    const int64_t count = d == axis ? (extent + attrs.block_size - 1) / attrs.block_size : extent;
    TVM_FFI_CHECK(dims.value()[d] == count, ValueError)
        << OpName(call) << " expects " << count << " numbers for axis " << d
        << (k == 1 ? " of the scale" : " of the zero point") << " with blocks of "
        << attrs.block_size << ", but got " << dims.value()[d];
  }
}

void CheckScales(const Call& call, const TensorTypeNode* x) {
  const auto& attrs = *AttrsOf<QuantizeAttrs>(call.get());
  const int64_t axis = attrs.axis;
  TVM_FFI_CHECK(attrs.block_size >= 0, ValueError)
      << OpName(call) << " expects a block_size of at least 0, but got " << attrs.block_size;
  for (int k = 1; k <= 2; ++k) {
    const auto* t = TensorArg(call, k);
    const char* what = k == 1 ? "scale" : "zero point";
    if (attrs.block_size > 0 && t->ndim != 0) {
      CheckBlocks(call, x, k, attrs);
      continue;
    }
    TVM_FFI_CHECK(t->ndim <= 1, ValueError) << OpName(call) << " expects a " << what
                                            << " of at most one dimension, but it has " << t->ndim;
    auto dims = t->GetShape();
    if (!dims.has_value() || t->ndim != 1) continue;
    auto n = AsInt(dims.value()[0]);
    if (n.value_or(0) == 1 || x->IsUnknownNdim()) continue;
    TVM_FFI_CHECK(x->ndim > 0, ValueError)
        << OpName(call) << ": a scalar cannot have a " << what << " for each channel";
    const int at = NormalizeAxis(call, axis, x->ndim);
    auto xd = x->GetShape();
    auto extent = xd.has_value() ? AsInt(xd.value()[at]) : std::nullopt;
    TVM_FFI_CHECK(!n || !extent || *n == *extent, ValueError)
        << OpName(call) << " expects a " << what << " of 1 or " << *extent << " numbers for axis "
        << at << ", but got " << *n;
  }
}

Type InferQuantize(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  const auto* attrs = AttrsOf<QuantizeAttrs>(call.get());
  TVM_FFI_CHECK(
      attrs->out_dtype.is_int() || attrs->out_dtype.is_uint() || attrs->out_dtype.is_float8(),
      ValueError)
      << "relax.quantize cannot produce " << attrs->out_dtype;
  CheckScales(call, x);
  return WithDtype(x, attrs->out_dtype);
}
Type InferDequantize(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  CheckScales(call, x);
  return WithDtype(x, AttrsOf<QuantizeAttrs>(call.get())->out_dtype);
}

/// Scale or zero point for an output position: per tensor, per channel or per block.
PrimExpr ScaleAt(const LowerArgs& a, int k, const Array<Var>& i) {
  const te::Tensor& t = a[k];
  const auto& attrs = a.Attrs<QuantizeAttrs>();
  if (t.ndim() == 0) return t(Array<PrimExpr>());
  const int64_t axis = attrs.axis < 0 ? attrs.axis + static_cast<int64_t>(i.size()) : attrs.axis;
  if (attrs.block_size > 0) {
    Array<PrimExpr> at(i.begin(), i.end());
    at.Set(axis, tvm::floordiv(i[axis], Int64(attrs.block_size)));
    return t(at);
  }
  if (IsConstInt(t.shape()[0], 1)) return t(Int64(0));
  return t(PrimExpr(i[axis]));
}
/// Whether operand `k` is a constant, the one number `value`: then there is nothing to compute.
bool Is(const LowerArgs& a, int k, double value) {
  const auto* c = a.call->args[k].as<ConstantNode>();
  if (c == nullptr || c->data.numel() != 1) return false;
  const DataType dtype(c->data.dtype());
  const bool number = dtype.is_float() || dtype.is_int() || dtype.is_uint();
  return number && dtype.bits() >= 8 && LoadScalarAsDouble(TensorBytes(c->data), dtype) == value;
}
te::Tensor Elements(const LowerArgs& a, const std::function<PrimExpr(const Array<Var>&)>& f) {
  return te::compute(a.OutShape(), te::FCompute(f), a.BlockName(), "broadcast");
}

void LowerQuantize(LowerArgs& a) {
  const DataType out = a.Attrs<QuantizeAttrs>().out_dtype;
  const bool integer = out.is_int() || out.is_uint();
  // The largest int32 is no float32, the one below it is.
  constexpr double kLargest32 = 2147483520.0;
  const bool wide = integer && out.bits() >= 32;
  const PrimExpr low = tvm::cast(kF32, min_value(out));
  const PrimExpr high = wide ? make_const(kF32, kLargest32) : tvm::cast(kF32, max_value(out));
  a.out = {Elements(a, [&](const Array<Var>& i) {
    PrimExpr q = tvm::cast(kF32, a[0](i));
    if (!Is(a, 1, 1.0)) q = tvm::div(q, tvm::cast(kF32, ScaleAt(a, 1, i)));
    if (integer) q = tvm::nearbyint(q);
    if (!Is(a, 2, 0.0)) q = q + tvm::cast(kF32, ScaleAt(a, 2, i));
    q = tvm::max(tvm::min(q, high), low);
    return tvm::cast(out, q);
  })};
}

void LowerDequantize(LowerArgs& a) {
  a.out = {Elements(a, [&](const Array<Var>& i) {
    PrimExpr x = a[0](i);
    if (!Is(a, 2, 0.0)) {
      // int32 differences are exact for all quantised types.
      const DataType work = x.dtype().is_any_float() ? kF32 : DataType::Int(32);
      x = tvm::cast(work, x) - tvm::cast(work, ScaleAt(a, 2, i));
    }
    x = tvm::cast(kF32, x);
    if (!Is(a, 1, 1.0)) x = x * tvm::cast(kF32, ScaleAt(a, 1, i));
    return tvm::cast(a.OutDtype(), x);
  })};
}

}  // namespace

static const OpRow kQuantizeRows[] = {
    {.name = "quantize",
     .args = "data, scale, zero_point",
     .attrs = "out_dtype='int8', axis=-1, block_size=0",
     .attrs_key = "relax.attrs.QuantizeAttrs",
     .infer = InferQuantize,
     .pattern = OpPattern::kBroadcast,
     .lower = LowerQuantize,
     .layout = LayoutRule::kAxis,
     .samples = "f32[2,3] f32[] i8[] | f32[2,3] f32[3] i8[3] | "
                "f32[2,3,4] f32[3] u8[3]; out_dtype='uint8', axis=1 | "
                "f32[2,5] f32[2,2] i8[2,2]; block_size=3",
     .doc = "round(data / scale) + zero_point, saturated; ties round to even."},
    {.name = "dequantize",
     .args = "data, scale, zero_point",
     .attrs = "out_dtype='float32', axis=-1, block_size=0",
     .attrs_key = "relax.attrs.QuantizeAttrs",
     .infer = InferDequantize,
     .pattern = OpPattern::kBroadcast,
     .lower = LowerDequantize,
     .layout = LayoutRule::kAxis,
     .samples = "i8[2,3] f32[] i8[] | u8[2,3] f32[3] u8[3] | i32[2,3,4] f32[3] i32[3]; axis=1 | "
                "u8[5,2] f32[3,2] u8[3,2]; axis=0, block_size=2",
     .doc = "(data - zero_point) * scale."},
};
TVM_RELAX_REGISTER_OPS(kQuantizeRows)

}  // namespace relax
}  // namespace tvm
