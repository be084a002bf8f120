// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// One register tile: its reads, its sums, and the epilogue on them.
#include <tvm/ir/expr_functor.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <algorithm>
#include <utility>

#include "kernels/contraction_emitter.h"
#include "kernels/names.h"
#include "kernels/register_tile.h"

namespace tvm {
namespace kernels {

PrimExpr ContractionEmitter::OffsetA(const Var& row, int64_t i, const PrimExpr& k) {
  PrimExpr offset =
      a_direct_ ? Place(a_base_) + (PrimExpr(row) + Index(i)) * Index(a_row_) + k * Index(a_step_)
                : (PrimExpr(row) - row0_ + Index(i)) * Index(a_pitch_) + k;
  return access_.Simplify(offset);
}

PrimExpr ContractionEmitter::LoadA(const Var& row, int64_t i, const PrimExpr& k) {
  const bool cut_short = a_direct_ && EndsInWord() && is_const_int(k, c_.words - 1);
  const PrimExpr first = cut_short ? Index(c_.k - step_.group) : k * Index(step_.group);
  PrimExpr offset = image_ ? access_.Simplify(WindowOffset(i, k)) : OffsetA(row, i, first);
  PrimExpr word = BufferLoad(a_buffer_, {Consecutive(offset, step_.group)});
  if (!cut_short) return word;
  // The last elements of the row, moved down to where the word's first ones are; zeros follow.
  const int bits = step_.a.bits();
  const DataType type = DataType::UInt(bits * static_cast<int>(step_.group));
  word = tirx::CallBuiltin(type, tirx::builtin::reinterpret(), {word});
  return word >> make_const(type, bits * (step_.group - c_.k % step_.group));
}

PrimExpr ContractionEmitter::LoadOffsetB(const PrimExpr& tile, const PrimExpr& k) {
  const int64_t row = panel_ * step_.group;
  if (c_.panel > 0) {
    const PrimExpr skipped = Index(c_.skipped_words);
    PrimExpr offset = (tile * Index(c_.panel_words) + skipped + k) * Index(row);
    if (c_.HasPackedGroups()) {
      PrimExpr matrix = Place(c_.packed->indices[0]);
      offset = offset + matrix * Index(CeilDiv(c_.n, panel_) * c_.panel_words * row);
    }
    return offset;
  }
  if (b_direct_) return Place(b_base_) + tile * Index(panel_) + k * Index(b_step_);
  return k * Index(row);
}

PrimExpr ContractionEmitter::PackedOffset(int64_t column, const PrimExpr& k) {
  const PrimExpr tile = PrimExpr(tile_) + Index(column / panel_);
  return access_.Simplify(LoadOffsetB(tile, k) + Index(column % panel_ * step_.group));
}

PrimExpr ContractionEmitter::ColumnsOfB(int64_t column, const PrimExpr& k, int64_t width) {
  PrimExpr at = c_.panel > 0
                    ? PackedOffset(column, k)
                    : access_.Simplify(LoadOffsetB(tile_, k) + Index(column * step_.group));
  PrimExpr value = BufferLoad(b_buffer_, {Consecutive(at, width * step_.group)});
  return cast(step_.b.with_lanes(static_cast<int>(width * step_.group)), value);
}

PrimExpr ContractionEmitter::StartOfSums(int64_t column, int64_t width) {
  if (c_.panel == 0) return BufferLoad(b_sums_, {Consecutive(Index(column), width)});
  PrimExpr at = PackedOffset(column, Index(-1));
  PrimExpr bytes = BufferLoad(b_buffer_, {Consecutive(at, width * step_.group)});
  return tirx::CallBuiltin(dtype_.with_lanes(static_cast<int>(width)), tirx::builtin::reinterpret(),
                           {bytes});
}

Stmt ContractionEmitter::ComputeStarts(const Buffer& starts, const Var& row, int64_t cols) {
  Array<Stmt> seq{tirx::AllocBuffer(starts)};
  for (int64_t at = 0; at < cols; at += lanes_) {
    const int64_t valid = std::min(lanes_, cols - at);
    if (valid < lanes_) {  // of columns past the last one no term exists
      seq.push_back(
          BufferStore(starts, Splat(make_zero(dtype_), lanes_), {Consecutive(Index(at), lanes_)}));
    }
    Var lane = IndexVar("lane");
    access_.Bind(lane, lanes_);
    PrimExpr place = Index(at) + lane;
    PrimExpr value = Value(start_, PrimExpr(), row, PrimExpr(tile_) * Index(panel_) + place);
    seq.push_back(VectorLoop(lane, valid, BufferStore(starts, value, {place})));
  }
  return SeqStmt::Flatten(seq);
}

Stmt ContractionEmitter::PrefetchPanel(const PrimExpr& tile_row, const PrimExpr& group,
                                       int64_t steps) {
  constexpr int64_t kFewTiles = 4;  // among which hints are dense
  const int64_t line = 64 / b_buffer_.dtype().bytes();
  const int64_t tiles = std::max<int64_t>(1, CeilDiv(t_.block_rows, rows_));
  // Elements a tile and a turn, often less than a line, which then gets several hints: cheaper than
  // to reach further ahead, which brings lines long before they are used and again later.
  const int64_t word = panel_ * step_.group;
  const int64_t share = CeilDiv(c_.words * word, tiles), pace = CeilDiv(steps * word, tiles);
  PrimExpr next = LoadOffsetB(PrimExpr(tile_) + Index(1), Index(0));
  PrimExpr first = tile_row * Index(share) + group * Index(pace);
  Array<Stmt> seq;
  for (int64_t i = 0; i < CeilDiv(pace, line); ++i) {
    PrimExpr at = access_.Simplify(next + first + Index(i * line));
    seq.push_back(PrefetchLine(b_buffer_, at, /*to_first_level=*/tiles > kFewTiles));
  }
  return SeqStmt::Flatten(seq);
}

Stmt ContractionEmitter::ComputeRowOfB(const Buffer& b_row, const Var& row, const PrimExpr& k,
                                       int64_t cols) {
  Map<Var, PrimExpr> saved = values_;
  SetDigits(c_.depth, k);
  Array<Stmt> seq;
  for (int64_t at = 0; at < cols; at += lanes_) {
    Var lane = IndexVar("lane");
    access_.Bind(lane, lanes_);
    PrimExpr place = Index(at) + lane;
    PrimExpr value = Value(c_.b, PrimExpr(), row, PrimExpr(tile_) * Index(panel_) + place);
    seq.push_back(VectorLoop(lane, std::min(lanes_, cols - at),
                             BufferStore(b_row, cast(step_.b, value), {place})));
  }
  values_ = saved;
  return SeqStmt::Flatten(seq);
}

Stmt ContractionEmitter::TileBody(const Var& row, const PrimExpr& tile_row, int64_t rows,
                                  int64_t cols) {
  if (HasLowBitTiles()) return LowBitTileBody(row, rows, cols);
  const bool computes = ComputesB();
  const int64_t dotted = cols > panel_ ? DottedColumns(rows_) : 0;
  cols -= dotted;
  const std::vector<int64_t> widths = Widths(cols, (c_.panel > 0 && !computes) || CopiesB());
  RegisterTile tile(&access_, step_, lanes_, rows, widths);
  RegisterTile::Extra prefetch;
  tile.set_unroll(Knob(knobs_, "unroll", 0));
  tile.set_last_apart(a_direct_ && EndsInWord());
  if (c_.panel > 0 && !computes && cols == panel_ && t_.col_tiles > 1 && c_.m > rows_ &&
      Knob(knobs_, "prefetch", 1) != 0) {
    prefetch = [&](const PrimExpr& group, int64_t steps) {
      PrimExpr turn = group;
      if (image_) turn = turn + PrimExpr(run_) * Index(run_words_ / steps);
      return PrefetchPanel(tile_row, turn, steps);
    };
  }
  Array<Stmt> seq;
  if (image_) seq.push_back(EnterWindows(row, rows, &tile));
  // Of all k, where those of an image count from the beginning of a run.
  auto word = [&](const PrimExpr& k) {
    return image_ ? PrimExpr(run_) * Index(run_words_) + k : k;
  };
  Buffer b_row = FlatAccess::Scratch("b_row", tile.vectors() * lanes_, step_.b, "local");
  if (computes) {
    access_.UseAsIs(b_row);
    seq.push_back(tirx::AllocBuffer(b_row));
    tile.set_prepare([&](const PrimExpr& k) { return ComputeRowOfB(b_row, row, word(k), cols); });
  }
  Buffer starts = FlatAccess::Scratch("starts", tile.vectors() * lanes_, dtype_, "local");
  if (start_.defined()) {
    access_.UseAsIs(starts);
    seq.push_back(ComputeStarts(starts, row, cols));
  }
  if (step_.shifts_a || start_.defined()) {
    tile.set_init([&](size_t v) {
      const int64_t column = static_cast<int64_t>(v) * lanes_;
      PrimExpr start = step_.shifts_a ? StartOfSums(column, widths[v]) : PrimExpr();
      if (!start_.defined()) return start;
      PrimExpr term = BufferLoad(starts, {Consecutive(Index(column), widths[v])});
      return start.defined() ? start + term : term;
    });
  }
  auto load_a = [&](int64_t i, const PrimExpr& k) { return LoadA(row, i, k); };
  auto load_b = [&](size_t v, const PrimExpr& k) -> PrimExpr {
    const int64_t column = static_cast<int64_t>(v) * lanes_;
    if (!computes) return ColumnsOfB(column, word(k), widths[v]);
    return BufferLoad(b_row, {Consecutive(Index(column), widths[v])});
  };
  seq.push_back(tile.Sum(image_ ? run_words_ : c_.words, load_a, load_b, prefetch));
  seq.push_back(StoreTile(tile.acc(), row, rows, widths, cols));
  if (dotted > 0) seq.push_back(DotColumns(row, rows, dotted));
  return SeqStmt::Flatten(seq);
}

bool ContractionEmitter::UnrollsStores(int64_t stores) const {
  constexpr int64_t kMostSteps = 256;  // in all vectors of a tile
  return EpilogueSteps(epilogue_.value) * stores <= kMostSteps;
}

Stmt ContractionEmitter::StoreTile(const Buffer& acc, const Var& row, int64_t rows,
                                   const std::vector<int64_t>& widths, int64_t cols) {
  const int64_t vectors = static_cast<int64_t>(widths.size());
  auto store_row = [&](const Buffer& sums, const PrimExpr& i) {
    Array<Stmt> seq;
    for (int64_t v = 0; v < vectors; ++v) {
      const PrimExpr slot = access_.Simplify((i * Index(vectors) + Index(v)) * Index(lanes_));
      const int64_t valid = std::min(lanes_, cols - v * lanes_);
      seq.push_back(StoreVector(sums, slot, row, i, v * lanes_, valid));
    }
    return SeqStmt::Flatten(seq);
  };
  Array<Stmt> seq;
  if (UnrollsStores(rows * vectors)) {
    for (int64_t i = 0; i < rows; ++i) seq.push_back(store_row(acc, Index(i)));
    return SeqStmt::Flatten(seq);
  }
  // A long epilogue is compiled once: the sums leave their registers and a loop takes them up.
  Buffer sums = FlatAccess::Scratch("sums", rows * vectors * lanes_, dtype_, "local");
  access_.UseAsIs(sums);
  seq.push_back(tirx::AllocBuffer(sums));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t v = 0; v < vectors; ++v) {
      const PrimExpr slot = Index((i * vectors + v) * lanes_);
      const PrimExpr lanes = Consecutive(slot, widths[static_cast<size_t>(v)]);
      seq.push_back(BufferStore(sums, BufferLoad(acc, {lanes}), {lanes}));
    }
  }
  Var i = IndexVar("i");
  access_.Bind(i, rows);
  seq.push_back(Loop(i, rows, store_row(sums, i)));
  return SeqStmt::Flatten(seq);
}

