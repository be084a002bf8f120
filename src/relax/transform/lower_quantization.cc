// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief LowerQuantization: arithmetic between dequantize and quantize becomes integer arithmetic.
///
///   y = R.nn.conv2d(R.dequantize(x, sx, zx), R.dequantize(W, sw, 0)); z = R.quantize(y, sy, zy)
///     =>  acc = R.nn.conv2d(x, W, out_dtype="int32") + (bias - zx * sums of W)
///         z = R.quantize(R.astype(acc, "float32") * (sx * sw / sy), 1, zy)
///
/// Products and convolutions with constant weights of 8 bits are done on integers; the zero point
/// of the data, times the sums of the weight, goes into the int32 bias, and a border holds the
/// zero point. Scales meet in one factor for each channel. What only moves elements (reshape,
/// transpose, concat, maximum pooling) is done before dequantize and before it is undone. All the
/// rest stays as it is, in float32: both ends fuse with what is between them.
///
/// Depthwise convolutions take a float32 weight of whole numbers, and sum exactly in float32.
///
///   R.matmul(x, R.dequantize(W, s, z))    (x of floats)
///     =>  R.nn.low_bit_matmul(x, bits of W, s, z)
///   R.nn.conv2d(x, R.dequantize(W, s, z)) =>  R.nn.conv2d(x, W - z, out_dtype="float32") * s
///
/// so that constant weights keep their 4 or 8 bits; scales of a product may be those of blocks.
///
///   R.matmul(R.astype(x, "int32") - zx, R.astype(W, "int32") - zw)    (zx known at run time only)
///     =>  R.matmul(x, W, out_dtype="int32") - zx * sums of W
///
/// One mutator, hence a long file: each rewrite uses what the others found out about values.
#include <tvm/relax/analysis.h>
#include <tvm/relax/attrs.h>
#include <tvm/relax/expr_functor.h>
#include <tvm/relax/op_row.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "relax/ir/utils.h"
#include "relax/op/call_like.h"
#include "relax/op/common.h"
#include "relax/transform/const_eval.h"
#include "relax/transform/quantized_values.h"
#include "relax/transform/quantized_weight.h"
#include "relax/transform/utils.h"

namespace tvm {
namespace relax {
namespace transform {

namespace {

const DataType kF32 = DataType::Float(32);
const DataType kI32 = DataType::Int(32);

/// The result has the elements of operand 0, or of a tuple, each as it is.
bool MovesElements(const CallNode* call) {
  static const std::unordered_set<std::string_view> kMoves{
      "reshape",      "permute_dims",  "expand_dims",   "squeeze",       "flatten",
      "broadcast_to", "strided_slice", "take",          "concat",        "nn.batch_flatten",
      "flip",         "nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d", "tile"};
  return kMoves.count(NameOf(call)) != 0;
}
/// Products of 8 bits over `depth` elements fit an int32.
bool SumFits(int64_t depth) { return depth < (int64_t{1} << 31) / (256 * 128); }

class QuantizationLowering : public QuantizedMutator {
 public:
  using QuantizedMutator::QuantizedMutator;

  Function Run(const Function& func) {
    CountUses(func);
    return Downcast<Function>(VisitExpr(func));
  }

  void VisitVarBinding(const VarBindingNode* b) override {
    const auto* call = b->value.as<CallNode>();
    const bool alias = b->value.as<VarNode>() != nullptr;
    if (!alias && (call == nullptr || NameOf(call).empty())) {
      return ExprMutator::VisitVarBinding(b);
    }
    Expr value = alias ? VisitExpr(b->value) : Rewrite(Downcast<Call>(VisitExprPostOrder(call)));
    if (const auto* same = value.as<VarNode>(); same != nullptr && b->var.as<DataflowVarNode>()) {
      uses_[same] += uses_[b->var.get()] - 1;
      var_remap_[b->var.get()] = value;
      return;
    }
    ReEmit(b, value);
    Var var = Downcast<Var>(VisitExpr(b->var));
    uses_[var.get()] = uses_[b->var.get()];
    place_[var.get()] = ++bindings_;
    Learn(var, value);
  }

