// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Lowering of normalisations, softmax, attention and recurrences.
#include <tvm/tirx/stmt.h>

#include <cmath>

#include "relax/op/common.h"
#include "relax/op/lower.h"
#include "relax/op/lower_rules.h"

namespace tvm {
namespace relax {

namespace {

DataType Wide(DataType t) { return t.is_float16() || t.is_bfloat16() ? DataType::Float(32) : t; }

Array<PrimExpr> Exprs(const Array<Var>& v) { return Array<PrimExpr>(v.begin(), v.end()); }

tirx::IterVar Axis(const PrimExpr& extent) {
  return te::reduce_axis(Range::FromMinExtent(Int64(0), extent), "k");
}

te::Tensor Ewise(const Array<PrimExpr>& shape, const char* name,
                 const std::function<PrimExpr(const Array<Var>&)>& f) {
  return te::compute(shape, te::FCompute(f), name, "elemwise");
}

/// Reduces some dimensions of a tensor, dropping them.
struct Dropper {
  Array<PrimExpr> in_shape, out_shape;
  std::vector<bool> reduced;
  PrimExpr count = Int64(1);

  Dropper(const Array<PrimExpr>& shape, const std::vector<int>& axes) : in_shape(shape) {
    reduced.assign(shape.size(), false);
    for (int d : axes) reduced[d] = true;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (reduced[d]) {
        count = count * shape[d];
      } else {
        out_shape.push_back(shape[d]);
      }
    }
  }
  te::Tensor Run(const char* name, bool max,
                 const std::function<PrimExpr(const Array<PrimExpr>&)>& f) const {
    Array<tirx::IterVar> axes;
    for (size_t d = 0; d < reduced.size(); ++d) {
      if (reduced[d]) axes.push_back(Axis(in_shape[d]));
    }
    return te::compute(out_shape, te::FCompute([&](const Array<Var>& i) {
                         Array<PrimExpr> at;
                         size_t o = 0, k = 0;
                         for (size_t d = 0; d < reduced.size(); ++d) {
                           at.push_back(reduced[d] ? PrimExpr(axes[k++]->var) : PrimExpr(i[o++]));
                         }
                         return max ? te::max(f(at), axes) : te::sum(f(at), axes);
                       }),
                       name, "comm_reduce");
  }
  Array<PrimExpr> Kept(const Array<PrimExpr>& at) const {
    Array<PrimExpr> r;
    for (size_t d = 0; d < reduced.size(); ++d) {
      if (!reduced[d]) r.push_back(at[d]);
    }
    return r;
  }
};

PrimExpr Reciprocal(const PrimExpr& count, DataType t) {
  if (auto n = AsInt(count)) {
    if (*n != 0) return make_const(t, 1.0 / static_cast<double>(*n));
  }
  return tvm::div(make_const(t, 1.0), tvm::cast(t, count));
}

std::vector<int> PositiveAxes(const Ints& axes, size_t n) {
  std::vector<int> r;
  for (int64_t v : axes) r.push_back(static_cast<int>(v < 0 ? v + static_cast<int64_t>(n) : v));
  return r;
}

/// (x - mean) / sqrt(var + eps) over `axes`, then scaled and shifted by parameters read by `param`.
te::Tensor Normalise(LowerArgs& a, const te::Tensor& x, const std::vector<int>& axes, double eps,
                     bool scale, bool center,
                     const std::function<Array<PrimExpr>(const Array<PrimExpr>&)>& param) {
  DataType w = Wide(x.dtype());
  Dropper drop(x.shape(), axes);
  PrimExpr inv = Reciprocal(drop.count, w);
  te::Tensor sum =
      drop.Run("sum", false, [&](const Array<PrimExpr>& at) { return tvm::cast(w, x(at)); });
  te::Tensor mean =
      Ewise(drop.out_shape, "mean", [&](const Array<Var>& i) { return sum(i) * inv; });
  te::Tensor sq = drop.Run("sum_sq", false, [&](const Array<PrimExpr>& at) {
    PrimExpr d = tvm::cast(w, x(at)) - mean(drop.Kept(at));
    return d * d;
  });
  te::Tensor rstd = Ewise(drop.out_shape, "rstd", [&](const Array<Var>& i) {
    return tvm::rsqrt(sq(i) * inv + make_const(w, eps));
  });
  std::string name(a.BlockName().data(), a.BlockName().size());
  return Ewise(x.shape(), name.c_str(), [&](const Array<Var>& i) {
    Array<PrimExpr> at = Exprs(i);
    Array<PrimExpr> kept = drop.Kept(at);
    PrimExpr v = (tvm::cast(w, x(at)) - mean(kept)) * rstd(kept);
    if (scale) v = v * tvm::cast(w, a[1](param(at)));
    if (center) v = v + tvm::cast(w, a[2](param(at)));
    return tvm::cast(x.dtype(), v);
  });
}

}  // namespace

void LowerLeakyRelu(LowerArgs& a) {
  double alpha = a.Attrs<LeakyReluAttrs>().alpha;
  a.out = {MapElements(a[0], a, "elemwise", [&](PrimExpr x) {
    return tvm::select(x > make_zero(x.dtype()), x, x * make_const(x.dtype(), alpha));
  })};
}
void LowerSoftplus(LowerArgs& a) {
  const auto& attrs = a.Attrs<SoftplusAttrs>();
  a.out = {MapElements(a[0], a, "elemwise", [&](PrimExpr x) {
    DataType t = x.dtype();
    PrimExpr b = x * make_const(t, attrs.beta);
    PrimExpr soft = tvm::log(make_const(t, 1.0) + tvm::exp(b)) * make_const(t, 1.0 / attrs.beta);
    return tvm::select(b > make_const(t, attrs.threshold), x, soft);
  })};
}
void LowerPRelu(LowerArgs& a) {
  int64_t axis = a.Attrs<PReluAttrs>().axis;
  const te::Tensor& x = a[0];
  size_t d = axis < 0 ? axis + x.ndim() : axis;
  a.out = {Ewise(x.shape(), "prelu", [&](const Array<Var>& i) {
    PrimExpr v = x(i);
    PrimExpr slope;
    if (a[1].ndim() == 1) {
      bool one = IsConstInt(a[1].shape()[0], 1);
      slope = a[1](one ? Int64(0) : PrimExpr(i[d]));
    } else {
      slope = BroadcastRead(a[1], i);
    }
    return tvm::select(v > make_zero(v.dtype()), v, v * slope);
  })};
}

namespace {

/// exp(x - max) and its sum along an axis.
void SoftmaxParts(const te::Tensor& x, int axis, Dropper* drop, te::Tensor* max, te::Tensor* e,
                  te::Tensor* sum) {
  DataType w = Wide(x.dtype());
  *max = drop->Run("max", true, [&](const Array<PrimExpr>& at) { return tvm::cast(w, x(at)); });
  *e = Ewise(x.shape(), "exp", [&](const Array<Var>& i) {
    Array<PrimExpr> at = Exprs(i);
    return tvm::exp(tvm::cast(w, x(at)) - (*max)(drop->Kept(at)));
  });
  *sum = drop->Run("sum", false, [&](const Array<PrimExpr>& at) { return (*e)(at); });
}

te::Tensor SoftmaxOf(const te::Tensor& x, int axis, const char* name) {
  Dropper drop(x.shape(), {axis});
  te::Tensor max, e, sum;
  SoftmaxParts(x, axis, &drop, &max, &e, &sum);
  return Ewise(x.shape(), name, [&](const Array<Var>& i) {
    Array<PrimExpr> at = Exprs(i);
    return tvm::cast(x.dtype(), tvm::div(e(at), sum(drop.Kept(at))));
  });
}

}  // namespace

void LowerSoftmax(LowerArgs& a) {
  int64_t axis = a.Attrs<SoftmaxAttrs>().axis;
  a.out = {SoftmaxOf(a[0], static_cast<int>(axis < 0 ? axis + a[0].ndim() : axis), "softmax")};
}
void LowerLogSoftmax(LowerArgs& a) {
  int64_t axis = a.Attrs<SoftmaxAttrs>().axis;
  const te::Tensor& x = a[0];
  int d = static_cast<int>(axis < 0 ? axis + x.ndim() : axis);
  DataType w = Wide(x.dtype());
  Dropper drop(x.shape(), {d});
  te::Tensor max, e, sum;
  SoftmaxParts(x, d, &drop, &max, &e, &sum);
  a.out = {Ewise(x.shape(), "log_softmax", [&](const Array<Var>& i) {
    Array<PrimExpr> at = Exprs(i);
    Array<PrimExpr> kept = drop.Kept(at);
    return tvm::cast(x.dtype(), tvm::cast(w, x(at)) - max(kept) - tvm::log(sum(kept)));
  })};
}

void LowerBatchNorm(LowerArgs& a) {
  const auto& attrs = a.Attrs<BatchNormAttrs>();
  const te::Tensor& x = a[0];
  int c = static_cast<int>(attrs.axis < 0 ? attrs.axis + x.ndim() : attrs.axis);
  DataType w = Wide(x.dtype());
  te::Tensor mean = a[3], var = a[4];
  if (attrs.training) {
    std::vector<int> axes;
    for (size_t d = 0; d < x.ndim(); ++d) {
      if (static_cast<int>(d) != c) axes.push_back(static_cast<int>(d));
    }
    Dropper drop(x.shape(), axes);
    PrimExpr inv = Reciprocal(drop.count, w);
    te::Tensor sum =
        drop.Run("sum", false, [&](const Array<PrimExpr>& at) { return tvm::cast(w, x(at)); });
    mean = Ewise(drop.out_shape, "mean", [&](const Array<Var>& i) { return sum(i) * inv; });
    te::Tensor m = mean;
    te::Tensor sq = drop.Run("sum_sq", false, [&](const Array<PrimExpr>& at) {
      PrimExpr d = tvm::cast(w, x(at)) - m(drop.Kept(at));
      return d * d;
    });
    var = Ewise(drop.out_shape, "var", [&](const Array<Var>& i) { return sq(i) * inv; });
  }
  te::Tensor y = Ewise(x.shape(), "batch_norm", [&](const Array<Var>& i) {
    PrimExpr ch = i[c];
    PrimExpr v = (tvm::cast(w, x(i)) - tvm::cast(w, mean(ch))) *
                 tvm::rsqrt(tvm::cast(w, var(ch)) + make_const(w, attrs.epsilon));
    if (attrs.scale) v = v * tvm::cast(w, a[1](ch));
    if (attrs.center) v = v + tvm::cast(w, a[2](ch));
    return tvm::cast(x.dtype(), v);
  });
  auto stat = [&](const te::Tensor& moving, const te::Tensor& batch) {
    return Ewise(moving.shape(), "moving", [&](const Array<Var>& i) {
      if (!attrs.training) return moving(i);
      PrimExpr m = make_const(w, attrs.momentum), keep = make_const(w, 1.0 - attrs.momentum);
      return tvm::cast(moving.dtype(), tvm::cast(w, moving(i)) * keep + batch(i) * m);
    });
  };
  a.out = {y, stat(a[3], mean), stat(a[4], var)};
}

void LowerLayerNorm(LowerArgs& a) {
  const auto& attrs = a.Attrs<LayerNormAttrs>();
  std::vector<int> axes = PositiveAxes(attrs.axes, a[0].ndim());
  a.out = {Normalise(a, a[0], axes, attrs.epsilon, attrs.scale, attrs.center,
                     [&](const Array<PrimExpr>& at) {
                       Array<PrimExpr> r;
                       for (int d : axes) r.push_back(at[d]);
                       return r;
                     })};
}
void LowerInstanceNorm(LowerArgs& a) {
  const auto& attrs = a.Attrs<InstanceNormAttrs>();
  int c = PositiveAxes({attrs.channel_axis}, a[0].ndim())[0];
  a.out = {Normalise(a, a[0], PositiveAxes(attrs.axes, a[0].ndim()), attrs.epsilon, attrs.scale,
                     attrs.center,
                     [c](const Array<PrimExpr>& at) { return Array<PrimExpr>{at[c]}; })};
}
void LowerRMSNorm(LowerArgs& a) {
  const auto& attrs = a.Attrs<RMSNormAttrs>();
  const te::Tensor& x = a[0];
  std::vector<int> axes = PositiveAxes(attrs.axes, x.ndim());
  DataType w = Wide(x.dtype());
  Dropper drop(x.shape(), axes);
  te::Tensor sq = drop.Run("sum_sq", false, [&](const Array<PrimExpr>& at) {
    PrimExpr v = tvm::cast(w, x(at));
    return v * v;
  });
  PrimExpr inv = Reciprocal(drop.count, w);
  te::Tensor r = Ewise(drop.out_shape, "rstd", [&](const Array<Var>& i) {
    return tvm::rsqrt(sq(i) * inv + make_const(w, attrs.epsilon));
  });
  a.out = {Ewise(x.shape(), "rms_norm", [&](const Array<Var>& i) {
    Array<PrimExpr> at = Exprs(i), p;
    for (int d : axes) p.push_back(at[d]);
    return tvm::cast(x.dtype(), tvm::cast(w, x(at)) * r(drop.Kept(at)) * tvm::cast(w, a[1](p)));
  })};
}

void LowerGroupNorm(LowerArgs& a) {
  const auto& attrs = a.Attrs<GroupNormAttrs>();
  const te::Tensor& x = a[0];
  size_t n = x.ndim();
  int c = PositiveAxes({attrs.channel_axis}, n)[0];
  PrimExpr groups = Int64(attrs.num_groups);
  PrimExpr per = tvm::floordiv(x.shape()[c], groups);
  // The channel dimension split in two: [.., groups, channels per group, ..].
  Array<PrimExpr> split;
  std::vector<int> axes;
  for (size_t d = 0; d < n; ++d) {
    if (static_cast<int>(d) == c) {
      split.push_back(groups);
      split.push_back(per);
    } else {
      split.push_back(x.shape()[d]);
    }
  }
  axes.push_back(c + 1);
  for (int d : PositiveAxes(attrs.axes, n)) axes.push_back(d > c ? d + 1 : d);
  auto join = [&](const Array<PrimExpr>& at) {
    Array<PrimExpr> r;
    for (size_t d = 0; d < n; ++d) {
      int k = static_cast<int>(d);
      r.push_back(k < c ? at[k] : k == c ? at[c] * per + at[c + 1] : at[k + 1]);
    }
    return r;
  };
  auto part = [&](const Array<PrimExpr>& at) {
    Array<PrimExpr> r;
    for (size_t d = 0; d < n; ++d) {
      if (static_cast<int>(d) == c) {
        r.push_back(tvm::floordiv(at[c], per));
        r.push_back(tvm::floormod(at[c], per));
      } else {
        r.push_back(at[d]);
      }
    }
    return r;
  };
  DataType w = Wide(x.dtype());
  Dropper drop(split, axes);
  PrimExpr inv = Reciprocal(drop.count, w);
  te::Tensor sum =
      drop.Run("sum", false, [&](const Array<PrimExpr>& at) { return tvm::cast(w, x(join(at))); });
  te::Tensor mean =
      Ewise(drop.out_shape, "mean", [&](const Array<Var>& i) { return sum(i) * inv; });
  te::Tensor sq = drop.Run("sum_sq", false, [&](const Array<PrimExpr>& at) {
    PrimExpr d = tvm::cast(w, x(join(at))) - mean(drop.Kept(at));
    return d * d;
  });
  te::Tensor rstd = Ewise(drop.out_shape, "rstd", [&](const Array<Var>& i) {
    return tvm::rsqrt(sq(i) * inv + make_const(w, attrs.epsilon));
  });
  a.out = {Ewise(x.shape(), "group_norm", [&](const Array<Var>& i) {
    Array<PrimExpr> at = Exprs(i);
    Array<PrimExpr> kept = drop.Kept(part(at));
    PrimExpr v = (tvm::cast(w, x(at)) - mean(kept)) * rstd(kept);
    if (attrs.scale) v = v * tvm::cast(w, a[1](at[c]));
    if (attrs.center) v = v + tvm::cast(w, a[2](at[c]));
    return tvm::cast(x.dtype(), v);
  })};
}

void LowerDropout(LowerArgs& a) {
  a.out = {MapElements(a[0], a, "elemwise", [](PrimExpr x) { return x; }),
           MapElements(a[0], a, "elemwise", [](PrimExpr x) { return make_const(x.dtype(), 1); })};
}

void LowerAttention(LowerArgs& a) {
  const auto& attrs = a.Attrs<AttentionAttrs>();
  const te::Tensor &q = a[0], &k = a[1], &v = a[2];
  PrimExpr b = q.shape()[0], sq = q.shape()[1], h = q.shape()[2], d = q.shape()[3];
  PrimExpr sk = k.shape()[1];
  DataType w = Wide(q.dtype());
  PrimExpr scale = attrs.scale.has_value()
                       ? make_const(w, attrs.scale.value())
                       : tvm::div(make_const(w, 1.0), tvm::sqrt(tvm::cast(w, d)));
  if (!attrs.scale.has_value()) {
    if (auto n = AsInt(d)) scale = make_const(w, 1.0 / std::sqrt(static_cast<double>(*n)));
  }
  auto kd = Axis(d);
  te::Tensor dot = te::compute({b, h, sq, sk}, te::FCompute([&](const Array<Var>& i) {
                                 PrimExpr x = q(Array<PrimExpr>{i[0], i[2], i[1], kd->var});
                                 PrimExpr y = k(Array<PrimExpr>{i[0], i[3], i[1], kd->var});
                                 return te::sum(tvm::cast(w, x) * tvm::cast(w, y), {kd});
                               }),
                               "qk", "contraction");
  bool has_bias = a.size() > 3;
  te::Tensor score = Ewise(dot.shape(), "score", [&](const Array<Var>& i) {
    PrimExpr s = dot(i) * scale;
    if (has_bias) s = s + tvm::cast(w, BroadcastRead(a[3], i));
    PrimExpr row = i[2], col = i[3];
    PrimExpr visible = const_true();
    if (attrs.causal_mask.has_value()) {
      PrimExpr shift = attrs.causal_mask.value() == "BottomRight" ? sk - sq : Int64(0);
      visible = col <= row + shift;
      if (attrs.window_size.has_value()) {
        visible = visible && row + shift - col < Int64(attrs.window_size.value());
      }
    }
    if (is_const_int(visible, 1)) return s;
    return tvm::select(visible, s, PrimExpr(FloatImm(w, -INFINITY)));
  });
  te::Tensor p = SoftmaxOf(score, 3, "probability");
  auto ks = Axis(sk);
  te::Tensor out = te::compute(a.OutShape(), te::FCompute([&](const Array<Var>& i) {
                                 PrimExpr x = p(Array<PrimExpr>{i[0], i[2], i[1], ks->var});
                                 PrimExpr y = v(Array<PrimExpr>{i[0], ks->var, i[2], i[3]});
                                 return te::sum(x * tvm::cast(w, y), {ks});
                               }),
                               "attention", "contraction", a.anchor_attrs);
  DataType t = a.OutDtype();
  if (t != w) {
    te::Tensor wide = out;
    out = Ewise(wide.shape(), "cast", [&](const Array<Var>& i) { return tvm::cast(t, wide(i)); });
  }
  a.out = {out};
}

void LowerCrossEntropy(LowerArgs& a) {
  const te::Tensor &p = a[0], &y = a[1];
  Array<tirx::IterVar> axes;
  Array<PrimExpr> at;
  for (const PrimExpr& d : p.shape()) {
    axes.push_back(Axis(d));
    at.push_back(PrimExpr(axes.back()->var));
  }
  te::Tensor sum =
      te::compute(Array<PrimExpr>(),
                  te::FCompute([&](const Array<Var>&) { return te::sum(p(at) * y(at), axes); }),
                  "sum", "comm_reduce");
  DataType t = a.OutDtype();
  PrimExpr batch = p.ndim() > 1 ? tvm::cast(t, p.shape()[0]) : make_const(t, 1);
  a.out = {Ewise(Array<PrimExpr>(), "cross_entropy", [&](const Array<Var>&) {
    return tvm::div(make_zero(t) - sum(Array<PrimExpr>()), batch);
  })};
}

namespace {

PrimExpr Load(const tirx::Buffer& b, Array<PrimExpr> at) { return tirx::BufferLoad(b, at); }
tirx::Stmt Nest(const std::vector<std::pair<Var, PrimExpr>>& loops, tirx::Stmt body) {
  for (size_t i = loops.size(); i-- > 0;) {
    body = tirx::For(loops[i].first, Int64(0), loops[i].second, tirx::ForKind::kSerial, body);
  }
  return body;
}

}  // namespace

/// The input part of all gates is one product over all steps; the steps themselves are loops:
///   g = W x[t] + R h + b;  c = f * c + i * tanh(g_c);  h = o * tanh(c)
void LowerLSTM(LowerArgs& a) {
  const te::Tensor &x = a[0], &wt = a[1], &r = a[2], &bias = a[3], &h0 = a[4], &c0 = a[5];
  DataType t = x.dtype();
  PrimExpr T = x.shape()[0], B = x.shape()[1], D = r.shape()[0], H = r.shape()[2];
  PrimExpr G = H * Int64(4);
  const String& direction = a.Attrs<LSTMAttrs>().direction;
  auto kin = Axis(x.shape()[2]);
  te::Tensor gates_in = te::compute({T, D, B, G}, te::FCompute([&](const Array<Var>& i) {
                                      return te::sum(x(Array<PrimExpr>{i[0], i[2], kin->var}) *
                                                         wt(Array<PrimExpr>{i[1], i[3], kin->var}),
                                                     {kin});
                                    }),
                                    "lstm_input", "contraction");
  tirx::Buffer gi = tirx::decl_buffer(gates_in.shape(), t, "gates_in");
  tirx::Buffer rb = tirx::decl_buffer(r.shape(), t, "r"),
               bb = tirx::decl_buffer(bias.shape(), t, "b");
  tirx::Buffer h0b = tirx::decl_buffer(h0.shape(), t, "h0"),
               c0b = tirx::decl_buffer(c0.shape(), t, "c0");
  tirx::Buffer y = tirx::decl_buffer({T, D, B, H}, t, "y");
  tirx::Buffer h = tirx::decl_buffer({D, B, H}, t, "h"), c = tirx::decl_buffer({D, B, H}, t, "c");
  tirx::Buffer g = tirx::decl_buffer({B, G}, t, "g");
  DataType i64 = DataType::Int(64);
  auto loop_var = [&](const char* name) { return Var(name, i64); };
  Var d = loop_var("d"), s = loop_var("s"), b = loop_var("bi"), j = loop_var("j"),
      k = loop_var("k");
  Var d2 = loop_var("d2"), b2 = loop_var("b2"), j2 = loop_var("j2");
  Var b3 = loop_var("b3"), j3 = loop_var("j3");
  tirx::Stmt init =
      Nest({{d2, D}, {b2, B}, {j2, H}},
           tirx::SeqStmt({tirx::BufferStore(h, Load(h0b, {d2, b2, j2}), {d2, b2, j2}),
                          tirx::BufferStore(c, Load(c0b, {d2, b2, j2}), {d2, b2, j2})}));
  // A reverse direction walks time backwards.
  PrimExpr backward = direction == "reverse"         ? const_true()
                      : direction == "bidirectional" ? tvm::equal(d, Int64(1))
                                                     : const_false();
  PrimExpr time = tvm::select(backward, T - Int64(1) - s, PrimExpr(s));
  tirx::Stmt start = tirx::BufferStore(
      g, Load(gi, {time, d, b, j}) + Load(bb, {d, j}) + Load(bb, {d, G + j}), {b, j});
  tirx::Stmt accumulate =
      tirx::BufferStore(g, Load(g, {b, j}) + Load(h, {d, b, k}) * Load(rb, {d, j, k}), {b, j});
  tirx::Stmt gates = Nest({{b, B}, {j, G}}, tirx::SeqStmt({start, Nest({{k, H}}, accumulate)}));
  auto gate = [&](int n) { return Load(g, {b3, H * Int64(n) + j3}); };
  PrimExpr in = tvm::sigmoid(gate(0)), out = tvm::sigmoid(gate(1)), forget = tvm::sigmoid(gate(2));
  PrimExpr cell = forget * Load(c, {d, b3, j3}) + in * tvm::tanh(gate(3));
  tirx::Stmt update =
      Nest({{b3, B}, {j3, H}},
           tirx::SeqStmt({tirx::BufferStore(c, cell, {d, b3, j3}),
                          tirx::BufferStore(h, out * tvm::tanh(Load(c, {d, b3, j3})), {d, b3, j3}),
                          tirx::BufferStore(y, Load(h, {d, b3, j3}), {time, d, b3, j3})}));
  tirx::Stmt body = tirx::SeqStmt({init, Nest({{d, D}, {s, T}}, tirx::SeqStmt({gates, update}))});
  body = tirx::SeqStmt({tirx::AllocBuffer(g), body});
  te::ExternOp op("lstm", "recurrence", {}, {gates_in, r, bias, h0, c0}, {gi, rb, bb, h0b, c0b},
                  {y, h, c}, body);
  a.out = {op.output(0), op.output(1), op.output(2)};
}

}  // namespace relax
}  // namespace tvm