Stmt ContractionEmitter::StoreVector(const Buffer& sums, const PrimExpr& slot, const Var& row,
                                     const PrimExpr& i, int64_t column, int64_t valid) {
  Var lane = IndexVar("lane");
  access_.Bind(lane, lanes_);
  PrimExpr sum = BufferLoad(sums, {access_.Simplify(slot + lane)});
  PrimExpr n = PrimExpr(tile_) * Index(panel_) + Index(column) + lane;
  PrimExpr m = access_.Simplify(PrimExpr(row) + i);
  if (c_.scale.defined()) sum = sum * Value(c_.scale, PrimExpr(), m, n);
  PrimExpr value = epilogue_.value.defined() ? Value(epilogue_.value, sum, m, n) : sum;
  const Buffer& output = epilogue_.stage->output;
  Stmt store =
      BufferStore(access_.Alias(output), value, {Position(output, epilogue_.indices, m, n)});
  return VectorLoop(lane, valid, store);
}

PrimExpr ContractionEmitter::Position(const Buffer& buffer, const Array<PrimExpr>& indices,
                                      const PrimExpr& m, const PrimExpr& column) {
  PrimExpr offset = access_.Offset(buffer, indices);
  Map<Var, PrimExpr> values = values_;
  if (auto c = access_.FusedCoefficient(offset, c_.rows)) {
    offset = Substitute(offset, Zeros(c_.rows)) + m * Index(*c);
  } else {
    for (const auto& [var, digit] : Digits(c_.rows, m)) values.Set(var, digit);
  }
  if (!c_.cols.empty()) values.Set(c_.cols[0].var, column);
  return access_.Simplify(Substitute(offset, values));
}

