// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Products with weights of 4 and 8 bits against plain loops, for several processors.
#include <gtest/gtest.h>
#include <tvm/kernels/low_bit.h>
#include <tvm/tirx/op.h>

#include <cmath>
#include <limits>

#include "kernels/cross_testing.h"
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

enum class Zero { kNone, kOne, kPerBlock };

/// A product of float32 [m, k] with a weight of a few bits.
struct Product {
  int64_t m, n, k, block;
  int bits = 4;
  Zero zero = Zero::kPerBlock;
  bool transposed = false;  // A
  bool one_scale = false;

  int64_t panel(const Target& target) const {
    KernelQuery query;
    query.tile_op = "gemm";
    query.a_dtype = query.out_dtype = kF32;
    query.b_dtype = kU8;
    query.m = m;
    query.n = n;
    query.k = k;
    query.weight_bits = bits;
    query.constant_b = true;
    auto plan = Query(query, target);
    TVM_FFI_ICHECK(plan && plan->rule == "contraction" && plan->k_group == kWordBytes);
    return plan->panel;
  }
};

struct Built {
  Array<Tensor> args;
  Tensor product;
};

Built BuildProduct(const Product& p, const Target& target, int shift_by = 0) {
  const int64_t panel = p.panel(target), panels = CeilDiv(p.n, panel);
  const int64_t blocks = CeilDiv(p.k, p.block);
  Tensor a = p.transposed ? Input({p.k, p.m}, kF32, "A") : Input({p.m, p.k}, kF32, "A");
  Tensor w = Input({panels, CeilDiv(p.k, WordElements(p.bits)), panel, kWordBytes}, kU8, "W");
  Tensor s = Input({panels, blocks, panel}, kF32, "S"),
         z = Input({panels, blocks, panel}, kU8, "Z");
  IterVar k = Axis(p.k, "k");
  auto sum = [&](const Array<Var>& i) {
    const PrimExpr col = floordiv(i[1], I(panel)), lane = floormod(i[1], I(panel));
    PrimExpr q = LowBitElement(k->var + I(shift_by), p.bits, [&](const PrimExpr& row) -> PrimExpr {
      return w(col, floordiv(row, I(kWordBytes)), lane, floormod(row, I(kWordBytes)));
    });
    const PrimExpr block = floordiv(k->var, I(p.block));
    q = cast(kS32, q);
    if (p.zero == Zero::kOne) q = q - make_const(kS32, 8);
    if (p.zero == Zero::kPerBlock) q = q - cast(kS32, z(col, block, lane));
    PrimExpr scale = p.one_scale ? make_const(kF32, 0.3) : PrimExpr(s(col, block, lane));
    PrimExpr x = p.transposed ? a(k->var, i[0]) : a(i[0], k->var);
    return te::sum(x * (cast(kF32, q) * scale), {k});
  };
  Tensor c = te::compute(Shape({p.m, p.n}), te::FCompute(sum), "C", "",
                         Attrs{{kTileOp, ffi::String("gemm")},
                               {kPanel, panel},
                               {kKGroup, kWordBytes},
                               {kWeightBits, int64_t{p.bits}},
                               {kScaleBlock, p.block}});
  Array<Tensor> args{a, w};
  if (!p.one_scale) args.push_back(s);
  if (p.zero == Zero::kPerBlock) args.push_back(z);
  return {args, c};
}

void CheckProduct(const Product& p, const Target& target) {
  SCOPED_TRACE(::testing::Message()
               << target->str() << ": " << p.m << "x" << p.n << "x" << p.k << ", " << p.bits
               << " bits, blocks of " << p.block << ", zero point " << static_cast<int>(p.zero));
  Built built = BuildProduct(p, target);
  Array<Tensor> args = built.args;
  args.push_back(built.product);
  Check(args, target, 2e-5);
}

TEST(LowBit, OddSizesBlocksAndZeroPoints) {
  for (const Target& target : Targets()) {
    for (int bits : {4, 8}) {
      for (Zero zero : {Zero::kNone, Zero::kOne, Zero::kPerBlock}) {
        CheckProduct({1, 70, 67, 32, bits, zero}, target);
        CheckProduct({3, 33, 64, 16, bits, zero}, target);
      }
      CheckProduct({1, 200, 300, 128, bits}, target);
      CheckProduct({2, 17, 9, 8, bits}, target);
      CheckProduct({1, 64, 4, 128, bits}, target);
      CheckProduct({5, 3, 100, 104, bits}, target);      // less than a register of columns
      CheckProduct({7, 40, 300, 24, bits}, target);      // runs that are no whole registers
      CheckProduct({1, 130, 1000, 1024, bits}, target);  // a block of several runs
    }
  }
}

