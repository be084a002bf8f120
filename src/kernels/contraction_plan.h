// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Tile sizes of contractions: how many rows and columns one register tile has, how rows and
/// columns are cut into tasks. All analytic, from the extents and the CPU's features.
#ifndef TVM_KERNELS_CONTRACTION_PLAN_H_
#define TVM_KERNELS_CONTRACTION_PLAN_H_

#include <tvm/runtime/data_type.h>
#include <tvm/target/target.h>

#include <cstdint>
#include <functional>

namespace tvm {
namespace kernels {

/// Elements of one vector register.
int64_t VectorLanes(DataType dtype, const Target& target);

/// Columns of a packed panel: two registers of sums; four where few rows leave registers free, so
/// that a matrix-vector product streams longer runs, and eight where elements of B are narrower by
/// `narrower` than sums; one where there are no more columns than that.
TVM_DLL int64_t PanelColumns(int64_t m, int64_t n, DataType dtype, const Target& target,
                             int64_t narrower = 1);

/// Most rows of a register tile of `panel` columns whose sums fit the registers.
TVM_DLL int64_t MostTileRows(int64_t panel, DataType dtype, const Target& target);

/// Rows of a full register tile of `panel` columns. The last tile is shorter, or, where tiles may
/// overlap, does some rows a second time. At most `limit` rows.
TVM_DLL int64_t TileRows(int64_t m, int64_t panel, DataType dtype, const Target& target,
                         bool overlaps = false, int64_t limit = INT64_MAX);

/// Cycles of one step of k for so many sums: a multiply-add each, and at least what keeps two
/// pipelines of a latency of four busy.
int64_t StepCycles(int64_t sums);

/// Cycles of a register tile besides its steps. The stores of a few sums wait while the next tile
/// is multiplied already; those of many fill the queues before it.
int64_t TileCycles(int64_t sums);

/// What there is to cut.
struct ContractionShape {
  int64_t batch, m, n, k;
  int64_t rows;                 ///< of a register tile
  int64_t panel;                ///< columns of a register tile
  bool copies_b;                ///< every task copies each of its panels of B first
  double row_copy, block_copy;  ///< elements of A that a task copies for each row, and besides
};

/// Most rows a multiple of a page apart that the first-level cache can hold a line of each, as it
/// has so many ways.
int64_t CachedRowsAPageApart(const Target& target);

/// How the loops around the register tile are cut.
struct ContractionTiles {
  int64_t block_rows;      ///< rows of a block; a multiple of the tile's unless it is all of them
  int64_t row_blocks;      ///< blocks of rows
  int64_t col_tiles;       ///< panels in all
  int64_t tiles_per_task;  ///< panels of one task
  int64_t col_tasks;       ///< tasks along the columns
  bool parallel;           ///< whether threads are worth their launch
};

/// Visits the cuts that fit the caches: blocks of rows, tasks along the columns, estimated cycles.
TVM_DLL void ForEachCut(const ContractionShape& shape, DataType dtype, const Target& target,
                        const std::function<void(int64_t, int64_t, double)>& visit);

/// The cut into about so many blocks of rows and tasks along the columns.
TVM_DLL ContractionTiles CutTiles(const ContractionShape& shape, int64_t row_blocks,
                                  int64_t col_tasks, bool parallel);

/// The cut with the least estimated time on all cores of the target, and little more on one.
TVM_DLL ContractionTiles PlanTiles(const ContractionShape& shape, DataType dtype,
                                   const Target& target);

}  // namespace kernels
}  // namespace tvm

#endif  // TVM_KERNELS_CONTRACTION_PLAN_H_