PrimExpr ContractionEmitter::Value(const PrimExpr& expr, const PrimExpr& sum, const PrimExpr& m,
                                   const PrimExpr& column) {
  class Rewriter : public ExprMutator {
   public:
    Rewriter(ContractionEmitter* self, const PrimExpr& sum, const PrimExpr& m,
             const PrimExpr& column)
        : self_(self), sum_(sum), m_(m), column_(column) {}

   private:
    Expr VisitExpr_(const BufferLoadNode* op) final {
      if (op->buffer.same_as(self_->anchor_.output)) return sum_;
      return BufferLoad(self_->access_.Alias(op->buffer),
                        {self_->Position(op->buffer, op->indices, m_, column_)});
    }
    Expr VisitExpr_(const VarNode* op) final {
      Var var = ffi::GetRef<Var>(op);
      if (auto row = Digits(self_->c_.rows, m_).Get(var)) return *row;
      if (!self_->c_.cols.empty() && self_->c_.cols[0].var.same_as(var)) return column_;
      auto it = self_->values_.find(var);
      return it == self_->values_.end() ? Expr(var) : Expr((*it).second);
    }
    ContractionEmitter* self_;
    const PrimExpr &sum_, &m_, &column_;
  };
  return PrimExpr(Rewriter(this, sum, m, column)(expr));
}

}  // namespace kernels
}  // namespace tvm
