// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Many queries: scores of one block of keys with one panel of queries, and their exponentials.
/// Vectors run along the queries.
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

void AttentionEmitter::TurnMasks() {
  std::vector<PrimExpr> loads;
  PostOrderVisitExpr(a_.score, [&](const Expr& node) {
    const auto* load = node.as<BufferLoadNode>();
    if (load == nullptr || load->dtype() != kFloat || a_.rows.empty()) return;
    PrimExpr at = access_.Offset(load->buffer, load->indices);
    auto by_row = access_.Coefficient(at, a_.rows[0].var);
    auto by_key = access_.Coefficient(at, a_.key.var);
    if (by_row && *by_row > 1 && by_key == 1) loads.push_back(ffi::GetRef<PrimExpr>(load));
  });
  for (const PrimExpr& load : loads) {
    const Buffer& buffer = load.as<BufferLoadNode>()->buffer;
    const bool known = std::any_of(turned_.begin(), turned_.end(), [&](const TurnedMask& t) {
      return t.load.as<BufferLoadNode>()->buffer.same_as(buffer);
    });
    if (known) continue;  // other reads of the same buffer stay as they are
    turned_.push_back({load, Var("mask", kFloat), Buffer()});
    a_.score = ReplaceEqual(a_.score, load, turned_.back().value);
  }
}

Stmt AttentionEmitter::RaiseMax(const PrimExpr& at, const PrimExpr& value) {
  return BufferStore(max_, max(BufferLoad(max_, {at}), value), {at});
}

PrimExpr AttentionEmitter::Score(const PrimExpr& product, const PrimExpr& row,
                                 const PrimExpr& key) {
  PrimExpr score = At(a_.score, row, key);
  return Substitute(score, Map<Var, PrimExpr>{{a_.product, product}});
}

Stmt AttentionEmitter::CopyKeys(const Var& key0, int64_t keys) {
  const int64_t depth = Product(a_.depth), pitch = DepthWords() * score_step_.group;
  Var key = IndexVar("key");
  Iter step{IndexVar("i"), depth};
  access_.Bind(key, keys);
  access_.Bind(step.var, depth);
  PrimExpr row = PrimExpr(key) * Index(pitch);
  PrimExpr value = cast(score_step_.a, AtStep(a_.k, Index(0), PrimExpr(key0) + key, step.var));
  Array<Stmt> body{
      VectorRun(step, lanes_ * score_step_.group, BufferStore(k_block_, value, {row + step.var}))};
  for (int64_t i = depth; i < pitch; ++i) {
    body.push_back(BufferStore(k_block_, make_zero(score_step_.a), {row + Index(i)}));
  }
  return Loop(key, keys, SeqStmt::Flatten(body));
}

Stmt AttentionEmitter::TurnMask(const TurnedMask& mask, const AttentionPanel& panel,
                                const Var& key0, int64_t keys) {
  AttentionPacker packer{&access_, lanes_, plan_.width, keys, 1, mask.turned};
  return packer.Pack(panel, Index(0), [&](const PrimExpr& row, const PrimExpr& key) {
    return At(mask.load, row, PrimExpr(key0) + key);
  });
}

Stmt AttentionEmitter::ManyScores(const AttentionPanel& panel, const Var& key0, int64_t keys) {
  const int64_t most = TileRows(keys, plan_.width, kFloat, target_);
  Var tile = IndexVar("tile");
  access_.Bind(tile, std::max<int64_t>(1, keys / most));
  Array<Stmt> seq;
  for (const TurnedMask& mask : turned_) seq.push_back(TurnMask(mask, panel, key0, keys));
  seq.push_back(
      Loop(tile, keys / most, ManyScoreTile(panel, key0, PrimExpr(tile) * Index(most), most)));
  if (keys % most != 0) {
    seq.push_back(ManyScoreTile(panel, key0, Index(keys / most * most), keys % most));
  }
  return SeqStmt::Flatten(seq);
}

PrimExpr AttentionEmitter::LoadKey(const PrimExpr& key0, const PrimExpr& key,
                                   const PrimExpr& word) {
  PrimExpr step = word * Index(score_step_.group);
  if (copies_k_) {
    PrimExpr at = access_.Simplify(key * Index(DepthWords() * score_step_.group) + step);
    return BufferLoad(k_block_, {Consecutive(at, score_step_.group)});
  }
  PrimExpr element = AtStep(a_.k, Index(0), key0 + key, step);
  const auto* load = element.as<BufferLoadNode>();
  if (score_step_.group == 1) return cast(score_step_.a, element);
  return BufferLoad(load->buffer, {Consecutive(load->indices[0], score_step_.group)});
}

