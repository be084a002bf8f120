// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Contractions of bytes and bfloat16 against plain loops, for several processors.
#include <gtest/gtest.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <array>
#include <cstring>
#include <functional>
#include <vector>

#include "kernels/contraction_plan.h"
#include "kernels/dot_step.h"
#include "kernels/group.h"
#include "kernels/names.h"
#include "kernels/narrow_testing.h"

namespace tvm {
namespace kernels {
namespace {

using namespace testing::narrow;  // NOLINT(build/namespaces)
using te::Tensor;
using testing::Attrs;
using testing::Axis;
using testing::Cpu;
using testing::I;

struct Types {
  DataType a, b, acc;
};
const std::vector<Types> kAll = {
    {kU8, kS8, kS32}, {kS8, kS8, kS32}, {kU8, kU8, kS32}, {kS8, kU8, kS32}, {kBF16, kBF16, kF32}};
double Tolerance(const Types& t) { return t.acc == kF32 ? 1e-5 : 0; }

/// The plan's form of a random weight [groups, k, n].
struct Weight {
  KernelPlan plan;
  int64_t groups, k, n;
  DataType dtype;

  int64_t panels() const { return (n + plan.panel - 1) / plan.panel; }
  int64_t words() const { return (k + plan.k_group - 1) / plan.k_group; }
  std::vector<int64_t> PackedShape() const {
    std::vector<int64_t> shape{panels(), words() + (plan.column_sums ? 1 : 0), plan.panel};
    if (groups > 1) shape.insert(shape.begin(), groups);
    if (plan.k_group > 1) shape.push_back(plan.k_group);
    return shape;
  }
  PrimExpr Read(const Tensor& p, const PrimExpr& group, const PrimExpr& row,
                const PrimExpr& col) const {
    Array<PrimExpr> at{floordiv(col, I(plan.panel)), floordiv(row, I(plan.k_group)),
                       floormod(col, I(plan.panel))};
    if (groups > 1) at.insert(at.begin(), group);
    if (plan.k_group > 1) at.push_back(floormod(row, I(plan.k_group)));
    if (plan.column_sums) at.Set(groups > 1 ? 2 : 1, at[groups > 1 ? 2 : 1] + I(1));
    return p(at);
  }
  /// Replaces random data by a packed weight; columns and rows past the end are zero.
  void Fill(Data* data, bool extreme = false) const {
    const int64_t bytes = dtype.bytes();
    std::vector<char> random(data->bytes, data->bytes + data->count * bytes);
    std::memset(data->bytes, 0, random.size());
    const int64_t rows = words() + (plan.column_sums ? 1 : 0);
    for (int64_t g = 0; g < groups; ++g) {
      for (int64_t col = 0; col < n; ++col) {
        int32_t sum = 0;
        auto place = [&](int64_t row) {
          return (((g * panels() + col / plan.panel) * rows + row) * plan.panel +
                  col % plan.panel) *
                 plan.k_group * bytes;
        };
        for (int64_t row = 0; row < k; ++row) {
          const int64_t at =
              place(row / plan.k_group + (plan.column_sums ? 1 : 0)) + row % plan.k_group * bytes;
          std::memcpy(data->bytes + at, random.data() + at, static_cast<size_t>(bytes));
          if (extreme) data->bytes[at] = static_cast<char>(dtype.is_int() ? 0x80 : 0xff);
          if (dtype == kS8) sum += static_cast<int8_t>(data->bytes[at]);
        }
        if (!plan.column_sums) continue;
        sum *= -128;
        std::memcpy(data->bytes + place(0), &sum, sizeof(sum));
      }
    }
  }
  Attrs AnchorAttrs(const char* tile_op) const {
    return Attrs{{kTileOp, ffi::String(tile_op)},
                 {kPanel, plan.panel},
                 {kKGroup, plan.k_group},
                 {kColumnSums, int64_t{plan.column_sums}}};
  }
};

Weight PlanWeight(const Types& t, const char* tile_op, int64_t m, int64_t n, int64_t k,
                  const Target& target, int64_t groups = 1) {
  KernelQuery query;
  query.tile_op = tile_op;
  query.a_dtype = t.a;
  query.b_dtype = t.b;
  query.out_dtype = t.acc;
  query.m = m;
  query.n = n;
  query.k = k;
  query.groups = groups;
  query.kernel = {1, 1};
  query.strides = query.dilation = {1, 1};
  query.padding = {0, 0, 0, 0};
  query.constant_b = true;
  auto plan = Query(query, target);
  TVM_FFI_ICHECK(plan && plan->rule == "contraction");
  return Weight{*plan, groups, k, n, t.b};
}

/// What usually follows: scaling and rounding to a byte, or bias and rounding to bfloat16.
Tensor Epilogue(const Tensor& c, const Tensor& per_column) {
  return te::compute(c.shape(), te::FCompute([&](const Array<Var>& i) -> PrimExpr {
                       Array<PrimExpr> at(i.begin(), i.end());
                       PrimExpr value = cast(kF32, c(at)), other = per_column(i[i.size() - 1]);
                       if (c.dtype() == kF32) return cast(kBF16, value + other);
                       value = round(value * other * make_const(kF32, 0.01)) + make_const(kF32, 7);
                       value = max(min(value, make_const(kF32, 255)), make_const(kF32, 0));
                       return cast(kU8, value);
                     }),
                     "E");
}

/// C[m, n] of the rows of A and a packed weight.
Tensor PackedProduct(const Types& t, const Weight& w, const Tensor& a, const Tensor& p, int64_t m) {
  IterVar r = Axis(w.k, "k");
  return te::compute(
      Shape({m, w.n}), te::FCompute([&](const Array<Var>& i) {
        return te::sum(cast(t.acc, a(i[0], r->var)) * cast(t.acc, w.Read(p, I(0), r->var, i[1])),
                       {r});
      }),
      "C", "", w.AnchorAttrs("gemm"));
}

/// C[m, n] = A * P, P the packed weight.
struct Product {
  Target target;
  Types t;
  int64_t m, n, k;
  Weight w;
  Tensor a, p, c;

