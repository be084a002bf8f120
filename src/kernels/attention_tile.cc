// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "kernels/attention_tile.h"

#include <tvm/ir/expr_functor.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>

#include <algorithm>

#include "kernels/names.h"
#include "kernels/register_tile.h"
#include "kernels/vector_transpose.h"

namespace tvm {
namespace kernels {

namespace {

const DataType kFloat = DataType::Float(32);

DataType VectorOf(int64_t lanes) { return kFloat.with_lanes(static_cast<int>(lanes)); }

/// By how much the position of a scalar load grows with `var`.
std::optional<int64_t> StepOf(FlatAccess* access, const PrimExpr& load, const Var& var) {
  const auto* node = load.as<BufferLoadNode>();
  return node == nullptr ? std::nullopt : access->Coefficient(node->indices[0], var);
}

/// The vector that begins where a scalar load is, converted.
PrimExpr VectorFrom(const PrimExpr& load, int64_t lanes, DataType dtype) {
  const auto* node = load.as<BufferLoadNode>();
  PrimExpr value = BufferLoad(node->buffer, {Consecutive(node->indices[0], lanes)});
  return cast(dtype.with_lanes(static_cast<int>(lanes)), value);
}

PrimExpr Reinterpret(DataType dtype, const PrimExpr& value) {
  if (value.dtype() == dtype) return value;
  return tirx::CallBuiltin(dtype, tirx::builtin::reinterpret(), {value});
}

}  // namespace

Stmt AttentionPacker::Pack(const AttentionPanel& panel, const PrimExpr& base,
                           const Load& load) const {
  Var step = IndexVar("step");
  access->Bind(step, depth);
  const bool in_rows = StepOf(access, load(panel.row, step), step) == 1;
  const int64_t words = depth / group;
  const int64_t tiles = in_rows && lanes >= 4 && IsPowerOfTwo(lanes) ? words / lanes : 0;
  const int64_t whole = tiles > 0 ? panel.queries / lanes * lanes : 0;
  Array<Stmt> seq;
  if (whole > 0) seq.push_back(Squares(panel, base, load, whole, tiles));
  const int64_t places = CeilDiv(panel.queries, lanes) * lanes;
  if (whole > 0) seq.push_back(Rest(panel, base, load, 0, whole, tiles * lanes));
  seq.push_back(Rest(panel, base, load, whole, places, 0));
  return SeqStmt::Flatten(seq);
}

Stmt AttentionPacker::Squares(const AttentionPanel& panel, const PrimExpr& base, const Load& load,
                              int64_t whole, int64_t tiles) const {
  const DataType element = packed.dtype();
  const DataType words = (group == 1 ? element : DataType::UInt(element.bits() * group))
                             .with_lanes(static_cast<int>(lanes));
  Var tile = IndexVar("tile"), part = IndexVar("part");
  access->Bind(tile, tiles);
  access->Bind(part, whole / lanes);
  Array<Stmt> body;
  std::vector<Var> rows;
  for (int64_t i = 0; i < lanes; ++i) {
    PrimExpr row = PrimExpr(panel.row) + PrimExpr(part) * Index(lanes) + Index(i);
    PrimExpr first = load(row, PrimExpr(tile) * Index(lanes * group));
    rows.emplace_back("q", words);
    body.push_back(
        Bind(rows.back(), Reinterpret(words, VectorFrom(first, lanes * group, element))));
  }
  TransposeVectors(&rows, &body);
  for (int64_t i = 0; i < lanes; ++i) {
    PrimExpr at =
        (PrimExpr(tile) * Index(lanes) + Index(i)) * Index(width) + PrimExpr(part) * Index(lanes);
    at = access->Simplify(base + at * Index(group));
    PrimExpr value = Reinterpret(element.with_lanes(static_cast<int>(lanes * group)),
                                 PrimExpr(rows[static_cast<size_t>(i)]));
    body.push_back(BufferStore(packed, value, {Consecutive(at, lanes * group)}));
  }
  return Loop(part, whole / lanes, Loop(tile, tiles, SeqStmt::Flatten(body)));
}

Stmt AttentionPacker::Rest(const AttentionPanel& panel, const PrimExpr& base, const Load& load,
                           int64_t from, int64_t to, int64_t first_word) const {
  const int64_t words = CeilDiv(depth, group);
  if (from >= to || first_word >= words) return SeqStmt::Flatten(Array<Stmt>{});
  /// Element j of a word of all queries; those that do not exist are zero.
  auto element = [&](const PrimExpr& word, int64_t j, bool exists) {
    Array<Stmt> seq;
    for (int64_t start = from; start < to; start += lanes) {
      const int64_t valid = exists ? std::clamp<int64_t>(panel.queries - start, 0, lanes) : 0;
      Var lane = IndexVar("lane");
      access->Bind(lane, lanes);
      PrimExpr query = Index(start) + lane;
      PrimExpr at =
          access->Simplify(base + (word * Index(width) + query) * Index(group) + Index(j));
      if (valid < lanes) {
        seq.push_back(
            VectorLoop(lane, lanes, BufferStore(packed, make_zero(packed.dtype()), {at})));
      }
      if (valid > 0) {
        PrimExpr value = load(PrimExpr(panel.row) + query, word * Index(group) + Index(j));
        value = cast(packed.dtype(), value);
        seq.push_back(VectorLoop(lane, valid, BufferStore(packed, value, {at})));
      }
    }
    return SeqStmt::Flatten(seq);
  };
  auto all = [&](const PrimExpr& word, int64_t valid) {
    Array<Stmt> seq;
    for (int64_t j = 0; j < group; ++j) seq.push_back(element(word, j, j < valid));
    return SeqStmt::Flatten(seq);
  };
  Array<Stmt> seq;
  const int64_t count = depth / group - first_word;
  if (count > 0) {
    Var k = IndexVar("word");
    access->Bind(k, count);
    seq.push_back(Loop(k, count, all(PrimExpr(k) + Index(first_word), group)));
  }
  if (depth % group != 0) seq.push_back(all(Index(words - 1), depth % group));
  return SeqStmt::Flatten(seq);
}

AttentionDots::AttentionDots(FlatAccess* access, int64_t lanes, int64_t count, int64_t depth)
    : access_(access), lanes_(lanes), count_(count), depth_(depth) {
  result_ = FlatAccess::Scratch("dots", lanes, kFloat, "local");
  access_->UseAsIs(result_);
}

Stmt AttentionDots::Products(const Buffer& acc, const LoadQ& load_q, const LoadK& load_k,
                             const PrimExpr& step, int64_t skip) {
  const DataType type = VectorOf(lanes_);
  auto vector = [&](const PrimExpr& first) {
    PrimExpr value = VectorFrom(first, lanes_, kFloat);
    if (skip == 0) return value;
    return ShuffleTwo(Splat(make_zero(kFloat), lanes_), value, lanes_,
                      [&](int64_t lane) { return lane < skip ? lane : lanes_ + lane; });
  };
  Var q("q", type);
  Array<Stmt> seq{Bind(q, vector(load_q(step)))};
  for (int64_t key = 0; key < count_; ++key) {
    const PrimExpr slot = Consecutive(Index(key * lanes_), lanes_);
    PrimExpr sum =
        tirx::CallBuiltin(type, tirx::builtin::fma(),
                          {PrimExpr(q), vector(load_k(key, step)), BufferLoad(acc, {slot})});
    seq.push_back(BufferStore(acc, sum, {slot}));
  }
  return SeqStmt::Flatten(seq);
}

Stmt AttentionDots::Sum(const LoadQ& load_q, const LoadK& load_k) {
  Array<Stmt> seq{tirx::AllocBuffer(result_)};
  PrimExpr zero = Splat(make_zero(kFloat), lanes_);
  Var step = IndexVar("step");
  access_->Bind(step, depth_);
  const bool in_rows =
      StepOf(access_, load_q(step), step) == 1 && StepOf(access_, load_k(0, step), step) == 1;
  if (in_rows && IsPowerOfTwo(lanes_) && depth_ >= lanes_) {
    Buffer acc = FlatAccess::Scratch("acc", count_ * lanes_, kFloat, "local");
    access_->UseAsIs(acc);
    seq.push_back(tirx::AllocBuffer(acc));
    for (int64_t key = 0; key < count_; ++key) {
      seq.push_back(BufferStore(acc, zero, {Consecutive(Index(key * lanes_), lanes_)}));
    }
    const int64_t whole = depth_ / lanes_, rest = depth_ % lanes_;
    Var run = IndexVar("run");
    access_->Bind(run, whole);
    seq.push_back(Loop(run, whole, Products(acc, load_q, load_k, run * Index(lanes_), 0)));
    // The last vector reaches back over what was summed already, as zeros of both operands.
    if (rest > 0) {
      seq.push_back(Products(acc, load_q, load_k, Index(depth_ - lanes_), lanes_ - rest));
    }
    std::vector<PrimExpr> sums;
    for (int64_t key = 0; key < count_; ++key) {
      sums.push_back(BufferLoad(acc, {Consecutive(Index(key * lanes_), lanes_)}));
    }
    PrimExpr all = SumsOfLanes(std::move(sums), &seq);
    seq.push_back(BufferStore(result_, all, {Consecutive(Index(0), lanes_)}));
    return SeqStmt::Flatten(seq);
  }
  seq.push_back(BufferStore(result_, zero, {Consecutive(Index(0), lanes_)}));
  Array<Stmt> body;
  for (int64_t key = 0; key < count_; ++key) {
    PrimExpr sum = BufferLoad(result_, {Index(key)}) +
                   cast(kFloat, load_q(step)) * cast(kFloat, load_k(key, step));
    body.push_back(BufferStore(result_, sum, {Index(key)}));
  }
  seq.push_back(Loop(step, depth_, SeqStmt::Flatten(body)));
  return SeqStmt::Flatten(seq);
}

}  // namespace kernels
}  // namespace tvm
