// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Lowering of operators that create, move and select elements.
#include <algorithm>

#include "relax/op/common.h"
#include "relax/op/lower.h"
#include "relax/op/lower_rules.h"

namespace tvm {
namespace relax {

namespace {

te::Tensor Compute(const LowerArgs& a, const std::function<PrimExpr(const Array<Var>&)>& f,
                   int out = 0) {
  return te::compute(a.OutShape(out), te::FCompute(f), a.BlockName(), "injective");
}
/// Row-major position of an index tuple.
PrimExpr Flatten(const Array<PrimExpr>& idx, const Array<PrimExpr>& shape) {
  PrimExpr r = Int64(0);
  for (size_t d = 0; d < idx.size(); ++d) r = r * shape[d] + idx[d];
  return r;
}
Array<PrimExpr> AsExprs(const Array<Var>& v) { return Array<PrimExpr>(v.begin(), v.end()); }
Array<PrimExpr> Unflatten(PrimExpr flat, const Array<PrimExpr>& shape) {
  std::vector<PrimExpr> r(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    if (d == 0) {
      r[0] = flat;
    } else {
      r[d] = tvm::floormod(flat, shape[d]);
      flat = tvm::floordiv(flat, shape[d]);
    }
  }
  return Array<PrimExpr>(r.begin(), r.end());
}
PrimExpr Wide(const PrimExpr& e) {
  return e.dtype() == DataType::Int(64) ? e : tvm::cast(DataType::Int(64), e);
}
int Axis(int64_t axis, size_t ndim) {
  return static_cast<int>(axis < 0 ? axis + static_cast<int64_t>(ndim) : axis);
}

void Fill(LowerArgs& a, double v) {
  a.out = {Compute(a, [&](const Array<Var>&) { return make_const(a.OutDtype(), v); })};
}

void Trilu(LowerArgs& a, bool lower) {
  PrimExpr k = Int64(a.Attrs<TriluAttrs>().k);
  a.out = {Compute(a, [&](const Array<Var>& i) {
    PrimExpr row = i[i.size() - 2], col = i[i.size() - 1];
    PrimExpr keep = lower ? col - row <= k : col - row >= k;
    return tvm::select(keep, a[0](i), make_zero(a[0].dtype()));
  })};
}

}  // namespace

void LowerFull(LowerArgs& a) {
  a.out = {Compute(
      a, [&](const Array<Var>&) { return tvm::cast(a.OutDtype(), a[1](Array<PrimExpr>())); })};
}
void LowerFullLike(LowerArgs& a) { LowerFull(a); }
void LowerOnes(LowerArgs& a) { Fill(a, 1); }
void LowerZeros(LowerArgs& a) { Fill(a, 0); }
void LowerEye(LowerArgs& a) {
  PrimExpr k = Wide(a.Prim(static_cast<int>(a.size()) - 1));
  a.out = {Compute(a, [&](const Array<Var>& i) {
    return tvm::select(tvm::equal(i[1] - i[0], k), make_const(a.OutDtype(), 1),
                       make_zero(a.OutDtype()));
  })};
}
void LowerArange(LowerArgs& a) {
  DataType t = a.OutDtype();
  PrimExpr start = a.Prim(0), step = a.Prim(2);
  bool floats = start.dtype().is_any_float() || step.dtype().is_any_float();
  a.out = {Compute(a, [&](const Array<Var>& i) {
    DataType work = floats ? DataType::Float(64) : DataType::Int(64);
    return tvm::cast(t, tvm::cast(work, start) + tvm::cast(work, i[0]) * tvm::cast(work, step));
  })};
}
void LowerHammingWindow(LowerArgs& a) {
  const auto& attrs = a.Attrs<WindowAttrs>();
  double n = static_cast<double>(attrs.window_size - (attrs.periodic ? 0 : 1));
  DataType f = DataType::Float(64);
  a.out = {Compute(a, [&](const Array<Var>& i) {
    PrimExpr angle = tvm::cast(f, i[0]) * make_const(f, n > 0 ? 6.283185307179586 / n : 0.0);
    return tvm::cast(a.OutDtype(),
                     make_const(f, attrs.alpha) - make_const(f, attrs.beta) * tvm::cos(angle));
  })};
}
void LowerTril(LowerArgs& a) { Trilu(a, true); }
void LowerTriu(LowerArgs& a) { Trilu(a, false); }

void LowerTake(LowerArgs& a) {
  const auto& attrs = a.Attrs<TakeAttrs>();
  const te::Tensor& x = a[0];
  int axis = attrs.axis.has_value() ? Axis(attrs.axis.value(), x.ndim()) : 0;
  size_t idx_ndim = a.HasTensor(1) ? a[1].ndim() : 0;
  PrimExpr extent = x.shape()[axis];
  a.out = {Compute(a, [&](const Array<Var>& i) {
    Array<PrimExpr> at, idx;
    for (size_t d = 0; d < idx_ndim; ++d) idx.push_back(PrimExpr(i[axis + d]));
    PrimExpr pos = Wide(a.HasTensor(1) ? a[1](idx) : a.Prim(1));
    if (attrs.mode == "wrap") {
      pos = tvm::floormod(pos, tvm::max(extent, Int64(1)));
    } else {
      // Never reads outside of the tensor: negative positions count from the end, others clip.
      if (attrs.mode == "fast") pos = tvm::select(pos < Int64(0), pos + extent, pos);
      pos = tvm::max(tvm::min(pos, extent - Int64(1)), Int64(0));
    }
    for (int d = 0; d < axis; ++d) at.push_back(PrimExpr(i[d]));
    at.push_back(pos);
    for (size_t d = axis + idx_ndim; d < i.size(); ++d) at.push_back(PrimExpr(i[d]));
    // An axis that turns out to be empty has nothing to read.
    if (AsInt(extent)) return x(at);
    return tvm::if_then_else(extent > Int64(0), x(at), make_zero(x.dtype()));
  })};
}

void LowerStridedSlice(LowerArgs& a) {
  const te::Tensor& x = a[0];
  auto list = [&](int k) {
    std::vector<PrimExpr> r;
    if (const auto* s = a.call->args[k].as<ShapeExprNode>()) {
      r.assign(s->values.begin(), s->values.end());
    } else if (const auto* t = a.call->args[k].as<TupleNode>()) {
      for (const Expr& f : t->fields) r.push_back(Downcast<PrimExpr>(f));
    } else {
      TVM_FFI_THROW(ValueError) << "relax.strided_slice needs literal axes and bounds";
    }
    return r;
  };
  std::vector<PrimExpr> axes = list(1), begin = list(2), end = list(3);
  std::vector<PrimExpr> strides(axes.size(), Int64(1));
  if (a.size() > 4) strides = list(4);
  std::vector<PrimExpr> first(x.ndim(), Int64(0)), step(x.ndim(), Int64(1));
  for (size_t k = 0; k < axes.size(); ++k) {
    int d = Axis(*AsInt(axes[k]), x.ndim());
    PrimExpr dim = x.shape()[d];
    PrimExpr b = Wide(begin[k]), s = Wide(strides[k]);
    auto ds = AsInt(dim), bs = AsInt(b), es = AsInt(end[k]), ss = AsInt(s);
    if (ds && bs && es && ss) {
      first[d] = Int64(ResolveSlice(*ds, *bs, *es, *ss).begin);
    } else {
      first[d] = bs ? (*bs < 0 ? dim + b : b) : tvm::if_then_else(b < Int64(0), b + dim, b);
      first[d] = tvm::max(Int64(0), tvm::min(first[d], dim));
    }
    step[d] = s;
  }
  a.out = {Compute(a, [&](const Array<Var>& i) {
    Array<PrimExpr> at;
    for (size_t d = 0; d < i.size(); ++d) at.push_back(first[d] + PrimExpr(i[d]) * step[d]);
    return x(at);
  })};
}

void LowerShapeToTensor(LowerArgs& a) {
  const auto* ty = a.call->args[0]->ty.as<ShapeTypeNode>();
  TVM_FFI_CHECK(ty != nullptr && ty->values.has_value(), ValueError)
      << "relax.shape_to_tensor cannot be compiled: the shape's dimensions are unknown";
  Array<PrimExpr> dims = ty->values.value();
  a.out = {Compute(a, [&](const Array<Var>& i) {
    PrimExpr value = Int64(0);
    for (size_t d = dims.size(); d-- > 0;) {
      value =
          tvm::select(tvm::equal(PrimExpr(i[0]), Int64(static_cast<int64_t>(d))), dims[d], value);
    }
    return value;
  })};
}
void LowerSize(LowerArgs& a) {
  a.out = {Compute(a, [&](const Array<Var>&) { return Product(a[0].shape()); })};
}

void LowerBroadcastTo(LowerArgs& a) {
  a.out = {te::compute(a.OutShape(),
                       te::FCompute([&](const Array<Var>& i) { return BroadcastRead(a[0], i); }),
                       a.BlockName(), "broadcast")};
}

void LowerReshape(LowerArgs& a) {
  const te::Tensor& x = a[0];
  Array<PrimExpr> to = a.OutShape();
  a.out = {Compute(a, [&](const Array<Var>& i) {
    // Leading and trailing dimensions that agree are passed on, so that only the rest divides.
    Array<PrimExpr> from = x.shape();
    size_t head = 0, tail = 0;
    size_t n = from.size(), m = to.size();
    auto same = [&](size_t p, size_t q) {
      return from[p].same_as(to[q]) || (AsInt(from[p]) && IsConstInt(to[q], *AsInt(from[p])));
    };
    while (head < n && head < m && same(head, head)) ++head;
    while (tail + head < n && tail + head < m && same(n - 1 - tail, m - 1 - tail)) ++tail;
    Array<PrimExpr> from_mid(from.begin() + head, from.end() - tail);
    Array<PrimExpr> to_mid(to.begin() + head, to.end() - tail);
    Array<PrimExpr> idx_mid;
    for (size_t d = head; d < m - tail; ++d) idx_mid.push_back(PrimExpr(i[d]));
    Array<PrimExpr> at;
    for (size_t d = 0; d < head; ++d) at.push_back(PrimExpr(i[d]));
    for (const PrimExpr& e : Unflatten(Flatten(idx_mid, to_mid), from_mid)) at.push_back(e);
    for (size_t d = m - tail; d < m; ++d) at.push_back(PrimExpr(i[d]));
    return x(at);
  })};
}

void LowerPermuteDims(LowerArgs& a) {
  const OptInts& axes = a.Attrs<PermuteDimsAttrs>().axes;
  size_t n = a[0].ndim();
  a.out = {Compute(a, [&](const Array<Var>& i) {
    std::vector<PrimExpr> at(n);
    for (size_t d = 0; d < n; ++d) {
      int from = axes.has_value() ? Axis(axes.value()[d], n) : static_cast<int>(n - 1 - d);
      at[from] = i[d];
    }
    return a[0](Array<PrimExpr>(at.begin(), at.end()));
  })};
}

void LowerConcat(LowerArgs& a) {
  Array<te::Tensor> parts = a.Tuple(0);
  const OptInt& attr = a.Attrs<ConcatAttrs>().axis;
  int axis = attr.has_value() ? Axis(attr.value(), parts[0].ndim()) : 0;
  a.out = {Compute(a, [&](const Array<Var>& i) {
    PrimExpr end = Int64(0);
    std::vector<PrimExpr> begins;
    for (const te::Tensor& t : parts) {
      begins.push_back(end);
      end = end + t.shape()[axis];
    }
    PrimExpr value;
    for (size_t k = parts.size(); k-- > 0;) {
      if (IsConstInt(parts[k].shape()[axis], 0)) continue;
      Array<PrimExpr> at = AsExprs(i);
      at.Set(axis, i[axis] - begins[k]);
      PrimExpr v = parts[k](at);
      value =
          value.defined()
              ? tvm::if_then_else(PrimExpr(i[axis]) < begins[k] + parts[k].shape()[axis], v, value)
              : v;
    }
    return value.defined() ? value : make_zero(a.OutDtype());
  })};
}

void LowerSplit(LowerArgs& a) {
  const auto& attrs = a.Attrs<SplitAttrs>();
  const te::Tensor& x = a[0];
  int axis = Axis(attrs.axis, x.ndim());
  const auto* tuple = a.call->ty.as<TupleTypeNode>();
  PrimExpr begin = Int64(0);
  for (size_t k = 0; k < tuple->fields.size(); ++k) {
    PrimExpr from = begin;
    a.out.push_back(Compute(
        a,
        [&](const Array<Var>& i) {
          Array<PrimExpr> at = AsExprs(i);
          at.Set(axis, i[axis] + from);
          return x(at);
        },
        static_cast<int>(k)));
    begin = begin + a.OutShape(static_cast<int>(k))[axis];
  }
}

void LowerStack(LowerArgs& a) {
  Array<te::Tensor> parts = a.Tuple(0);
  int axis = Axis(a.Attrs<StackAttrs>().axis, parts[0].ndim() + 1);
  a.out = {Compute(a, [&](const Array<Var>& i) {
    Array<PrimExpr> at;
    for (size_t d = 0; d < i.size(); ++d) {
      if (static_cast<int>(d) != axis) at.push_back(PrimExpr(i[d]));
    }
    PrimExpr value = parts.back()(at);
    for (size_t k = parts.size() - 1; k-- > 0;) {
      value = tvm::if_then_else(PrimExpr(i[axis]) < Int64(static_cast<int64_t>(k) + 1),
                                parts[k](at), value);
    }
    return value;
  })};
}

void LowerRepeat(LowerArgs& a) {
  const auto& attrs = a.Attrs<RepeatAttrs>();
  PrimExpr n = Int64(attrs.repeats);
  a.out = {Compute(a, [&](const Array<Var>& i) {
    if (!attrs.axis.has_value()) {
      return a[0](Unflatten(tvm::floordiv(i[0], n), a[0].shape()));
    }
    int axis = Axis(attrs.axis.value(), a[0].ndim());
    Array<PrimExpr> at = AsExprs(i);
    at.Set(axis, tvm::floordiv(i[axis], n));
    return a[0](at);
  })};
}

void LowerTile(LowerArgs& a) {
  size_t n = a[0].ndim();
  a.out = {te::compute(a.OutShape(), te::FCompute([&](const Array<Var>& i) {
                         Array<PrimExpr> at;
                         for (size_t d = 0; d < n; ++d) {
                           // Without elements there is nothing to repeat, and nothing to read.
                           PrimExpr extent = tvm::max(a[0].shape()[d], Int64(1));
                           at.push_back(tvm::floormod(i[i.size() - n + d], extent));
                         }
                         return a[0](at);
                       }),
                       a.BlockName(), "broadcast")};
}

void LowerFlip(LowerArgs& a) {
  int axis = Axis(a.Attrs<FlipAttrs>().axis, a[0].ndim());
  a.out = {Compute(a, [&](const Array<Var>& i) {
    Array<PrimExpr> at = AsExprs(i);
    at.Set(axis, a[0].shape()[axis] - Int64(1) - i[axis]);
    return a[0](at);
  })};
}

void LowerReverseSequence(LowerArgs& a) {
  const auto& attrs = a.Attrs<ReverseSequenceAttrs>();
  int s = Axis(attrs.seq_axis, a[0].ndim()), b = Axis(attrs.batch_axis, a[0].ndim());
  a.out = {Compute(a, [&](const Array<Var>& i) {
    PrimExpr len = Wide(a[1](PrimExpr(i[b])));
    len = tvm::min(tvm::max(len, Int64(0)), a[0].shape()[s]);
    Array<PrimExpr> at = AsExprs(i);
    at.Set(s, tvm::select(PrimExpr(i[s]) < len, len - Int64(1) - i[s], PrimExpr(i[s])));
    return a[0](at);
  })};
}

void LowerCollapseSum(LowerArgs& a) {
  const te::Tensor& x = a[0];
  Array<PrimExpr> to = a.OutShape();
  size_t lead = x.ndim() - to.size();
  Array<tirx::IterVar> axes;
  std::vector<int> reduced(x.ndim(), -1);
  for (size_t d = 0; d < x.ndim(); ++d) {
    bool sum = d < lead || (IsConstInt(to[d - lead], 1) && !IsConstInt(x.shape()[d], 1));
    if (!sum) continue;
    reduced[d] = static_cast<int>(axes.size());
    axes.push_back(te::reduce_axis(Range::FromMinExtent(Int64(0), x.shape()[d]), "k"));
  }
  a.out = {te::compute(to, te::FCompute([&](const Array<Var>& i) {
                         Array<PrimExpr> at;
                         for (size_t d = 0; d < x.ndim(); ++d) {
                           at.push_back(reduced[d] >= 0 ? PrimExpr(axes[reduced[d]]->var)
                                                        : PrimExpr(i[d - lead]));
                         }
                         return axes.empty() ? x(at) : te::sum(x(at), axes);
                       }),
                       a.BlockName(), "comm_reduce", {{"tile_op", String("reduction")}})};
}

void LowerPixelShuffle(LowerArgs& a) {
  PrimExpr r = Int64(a.Attrs<PixelShuffleAttrs>().upscale_factor);
  a.out = {Compute(a, [&](const Array<Var>& i) {
    size_t n = i.size();
    Array<PrimExpr> at = AsExprs(i);
    PrimExpr h = i[n - 2], w = i[n - 1];
    at.Set(n - 3, i[n - 3] * r * r + tvm::floormod(h, r) * r + tvm::floormod(w, r));
    at.Set(n - 2, tvm::floordiv(h, r));
    at.Set(n - 1, tvm::floordiv(w, r));
    return a[0](at);
  })};
}

void LowerPad(LowerArgs& a) {
  const auto& attrs = a.Attrs<PadAttrs>();
  const te::Tensor& x = a[0];
  a.out = {Compute(a, [&](const Array<Var>& i) {
    Array<PrimExpr> at;
    PrimExpr inside = const_true();
    for (size_t d = 0; d < x.ndim(); ++d) {
      int64_t before = attrs.pad_width[2 * d], after = attrs.pad_width[2 * d + 1];
      PrimExpr p = i[d] - Int64(before);
      const PrimExpr& n = x.shape()[d];
      if (before == 0 && after == 0) {
        at.push_back(PrimExpr(i[d]));
        continue;
      }
      if (attrs.pad_mode == "constant") {
        if (before > 0) inside = inside && p >= Int64(0);
        if (after > 0) inside = inside && p < n;
        // A negative width crops.
      } else if (attrs.pad_mode == "reflect") {
        if (before > 0) p = tvm::select(p < Int64(0), Int64(0) - p, p);
        if (after > 0) p = tvm::select(p >= n, n * Int64(2) - Int64(2) - p, p);
        // An open extent may turn out smaller than what is reflected; never read outside.
        if (IsConstInt(n, 1) || !AsInt(n)) p = tvm::max(tvm::min(p, n - Int64(1)), Int64(0));
      } else if (attrs.pad_mode == "replicate" || attrs.pad_mode == "edge") {
        p = tvm::min(tvm::max(p, Int64(0)), n - Int64(1));
      } else {
        TVM_FFI_CHECK(attrs.pad_mode == "circular", ValueError)
            << "relax.nn.pad expects pad_mode to be 'constant', 'reflect', 'replicate' or "
               "'circular', but got '"
            << attrs.pad_mode << "'";
        p = tvm::floormod(p, tvm::max(n, Int64(1)));
      }
      at.push_back(p);
    }
    if (attrs.pad_mode != "constant") {
      for (const PrimExpr& n : x.shape()) {
        if (!AsInt(n)) inside = inside && n > Int64(0);
      }
    }
    if (is_const_int(inside, 1)) return x(at);
    return tvm::if_then_else(inside, x(at), make_const(x.dtype(), attrs.pad_value));
  })};
}

}  // namespace relax
}  // namespace tvm
