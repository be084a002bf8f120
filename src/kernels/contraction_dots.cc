// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// The last column or two, where all others fill panels: a vector for them would be nearly empty in
/// each step. They are multiplied along k instead: whole vectors of a row of A by whole vectors of
/// the column, whose lanes are added up at the end, those of many rows together.
#include <tvm/ir/expr_functor.h>
#include <tvm/target/cpu_features.h>
#include <tvm/tirx/op.h>

#include <algorithm>
#include <utility>

#include "kernels/contraction_emitter.h"
#include "kernels/names.h"
#include "kernels/vector_exprs.h"
#include "kernels/vector_transpose.h"

namespace tvm {
namespace kernels {

int64_t ContractionEmitter::DottedColumns(int64_t rows) const {
  constexpr int64_t kFewestRows = 16;  // that make up for the copy of a column
  constexpr int64_t kAddLanes = 8;     // steps that adding up lanes and loading A take as long as
  const int64_t rest = c_.n % panel_, vector = lanes_ * step_.group;
  const bool in_rows = !image_ && (!a_direct_ || a_step_ == 1);
  if (rest == 0 || !in_rows || c_.k < vector || c_.m < kFewestRows) return 0;
  if (lanes_ < 4 || !IsPowerOfTwo(lanes_)) return 0;
  if (rows * rest + rest + 1 > CpuFeaturesOf(target_).num_vector_registers) return 0;
  return 2 * rest * (CeilDiv(c_.words, lanes_) + kAddLanes) <= c_.words ? rest : 0;
}

Stmt ContractionEmitter::CopyDottedColumns(int64_t count) {
  const int64_t group = step_.group;
  b_columns_ = FlatAccess::Scratch("b_columns", count * c_.words * group, step_.b, "global");
  access_.UseAsIs(b_columns_);
  Array<Stmt> seq{tirx::AllocBuffer(b_columns_)};
  Var k = IndexVar("k");
  access_.Bind(k, c_.words);
  Array<Stmt> copies;
  for (int64_t j = 0; j < count; ++j) {
    const PrimExpr at = (Index(j * c_.words) + k) * Index(group);
    copies.push_back(StoreAt(b_columns_, access_.Simplify(at), ColumnsOfB(panel_ + j, k, 1)));
  }
  seq.push_back(Loop(k, c_.words, SeqStmt::Flatten(copies)));
  if (!step_.shifts_a && !start_.defined()) return SeqStmt::Flatten(seq);
  // One for each sum of a tile, as these lie.
  const int64_t slots = RoundUp(rows_ * count, lanes_);
  column_starts_ = FlatAccess::Scratch("column_starts", slots, dtype_, "local");
  access_.UseAsIs(column_starts_);
  seq.push_back(tirx::AllocBuffer(column_starts_));
  std::vector<PrimExpr> starts;
  for (int64_t j = 0; j < count; ++j) {
    PrimExpr start = step_.shifts_a ? StartOfSums(panel_ + j, 1) : make_zero(dtype_);
    if (start_.defined()) {
      const PrimExpr column = PrimExpr(tile_) * Index(panel_) + Index(panel_ + j);
      start = start + Value(start_, PrimExpr(), row0_, column);
    }
    starts.push_back(Named("start", start, &seq));
  }
  for (int64_t slot = 0; slot < slots; ++slot) {
    seq.push_back(StoreAt(column_starts_, Index(slot), starts[static_cast<size_t>(slot % count)]));
  }
  return SeqStmt::Flatten(seq);
}

Stmt ContractionEmitter::DotColumns(const Var& row, int64_t rows, int64_t count) {
  const int64_t vector = lanes_ * step_.group, whole = c_.k / vector, rest = c_.k % vector;
  const int64_t steps = whole + (rest > 0 ? 1 : 0);
  // The last step reaches back over what was summed already, as zeros of both operands.
  auto is_last = [&](const PrimExpr& k) { return rest > 0 && is_const_int(k, steps - 1); };
  auto first = [&](const PrimExpr& k) {
    return is_last(k) ? Index(c_.k - vector) : access_.Simplify(k * Index(vector));
  };
  auto cut = [&](const PrimExpr& k, const PrimExpr& value) {
    if (!is_last(k)) return value;
    const PrimExpr zeros = Splat(make_zero(value.dtype().element_of()), vector);
    return ShuffleTwo(zeros, value, vector,
                      [&](int64_t lane) { return lane < vector - rest ? lane : vector + lane; });
  };
  RegisterTile tile(&access_, step_, lanes_, rows,
                    std::vector<int64_t>(static_cast<size_t>(count), lanes_));
  tile.set_last_apart(rest > 0);
  auto load_a = [&](int64_t i, const PrimExpr& k) {
    return cut(k, VectorAt(a_buffer_, OffsetA(row, i, first(k)), vector));
  };
  auto load_b = [&](size_t j, const PrimExpr& k) {
    const int64_t column = static_cast<int64_t>(j) * c_.words * step_.group;
    return cut(k, VectorAt(b_columns_, access_.Simplify(Index(column) + first(k)), vector));
  };
  Array<Stmt> seq{tile.Sum(steps, load_a, load_b)};
  Buffer sums = FlatAccess::Scratch("dots", RoundUp(rows * count, lanes_), dtype_, "local");
  access_.UseAsIs(sums);
  seq.push_back(tirx::AllocBuffer(sums));
  for (int64_t at = 0; at < rows * count; at += lanes_) {
    std::vector<PrimExpr> vectors;
    for (int64_t s = at; s < std::min(at + lanes_, rows * count); ++s) {
      vectors.push_back(BufferLoad(tile.acc(), {tile.Lanes(s / count, s % count)}));
    }
    PrimExpr all = SumsOfLanes(std::move(vectors), &seq);
    if (column_starts_.defined()) all = all + VectorAt(column_starts_, Index(at), lanes_);
    seq.push_back(StoreAt(sums, Index(at), all));
  }
  auto store_row = [&](const PrimExpr& i) {
    return StoreVector(sums, access_.Simplify(i * Index(count)), row, i, panel_, count);
  };
  if (UnrollsStores(rows)) {
    for (int64_t i = 0; i < rows; ++i) seq.push_back(store_row(Index(i)));
  } else {
    Var i = IndexVar("i");
    access_.Bind(i, rows);
    seq.push_back(Loop(i, rows, store_row(i)));
  }
  return SeqStmt::Flatten(seq);
}

}  // namespace kernels
}  // namespace tvm