 private:
  static Expr Astype(const Expr& e, DataType dtype) {
    return MakeOp("astype", {e}, {{"dtype", ffi::Any(dtype)}});
  }
  Expr Cast(const Expr& e, DataType dtype) {
    return DtypeOf(e) == dtype ? e : Expr(Emit(Astype(e, dtype)));
  }
  Expr Dequantize(const Expr& q, const Expr& scale, const Expr& zero, int axis, int64_t block = 0) {
    return MakeOp("dequantize", {q, scale, zero},
                  {{"out_dtype", ffi::Any(kF32)},
                   {"axis", static_cast<int64_t>(axis)},
                   {"block_size", block}});
  }
  Expr AddOffset(const Scaled& s) {
    if (std::all_of(s.offset.begin(), s.offset.end(), [](int64_t o) { return o == 0; })) {
      return s.raw;
    }
    Expr offset = ChannelConstant(s.offset, s.rank, s.axis);
    if (DtypeOf(s.raw) == kF32) {
      offset =
          ChannelConstant(std::vector<float>(s.offset.begin(), s.offset.end()), s.rank, s.axis);
    }
    return Emit(MakeOp("add", {s.raw, offset}));
  }
  /// float(raw + offset) * (scale / unit), not bound yet.
  Expr InFloat(const Scaled& s, double unit) {
    std::vector<float> factors = s.scale;
    if (unit != 1) {
      for (float& f : factors) f = f / static_cast<float>(unit);
    }
    Expr value = Cast(AddOffset(s), kF32);
    return MakeOp("multiply", {value, ChannelConstant(factors, s.rank, s.axis)});
  }
  Expr FromInteger(Scaled s) {
    Expr value = Normal(InFloat(s, 1));
    LearnNext(std::move(s));
    return value;
  }

  // ---- rewriting ----
  Expr Rewrite(const Call& call) {
    const std::string_view name = NameOf(call.get());
    Optional<Expr> result;
    if (name == "quantize") {
      result = Requantize(call);
    } else if (name == "nn.conv2d") {
      result = DtypeOf(call) == kI32 ? ConvOfShifted(call) : Conv(call);
    } else if (name == "matmul") {
      result = DtypeOf(call) == kI32 ? MatmulOfShifted(call) : Matmul(call);
    } else if (name == "add") {
      result = AddBias(call);
    } else if (name == "nn.relu") {
      result = Relu(call);
    } else if (MovesElements(call.get())) {
      result = MoveIntegers(call);
    }
    return result.has_value() ? Normal(result.value()) : Expr(call);
  }

  static bool IsPlainLayout(const Conv2DAttrs* attrs) {
    return attrs->data_layout == "NCHW" && attrs->out_layout == "NCHW" &&
           attrs->kernel_layout == "OIHW";
  }
  static bool HasBorder(const Ints& padding) {
    return (padding[0] | padding[1] | padding[2] | padding[3]) != 0;
  }
  static Expr PadImage(const Expr& x, const Ints& padding, int64_t value) {
    const Ints width{0, 0, 0, 0, padding[0], padding[2], padding[1], padding[3]};
    return MakeOp("nn.pad", {x}, {{"pad_width", width}, {"pad_value", static_cast<double>(value)}});
  }
  /// The convolution of integers with another padding. One channel at a time the sums are small
  /// enough to be exact in float32, which is faster there.
  Expr IntegerConv(const Conv2DAttrs* attrs, const Expr& x, Expr weight, const Ints& padding,
                   bool may_be_float = false) {
    constexpr int64_t kExactTaps = (1 << 24) / (255 * 128);
    const auto shape = weight.as<ConstantNode>()->data.shape();
    DataType sum = kI32;
    if (may_be_float && attrs->groups > 1 && shape[1] == 1 && shape[0] == attrs->groups &&
        shape[2] * shape[3] <= kExactTaps) {
      sum = kF32;
      weight = EvalOnHost(Downcast<Call>(Normal(Astype(weight, kF32)))).value();
    }
    return Emit(MakeOp("nn.conv2d", {x, weight},
                       {{"strides", attrs->strides},
                        {"padding", padding},
                        {"dilation", attrs->dilation},
                        {"groups", attrs->groups},
                        {"out_dtype", ffi::Any(sum)}}));
  }

