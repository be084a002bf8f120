// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Few queries: scores of one block of keys and their exponentials. Vectors run along the head
/// size, then along the keys.
#include <tvm/tirx/op.h>

#include <algorithm>
#include <limits>

#include "kernels/attention_emitter.h"
#include "kernels/names.h"

namespace tvm {
namespace kernels {

namespace {

const DataType kFloat = DataType::Float(32);

}  // namespace

Stmt AttentionEmitter::FewScores(const AttentionPanel& panel, const Var& key0, int64_t keys) {
  Var tile = IndexVar("tile");
  access_.Bind(tile, std::max<int64_t>(1, keys / lanes_));
  Array<Stmt> seq;
  if (keys >= lanes_) {
    seq.push_back(Loop(tile, keys / lanes_,
                       FewScoreTile(panel, key0, PrimExpr(tile) * Index(lanes_), lanes_)));
  }
  if (keys % lanes_ != 0) {
    seq.push_back(FewScoreTile(panel, key0, Index(keys / lanes_ * lanes_), keys % lanes_));
  }
  for (int64_t r = 0; r < panel.queries; ++r) {
    Buffer most = FlatAccess::Scratch("most", lanes_, kFloat, "local");
    access_.UseAsIs(most);
    seq.push_back(tirx::AllocBuffer(most));
    seq.push_back(ReduceKeys(
        most, keys, FloatImm(kFloat, std::numeric_limits<float>::lowest()),
        [&](const PrimExpr& at) { return BufferLoad(scores_, {Index(r * score_pitch_) + at}); }));
    for (int64_t i = 0; i < lanes_; ++i) {
      seq.push_back(RaiseMax(StateAt(panel, Index(r)), BufferLoad(most, {Index(i)})));
    }
  }
  return SeqStmt::Flatten(seq);
}

Stmt AttentionEmitter::ReduceKeys(const Buffer& into, int64_t keys, const PrimExpr& init,
                                  const std::function<PrimExpr(const PrimExpr&)>& value) {
  Var lane = IndexVar("lane"), run = IndexVar("run");
  Array<Stmt> seq{VectorLoop(lane, lanes_, BufferStore(into, init, {PrimExpr(lane)}))};
  auto piece = [&](const PrimExpr& start, int64_t width) {
    PrimExpr next = max(BufferLoad(into, {PrimExpr(lane)}), value(start + lane));
    return VectorLoop(lane, width, BufferStore(into, next, {PrimExpr(lane)}));
  };
  if (keys >= lanes_) {
    seq.push_back(Loop(run, keys / lanes_, piece(PrimExpr(run) * Index(lanes_), lanes_)));
  }
  if (keys % lanes_ != 0) seq.push_back(piece(Index(keys / lanes_ * lanes_), keys % lanes_));
  return SeqStmt::Flatten(seq);
}

Stmt AttentionEmitter::FewScoreTile(const AttentionPanel& panel, const Var& key0,
                                    const PrimExpr& start, int64_t count) {
  Array<Stmt> seq;
  for (int64_t r = 0; r < panel.queries; ++r) {
    PrimExpr row = PrimExpr(panel.row) + Index(r);
    AttentionDots dots(&access_, lanes_, count, Product(a_.depth));
    seq.push_back(dots.Sum([&](const PrimExpr& step) { return AtStep(a_.q, row, Index(0), step); },
                           [&](int64_t key, const PrimExpr& step) {
                             return AtStep(a_.k, Index(0), PrimExpr(key0) + start + Index(key),
                                           step);
                           }));
    Var lane = IndexVar("lane");
    access_.Bind(lane, lanes_);
    PrimExpr product = BufferLoad(dots.result(), {PrimExpr(lane)});
    PrimExpr at = access_.Simplify(Index(r * score_pitch_) + start + lane);
    PrimExpr score = Score(product, row, PrimExpr(key0) + start + lane);
    seq.push_back(VectorLoop(lane, count, BufferStore(scores_, score, {at})));
  }
  return SeqStmt::Flatten(seq);
}

Stmt AttentionEmitter::FewExponentials(const AttentionPanel& panel, int64_t keys) {
  Array<Stmt> seq;
  for (int64_t r = 0; r < panel.queries; ++r) {
    Buffer sums = FlatAccess::Scratch("sums", lanes_, kFloat, "local");
    access_.UseAsIs(sums);
    seq.push_back(tirx::AllocBuffer(sums));
    PrimExpr state = StateAt(panel, Index(r));
    Var lane = IndexVar("lane"), run = IndexVar("run");
    seq.push_back(VectorLoop(lane, lanes_, BufferStore(sums, make_zero(kFloat), {PrimExpr(lane)})));
    auto piece = [&](const PrimExpr& start, int64_t width) {
      PrimExpr at = Index(r * score_pitch_) + start + lane;
      PrimExpr e = exp(BufferLoad(scores_, {at}) - BufferLoad(max_, {state}));
      PrimExpr sum = BufferLoad(sums, {PrimExpr(lane)}) + BufferLoad(scores_, {at});
      return VectorLoop(lane, width,
                        SeqStmt::Flatten(BufferStore(scores_, e, {at}),
                                         BufferStore(sums, sum, {PrimExpr(lane)})));
    };
    if (keys >= lanes_) {
      seq.push_back(Loop(run, keys / lanes_, piece(PrimExpr(run) * Index(lanes_), lanes_)));
    }
    if (keys % lanes_ != 0) seq.push_back(piece(Index(keys / lanes_ * lanes_), keys % lanes_));
    for (int64_t i = 0; i < lanes_; ++i) {
      PrimExpr sum = BufferLoad(sum_, {state}) + BufferLoad(sums, {Index(i)});
      seq.push_back(BufferStore(sum_, sum, {state}));
    }
  }
  return SeqStmt::Flatten(seq);
}

}  // namespace kernels
}  // namespace tvm