  Prepare pack(bool extreme = false) const {
    return [this, extreme](size_t i, Data* data) {
      if (i == 1) w.Fill(data, extreme);
    };
  }
  /// With what usually follows. Rounding of a sum that differs in its last bits may differ by one
  /// step of bfloat16.
  void CheckEpilogue(const Prepare& prepare) const {
    Tensor per_column = Input({n}, kF32, "S");
    Check({a, p, per_column, Epilogue(c, per_column)}, target, t.acc == kF32 ? 8e-3 : 0, prepare);
  }
};

/// Products of all shapes {m, n, k} and types on all targets.
void ForEachProduct(const std::vector<Types>& types,
                    const std::vector<std::array<int64_t, 3>>& shapes,
                    const std::function<void(const Product&)>& body) {
  for (const Target& target : Targets()) {
    for (const Types& t : types) {
      for (const auto& [m, n, k] : shapes) {
        Weight w = PlanWeight(t, "gemm", m, n, k, target);
        Tensor a = Input({m, k}, t.a, "A"), p = Input(w.PackedShape(), t.b, "P");
        SCOPED_TRACE(::testing::Message() << target->str() << " " << t.a << " x " << t.b << ", "
                                          << m << "x" << n << "x" << k);
        body({target, t, m, n, k, w, a, p, PackedProduct(t, w, a, p, m)});
      }
    }
  }
}

TEST(Narrow, PackedProductsWithEpilogueAroundTileBorders) {
  ForEachProduct(kAll, {{1, 70, 67}, {13, 33, 64}, {30, 15, 1}, {29, 100, 130}, {5, 1, 3}},
                 [](const Product& x) {
                   if (x.n == 33) Check({x.a, x.p, x.c}, x.target, Tolerance(x.t), x.pack());
                   x.CheckEpilogue(x.pack());
                 });
}

/// Rows of A that end within a word are read in place, and no further than they go: what follows a
/// row must not matter, not even NaN times the zeros of B.
TEST(Narrow, RowsThatEndWithinAWord) {
  auto check = [](const Product& x) {
    const Types& t = x.t;
    Check({x.a, x.p, x.c}, x.target, Tolerance(t), x.pack());
    auto fast = testing::EmitBy("contraction", te::CreatePrimFunc({x.a, x.p, x.c}), x.target);
    ASSERT_TRUE(fast.has_value());
    auto step = ChooseDotStep(t.a, t.b, t.acc, x.target);
    if (step->a == t.a && !step->shifts_a)
      EXPECT_EQ(testing::Scratch(*fast).count("a_rows") != 0, x.k < step->group);
    std::vector<std::unique_ptr<Data>> runs[2];
    for (auto& args : runs) {
      for (const Tensor& tensor : {x.a, x.p, x.c}) {
        args.push_back(std::make_unique<Data>(tensor, 1));
      }
      x.w.Fill(args[1].get());
    }
    const int64_t rows = (x.m - 1) * x.k * t.a.bytes();  // all but the last one
    std::memset(runs[1][0]->bytes + rows, 0xff, static_cast<size_t>(x.k * t.a.bytes() + 8));
    for (auto& args : runs) testing::narrow::Run(*fast, x.target, args);
    const size_t same = static_cast<size_t>((x.m - 1) * x.n * t.acc.bytes());
    EXPECT_EQ(std::memcmp(runs[0][2]->bytes, runs[1][2]->bytes, same), 0);
  };
  ForEachProduct({kAll[0], kAll[1], kAll[4]},
                 {{9, 33, 7}, {16, 8, 129}, {33, 40, 130}, {33, 33, 130}, {3, 5, 4}, {17, 16, 2}},
                 check);
}

/// A last column or two beside whole panels are multiplied along the sum, where it is long.
TEST(Narrow, LastColumnsAlongTheSum) {
  ForEachProduct(
      kAll, {{29, 33, 255}, {16, 34, 256}, {131, 129, 577}, {41, 66, 319}}, [](const Product& x) {
        const Prepare pack = x.pack(/*extreme=*/x.n == 66);
        Check({x.a, x.p, x.c}, x.target, Tolerance(x.t), pack);
        x.CheckEpilogue(pack);
        if (x.n != 129 || CpuFeaturesOf(x.target).vector_bits != 512) return;
        auto fast = testing::EmitBy("contraction", te::CreatePrimFunc({x.a, x.p, x.c}), x.target);
        EXPECT_EQ(testing::Scratch(*fast).count("b_columns"), 1);
      });
}

TEST(Narrow, UnpackedPlainTransposedAndBatched) {
  const int64_t shapes[][3] = {{1, 17, 37}, {13, 40, 64}, {40, 33, 5}};
  for (const Target& target : Targets()) {
    for (const Types& t : kAll) {
      for (const auto& [m, n, k] : shapes) {
        SCOPED_TRACE(::testing::Message() << target->str() << " " << t.a << " x " << t.b << ", "
                                          << m << "x" << n << "x" << k);
        Tensor a = Input({3, m, k}, t.a, "A"), b = Input({3, k, n}, t.b, "B");
        Tensor at = Input({k, m}, t.a, "At"), bt = Input({n, k}, t.b, "Bt");
        IterVar r = Axis(k, "k");
        const Attrs gemm{{kTileOp, ffi::String("gemm")}};
        Tensor batched = te::compute(
            Shape({3, m, n}), te::FCompute([&](const Array<Var>& i) {
              return te::sum(
                  cast(t.acc, a(i[0], i[1], r->var)) * cast(t.acc, b(i[0], r->var, i[2])), {r});
            }),
            "C", "", gemm);
        Check({a, b, batched}, target, Tolerance(t));
        Tensor turned = te::compute(
            Shape({m, n}), te::FCompute([&](const Array<Var>& i) {
              return te::sum(cast(t.acc, at(r->var, i[0])) * cast(t.acc, bt(i[1], r->var)), {r});
            }),
            "C", "", gemm);
        Check({at, bt, turned}, target, Tolerance(t));
      }
    }
  }
}

struct ConvCase {
  int64_t size, ic, oc, kernel, stride, pad, groups;
};

/// A convolution in NHWC whose border holds `border`, with one packed weight a group.
void CheckConv(const ConvCase& s, const Types& t, const Target& target, double border) {
  const int64_t out = (s.size + 2 * s.pad - s.kernel) / s.stride + 1;
  const int64_t k = s.kernel * s.kernel * s.ic;
  Weight w = PlanWeight(t, "conv2d", out * out, s.oc, k, target, s.groups);
  Tensor x = Input({1, s.size, s.size, s.groups * s.ic}, t.a, "X");
  Tensor p = Input(w.PackedShape(), t.b, "P"), per_column = Input({s.oc}, kF32, "S");
  IterVar kh = Axis(s.kernel, "kh"), kw = Axis(s.kernel, "kw"), c = Axis(s.ic, "ic");
  Tensor sum = te::compute(
      Shape({1, out, out, s.groups, s.oc}), te::FCompute([&](const Array<Var>& i) {
        PrimExpr h = i[1] * I(s.stride) + kh->var - I(s.pad);
        PrimExpr col = i[2] * I(s.stride) + kw->var - I(s.pad);
        PrimExpr value = x(i[0], h, col, i[3] * I(s.ic) + c->var);
        if (s.pad > 0) {
          PrimExpr inside = h >= I(0) && h < I(s.size) && col >= I(0) && col < I(s.size);
          value = if_then_else(inside, value, make_const(t.a, border));
        }
        PrimExpr row = (kh->var * I(s.kernel) + kw->var) * I(s.ic) + c->var;
        return te::sum(cast(t.acc, value) * cast(t.acc, w.Read(p, i[3], row, i[4])), {kh, kw, c});
      }),
      "C", "", w.AnchorAttrs("conv2d"));
  SCOPED_TRACE(::testing::Message()
               << target->str() << " " << t.a << " x " << t.b << ", kernel " << s.kernel
               << " stride " << s.stride << " ic " << s.ic << " groups " << s.groups);
  auto pack = [&](size_t i, Data* data) {
    if (i == 1) w.Fill(data);
  };
  Check({x, p, per_column, Epilogue(sum, per_column)}, target, t.acc == kF32 ? 8e-3 : 0, pack);
}

TEST(Narrow, ConvolutionsWithBorderStrideAndGroups) {
  for (const Target& target : Targets()) {
    for (const Types& t : kAll) {
      const double border = t.a == kBF16 ? 0 : 5;
      CheckConv({9, 20, 33, 1, 2, 0, 1}, t, target, border);
      CheckConv({11, 3, 40, 3, 2, 1, 1}, t, target, border);
      CheckConv({8, 64, 16, 3, 1, 1, 1}, t, target, border);
      CheckConv({8, 5, 7, 3, 1, 1, 3}, t, target, border);
    }
  }
}

TEST(Narrow, ExtremesDoNotSaturate) {
  const int64_t m = 5, n = 20, k = 261;
  for (const Target& target : Targets()) {
    for (const Types& t : {kAll[0], kAll[1], kAll[2], kAll[3]}) {
      Weight w = PlanWeight(t, "gemm", m, n, k, target);
      Tensor a = Input({m, k}, t.a, "A"), p = Input(w.PackedShape(), t.b, "P");
      Tensor c = PackedProduct(t, w, a, p, m);
      SCOPED_TRACE(::testing::Message() << target->str() << " " << t.a << " x " << t.b);
      Check({a, p, c}, target, 0, [&](size_t i, Data* data) {
        if (i == 0) std::memset(data->bytes, t.a.is_int() ? 0x80 : 0xff, m * k);
        if (i == 1) w.Fill(data, true);
      });
    }
  }
}

/// y = x . dequantize(W): single-precision rows times narrow weights with scales.
TEST(Narrow, WeightsDequantizedWhileTheyAreRead) {
  for (const Target& target : Targets()) {
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 70, 64}, {3, 64, 96}, {30, 33, 32}}) {
      const int64_t panel = PanelColumns(m, n, kF32, target, 4), panels = (n + panel - 1) / panel;
      const int64_t scale_rows = 32;
      Tensor x = Input({m, k}, kF32, "X"), s = Input({n}, kF32, "S");
      Tensor per_rows = Input({k / scale_rows, n}, kF32, "G");
      IterVar r = Axis(k, "k");
      const Attrs attrs{{kTileOp, ffi::String("gemm")}, {kPanel, panel}};
      auto product = [&](const std::function<PrimExpr(PrimExpr, PrimExpr)>& weight) {
        return te::compute(Shape({m, n}), te::FCompute([&](const Array<Var>& i) {
                             return te::sum(x(i[0], r->var) * weight(r->var, i[1]), {r});
                           }),
                           "C", "", attrs);
      };
      SCOPED_TRACE(::testing::Message() << target->str() << " " << m << "x" << n << "x" << k);
      auto at = [&](const Tensor& p, const PrimExpr& row, const PrimExpr& col) {
        return p(floordiv(col, I(panel)), row, floormod(col, I(panel)));
      };
      Tensor half = Input({panels, k, panel}, kBF16, "P");
      Check({x, half,
             product([&](PrimExpr row, PrimExpr col) { return cast(kF32, at(half, row, col)); })},
            target, 1e-5);
      Tensor bytes = Input({panels, k, panel}, kS8, "P");
      Check({x, bytes, s, product([&](PrimExpr row, PrimExpr col) {
               return (cast(kF32, at(bytes, row, col)) - make_const(kF32, 3)) * s(col);
             })},
            target, 1e-5);
      Tensor nibbles = Input({panels, k / 2, panel}, kU8, "P");
      Check({x, nibbles, per_rows, product([&](PrimExpr row, PrimExpr col) {
               PrimExpr both = at(nibbles, floordiv(row, I(2)), col);
               PrimExpr one = bitwise_and(right_shift(both, cast(kU8, floormod(row, I(2)) * I(4))),
                                          make_const(kU8, 15));
               return (cast(kF32, one) - make_const(kF32, 8)) *
                      per_rows(floordiv(row, I(scale_rows)), col);
             })},
            target, 1e-5);
    }
  }
}

