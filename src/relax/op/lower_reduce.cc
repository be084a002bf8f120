// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Lowering of reductions, pooling, scans, search and sorting.
#include <tvm/tirx/stmt.h>

#include <cmath>

#include "relax/op/common.h"
#include "relax/op/lower.h"
#include "relax/op/lower_rules.h"

namespace tvm {
namespace relax {

namespace {

using Attr = Map<String, ffi::Any>;
using Reducer = PrimExpr (*)(PrimExpr, Array<tirx::IterVar>, Array<PrimExpr>);

PrimExpr SumOf(PrimExpr e, Array<tirx::IterVar> ax, Array<PrimExpr> init) {
  return te::sum(e, ax, init);
}
PrimExpr ProdOf(PrimExpr e, Array<tirx::IterVar> ax, Array<PrimExpr> init) {
  return te::prod(e, ax, init);
}
PrimExpr MaxOf(PrimExpr e, Array<tirx::IterVar> ax, Array<PrimExpr> init) {
  return te::max(e, ax, init);
}
PrimExpr MinOf(PrimExpr e, Array<tirx::IterVar> ax, Array<PrimExpr> init) {
  return te::min(e, ax, init);
}

/// Which dimensions of the input are reduced, and where the others are in the output.
struct ReducePlan {
  std::vector<bool> reduced;
  Array<tirx::IterVar> axes;
  std::vector<int> axis_of;
  bool keepdims;
  PrimExpr count = Int64(1);