  Optional<Expr> Conv(const Call& call) {
    const auto* attrs = AttrsOf<Conv2DAttrs>(call.get());
    const Quantized* x = FindQuantized(call->args[0]);
    const Quantized* w = FindQuantized(call->args[1]);
    if (w == nullptr || !IsPlainLayout(attrs) || !w->varies_along(0) || DtypeOf(call) != kF32) {
      return std::nullopt;
    }
    if (x == nullptr || !x->per_tensor()) return WeightOnlyConv(call, *w);
    auto weight = PrepareWeight(w->q, w->zeros, 0, false);
    if (!weight) return WeightOnlyConv(call, *w);
    const auto channels = static_cast<int64_t>(weight->sums.size());
    const int64_t depth = weight->value.as<ConstantNode>()->data.numel() / channels;
    if (!SumFits(depth)) return std::nullopt;

    const int64_t zero = x->zeros[0];
    Expr data = x->q;
    Ints padding = attrs->padding;
    if (zero != 0 && HasBorder(padding)) {
      data = Emit(PadImage(data, padding, zero));
      padding = Ints{0, 0, 0, 0};
    }
    Scaled s{IntegerConv(attrs, data, weight->value, padding, true),
             {},
             Factors(x->scales[0], w->scales, weight->sums.size()),
             4,
             1};
    for (int64_t sum : weight->sums) s.offset.push_back(-zero * sum);
    return FromInteger(std::move(s));
  }

  /// A convolution of floats with a weight that stays as small as it is.
  Optional<Expr> WeightOnlyConv(const Call& call, const Quantized& w) {
    const auto* attrs = AttrsOf<Conv2DAttrs>(call.get());
    // What has a weight for each channel alone is small, and has rules for float32 only.
    if (attrs->groups > 1 || DtypeOf(call->args[0]) != kF32) return std::nullopt;
    auto weight = CenterWeight(w.q, w.zeros, 0);
    if (!weight) return std::nullopt;
    Expr raw = Emit(MakeOp("nn.conv2d", {call->args[0], *weight},
                           {{"strides", attrs->strides},
                            {"padding", attrs->padding},
                            {"dilation", attrs->dilation},
                            {"out_dtype", ffi::Any(kF32)}}));
    const std::vector<float> scales(w.scales.begin(), w.scales.end());
    return MakeOp("multiply", {raw, ChannelConstant(scales, 4, 1)});
  }

  /// A convolution of differences; the zero point of the data may be known at run time only.
  Optional<Expr> ConvOfShifted(const Call& call) {
    const auto* attrs = AttrsOf<Conv2DAttrs>(call.get());
    const Shifted* x = FindShifted(call->args[0]);
    const Shifted* w = FindShifted(call->args[1]);
    if (x == nullptr || w == nullptr || !IsPlainLayout(attrs)) return std::nullopt;
    const auto* image = x->q->ty.as<TensorTypeNode>();
    if (!image->GetStaticShape().has_value()) return std::nullopt;
    auto zeros = ZerosOf(*w);
    if (!zeros || (x->zero.defined() && !IsScalar(x->zero))) return std::nullopt;
    auto weight = PrepareWeight(w->q, *zeros, 0, false);
    if (!weight) return std::nullopt;
    const int64_t depth =
        weight->value.as<ConstantNode>()->data.numel() / static_cast<int64_t>(weight->sums.size());
    if (!SumFits(depth)) return std::nullopt;
    if (!x->zero.defined()) return IntegerConv(attrs, x->q, weight->value, attrs->padding);
    Expr data = x->q;
    if (HasBorder(attrs->padding)) data = Bordered(*x, attrs->padding);
    Expr raw = IntegerConv(attrs, data, weight->value, Ints{0, 0, 0, 0});
    Expr sums = ChannelConstant(weight->sums, 4, 1);
    return MakeOp("subtract", {raw, Emit(MakeOp("multiply", {x->zero, sums}))});
  }
  /// An image with a border of its zero point: padded, then chosen where the border is.
  Expr Bordered(const Shifted& x, const Ints& padding) {
    Expr zero = Cast(Emit(MakeOp("reshape", {x.zero, ShapeExpr(Array<PrimExpr>())})), DtypeOf(x.q));
    return Emit(MakeOp("where", {InsideOf(x.q, padding), Emit(PadImage(x.q, padding, 0)), zero}));
  }
  static bool IsScalar(const Expr& e) {
    const auto* ty = e->ty.as<TensorTypeNode>();
    auto dims = ty == nullptr ? std::nullopt : ty->GetStaticShape();
    if (!dims.has_value() || dims.value().size() > 1) return false;
    return dims.value().empty() || dims.value()[0] == 1;
  }
  /// The constant zero points of a weight, none being 0.
  std::optional<std::vector<int64_t>> ZerosOf(const Shifted& w) {
    if (!w.zero.defined()) return std::vector<int64_t>{0};
    Optional<Expr> known = ConstantOf(w.zero);
    return known.has_value() ? IntegersOf(known.value()) : std::nullopt;
  }

