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

struct Case {
  int64_t batch, h, w, groups, in, out, kernel_h, kernel_w, stride, pad, dilation;

  int64_t OutH() const { return (h + 2 * pad - (kernel_h - 1) * dilation - 1) / stride + 1; }
  int64_t OutW() const { return (w + 2 * pad - (kernel_w - 1) * dilation - 1) / stride + 1; }
  std::vector<int64_t> X() const { return {batch, h, w, groups * in}; }
  std::vector<int64_t> W() const { return {kernel_h, kernel_w, in, groups * out}; }
};

/// X with a border of zeros, as a stage of its own.
Tensor Padded(const Case& t, const Tensor& x) {
  return te::compute(Shape({t.batch, t.h + 2 * t.pad, t.w + 2 * t.pad, t.groups * t.in}),
                     te::FCompute([&](const Array<Var>& i) {
                       PrimExpr row = i[1] - I(t.pad), col = i[2] - I(t.pad);
                       PrimExpr inside = row >= I(0) && row < I(t.h) && col >= I(0) && col < I(t.w);
                       return if_then_else(inside, x(i[0], row, col, i[3]), make_zero(x->dtype));
                     }),
                     "padded");
}

/// The sums in (group, column), then the channels with bias and relu, in the type of X.
Tensor GroupedConv(const Case& t, const Tensor& x, const Tensor& w, const Tensor& bias) {
  IterVar kh = Axis(t.kernel_h, "kh"), kw = Axis(t.kernel_w, "kw"), ic = Axis(t.in, "ic");
  Array<IterVar> axes{kh, kw};
  if (t.in > 1) axes.push_back(ic);
  const PrimExpr channel = t.in > 1 ? PrimExpr(ic->var) : I(0);
  Tensor padded = t.pad == 0 ? x : Padded(t, x);
  Tensor sums = te::compute(
      Shape({t.batch, t.OutH(), t.OutW(), t.groups, t.out}), te::FCompute([&](const Array<Var>& i) {
        PrimExpr value =
            padded(i[0], i[1] * I(t.stride) + kh->var * I(t.dilation),
                   i[2] * I(t.stride) + kw->var * I(t.dilation), i[3] * I(t.in) + channel);
        PrimExpr weight = w(kh->var, kw->var, channel, i[3] * I(t.out) + i[4]);
        return te::sum(cast(kFloat, value) * cast(kFloat, weight), axes);
      }),
      "sums", "", Attrs{{kTileOp, ffi::String("conv2d")}});
  const int64_t channels = t.groups * t.out;
  return te::compute(
      Shape({t.batch, t.OutH(), t.OutW(), channels}), te::FCompute([&](const Array<Var>& i) {
        PrimExpr sum = sums(i[0], i[1], i[2], floordiv(i[3], I(t.out)), floormod(i[3], I(t.out)));
        return cast(x->dtype, max(sum + bias(i[3]), make_zero(kFloat)));
      }),
      "Y");
}

const Case kCases[] = {{1, 5, 5, 16, 1, 2, 3, 3, 1, 1, 1}, {2, 7, 9, 17, 1, 3, 3, 3, 2, 1, 1},
                       {1, 9, 4, 37, 2, 1, 3, 3, 1, 1, 1}, {1, 6, 6, 16, 8, 1, 1, 1, 1, 0, 1},
                       {1, 8, 8, 33, 3, 2, 3, 1, 1, 0, 1}, {2, 11, 13, 32, 4, 4, 3, 3, 1, 1, 1},
                       {1, 3, 3, 20, 2, 2, 5, 5, 1, 2, 1}, {1, 9, 9, 16, 2, 1, 3, 3, 1, 2, 2},
                       {1, 1, 1, 18, 5, 8, 3, 3, 2, 1, 1}, {3, 40, 17, 64, 1, 2, 3, 3, 1, 1, 1},
                       {1, 4, 31, 48, 2, 1, 1, 7, 3, 3, 1}};

TEST(Grouped, BordersTailsAndChannelsOfAllKinds) {
  for (const Case& t : kCases) {
    SCOPED_TRACE(::testing::Message() << t.h << "x" << t.w << ", " << t.groups << " groups of "
                                      << t.in << " to " << t.out);
    Tensor x = narrow::Input(t.X(), kFloat, "X"), w = narrow::Input(t.W(), kFloat, "W");
    Tensor bias = Input({t.groups * t.out}, "bias");
    Check({x, w, bias, GroupedConv(t, x, w, bias)}, "grouped",
          {.threads = {1, 2}, .runs = 2, .offset = 1, .candidates = 3});
  }
}

TEST(Grouped, NarrowOperandsOnEveryVectorWidth) {
  for (const Target& target : narrow::Targets()) {
    for (const Case& t : kCases) {
      SCOPED_TRACE(::testing::Message()
                   << target->str() << " " << t.groups << " groups of " << t.in << " to " << t.out);
      Tensor x = narrow::Input(t.X(), narrow::kBF16, "X");
      Tensor w = narrow::Input(t.W(), narrow::kBF16, "W");
      Tensor bias = Input({t.groups * t.out}, "bias");
      narrow::Check({x, w, bias, GroupedConv(t, x, w, bias)}, target, 1e-2, nullptr, "grouped");
    }
  }
}

TEST(Grouped, ManyGroupsOfFewChannelsOnly) {
  const Target target = Cpu("x86-64-v3");
  KernelQuery query;
  query.tile_op = "conv2d";
  query.a_dtype = query.b_dtype = query.out_dtype = kFloat;
  query.m = 100;
  query.groups = 32;
  query.kernel = {3, 3};
  auto rule = [&](int64_t groups, int64_t in, int64_t out) {
    query.groups = groups;
    query.n = out;
    query.k = 9 * in;
    auto plan = Query(query, target);
    return plan ? plan->rule : std::string();
  };
  EXPECT_EQ(rule(32, 1, 2), "grouped");
  EXPECT_EQ(rule(32, 4, 1), "grouped");
  EXPECT_EQ(rule(32, 4, 4), "grouped");
  EXPECT_EQ(rule(32, 64, 64), "contraction");
  EXPECT_EQ(rule(4, 4, 4), "contraction");
  EXPECT_EQ(rule(4, 64, 1), "");
}

}  // namespace
}  // namespace kernels
}  // namespace tvm
