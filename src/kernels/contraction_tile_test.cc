// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Columns that fill no whole panel: registers of half the width, and tiles that take the columns
/// of a last panel along.
#include <gtest/gtest.h>
#include <tvm/target/cpu_features.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <algorithm>
#include <regex>

#include "kernels/contraction_plan.h"
#include "kernels/names.h"
#include "kernels/rule_groups.h"
#include "kernels/rule_testing.h"

namespace tvm {
namespace kernels {
namespace {

using namespace testing;  // NOLINT(build/namespaces)
using te::Tensor;

const DataType kFloat = DataType::Float(32);

/// Processors whose code runs here.
std::vector<Target> Targets() {
  std::vector<Target> targets{Target("llvm")};
  const CpuFeatures& here = HostCpuFeatures();
  if (here.arch == "x86_64") targets.push_back(Cpu("x86-64"));
  if (here.avx2 && here.fma) targets.push_back(Cpu("x86-64-v3"));
  if (here.avx512f) targets.push_back(Cpu("x86-64-v4"));
  return targets;
}

/// With a bias, which the sums start from, and something after it.
Tensor Biased(const Tensor& c, const Tensor& bias) {
  return te::compute(c->shape, te::FCompute([&](const Array<Var>& i) {
                       return max(c(i) + bias(i[1]), make_zero(kFloat));
                     }),
                     "D");
}

TEST(ContractionColumns, AroundVectorsAndPanels) {
  for (const Target& target : Targets()) {
    for (int64_t m : {9, 16, 127}) {
      for (int64_t n : {3, 9, 24, 33, 34, 40, 48, 129}) {
        const int64_t k = n > 30 ? 75 : 21, panel = PanelColumns(m, n, kFloat, target);
        Tensor a = Input({m, k}, "A"), b = Input({k, n}, "B"), bias = Input({n}, "bias");
        Tensor p = Input({(n + panel - 1) / panel, k, panel}, "P");
        SCOPED_TRACE(::testing::Message() << target->str() << " " << m << "x" << n);
        Check({a, p, bias, Biased(PackedMatmul(a, p, m, n, k, panel), bias)}, "contraction",
              {.target = target, .threads = {1, 2}});
        Check({a, b, Matmul(a, b, m, n, k)}, "contraction", {.target = target});
      }
    }
  }
}

/// A last column by itself is multiplied along the sum. Its last vector takes up elements again:
/// an infinity among these stays one, and no other row knows of it.
TEST(ContractionColumns, OneColumnAlongTheSum) {
  for (const Target& target : Targets()) {
    const int64_t m = 37, n = 65, k = 75, panel = PanelColumns(m, n, kFloat, target);
    Tensor a = Input({m, k}, "A"), p = Input({(n + panel - 1) / panel, k, panel}, "P");
    const ffi::Array<Tensor> args{a, p, PackedMatmul(a, p, m, n, k, panel)};
    SCOPED_TRACE(::testing::Message() << target->str());
    auto func = EmitBy("contraction", te::CreatePrimFunc(args), target);
    ASSERT_TRUE(func.has_value());
    EXPECT_EQ(Scratch(*func).count("b_columns"), 1);
    for (int64_t at : {int64_t{0}, int64_t{62}, k - 1, (m - 1) * k + 63, m * k - 1}) {
      const auto put = [=](size_t argument, Data* data) {
        if (argument == 0) data->data[at] = INFINITY;
      };
      Check(args, "contraction", {.prepare = put, .target = target});
    }
  }
}

struct Widths {
  int64_t zmm, ymm, xmm;
};
/// Multiply-adds of a product of n columns by the width of their registers.
Widths MultiplyAdds(int64_t n) {
  const Target target = Cpu("x86-64-v4");
  const int64_t m = 64, k = 120, panel = 32;
  Tensor a = Input({m, k}, "A"), p = Input({(n + panel - 1) / panel, k, panel}, "P");
  Tensor c = PackedMatmul(a, p, m, n, k, panel);
  auto func = EmitBy("contraction", te::CreatePrimFunc({a, p, c}), target);
  const std::string text(BuildModule(*func, target)->InspectSource("asm"));
  auto count = [&](const char* registers) {
    const std::regex expression(std::string("vfmadd[0-9]+ps\\s.*%") + registers);
    return static_cast<int64_t>(std::distance(
        std::sregex_iterator(text.begin(), text.end(), expression), std::sregex_iterator()));
  };
  return {count("zmm"), count("ymm"), count("xmm")};
}

TEST(ContractionColumns, RegistersAreAsNarrowAsColumnsAllow) {
  if (HostCpuFeatures().arch != "x86_64") GTEST_SKIP() << "names of registers of x86";
  const Widths whole = MultiplyAdds(32), half = MultiplyAdds(24), one = MultiplyAdds(17),
               most = MultiplyAdds(25);
  EXPECT_GT(whole.zmm, 0);
  EXPECT_EQ(whole.ymm + whole.xmm, 0);
  EXPECT_EQ(half.zmm, half.ymm);
  EXPECT_EQ(half.xmm, 0);
  EXPECT_EQ(one.zmm, one.xmm);
  EXPECT_EQ(most.ymm + most.xmm, 0);
}

/// Rows a multiple of a page apart are read in place, as many at a time as the first-level cache
/// keeps. (That the results are right is tested with the other contractions.)
TEST(ContractionRows, APageApartAreNotCopied) {
  const Target target = Cpu("x86-64-v4");
  const int64_t lanes = CpuFeaturesOf(target).Lanes(32);
  for (int64_t m : {14, 49, 64}) {
    for (int64_t n : {10, 33, 130}) {
      const int64_t k = 1024, panel = PanelColumns(m, n, kFloat, target);
      Tensor a = Input({m, k}, "A"), p = Input({(n + panel - 1) / panel, k, panel}, "P");
      auto func = EmitBy("contraction",
                         te::CreatePrimFunc({a, p, PackedMatmul(a, p, m, n, k, panel)}), target);
      ASSERT_TRUE(func.has_value());
      EXPECT_EQ(Scratch(*func).count("a_rows"), 0) << m << "x" << n;
      int64_t most = 0;  // vectors of sums
      tirx::PostOrderVisit((*func)->body, [&](const ffi::ObjectRef& node) {
        const auto* alloc = node.as<tirx::AllocBufferNode>();
        if (alloc == nullptr || alloc->buffer.name() != "acc") return;
        most = std::max(most, *as_const_int(alloc->buffer.shape()[0]) / lanes);
      });
      // One vector a row, or up to three.
      EXPECT_LE(most, n == 10 ? 8 : 24) << m << "x" << n;
    }
  }
}

/// One body with three vectors a row where another panel would be one with one.
TEST(ContractionColumns, LastVectorJoinsThePanelBefore) {
  if (HostCpuFeatures().arch != "x86_64") GTEST_SKIP() << "names of registers of x86";
  const Widths joined = MultiplyAdds(40), apart = MultiplyAdds(56);
  EXPECT_EQ(joined.zmm, 2 * joined.ymm);  // a body of its own would have two more of zmm a row
  EXPECT_EQ(joined.xmm, 0);
  EXPECT_EQ(apart.zmm, 3 * apart.ymm);  // two bodies: 2 zmm, and one with 1 zmm and 1 ymm
}

}  // namespace
}  // namespace kernels
}  // namespace tvm