TEST(LowBit, ManyRows) {
  for (const Target& target : Targets()) {
    for (int bits : {4, 8}) {
      CheckProduct({13, 40, 100, 64, bits}, target);
      CheckProduct({65, 70, 72, 24, bits, Zero::kOne}, target);
      CheckProduct({40, 33, 67, 16, bits, Zero::kNone}, target);
    }
  }
}

TEST(LowBit, TransposedRowsAndOneScale) {
  for (const Target& target : Targets()) {
    for (int64_t m : {4, 50}) {
      Product p{m, 50, 70, 32};
      p.transposed = true;
      CheckProduct(p, target);
      p.one_scale = true;
      CheckProduct(p, target);
    }
  }
}

TEST(LowBit, EpilogueOnSums) {
  for (const Target& target : Targets()) {
    for (int64_t m : {1, 30}) {
      Built built = BuildProduct({m, 70, 80, 16}, target);
      const Tensor& c = built.product;
      Tensor bias = Input({70}, kF32, "bias"), other = Input({m, 70}, kF32, "other");
      Tensor y = te::compute(c.shape(), te::FCompute([&](const Array<Var>& i) {
                               return max(c(i) + bias(i[1]), make_zero(kF32)) + other(i);
                             }),
                             "Y");
      Array<Tensor> args = built.args;
      for (const Tensor& t : {bias, other, y}) args.push_back(t);
      Check(args, target, 2e-5);
    }
  }
}

/// The results of the rule and of plain loops, with `prepare` done to each argument or to A.
struct Results {
  std::vector<std::unique_ptr<Data>> fast, plain;
  Data& got() const { return *fast.back(); }
  Data& want() const { return *plain.back(); }
};
Results Both(const Product& p, const Target& target,
             const std::function<void(size_t argument, Data*)>& prepare) {
  Built built = BuildProduct(p, target);
  Array<Tensor> args = built.args;
  args.push_back(built.product);
  tirx::PrimFunc group = te::CreatePrimFunc(args);
  Results r;
  for (auto* list : {&r.fast, &r.plain}) {
    for (size_t i = 0; i < args.size(); ++i) {
      list->push_back(std::make_unique<Data>(args[i], static_cast<uint32_t>(i + 1)));
      prepare(i, list->back().get());
    }
  }
  auto fast = testing::EmitBy("contraction", group, target);
  if (fast) Run(*fast, target, r.fast);
  Run(group, target, r.plain);
  return r;
}

Results Both(const Product& p, const Target& target, const std::function<void(Data*)>& prepare) {
  return Both(p, target, [&](size_t argument, Data* data) {
    if (argument == 0) prepare(data);
  });
}

/// What a product is in double precision, and the sum of its terms' magnitudes.
std::pair<double, double> Exact(const Product& p, const Results& r, const Target& target,
                                int64_t col) {
  const int64_t panel = p.panel(target), words = CeilDiv(p.k, WordElements(p.bits));
  const int64_t blocks = CeilDiv(p.k, p.block), at = col / panel, lane = col % panel;
  double sum = 0, size = 0;
  for (int64_t k = 0; k < p.k; ++k) {
    const int64_t row = LowBitRow(k, p.bits), word = at * words + row / kWordBytes;
    const int64_t byte =
        static_cast<int64_t>(r.fast[1]->At((word * panel + lane) * kWordBytes + row % kWordBytes));
    const int64_t q = byte >> LowBitShift(k, p.bits) & ((1 << p.bits) - 1);
    const int64_t place = (at * blocks + k / p.block) * panel + lane;
    const double weight = (static_cast<double>(q) - r.fast[3]->At(place)) * r.fast[2]->At(place);
    sum += r.fast[0]->At(k) * weight;
    size += std::fabs(r.fast[0]->At(k) * weight);
  }
  return {sum, size};
}

/// The largest elements and bytes: sums of pairs must not saturate.
TEST(LowBit, ExtremeElementsAndBytes) {
  for (const Target& target : Targets()) {
    for (int64_t m : {1, 2, 3, 4}) {
      Results r = Both({m, 40, 512, 128}, target, [](size_t i, Data* data) {
        for (int64_t k = 0; i == 0 && k < data->count; ++k) {
          data->As<float>()[k] = k % 7 < 4 ? 1.0F : -1.0F;
        }
        if (i == 1) std::fill_n(data->As<uint8_t>(), data->count, uint8_t{255});
        if (i == 3) std::fill_n(data->As<uint8_t>(), data->count, uint8_t{0});
      });
      for (int64_t j = 0; j < m * 40; ++j) {
        ASSERT_NEAR(r.got().At(j), r.want().At(j), 2e-2)
            << target->str() << ", " << m << " rows, element " << j;
      }
    }
  }
}

