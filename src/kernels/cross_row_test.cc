// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/te/operation.h>
#include <tvm/tirx/op.h>

#include "kernels/names.h"
#include "kernels/narrow_testing.h"
#include "kernels/rule_testing.h"

namespace tvm {
namespace kernels {
namespace {

using namespace testing;  // NOLINT(build/namespaces): what these tests are written in
using te::Tensor;

const DataType kFloat = DataType::Float(32);

enum class Kind { kSoftmax, kLogSoftmax };

/// Along the middle dimension of [n, k, i, j].
Tensor SoftmaxAcross(const Tensor& x, Kind kind) {
  const auto s = x->shape;
  const int64_t depth = *as_const_int(s[1]);
  IterVar a = Axis(depth, "k"), b = Axis(depth, "k");
  auto wide = [&](const PrimExpr& n, const PrimExpr& k, const PrimExpr& i, const PrimExpr& j) {
    return cast(kFloat, x(n, k, i, j));
  };
  const Array<PrimExpr> kept{s[0], s[2], s[3]};
  Tensor most = te::compute(kept, te::FCompute([&](const Array<Var>& i) {
                              return te::max(wide(i[0], a->var, i[1], i[2]), Array<IterVar>{a});
                            }),
                            "most");
  Tensor e = te::compute(s, te::FCompute([&](const Array<Var>& i) {
                           return exp(wide(i[0], i[1], i[2], i[3]) - most(i[0], i[2], i[3]));
                         }),
                         "e");
  Tensor sum = te::compute(kept, te::FCompute([&](const Array<Var>& i) {
                             return te::sum(e(i[0], b->var, i[1], i[2]), {b});
                           }),
                           "sum");
  return te::compute(s, te::FCompute([&](const Array<Var>& i) {
                       if (kind == Kind::kSoftmax) {
                         return cast(x->dtype, e(i) / sum(i[0], i[2], i[3]));
                       }
                       return cast(x->dtype, wide(i[0], i[1], i[2], i[3]) - most(i[0], i[2], i[3]) -
                                                 log(sum(i[0], i[2], i[3])));
                     }),
                     "Y");
}

TEST(CrossRow, SoftmaxOverAMiddleDimension) {
  for (auto [n, depth] : {std::pair<int64_t, int64_t>{3, 2}, {1, 7}, {1, 65}}) {
    for (auto [h, w] : {std::pair<int64_t, int64_t>{1, 5}, {4, 4}, {3, 17}, {9, 33}}) {
      SCOPED_TRACE(::testing::Message() << n << " of " << depth << " x " << h << "x" << w);
      Tensor x = Input({n, depth, h, w}, "X");
      for (Kind kind : {Kind::kSoftmax, Kind::kLogSoftmax}) {
        Check({x, SoftmaxAcross(x, kind)}, "cross_row",
              {.threads = {1, 2}, .runs = 2, .offset = 1});
      }
    }
  }
}

TEST(CrossRow, NarrowTypesOnEveryVectorWidth) {
  for (const Target& target : narrow::Targets()) {
    for (int64_t w : {5, 16, 50, 130}) {
      SCOPED_TRACE(::testing::Message() << target->str() << " " << w);
      Tensor x = narrow::Input({2, 11, 1, w}, narrow::kBF16, "X");
      narrow::Check({x, SoftmaxAcross(x, Kind::kSoftmax)}, target, 1e-2, nullptr, "cross_row");
    }
  }
}

/// What overflows exp must not become NaN; columns keep their own maximum.
TEST(CrossRow, LargeValues) {
  Tensor x = Input({1, 9, 2, 19}, "X");
  auto large = [](size_t argument, Data* data) {
    for (int64_t i = 0; argument == 0 && i < data->count; ++i) data->data[i] *= 300;
  };
  Check({x, SoftmaxAcross(x, Kind::kSoftmax)}, "cross_row", {.prepare = large});
}

/// Mean and variance over two dimensions that are not innermost, with parameters of either side;
/// the sums are an output as well.
TEST(CrossRow, NormWithSeveralOutputs) {
  for (int64_t w : {3, 16, 40, 70}) {
    const int64_t n = 2, c = 5, h = 6;
    Tensor x = Input({n, c, h, w}, "X"), gain = Input({c, h}, "gain"), bias = Input({w}, "bias");
    IterVar a = Axis(c, "c"), b = Axis(h, "h"), d = Axis(c, "c"), f = Axis(h, "h");
    const PrimExpr scale = make_const(kFloat, 1.0 / static_cast<double>(c * h));
    Tensor sum = te::compute(Shape({n, w}), te::FCompute([&](const Array<Var>& i) {
                               return te::sum(x(i[0], a->var, b->var, i[1]), {a, b});
                             }),
                             "sum");
    Tensor square = te::compute(Shape({n, w}), te::FCompute([&](const Array<Var>& i) {
                                  PrimExpr off =
                                      x(i[0], d->var, f->var, i[1]) - sum(i[0], i[1]) * scale;
                                  return te::sum(off * off, {d, f});
                                }),
                                "square");
    Tensor y = te::compute(Shape({n, c, h, w}), te::FCompute([&](const Array<Var>& i) {
                             PrimExpr off = x(i) - sum(i[0], i[3]) * scale;
                             PrimExpr root =
                                 rsqrt(square(i[0], i[3]) * scale + make_const(kFloat, 1e-5));
                             return off * root * gain(i[1], i[2]) + bias(i[3]);
                           }),
                           "Y");
    SCOPED_TRACE(w);
    Check({x, gain, bias, y}, "cross_row", {.threads = {1, 2}, .candidates = 5});
    Check({x, gain, bias, sum, y}, "cross_row", {.threads = {1, 2}});
  }
}

TEST(CrossRow, DeclinesWhatItCannotDo) {
  auto declines = [](const Array<Tensor>& args, const char* reason) {
    for (const KernelRule& rule : AllRules()) {
      if (rule.name != "cross_row") continue;
      std::string why;
      EXPECT_FALSE(rule.emit(te::CreatePrimFunc(args), Target("llvm"), {}, &why).has_value());
      EXPECT_NE(why.find(reason), std::string::npos) << why;
    }
  };
  Tensor x = Input({8, 12}, "X");
  IterVar k = Axis(12, "k"), a = Axis(8, "k");
  Tensor rows = te::compute(
      Shape({8}), te::FCompute([&](const Array<Var>& i) { return te::sum(x(i[0], k->var), {k}); }),
      "rows");
  declines({x, rows}, "not contiguous");
  Tensor columns = te::compute(
      Shape({12}), te::FCompute([&](const Array<Var>& i) { return te::sum(x(a->var, i[0]), {a}); }),
      "columns");
  Tensor shifted = te::compute(Shape({8, 11}), te::FCompute([&](const Array<Var>& i) {
                                 return x(i[0], i[1]) - columns(i[1] + I(1));
                               }),
                               "shifted");
  declines({x, shifted}, "another column");
  Tensor both = te::compute(
      Shape({8, 12}), te::FCompute([&](const Array<Var>& i) { return rows(i[0]) * columns(i[1]); }),
      "both");
  declines({x, both}, "different dimensions");
  Tensor copy = te::compute(Shape({8, 12}),
                            te::FCompute([&](const Array<Var>& i) { return x(i) * x(i); }), "copy");
  declines({x, copy}, "reduced value");
}

}  // namespace
}  // namespace kernels
}  // namespace tvm
