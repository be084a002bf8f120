// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// For tests: groups of the forms that rules accept.
#ifndef TVM_KERNELS_RULE_GROUPS_H_
#define TVM_KERNELS_RULE_GROUPS_H_

#include <tvm/kernels/winograd.h>
#include <tvm/te/operation.h>
#include <tvm/tirx/op.h>

#include "kernels/names.h"
#include "kernels/rule_testing.h"

namespace tvm {
namespace kernels {
namespace testing {

using te::Tensor;

inline Tensor Matmul(const Tensor& a, const Tensor& b, int64_t m, int64_t n, int64_t k) {
  IterVar r = Axis(k, "k");
  return te::compute(Shape({m, n}), te::FCompute([&](const Array<Var>& i) {
                       return te::sum(a(i[0], r->var) * b(r->var, i[1]), {r});
                     }),
                     "C", "", Attrs{{kTileOp, ffi::String("gemm")}});
}

inline Tensor PackedMatmul(const Tensor& a, const Tensor& p, int64_t m, int64_t n, int64_t k,
                           int64_t panel) {
  IterVar r = Axis(k, "k");
  return te::compute(
      Shape({m, n}), te::FCompute([&](const Array<Var>& i) {
        return te::sum(
            a(i[0], r->var) * p(floordiv(i[1], I(panel)), r->var, floormod(i[1], I(panel))), {r});
      }),
      "C", "", Attrs{{kTileOp, ffi::String("gemm")}, {kPanel, panel}});
}

inline Tensor Conv(const Tensor& x, const Tensor& p, int64_t size, int64_t ic, int64_t oc,
                   int64_t kernel, int64_t stride, int64_t pad, int64_t panel) {
  const int64_t out = (size + 2 * pad - kernel) / stride + 1;
  IterVar kh = Axis(kernel, "kh"), kw = Axis(kernel, "kw"), c = Axis(ic, "ic");
  return te::compute(
      Shape({1, out, out, oc}), te::FCompute([&](const Array<Var>& i) {
        PrimExpr h = i[1] * I(stride) + kh->var - I(pad), w = i[2] * I(stride) + kw->var - I(pad);
        PrimExpr value = x(i[0], h, w, c->var);
        if (pad > 0) {
          PrimExpr inside = h >= I(0) && h < I(size) && w >= I(0) && w < I(size);
          value = if_then_else(inside, value, make_zero(DataType::Float(32)));
        }
        PrimExpr k = (kh->var * I(kernel) + kw->var) * I(ic) + c->var;
        return te::sum(value * p(floordiv(i[3], I(panel)), k, floormod(i[3], I(panel))),
                       {kh, kw, c});
      }),
      "C", "", Attrs{{kTileOp, ffi::String("conv2d")}, {kPanel, panel}});
}

/// A 3x3 convolution in terms of its transformed weight.
inline Tensor WinogradConv(const Tensor& x, const Tensor& u, int64_t batch, int64_t h, int64_t w,
                           int64_t ic, int64_t oc, int64_t pad, int64_t panel) {
  IterVar kh = Axis(3, "kh"), kw = Axis(3, "kw"), c = Axis(ic, "ic");
  return te::compute(
      Shape({batch, h + 2 * pad - 2, w + 2 * pad - 2, oc}), te::FCompute([&](const Array<Var>& i) {
        PrimExpr row = i[1] + kh->var - I(pad), col = i[2] + kw->var - I(pad);
        PrimExpr value = x(i[0], row, col, c->var);
        if (pad > 0) {
          PrimExpr inside = row >= I(0) && row < I(h) && col >= I(0) && col < I(w);
          value = if_then_else(inside, value, make_zero(value.dtype()));
        }
        PrimExpr tap = WinogradTap(kh->var, kw->var, [&](const PrimExpr& point) {
          return u(floordiv(i[3], I(panel)), point, c->var, floormod(i[3], I(panel)));
        });
        return te::sum(cast(tap.dtype(), value) * tap, {kh, kw, c});
      }),
      "C", "", Attrs{{kTileOp, ffi::String("conv2d")}, {kPanel, panel}, {kWinograd, int64_t{1}}});
}

inline Attrs WindowAttrs(int64_t size, int64_t stride, int64_t pad) {
  Attrs attrs{{kTileOp, ffi::String("window")}};
  for (const char* axis : {"h", "w"}) {
    attrs.Set(std::string("in_") + axis, size);
    attrs.Set(std::string("stride_") + axis, stride);
    attrs.Set(std::string("pad_") + axis, pad);
    attrs.Set(std::string("dilation_") + axis, int64_t{1});
  }
  return attrs;
}

struct AttentionSizes {
  int64_t heads, queries, keys, depth, columns;
};

using ScoreOf = std::function<PrimExpr(const PrimExpr& product, const Array<PrimExpr>& at)>;
/// A tensor read at (head, position, channel).
using Read = std::function<PrimExpr(const PrimExpr&, const PrimExpr&, const PrimExpr&)>;

inline Read Plain(const Tensor& t) {
  return [=](const PrimExpr& h, const PrimExpr& s, const PrimExpr& c) { return t(h, s, c); };
}

/// The same rounded to bfloat16, which a bfloat16 tensor is already.
inline Read Rounded(const Read& read) {
  return [=](const PrimExpr& h, const PrimExpr& s, const PrimExpr& c) {
    return cast(DataType::Float(32), cast(DataType::BFloat(16), read(h, s, c)));
  };
}

/// softmax(score(Q K^T)) V over [head, query, column], the softmax rounded to bfloat16 if wanted.
inline Tensor AttentionOf(const AttentionSizes& z, const Read& q, const Read& k, const Read& v,
                          const ScoreOf& score, bool rounds = false) {
  IterVar d = Axis(z.depth, "d"), a = Axis(z.keys, "k"), b = Axis(z.keys, "k"),
          c = Axis(z.keys, "k");
  Tensor product =
      te::compute(Shape({z.heads, z.queries, z.keys}), te::FCompute([&](const Array<Var>& i) {
                    return te::sum(q(i[0], i[1], d->var) * k(i[0], i[2], d->var), {d});
                  }),
                  "product");
  Tensor x =
      te::compute(Shape({z.heads, z.queries, z.keys}), te::FCompute([&](const Array<Var>& i) {
                    return score(product(i[0], i[1], i[2]), {i[0], i[1], i[2]});
                  }),
                  "score");
  Tensor most = te::compute(Shape({z.heads, z.queries}), te::FCompute([&](const Array<Var>& i) {
                              return te::max(x(i[0], i[1], a->var), Array<IterVar>{a});
                            }),
                            "most");
  Tensor e =
      te::compute(Shape({z.heads, z.queries, z.keys}), te::FCompute([&](const Array<Var>& i) {
                    return exp(x(i[0], i[1], i[2]) - most(i[0], i[1]));
                  }),
                  "e");
  Tensor sum = te::compute(Shape({z.heads, z.queries}), te::FCompute([&](const Array<Var>& i) {
                             return te::sum(e(i[0], i[1], b->var), {b});
                           }),
                           "sum");
  return te::compute(Shape({z.heads, z.queries, z.columns}), te::FCompute([&](const Array<Var>& i) {
                       PrimExpr weight = e(i[0], i[1], c->var) / sum(i[0], i[1]);
                       if (rounds)
                         weight = cast(weight.dtype(), cast(DataType::BFloat(16), weight));
                       return te::sum(weight * v(i[0], c->var, i[2]), {c});
                     }),
                     "out", "", Attrs{{kTileOp, ffi::String("attention")}});
}

}  // namespace testing
}  // namespace kernels
}  // namespace tvm

#endif  // TVM_KERNELS_RULE_GROUPS_H_