/// How often the assembly of a packed product names an instruction.
int64_t Occurrences(const char* instruction, const Types& t, const Target& target) {
  const int64_t m = 8, n = 32, k = 64;
  Weight w = PlanWeight(t, "gemm", m, n, k, target);
  Tensor a = Input({m, k}, t.a, "A"), p = Input(w.PackedShape(), t.b, "P");
  Tensor c = PackedProduct(t, w, a, p, m);
  return testing::narrow::Occurrences(instruction, Emit(te::CreatePrimFunc({a, p, c}), target),
                                      target);
}

/// Not one by whose name this machine goes with more than that.
Target FastBFloat16() {
  return Target(R"({"kind": "llvm", "mcpu": "cooperlake", "mattr": ["-avx512fp16"]})");
}

TEST(Narrow, OneInstructionCarriesTheWork) {
  const Types unsigned_a = kAll[0], signed_a = kAll[1], half = kAll[4];
  const Target arm(R"({"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mcpu": "cortex-a76"})");
  EXPECT_GE(Occurrences("vpdpbusd", unsigned_a, Cpu("cascadelake")), 16);
  EXPECT_GE(Occurrences("vpdpbusd", signed_a, Cpu("cascadelake")), 16);
  EXPECT_GE(Occurrences("vpdpbusd", unsigned_a, Cpu("alderlake")), 8);
  EXPECT_GE(Occurrences("vdpbf16ps", half, FastBFloat16()), 16);
  EXPECT_GE(Occurrences("vpmaddwd", signed_a, Cpu("x86-64-v3")), 8);
  EXPECT_GE(Occurrences("sdot", signed_a, arm), 8);
}