  static std::vector<float> Factors(double scale, const std::vector<double>& scales, size_t count) {
    std::vector<float> factors;
    for (size_t c = 0; c < count; ++c) {
      const double other = scales.size() == 1 ? scales[0] : scales[c];
      factors.push_back(static_cast<float>(scale) * static_cast<float>(other));
    }
    return factors;
  }

  Optional<Expr> Matmul(const Call& call) {
    const Quantized* x = FindQuantized(call->args[0]);
    const Quantized* w = FindQuantized(call->args[1]);
    if (w == nullptr || DtypeOf(call) != kF32) return std::nullopt;
    const int rank = RankOf(call->args[0]);
    if (RankOf(w->q) != 2 || rank < 2) return std::nullopt;
    if (x == nullptr || !x->per_tensor() || !w->varies_along(1)) return WeightOnlyMatmul(call, *w);
    auto weight = PrepareWeight(w->q, w->zeros, 1, true);
    if (!weight) return std::nullopt;
    const size_t columns = weight->sums.size();
    const int64_t depth =
        weight->value.as<ConstantNode>()->data.numel() / static_cast<int64_t>(columns);
    if (!SumFits(depth)) return std::nullopt;
    const int64_t zero = x->zeros[0];
    Scaled s{Product(x->q, *weight, rank),
             {},
             Factors(x->scales[0], w->scales, columns),
             rank,
             rank - 1};
    for (size_t c = 0; c < columns; ++c) {
      const int64_t left = weight->zeros.empty() ? 0 : depth * zero * weight->zeros[c];
      s.offset.push_back(left - zero * weight->sums[c]);
    }
    return FromInteger(std::move(s));
  }

  /// A product of floats with a weight that stays as small as it is.
  Optional<Expr> WeightOnlyMatmul(const Call& call, const Quantized& w) {
    if (DtypeOf(call->args[0]) != kF32) return std::nullopt;
    if (!w.varies_along(1) && (w.block == 0 || w.axis != 0)) return std::nullopt;
    const auto key = std::make_tuple(w.q.get(), w.scale.get(), w.zero.get(), w.block);
    auto it = low_bits_.find(key);
    if (it == low_bits_.end()) {
      auto packed = PackLowBits(w.q, w.scales, w.zeros, w.block);
      if (!packed) return std::nullopt;
      kept_.insert(kept_.end(), {w.q, w.scale, w.zero});
      it = low_bits_.emplace(key, *packed).first;
    }
    const LowBitWeight& packed = it->second;
    return MakeOp("nn.low_bit_matmul", {call->args[0], packed.weight, packed.scale, packed.zero},
                  {{"bits", packed.bits}, {"block_size", packed.block}});
  }

  /// The product of integers, less what the weight's zero points left make of the rows' sums.
  Expr Product(const Expr& q, const IntegerWeight& weight, int rank) {
    Expr raw = Emit(MakeOp("matmul", {q, weight.value}, {{"out_dtype", ffi::Any(kI32)}}));
    if (weight.zeros.empty()) return raw;
    Expr sums = Emit(MakeOp("sum", {Cast(q, kI32)}, {{"axis", Ints{-1}}, {"keepdims", true}}));
    Expr left = Emit(MakeOp("multiply", {sums, ChannelConstant(weight.zeros, rank, rank - 1)}));
    return Emit(MakeOp("subtract", {raw, left}));
  }

