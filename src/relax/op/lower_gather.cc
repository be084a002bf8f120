// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Lowering of gather, scatter and image sampling.
///
/// No rule reads or writes outside of a tensor: negative indices count from the end, indices still
/// out of range are clipped when reading and skipped when writing.
#include <tvm/tirx/stmt.h>

#include "relax/op/common.h"
#include "relax/op/lower.h"
#include "relax/op/lower_rules.h"

namespace tvm {
namespace relax {

namespace {

const DataType kI64 = DataType::Int(64);

PrimExpr Wrap(const PrimExpr& index, const PrimExpr& extent) {
  PrimExpr i = tvm::cast(kI64, index);
  return tvm::select(i < Int64(0), i + extent, i);
}
PrimExpr SafeIndex(const PrimExpr& index, const PrimExpr& extent) {
  return tvm::max(tvm::min(Wrap(index, extent), extent - Int64(1)), Int64(0));
}
te::Tensor Inj(const LowerArgs& a, const std::function<PrimExpr(const Array<Var>&)>& f,
               int out = 0) {
  return te::compute(a.OutShape(out), te::FCompute(f), a.BlockName(), "injective");
}
/// `x(at)` unless `x` turns out to have no elements.
PrimExpr ReadUnlessEmpty(const te::Tensor& x, const Array<PrimExpr>& at) {
  PrimExpr some = const_true();
  for (const PrimExpr& n : x.shape()) {
    if (!AsInt(n)) some = some && n > Int64(0);
  }
  return is_const_int(some, 1) ? x(at) : tvm::if_then_else(some, x(at), make_zero(x.dtype()));
}
/// Position `i` of a loop of `extent` in a dimension that is as long, unless one of them is open.
PrimExpr Within(const PrimExpr& i, const PrimExpr& extent, const PrimExpr& dim) {
  if (AsInt(extent) && AsInt(dim)) return i;
  return tvm::max(tvm::min(i, dim - Int64(1)), Int64(0));
}
int Pos(int64_t axis, size_t n) {
  return static_cast<int>(axis < 0 ? axis + static_cast<int64_t>(n) : axis);
}

}  // namespace

void LowerGatherElements(LowerArgs& a) {
  int axis = Pos(a.Attrs<GatherElementsAttrs>().axis, a[0].ndim());
  a.out = {Inj(a, [&](const Array<Var>& i) {
    Array<PrimExpr> at;
    for (int d = 0; d < static_cast<int>(i.size()); ++d) {
      const PrimExpr& n = a[0].shape()[d];
      at.push_back(d == axis ? SafeIndex(a[1](i), n) : Within(PrimExpr(i[d]), a[1].shape()[d], n));
    }
    return ReadUnlessEmpty(a[0], at);
  })};
}

void LowerGatherND(LowerArgs& a) {
  int64_t batch = a.Attrs<GatherNDAttrs>().batch_dims;
  const te::Tensor &x = a[0], &idx = a[1];
  int64_t depth = *AsInt(idx.shape()[idx.ndim() - 1]);
  size_t lead = idx.ndim() - 1;
  a.out = {Inj(a, [&](const Array<Var>& i) {
    Array<PrimExpr> at;
    for (int64_t d = 0; d < batch; ++d) {
      at.push_back(Within(PrimExpr(i[d]), idx.shape()[d], x.shape()[d]));
    }
    for (int64_t d = 0; d < depth; ++d) {
      Array<PrimExpr> where;
      for (size_t k = 0; k < lead; ++k) where.push_back(PrimExpr(i[k]));
      where.push_back(Int64(d));
      at.push_back(SafeIndex(idx(where), x.shape()[batch + d]));
    }
    for (size_t d = lead; d < i.size(); ++d) at.push_back(PrimExpr(i[d]));
    return ReadUnlessEmpty(x, at);
  })};
}

void LowerIndexTensor(LowerArgs& a) {
  const te::Tensor& x = a[0];
  Array<te::Tensor> idx = a.Tuple(1);
  size_t lead = 0;
  for (const te::Tensor& t : idx) lead = std::max(lead, t.ndim());
  a.out = {Inj(a, [&](const Array<Var>& i) {
    Array<Var> head(i.begin(), i.begin() + lead);
    Array<PrimExpr> at;
    for (size_t d = 0; d < idx.size(); ++d) {
      at.push_back(SafeIndex(BroadcastRead(idx[d], head), x.shape()[d]));
    }
    for (size_t d = lead; d < i.size(); ++d) at.push_back(PrimExpr(i[d]));
    return ReadUnlessEmpty(x, at);
  })};
}

void LowerMeshgrid(LowerArgs& a) {
  Array<te::Tensor> in = a.Tuple(0);
  const OptString& indexing = a.Attrs<MeshgridAttrs>().indexing;
  bool xy = indexing.has_value() && indexing.value() == "xy";
  for (size_t k = 0; k < in.size(); ++k) {
    size_t d = xy && k < 2 && in.size() >= 2 ? 1 - k : k;
    te::Tensor t = in[k];
    a.out.push_back(
        Inj(a, [&](const Array<Var>& i) { return t(PrimExpr(i[d])); }, static_cast<int>(k)));
  }
}

void LowerOneHot(LowerArgs& a) {
  const auto& attrs = a.Attrs<OneHotAttrs>();
  size_t n = a[0].ndim() + 1;
  int axis = Pos(attrs.axis, n);
  a.out = {Inj(a, [&](const Array<Var>& i) {
    Array<PrimExpr> at;
    for (size_t d = 0; d < n; ++d) {
      if (static_cast<int>(d) != axis) at.push_back(PrimExpr(i[d]));
    }
    PrimExpr hot = tvm::equal(tvm::cast(kI64, a[0](at)), PrimExpr(i[axis]));
    return tvm::select(hot, a.Prim(1), a.Prim(2));
  })};
}

void LowerSliceScatter(LowerArgs& a) {
  const te::Tensor &x = a[0], &src = a[1];
  int axis = Pos(a.Attrs<SliceScatterAttrs>().axis, x.ndim());
  PrimExpr start = tvm::cast(kI64, a.Prim(2)), step = tvm::cast(kI64, a.Prim(4));
  start = tvm::select(start < Int64(0), start + x.shape()[axis], start);
  a.out = {Inj(a, [&](const Array<Var>& i) {
    PrimExpr t = i[axis] - start;
    PrimExpr k = tvm::floordiv(t, step);
    PrimExpr hit =
        t >= Int64(0) && tvm::equal(tvm::floormod(t, step), Int64(0)) && k < src.shape()[axis];
    Array<PrimExpr> at(i.begin(), i.end());
    at.Set(axis, k);
    return tvm::if_then_else(hit, src(at), x(i));
  })};
}

namespace {

using tirx::Buffer;
using tirx::Stmt;

struct Loops {
  std::vector<std::pair<Var, PrimExpr>> list;
  Array<PrimExpr> Over(const Array<PrimExpr>& shape, const char* prefix) {
    Array<PrimExpr> at;
    for (size_t d = 0; d < shape.size(); ++d) {
      Var v(std::string(prefix) + std::to_string(d), kI64);
      list.emplace_back(v, shape[d]);
      at.push_back(PrimExpr(v));
    }
    return at;
  }
  Stmt Wrap(Stmt body) const {
    for (size_t i = list.size(); i-- > 0;) {
      body = tirx::For(list[i].first, Int64(0), list[i].second, tirx::ForKind::kSerial, body);
    }
    return body;
  }
};

PrimExpr Reduce(const String& how, const PrimExpr& old, const PrimExpr& update) {
  if (how == "update") return update;
  if (how == "add") return old + update;
  if (how == "mul") return old * update;
  if (how == "max") return tvm::max(old, update);
  TVM_FFI_CHECK(how == "min", ValueError)
      << "scatter expects reduction to be 'update', 'add', 'mul', 'max' or 'min', but got '" << how
      << "'";
  return tvm::min(old, update);
}

/// Whether position `i` of a loop of `extent` lies in a dimension of `dim`.
PrimExpr Inside(const PrimExpr& i, const PrimExpr& extent, const PrimExpr& dim) {
  auto m = AsInt(extent), n = AsInt(dim);
  return m && n && *m <= *n ? const_true() : i < dim;
}

/// out = x, then for every update position: out[at] (+)= update, where `at` is inside.
void Scatter(
    LowerArgs& a, const Array<te::Tensor>& inputs, const Array<PrimExpr>& update_shape,
    const std::function<Stmt(const Array<Buffer>&, const Buffer&, const Array<PrimExpr>&)>& store) {
  Array<Buffer> in;
  for (const te::Tensor& t : inputs) in.push_back(tirx::decl_buffer(t.shape(), t.dtype(), "in"));
  Buffer out = tirx::decl_buffer(a.OutShape(), a.OutDtype(), "out");
  Loops copy, update;
  Array<PrimExpr> ci = copy.Over(a.OutShape(), "c");
  Stmt first = copy.Wrap(tirx::BufferStore(out, tirx::BufferLoad(in[0], ci), ci));
  Array<PrimExpr> ui = update.Over(update_shape, "u");
  Stmt second = update.Wrap(store(in, out, ui));
  a.out = {
      te::ExternOp(a.BlockName(), "scatter", {}, inputs, in, {out}, tirx::SeqStmt({first, second}))
          .output(0)};
}

}  // namespace

void LowerScatterElements(LowerArgs& a) {
  const auto& attrs = a.Attrs<ScatterElementsAttrs>();
  int axis = Pos(attrs.axis, a[0].ndim());
  PrimExpr extent = a[0].shape()[axis];
  Scatter(a, {a[0], a[1], a[2]}, a[1].shape(),
          [&](const Array<Buffer>& in, const Buffer& out, const Array<PrimExpr>& u) -> Stmt {
            PrimExpr k = Wrap(tirx::BufferLoad(in[1], u), extent);
            Array<PrimExpr> at = u;
            at.Set(axis, k);
            Stmt s = tirx::BufferStore(
                out, Reduce(attrs.reduction, tirx::BufferLoad(out, at), tirx::BufferLoad(in[2], u)),
                at);
            PrimExpr ok = k >= Int64(0) && k < extent;
            for (int d = 0; d < static_cast<int>(u.size()); ++d) {
              if (d != axis) ok = ok && Inside(u[d], a[1].shape()[d], a[0].shape()[d]);
              ok = ok && Inside(u[d], a[1].shape()[d], a[2].shape()[d]);
            }
            return tirx::IfThenElse(ok, s);
          });
}

void LowerScatterND(LowerArgs& a) {
  const String& how = a.Attrs<ScatterNDAttrs>().reduction;
  const te::Tensor &x = a[0], &idx = a[1];
  int64_t depth = *AsInt(idx.shape()[idx.ndim() - 1]);
  size_t lead = idx.ndim() - 1;
  Scatter(a, {x, idx, a[2]}, a[2].shape(),
          [&](const Array<Buffer>& in, const Buffer& out, const Array<PrimExpr>& u) -> Stmt {
            Array<PrimExpr> at;
            PrimExpr ok = const_true();
            for (int64_t d = 0; d < depth; ++d) {
              Array<PrimExpr> where(u.begin(), u.begin() + lead);
              where.push_back(Int64(d));
              PrimExpr k = Wrap(tirx::BufferLoad(in[1], where), x.shape()[d]);
              ok = ok && k >= Int64(0) && k < x.shape()[d];
              at.push_back(k);
            }
            for (size_t d = 0; d < lead; ++d) {
              ok = ok && Inside(u[d], a[2].shape()[d], idx.shape()[d]);
            }
            for (size_t d = lead; d < u.size(); ++d) {
              ok = ok && Inside(u[d], a[2].shape()[d], x.shape()[d - lead + depth]);
              at.push_back(u[d]);
            }
            Stmt s = tirx::BufferStore(
                out, Reduce(how, tirx::BufferLoad(out, at), tirx::BufferLoad(in[2], u)), at);
            return tirx::IfThenElse(ok, s);
          });
}

void LowerIndexPut(LowerArgs& a) {
  bool accumulate = a.Attrs<IndexPutAttrs>().accumulate;
  const te::Tensor& x = a[0];
  Array<te::Tensor> idx = a.Tuple(1), inputs{x};
  size_t lead = 0;
  for (const te::Tensor& t : idx) {
    inputs.push_back(t);
    lead = std::max(lead, t.ndim());
  }
  inputs.push_back(a[2]);
  // The positions are the broadcast indices followed by the dimensions that are not indexed.
  std::vector<PrimExpr> shape(lead, Int64(1));
  for (const te::Tensor& t : idx) {
    for (size_t d = 0; d < t.ndim(); ++d) {
      PrimExpr& e = shape[lead - t.ndim() + d];
      if (IsConstInt(e, 1)) e = t.shape()[d];
    }
  }
  for (size_t d = idx.size(); d < x.ndim(); ++d) shape.push_back(x.shape()[d]);
  auto read = [](const Buffer& b, const Array<PrimExpr>& u, size_t width) {
    Array<PrimExpr> at;
    size_t n = b->ty.as<tirx::BufferTypeNode>()->shape.size();
    for (size_t d = 0; d < n; ++d) {
      bool unit = IsConstInt(b->ty.as<tirx::BufferTypeNode>()->shape[d], 1);
      at.push_back(unit ? Int64(0) : u[width - n + d]);
    }
    return PrimExpr(tirx::BufferLoad(b, at));
  };
  Scatter(a, inputs, Array<PrimExpr>(shape.begin(), shape.end()),
          [&](const Array<Buffer>& in, const Buffer& out, const Array<PrimExpr>& u) -> Stmt {
            Array<PrimExpr> at;
            PrimExpr ok = const_true();
            for (size_t d = 0; d < idx.size(); ++d) {
              PrimExpr k = Wrap(read(in[1 + d], u, lead), x.shape()[d]);
              ok = ok && k >= Int64(0) && k < x.shape()[d];
              at.push_back(k);
            }
            for (size_t d = lead; d < u.size(); ++d) at.push_back(u[d]);
            PrimExpr v = read(in.back(), u, u.size());
            PrimExpr old = tirx::BufferLoad(out, at);
            return tirx::IfThenElse(ok, tirx::BufferStore(out, accumulate ? old + v : v, at));
          });
}

namespace {

/// One direction of a resize.
struct ResizeAxis {
  PrimExpr in, out;
  double roi_begin = 0, roi_end = 1;
};

struct ResizeSpec {
  String layout, method, mode, rounding;
  double cubic_alpha, extrapolation;
  bool cubic_exclude;
  Array<double> roi;
  std::string axes;
};
template <typename A>
ResizeSpec ReadResize(const A& t, const char* axes) {
  return {t.layout,
          t.method,
          t.coordinate_transformation_mode,
          t.rounding_method,
          t.cubic_alpha,
          t.extrapolation_value,
          t.cubic_exclude != 0,
          t.roi,
          axes};
}

const DataType kF32 = DataType::Float(32);
PrimExpr F(double v) { return make_const(kF32, v); }

/// Position in the input, in float32, for an output position.
PrimExpr SourcePosition(const ResizeSpec& s, const ResizeAxis& ax, const PrimExpr& o) {
  PrimExpr x = tvm::cast(kF32, o);
  PrimExpr in = tvm::cast(kF32, ax.in), out = tvm::cast(kF32, ax.out);
  auto iv = AsInt(ax.in), ov = AsInt(ax.out);
  PrimExpr scale =
      iv && ov ? F(static_cast<double>(*iv) / static_cast<double>(*ov)) : tvm::div(in, out);
  const String& m = s.mode;
  if (m == "asymmetric") return scale * x;
  if (m == "align_corners") {
    if (iv && ov) {
      if (*ov == 1) return F(0);
      return x * F(static_cast<double>(*iv - 1) / static_cast<double>(*ov - 1));
    }
    return x * tvm::div(in - F(1), out - F(1));
  }
  if (m == "half_pixel") return scale * (x + F(0.5)) - F(0.5);
  if (m == "pytorch_half_pixel") {
    PrimExpr v = scale * (x + F(0.5)) - F(0.5);
    if (ov) return *ov > 1 ? v : F(0);
    return tvm::select(ax.out > Int64(1), v, F(0));
  }
  if (m == "tf_half_pixel_for_nn") return scale * (x + F(0.5));
  TVM_FFI_CHECK(m == "tf_crop_and_resize", ValueError)
      << "image.resize: unknown coordinate_transformation_mode '" << m << "'";
  PrimExpr b = F(ax.roi_begin), e = F(ax.roi_end);
  if (ov && *ov == 1) return F(0.5) * (b + e) * (in - F(1));
  return b * (in - F(1)) + x * tvm::div((e - b) * (in - F(1)), out - F(1));
}

PrimExpr RoundPosition(const ResizeSpec& s, const PrimExpr& x) {
  std::string_view r(s.rounding.data(), s.rounding.size());
  if (r.empty()) r = s.mode == "align_corners" ? "round" : "floor";
  PrimExpr v;
  if (r == "round") {
    v = tvm::nearbyint(x);
  } else if (r == "round_prefer_floor") {
    v = tvm::ceil(x - F(0.5));
  } else if (r == "round_prefer_ceil") {
    v = tvm::floor(x + F(0.5));
  } else if (r == "floor") {
    // Positions a hair below a whole number are meant to be that number.
    v = tvm::floor(x + F(1e-5));
  } else {
    TVM_FFI_CHECK(r == "ceil", ValueError)
        << "image.resize: unknown rounding_method '" << s.rounding << "'";
    v = tvm::ceil(x - F(1e-5));
  }
  return tvm::cast(kI64, v);
}

PrimExpr Clamp(const PrimExpr& v, const PrimExpr& extent) {
  return tvm::max(tvm::min(v, extent - Int64(1)), Int64(0));
}

/// Input positions and weights that contribute along one direction.
struct Taps {
  std::vector<PrimExpr> at, weight;
};

Taps CubicTaps(const ResizeSpec& s, const ResizeAxis& ax, const PrimExpr& x) {
  PrimExpr base = tvm::floor(x), f = x - base;
  double al = s.cubic_alpha;
  PrimExpr f2 = f * f, f3 = f2 * f;
  std::vector<PrimExpr> w{F(al) * (f3 - F(2) * f2 + f), F(al + 2) * f3 - F(al + 3) * f2 + F(1),
                          F(0) - F(al + 2) * f3 + F(2 * al + 3) * f2 - F(al) * f,
                          F(0) - F(al) * f3 + F(al) * f2};
  Taps t;
  PrimExpr total = F(0);
  PrimExpr b = tvm::cast(kI64, base);
  for (int k = 0; k < 4; ++k) {
    PrimExpr p = b + Int64(k - 1);
    if (s.cubic_exclude) w[k] = tvm::select(p >= Int64(0) && p < ax.in, w[k], F(0));
    total = total + w[k];
    t.at.push_back(Clamp(p, ax.in));
    t.weight.push_back(w[k]);
  }
  if (s.cubic_exclude) {
    for (PrimExpr& v : t.weight) v = tvm::div(v, total);
  }
  return t;
}

Taps TapsOf(const ResizeSpec& s, const ResizeAxis& ax, const PrimExpr& o) {
  PrimExpr x = SourcePosition(s, ax, o);
  if (s.method == "nearest_neighbor") return {{Clamp(RoundPosition(s, x), ax.in)}, {PrimExpr()}};
  if (s.method == "cubic") return CubicTaps(s, ax, x);
  TVM_FFI_CHECK(s.method == "linear", ValueError)
      << "image.resize: unknown method '" << s.method << "'";
  PrimExpr base = tvm::floor(x), f = x - base;
  PrimExpr b = tvm::cast(kI64, base);
  return {{Clamp(b, ax.in), Clamp(b + Int64(1), ax.in)}, {F(1) - f, f}};
}

}  // namespace

void LowerResize(LowerArgs& a) {
  bool flat = a.call->attrs->IsInstance<Resize2DAttrs>();
  ResizeSpec s = flat ? ReadResize(a.Attrs<Resize2DAttrs>(), "HW")
                      : ReadResize(a.Attrs<Resize3DAttrs>(), "DHW");
  const te::Tensor& x = a[0];
  Array<PrimExpr> shape = a.OutShape();
  size_t dims = s.axes.size();
  std::vector<ResizeAxis> axes;
  for (size_t d = 0; d < dims; ++d) {
    int at = LayoutAxis(s.layout, s.axes[d]);
    ResizeAxis ax{x.shape()[at], shape[at]};
    if (s.roi.size() == 2 * dims) {
      ax.roi_begin = s.roi[d];
      ax.roi_end = s.roi[dims + d];
    }
    axes.push_back(ax);
  }
  a.out = {Inj(a, [&](const Array<Var>& i) {
    std::vector<Taps> taps;
    PrimExpr outside = const_false();
    for (size_t d = 0; d < dims; ++d) {
      PrimExpr o = i[LayoutAxis(s.layout, s.axes[d])];
      taps.push_back(TapsOf(s, axes[d], o));
      if (s.mode == "tf_crop_and_resize") {
        PrimExpr p = SourcePosition(s, axes[d], o);
        outside = outside || p < F(0) || p > tvm::cast(kF32, axes[d].in - Int64(1));
      }
    }
    Array<PrimExpr> at(i.begin(), i.end());
    bool nearest = s.method == "nearest_neighbor";
    std::function<PrimExpr(size_t)> sum = [&](size_t d) -> PrimExpr {
      if (d == dims) return nearest ? x(at) : tvm::cast(kF32, x(at));
      PrimExpr total;
      for (size_t k = 0; k < taps[d].at.size(); ++k) {
        at.Set(LayoutAxis(s.layout, s.axes[d]), taps[d].at[k]);
        PrimExpr v = sum(d + 1);
        if (!nearest) v = v * taps[d].weight[k];
        total = total.defined() ? total + v : v;
      }
      return total;
    };
    PrimExpr v = sum(0);
    DataType out = a.OutDtype();
    if (!nearest && !out.is_any_float()) v = tvm::nearbyint(v);
    v = v.dtype() == out ? v : tvm::cast(out, v);
    if (is_const_int(outside, 0)) return v;
    return tvm::select(outside, make_const(out, s.extrapolation), v);
  })};
}

void LowerGridSample(LowerArgs& a) {
  const auto& s = a.Attrs<GridSampleAttrs>();
  const te::Tensor &x = a[0], &g = a[1];
  TVM_FFI_CHECK(s.layout == "NCHW", ValueError)
      << "image.grid_sample supports layout NCHW, but got '" << s.layout << "'";
  PrimExpr ih = x.shape()[2], iw = x.shape()[3];
  auto position = [&](const PrimExpr& v, const PrimExpr& n) {
    PrimExpr e = tvm::cast(kF32, n);
    PrimExpr p =
        s.align_corners ? (v + F(1)) * F(0.5) * (e - F(1)) : ((v + F(1)) * e - F(1)) * F(0.5);
    if (s.padding_mode == "border") return tvm::max(tvm::min(p, e - F(1)), F(0));
    if (s.padding_mode == "reflection") {
      PrimExpr low = s.align_corners ? F(0) : F(-0.5);
      PrimExpr span = s.align_corners ? e - F(1) : e;
      PrimExpr t = tvm::abs(p - low);
      PrimExpr flips = tvm::floor(tvm::div(t, span));
      PrimExpr rest = t - flips * span;
      PrimExpr odd = tvm::not_equal(flips - F(2) * tvm::floor(flips * F(0.5)), F(0));
      PrimExpr r = tvm::select(odd, span - rest + low, rest + low);
      return tvm::max(tvm::min(r, e - F(1)), F(0));
    }
    return p;
  };
  a.out = {Inj(a, [&](const Array<Var>& i) {
    PrimExpr n = i[0], c = i[1];
    PrimExpr px = position(tvm::cast(kF32, g(Array<PrimExpr>{n, Int64(0), i[2], i[3]})), iw);
    PrimExpr py = position(tvm::cast(kF32, g(Array<PrimExpr>{n, Int64(1), i[2], i[3]})), ih);
    auto read = [&](const PrimExpr& y, const PrimExpr& w) {
      PrimExpr v = tvm::cast(kF32, x(Array<PrimExpr>{n, c, Clamp(y, ih), Clamp(w, iw)}));
      PrimExpr in = y >= Int64(0) && y < ih && w >= Int64(0) && w < iw;
      return tvm::select(in, v, F(0));
    };
    PrimExpr v;
    if (s.method == "nearest") {
      v = read(tvm::cast(kI64, tvm::nearbyint(py)), tvm::cast(kI64, tvm::nearbyint(px)));
    } else {
      TVM_FFI_CHECK(s.method == "bilinear", ValueError)
          << "image.grid_sample supports the methods 'bilinear' and 'nearest', but got '"
          << s.method << "'";
      PrimExpr fy = tvm::floor(py), fx = tvm::floor(px);
      PrimExpr wy = py - fy, wx = px - fx;
      PrimExpr y0 = tvm::cast(kI64, fy), x0 = tvm::cast(kI64, fx);
      PrimExpr one = Int64(1);
      v = read(y0, x0) * (F(1) - wy) * (F(1) - wx) + read(y0, x0 + one) * (F(1) - wy) * wx +
          read(y0 + one, x0) * wy * (F(1) - wx) + read(y0 + one, x0 + one) * wy * wx;
    }
    return tvm::cast(a.OutDtype(), v);
  })};
}

}  // namespace relax
}  // namespace tvm