TEST(Narrow, TheStepFollowsTheProcessor) {
  auto step = [](const Types& t, const char* cpu) {
    return *ChooseDotStep(t.a, t.b, t.acc, Cpu(cpu));
  };
  const Types unsigned_a = kAll[0], signed_a = kAll[1], both_unsigned = kAll[2], half = kAll[4];
  EXPECT_EQ(step(unsigned_a, "cascadelake").group, 4);
  EXPECT_FALSE(step(unsigned_a, "cascadelake").shifts_a);
  EXPECT_TRUE(step(signed_a, "cascadelake").shifts_a);
  EXPECT_EQ(step(both_unsigned, "cascadelake").group, 2);
  EXPECT_EQ(step(half, "cascadelake").group, 1);
  EXPECT_EQ(ChooseDotStep(kBF16, kBF16, kF32, FastBFloat16())->group, 2);
  EXPECT_EQ(step(half, "sapphirerapids").group, 1);
  EXPECT_EQ(step(unsigned_a, "x86-64-v3").group, 2);
  EXPECT_EQ(step(unsigned_a, "x86-64-v3").a, DataType::Int(16));
  EXPECT_EQ(ChooseDotStep(kS8, kS8, kS32, Target("c"))->group, 1);
  EXPECT_FALSE(ChooseDotStep(kF32, kF32, kS32, Target("llvm")).has_value());
  EXPECT_FALSE(ChooseDotStep(kS8, kS8, kS8, Target("llvm")).has_value());
}

}  // namespace
}  // namespace kernels
}  // namespace tvm