  /// A product of differences whose zero points may be known at run time only.
  Optional<Expr> MatmulOfShifted(const Call& call) {
    const Shifted* x = FindShifted(call->args[0]);
    const Shifted* w = FindShifted(call->args[1]);
    const int rank = RankOf(call->args[0]);
    if (x == nullptr || w == nullptr || RankOf(w->q) != 2 || rank < 2) return std::nullopt;
    auto zeros = ZerosOf(*w);
    // A matrix of zero points has one for each row.
    if (!zeros || (w->zero.defined() && RankOf(w->zero) > 1)) return std::nullopt;
    std::optional<int64_t> zero = 0;
    if (x->zero.defined()) {
      if (!IsScalar(x->zero)) return std::nullopt;
      Optional<Expr> known = ConstantOf(x->zero);
      zero = known.has_value() ? std::optional(IntegersOf(known.value())->at(0)) : std::nullopt;
    }
    auto weight = PrepareWeight(w->q, *zeros, 1, zero.has_value());
    if (!weight) return std::nullopt;
    const size_t columns = weight->sums.size();
    const int64_t depth =
        weight->value.as<ConstantNode>()->data.numel() / static_cast<int64_t>(columns);
    if (!SumFits(depth)) return std::nullopt;
    Expr raw = Product(x->q, *weight, rank);
    if (!zero) {
      Expr sums = ChannelConstant(weight->sums, 1, 0);
      return MakeOp("subtract", {raw, Emit(MakeOp("multiply", {x->zero, sums}))});
    }
    Scaled s{raw, {}, {}, rank, rank - 1};
    for (size_t c = 0; c < columns; ++c) {
      const int64_t left = weight->zeros.empty() ? 0 : depth * *zero * weight->zeros[c];
      s.offset.push_back(left - *zero * weight->sums[c]);
    }
    return AddOffset(s);
  }

  /// A constant bias in units of the accumulator, as integers.
  Optional<Expr> AddBias(const Call& call) {
    const Scaled* y = FindScaled(call->args[0]);
    Expr other = call->args[1];
    if (y == nullptr) {
      y = FindScaled(call->args[1]);
      other = call->args[0];
    }
    if (y == nullptr) return std::nullopt;
    Optional<Expr> bias = ConstantOf(other);
    if (!bias.has_value() || RankOf(bias.value()) > y->rank) return std::nullopt;
    const auto* data = bias.value().as<ConstantNode>();
    if (data == nullptr || DtypeOf(bias.value()) != kF32) return std::nullopt;
    const int64_t count = data->data.numel();
    const int at = y->axis - (y->rank - data->data.ndim());
    const bool channels = at >= 0 && data->data.shape()[at] == count &&
                          count == static_cast<int64_t>(y->scale.size());
    if (count != 1 && !channels) return std::nullopt;
    const std::vector<double> values = *NumbersOf(bias.value());
    Scaled sum = *y;
    for (size_t c = 0; c < sum.scale.size(); ++c) {
      const double units = values[channels ? c : 0] / static_cast<double>(sum.scale[c]);
      if (!(std::fabs(units) < 1 << 30)) return std::nullopt;
      sum.offset[c] += static_cast<int64_t>(std::nearbyint(units));
      if (std::abs(sum.offset[c]) >= int64_t{1} << 30) return std::nullopt;
    }
    return FromInteger(std::move(sum));
  }

  Optional<Expr> Relu(const Call& call) {
    const Quantized* x = FindQuantized(call->args[0]);
    if (x == nullptr || !x->per_tensor() || !x->ordered()) return std::nullopt;
    Expr q = Emit(MakeOp("maximum", {x->q, Reshaped(x->zero)}));
    return Dequantize(q, x->scale, x->zero, 0);
  }
  /// A constant of one element as a scalar, which broadcasts to any rank.
  static Expr Reshaped(const Expr& e) {
    return Constant(ReshapeTensor(e.as<ConstantNode>()->data, {}));
  }

