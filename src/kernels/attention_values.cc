// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Exponentials of one block of keys times V: sums of rows of V, and the result.
#include <tvm/ir/expr_functor.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <algorithm>

#include "kernels/attention_emitter.h"
#include "kernels/contraction_plan.h"
#include "kernels/names.h"
#include "kernels/register_tile.h"

namespace tvm {
namespace kernels {

namespace {

const DataType kFloat = DataType::Float(32);

}  // namespace

Stmt AttentionEmitter::CopyValues(const Var& key0, int64_t keys) {
  const int64_t group = value_step_.group, columns = a_.columns();
  Var word = IndexVar("word");
  access_.Bind(word, std::max<int64_t>(1, keys / group));
  // Rows of a word are loaded as vectors and their lanes put side by side; a row past the last key
  // is zero.
  auto piece = [&](const PrimExpr& w, int64_t valid, const PrimExpr& col, int64_t width) {
    Array<PrimExpr> parts;
    for (int64_t j = 0; j < group; ++j) {
      PrimExpr key = PrimExpr(key0) + w * Index(group) + Index(j);
      parts.push_back(j < valid ? LoadValues(key, col, width)
                                : Splat(make_zero(value_step_.b), width));
    }
    PrimExpr at = access_.Simplify((w * Index(pitch_) + col) * Index(group));
    return BufferStore(v_block_, Interleaved(parts), {Consecutive(at, width * group)});
  };
  auto row = [&](const PrimExpr& w, int64_t valid) {
    Array<Stmt> seq;
    if (columns >= lanes_) {
      Var run = IndexVar("run");
      access_.Bind(run, columns / lanes_);
      seq.push_back(
          Loop(run, columns / lanes_, piece(w, valid, PrimExpr(run) * Index(lanes_), lanes_)));
    }
    if (columns % lanes_ != 0) {
      seq.push_back(piece(w, valid, Index(columns / lanes_ * lanes_), columns % lanes_));
    }
    return SeqStmt::Flatten(seq);
  };
  Array<Stmt> seq;
  if (keys >= group) seq.push_back(Loop(word, keys / group, row(word, group)));
  if (keys % group != 0) seq.push_back(row(Index(keys / group), keys % group));
  return SeqStmt::Flatten(seq);
}

PrimExpr AttentionEmitter::LoadValues(const PrimExpr& key, const PrimExpr& col, int64_t width) {
  PrimExpr load = At(a_.v, Index(0), key, col);
  const auto* node = load.as<BufferLoadNode>();
  if (width == 1) return cast(value_step_.b, load);
  load = BufferLoad(node->buffer,
                    {tirx::Ramp(node->indices[0], Index(*column_stride_), IntImm::Int32(width))});
  return cast(value_step_.b.with_lanes(static_cast<int>(width)), load);
}

Stmt AttentionEmitter::WeighValues(const AttentionPanel& panel, const Var& key0, int64_t keys) {
  const int64_t columns = a_.columns();
  const int64_t width = PanelColumns(panel.queries, columns, kFloat, target_);
  const int64_t rows = TileRows(panel.queries, width, kFloat, target_);
  auto all_rows = [&](const PrimExpr& col, int64_t valid) {
    Var tile = IndexVar("tile");
    access_.Bind(tile, std::max<int64_t>(1, panel.queries / rows));
    Array<Stmt> seq{
        Loop(tile, panel.queries / rows,
             ValueTile(panel, key0, keys, PrimExpr(tile) * Index(rows), rows, col, valid))};
    if (const int64_t rest = panel.queries % rows; rest != 0) {
      seq.push_back(ValueTile(panel, key0, keys, Index(panel.queries - rest), rest, col, valid));
    }
    return SeqStmt::Flatten(seq);
  };
  Array<Stmt> seq;
  if (columns >= width) {
    Var part = IndexVar("part");
    access_.Bind(part, columns / width);
    seq.push_back(Loop(part, columns / width, all_rows(PrimExpr(part) * Index(width), width)));
  }
  if (columns % width != 0) {
    seq.push_back(all_rows(Index(columns / width * width), columns % width));
  }
  return SeqStmt::Flatten(seq);
}

Stmt AttentionEmitter::ValueTile(const AttentionPanel& panel, const Var& key0, int64_t keys,
                                 const PrimExpr& first, int64_t rows, const PrimExpr& col,
                                 int64_t cols) {
  std::vector<int64_t> widths;
  for (int64_t at = 0; at < cols; at += lanes_) widths.push_back(std::min(lanes_, cols - at));
  RegisterTile tile(&access_, value_step_, lanes_, rows, widths);
  const int64_t group = value_step_.group;
  auto load_e = [&](int64_t i, const PrimExpr& word) {
    PrimExpr query = first + Index(i);
    PrimExpr at =
        plan_.few ? query * Index(score_pitch_) + word : word * Index(score_pitch_) + query;
    return BufferLoad(weights_, {Consecutive(access_.Simplify(at * Index(group)), group)});
  };
  auto load_v = [&](size_t v, const PrimExpr& word) {
    PrimExpr at = col + Index(static_cast<int64_t>(v) * lanes_);
    if (copies_v_) {
      PrimExpr place = access_.Simplify((word * Index(pitch_) + at) * Index(group));
      return PrimExpr(BufferLoad(v_block_, {Consecutive(place, widths[v] * group)}));
    }
    return LoadValues(PrimExpr(key0) + word, at, widths[v]);
  };
  Array<Stmt> seq{tile.Sum(KeyWords(keys), load_e, load_v)};
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t v = 0; v < tile.vectors(); ++v) {
      Var lane = IndexVar("lane");
      access_.Bind(lane, lanes_);
      PrimExpr query = first + Index(i), column = col + Index(v * lanes_) + lane;
      PrimExpr sum = BufferLoad(tile.acc(), {Index(tile.Slot(i, v)) + lane});
      PrimExpr scale = BufferLoad(scale_, {access_.Simplify(query)});
      Stmt store;
      if (Online()) {
        PrimExpr at = OutAt(panel, query, column);
        store = BufferStore(out_, BufferLoad(out_, {at}) * scale + sum, {at});
      } else {
        store = StoreResult(sum * scale, PrimExpr(panel.row) + query, column);
      }
      seq.push_back(VectorLoop(lane, widths[static_cast<size_t>(v)], store));
    }
  }
  return SeqStmt::Flatten(seq);
}

PrimExpr AttentionEmitter::OutAt(const AttentionPanel& panel, const PrimExpr& query,
                                 const PrimExpr& column) {
  PrimExpr row = PrimExpr(panel.slot) * Index(plan_.width) + query;
  return access_.Simplify(row * Index(pitch_) + column);
}

Stmt AttentionEmitter::StoreResult(const PrimExpr& result, const PrimExpr& row,
                                   const PrimExpr& column) {
  PrimExpr value = result;
  const Buffer& output = epilogue_.stage->output;
  if (epilogue_.value.defined()) {
    Var stand_in("result", kFloat);
    value = At(ReplaceLoads(epilogue_.value, anchor_.output, stand_in), row, Index(0), column);
    value = Substitute(value, Map<Var, PrimExpr>{{stand_in, result}});
  }
  PrimExpr at = At(BufferLoad(output, epilogue_.indices), row, Index(0), column);
  const auto* place = at.as<BufferLoadNode>();
  return BufferStore(place->buffer, value, place->indices);
}

}  // namespace kernels
}  // namespace tvm
