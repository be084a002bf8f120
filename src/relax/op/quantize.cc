// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Numbers as integers with a scale and a zero point: quantize and dequantize.
///
///   quantize(x)   = saturate(round(x / scale) + zero_point), ties to even
///   dequantize(q) = (q - zero_point) * scale
///
/// Scale and zero point are scalars, or hold one number for each position of an axis.
#include "relax/ir/utils.h"
#include "relax/op/common.h"
#include "relax/op/lower.h"

namespace tvm {
namespace relax {

namespace {

const DataType kF32 = DataType::Float(32);

void CheckPerChannel(const Call& call, const TensorTypeNode* x, int64_t axis) {
  for (int k = 1; k <= 2; ++k) {
    const auto* t = TensorArg(call, k);
    const char* what = k == 1 ? "scale" : "zero point";
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
  CheckPerChannel(call, x, attrs->axis);
  return WithDtype(x, attrs->out_dtype);
}
Type InferDequantize(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  CheckPerChannel(call, x, AttrsOf<QuantizeAttrs>(call.get())->axis);
  return WithDtype(x, AttrsOf<QuantizeAttrs>(call.get())->out_dtype);
}

/// Scale or zero point for an output position: per tensor or per channel.
PrimExpr PerChannel(const LowerArgs& a, int k, const Array<Var>& i) {
  const te::Tensor& t = a[k];
  if (t.ndim() == 0) return t(Array<PrimExpr>());
  if (IsConstInt(t.shape()[0], 1)) return t(Int64(0));
  const int64_t axis = a.Attrs<QuantizeAttrs>().axis;
  return t(PrimExpr(i[axis < 0 ? axis + static_cast<int64_t>(i.size()) : axis]));
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
    if (!Is(a, 1, 1.0)) q = tvm::div(q, tvm::cast(kF32, PerChannel(a, 1, i)));
    if (integer) q = tvm::nearbyint(q);
    if (!Is(a, 2, 0.0)) q = q + tvm::cast(kF32, PerChannel(a, 2, i));
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
      x = tvm::cast(work, x) - tvm::cast(work, PerChannel(a, 2, i));
    }
    x = tvm::cast(kF32, x);
    if (!Is(a, 1, 1.0)) x = x * tvm::cast(kF32, PerChannel(a, 1, i));
    return tvm::cast(a.OutDtype(), x);
  })};
}

}  // namespace

static const OpRow kQuantizeRows[] = {
    {.name = "quantize",
     .args = "data, scale, zero_point",
     .attrs = "out_dtype='int8', axis=-1",
     .attrs_key = "relax.attrs.QuantizeAttrs",
     .infer = InferQuantize,
     .pattern = OpPattern::kBroadcast,
     .lower = LowerQuantize,
     .layout = LayoutRule::kAxis,
     .samples = "f32[2,3] f32[] i8[] | f32[2,3] f32[3] i8[3] | "
                "f32[2,3,4] f32[3] u8[3]; out_dtype='uint8', axis=1",
     .doc = "round(data / scale) + zero_point, saturated; ties round to even."},
    {.name = "dequantize",
     .args = "data, scale, zero_point",
     .attrs = "out_dtype='float32', axis=-1",
     .attrs_key = "relax.attrs.QuantizeAttrs",
     .infer = InferDequantize,
     .pattern = OpPattern::kBroadcast,
     .lower = LowerDequantize,
     .layout = LayoutRule::kAxis,
     .samples = "i8[2,3] f32[] i8[] | u8[2,3] f32[3] u8[3] | i32[2,3,4] f32[3] i32[3]; axis=1",
     .doc = "(data - zero_point) * scale."},
};
TVM_RELAX_REGISTER_OPS(kQuantizeRows)

}  // namespace relax
}  // namespace tvm