TEST(LowBit, IsAsExactAsSumsOfFloat32) {
  const Product p{1, 96, 4096, 128};
  for (const Target& target : Targets()) {
    for (const bool wide : {false, true}) {
      // Elements of very different sizes within each run.
      Results r = Both(p, target, [&](Data* a) {
        for (int64_t i = 0; wide && i < a->count; ++i) {
          a->As<float>()[i] *= std::ldexp(1.0F, static_cast<int>(i % 24) - 12);
        }
      });
      double ours = 0, plain = 0;
      for (int64_t col = 0; col < p.n; ++col) {
        const auto [sum, size] = Exact(p, r, target, col);
        ours = std::max(ours, std::fabs(r.got().At(col) - sum) / size);
        plain = std::max(plain, std::fabs(r.want().At(col) - sum) / size);
      }
      EXPECT_LE(ours, std::max(plain, 1e-7)) << target->str();
      EXPECT_LT(ours, 1e-6) << target->str();
    }
  }
}

/// Runs a function on random operands.
std::vector<std::unique_ptr<Data>> RunOn(const Array<Tensor>& args, const tirx::PrimFunc& func,
                                         const Target& target) {
  std::vector<std::unique_ptr<Data>> data;
  for (size_t i = 0; i < args.size(); ++i) {
    data.push_back(std::make_unique<Data>(args[i], static_cast<uint32_t>(i + 1)));
  }
  Run(func, target, data);
  return data;
}

TEST(LowBit, WhatTheTunerMayMeasure) {
  for (const Target& target : Targets()) {
    for (int64_t m : {1, 9, 40}) {
      Built built = BuildProduct({m, 200, 300, 32}, target);
      Array<Tensor> args = built.args;
      args.push_back(built.product);
      tirx::PrimFunc group = te::CreatePrimFunc(args);
      const KernelCandidates all = Candidates(group, target);
      ASSERT_EQ(all.rule, "contraction");
      const auto want = RunOn(args, group, target);
      for (size_t c = 0; c < std::min<size_t>(all.list.size(), 6); ++c) {
        const KernelKnobs& knobs = all.list[all.list.size() - 1 - c].knobs;
        SCOPED_TRACE(::testing::Message() << target->str() << " " << m << ": " << KnobsText(knobs));
        const auto got = RunOn(args, EmitWith(group, target, all.rule, knobs), target);
        for (int64_t j = 0; j < m * 200; ++j) {
          ASSERT_NEAR(want.back()->At(j), got.back()->At(j), 1e-2) << "element " << j;
        }
      }
    }
  }
}

/// How often the assembly of a product names an instruction.
int64_t Occurrences(const char* instruction, const Product& p, const Target& target) {
  Built built = BuildProduct(p, target);
  Array<Tensor> args = built.args;
  args.push_back(built.product);
  return testing::narrow::Occurrences(instruction, Emit(te::CreatePrimFunc(args), target), target);
}

TEST(LowBit, BytesAreMultipliedWhereThereIsAnInstruction) {
  const Product p{1, 128, 256, 64};
  const Target arm(R"({"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mcpu": "cortex-a76"})");
  const Target newer(R"({"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mcpu": "neoverse-v1"})");
  EXPECT_GE(Occurrences("vpdpbusd", p, Cpu("cascadelake")), 24);
  EXPECT_GE(Occurrences("vpdpbusd", p, Cpu("alderlake")), 12);
  EXPECT_GE(Occurrences("usdot", p, newer), 24);
  // Without one for words: pairs with sums of 16 bits hold 4 bits, for a few rows.
  for (const char* cpu : {"x86-64-v3", "skylake-avx512"}) {
    EXPECT_GE(Occurrences("vpmaddubsw", p, Cpu(cpu)), 6) << cpu;
    EXPECT_GE(Occurrences("vpmaddubsw", {3, 128, 256, 64}, Cpu(cpu)), 18) << cpu;
    EXPECT_EQ(Occurrences("vpmaddubsw", {4, 128, 256, 64}, Cpu(cpu)), 0) << cpu;
    EXPECT_EQ(Occurrences("vpmaddubsw", {1, 128, 256, 64, 8}, Cpu(cpu)), 0) << cpu;
    EXPECT_GE(Occurrences("vfmadd", {4, 128, 256, 64}, Cpu(cpu)), 16) << cpu;
  }
  EXPECT_EQ(Occurrences("vpmaddubsw", p, Cpu("cascadelake")), 0);
  EXPECT_EQ(Occurrences("dot", p, arm), 0);
  EXPECT_GE(Occurrences("fmla", p, arm), 16);
}

