// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "kernels/contraction_plan.h"

#include <gtest/gtest.h>
#include <tvm/arith/analyzer.h>
#include <tvm/target/cpu_features.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/stmt_functor.h>

#include <algorithm>

#include "kernels/rule_groups.h"
#include "kernels/rule_testing.h"

namespace tvm {
namespace kernels {
namespace {

using namespace testing;  // NOLINT(build/namespaces)

const DataType kFloat = DataType::Float(32);

/// Rows that nothing needs are worse than tiles with fewer sums.
TEST(TileRows, DividesWhatItCan) {
  const Target target = Cpu("x86-64-v4");
  const int64_t lanes = CpuFeaturesOf(target).Lanes(32);
  ASSERT_EQ(lanes, 16);
  for (int64_t vectors : {1, 2, 4}) {
    for (int64_t m : {32, 56, 64, 100, 128, 196, 256, 784, 1024, 3136}) {
      const int64_t rows = TileRows(m, vectors * lanes, kFloat, target, /*overlaps=*/true);
      EXPECT_EQ(m % rows, 0) << m << " rows, " << vectors << " vectors, tiles of " << rows;
    }
  }
  EXPECT_EQ(TileRows(49, 2 * lanes, kFloat, target), 7);
  EXPECT_EQ(TileRows(513, 2 * lanes, kFloat, target), 9);
}

/// All that fits is one tile; else tiles keep two pipelines busy, and what they store is little.
TEST(TileRows, KeepsPipelinesBusy) {
  for (const char* mcpu : {"x86-64", "x86-64-v3", "x86-64-v4"}) {
    const Target target = Cpu(mcpu);
    for (int64_t vectors : {1, 2}) {
      const int64_t panel = vectors * CpuFeaturesOf(target).Lanes(32);
      const int64_t most = MostTileRows(panel, kFloat, target);
      for (int64_t m = 1; m <= most; ++m) EXPECT_EQ(TileRows(m, panel, kFloat, target), m);
      for (int64_t m = most + 1; m < 1200; m += 7) {
        const int64_t rows = TileRows(m, panel, kFloat, target);
        EXPECT_GE(rows * vectors, 6) << mcpu << " " << m;
        EXPECT_LE(rows, most);
      }
      // No remainder to speak of: few sums.
      EXPECT_LE(TileRows(1 << 20, panel, kFloat, target) * vectors, 16) << mcpu;
    }
  }
}

TEST(TileRows, KeepsToALimit) {
  const Target target = Cpu("x86-64-v4");
  for (int64_t panel : {16, 32, 64}) {
    for (int64_t m : {1, 9, 16, 49, 64, 1000}) {
      const int64_t rows = TileRows(m, panel, kFloat, target, /*overlaps=*/false, /*limit=*/8);
      EXPECT_GE(rows, 1);
      EXPECT_LE(rows, 8);
    }
  }
}

Target CpuWithCores(int64_t cores) {
  return Target(ffi::Map<ffi::String, ffi::Any>{
      {"kind", ffi::String("llvm")}, {"mcpu", ffi::String("x86-64-v4")}, {"num-cores", cores}});
}

/// Every block of rows reads all weights anew: one block where a core has it to itself, or where
/// columns alone keep all cores busy.
TEST(PlanTiles, WeightsAreReadOnce) {
  for (int64_t cores : {1, 2}) {
    const Target target = CpuWithCores(cores);
    for (int64_t m : {64, 128}) {
      for (int64_t n : {768, 2304, 50257}) {
        const ContractionShape shape{1, m, n, 768, 8, 32, false, 0, 0};
        EXPECT_EQ(PlanTiles(shape, kFloat, target).row_blocks, 1)
            << m << "x" << n << " on " << cores;
      }
    }
  }
}

/// The hints of all tiles reach to the end of the next panel, and not further.
TEST(ContractionHints, CoverTheNextPanel) {
  for (int64_t m : {64, 513, 3136}) {
    const int64_t n = 128, k = 256, panel = 32;
    te::Tensor a = Input({m, k}, "A"), p = Input({n / panel, k, panel}, "P");
    auto func =
        EmitBy("contraction", te::CreatePrimFunc({a, p, PackedMatmul(a, p, m, n, k, panel)}),
               CpuWithCores(1));
    ASSERT_TRUE(func.has_value());
    ffi::Map<Var, PrimExpr> last;  // turn of each loop within a panel, the first panel, and names
    tirx::PostOrderVisit((*func)->body, [&](const ffi::ObjectRef& node) {
      if (const auto* bind = node.as<tirx::BindNode>()) {
        last.Set(bind->var, Downcast<PrimExpr>(bind->value));
      } else if (const auto* loop = node.as<tirx::ForNode>()) {
        const bool inner = loop->loop_var->name == "tile" || loop->loop_var->name == "k";
        last.Set(loop->loop_var, inner ? loop->extent - I(1) : I(0));
      }
    });
    int64_t farthest = 0;
    tirx::PostOrderVisit((*func)->body, [&](const ffi::ObjectRef& node) {
      const auto* call = node.as<CallNode>();
      if (call == nullptr || !call->op.same_as(tirx::builtin::prefetch())) return;
      const auto* address = call->args[0].as<CallNode>();
      PrimExpr at = address->args[0].as<tirx::BufferLoadNode>()->indices[0];
      for (int names = 0; names < 4; ++names) at = Downcast<PrimExpr>(tirx::Substitute(at, last));
      at = arith::Analyzer()->Simplify(at);
      ASSERT_NE(as_const_int(at), nullptr) << at;
      farthest = std::max(farthest, *as_const_int(at));
    });
    const int64_t end = 2 * k * panel, line = 16;
    EXPECT_GE(farthest, end - 2 * line) << m;
    EXPECT_LT(farthest, end + k * panel / 8) << m;
  }
}

}  // namespace
}  // namespace kernels
}  // namespace tvm
