// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Operators that move elements without computing: reshape, transpose, concat, split.
#include <algorithm>

#include "relax/op/common.h"
#include "relax/op/lower.h"
#include "relax/op/lower_rules.h"

namespace tvm {
namespace relax {

namespace {

Type InferBroadcastTo(const Call& call, const BlockBuilder& ctx) {
  const auto* x = TensorArg(call, 0);
  auto to = ShapeArg(call, 1);
  const auto* shape_ty = call->args[1]->ty.as<ShapeTypeNode>();
  auto from = x->GetShape();
  if (to.has_value() && from.has_value()) {
    const Array<PrimExpr>& a = from.value();
    const Array<PrimExpr>& b = to.value();
    TVM_FFI_CHECK(a.size() <= b.size(), ValueError)
        << "relax.broadcast_to expects the target shape to have at least as many dimensions as "
           "the input: "
        << b.size() << " against " << a.size();
    for (size_t i = 1; i <= a.size(); ++i) {
      const PrimExpr& x_dim = a[a.size() - i];
      const PrimExpr& y_dim = b[b.size() - i];
      if (IsConstInt(x_dim, 1)) continue;
      TVM_FFI_CHECK(DimsEqual(ctx, x_dim, y_dim).value_or(true), ValueError)
          << "relax.broadcast_to: dimension " << x_dim << " cannot become " << y_dim;
    }
  }
  if (call->args[1].as<ShapeExprNode>() || call->args[1].as<VarNode>()) {
    return TensorType(call->args[1], x->ElementType(), x->vdevice);
  }
  return TensorType(x->ElementType(), shape_ty->ndim, x->vdevice);
}

Type InferReshape(const Call& call, const BlockBuilder& ctx) {
  const auto* x = TensorArg(call, 0);
  auto to = ShapeArg(call, 1);
  auto from = x->GetShape();
  if (to.has_value() && from.has_value()) {
    PrimExpr n = Simplify(ctx, Product(from.value())), m = Simplify(ctx, Product(to.value()));
    bool differ = AsInt(n) && AsInt(m) ? *AsInt(n) != *AsInt(m)
                                       : ctx->GetAnalyzer()->CanProve(tvm::not_equal(n, m));
    TVM_FFI_CHECK(!differ, ValueError)
        << "relax.reshape expects the new shape to have as many elements as the input, but "
        << ShapeExpr(to.value()) << " has " << m << " and the input has " << n;
  }
  const auto* shape_ty = call->args[1]->ty.as<ShapeTypeNode>();
  if (call->args[1].as<ShapeExprNode>() || call->args[1].as<VarNode>()) {
    return TensorType(call->args[1], x->ElementType(), x->vdevice);
  }
  return TensorType(x->ElementType(), shape_ty->ndim, x->vdevice);
}

/// Resolves -1 (the rest) and 0 (keep) in a literal target shape.
Expr PrepareReshape(Array<Expr> args, Attrs, const OpRow& row) {
  const auto* shape = args[1].as<ShapeExprNode>();
  const auto* x = args[0]->ty.as<TensorTypeNode>();
  Op op = Op::Get("relax.reshape");
  if (shape == nullptr || x == nullptr) return Call(op, args);
  int rest = -1;
  bool special = false;
  for (size_t i = 0; i < shape->values.size(); ++i) {
    auto v = AsInt(shape->values[i]);
    if (!v || *v > 0) continue;
    special = true;
    if (*v == -1) {
      TVM_FFI_CHECK(rest < 0, ValueError)
          << "relax.reshape accepts at most one -1 in the new shape";
      rest = static_cast<int>(i);
    } else {
      TVM_FFI_CHECK(*v == 0, ValueError)
          << "relax.reshape accepts no negative dimension but -1, got " << *v;
    }
  }
  auto dims = x->GetShape();
  if (!special) return Call(op, args);
  TVM_FFI_CHECK(dims.has_value(), ValueError)
      << "relax.reshape with -1 or 0 in the new shape needs an input of known shape";
  Array<PrimExpr> out = shape->values;
  PrimExpr known = Int64(1);
  for (size_t i = 0; i < out.size(); ++i) {
    if (IsConstInt(out[i], 0)) {
      // 0 copies the input's extent; a really empty input keeps the 0.
      if (i < dims.value().size()) out.Set(i, dims.value()[i]);
    }
    if (static_cast<int>(i) != rest) known = known * out[i];
  }
  if (rest >= 0) {
    arith::Analyzer ana;
    PrimExpr total = ana->Simplify(Product(dims.value()));
    known = ana->Simplify(known);
    auto t = AsInt(total), k = AsInt(known);
    if (t && k) {
      TVM_FFI_CHECK(*k != 0 && *t % *k == 0, ValueError)
          << "relax.reshape cannot infer the dimension -1: " << *t << " elements do not divide by "
          << *k;
      out.Set(rest, Int64(*t / *k));
    } else {
      out.Set(rest, ana->Simplify(tvm::floordiv(total, known)));
    }
  }
  return Call(op, {args[0], ShapeExpr(out)});
}

Type InferFlatten(const Call& call, const BlockBuilder& ctx) {
  const auto* x = TensorArg(call, 0);
  auto dims = x->GetShape();
  if (!dims.has_value()) return TensorType(x->ElementType(), 1, x->vdevice);
  if (x->ndim == 1) return call->args[0]->ty;
  return TensorType(ShapeExpr(Array<PrimExpr>{Simplify(ctx, Product(dims.value()))}),
                    x->ElementType(), x->vdevice);
}

Type InferExpandDims(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  const Ints& axis = AttrsOf<ExpandDimsAttrs>(call.get())->axis;
  if (axis.empty()) return call->args[0]->ty;
  if (x->IsUnknownNdim()) return TensorType(x->ElementType(), kUnknownNDim, x->vdevice);
  int n = x->ndim + static_cast<int>(axis.size());
  std::vector<int> at = NormalizeAxes(call, axis, n);
  auto dims = x->GetShape();
  if (!dims.has_value()) return TensorType(x->ElementType(), n, x->vdevice);
  std::vector<PrimExpr> out(n);
  for (int a : at) out[a] = Int64(1);
  size_t next = 0;
  for (PrimExpr& d : out) {
    if (!d.defined()) d = dims.value()[next++];
  }
  return TensorType(ShapeExpr(Array<PrimExpr>(out.begin(), out.end())), x->ElementType(),
                    x->vdevice);
}

Type InferSqueeze(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  const OptInts& axis = AttrsOf<SqueezeAttrs>(call.get())->axis;
  if (x->IsUnknownNdim()) return TensorType(x->ElementType(), kUnknownNDim, x->vdevice);
  auto dims = x->GetShape();
  std::vector<bool> drop(x->ndim, false);
  if (axis.has_value()) {
    for (int a : NormalizeAxes(call, axis.value(), x->ndim)) drop[a] = true;
    if (!dims.has_value()) {
      return TensorType(x->ElementType(), x->ndim - static_cast<int>(axis.value().size()),
                        x->vdevice);
    }
  } else {
    if (!dims.has_value()) return TensorType(x->ElementType(), kUnknownNDim, x->vdevice);
    for (int i = 0; i < x->ndim; ++i) {
      if (!AsInt(dims.value()[i])) return TensorType(x->ElementType(), kUnknownNDim, x->vdevice);
      drop[i] = IsConstInt(dims.value()[i], 1);
    }
  }
  Array<PrimExpr> out;
  for (int i = 0; i < x->ndim; ++i) {
    const PrimExpr& d = dims.value()[i];
    // A listed axis of another static extent is kept.
    bool removed = drop[i] && (!AsInt(d) || IsConstInt(d, 1));
    if (!removed) out.push_back(d);
  }
  return TensorType(ShapeExpr(out), x->ElementType(), x->vdevice);
}

Type InferPermuteDims(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  const OptInts& axes = AttrsOf<PermuteDimsAttrs>(call.get())->axes;
  if (x->IsUnknownNdim()) {
    int n = axes.has_value() ? static_cast<int>(axes.value().size()) : kUnknownNDim;
    return TensorType(x->ElementType(), n, x->vdevice);
  }
  std::vector<int> perm;
  if (axes.has_value()) {
    TVM_FFI_CHECK(static_cast<int>(axes.value().size()) == x->ndim, ValueError)
        << "relax.permute_dims expects " << x->ndim << " axes, but got " << axes.value().size();
    perm = NormalizeAxes(call, axes.value(), x->ndim);
  } else {
    for (int i = x->ndim; i-- > 0;) perm.push_back(i);
  }
  auto dims = x->GetShape();
  if (!dims.has_value()) return TensorType(x->ElementType(), x->ndim, x->vdevice);
  Array<PrimExpr> out;
  for (int p : perm) out.push_back(dims.value()[p]);
  return TensorType(ShapeExpr(out), x->ElementType(), x->vdevice);
}

Type InferConcat(const Call& call, const BlockBuilder& ctx) {
  auto fields = TupleArg(call, 0);
  TVM_FFI_CHECK(!fields.empty(), ValueError) << "relax.concat needs at least one tensor";
  const OptInt& axis_attr = AttrsOf<ConcatAttrs>(call.get())->axis;
  DataType dtype = fields[0]->ElementType();
  int ndim = kUnknownNDim;
  bool known = true;
  for (const auto* f : fields) {
    if (dtype.is_void()) dtype = f->ElementType();
    TVM_FFI_CHECK(f->IsUnknownDtype() || f->ElementType() == dtype, TypeError)
        << "relax.concat requires all tensors to have the same dtype, but got " << dtype << " and "
        << f->ElementType();
    if (ndim == kUnknownNDim) ndim = f->ndim;
    TVM_FFI_CHECK(f->IsUnknownNdim() || f->ndim == ndim, ValueError)
        << "relax.concat requires all tensors to have the same rank, but got " << ndim << " and "
        << f->ndim;
    known = known && f->GetShape().has_value();
  }
  if (ndim == kUnknownNDim) {
    return TensorType(dtype, axis_attr.has_value() ? kUnknownNDim : 1, fields[0]->vdevice);
  }
  if (!axis_attr.has_value()) {
    TVM_FFI_CHECK(ndim == 1, ValueError)
        << "relax.concat without an axis requires 1-D tensors, but they have " << ndim
        << " dimensions";
  }
  int axis = axis_attr.has_value() ? NormalizeAxis(call, axis_attr.value(), ndim) : 0;
  if (!known) return TensorType(dtype, ndim, fields[0]->vdevice);
  Array<PrimExpr> first = fields[0]->GetShape().value();
  std::vector<PrimExpr> out(first.begin(), first.end());
  PrimExpr total = Int64(0);
  for (size_t i = 0; i < fields.size(); ++i) {
    Array<PrimExpr> dims = fields[i]->GetShape().value();
    total = total + dims[axis];
    for (int d = 0; d < ndim; ++d) {
      if (d == axis) continue;
      std::optional<bool> same = DimsEqual(ctx, out[d], dims[d]);
      TVM_FFI_CHECK(same.value_or(true), ValueError)
          << "relax.concat requires the tensors to have the same shape but for the axis " << axis
          << "; dimension " << d << " is " << out[d] << " and " << dims[d];
      if (!same.has_value()) return TensorType(dtype, ndim, fields[0]->vdevice);
      if (AsInt(dims[d])) out[d] = dims[d];
    }
  }
  out[axis] = Simplify(ctx, total);
  return TensorType(ShapeExpr(Array<PrimExpr>(out.begin(), out.end())), dtype, fields[0]->vdevice);
}

Type InferSplit(const Call& call, const BlockBuilder& ctx) {
  const auto* x = TensorArg(call, 0);
  const auto* attrs = AttrsOf<SplitAttrs>(call.get());
  auto dims = x->GetShape();
  int axis = x->IsUnknownNdim() ? -1 : NormalizeAxis(call, attrs->axis, x->ndim);
  auto piece = [&](const PrimExpr& extent) -> Type {
    Array<PrimExpr> d = dims.value();
    d.Set(axis, extent);
    return TensorType(ShapeExpr(d), x->ElementType(), x->vdevice);
  };
  Array<Type> out;
  if (auto list = attrs->indices_or_sections.as<Array<ffi::Any>>()) {
    size_t n = list.value().size() + 1;
    if (!dims.has_value()) {
      for (size_t i = 0; i < n; ++i) {
        out.push_back(TensorType(x->ElementType(), x->ndim, x->vdevice));
      }
      return TupleType(out);
    }
    PrimExpr extent = dims.value()[axis];
    PrimExpr begin = Int64(0);
    for (size_t i = 0; i < n; ++i) {
      PrimExpr end = i + 1 == n ? extent : Int64(SplitIndex(list.value()[i]));
      PrimExpr b = begin, e = end;
      if (auto total = AsInt(extent)) {
        b = Int64(std::min(*AsInt(begin), *total));
        e = Int64(std::min(*AsInt(end), *total));
      }
      out.push_back(piece(Simplify(ctx, tvm::max(e - b, Int64(0)))));
      begin = end;
    }
    return TupleType(out);
  }
  int64_t n = SplitIndex(attrs->indices_or_sections);
  TVM_FFI_CHECK(n > 0, ValueError)
      << "relax.split expects a positive number of sections, but got " << n;
  if (!dims.has_value()) {
    for (int64_t i = 0; i < n; ++i) {
      out.push_back(TensorType(x->ElementType(), x->ndim, x->vdevice));
    }
    return TupleType(out);
  }
  PrimExpr extent = dims.value()[axis];
  PrimExpr size = Simplify(ctx, tvm::ceildiv(extent, Int64(n)));
  for (int64_t i = 0; i < n; ++i) {
    PrimExpr rest = tvm::max(extent - size * Int64(i), Int64(0));
    out.push_back(piece(Simplify(ctx, tvm::min(size, rest))));
  }
  if (n == 1) return TupleType({call->args[0]->ty});
  return TupleType(out);
}

Type InferStack(const Call& call, const BlockBuilder& ctx) {
  auto fields = TupleArg(call, 0);
  TVM_FFI_CHECK(!fields.empty(), ValueError) << "relax.stack needs at least one tensor";
  const auto* first = fields[0];
  for (const auto* f : fields) {
    TVM_FFI_CHECK(f->ElementType() == first->ElementType(), TypeError)
        << "relax.stack requires all tensors to have the same dtype";
    TVM_FFI_CHECK(f->ndim == first->ndim, ValueError)
        << "relax.stack requires all tensors to have the same rank";
    auto a = first->GetShape(), b = f->GetShape();
    if (!a.has_value() || !b.has_value()) continue;
    for (int i = 0; i < f->ndim; ++i) {
      TVM_FFI_CHECK(DimsEqual(ctx, a.value()[i], b.value()[i]).value_or(true), ValueError)
          << "relax.stack requires all tensors to have the same shape";
    }
  }
  if (first->IsUnknownNdim()) return TensorType(first->ElementType(), kUnknownNDim);
  int axis = NormalizeAxis(call, AttrsOf<StackAttrs>(call.get())->axis, first->ndim + 1);
  auto dims = first->GetShape();
  if (!dims.has_value()) return TensorType(first->ElementType(), first->ndim + 1);
  Array<PrimExpr> out = dims.value();
  out.insert(out.begin() + axis, Int64(static_cast<int64_t>(fields.size())));
  return TensorType(ShapeExpr(out), first->ElementType(), first->vdevice);
}

Type InferRepeat(const Call& call, const BlockBuilder& ctx) {
  const auto* x = TensorArg(call, 0);
  const auto* attrs = AttrsOf<RepeatAttrs>(call.get());
  auto dims = x->GetShape();
  PrimExpr n = Int64(attrs->repeats);
  if (!attrs->axis.has_value()) {
    if (!dims.has_value()) return TensorType(x->ElementType(), 1, x->vdevice);
    return TensorType(Array<PrimExpr>{Simplify(ctx, Product(dims.value()) * n)}, x->ElementType());
  }
  if (!dims.has_value()) return TensorType(x->ElementType(), x->ndim, x->vdevice);
  int axis = NormalizeAxis(call, attrs->axis.value(), x->ndim);
  Array<PrimExpr> out = dims.value();
  out.Set(axis, Simplify(ctx, out[axis] * n));
  return TensorType(ShapeExpr(out), x->ElementType(), x->vdevice);
}

Type InferTile(const Call& call, const BlockBuilder& ctx) {
  const auto* x = TensorArg(call, 0);
  const Ints& repeats = AttrsOf<TileAttrs>(call.get())->repeats;
  if (x->IsUnknownNdim()) return TensorType(x->ElementType(), kUnknownNDim, x->vdevice);
  int n = std::max(x->ndim, static_cast<int>(repeats.size()));
  auto dims = x->GetShape();
  if (!dims.has_value()) return TensorType(x->ElementType(), n, x->vdevice);
  std::vector<PrimExpr> out(n, Int64(1));
  for (int i = 1; i <= n; ++i) {
    PrimExpr d = i <= x->ndim ? dims.value()[x->ndim - i] : Int64(1);
    int r = static_cast<int>(repeats.size());
    out[n - i] = i <= r ? Simplify(ctx, d * Int64(repeats[r - i])) : d;
  }
  return TensorType(ShapeExpr(Array<PrimExpr>(out.begin(), out.end())), x->ElementType(),
                    x->vdevice);
}

Type InferFlip(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  if (!x->IsUnknownNdim()) NormalizeAxis(call, AttrsOf<FlipAttrs>(call.get())->axis, x->ndim);
  return call->args[0]->ty;
}
Type InferReverseSequence(const Call& call, const BlockBuilder&) {
  TensorArg(call, 0);
  CheckRank(call, 1, TensorArg(call, 1), 1);
  return call->args[0]->ty;
}

Type InferCollapseSumTo(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  ShapeArg(call, 1);
  return TensorType(call->args[1], x->ElementType(), x->vdevice);
}
Type InferCollapseSumLike(const Call& call, const BlockBuilder&) {
  const auto* x = TensorArg(call, 0);
  return WithDtype(TensorArg(call, 1), x->ElementType());
}

Type InferPixelShuffle(const Call& call, const BlockBuilder& ctx) {
  const auto* x = TensorArg(call, 0);
  int64_t r = AttrsOf<PixelShuffleAttrs>(call.get())->upscale_factor;
  auto dims = x->GetShape();
  if (!dims.has_value()) return TensorType(x->ElementType(), x->ndim, x->vdevice);
  TVM_FFI_CHECK(x->ndim >= 3, ValueError)
      << "relax.nn.pixel_shuffle requires at least three dimensions, but got " << x->ndim;
  Array<PrimExpr> out = dims.value();
  int c = x->ndim - 3;
  if (auto v = AsInt(out[c])) {
    TVM_FFI_CHECK(*v % (r * r) == 0, ValueError)
        << "relax.nn.pixel_shuffle requires the channels (" << *v << ") to divide by " << r * r;
  }
  out.Set(c, Simplify(ctx, tvm::floordiv(out[c], Int64(r * r))));
  out.Set(c + 1, Simplify(ctx, out[c + 1] * Int64(r)));
  out.Set(c + 2, Simplify(ctx, out[c + 2] * Int64(r)));
  return TensorType(ShapeExpr(out), x->ElementType(), x->vdevice);
}
Type InferBatchFlatten(const Call& call, const BlockBuilder& ctx) {
  const auto* x = TensorArg(call, 0);
  auto dims = x->GetShape();
  if (!dims.has_value() || x->ndim == 0) return TensorType(x->ElementType(), 2, x->vdevice);
  Array<PrimExpr> rest(dims.value().begin() + 1, dims.value().end());
  return TensorType({dims.value()[0], Simplify(ctx, Product(rest))}, x->ElementType());
}

}  // namespace

int64_t SplitIndex(const ffi::Any& v) {
  if (auto i = v.as<int64_t>()) return *i;
  const auto* imm = v.as<IntImmNode>();
  TVM_FFI_CHECK(imm != nullptr, ValueError)
      << "relax.split expects integers as indices or sections, but got " << v.GetTypeKey();
  return imm->value;
}

static const OpRow kManipulateRows[] = {
    {.name = "broadcast_to",
     .args = "x, shape:shape",
     .infer = InferBroadcastTo,
     .pattern = OpPattern::kBroadcast,
     .lower = LowerBroadcastTo,
     .doc = "Repeat along dimensions of extent 1."},
    {.name = "reshape",
     .args = "x, shape:shape",
     .infer = InferReshape,
     .pattern = OpPattern::kInjective,
     .lower = LowerReshape,
     .prepare = PrepareReshape,
     .doc = "Same elements in another shape; -1 is what is left, 0 keeps the input's extent."},
    {.name = "flatten",
     .args = "x",
     .infer = InferFlatten,
     .pattern = OpPattern::kInjective,
     .lower = LowerReshape,
     .samples = "f32[2,3,4]",
     .doc = "All elements in one dimension."},
    {.name = "expand_dims",
     .args = "x",
     .attrs = "axis",
     .attrs_key = "relax.attrs.ExpandDimsAttrs",
     .infer = InferExpandDims,
     .pattern = OpPattern::kBroadcast,
     .lower = LowerReshape,
     .samples = "f32[2,3]; axis=[1]",
     .doc = "Insert dimensions of extent 1."},
    {.name = "squeeze",
     .args = "x",
     .attrs = "axis=None",
     .attrs_key = "relax.attrs.SqueezeAttrs",
     .infer = InferSqueeze,
     .pattern = OpPattern::kInjective,
     .lower = LowerReshape,
     .samples = "f32[2,1,3] | f32[2,1,3]; axis=[1]",
     .doc = "Remove dimensions of extent 1."},
    {.name = "permute_dims",
     .args = "x",
     .attrs = "axes=None",
     .attrs_key = "relax.attrs.PermuteDimsAttrs",
     .infer = InferPermuteDims,
     .pattern = OpPattern::kInjective,
     .lower = LowerPermuteDims,
     .samples = "f32[2,3,4]; axes=[2,0,1] | f32[2,3]",
     .doc = "Dimensions in another order."},
    {.name = "concat",
     .args = "tensors:tuple",
     .attrs = "axis=0",
     .attrs_key = "relax.attrs.ConcatAttrs",
     .infer = InferConcat,
     .pattern = OpPattern::kInjective,
     .lower = LowerConcat,
     .layout = LayoutRule::kConcat,
     .samples = "(f32[2,3] f32[4,3]) | (f32[2,3] f32[2,1]); axis=1",
     .doc = "Tensors one after another along an axis."},
    {.name = "split",
     .args = "x",
     .attrs = "indices_or_sections, axis=0",
     .attrs_key = "relax.attrs.SplitAttrs",
     .infer = InferSplit,
     .pattern = OpPattern::kInjective,
     .lower = LowerSplit,
     .layout = LayoutRule::kAxis,
     .doc = "Pieces along an axis."},
    {.name = "stack",
     .args = "tensors:tuple",
     .attrs = "axis=0",
     .attrs_key = "relax.attrs.StackAttrs",
     .infer = InferStack,
     .pattern = OpPattern::kInjective,
     .lower = LowerStack,
     .samples = "(f32[2,3] f32[2,3])",
     .doc = "Tensors along a new axis."},
    {.name = "repeat",
     .args = "data",
     .attrs = "repeats, axis=None",
     .attrs_key = "relax.attrs.RepeatAttrs",
     .infer = InferRepeat,
     .pattern = OpPattern::kBroadcast,
     .lower = LowerRepeat,
     .samples = "f32[2,3]; repeats=2",
     .doc = "Each element several times."},
    {.name = "tile",
     .args = "data",
     .attrs = "repeats",
     .attrs_key = "relax.attrs.TileAttrs",
     .infer = InferTile,
     .pattern = OpPattern::kBroadcast,
     .lower = LowerTile,
     .samples = "f32[2,3]; repeats=[2,1]",
     .doc = "The whole tensor several times."},
    {.name = "flip",
     .args = "data",
     .attrs = "axis",
     .attrs_key = "relax.attrs.FlipAttrs",
     .infer = InferFlip,
     .pattern = OpPattern::kInjective,
     .lower = LowerFlip,
     .samples = "f32[2,3]; axis=1",
     .doc = "Reverse an axis."},
    {.name = "reverse_sequence",
     .args = "data, seq_lengths",
     .attrs = "seq_axis=1, batch_axis=0",
     .attrs_key = "relax.attrs.ReverseSequenceAttrs",
     .infer = InferReverseSequence,
     .pattern = OpPattern::kInjective,
     .lower = LowerReverseSequence,
     .doc = "Reverse the first seq_lengths[b] elements of each sequence."},
    {.name = "collapse_sum_to",
     .args = "data, shape:shape",
     .infer = InferCollapseSumTo,
     .pattern = OpPattern::kCommReduce,
     .lower = LowerCollapseSum,
     .doc = "Sum over the dimensions that broadcasting to the input's shape added."},
    {.name = "collapse_sum_like",
     .args = "data, collapse_target",
     .infer = InferCollapseSumLike,
     .pattern = OpPattern::kCommReduce,
     .lower = LowerCollapseSum,
     .doc = "collapse_sum_to the shape of another tensor."},
    {.name = "nn.pixel_shuffle",
     .args = "data",
     .attrs = "upscale_factor",
     .attrs_key = "relax.attrs.PixelShuffleAttrs",
     .infer = InferPixelShuffle,
     .pattern = OpPattern::kInjective,
     .lower = LowerPixelShuffle,
     .samples = "f32[1,8,2,3]; upscale_factor=2",
     .doc = "Channels to space."},
    {.name = "nn.batch_flatten",
     .args = "data",
     .infer = InferBatchFlatten,
     .pattern = OpPattern::kInjective,
     .lower = LowerReshape,
     .samples = "f32[2,3,4]",
     .doc = "All but the first dimension flattened."},
};
TVM_RELAX_REGISTER_OPS(kManipulateRows)

}  // namespace relax
}  // namespace tvm
