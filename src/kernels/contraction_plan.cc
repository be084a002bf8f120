// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "kernels/contraction_plan.h"

#include <tvm/kernels/rule.h>
#include <tvm/target/cpu_features.h>

#include <algorithm>

namespace tvm {
namespace kernels {
namespace {

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Rows of a register tile. A step of k costs one multiply-add per row and vector, and at least the
/// latency of one such chain; so the best count wastes little in the last tile and keeps enough
/// independent chains in flight.
int64_t TileRows(int64_t m, int64_t vectors, int64_t registers) {
  constexpr int64_t kLatency = 4;
  const int64_t spare = registers >= 32 ? vectors + 2 : vectors + 1;
  const int64_t most = std::max<int64_t>(1, (registers - spare) / vectors);
  if (m <= most) return m;
  auto tile_cost = [&](int64_t rows) { return std::max(rows * vectors, kLatency); };
  int64_t best = most, best_cost = INT64_MAX;
  for (int64_t rows = most; rows >= std::max<int64_t>(1, most / 2); --rows) {
    const int64_t rest = m % rows;
    // A little per tile for its loads of B and the epilogue's stores.
    const int64_t cost = (m / rows) * (8 * tile_cost(rows) + 4 * vectors) +
                         (rest ? 8 * tile_cost(rest) + 4 * vectors : 0);
    if (cost < best_cost) best = rows, best_cost = cost;
  }
  return best;
}

}  // namespace

int64_t VectorLanes(DataType dtype, const Target& target) {
  return std::max<int64_t>(1, CpuFeaturesOf(target).vector_bits / dtype.bits());
}

int64_t PanelColumns(int64_t m, int64_t n, DataType dtype, const Target& target) {
  const int64_t lanes = VectorLanes(dtype, target);
  const int64_t registers = CpuFeaturesOf(target).num_vector_registers;
  const int64_t wanted = m * 4 + 4 + 2 <= registers ? 4 : 2;
  return lanes * std::clamp<int64_t>(CeilDiv(n, lanes), 1, wanted);
}

ContractionTiles PlanTiles(int64_t batch, int64_t m, int64_t n, int64_t k, int64_t panel,
                           DataType dtype, const Target& target) {
  const CpuFeatures cpu = CpuFeaturesOf(target);
  ContractionTiles tiles;
  tiles.lanes = VectorLanes(dtype, target);
  tiles.panel = panel;
  tiles.rows = TileRows(m, panel / tiles.lanes, cpu.num_vector_registers);
  tiles.col_tiles = CeilDiv(n, panel);
  // A block of A stays in half of the second-level cache while all its panels of B pass by.
  const int64_t cached_rows =
      std::max<int64_t>(1, cpu.l2 / 2 / std::max<int64_t>(1, k * dtype.bytes()));
  int64_t block = std::max<int64_t>(1, cached_rows / tiles.rows) * tiles.rows;
  const int64_t cores = std::max(1, cpu.num_cores);
  const int64_t wanted_tasks = 4 * cores;
  // Enough tasks for all cores, but not blocks so thin that B passes by for nothing.
  const int64_t fair = CeilDiv(CeilDiv(m * batch, wanted_tasks), tiles.rows) * tiles.rows;
  block = std::min(block, std::max(fair, 4 * tiles.rows));
  tiles.block_rows = std::min(block, m);
  tiles.row_blocks = CeilDiv(m, tiles.block_rows);
  const int64_t row_tasks = batch * tiles.row_blocks;
  const int64_t cuts = row_tasks >= wanted_tasks ? 1 : CeilDiv(wanted_tasks, row_tasks);
  tiles.tiles_per_task = CeilDiv(tiles.col_tiles, std::min(cuts, tiles.col_tiles));
  tiles.col_tasks = CeilDiv(tiles.col_tiles, tiles.tiles_per_task);
  // A launch costs about as much as a hundred thousand multiply-adds.
  tiles.parallel = batch * m * n * k >= 200000;
  return tiles;
}

}  // namespace kernels
}  // namespace tvm