  ReducePlan(const te::Tensor& x, const OptInts& axis, bool keep) : keepdims(keep) {
    int n = static_cast<int>(x.ndim());
    reduced.assign(n, !axis.has_value());
    if (axis.has_value()) {
      for (int64_t v : axis.value()) reduced[v < 0 ? v + n : v] = true;
    }
    axis_of.assign(n, -1);
    for (int d = 0; d < n; ++d) {
      if (!reduced[d]) continue;
      axis_of[d] = static_cast<int>(axes.size());
      axes.push_back(te::reduce_axis(Range::FromMinExtent(Int64(0), x.shape()[d]), "k"));
      count = count * x.shape()[d];
    }
  }
  /// Index of the input for output position `i` and the reduction variables.
  Array<PrimExpr> At(const Array<Var>& i) const {
    Array<PrimExpr> at;
    size_t next = 0;
    for (size_t d = 0; d < reduced.size(); ++d) {
      if (reduced[d]) {
        at.push_back(PrimExpr(axes[axis_of[d]]->var));
        if (keepdims) ++next;
      } else {
        at.push_back(PrimExpr(i[next++]));
      }
    }
    return at;
  }
  /// Index of a reduced tensor (output layout) for the full position `at` of the input.
  Array<PrimExpr> Kept(const Array<PrimExpr>& at) const {
    Array<PrimExpr> r;
    for (size_t d = 0; d < reduced.size(); ++d) {
      if (!reduced[d]) {
        r.push_back(at[d]);
      } else if (keepdims) {
        r.push_back(Int64(0));
      }
    }
    return r;
  }
};

te::Tensor Reduce(const LowerArgs& a, const ReducePlan& p, const Array<PrimExpr>& shape,
                  const char* name, Reducer reduce,
                  const std::function<PrimExpr(const Array<PrimExpr>&)>& f,
                  Array<PrimExpr> init = {}) {
  return te::compute(shape, te::FCompute([&](const Array<Var>& i) {
                       PrimExpr v = f(p.At(i));
                       return p.axes.empty() ? v : reduce(v, p.axes, init);
                     }),
                     name, "comm_reduce");
}

/// Half types accumulate in float32.
DataType Acc(DataType t) { return t.is_float16() || t.is_bfloat16() ? DataType::Float(32) : t; }

te::Tensor Map1(const te::Tensor& t, const char* name, const std::function<PrimExpr(PrimExpr)>& f) {
  return te::compute(t.shape(), te::FCompute([&](const Array<Var>& i) { return f(t(i)); }), name,
                     "elemwise");
}
te::Tensor CastTo(const te::Tensor& t, DataType dtype) {
  if (t.dtype() == dtype) return t;
  return Map1(t, "cast", [&](PrimExpr v) { return tvm::cast(dtype, v); });
}

void ReduceWith(LowerArgs& a, Reducer reduce) {
  const auto& attrs = a.Attrs<StatisticalAttrs>();
  ReducePlan p(a[0], attrs.axis, attrs.keepdims);
  DataType out = a.OutDtype(), acc = Acc(out);
  std::string name = std::string(a.BlockName().data(), a.BlockName().size());
  te::Tensor r = Reduce(a, p, a.OutShape(), name.c_str(), reduce,
                        [&](const Array<PrimExpr>& at) { return tvm::cast(acc, a[0](at)); });
  a.out = {CastTo(r, out)};
}

te::Tensor DivideBy(const te::Tensor& t, const PrimExpr& count, const char* name) {
  DataType dtype = t.dtype();
  return Map1(t, name, [&](PrimExpr v) {
    if (!dtype.is_any_float()) return tvm::div(v, tvm::cast(dtype, count));
    if (auto n = AsInt(count)) {
      // An empty mean is 0 / 0.
      if (*n != 0) return v * make_const(dtype, 1.0 / static_cast<double>(*n));
    }
    return tvm::div(v, tvm::cast(dtype, count));
  });
}

te::Tensor Mean(LowerArgs& a, const ReducePlan& p, DataType acc) {
  te::Tensor s = Reduce(a, p, a.OutShape(), "sum", SumOf,
                        [&](const Array<PrimExpr>& at) { return tvm::cast(acc, a[0](at)); });
  return DivideBy(s, p.count, "mean");
}
te::Tensor Variance(LowerArgs& a) {
  const auto& attrs = a.Attrs<StatisticalAttrs>();
  ReducePlan p(a[0], attrs.axis, attrs.keepdims);
  DataType acc = Acc(a.OutDtype());
  te::Tensor mean = Mean(a, p, acc);
  ReducePlan q(a[0], attrs.axis, attrs.keepdims);
  te::Tensor sq = Reduce(a, q, a.OutShape(), "sum_sq", SumOf, [&](const Array<PrimExpr>& at) {
    PrimExpr d = tvm::cast(acc, a[0](at)) - mean(q.Kept(at));
    return d * d;
  });
  return DivideBy(sq, q.count, "variance");
}

}  // namespace

void LowerSum(LowerArgs& a) { ReduceWith(a, SumOf); }
void LowerProd(LowerArgs& a) { ReduceWith(a, ProdOf); }
void LowerMax(LowerArgs& a) { ReduceWith(a, MaxOf); }
void LowerMin(LowerArgs& a) { ReduceWith(a, MinOf); }
void LowerMean(LowerArgs& a) {
  const auto& attrs = a.Attrs<StatisticalAttrs>();
  ReducePlan p(a[0], attrs.axis, attrs.keepdims);
  a.out = {CastTo(Mean(a, p, Acc(a.OutDtype())), a.OutDtype())};
}
void LowerVariance(LowerArgs& a) { a.out = {CastTo(Variance(a), a.OutDtype())}; }
void LowerStd(LowerArgs& a) {
  te::Tensor v = Variance(a);
  a.out = {CastTo(Map1(v, "std", [](PrimExpr x) { return tvm::sqrt(x); }), a.OutDtype())};
}

namespace {

/// Position and value of the best element; ties keep the first, a NaN wins.
void ArgReduce(LowerArgs& a, bool max) {
  const auto& attrs = a.Attrs<ArgmaxArgminAttrs>();
  const te::Tensor& x = a[0];
  OptInts axis;
  if (attrs.axis.has_value()) axis = Ints{attrs.axis.value()};
  ReducePlan p(x, axis, attrs.keepdims);
  DataType i64 = DataType::Int(64), t = x.dtype();
  auto combine = [&](const Array<Var>& l, const Array<Var>& r) -> Array<PrimExpr> {
    PrimExpr li = l[0], lv = l[1], ri = r[0], rv = r[1];
    PrimExpr better = max ? lv > rv : lv < rv;
    PrimExpr same = tvm::equal(lv, rv);
    if (t.is_any_float()) {
      PrimExpr lnan = tvm::isnan(lv), rnan = tvm::isnan(rv);
      better = better || (lnan && tvm::logical_not(rnan));
      same = same || (lnan && rnan);
    }
    PrimExpr left = better || (same && li < ri);
    return {tvm::select(left, li, ri), tvm::select(left, lv, rv)};
  };
  auto identity = [&](const Array<DataType>&) -> Array<PrimExpr> {
    PrimExpr worst = t.is_any_float() ? (max ? PrimExpr(FloatImm(t, -INFINITY)) : infinity(t))
                                      : (max ? min_value(t) : max_value(t));
    return {max_value(i64), worst};
  };
  Array<te::Tensor> both =
      te::compute(a.OutShape(), te::FBatchCompute([&](const Array<Var>& i) {
                    Array<PrimExpr> at = p.At(i);
                    PrimExpr pos = Int64(0);
                    for (size_t d = 0; d < at.size(); ++d) {
                      if (p.reduced[d]) pos = pos * x.shape()[d] + at[d];
                    }
                    return te::comm_reduce(combine, identity, {pos, x(at)}, p.axes);
                  }),
                  a.BlockName(), "comm_reduce_idx");
  a.out = {both[0]};
}

/// Layout-independent pooling window.
struct PoolSpec {
  int dims;
  Ints pool, strides, padding, dilation;
  bool include_pad;
  String layout, out_layout;
  std::string axes;
};
template <typename A>
PoolSpec ReadPool(const A& t, int dims) {
  return {dims,      t.pool_size,  t.strides,
          t.padding, t.dilation,   t.count_include_pad,
          t.layout,  t.out_layout, dims == 1 ? "W" : dims == 2 ? "HW" : "DHW"};
}
PoolSpec PoolOf(const LowerArgs& a) {
  const BaseAttrsNode* n = a.call->attrs.get();
  if (n->IsInstance<Pool1DAttrs>()) return ReadPool(a.Attrs<Pool1DAttrs>(), 1);
  if (n->IsInstance<Pool2DAttrs>()) return ReadPool(a.Attrs<Pool2DAttrs>(), 2);
  return ReadPool(a.Attrs<Pool3DAttrs>(), 3);
}

Attr WindowAttr(const LowerArgs& a, const PoolSpec& s) {
  Attr attrs;
  if (s.dims != 2 || s.layout != "NHWC" || s.out_layout != "NHWC") return attrs;
  attrs.Set("tile_op", String("window"));
  for (int d = 0; d < 2; ++d) {
    std::string axis = d == 0 ? "h" : "w";
    attrs.Set("in_" + axis, AsInt(a[0].shape()[LayoutAxis(s.layout, s.axes[d])]).value_or(0));
    attrs.Set("stride_" + axis, s.strides[d]);
    attrs.Set("pad_" + axis, s.padding[d]);
    attrs.Set("dilation_" + axis, s.dilation[d]);
  }
  return attrs;
}

te::Tensor PoolBlock(const LowerArgs& a, const PoolSpec& s, bool max, DataType acc) {
  const te::Tensor& x = a[0];
  Array<tirx::IterVar> axes;
  for (int d = 0; d < s.dims; ++d) {
    axes.push_back(te::reduce_axis(Range::FromMinExtent(Int64(0), Int64(s.pool[d])), "k"));
  }
  PrimExpr neutral =
      max ? (acc.is_any_float() ? PrimExpr(FloatImm(acc, -INFINITY)) : min_value(acc))
          : make_zero(acc);
  return te::compute(
      a.OutShape(), te::FCompute([&](const Array<Var>& i) {
        std::vector<PrimExpr> at(i.size());
        at[LayoutAxis(s.layout, 'N')] = i[LayoutAxis(s.out_layout, 'N')];
        at[LayoutAxis(s.layout, 'C')] = i[LayoutAxis(s.out_layout, 'C')];
        PrimExpr inside = const_true();
        for (int d = 0; d < s.dims; ++d) {
          int in_axis = LayoutAxis(s.layout, s.axes[d]);
          PrimExpr p = i[LayoutAxis(s.out_layout, s.axes[d])] * Int64(s.strides[d]) +
                       PrimExpr(axes[d]->var) * Int64(s.dilation[d]);
          if (s.padding[d] != 0) p = p - Int64(s.padding[d]);
          const PrimExpr& n = x.shape()[in_axis];
          if (s.padding[d] != 0) inside = inside && p >= Int64(0);
          // The last window may reach past the end (end padding, ceil mode).
          auto extent = AsInt(n), out = AsInt(a.OutShape()[LayoutAxis(s.out_layout, s.axes[d])]);
          bool fits =
              extent && out &&
              (*out - 1) * s.strides[d] - s.padding[d] + (s.pool[d] - 1) * s.dilation[d] < *extent;
          if (!fits) inside = inside && p < n;
          at[in_axis] = p;
        }
        PrimExpr v = tvm::cast(acc, x(Array<PrimExpr>(at.begin(), at.end())));
        if (!is_const_int(inside, 1)) v = tvm::if_then_else(inside, v, neutral);
        return max ? te::max(v, axes) : te::sum(v, axes);
      }),
      a.BlockName(), "pool", WindowAttr(a, s));
}

}  // namespace

void LowerArgmax(LowerArgs& a) { ArgReduce(a, true); }
void LowerArgmin(LowerArgs& a) { ArgReduce(a, false); }

void LowerMaxPool(LowerArgs& a) { a.out = {PoolBlock(a, PoolOf(a), true, a.OutDtype())}; }

void LowerAvgPool(LowerArgs& a) {
  PoolSpec s = PoolOf(a);
  DataType out = a.OutDtype(), acc = Acc(out);
  te::Tensor sum = PoolBlock(a, s, false, acc);
  a.out = {te::compute(
      a.OutShape(), te::FCompute([&](const Array<Var>& i) {
        PrimExpr count = Int64(1);
        for (int d = 0; d < s.dims; ++d) {
          PrimExpr n = a[0].shape()[LayoutAxis(s.layout, s.axes[d])];
          PrimExpr begin =
              i[LayoutAxis(s.out_layout, s.axes[d])] * Int64(s.strides[d]) - Int64(s.padding[d]);
          auto extent = AsInt(n), o = AsInt(a.OutShape()[LayoutAxis(s.out_layout, s.axes[d])]);
          PrimExpr hi = n, lo = Int64(0);
          if (s.include_pad) {
            // Padding counts, but not what lies beyond it.
            hi = n + Int64(s.padding[s.dims + d]);
            lo = Int64(-s.padding[d]);
          }
          int64_t reach = (s.pool[d] - 1) * s.dilation[d];
          bool inside = extent && o && (s.include_pad || s.padding[d] == 0) &&
                        (*o - 1) * s.strides[d] - s.padding[d] + reach <
                            *extent + (s.include_pad ? s.padding[s.dims + d] : 0);
          if (inside) {
            count = count * Int64(s.pool[d]);
          } else {
            // Taps begin + j * dilation within [lo, hi).
            PrimExpr dil = Int64(s.dilation[d]);
            PrimExpr first = tvm::max(Int64(0), tvm::floordiv(lo - begin + dil - Int64(1), dil));
            PrimExpr last =
                tvm::min(Int64(s.pool[d]), tvm::floordiv(hi - begin + dil - Int64(1), dil));
            count = count * tvm::max(last - first, Int64(1));
          }
        }
        PrimExpr v = sum(i);
        if (auto c = AsInt(count)) {
          v = acc.is_any_float() ? v * make_const(acc, 1.0 / static_cast<double>(*c))
                                 : tvm::div(v, make_const(acc, *c));
        } else {
          v = tvm::div(v, tvm::cast(acc, count));
        }
        return tvm::cast(out, v);
      }),
      "mean", "elemwise")};
}

void LowerAdaptiveAvgPool(LowerArgs& a) {
  const BaseAttrsNode* n = a.call->attrs.get();
  String layout, out_layout;
  int dims = 0;
  auto read = [&](const auto& t, int d) {
    layout = t.layout;
    out_layout = t.out_layout;
    dims = d;
  };
  if (n->IsInstance<AdaptivePool1DAttrs>()) {
    read(a.Attrs<AdaptivePool1DAttrs>(), 1);
  } else if (n->IsInstance<AdaptivePool2DAttrs>()) {
    read(a.Attrs<AdaptivePool2DAttrs>(), 2);
  } else {
    read(a.Attrs<AdaptivePool3DAttrs>(), 3);
  }
  std::string axes_text = dims == 1 ? "W" : dims == 2 ? "HW" : "DHW";
  const te::Tensor& x = a[0];
  Array<PrimExpr> shape = a.OutShape();
  DataType out = a.OutDtype(), acc = Acc(out);
  // Window d covers [floor(o * in / out), ceil((o + 1) * in / out)).
  Array<tirx::IterVar> axes;
  std::vector<bool> even(dims, false);
  PrimExpr total = Int64(1);
  for (int d = 0; d < dims; ++d) {
    PrimExpr in = x.shape()[LayoutAxis(layout, axes_text[d])];
    PrimExpr o = shape[LayoutAxis(out_layout, axes_text[d])];
    auto iv = AsInt(in), ov = AsInt(o);
    PrimExpr extent;
    if (iv && ov && *iv % *ov == 0) {
      even[d] = true;
      extent = Int64(*iv / *ov);
    } else {
      extent = tvm::floordiv(in + o - Int64(1), o) + Int64(1);
    }
    if (IsConstInt(o, 1)) {
      even[d] = true;
      extent = in;
    }
    if (even[d]) total = total * extent;
    axes.push_back(te::reduce_axis(Range::FromMinExtent(Int64(0), extent), "k"));
  }
  auto window = [&](const Array<Var>& i, int d, PrimExpr* begin, PrimExpr* end) {
    PrimExpr in = x.shape()[LayoutAxis(layout, axes_text[d])];
    PrimExpr o = shape[LayoutAxis(out_layout, axes_text[d])];
    PrimExpr pos = i[LayoutAxis(out_layout, axes_text[d])];
    *begin = tvm::floordiv(pos * in, o);
    *end = tvm::floordiv((pos + Int64(1)) * in + o - Int64(1), o);
  };
  te::Tensor sum = te::compute(
      shape, te::FCompute([&](const Array<Var>& i) {
        std::vector<PrimExpr> at(i.size());
        at[LayoutAxis(layout, 'N')] = i[LayoutAxis(out_layout, 'N')];
        at[LayoutAxis(layout, 'C')] = i[LayoutAxis(out_layout, 'C')];
        PrimExpr inside = const_true();
        for (int d = 0; d < dims; ++d) {
          PrimExpr k = axes[d]->var;
          PrimExpr& p = at[LayoutAxis(layout, axes_text[d])];
          if (even[d]) {
            bool one = IsConstInt(shape[LayoutAxis(out_layout, axes_text[d])], 1);
            p = one ? k : i[LayoutAxis(out_layout, axes_text[d])] * axes[d]->dom->extent + k;
          } else {
            PrimExpr begin, end;
            window(i, d, &begin, &end);
            p = begin + k;
            inside = inside && p < end;
          }
        }
        PrimExpr v = tvm::cast(acc, x(Array<PrimExpr>(at.begin(), at.end())));
        if (!is_const_int(inside, 1)) v = tvm::if_then_else(inside, v, make_zero(acc));
        return te::sum(v, axes);
      }),
      "adaptive_pool_sum", "comm_reduce");
  a.out = {te::compute(shape, te::FCompute([&](const Array<Var>& i) {
                         PrimExpr count = total;
                         for (int d = 0; d < dims; ++d) {
                           if (even[d]) continue;
                           PrimExpr begin, end;
                           window(i, d, &begin, &end);
                           count = count * (end - begin);
                         }
                         PrimExpr v = sum(i);
                         auto c = AsInt(count);
                         v = c && acc.is_any_float()
                                 ? v * make_const(acc, 1.0 / static_cast<double>(*c))
                                 : tvm::div(v, tvm::cast(acc, count));
                         return tvm::cast(out, v);
                       }),
                       "adaptive_pool", "elemwise")};
}

namespace {

/// Runs along one dimension with a carried value; written as loops.
void ScanWith(LowerArgs& a, bool product) {
  const auto& attrs = a.Attrs<ScanopAttrs>();
  te::Tensor x = a[0];
  DataType t = a.OutDtype();
  Array<PrimExpr> shape = a.OutShape();
  bool flat = !attrs.axis.has_value();
  int n = static_cast<int>(shape.size());
  int axis =
      flat ? 0
           : static_cast<int>(attrs.axis.value() < 0 ? attrs.axis.value() + n : attrs.axis.value());
  if (flat && x.ndim() != 1) {
    Array<PrimExpr> from = x.shape();
    te::Tensor src = x;
    x = te::compute(shape, te::FCompute([&](const Array<Var>& i) {
                      Array<PrimExpr> at;
                      std::vector<PrimExpr> rev;
                      PrimExpr rest = i[0];
                      for (size_t d = from.size(); d-- > 0;) {
                        rev.push_back(d == 0 ? rest : tvm::floormod(rest, from[d]));
                        rest = tvm::floordiv(rest, from[d]);
                      }
                      for (size_t d = rev.size(); d-- > 0;) at.push_back(rev[d]);
                      return src(at);
                    }),
                    "flatten", "injective");
  }
  tirx::Buffer in = tirx::decl_buffer(x.shape(), x.dtype(), "x");
  tirx::Buffer out = tirx::decl_buffer(shape, t, "out");
  std::vector<Var> vars;
  Array<PrimExpr> at, before;
  for (int d = 0; d < n; ++d) {
    vars.push_back(Var("i" + std::to_string(d), DataType::Int(64)));
    at.push_back(PrimExpr(vars.back()));
    before.push_back(d == axis ? vars.back() - Int64(1) : PrimExpr(vars.back()));
  }
  auto read = [&](const Array<PrimExpr>& p) { return tvm::cast(t, tirx::BufferLoad(in, p)); };
  PrimExpr previous = tirx::BufferLoad(out, before);
  PrimExpr start = attrs.exclusive ? make_const(t, product ? 1 : 0) : read(at);
  PrimExpr item = attrs.exclusive ? read(before) : read(at);
  PrimExpr next = product ? previous * item : previous + item;
  tirx::Stmt body =
      tirx::BufferStore(out, tvm::if_then_else(tvm::equal(vars[axis], Int64(0)), start, next), at);
  // The scanned dimension runs outside of the ones after it, so that these stay vectorisable.
  for (int d = n; d-- > 0;) {
    body = tirx::For(vars[d], Int64(0), shape[d], tirx::ForKind::kSerial, body);
  }
  a.out = {te::ExternOp(a.BlockName(), "scan", {}, {x}, {in}, {out}, body).output(0)};
}

/// Number of elements that come before each one in sorted order along `axis`; ties by position.
te::Tensor RankOf(const te::Tensor& x, int axis, bool descending) {
  auto k = te::reduce_axis(Range::FromMinExtent(Int64(0), x.shape()[axis]), "k");
  return te::compute(x.shape(), te::FCompute([&](const Array<Var>& i) {
                       Array<PrimExpr> other(i.begin(), i.end());
                       other.Set(axis, PrimExpr(k->var));
                       PrimExpr mine = x(i), theirs = x(other);
                       PrimExpr first = descending ? theirs > mine : theirs < mine;
                       PrimExpr tie = tvm::equal(theirs, mine);
                       if (x.dtype().is_any_float()) {
                         // NaN sorts after every number.
                         PrimExpr mn = tvm::isnan(mine), tn = tvm::isnan(theirs);
                         first = descending ? first || (tn && tvm::logical_not(mn))
                                            : first || (mn && tvm::logical_not(tn));
                         tie = tie || (mn && tn);
                       }
                       PrimExpr before = first || (tie && PrimExpr(k->var) < PrimExpr(i[axis]));
                       return te::sum(tvm::cast(DataType::Int(32), before), {k});
                     }),
                     "rank", "comm_reduce");
}

/// Positions (as `dtype`) of the first elements of the order, `shape` in all.
te::Tensor TakeByRank(const te::Tensor& rank, int axis, const Array<PrimExpr>& shape,
                      DataType dtype) {
  auto k = te::reduce_axis(Range::FromMinExtent(Int64(0), rank.shape()[axis]), "k");
  return te::compute(shape, te::FCompute([&](const Array<Var>& i) {
                       Array<PrimExpr> at(i.begin(), i.end());
                       at.Set(axis, PrimExpr(k->var));
                       PrimExpr here = tvm::equal(tvm::cast(DataType::Int(64), rank(at)), i[axis]);
                       return te::sum(tvm::select(here, tvm::cast(dtype, k->var), make_zero(dtype)),
                                      {k});
                     }),
                     "order", "comm_reduce");
}

te::Tensor GatherAxis(const te::Tensor& x, const te::Tensor& order, int axis) {
  return te::compute(order.shape(), te::FCompute([&](const Array<Var>& i) {
                       Array<PrimExpr> at(i.begin(), i.end());
                       at.Set(axis, tvm::cast(DataType::Int(64), order(i)));
                       return x(at);
                     }),
                     "sorted", "injective");
}

int PositiveAxis(int64_t axis, const te::Tensor& x) {
  return static_cast<int>(axis < 0 ? axis + static_cast<int64_t>(x.ndim()) : axis);
}

}  // namespace

void LowerCumsum(LowerArgs& a) { ScanWith(a, false); }
void LowerCumprod(LowerArgs& a) { ScanWith(a, true); }

void LowerSort(LowerArgs& a) {
  const auto& attrs = a.Attrs<SortAttrs>();
  int axis = PositiveAxis(attrs.axis, a[0]);
  te::Tensor order =
      TakeByRank(RankOf(a[0], axis, attrs.descending), axis, a[0].shape(), DataType::Int(64));
  a.out = {GatherAxis(a[0], order, axis)};
}
void LowerArgsort(LowerArgs& a) {
  const auto& attrs = a.Attrs<ArgsortAttrs>();
  int axis = PositiveAxis(attrs.axis, a[0]);
  a.out = {TakeByRank(RankOf(a[0], axis, attrs.descending), axis, a[0].shape(), attrs.dtype)};
}
void LowerTopK(LowerArgs& a) {
  const auto& attrs = a.Attrs<TopKAttrs>();
  int axis = PositiveAxis(attrs.axis, a[0]);
  te::Tensor order =
      TakeByRank(RankOf(a[0], axis, attrs.largest), axis, a.OutShape(0), attrs.dtype);
  if (attrs.ret_type == "indices") {
    a.out = {order};
  } else if (attrs.ret_type == "values") {
    a.out = {GatherAxis(a[0], order, axis)};
  } else {
    a.out = {GatherAxis(a[0], order, axis), order};
  }
}
void LowerBucketize(LowerArgs& a) {
  const te::Tensor& bounds = a[1];
  bool right = a.Attrs<BucketizeAttrs>().right;
  auto k = te::reduce_axis(Range::FromMinExtent(Int64(0), bounds.shape()[0]), "k");
  a.out = {te::compute(a.OutShape(), te::FCompute([&](const Array<Var>& i) {
                         PrimExpr b = bounds(PrimExpr(k->var)), v = a[0](i);
                         PrimExpr below = right ? b <= v : b < v;
                         return te::sum(tvm::cast(a.OutDtype(), below), {k});
                       }),
                       a.BlockName(), "comm_reduce")};
}

}  // namespace relax
}  // namespace tvm
