// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "kernels/attention_tile.h"

#include <tvm/ir/expr_functor.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>

#include <algorithm>

#include "kernels/register_tile.h"

namespace tvm {
namespace kernels {

using ffi::Array;
using tirx::Bind;
using tirx::Buffer;
using tirx::BufferLoad;
using tirx::BufferLoadNode;
using tirx::BufferStore;
using tirx::SeqStmt;
using tirx::Stmt;

namespace {

const DataType kFloat = DataType::Float(32);

DataType VectorOf(int64_t lanes) { return kFloat.with_lanes(static_cast<int>(lanes)); }

/// Lanes from the concatenation of a and b; lane i is `pick(i)`.
PrimExpr ShuffleTwo(const PrimExpr& a, const PrimExpr& b, int64_t lanes,
                    const std::function<int64_t(int64_t)>& pick) {
  Array<PrimExpr> indices;
  for (int64_t i = 0; i < lanes; ++i) indices.push_back(IntImm::Int32(pick(i)));
  return tirx::Shuffle({a, b}, indices);
}

/// By how much the position of a scalar load grows with `var`.
std::optional<int64_t> StepOf(FlatAccess* access, const PrimExpr& load, const Var& var) {
  const auto* node = load.as<BufferLoadNode>();
  return node == nullptr ? std::nullopt : access->Coefficient(node->indices[0], var);
}

/// The vector that begins where a scalar load is.
PrimExpr VectorFrom(const PrimExpr& load, int64_t lanes) {
  const auto* node = load.as<BufferLoadNode>();
  return BufferLoad(node->buffer, {Consecutive(node->indices[0], lanes)});
}

bool IsPowerOfTwo(int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

/// Appends the statements that turn rows into columns; `rows` are then the columns. Each round
/// merges rows i and i + n/2 lane by lane, which moves one bit of the lane number into the row's.
void Transpose(std::vector<Var>* rows, int64_t lanes, Array<Stmt>* seq) {
  for (int64_t round = 1; round < lanes; round *= 2) {
    std::vector<Var> next;
    for (int64_t i = 0; i < lanes / 2; ++i) {
      PrimExpr a = rows->at(static_cast<size_t>(i)),
               b = rows->at(static_cast<size_t>(i + lanes / 2));
      for (int64_t half : {int64_t{0}, lanes / 2}) {
        next.emplace_back("t", VectorOf(lanes));
        seq->push_back(Bind(next.back(), ShuffleTwo(a, b, lanes, [&](int64_t lane) {
                              return lane / 2 + half + (lane % 2) * lanes;
                            })));
      }
    }
    *rows = std::move(next);
  }
}

}  // namespace

Stmt AttentionPacker::Pack(const AttentionPanel& panel, const PrimExpr& base,
                           const Load& load) const {
  Var step = IndexVar("step");
  access->Bind(step, depth);
  Array<Stmt> seq;
  const bool in_rows = StepOf(access, load(panel.row, step), step) == 1;
  const int64_t tiles = in_rows && lanes >= 4 && IsPowerOfTwo(lanes) ? depth / lanes : 0;
  const int64_t whole = panel.queries / lanes * lanes;
  if (tiles > 0 && whole > 0) {
    Var tile = IndexVar("tile"), part = IndexVar("part");
    access->Bind(tile, tiles);
    access->Bind(part, whole / lanes);
    Array<Stmt> body;
    std::vector<Var> rows;
    for (int64_t i = 0; i < lanes; ++i) {
      PrimExpr row = PrimExpr(panel.row) + PrimExpr(part) * Index(lanes) + Index(i);
      rows.emplace_back("q", VectorOf(lanes));
      body.push_back(
          Bind(rows.back(), VectorFrom(load(row, PrimExpr(tile) * Index(lanes)), lanes)));
    }
    Transpose(&rows, lanes, &body);
    for (int64_t i = 0; i < lanes; ++i) {
      PrimExpr at = base + (PrimExpr(tile) * Index(lanes) + Index(i)) * Index(width) +
                    PrimExpr(part) * Index(lanes);
      body.push_back(BufferStore(packed, PrimExpr(rows[static_cast<size_t>(i)]),
                                 {Consecutive(access->Simplify(at), lanes)}));
    }
    seq.push_back(Loop(part, whole / lanes, Loop(tile, tiles, SeqStmt::Flatten(body))));
  }
  // What no whole tile covers, lane by lane.
  auto rest = [&](int64_t from, int64_t to, int64_t first_step) {
    if (from >= to || first_step >= depth) return;
    Var k = IndexVar("step");
    access->Bind(k, depth - first_step);
    PrimExpr at = PrimExpr(k) + Index(first_step);
    auto place = [&](const PrimExpr& query) {
      return access->Simplify(base + at * Index(width) + query);
    };
    Array<Stmt> body;
    for (int64_t start = from; start < to; start += lanes) {
      const int64_t valid = std::clamp<int64_t>(panel.queries - start, 0, lanes);
      Var lane = IndexVar("lane");
      access->Bind(lane, lanes);
      PrimExpr query = Index(start) + lane;
      if (valid < lanes) {
        body.push_back(
            VectorLoop(lane, lanes, BufferStore(packed, make_zero(kFloat), {place(query)})));
      }
      if (valid > 0) {
        PrimExpr value = load(PrimExpr(panel.row) + query, at);
        body.push_back(VectorLoop(lane, valid, BufferStore(packed, value, {place(query)})));
      }
    }
    seq.push_back(Loop(k, depth - first_step, SeqStmt::Flatten(body)));
  };
  const int64_t places = (panel.queries + lanes - 1) / lanes * lanes;
  rest(0, tiles > 0 ? whole : 0, tiles * lanes);
  rest(tiles > 0 ? whole : 0, places, 0);
  return SeqStmt::Flatten(seq);
}

AttentionDots::AttentionDots(FlatAccess* access, int64_t lanes, int64_t count, int64_t depth)
    : access_(access), lanes_(lanes), count_(count), depth_(depth) {
  result_ = FlatAccess::Scratch("dots", lanes, kFloat, "local");
  access_->UseAsIs(result_);
}

Stmt AttentionDots::Sum(const LoadQ& load_q, const LoadK& load_k) {
  Array<Stmt> seq{tirx::AllocBuffer(result_)};
  Var probe = IndexVar("step");
  access_->Bind(probe, depth_);
  const bool in_rows =
      StepOf(access_, load_q(probe), probe) == 1 && StepOf(access_, load_k(0, probe), probe) == 1;
  const int64_t whole = in_rows && IsPowerOfTwo(lanes_) ? depth_ / lanes_ : 0;
  Buffer acc = FlatAccess::Scratch("acc", count_ * lanes_, kFloat, "local");
  access_->UseAsIs(acc);
  PrimExpr zero = Splat(make_zero(kFloat), lanes_);
  if (whole == 0) {
    seq.push_back(BufferStore(result_, zero, {Consecutive(Index(0), lanes_)}));
  } else {
    seq.push_back(tirx::AllocBuffer(acc));
    auto slot = [&](int64_t key) { return Consecutive(Index(key * lanes_), lanes_); };
    for (int64_t key = 0; key < count_; ++key) seq.push_back(BufferStore(acc, zero, {slot(key)}));
    Var run = IndexVar("run"), q("q", VectorOf(lanes_));
    access_->Bind(run, whole);
    PrimExpr step = PrimExpr(run) * Index(lanes_);
    Array<Stmt> body{Bind(q, VectorFrom(load_q(step), lanes_))};
    for (int64_t key = 0; key < count_; ++key) {
      PrimExpr sum = tirx::CallBuiltin(
          VectorOf(lanes_), tirx::builtin::fma(),
          {PrimExpr(q), VectorFrom(load_k(key, step), lanes_), BufferLoad(acc, {slot(key)})});
      body.push_back(BufferStore(acc, sum, {slot(key)}));
    }
    seq.push_back(Loop(run, whole, SeqStmt::Flatten(body)));
    // Neighbouring lanes are added up and vectors joined in pairs, until one vector has all sums.
    std::vector<PrimExpr> sums;
    for (int64_t key = 0; key < lanes_; ++key) {
      sums.push_back(key < count_ ? PrimExpr(BufferLoad(acc, {slot(key)})) : zero);
    }
    while (sums.size() > 1) {
      std::vector<PrimExpr> next;
      for (size_t i = 0; i < sums.size(); i += 2) {
        Var a("a", VectorOf(lanes_)), b("b", VectorOf(lanes_)), sum("sum", VectorOf(lanes_));
        seq.push_back(Bind(a, sums[i]));
        seq.push_back(Bind(b, sums[i + 1]));
        auto lanes = [&](int64_t odd) {
          return ShuffleTwo(a, b, lanes_, [&](int64_t lane) { return 2 * lane + odd; });
        };
        seq.push_back(Bind(sum, lanes(0) + lanes(1)));
        next.push_back(sum);
      }
      sums = std::move(next);
    }
    seq.push_back(BufferStore(result_, sums[0], {Consecutive(Index(0), lanes_)}));
  }
  if (const int64_t rest = depth_ - whole * lanes_; rest > 0) {
    Var k = IndexVar("step");
    access_->Bind(k, rest);
    PrimExpr step = PrimExpr(k) + Index(whole * lanes_);
    Array<Stmt> body;
    for (int64_t key = 0; key < count_; ++key) {
      PrimExpr sum = BufferLoad(result_, {Index(key)}) + load_q(step) * load_k(key, step);
      body.push_back(BufferStore(result_, sum, {Index(key)}));
    }
    seq.push_back(Loop(k, rest, SeqStmt::Flatten(body)));
  }
  return SeqStmt::Flatten(seq);
}

}  // namespace kernels
}  // namespace tvm
