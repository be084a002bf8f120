// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "kernels/contraction_plan.h"

#include <gtest/gtest.h>
#include <tvm/target/cpu_features.h>

#include "kernels/rule_testing.h"

namespace tvm {
namespace kernels {
namespace {

using testing::Cpu;

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

}  // namespace
}  // namespace kernels
}  // namespace tvm
