// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Activations with attributes, normalisation, attention, padding, losses, recurrences.
#include "relax/op/common.h"
#include "relax/op/lower.h"
#include "relax/op/lower_rules.h"

namespace tvm {
namespace relax {

namespace {

Type InferFloat0(const Call& call, const BlockBuilder&) {
  CheckFloat(call, TensorArg(call, 0));
  return call->args[0]->ty;
}
Type InferSoftmax(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  CheckFloat(call, x);
  if (!x->IsUnknownNdim()) NormalizeAxis(call, AttrsOf<SoftmaxAttrs>(call.get())->axis, x->ndim);
  return call->args[0]->ty;
}
Type InferPRelu(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  TensorArg(call, 1);
  if (!x->IsUnknownNdim() && x->ndim > 0) {
    NormalizeAxis(call, AttrsOf<PReluAttrs>(call.get())->axis, x->ndim);
  }
  return call->args[0]->ty;
}

/// Parameters of a normalisation must match the normalised axes.
void CheckNormParams(const Call& call, const BlockBuilder& ctx, const TensorTypeNode* x,
                     const std::vector<int>& axes, int first, int last) {
  auto dims = x->GetShape();
  for (int i = first; i < last && HasArg(call, i); ++i) {
    const auto* p = TensorArg(call, i);
    TVM_FFI_CHECK(p->IsUnknownNdim() || p->ndim == static_cast<int>(axes.size()), ValueError)
        << OpName(call) << " requires its parameter " << i << " to have " << axes.size()
        << " dimensions, but it has " << p->ndim;
    auto pd = p->GetShape();
    if (!dims.has_value() || !pd.has_value()) continue;
    for (size_t k = 0; k < axes.size(); ++k) {
      TVM_FFI_CHECK(DimsEqual(ctx, dims.value()[axes[k]], pd.value()[k]).value_or(true), ValueError)
          << OpName(call) << " requires its parameter " << i << " to have extent "
          << dims.value()[axes[k]] << " along dimension " << k << ", but it is " << pd.value()[k];
    }
  }
}

Type InferBatchNorm(const Call& call, const BlockBuilder& ctx) {
  const auto* x = TensorArg(call, 0);
  CheckFloat(call, x);
  if (!x->IsUnknownNdim()) {
    int axis = NormalizeAxis(call, AttrsOf<BatchNormAttrs>(call.get())->axis, x->ndim);
    CheckNormParams(call, ctx, x, {axis}, 1, 5);
  }
  return TupleType({call->args[0]->ty, call->args[3]->ty, call->args[4]->ty});
}
Type InferLayerNorm(const Call& call, const BlockBuilder& ctx) {
  const auto* x = TensorArg(call, 0);
  CheckFloat(call, x);
  if (!x->IsUnknownNdim()) {
    auto axes = NormalizeAxes(call, AttrsOf<LayerNormAttrs>(call.get())->axes, x->ndim);
    CheckNormParams(call, ctx, x, axes, 1, 3);
  }
  return call->args[0]->ty;
}
Type InferRMSNorm(const Call& call, const BlockBuilder& ctx) {
  const auto* x = TensorArg(call, 0);
  CheckFloat(call, x);
  if (!x->IsUnknownNdim()) {
    auto axes = NormalizeAxes(call, AttrsOf<RMSNormAttrs>(call.get())->axes, x->ndim);
    CheckNormParams(call, ctx, x, axes, 1, 2);
  }
  return call->args[0]->ty;
}
Type InferGroupNorm(const Call& call, const BlockBuilder& ctx) {
  const auto* x = TensorArg(call, 0);
  const auto* attrs = AttrsOf<GroupNormAttrs>(call.get());
  CheckFloat(call, x);
  if (!x->IsUnknownNdim()) {
    int c = NormalizeAxis(call, attrs->channel_axis, x->ndim);
    NormalizeAxes(call, attrs->axes, x->ndim);
    CheckNormParams(call, ctx, x, {c}, 1, 3);
    auto dims = x->GetShape();
    if (dims.has_value()) {
      auto v = AsInt(dims.value()[c]);
      TVM_FFI_CHECK(!v || *v % attrs->num_groups == 0, ValueError)
          << "relax.nn.group_norm requires the channels to divide by num_groups, but they are "
          << *v << " and " << attrs->num_groups;
    }
  }
  return call->args[0]->ty;
}
Type InferInstanceNorm(const Call& call, const BlockBuilder& ctx) {
  const auto* x = TensorArg(call, 0);
  const auto* attrs = AttrsOf<InstanceNormAttrs>(call.get());
  CheckFloat(call, x);
  if (!x->IsUnknownNdim()) {
    CheckNormParams(call, ctx, x, {NormalizeAxis(call, attrs->channel_axis, x->ndim)}, 1, 3);
  }
  return call->args[0]->ty;
}
Type InferDropout(const Call& call, const BlockBuilder&) {
  TensorArg(call, 0);
  return TupleType({call->args[0]->ty, call->args[0]->ty});
}

Type InferAttention(const Call& call, const BlockBuilder& ctx) {
  const auto* q = TensorArg(call, 0);
  const auto* k = TensorArg(call, 1);
  const auto* v = TensorArg(call, 2);
  for (int i = 0; i < 3; ++i) CheckRank(call, i, TensorArg(call, i), 4);
  auto qd = q->GetShape(), kd = k->GetShape(), vd = v->GetShape();
  if (!qd.has_value() || !kd.has_value() || !vd.has_value()) {
    return TensorType(q->ElementType(), 4, q->vdevice);
  }
  auto check = [&](const PrimExpr& a, const PrimExpr& b, const char* what) {
    TVM_FFI_CHECK(DimsEqual(ctx, a, b).value_or(true), ValueError)
        << OpName(call) << ": " << what << " must agree, but are " << a << " and " << b;
  };
  check(qd.value()[0], kd.value()[0], "the batch sizes of query and key");
  check(qd.value()[0], vd.value()[0], "the batch sizes of query and value");
  check(qd.value()[2], kd.value()[2], "the head counts of query and key");
  check(qd.value()[2], vd.value()[2], "the head counts of query and value");
  check(kd.value()[1], vd.value()[1], "the sequence lengths of key and value");
  check(qd.value()[3], kd.value()[3], "the head sizes of query and key");
  const OptString& mask = AttrsOf<AttentionAttrs>(call.get())->causal_mask;
  TVM_FFI_CHECK(!mask.has_value() || mask.value() == "TopLeft" || mask.value() == "BottomRight",
                ValueError)
      << OpName(call) << " expects causal_mask to be None, 'TopLeft' or 'BottomRight', but got '"
      << mask.value() << "'";
  return TensorType({qd.value()[0], qd.value()[1], qd.value()[2], vd.value()[3]}, q->ElementType(),
                    q->vdevice);
}

/// Modes that repeat the data need data to repeat, and reflection more than it mirrors.
void CheckPadWidth(const Call& call, const PadAttrs* attrs, int i, const PrimExpr& extent) {
  const int64_t before = attrs->pad_width[2 * i], after = attrs->pad_width[2 * i + 1];
  constexpr int64_t kMost = int64_t{1} << 48;
  TVM_FFI_CHECK(std::abs(before) <= kMost && std::abs(after) <= kMost, ValueError)
      << "relax.nn.pad: the widths " << before << " and " << after << " of dimension " << i
      << " are too large";
  auto n = AsInt(extent);
  if (!n) return;
  TVM_FFI_CHECK(*n + before + after >= 0, ValueError)
      << "relax.nn.pad: the widths " << before << " and " << after << " crop dimension " << i
      << " of extent " << *n << " to less than nothing";
  const int64_t most = std::max(before, after);
  if (most <= 0 || attrs->pad_mode == "constant") return;
  TVM_FFI_CHECK(*n > 0, ValueError) << "relax.nn.pad: mode '" << attrs->pad_mode
                                    << "' cannot extend dimension " << i << " of extent 0";
  TVM_FFI_CHECK(attrs->pad_mode != "reflect" || most < *n || *n == 1, ValueError)
      << "relax.nn.pad: reflecting " << most << " elements of dimension " << i
      << " needs an extent above that, but it is " << *n;
}

Type InferPad(const Call& call, const BlockBuilder& ctx) {
  const auto* x = TensorArg(call, 0);
  const auto* attrs = AttrsOf<PadAttrs>(call.get());
  if (x->IsUnknownNdim()) return TensorType(x->ElementType(), kUnknownNDim, x->vdevice);
  TVM_FFI_CHECK(static_cast<int>(attrs->pad_width.size()) == 2 * x->ndim, ValueError)
      << "relax.nn.pad expects " << 2 * x->ndim << " pad widths, but got "
      << attrs->pad_width.size();
  auto dims = x->GetShape();
  if (!dims.has_value()) return TensorType(x->ElementType(), x->ndim, x->vdevice);
  Array<PrimExpr> out;
  for (int i = 0; i < x->ndim; ++i) {
    CheckPadWidth(call, attrs, i, dims.value()[i]);
    out.push_back(Simplify(
        ctx, dims.value()[i] + Int64(attrs->pad_width[2 * i] + attrs->pad_width[2 * i + 1])));
  }
  return TensorType(ShapeExpr(out), x->ElementType(), x->vdevice);
}

Type InferCrossEntropy(const Call& call, const BlockBuilder&) {
  const auto* p = TensorArg(call, 0);
  const auto* t = TensorArg(call, 1);
  TVM_FFI_CHECK(p->IsUnknownNdim() || t->IsUnknownNdim() || p->ndim == t->ndim, ValueError)
      << "relax.nn.cross_entropy_with_logits requires predictions and labels of the same rank";
  return TensorType(Array<PrimExpr>(), p->ElementType());
}
Type InferNLLLoss(const Call& call, const BlockBuilder&) {
  const auto* p = TensorArg(call, 0);
  const auto* t = TensorArg(call, 1);
  const auto* attrs = AttrsOf<NLLLossAttrs>(call.get());
  if (attrs->reduction != "none") return TensorType(Array<PrimExpr>(), p->ElementType());
  return WithDtype(t, p->ElementType());
}

/// ValueError when an operand has not the shape that the data and the recurrent weight ask for.
void CheckLSTM(const Call& call) {
  const String& direction = AttrsOf<LSTMAttrs>(call.get())->direction;
  const bool both = direction == "bidirectional";
  TVM_FFI_CHECK(both || direction == "forward" || direction == "reverse", ValueError)
      << "relax.nn.lstm expects direction to be 'forward', 'reverse' or 'bidirectional', but got '"
      << direction << "'";
  auto xd = TensorArg(call, 0)->GetShape(), rd = TensorArg(call, 2)->GetShape();
  if (!xd.has_value() || !rd.has_value()) return;
  auto hidden = AsInt(rd.value()[2]);
  if (!hidden) return;
  const PrimExpr d = Int64(both ? 2 : 1), h = Int64(*hidden), g = Int64(4 * *hidden);
  const PrimExpr b = xd.value()[1];
  const std::vector<std::pair<const char*, Array<PrimExpr>>> want{{"weight", {d, g, xd.value()[2]}},
                                                                  {"recurrent weight", {d, g, h}},
                                                                  {"bias", {d, Int64(8 * *hidden)}},
                                                                  {"initial state", {d, b, h}},
                                                                  {"initial cell", {d, b, h}}};
  for (size_t k = 0; k < want.size(); ++k) {
    const auto* t = TensorArg(call, static_cast<int>(k) + 1);
    CheckRank(call, static_cast<int>(k) + 1, t, static_cast<int>(want[k].second.size()));
    auto dims = t->GetShape();
    for (size_t i = 0; dims.has_value() && i < dims.value().size(); ++i) {
      auto m = AsInt(want[k].second[i]), n = AsInt(dims.value()[i]);
      TVM_FFI_CHECK(!m || !n || *m == *n, ValueError)
          << "relax.nn.lstm expects extent " << *m << " in dimension " << i << " of the "
          << want[k].first << ", but got " << *n;
    }
  }
}

/// x [T, B, I]; w [D, 4H, I]; r [D, 4H, H]; b [D, 8H]; h0, c0 [D, B, H].
Type InferLSTM(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  const auto* r = TensorArg(call, 2);
  CheckRank(call, 0, x, 3);
  CheckRank(call, 2, r, 3);
  CheckFloat(call, x);
  CheckLSTM(call);
  auto xd = x->GetShape(), rd = r->GetShape();
  DataType dtype = x->ElementType();
  if (!xd.has_value() || !rd.has_value()) {
    return TupleType({TensorType(dtype, 4), TensorType(dtype, 3), TensorType(dtype, 3)});
  }
  PrimExpr t = xd.value()[0], b = xd.value()[1], d = rd.value()[0], h = rd.value()[2];
  Type state = TensorType({d, b, h}, dtype, x->vdevice);
  return TupleType({TensorType({t, d, b, h}, dtype, x->vdevice), state, state});
}

}  // namespace

static const OpRow kNNRows[] = {
    {.name = "nn.leakyrelu",
     .args = "data",
     .attrs = "alpha=0.01",
     .attrs_key = "relax.attrs.LeakyReluAttrs",
     .infer = InferFloat0,
     .pattern = OpPattern::kElemWise,
     .lower = LowerLeakyRelu,
     .layout = LayoutRule::kElemWise,
     .samples = "f32[2,3]",
     .doc = "x for positive x, else alpha * x."},
    {.name = "nn.softplus",
     .args = "data",
     .attrs = "beta=1.0, threshold=20.0",
     .attrs_key = "relax.attrs.SoftplusAttrs",
     .infer = InferFloat0,
     .pattern = OpPattern::kElemWise,
     .lower = LowerSoftplus,
     .layout = LayoutRule::kElemWise,
     .samples = "f32[2,3]",
     .doc = "log(1 + exp(beta x)) / beta; x where beta x > threshold."},
    {.name = "nn.prelu",
     .args = "data, alpha",
     .attrs = "axis=1",
     .attrs_key = "relax.attrs.PReluAttrs",
     .infer = InferPRelu,
     .pattern = OpPattern::kBroadcast,
     .lower = LowerPRelu,
     .layout = LayoutRule::kAxis,
     .samples = "f32[2,3,4] f32[3]",
     .doc = "x for positive x, else alpha[c] * x."},
    {.name = "nn.softmax",
     .args = "data",
     .attrs = "axis=-1",
     .attrs_key = "relax.attrs.SoftmaxAttrs",
     .infer = InferSoftmax,
     .pattern = OpPattern::kOutEWiseFusable,
     .lower = LowerSoftmax,
     .layout = LayoutRule::kAxis,
     .samples = "f32[2,5] | f32[2,5,3]; axis=1",
     .doc = "exp(x - max) normalised to sum 1."},
    {.name = "nn.log_softmax",
     .args = "data",
     .attrs = "axis=-1",
     .attrs_key = "relax.attrs.SoftmaxAttrs",
     .infer = InferSoftmax,
     .pattern = OpPattern::kOutEWiseFusable,
     .lower = LowerLogSoftmax,
     .layout = LayoutRule::kAxis,
     .samples = "f32[2,5]",
     .doc = "Logarithm of softmax."},
    {.name = "nn.batch_norm",
     .args = "data, gamma, beta, moving_mean, moving_var",
     .attrs = "axis, epsilon=1e-05, center=True, scale=True, momentum=0.1, training=True",
     .attrs_key = "relax.attrs.BatchNormAttrs",
     .infer = InferBatchNorm,
     .pattern = OpPattern::kOutEWiseFusable,
     .lower = LowerBatchNorm,
     .layout = LayoutRule::kAxis,
     .samples = "f32[2,3,4] f32[3] f32[3] f32[3] pos[3]; axis=1, training=False",
     .doc = "Normalisation by channel statistics; also returns the statistics."},
    {.name = "nn.layer_norm",
     .args = "data, gamma, beta",
     .attrs = "axes, epsilon=1e-05, center=True, scale=True",
     .attrs_key = "relax.attrs.LayerNormAttrs",
     .infer = InferLayerNorm,
     .pattern = OpPattern::kOutEWiseFusable,
     .lower = LowerLayerNorm,
     .samples = "f32[2,5,8] f32[8] f32[8]; axes=[-1]",
     .doc = "Normalisation over the axes."},
    {.name = "nn.group_norm",
     .args = "data, gamma, beta",
     .attrs = "num_groups, channel_axis, axes, epsilon=1e-05, center=True, scale=True",
     .attrs_key = "relax.attrs.GroupNormAttrs",
     .infer = InferGroupNorm,
     .pattern = OpPattern::kOutEWiseFusable,
     .lower = LowerGroupNorm,
     .samples = "f32[2,4,5] f32[4] f32[4]; num_groups=2, channel_axis=1, axes=[2]",
     .doc = "Normalisation over groups of channels and the axes."},
    {.name = "nn.instance_norm",
     .args = "data, gamma, beta",
     .attrs = "channel_axis, axes, epsilon=1e-05, center=True, scale=True",
     .attrs_key = "relax.attrs.InstanceNormAttrs",
     .infer = InferInstanceNorm,
     .pattern = OpPattern::kOutEWiseFusable,
     .lower = LowerInstanceNorm,
     .samples = "f32[2,4,5] f32[4] f32[4]; channel_axis=1, axes=[2]",
     .doc = "Normalisation over the axes, per channel."},
    {.name = "nn.rms_norm",
     .args = "data, weight",
     .attrs = "axes=-1, epsilon=1e-05",
     .attrs_key = "relax.attrs.RMSNormAttrs",
     .infer = InferRMSNorm,
     .pattern = OpPattern::kOutEWiseFusable,
     .lower = LowerRMSNorm,
     .samples = "f32[2,5,8] f32[8]; axes=[-1]",
     .doc = "Scaling by the root mean square."},
    {.name = "nn.dropout",
     .args = "data",
     .attrs = "rate=0.5",
     .attrs_key = "relax.attrs.DropoutAttrs",
     .infer = InferDropout,
     .lower = LowerDropout,
     .doc = "Identity in inference, with a mask of ones."},
    {.name = "nn.attention",
     .args = "query, key, value",
     .attrs = "scale=None, causal_mask=None, window_size=None",
     .attrs_key = "relax.attrs.AttentionAttrs",
     .infer = InferAttention,
     .pattern = OpPattern::kOpaque,
     .lower = LowerAttention,
     .samples = "f32[2,5,3,8] f32[2,7,3,8] f32[2,7,3,8] | "
                "f32[2,5,3,8] f32[2,5,3,8] f32[2,5,3,8]; causal_mask='TopLeft'",
     .doc = "softmax(q k^T scale) v over [batch, sequence, head, size]."},
    {.name = "nn.attention_bias",
     .args = "query, key, value, bias",
     .attrs = "scale=None, causal_mask=None, window_size=None",
     .attrs_key = "relax.attrs.AttentionAttrs",
     .infer = InferAttention,
     .pattern = OpPattern::kOpaque,
     .lower = LowerAttention,
     .samples = "f32[2,5,3,8] f32[2,7,3,8] f32[2,7,3,8] f32[2,3,5,7]",
     .doc = "Attention with a term added to the scaled products."},
    {.name = "nn.pad",
     .args = "data",
     .attrs = "pad_width, pad_value=0.0, pad_mode='constant'",
     .attrs_key = "relax.attrs.PadAttrs",
     .infer = InferPad,
     .pattern = OpPattern::kInjective,
     .lower = LowerPad,
     .samples = "f32[2,3]; pad_width=[1,0,2,1] | f32[4,5]; pad_width=[1,2,2,1], pad_mode='reflect' "
                "| f32[4,5]; pad_width=[1,2,2,1], pad_mode='replicate'",
     .doc = "Borders of constants, reflections, replicas or wrapped elements."},
    {.name = "nn.cross_entropy_with_logits",
     .args = "predictions, labels",
     .infer = InferCrossEntropy,
     .lower = LowerCrossEntropy,
     .samples = "f32[2,3] f32[2,3]",
     .doc = "-sum(predictions * labels) / batch."},
    {.name = "nn.nll_loss",
     .args = "predictions, targets, weights?",
     .attrs = "reduction='mean', ignore_index=-100",
     .attrs_key = "relax.attrs.NLLLossAttrs",
     .infer = InferNLLLoss,
     .doc = "Negative log likelihood."},
    {.name = "nn.lstm",
     .args = "data, weight, recurrent, bias, h0, c0",
     .attrs = "direction='forward', linear_before_reset=False",
     .attrs_key = "relax.attrs.LSTMAttrs",
     .infer = InferLSTM,
     .lower = LowerLSTM,
     .samples = "f32[3,2,4] f32[1,20,4] f32[1,20,5] f32[1,40] f32[1,2,5] f32[1,2,5]",
     .doc = "Long short-term memory over time, gates in the order i o f c, as in ONNX."},
};
TVM_RELAX_REGISTER_OPS(kNNRows)

}  // namespace relax
}  // namespace tvm