Stmt AttentionEmitter::ManyScoreTile(const AttentionPanel& panel, const Var& key0,
                                     const PrimExpr& start, int64_t rows) {
  const int64_t vectors = CeilDiv(panel.queries, lanes_);
  std::vector<int64_t> widths(static_cast<size_t>(vectors), lanes_);
  RegisterTile tile(&access_, score_step_, lanes_, rows, widths);
  PrimExpr packed = PrimExpr(panel.slot) * Index(plan_.width * DepthWords());
  auto load_k = [&](int64_t i, const PrimExpr& word) {
    return LoadKey(key0, start + Index(i), word);
  };
  auto load_q = [&](size_t v, const PrimExpr& word) {
    PrimExpr at = packed + word * Index(plan_.width) + Index(static_cast<int64_t>(v) * lanes_);
    at = access_.Simplify(at * Index(score_step_.group));
    return BufferLoad(packed_q_, {Consecutive(at, lanes_ * score_step_.group)});
  };
  Array<Stmt> seq{tile.Sum(DepthWords(), load_k, load_q)};
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t v = 0; v < vectors; ++v) {
      seq.push_back(
          StoreScores(panel, key0, start + Index(i), v * lanes_, tile.acc(), tile.Slot(i, v)));
    }
  }
  return SeqStmt::Flatten(seq);
}

Stmt AttentionEmitter::StoreScores(const AttentionPanel& panel, const Var& key0,
                                   const PrimExpr& key, int64_t query, const Buffer& products,
                                   int64_t slot) {
  const int64_t valid = std::min(lanes_, panel.queries - query);
  auto store = [&](int64_t width, bool real) {
    Var lane = IndexVar("lane");
    access_.Bind(lane, lanes_);
    PrimExpr place = Index(query) + lane;
    PrimExpr product = BufferLoad(products, {Index(slot) + lane});
    PrimExpr at = access_.Simplify(key * Index(plan_.width) + place);
    PrimExpr value =
        real ? Score(product, PrimExpr(panel.row) + place, PrimExpr(key0) + key) : product;
    for (const TurnedMask& mask : turned_) {
      Map<Var, PrimExpr> turned{{mask.value, BufferLoad(mask.turned, {at})}};
      value = Substitute(value, turned);
    }
    Stmt body = BufferStore(scores_, value, {at});
    if (real) {
      Stmt raise = RaiseMax(StateAt(panel, place), BufferLoad(scores_, {at}));
      body = SeqStmt::Flatten(body, raise);
    }
    return VectorLoop(lane, width, body);
  };
  Array<Stmt> seq;
  // Places past the last query must hold numbers: they run along in every vector.
  if (valid < lanes_) seq.push_back(store(lanes_, false));
  seq.push_back(store(valid, true));
  return SeqStmt::Flatten(seq);
}

Stmt AttentionEmitter::ManyExponentials(const AttentionPanel& panel, int64_t keys) {
  const int64_t group = value_step_.group;
  Var key = IndexVar("key");
  access_.Bind(key, std::max<int64_t>(1, keys / group));
  if (group > 1) {
    Array<Stmt> seq;
    if (keys >= group) seq.push_back(Loop(key, keys / group, ExponentialWord(panel, key, group)));
    if (keys % group != 0) {
      seq.push_back(ExponentialWord(panel, Index(keys / group), keys % group));
    }
    return SeqStmt::Flatten(seq);
  }
  Stmt body = OverWidth(Places(panel.queries), [&](const PrimExpr& i) {
    PrimExpr at = PrimExpr(key) * Index(plan_.width) + i, state = StateAt(panel, i);
    PrimExpr e = exp(BufferLoad(scores_, {at}) - BufferLoad(max_, {state}));
    return SeqStmt::Flatten(
        BufferStore(scores_, e, {at}),
        BufferStore(sum_, BufferLoad(sum_, {state}) + BufferLoad(scores_, {at}), {state}));
  });
  return Loop(key, keys, body);
}

Stmt AttentionEmitter::ExponentialWord(const AttentionPanel& panel, const PrimExpr& word,
                                       int64_t valid) {
  const int64_t group = value_step_.group;
  const DataType wide = kFloat.with_lanes(static_cast<int>(lanes_));
  const DataType narrow = value_step_.a.with_lanes(static_cast<int>(lanes_));
  Array<Stmt> seq;
  for (int64_t query = 0; query < Places(panel.queries); query += lanes_) {
    PrimExpr state = Consecutive(StateAt(panel, Index(query)), lanes_);
    Array<PrimExpr> parts;
    for (int64_t j = 0; j < group; ++j) {
      if (j >= valid) {
        parts.push_back(Splat(make_zero(value_step_.a), lanes_));
        continue;
      }
      PrimExpr at = (word * Index(group) + Index(j)) * Index(plan_.width) + Index(query);
      PrimExpr score = BufferLoad(scores_, {Consecutive(access_.Simplify(at), lanes_)});
      Var e("e", narrow);
      seq.push_back(Bind(e, cast(narrow, exp(score - BufferLoad(max_, {state})))));
      // The sum of what multiplies the values: its rounding then cancels where one key dominates.
      seq.push_back(
          BufferStore(sum_, BufferLoad(sum_, {state}) + cast(wide, PrimExpr(e)), {state}));
      parts.push_back(e);
    }
    PrimExpr at = access_.Simplify((word * Index(plan_.width) + Index(query)) * Index(group));
    seq.push_back(BufferStore(weights_, Interleaved(parts), {Consecutive(at, lanes_ * group)}));
  }
  return SeqStmt::Flatten(seq);
}

}  // namespace kernels
}  // namespace tvm