  Optional<Expr> MoveIntegers(const Call& call) {
    const auto* tuple = call->args[0].as<TupleNode>();
    Expr first =
        tuple == nullptr ? call->args[0] : (tuple->fields.empty() ? Expr() : tuple->fields[0]);
    if (!first.defined()) return std::nullopt;
    const Quantized* found = FindQuantized(first);
    if (found == nullptr) return std::nullopt;
    Quantized x = *found;
    const bool pools = NameOf(call.get()).substr(0, 11) == "nn.max_pool";
    if (pools && !x.ordered()) return std::nullopt;
    int axis = 0;
    if (!x.per_tensor()) {
      if (!call->op.same_as(TVM_RX_OP("permute_dims"))) return std::nullopt;
      axis = MovedAxis(call.get(), x.axis, RankOf(first));
      for (Expr* each : {&x.scale, &x.zero}) {
        if (RankOf(*each) < 2) continue;  // those of blocks have all dimensions
        Optional<Expr> moved =
            EvalOnHost(Downcast<Call>(Normal(CallWithArgs(call.get(), {*each}))));
        if (!moved.has_value()) return std::nullopt;
        *each = moved.value();
      }
    }
    Array<Expr> args = call->args;
    if (tuple != nullptr) {
      Array<Expr> fields;
      for (const Expr& f : tuple->fields) {
        const Quantized* each = FindQuantized(f);
        if (each == nullptr || DtypeOf(each->q) != DtypeOf(x.q)) return std::nullopt;
        if (each->scales != x.scales || each->zeros != x.zeros) return std::nullopt;
        fields.push_back(each->q);
      }
      args.Set(0, Tuple(fields));
    } else {
      args.Set(0, x.q);
    }
    Call moved = Downcast<Call>(Normal(CallWithArgs(call.get(), args)));
    Optional<Expr> known = x.q.as<ConstantNode>() ? EvalOnHost(moved) : std::nullopt;
    Expr q = known.has_value() ? known.value() : Expr(Emit(moved));
    return Dequantize(q, x.scale, x.zero, axis, x.block);
  }
  static int MovedAxis(const CallNode* call, int axis, int rank) {
    const OptInts& axes = AttrsOf<PermuteDimsAttrs>(call)->axes;
    if (!axes.has_value()) return rank - 1 - axis;
    for (int d = 0; d < rank; ++d) {
      const int64_t from = axes.value()[d];
      if ((from < 0 ? from + rank : from) == axis) return d;
    }
    return axis;
  }

  Optional<Expr> Requantize(const Call& call) {
    Expr x = call->args[0];
    const Expr &scale = call->args[1], &zero = call->args[2];
    auto scales = NumbersOf(scale);
    auto zeros = IntegersOf(zero);
    if (!scales || scales->size() != 1 || !zeros || zeros->size() != 1 || !(scales->at(0) > 0)) {
      return std::nullopt;
    }
    if (!IsByte(call) || DtypeOf(x) != kF32) return std::nullopt;
    if (const Quantized* same = FindQuantized(x); same != nullptr && same->per_tensor()) {
      if (DtypeOf(same->q) == DtypeOf(call) && SameConstant(same->scale, scale) &&
          SameConstant(same->zero, zero)) {
        return same->q;
      }
    }
    if (const CallNode* move = OnlyUse(x); move != nullptr && MovesElements(move)) {
      return BeforeMove(call, move);
    }
    // Where the zero point is the least number, saturation does what relu does.
    const int64_t least = DtypeOf(call).is_uint() ? 0 : -128;
    for (const CallNode* relu = OnlyUse(x); relu != nullptr && zeros->at(0) == least;
         relu = OnlyUse(x)) {
      if (!relu->op.same_as(TVM_RX_OP("nn.relu"))) break;
      x = relu->args[0];
    }
    Optional<Expr> units = InUnits(x, scales->at(0));
    if (!units.has_value()) return std::nullopt;
    return MakeOp("quantize", {Emit(units.value()), ScalarConstant(1), zero},
                  {{"out_dtype", ffi::Any(DtypeOf(call))}});
  }

  /// quantize(move(x)) => move(quantize(x))
  Expr BeforeMove(const Call& call, const CallNode* move) {
    auto quantized = [&](const Expr& e) -> Expr {
      Expr each = Rewrite(
          Downcast<Call>(Normal(CallWithArgs(call.get(), {e, call->args[1], call->args[2]}))));
      return each.as<VarNode>() ? each : Expr(Emit(each));
    };
    Array<Expr> args = move->args;
    if (const auto* tuple = args[0].as<TupleNode>()) {
      args.Set(0, Tuple(tuple->fields.Map(quantized)));
    } else {
      args.Set(0, quantized(args[0]));
    }
    return CallWithArgs(move, args);
  }