/// Under qemu: with usdot, and with float32 alone.
TEST(LowBit, Neon) {
  testing::CrossRunner runner;
  const std::string missing = runner.Missing();
  if (!missing.empty()) GTEST_SKIP() << "there is no " << missing;
  for (const char* cpu : {"neoverse-v1", "cortex-a72"}) {
    const Target target(
        ffi::Map<ffi::String, ffi::Any>{{"kind", ffi::String("llvm")},
                                        {"mtriple", ffi::String("aarch64-linux-gnu")},
                                        {"mcpu", ffi::String(cpu)}});
    for (int bits : {4, 8}) {
      for (int64_t m : {1, 30}) {
        SCOPED_TRACE(::testing::Message() << cpu << ", " << bits << " bits, " << m << " rows");
        Built built = BuildProduct({m, 37, 100, 24, bits}, target);
        Array<Tensor> args = built.args;
        args.push_back(built.product);
        tirx::PrimFunc group = te::CreatePrimFunc(args);
        auto fast = testing::EmitBy("contraction", group, target);
        ASSERT_TRUE(fast.has_value());
        const auto want = RunOn(args, group, Target("llvm"));
        std::vector<std::unique_ptr<Data>> got;
        std::vector<DLTensor*> views;
        for (size_t i = 0; i < args.size(); ++i) {
          got.push_back(std::make_unique<Data>(args[i], static_cast<uint32_t>(i + 1)));
          views.push_back(&got.back()->view);
        }
        runner.Run(testing::BuildModule(*fast, target), views);
        for (int64_t j = 0; j < m * 37; ++j) {
          ASSERT_NEAR(want.back()->At(j), got.back()->At(j), 1e-2) << "element " << j;
        }
      }
    }
  }
}

TEST(LowBit, NotANumberStaysOne) {
  const Product p{2, 40, 300, 32};
  for (const Target& target : Targets()) {
    for (const float value :
         {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
      Results r = Both(p, target, [&](Data* a) { a->As<float>()[301] = value; });
      for (int64_t col = 0; col < p.n; ++col) {
        EXPECT_TRUE(std::isfinite(r.got().At(col))) << "row 0, column " << col;
        EXPECT_FALSE(std::isfinite(r.got().At(p.n + col))) << "row 1, column " << col;
      }
    }
  }
}

TEST(LowBit, ZerosAndTinyNumbers) {
  const Product p{1, 40, 128, 64};
  for (const Target& target : Targets()) {
    Results zeros = Both(p, target, [](Data* a) { std::fill_n(a->As<float>(), a->count, 0.0F); });
    for (int64_t col = 0; col < p.n; ++col) EXPECT_EQ(zeros.got().At(col), 0);
    Results tiny = Both(p, target, [](Data* a) {
      for (int64_t i = 0; i < a->count; ++i) a->As<float>()[i] *= 1e-33F;
    });
    for (int64_t col = 0; col < p.n; ++col) {
      EXPECT_NEAR(tiny.got().At(col), tiny.want().At(col), 1e-36 * 128 * 255);
    }
  }
}

TEST(LowBit, DeclinesWhatIsAnnotatedWrongly) {
  const Target target("llvm");
  auto reason = [&](const Built& built) {
    Array<Tensor> args = built.args;
    args.push_back(built.product);
    std::string why;
    for (const KernelRule& rule : AllRules()) {
      if (rule.name != "contraction") continue;
      EXPECT_FALSE(rule.emit(te::CreatePrimFunc(args), target, {}, &why).has_value());
    }
    return why;
  };
  EXPECT_EQ(reason(BuildProduct({1, 64, 64, 32}, target, 1)), "the bits of a weight lie elsewhere");
  EXPECT_EQ(reason(BuildProduct({1, 64, 64, 12}, target)), "a scale for part of a word");
  Product p{1, 64, 64, 32};
  Built built = BuildProduct(p, target);
  const auto* op = built.product->op.as<te::ComputeOpNode>();
  Attrs attrs = op->attrs;
  attrs.Set(kScaleBlock, int64_t{64});
  built.product = te::ComputeOp(op->name, op->tag, attrs, op->axis, op->body).output(0);
  EXPECT_EQ(reason(built), "scales change within a block");
}

TEST(LowBit, PlansNothingWithoutVectorsOrColumns) {
  KernelQuery query;
  query.tile_op = "gemm";
  query.a_dtype = query.out_dtype = kF32;
  query.b_dtype = kU8;
  query.k = query.n = 64;
  query.weight_bits = 4;
  query.constant_b = true;
  EXPECT_TRUE(Query(query, Target("llvm")).has_value());
  EXPECT_FALSE(Query(query, Target("c")).has_value());
  query.n = 1;
  EXPECT_FALSE(Query(query, Target("llvm")).has_value());
}

}  // namespace
}  // namespace kernels
}  // namespace tvm
