// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Tasks, blocks of rows and panels of columns: the loops around the register tile.
#include <tvm/ir/expr_functor.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "kernels/contraction_emitter.h"
#include "kernels/names.h"
#include "kernels/register_tile.h"

namespace tvm {
namespace kernels {

ContractionEmitter::ContractionEmitter(const Group& group, Contraction c, Epilogue epilogue,
                                       const Target& target, const KernelKnobs& knobs)
    : anchor_(group.stages[group.anchor]),
      c_(std::move(c)),
      epilogue_(std::move(epilogue)),
      target_(target),
      knobs_(knobs),
      step_(c_.step),
      dtype_(step_.acc) {
  lanes_ = VectorLanes(dtype_, target);
  panel_ = c_.panel > 0 ? c_.panel : PanelColumns(c_.m, c_.n, dtype_, target);
  rows_ = Knob(knobs, "rows", OwnRows());
  if (c_.weight_bits > 0) PlanLowBits();
  if (!c_.scale.defined() && !HasLowBitTiles()) {
    start_ = TakeStart(anchor_.output, c_.rows, &epilogue_);
  }
  for (const auto* iters : {&c_.batch, &c_.rows, &c_.cols, &c_.depth}) {
    for (const Iter& iter : *iters) access_.Bind(iter.var, iter.extent);
  }
}

Stmt ContractionEmitter::Emit() {
  FindOperandAccess();
  t_ = Tiles();
  const int64_t tasks = Product(c_.batch) * t_.row_blocks * t_.col_tasks;
  task_ = IndexVar("task");
  access_.Bind(task_, tasks);
  col_task_ = access_.Simplify(floormod(task_, Index(t_.col_tasks)));
  block_ = access_.Simplify(floormod(floordiv(task_, Index(t_.col_tasks)), Index(t_.row_blocks)));
  SetDigits(c_.batch, access_.Simplify(floordiv(task_, Index(t_.col_tasks * t_.row_blocks))));
  Array<Stmt> seq;
  if (SplitsRows()) seq.push_back(SplitRows());
  Stmt body = TaskBody();
  seq.push_back(t_.parallel ? ParallelLoop(task_, tasks, body) : Loop(task_, tasks, body));
  return access_.Wrap(SeqStmt::Flatten(seq));
}

std::vector<KernelCandidate> ContractionEmitter::Candidates() {
  FindOperandAccess();
  t_ = Tiles();
  std::map<std::string, KernelCandidate> cuts;
  double least = 0;
  const int64_t most = std::min(c_.m, MostRows());
  for (int64_t rows = (most + 1) / 2; rows <= most; ++rows) {
    const ContractionShape shape = Shape(rows);
    ForEachCut(shape, dtype_, target_, [&](int64_t blocks, int64_t parts, double cost) {
      const ContractionTiles tiles = CutTiles(shape, blocks, parts, t_.parallel);
      const KernelKnobs knobs{
          {"rows", rows}, {"row_blocks", tiles.row_blocks}, {"col_tasks", tiles.col_tasks}};
      least = least == 0 ? cost : std::min(least, cost);
      cuts.try_emplace(KnobsText(knobs), KernelCandidate{knobs, cost});
    });
  }
  std::vector<KernelCandidate> list;
  for (const auto& [text, candidate] : cuts) {
    if (candidate.cost <= 1.4 * least) list.push_back(candidate);
  }
  for (const KernelKnobs& knobs :
       {KernelKnobs{{"prefetch", 0}}, KernelKnobs{{"unroll", 2}}, KernelKnobs{{"unroll", 8}},
        KernelKnobs{{"copy_a", 1}}, KernelKnobs{{"copy_a", 0}},
        KernelKnobs{{"parallel", t_.parallel ? 0 : 1}}}) {
    list.push_back({knobs, 1.01 * least});
  }
  return list;
}

bool ContractionEmitter::MayRepeat(int64_t rows) const { return !image_ && rows * 100 <= c_.m; }

int64_t ContractionEmitter::OwnRows(int64_t limit) const {
  const int64_t rows = TileRows(c_.m, panel_, dtype_, target_, /*overlaps=*/true, limit);
  if (MayRepeat(CeilDiv(c_.m, rows) * rows - c_.m)) return rows;
  return TileRows(c_.m, panel_, dtype_, target_, /*overlaps=*/false, limit);
}

bool ContractionEmitter::FitRowsAPageApart() {
  const int64_t ways = CachedRowsAPageApart(target_), vectors = CeilDiv(panel_, lanes_);
  constexpr int64_t kFewestSums = 8;  // that keep the pipelines busy
  if (rows_ > ways && !HasLowBitTiles() && ways * vectors >= kFewestSums) {
    rows_ = Knob(knobs_, "rows", OwnRows(ways));
  }
  return rows_ <= ways;
}

int64_t ContractionEmitter::MergedColumns(int64_t rows) const {
  const int64_t rest = c_.n % panel_;
  const bool reads = !CopiesB() && !ComputesB() && !HasLowBitTiles();
  if (c_.n <= panel_ || panel_ % lanes_ != 0 || !reads) return 0;
  if (const int64_t dotted = DottedColumns(rows)) return dotted;
  return rest <= lanes_ && rows <= MostTileRows(panel_ + lanes_, dtype_, target_) ? rest : 0;
}

ContractionShape ContractionEmitter::Shape(int64_t rows) const {
  const int64_t n = c_.n - MergedColumns(rows);
  ContractionShape shape{Product(c_.batch), c_.m, n, c_.words, rows, panel_, CopiesB(), 0, 0};
  if (image_ && CopiesImage()) {
    const double words = static_cast<double>(image_->columns()) / static_cast<double>(step_.group);
    shape.row_copy =
        words * static_cast<double>(image_->step_y) / static_cast<double>(image_->width);
    shape.block_copy = words * static_cast<double>(image_->runs - image_->step_y);
  } else if (!image_ && !a_direct_) {
    shape.row_copy = static_cast<double>(c_.words);
  }
  return shape;
}

ContractionTiles ContractionEmitter::Tiles() const {
  const ContractionTiles own = PlanTiles(Shape(rows_), dtype_, target_);
  return CutTiles(Shape(rows_), Knob(knobs_, "row_blocks", own.row_blocks),
                  Knob(knobs_, "col_tasks", own.col_tasks),
                  Knob(knobs_, "parallel", own.parallel) != 0);
}

void ContractionEmitter::SetDigits(const std::vector<Iter>& iters, const PrimExpr& fused) {
  for (const auto& [var, digit] : Digits(iters, fused)) values_.Set(var, access_.Simplify(digit));
}

void ContractionEmitter::FindOperandAccess() {
  if (SplitsRows()) {
    a_direct_ = true;  // tasks read its digits
    return;
  }
  const auto* a = c_.a.as<BufferLoadNode>();
  // In place only what needs no conversion and has a whole word.
  if (a != nullptr && a->buffer.dtype() == step_.a && c_.k >= step_.group && !step_.shifts_a) {
    PrimExpr offset = access_.Offset(a->buffer, a->indices);
    auto row = access_.FusedCoefficient(offset, c_.rows),
         step = access_.FusedCoefficient(offset, c_.depth);
    const bool any_step = step_.group == 1 && (c_.k == 1 || c_.m == 1);
    if (row && step && (*step == 1 || any_step)) {
      a_direct_ = true;
      a_buffer_ = access_.Alias(a->buffer);
      a_row_ = *row;
      a_step_ = *step;
      a_base_ = Substitute(Substitute(offset, Zeros(c_.rows)), Zeros(c_.depth));
    }
    constexpr int64_t kPage = 4096, kLongRow = 512;
    const bool page_apart = c_.words >= kLongRow && a_row_ * step_.a.bytes() % kPage == 0;
    if (a_direct_ && page_apart) a_direct_ = FitRowsAPageApart();
    // Only what can be read in place leaves a choice.
    if (a_buffer_.defined()) a_direct_ = Knob(knobs_, "copy_a", !a_direct_) == 0;
  }
  if (!a_direct_) PlanImage();
  const auto* load = c_.b.as<BufferLoadNode>();
  if (c_.panel > 0) {
    b_buffer_ = access_.Alias(c_.packed->buffer);
    return;
  }
  if (load == nullptr || step_.group > 1) return;
  PrimExpr offset = access_.Offset(load->buffer, load->indices);
  auto col = access_.FusedCoefficient(offset, c_.cols),
       step = access_.FusedCoefficient(offset, c_.depth);
  // Rows of B far apart cost a page each: worth a copy when many tiles of rows reuse it.
  const bool far = step && *step * load->buffer.dtype().bytes() > 1024 && c_.m > 2 * rows_;
  if (col && step && (*col == 1 || c_.n == 1) && !far) {
    b_direct_ = true;
    b_buffer_ = access_.Alias(load->buffer);
    b_step_ = *step;
    b_base_ = Substitute(Substitute(offset, Zeros(c_.cols)), Zeros(c_.depth));
  }
}

Stmt ContractionEmitter::TaskBody() {
  Array<Stmt> seq;
  Var start = IndexVar("row0");
  seq.push_back(Bind(start, block_ * Index(t_.block_rows)));
  access_.Bind(start, c_.m);
  row0_ = start;
  const int64_t last_rows = c_.m - (t_.row_blocks - 1) * t_.block_rows;
  const bool even = last_rows == t_.block_rows;
  PrimExpr here = even ? Index(t_.block_rows) : min(Index(t_.block_rows), Index(c_.m) - start);
  if (image_) {
    seq.push_back(PrepareImage(here));
  } else if (!a_direct_) {
    const int64_t vector = lanes_ * step_.group;
    a_pitch_ = RoundUp(c_.k, vector);
    // Rows of the copy must not all fall on the same cache sets.
    if (a_pitch_ * step_.a.bytes() % 1024 == 0) a_pitch_ += vector;
    a_buffer_ = FlatAccess::Scratch("a_rows", a_pitch_ * t_.block_rows, step_.a, "global");
    access_.UseAsIs(a_buffer_);
    seq.push_back(tirx::AllocBuffer(a_buffer_));
    seq.push_back(CopyRows(here));
  }
  if (CopiesB()) {
    b_buffer_ = FlatAccess::Scratch("b_panel", c_.words * step_.group * panel_, step_.b, "global");
    access_.UseAsIs(b_buffer_);
    seq.push_back(tirx::AllocBuffer(b_buffer_));
    if (step_.shifts_a) {
      b_sums_ = FlatAccess::Scratch("b_sums", panel_, dtype_, "local");
      access_.UseAsIs(b_sums_);
      seq.push_back(tirx::AllocBuffer(b_sums_));
    }
  }
  seq.push_back(PanelLoop(here, last_rows));
  return SeqStmt::Flatten(seq);
}

int64_t ContractionEmitter::RoundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

Stmt ContractionEmitter::PanelLoop(const PrimExpr& rows_here, int64_t last_rows) {
  Var step = IndexVar("panel");
  Var tile = IndexVar("col_tile");
  access_.Bind(tile, t_.col_tiles);
  tile_ = tile;
  const int64_t rest = c_.n - (t_.col_tiles - 1) * panel_;
  Stmt body = PanelBody(rows_here, last_rows, panel_);
  if (rest != panel_) {
    Stmt partial = PanelBody(rows_here, last_rows, rest);
    body = t_.col_tiles == 1 ? partial
                             : IfThenElse(PrimExpr(tile) < Index(t_.col_tiles - 1), std::move(body),
                                          std::move(partial));
  }
  if (t_.col_tasks * t_.tiles_per_task != t_.col_tiles) {
    body = IfThenElse(PrimExpr(tile) < Index(t_.col_tiles), std::move(body));
  }
  PrimExpr index = access_.Simplify(col_task_ * Index(t_.tiles_per_task) + step);
  return Loop(step, t_.tiles_per_task, SeqStmt::Flatten(Bind(tile, index), body));
}

Stmt ContractionEmitter::PanelBody(const PrimExpr& rows_here, int64_t last_rows, int64_t cols) {
  Array<Stmt> seq;
  if (CopiesB()) seq.push_back(CopyPanel(cols));
  if (cols > panel_ && DottedColumns(rows_) > 0) seq.push_back(CopyDottedColumns(cols - panel_));
  int64_t rest = last_rows % rows_;
  // The last tile begins early enough to be a whole one where that costs next to nothing: a body
  // for fewer rows is as much code as the other.
  const bool overlaps = rest > 0 && last_rows > rows_ && MayRepeat(rows_ - rest);
  if (overlaps) rest = 0;
  Var tile_row = IndexVar("tile");
  access_.Bind(tile_row, CeilDiv(t_.block_rows, rows_));
  Var row = IndexVar("m");
  access_.Bind(row, c_.m);
  PrimExpr first = PrimExpr(tile_row) * Index(rows_);
  if (overlaps) first = min(first, rows_here - Index(rows_));
  Stmt full =
      SeqStmt::Flatten(Bind(row, PrimExpr(row0_) + first), TileBody(row, tile_row, rows_, cols));
  PrimExpr count = floordiv(overlaps ? rows_here + Index(rows_ - 1) : rows_here, Index(rows_));
  if (const int64_t* here = as_const_int(rows_here)) {
    count = Index(overlaps ? CeilDiv(*here, rows_) : *here / rows_);
  }
  if (last_rows >= rows_ || t_.row_blocks > 1) {
    seq.push_back(For(tile_row, Index(0), count, ForKind::kSerial, full));
  }
  if (rest > 0) {
    Var tail = IndexVar("m");
    access_.Bind(tail, c_.m);
    Stmt body = SeqStmt::Flatten(Bind(tail, Index(c_.m - rest)),
                                 TileBody(tail, Index(last_rows / rows_), rest, cols));
    if (t_.row_blocks > 1) body = IfThenElse(block_ == Index(t_.row_blocks - 1), body);
    seq.push_back(body);
  }
  return SeqStmt::Flatten(seq);
}

std::vector<int64_t> ContractionEmitter::Widths(int64_t cols, bool padded) const {
  constexpr int64_t kLeastBits = 128;  // of a vector register, where there are any
  std::vector<int64_t> widths;
  for (int64_t at = 0; at < cols; at += lanes_) {
    const int64_t used = std::min(lanes_, cols - at);
    // Two registers of half the width take no longer than a whole one.
    int64_t width = lanes_;
    while (width / 2 >= used && width * dtype_.bits() > kLeastBits) width /= 2;
    widths.push_back(padded ? std::min(width, panel_ - at % panel_) : used);
  }
  return widths;
}

}  // namespace kernels
}  // namespace tvm