  /// x / unit, as an operation on integers where x comes from some; nullopt if it does not. Unless
  /// `fuses`, these integers go through memory.
  Optional<Expr> InUnits(const Expr& x, double unit, bool fuses = true) {
    if (const Scaled* s = FindScaled(x)) return InFloat(*s, unit);
    if (const Quantized* q = FindQuantized(x); q != nullptr && q->per_tensor()) {
      const float factor = static_cast<float>(q->scales[0]) / static_cast<float>(unit);
      if (Optional<Expr> rounded = fuses ? RoundedInFloat(*q, x) : Optional<Expr>()) {
        return MakeOp("multiply", {rounded.value(), ScalarConstant(factor)});
      }
      return Dequantize(q->q, ScalarConstant(factor), q->zero, 0);
    }
    const CallNode* call = OnlyUse(x);
    if (call == nullptr) return std::nullopt;
    const std::string_view name = NameOf(call);
    if (name == "nn.relu") {
      Optional<Expr> inner = InUnits(call->args[0], unit);
      if (!inner.has_value()) return std::nullopt;
      return MakeOp("nn.relu", {Emit(inner.value())});
    }
    if (name == "maximum" || name == "minimum") {
      auto limit = NumbersOf(call->args[1]);
      if (!limit || limit->size() != 1 || RankOf(call->args[1]) != 0) return std::nullopt;
      Optional<Expr> inner = InUnits(call->args[0], unit);
      if (!inner.has_value()) return std::nullopt;
      return MakeOp(name, {Emit(inner.value()), ScalarConstant(limit->at(0) / unit)});
    }
    if (name == "add" && IsInteger(call->args[0]) && IsInteger(call->args[1])) {
      // One kernel also adds: that of the operand computed first, unless its integers are needed
      // elsewhere too. The other operand is best narrow in memory.
      const Expr &left = call->args[0], &right = call->args[1];
      const int64_t first = PlaceOf(left), second = PlaceOf(right);
      const bool rounds_left = first <= second || second < 0 || RoundedOnly(right) == nullptr;
      const bool rounds_right = second < first || first < 0 || RoundedOnly(left) == nullptr;
      Expr a = Emit(InUnits(left, unit, rounds_left).value());
      return MakeOp("add", {a, Emit(InUnits(right, unit, rounds_right).value())});
    }
    return std::nullopt;
  }
  /// The quantize(v, 1, zero) in dequantize(quantize(v, 1, zero), 1, zero), where nothing else
  /// reads the integers; null for other values.
  const CallNode* RoundedOnly(const Expr& x) {
    const Quantized* q = FindQuantized(x);
    const auto* v = x.as<VarNode>();
    if (q == nullptr || v == nullptr || uses_[v] != 1) return nullptr;
    const CallNode* made = OnlyUse(q->q);
    if (made == nullptr || NameOf(made) != "quantize") return nullptr;
    auto scale = NumbersOf(made->args[1]);
    const bool is_unit = scale && *scale == std::vector<double>{1};
    return is_unit && SameConstant(made->args[2], q->zero) ? made : nullptr;
  }
  /// dequantize(quantize(v, 1, zero), 1, zero) in float32, where nothing else reads the integers.
  Optional<Expr> RoundedInFloat(const Quantized& q, const Expr& x) {
    const CallNode* made = RoundedOnly(x);
    if (made == nullptr) return std::nullopt;
    const auto least = static_cast<double>(DtypeOf(q.q).is_uint() ? 0 : -128);
    const auto zero = static_cast<double>(q.zeros[0]);
    Expr value = Emit(MakeOp("round", {made->args[0]}));
    value = Emit(MakeOp("maximum", {value, ScalarConstant(least - zero)}));
    return Emit(MakeOp("minimum", {value, ScalarConstant(least + 255 - zero)}));
  }
  bool IsInteger(const Expr& e) {
    const Quantized* q = FindQuantized(e);
    return FindScaled(e) != nullptr || (q != nullptr && q->per_tensor());
  }
  /// Number of the binding that computes the integers of a quantised value; 0 for what the function
  /// gets, -1 for other values.
  int64_t PlaceOf(const Expr& e) const {
    const Quantized* q = FindQuantized(e);
    if (q == nullptr) return -1;
    auto it = place_.find(q->q.as<VarNode>());
    return it == place_.end() ? 0 : it->second;
  }

  std::unordered_map<const VarNode*, int64_t> place_;
  int64_t bindings_ = 0;

  /// Weights packed already, by their constants, which are kept: the map is by address.
  std::map<std::tuple<const ffi::Object*, const ffi::Object*, const ffi::Object*, int64_t>,
           LowBitWeight>
      low_bits_;
  std::vector<Expr> kept_;
};

Function Run(Function func, const IRModule& mod, const PassContext&) {
  return QuantizationLowering(mod).Run(func);
}
const FunctionPassRegistration kPass(
    {"relax.LowerQuantization",
     "Arithmetic between dequantize and quantize becomes integer arithmetic.", Run});

}  // namespace

Pass LowerQuantization() { return kPass(); }

}  // namespace transform
}  // namespace relax
}  // namespace tvm
