// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Every rule against plain loops, on shapes around the borders of its tiles.
#include <gtest/gtest.h>
#include <tvm/ir/transform.h>
#include <tvm/kernels/rule.h>
#include <tvm/kernels/winograd.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>

#include "kernels/contraction_plan.h"
#include "kernels/epilogue.h"
#include "kernels/group.h"
#include "kernels/names.h"
#include "kernels/rule_groups.h"
#include "kernels/rule_testing.h"

namespace tvm {
namespace kernels {
namespace {

using te::Tensor;
using testing::Attrs;
using testing::Axis;
using testing::Check;
using testing::Conv;
using testing::Data;
using testing::I;
using testing::Input;
using testing::Matmul;
using testing::PackedMatmul;
using testing::Shape;
using testing::WindowAttrs;
using testing::WinogradConv;

TEST(Contraction, PackedWithEpilogueAroundTileBorders) {
  const Target target("llvm");
  for (int64_t m : {1, 2, 7, 12, 13, 29, 64}) {
    for (int64_t n : {1, 15, 16, 17, 33, 96, 100}) {
      for (int64_t k : {1, 5, 64}) {
        const int64_t panel = PanelColumns(m, n, DataType::Float(32), target);
        Tensor a = Input({m, k}, "A"), p = Input({(n + panel - 1) / panel, k, panel}, "P");
        Tensor bias = Input({n}, "bias");
        Tensor c = PackedMatmul(a, p, m, n, k, panel);
        Tensor d = te::compute(
            Shape({m, n}),
            te::FCompute([&](const Array<Var>& i) { return c(i[0], i[1]) + bias(i[1]); }), "D");
        Tensor e = te::compute(Shape({m, n}), te::FCompute([&](const Array<Var>& i) {
                                 return max(d(i[0], i[1]), make_zero(DataType::Float(32)));
                               }),
                               "E");
        SCOPED_TRACE(::testing::Message() << m << "x" << n << "x" << k);
        Check({a, p, bias, e}, "contraction");
      }
    }
  }
}

TEST(Contraction, ManyTasksWithUnevenRowsAndColumns) {
  const Target target("llvm");
  struct Case {
    int64_t m, n, k;
  };
  for (const Case& t :
       {Case{151, 300, 71}, Case{600, 33, 130}, Case{14, 1000, 67}, Case{47, 65, 2050}}) {
    const int64_t panel = PanelColumns(t.m, t.n, DataType::Float(32), target);
    Tensor a = Input({t.m, t.k}, "A"), p = Input({(t.n + panel - 1) / panel, t.k, panel}, "P");
    SCOPED_TRACE(::testing::Message() << t.m << "x" << t.n << "x" << t.k);
    Check({a, p, PackedMatmul(a, p, t.m, t.n, t.k, panel)}, "contraction");
    Tensor b = Input({t.k, t.n}, "B");
    Check({a, b, Matmul(a, b, t.m, t.n, t.k)}, "contraction");
  }
}

/// A long epilogue is a loop over the rows of a tile, and the last tile of many does some rows of
/// the one before it again; both with columns left over.
TEST(Contraction, LongEpilogueAndOverlappingTiles) {
  const Target target("llvm");
  for (int64_t m : {1, 5, 70, 331, 643}) {
    for (int64_t n : {16, 40}) {
      const int64_t k = 37, panel = PanelColumns(m, n, DataType::Float(32), target);
      Tensor a = Input({m, k}, "A"), p = Input({(n + panel - 1) / panel, k, panel}, "P");
      Tensor rest = Input({m, n}, "R");
      Tensor c = PackedMatmul(a, p, m, n, k, panel);
      Tensor d = te::compute(Shape({m, n}), te::FCompute([&](const Array<Var>& i) {
                               return c(i[0], i[1]) * sigmoid(c(i[0], i[1])) + rest(i[0], i[1]);
                             }),
                             "D");
      SCOPED_TRACE(::testing::Message() << m << "x" << n);
      Check({a, p, rest, d}, "contraction", {.threads = {1, 2}});
      auto func = testing::EmitBy("contraction", te::CreatePrimFunc({a, p, rest, d}), target);
      ASSERT_TRUE(func.has_value());
      int64_t functions = 0;
      tirx::PostOrderVisit((*func)->body, [&](const ffi::ObjectRef& node) {
        const auto* call = node.as<CallNode>();
        if (call != nullptr && call->op.same_as(Op::Get("tirx.sigmoid"))) ++functions;
      });
      // For each vector of whole and of partial panels, and of the few rows at the end.
      constexpr int64_t kMostVectors = 4;
      EXPECT_LE(functions, 3 * kMostVectors);
    }
  }
}

TEST(Contraction, RowsOfTilesThatOverlap) {
  const Target target("llvm");
  const DataType f32 = DataType::Float(32);
  for (int64_t m = 1; m < 700; m += 3) {
    for (int64_t panel : {16, 32, 64}) {
      const int64_t rows = TileRows(m, panel, f32, target, /*overlaps=*/true);
      EXPECT_LE(rows, std::min(m, MostTileRows(panel, f32, target)));
      // Few rows are done twice, by tiles that are not small for it.
      if (m < 64) continue;
      EXPECT_LE((CeilDiv(m, rows) * rows - m) * 16, m) << m;
      EXPECT_GE(2 * rows + 1, MostTileRows(panel, f32, target)) << m;
    }
  }
}

TEST(Epilogue, StepsCountFunctionsAsMany) {
  const Var x("x", DataType::Float(32)), i("i", DataType::Int(64));
  const Buffer bias = tirx::decl_buffer({I(8)}, DataType::Float(32), "bias");
  EXPECT_EQ(EpilogueSteps(PrimExpr()), 0);
  EXPECT_EQ(EpilogueSteps(PrimExpr(x)), 0);
  EXPECT_EQ(EpilogueSteps(max(x + BufferLoad(bias, {i}), make_zero(DataType::Float(32)))), 3);
  EXPECT_EQ(EpilogueSteps(nearbyint(PrimExpr(x) * x)), 2);
  EXPECT_GT(EpilogueSteps(PrimExpr(x) * sigmoid(x)), 16);
}

/// Whatever the shape: all rows and columns belong to tasks, and few tasks are not much larger than
/// the rest.
TEST(Contraction, TasksCoverAndBalance) {
  const Target target("llvm");
  const DataType f32 = DataType::Float(32);
  for (int64_t m : {1, 12, 49, 64, 128, 513, 3136}) {
    for (int64_t n : {1, 32, 96, 768, 3072}) {
      for (int64_t k : {1, 64, 768, 4608}) {
        const int64_t panel = PanelColumns(m, n, f32, target);
        const int64_t rows = TileRows(m, panel, f32, target);
        ContractionTiles t = PlanTiles({1, m, n, k, rows, panel, m % 2 == 0, false}, f32, target);
        EXPECT_GE(t.block_rows * t.row_blocks, m);
        EXPECT_LT(t.block_rows * (t.row_blocks - 1), m);
        EXPECT_TRUE(t.block_rows == m || t.block_rows % rows == 0);
        EXPECT_EQ(t.col_tiles, (n + panel - 1) / panel);
        EXPECT_GE(t.tiles_per_task * t.col_tasks, t.col_tiles);
        EXPECT_LT(t.tiles_per_task * (t.col_tasks - 1), t.col_tiles);
        if (!t.parallel || m * n * k < 10000000 || t.row_blocks * t.col_tasks < 2) continue;
        const double ideal = static_cast<double>(m * n) / 2;
        const double largest = static_cast<double>(t.block_rows * t.tiles_per_task * panel);
        EXPECT_LT(largest, 1.35 * ideal) << m << "x" << n << "x" << k;
      }
    }
  }
}

TEST(Contraction, PlainAndTransposedOperands) {
  for (int64_t m : {1, 13, 40}) {
    for (int64_t n : {1, 17, 64}) {
      const int64_t k = 37;
      Tensor a = Input({m, k}, "A"), b = Input({k, n}, "B");
      SCOPED_TRACE(::testing::Message() << m << "x" << n);
      Check({a, b, Matmul(a, b, m, n, k)}, "contraction");
      Tensor at = Input({k, m}, "At"), bt = Input({n, k}, "Bt");
      IterVar r = Axis(k, "k");
      Tensor c = te::compute(Shape({m, n}), te::FCompute([&](const Array<Var>& i) {
                               return te::sum(at(r->var, i[0]) * bt(i[1], r->var), {r});
                             }),
                             "C", "", Attrs{{kTileOp, ffi::String("gemm")}});
      Check({at, bt, c}, "contraction");
    }
  }
}

TEST(Contraction, BatchedAttentionLikeReads) {
  const int64_t s = 21, h = 3, d = 16;
  Tensor q = Input({s, h * d}, "Q"), k = Input({s, h * d}, "K");
  IterVar r = Axis(d, "d");
  Tensor scores = te::compute(
      Shape({h, s, s}), te::FCompute([&](const Array<Var>& i) {
        return te::sum(q(i[1], i[0] * I(d) + r->var) * k(i[2], i[0] * I(d) + r->var), {r});
      }),
      "S", "", Attrs{{kTileOp, ffi::String("gemm")}});
  Tensor scaled =
      te::compute(Shape({h, s, s}), te::FCompute([&](const Array<Var>& i) {
                    return scores(i[0], i[1], i[2]) * make_const(DataType::Float(32), 0.25);
                  }),
                  "D");
  Check({q, k, scaled}, "contraction");
}

TEST(Contraction, ConvolutionWithBorderStrideAndResidual) {
  const Target target("llvm");
  for (int64_t kernel : {1, 3, 7}) {
    for (int64_t stride : {1, 2}) {
      for (int64_t ic : {3, 16, 20}) {
        const int64_t size = 11, oc = 40, pad = kernel / 2;
        const int64_t out = (size + 2 * pad - kernel) / stride + 1;
        const int64_t panel = PanelColumns(out * out, oc, DataType::Float(32), target);
        Tensor x = Input({1, size, size, ic}, "X");
        Tensor p = Input({(oc + panel - 1) / panel, kernel * kernel * ic, panel}, "P");
        Tensor rest = Input({1, out, out, oc}, "R");
        Tensor c = Conv(x, p, size, ic, oc, kernel, stride, pad, panel);
        Tensor d =
            te::compute(Shape({1, out, out, oc}), te::FCompute([&](const Array<Var>& i) {
                          return max(c(i[0], i[1], i[2], i[3]) + rest(i[0], i[1], i[2], i[3]),
                                     make_zero(DataType::Float(32)));
                        }),
                        "D");
        SCOPED_TRACE(::testing::Message() << kernel << " stride " << stride << " ic " << ic);
        Check({x, p, rest, d}, "contraction");
      }
    }
  }
}

/// A 3x3 convolution in groups with as many channels out as in, its weight packed in narrow panels.
TEST(Contraction, GroupsOfFewChannelsWithEpilogue) {
  for (int64_t channels : {2, 3, 4, 8, 20}) {
    for (int64_t groups : {2, 5}) {
      const int64_t size = 9, all = groups * channels;
      KernelQuery query;
      query.tile_op = "conv2d";
      query.a_dtype = query.b_dtype = query.out_dtype = DataType::Float(32);
      query.m = size * size;
      query.n = channels;
      query.k = 9 * channels;
      query.groups = groups;
      query.kernel = {3, 3};
      query.strides = query.dilation = {1, 1};
      query.constant_b = true;
      const auto plan = Query(query, Target("llvm"));
      ASSERT_TRUE(plan.has_value());
      EXPECT_EQ(plan->rule, "contraction");
      const int64_t panel = plan->panel;
      EXPECT_LE(panel, std::max<int64_t>(4, 2 * channels));
      Tensor x = Input({1, size, size, all}, "X"), rest = Input({1, size, size, all}, "R");
      Tensor p = Input({groups, (channels + panel - 1) / panel, 9 * channels, panel}, "P");
      IterVar kh = Axis(3, "kh"), kw = Axis(3, "kw"), c = Axis(channels, "ic");
      Tensor sum = te::compute(
          Shape({1, size, size, groups, channels}), te::FCompute([&](const Array<Var>& i) {
            PrimExpr h = i[1] + kh->var - I(1), w = i[2] + kw->var - I(1);
            PrimExpr inside = h >= I(0) && h < I(size) && w >= I(0) && w < I(size);
            PrimExpr value = if_then_else(inside, x(i[0], h, w, i[3] * I(channels) + c->var),
                                          make_zero(DataType::Float(32)));
            PrimExpr k = (kh->var * I(3) + kw->var) * I(channels) + c->var;
            return te::sum(value * p(i[3], floordiv(i[4], I(panel)), k, floormod(i[4], I(panel))),
                           {kh, kw, c});
          }),
          "C", "", Attrs{{kTileOp, ffi::String("conv2d")}, {kPanel, panel}});
      Tensor out = te::compute(
          Shape({1, size, size, all}), te::FCompute([&](const Array<Var>& i) {
            PrimExpr s =
                sum(i[0], i[1], i[2], floordiv(i[3], I(channels)), floormod(i[3], I(channels)));
            return max(s, make_zero(DataType::Float(32))) + rest(i[0], i[1], i[2], i[3]);
          }),
          "D");
      SCOPED_TRACE(::testing::Message() << groups << " groups of " << channels);
      Check({x, p, rest, out}, "contraction");
    }
  }
}

/// Rows of A a page apart are copied, for a few columns as well.
TEST(Contraction, RowsAPageApart) {
  for (int64_t m : {5, 16, 33, 64}) {
    for (int64_t n : {10, 33, 130}) {
      const int64_t k = 1024, panel = PanelColumns(m, n, DataType::Float(32), Target("llvm"));
      Tensor a = Input({m, k}, "A"), p = Input({(n + panel - 1) / panel, k, panel}, "P");
      SCOPED_TRACE(::testing::Message() << m << "x" << n);
      Check({a, p, PackedMatmul(a, p, m, n, k, panel)}, "contraction",
            {.tolerance = 5e-5, .threads = {1, 2}, .runs = 2, .offset = 1, .candidates = 4});
    }
  }
}

/// What every read of the sum has added to it is what the sums start from.
TEST(Contraction, SumsStartFromATermOfColumns) {
  const int64_t m = 30, k = 20;
  for (int64_t n : {1, 15, 40, 70}) {
    const int64_t panel = PanelColumns(m, n, DataType::Float(32), Target("llvm"));
    Tensor a = Input({m, k}, "A"), p = Input({(n + panel - 1) / panel, k, panel}, "P");
    Tensor column = Input({n}, "column"), row = Input({m}, "row"), all = Input({m, n}, "all");
    Tensor c = PackedMatmul(a, p, m, n, k, panel);
    auto check = [&](const std::function<PrimExpr(PrimExpr, Var, Var)>& f, bool taken) {
      Tensor d = te::compute(
          Shape({m, n}),
          te::FCompute([&](const Array<Var>& i) { return f(c(i[0], i[1]), i[0], i[1]); }), "D");
      Array<Tensor> args{a, p, column, row, all, d};
      std::string why;
      auto group = ParseGroup(te::CreatePrimFunc(args), &why);
      ASSERT_TRUE(group.has_value()) << why;
      const Stage& anchor = group->stages[group->anchor];
      auto epilogue = ReadEpilogue(*group, &why);
      ASSERT_TRUE(epilogue.has_value()) << why;
      EXPECT_EQ(TakeStart(anchor.output, {{anchor.spatial[0]}}, &*epilogue).defined(), taken);
      Check(args, "contraction");
    };
    auto one = make_const(DataType::Float(32), 1);
    check([&](PrimExpr s, Var, Var j) { return column(j) + s; }, true);
    check([&](PrimExpr s, Var, Var j) { return (s + column(j)) * exp(s + column(j)); }, true);
    check([&](PrimExpr s, Var, Var) { return max(s + one, s * one); }, false);
    check([&](PrimExpr s, Var, Var j) { return (s + column(j)) * s; }, false);
    check([&](PrimExpr s, Var i, Var) { return s + row(i); }, false);
    check([&](PrimExpr s, Var i, Var j) { return max(s + all(i, j), one); }, false);
    check([&](PrimExpr s, Var i, Var j) { return (s + column(j)) + all(i, j); }, true);
  }
}

TEST(Winograd, BordersPartialTilesAndChannels) {
  struct Case {
    int64_t batch, h, w, ic, oc, pad;
  };
  for (const Case& t : {Case{1, 3, 3, 8, 16, 0}, Case{1, 4, 9, 16, 33, 1}, Case{2, 6, 6, 20, 40, 0},
                        Case{1, 14, 14, 64, 64, 1}, Case{1, 13, 29, 5, 100, 1},
                        Case{3, 8, 5, 33, 12, 2}, Case{1, 40, 40, 16, 16, 1}}) {
    const int64_t oh = t.h + 2 * t.pad - 2, ow = t.w + 2 * t.pad - 2;
    for (int64_t panel : {16, 32}) {
      // With the smaller panel, what bfloat16 holds.
      const DataType read = panel == 16 ? DataType::BFloat(16) : DataType::Float(32);
      Tensor x = Input({t.batch, t.h, t.w, t.ic}, "X", read);
      Tensor u = Input({(t.oc + panel - 1) / panel, 36, t.ic, panel}, "U");
      Tensor rest = Input({t.batch, oh, ow, t.oc}, "R"), bias = Input({t.oc}, "bias");
      Tensor c = WinogradConv(x, u, t.batch, t.h, t.w, t.ic, t.oc, t.pad, panel);
      Tensor d = te::compute(Shape({t.batch, oh, ow, t.oc}), te::FCompute([&](const Array<Var>& i) {
                               return max(c(i[0], i[1], i[2], i[3]) + bias(i[3]),
                                          make_zero(DataType::Float(32))) +
                                      rest(i[0], i[1], i[2], i[3]);
                             }),
                             "D");
      auto transform = [&](size_t argument, Data* data) {
        if (argument != 1) return;
        std::mt19937 rng(7);
        std::uniform_real_distribution<float> uniform(-1, 1);
        std::vector<float> weight(static_cast<size_t>(9 * t.ic * t.oc));
        for (float& value : weight) value = uniform(rng);
        WinogradPack(weight.data(), t.ic, t.oc, panel, data->data);
      };
      SCOPED_TRACE(::testing::Message() << t.h << "x" << t.w << "x" << t.ic << " to " << t.oc
                                        << " pad " << t.pad << " panel " << panel);
      Check({x, u, bias, rest, d}, "winograd", {.tolerance = 1e-4, .prepare = transform});
    }
  }
}

TEST(Winograd, OnlyWhereItWinsAndNotWhenTurnedOff) {
  const Target target("llvm");
  KernelQuery query;
  query.tile_op = "conv2d";
  query.a_dtype = query.b_dtype = query.out_dtype = DataType::Float(32);
  query.m = 56 * 56;
  query.n = 64;
  query.k = 9 * 64;
  query.kernel = {3, 3};
  query.strides = query.dilation = {1, 1};
  query.padding = {1, 1, 1, 1};
  query.out = {56, 56};
  query.constant_b = true;
  ASSERT_TRUE(Query(query, target).has_value());
  EXPECT_EQ(Query(query, target)->rule, "winograd");
  {
    transform::PassContext context = transform::PassContext::Create();
    const_cast<transform::PassContextNode*>(context.get())->config.Set("kernels.winograd", false);
    transform::PassContextScope scope(context);
    EXPECT_EQ(Query(query, target)->rule, "contraction");
  }
  const auto all = QueryAll(query, target);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].rule, "winograd");
  EXPECT_EQ(all[1].rule, "contraction");
  KernelQuery strided = query;
  strided.strides = {2, 2};
  EXPECT_EQ(QueryAll(strided, target).size(), 1u);
  EXPECT_EQ(Query(strided, target)->rule, "contraction");
  KernelQuery tiny = query;  // the transformed weight is larger than what it saves
  tiny.m = 49;
  tiny.out = {7, 7};
  tiny.n = 512;
  tiny.k = 9 * 512;
  EXPECT_EQ(Query(tiny, target)->rule, "contraction");
}

TEST(Window, DepthwiseConvolutionAndMaxPool) {
  for (int64_t size : {1, 4, 9}) {
    for (int64_t kernel : {1, 3, 5}) {
      for (int64_t stride : {1, 2}) {
        for (int64_t channels : {1, 16, 37}) {
          const int64_t pad = kernel / 2, out = (size + 2 * pad - kernel) / stride + 1;
          Tensor x = Input({1, size, size, channels}, "X");
          Tensor w = Input({kernel, kernel, channels}, "W");
          auto at = [&](const Array<Var>& i, const IterVar& kh, const IterVar& kw, PrimExpr other) {
            PrimExpr r = i[1] * I(stride) + kh->var - I(pad);
            PrimExpr c = i[2] * I(stride) + kw->var - I(pad);
            PrimExpr inside = r >= I(0) && r < I(size) && c >= I(0) && c < I(size);
            return if_then_else(inside, x(i[0], r, c, i[3]), other);
          };
          IterVar kh = Axis(kernel, "kh"), kw = Axis(kernel, "kw");
          Tensor conv =
              te::compute(Shape({1, out, out, channels}), te::FCompute([&](const Array<Var>& i) {
                            return te::sum(at(i, kh, kw, make_zero(DataType::Float(32))) *
                                               w(kh->var, kw->var, i[3]),
                                           {kh, kw});
                          }),
                          "C", "", WindowAttrs(size, stride, pad));
          Tensor relu = te::compute(
              Shape({1, out, out, channels}), te::FCompute([&](const Array<Var>& i) {
                return max(conv(i[0], i[1], i[2], i[3]), make_zero(DataType::Float(32)));
              }),
              "D");
          SCOPED_TRACE(::testing::Message() << size << " kernel " << kernel << " stride " << stride
                                            << " channels " << channels);
          Check({x, w, relu}, "window");
          IterVar ph = Axis(kernel, "kh"), pw = Axis(kernel, "kw");
          Tensor pool =
              te::compute(Shape({1, out, out, channels}), te::FCompute([&](const Array<Var>& i) {
                            return te::max(at(i, ph, pw, min_value(DataType::Float(32))),
                                           Array<IterVar>{ph, pw});
                          }),
                          "P", "", WindowAttrs(size, stride, pad));
          Check({x, pool}, "window");
        }
      }
    }
  }
}

/// Windows that dilate, and whose last positions reach past the end further than they begin.
TEST(Window, MaximaTakeNoTapOutside) {
  struct Case {
    int64_t size, kernel, stride, pad, dilation, out, channels;
  };
  for (const Case& t :
       {Case{9, 3, 1, 2, 2, 9, 20}, Case{8, 3, 2, 0, 1, 4, 16}, Case{5, 2, 3, 0, 1, 2, 37},
        Case{6, 5, 1, 2, 1, 6, 48}, Case{7, 8, 1, 3, 1, 6, 5}, Case{20, 3, 2, 1, 1, 10, 33},
        Case{4, 2, 1, 2, 1, 7, 16}}) {
    Tensor x = Input({2, t.size, t.size, t.channels}, "X");
    IterVar kh = Axis(t.kernel, "kh"), kw = Axis(t.kernel, "kw");
    Attrs attrs = WindowAttrs(t.size, t.stride, t.pad);
    for (const char* axis : {"h", "w"}) attrs.Set(std::string("dilation_") + axis, t.dilation);
    Tensor most = te::compute(
        Shape({2, t.out, t.out, t.channels}), te::FCompute([&](const Array<Var>& i) {
          PrimExpr r = i[1] * I(t.stride) + kh->var * I(t.dilation) - I(t.pad);
          PrimExpr c = i[2] * I(t.stride) + kw->var * I(t.dilation) - I(t.pad);
          PrimExpr inside = r >= I(0) && r < I(t.size) && c >= I(0) && c < I(t.size);
          return te::max(if_then_else(inside, x(i[0], r, c, i[3]), min_value(DataType::Float(32))),
                         Array<IterVar>{kh, kw});
        }),
        "most", "", attrs);
    Tensor scaled =
        te::compute(Shape({2, t.out, t.out, t.channels}), te::FCompute([&](const Array<Var>& i) {
                      return most(i) * make_const(DataType::Float(32), -2);
                    }),
                    "scaled");
    SCOPED_TRACE(::testing::Message() << t.size << " kernel " << t.kernel << " pad " << t.pad);
    auto negative = [](size_t argument, Data* data) {
      for (int64_t i = 0; argument == 0 && i < data->count; ++i) data->data[i] -= 5;
    };
    Check({x, scaled}, "window",
          {.prepare = negative, .threads = {1, 2}, .offset = 1, .candidates = 3});
  }
}

TEST(Map, BroadcastChainTransposeAndConcat) {
  for (int64_t n : {1, 5, 16, 67}) {
    Tensor x = Input({3, n}, "X"), b = Input({n}, "B"), s = Input({3, 1}, "S");
    Tensor y = te::compute(Shape({3, n}), te::FCompute([&](const Array<Var>& i) {
                             return (x(i[0], i[1]) + b(i[1])) * s(i[0], I(0));
                           }),
                           "Y");
    Tensor z = te::compute(Shape({3, n}), te::FCompute([&](const Array<Var>& i) {
                             return max(y(i[0], i[1]), make_zero(DataType::Float(32)));
                           }),
                           "Z");
    SCOPED_TRACE(n);
    Check({x, b, s, z}, "map");
    Tensor t = te::compute(Shape({n, 3}),
                           te::FCompute([&](const Array<Var>& i) { return x(i[1], i[0]); }), "T");
    Check({x, t}, "map");
    Tensor w = Input({3, 4}, "W");
    Tensor joined = te::compute(Shape({3, n + 4}), te::FCompute([&](const Array<Var>& i) {
                                  return if_then_else(PrimExpr(i[1]) < I(n), x(i[0], i[1]),
                                                      w(i[0], i[1] - I(n)));
                                }),
                                "J");
    Check({x, w, joined}, "map");
    Tensor padded = te::compute(
        Shape({5, n + 3}), te::FCompute([&](const Array<Var>& i) {
          PrimExpr inside = PrimExpr(i[0]) >= I(1) && PrimExpr(i[0]) < I(4) &&
                            PrimExpr(i[1]) >= I(2) && PrimExpr(i[1]) < I(n + 2);
          return if_then_else(inside, x(i[0] - I(1), i[1] - I(2)), make_zero(DataType::Float(32)));
        }),
        "P");
    Check({x, padded}, "map");
  }
}

TEST(Candidates, AllGiveTheSameResult) {
  const Target target("llvm");
  constexpr size_t kAll = 1000;
  const int64_t m = 61, n = 70, k = 33, panel = PanelColumns(m, n, DataType::Float(32), target);
  Tensor a = Input({m, k}, "A"), b = Input({k, n}, "B");
  Check({a, b, Matmul(a, b, m, n, k)}, "contraction", {.candidates = kAll});
  Tensor p = Input({(n + panel - 1) / panel, k, panel}, "P");
  Check({a, p, PackedMatmul(a, p, m, n, k, panel)}, "contraction", {.candidates = kAll});
  Tensor x = Input({40000}, "X");
  Tensor y = te::compute(Shape({40000}),
                         te::FCompute([&](const Array<Var>& i) { return x(i[0]) * x(i[0]); }), "Y");
  Check({x, y}, "map", {.candidates = kAll});
}

TEST(Candidates, OwnChoiceFirstAndOthersOnlyFromTheList) {
  const Target target("llvm");
  Tensor a = Input({64, 33}, "A"), b = Input({33, 70}, "B");
  tirx::PrimFunc group = te::CreatePrimFunc({a, b, Matmul(a, b, 64, 70, 33)});
  const KernelCandidates all = Candidates(group, target);
  EXPECT_EQ(all.rule, "contraction");
  ASSERT_GT(all.list.size(), 10u);
  EXPECT_TRUE(all.list[0].knobs.empty());
  for (size_t i = 2; i < all.list.size(); ++i) {
    EXPECT_FALSE(all.list[i].knobs.empty());
    EXPECT_LE(all.list[i - 1].cost, all.list[i].cost);
  }
  auto refused = [&](const char* rule, const KernelKnobs& knobs, const char* message) {
    try {
      EmitWith(group, target, rule, knobs);
      ADD_FAILURE() << KnobsText(knobs) << " is taken";
    } catch (const ffi::Error& error) {
      EXPECT_EQ(error.kind(), "ValueError");
      EXPECT_NE(error.message().find(message), std::string::npos) << error.message();
    }
    // What a file says must not keep a model from being compiled.
    EXPECT_TRUE(EmitChosen(group, target, {rule, knobs}).defined());
  };
  refused("contraction", {{"rows", 1000000}}, "`rows=1000000` is no candidate");
  refused("contraction", {{"rows", 8}, {"row_blocks", -1}, {"col_tasks", 1}}, "no candidate");
  refused("window", {{"columns", 2}}, "but the group is taken by `contraction`");
}

/// Runs of a few vectors have no loop; outer dimensions that lie side by side become one.
TEST(Map, PartsOfAConcatenation) {
  for (int64_t c : {16, 24, 64, 80, 100}) {
    Tensor x = Input({1, 6, 7, c}, "X"), y = Input({1, 6, 7, 2 * c}, "Y");
    Tensor joined = te::compute(Shape({1, 6, 7, 3 * c}), te::FCompute([&](const Array<Var>& i) {
                                  return if_then_else(PrimExpr(i[3]) < I(c), x(i),
                                                      y(i[0], i[1], i[2], i[3] - I(c)));
                                }),
                                "J");
    Tensor part =
        te::compute(Shape({1, 6, 7, c}), te::FCompute([&](const Array<Var>& i) {
                      return y(i[0], i[1], i[2], i[3] + I(c - 3)) * cast(DataType::Float(32), i[2]);
                    }),
                    "part");
    SCOPED_TRACE(c);
    Check({x, y, joined}, "map", {.threads = {1, 2}, .candidates = 5});
    Check({y, part}, "map", {.threads = {1, 2}});
  }
}

TEST(Map, LargeRunsAreCutForThreads) {
  const int64_t n = 1000003;
  Tensor x = Input({n}, "X");
  Tensor y = te::compute(Shape({n}),
                         te::FCompute([&](const Array<Var>& i) { return x(i[0]) * x(i[0]); }), "Y");
  Check({x, y}, "map");
}

TEST(Row, SoftmaxAndLayerNorm) {
  for (int64_t rows : {1, 6}) {
    for (int64_t n : {1, 7, 16, 100, 257}) {
      Tensor x = Input({2, rows, n}, "X");
      IterVar k = Axis(n, "k"), q = Axis(n, "k");
      Tensor largest = te::compute(Shape({2, rows}), te::FCompute([&](const Array<Var>& i) {
                                     return te::max(x(i[0], i[1], k->var), Array<IterVar>{k});
                                   }),
                                   "M");
      Tensor e = te::compute(Shape({2, rows, n}), te::FCompute([&](const Array<Var>& i) {
                               return exp(x(i[0], i[1], i[2]) - largest(i[0], i[1]));
                             }),
                             "E");
      Tensor total = te::compute(Shape({2, rows}), te::FCompute([&](const Array<Var>& i) {
                                   return te::sum(e(i[0], i[1], q->var), {q});
                                 }),
                                 "S");
      Tensor y = te::compute(Shape({2, rows, n}), te::FCompute([&](const Array<Var>& i) {
                               return e(i[0], i[1], i[2]) / total(i[0], i[1]);
                             }),
                             "Y");
      SCOPED_TRACE(::testing::Message() << rows << " rows of " << n);
      Check({x, y}, "row");
      IterVar a = Axis(n, "k"), b = Axis(n, "k");
      PrimExpr scale = make_const(DataType::Float(32), 1.0 / static_cast<double>(n));
      Tensor sum = te::compute(Shape({2, rows, 1}), te::FCompute([&](const Array<Var>& i) {
                                 return te::sum(x(i[0], i[1], a->var), {a});
                               }),
                               "sum");
      Tensor centred = te::compute(Shape({2, rows, n}), te::FCompute([&](const Array<Var>& i) {
                                     return x(i[0], i[1], i[2]) - sum(i[0], i[1], I(0)) * scale;
                                   }),
                                   "c");
      Tensor square = te::compute(
          Shape({2, rows, 1}), te::FCompute([&](const Array<Var>& i) {
            return te::sum(centred(i[0], i[1], b->var) * centred(i[0], i[1], b->var), {b});
          }),
          "q");
      Tensor norm = te::compute(
          Shape({2, rows, n}), te::FCompute([&](const Array<Var>& i) {
            return centred(i[0], i[1], i[2]) *
                   rsqrt(square(i[0], i[1], I(0)) * scale + make_const(DataType::Float(32), 1e-5));
          }),
          "N");
      Check({x, norm}, "row");
    }
  }
}

TEST(Column, GlobalAveragePool) {
  for (int64_t channels : {1, 16, 45}) {
    Tensor x = Input({2, 5, 7, channels}, "X");
    IterVar h = Axis(5, "h"), w = Axis(7, "w");
    Tensor sum = te::compute(Shape({2, 1, 1, channels}), te::FCompute([&](const Array<Var>& i) {
                               return te::sum(x(i[0], h->var, w->var, i[3]), {h, w});
                             }),
                             "S");
    Tensor mean = te::compute(Shape({2, 1, 1, channels}), te::FCompute([&](const Array<Var>& i) {
                                return sum(i[0], i[1], i[2], i[3]) *
                                       make_const(DataType::Float(32), 1.0 / 35);
                              }),
                              "M");
    SCOPED_TRACE(channels);
    if (channels == 1) {
      Check({x, mean}, "row");
    } else {
      Check({x, mean}, "column");
    }
  }
}

}  // namespace
}  // namespace kernels
}  // namespace tvm
