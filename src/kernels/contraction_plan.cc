// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "kernels/contraction_plan.h"

#include <tvm/kernels/rule.h>
#include <tvm/target/cpu_features.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/group.h"

namespace tvm {
namespace kernels {

int64_t StepCycles(int64_t sums) { return std::max<int64_t>(sums, 8); }

int64_t TileCycles(int64_t sums) { return 8 + 2 * std::max<int64_t>(0, sums - 16); }

namespace {

/// Estimated cycles of one task and of all, under one cut.
class CutCost {
 public:
  CutCost(const ContractionShape& shape, int64_t lanes, int64_t cores)
      : s_(shape), vectors_(CeilDiv(shape.panel, lanes)), lanes_(lanes), cores_(cores) {}

  double operator()(int64_t row_blocks, int64_t col_tasks) const {
    const double tasks = static_cast<double>(s_.batch * row_blocks * col_tasks);
    const double rows = static_cast<double>(CeilDiv(CeilDiv(s_.m, s_.rows), row_blocks) * s_.rows);
    const double panels = static_cast<double>(CeilDiv(CeilDiv(s_.n, s_.panel), col_tasks));
    const double k = static_cast<double>(s_.k);
    const int64_t sums = s_.rows * vectors_;
    const double tile =
        static_cast<double>(StepCycles(sums)) * k + static_cast<double>(TileCycles(sums));
    const double compute = panels * rows / static_cast<double>(s_.rows) * tile;
    // A panel of B comes from far once a task; the multiply-adds hide part of that.
    const double vectors = panels * static_cast<double>(vectors_) * k;
    double bytes = vectors * 2;
    bytes += 5 * (rows * s_.row_copy + s_.block_copy) / static_cast<double>(lanes_);
    if (s_.copies_b) bytes += 3 * vectors;
    const double task = compute + bytes + kTaskCycles;
    // The last round of tasks may leave cores idle.
    const double rounds = std::ceil(tasks / static_cast<double>(cores_));
    const double cores = static_cast<double>(cores_);
    const double late = cores_ > 1 ? kLate * task * cores : 0;
    return rounds * task * cores + 0.5 * tasks * task + late;
  }

 private:
  static constexpr double kTaskCycles = 1000;
  static constexpr double kLate = 0.1;  // part of a task by which threads miss each other
  const ContractionShape& s_;
  int64_t vectors_, lanes_, cores_;
};

}  // namespace

int64_t VectorLanes(DataType dtype, const Target& target) {
  return std::max<int64_t>(1, CpuFeaturesOf(target).vector_bits / dtype.bits());
}

int64_t PanelColumns(int64_t m, int64_t n, DataType dtype, const Target& target, int64_t narrower) {
  const int64_t lanes = VectorLanes(dtype, target);
  const int64_t registers = CpuFeaturesOf(target).num_vector_registers;
  int64_t wanted = narrower > 1 ? 8 : 4;
  while (wanted > 2 && m * wanted + wanted + 2 > registers) wanted /= 2;
  return lanes * std::clamp<int64_t>(CeilDiv(n, lanes), 1, wanted);
}

int64_t MostTileRows(int64_t panel, DataType dtype, const Target& target) {
  const int64_t registers = CpuFeaturesOf(target).num_vector_registers;
  const int64_t vectors = CeilDiv(panel, VectorLanes(dtype, target));
  const int64_t spare = registers >= 32 ? vectors + 2 : vectors + 1;
  return std::max<int64_t>(1, (registers - spare) / vectors);
}

/// The best count wastes little in the last tile; among those that waste as little, one with few
/// sums beyond what keeps the pipelines busy.
int64_t TileRows(int64_t m, int64_t panel, DataType dtype, const Target& target, bool overlaps,
                 int64_t limit) {
  const int64_t vectors = CeilDiv(panel, VectorLanes(dtype, target));
  const int64_t most = std::min(limit, MostTileRows(panel, dtype, target));
  if (m <= most) return m;
  constexpr int64_t kSteps = 64;  // of k, of a sum that is not long
  auto tile_cost = [&](int64_t rows) {
    return kSteps * StepCycles(rows * vectors) + TileCycles(rows * vectors);
  };
  int64_t best = most, best_cost = INT64_MAX;
  for (int64_t rows = most; rows >= std::max<int64_t>(1, most / 2); --rows) {
    const int64_t rest = overlaps && m % rows != 0 ? rows : m % rows;
    const int64_t cost = (m / rows) * tile_cost(rows) + (rest ? tile_cost(rest) : 0);
    if (cost < best_cost) best = rows, best_cost = cost;
  }
  return best;
}

int64_t CachedRowsAPageApart(const Target& target) {
  const std::string arch = CpuFeaturesOf(target).arch;
  return arch == "x86_64" || arch == "i386" ? 8 : 4;
}

namespace {

/// Whether threads are worth it: a launch costs about as much as a hundred thousand multiply-adds.
bool IsParallel(const ContractionShape& shape, int64_t cores) {
  return cores > 1 && shape.batch * shape.m * shape.n * shape.k >= 200000;
}

}  // namespace

void ForEachCut(const ContractionShape& shape, DataType dtype, const Target& target,
                const std::function<void(int64_t, int64_t, double)>& visit) {
  const CpuFeatures cpu = CpuFeaturesOf(target);
  const int64_t cores = std::max(1, cpu.num_cores);
  const int64_t row_tiles = CeilDiv(shape.m, shape.rows);
  const int64_t col_tiles = CeilDiv(shape.n, shape.panel);
  // A block of A stays in half of the second-level cache while all its panels of B pass by.
  const int64_t cached_rows =
      std::max<int64_t>(1, cpu.l2 / 2 / std::max<int64_t>(1, shape.k * dtype.bytes()));
  const int64_t fewest = CeilDiv(row_tiles, std::max<int64_t>(1, cached_rows / shape.rows));
  // Several tasks a core, so that a late or slow one is made up for.
  const bool parallel = IsParallel(shape, cores);
  const int64_t wanted = parallel ? 8 * cores : 1;
  const CutCost cost(shape, VectorLanes(dtype, target), parallel ? cores : 1);
  for (int64_t b = fewest; b <= std::min(row_tiles, fewest + wanted); ++b) {
    for (int64_t c = 1; c <= std::min(col_tiles, wanted); ++c) visit(b, c, cost(b, c));
  }
}

ContractionTiles CutTiles(const ContractionShape& shape, int64_t row_blocks, int64_t col_tasks,
                          bool parallel) {
  ContractionTiles tiles;
  tiles.parallel = parallel;
  tiles.col_tiles = CeilDiv(shape.n, shape.panel);
  const int64_t row_tiles = CeilDiv(shape.m, shape.rows);
  tiles.block_rows = std::min(shape.m, CeilDiv(row_tiles, row_blocks) * shape.rows);
  tiles.row_blocks = CeilDiv(shape.m, tiles.block_rows);
  tiles.tiles_per_task = CeilDiv(tiles.col_tiles, col_tasks);
  tiles.col_tasks = CeilDiv(tiles.col_tiles, tiles.tiles_per_task);
  return tiles;
}

ContractionTiles PlanTiles(const ContractionShape& shape, DataType dtype, const Target& target) {
  int64_t blocks = 1, cuts = 1;
  double best = 0;
  ForEachCut(shape, dtype, target, [&](int64_t b, int64_t c, double time) {
    if (best == 0 || time < best) best = time, blocks = b, cuts = c;
  });
  return CutTiles(shape, blocks, cuts, IsParallel(shape, CpuFeaturesOf(target).num_cores));
}

}  // namespace kernels
}  // namespace tvm
