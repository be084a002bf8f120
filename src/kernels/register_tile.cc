// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "kernels/register_tile.h"

#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <algorithm>
#include <utility>

#include "kernels/names.h"

namespace tvm {
namespace kernels {

PrimExpr Consecutive(const PrimExpr& offset, int64_t width) {
  if (width == 1) return offset;
  return tirx::Ramp(offset, Index(1), IntImm::Int32(width));
}

PrimExpr Splat(const PrimExpr& value, int64_t width) {
  return width == 1 ? value : PrimExpr(tirx::Broadcast(value, IntImm::Int32(width)));
}

PrimExpr Interleaved(const Array<PrimExpr>& vectors) {
  if (vectors.size() == 1) return vectors[0];
  const int lanes = vectors[0].dtype().lanes(), count = static_cast<int>(vectors.size());
  Array<PrimExpr> picks;
  for (int i = 0; i < lanes; ++i) {
    for (int j = 0; j < count; ++j) picks.push_back(IntImm::Int32(j * lanes + i));
  }
  return tirx::Shuffle(vectors, picks);
}

Stmt PrefetchLine(const tirx::Buffer& buffer, const PrimExpr& offset, bool to_first_level) {
  constexpr int kRead = 0, kAllLevels = 3, kSecondLevel = 2, kDataCache = 1;
  return tirx::Evaluate(tirx::CallBuiltin(
      DataType::Void(), tirx::builtin::prefetch(),
      {tirx::AddressOf(buffer, {offset}), IntImm::Int32(kRead),
       IntImm::Int32(to_first_level ? kAllLevels : kSecondLevel), IntImm::Int32(kDataCache)}));
}

RegisterTile::RegisterTile(FlatAccess* access, DotStep step, int64_t lanes, int64_t rows,
                           std::vector<int64_t> widths)
    : access_(access), step_(step), lanes_(lanes), rows_(rows), widths_(std::move(widths)) {
  acc_ = FlatAccess::Scratch("acc", rows_ * vectors() * lanes_, step_.acc, "local");
  access_->UseAsIs(acc_);
}

PrimExpr RegisterTile::Lanes(int64_t i, int64_t v) const {
  return Consecutive(Index(Slot(i, v)), widths_[static_cast<size_t>(v)]);
}

namespace {

PrimExpr Reinterpret(DataType dtype, const PrimExpr& value) {
  return tirx::CallBuiltin(dtype, tirx::builtin::reinterpret(), {value});
}

}  // namespace

void RegisterTile::Step(const PrimExpr& k, const LoadA& load_a, const LoadB& load_b,
                        Array<Stmt>* body) {
  const int group = static_cast<int>(step_.group);
  if (prepare_) body->push_back(prepare_(k));
  std::vector<Var> b;
  for (size_t v = 0; v < widths_.size(); ++v) {
    b.emplace_back("b", step_.b.with_lanes(static_cast<int>(widths_[v]) * group));
    body->push_back(Bind(b.back(), load_b(v, k)));
  }
  // A word is broadcast as one integer.
  const DataType word = DataType::UInt(step_.a.bits() * group);
  for (int64_t i = 0; i < rows_; ++i) {
    PrimExpr loaded = load_a(i, k);
    const bool is_vector = loaded.dtype().lanes() > group;
    if (group > 1 && !is_vector) loaded = Reinterpret(word, loaded);
    Var a("a", loaded.dtype());
    body->push_back(Bind(a, loaded));
    for (int64_t v = 0; v < vectors(); ++v) {
      const size_t at = static_cast<size_t>(v);
      PrimExpr all = is_vector ? PrimExpr(a) : Splat(PrimExpr(a), widths_[at]);
      if (group > 1 && !is_vector) {
        all = Reinterpret(step_.a.with_lanes(static_cast<int>(widths_[at]) * group), all);
      }
      const Op& op = group == 1 ? tirx::builtin::fma() : tirx::builtin::dot_lanes();
      PrimExpr sum = tirx::CallBuiltin(step_.acc.with_lanes(static_cast<int>(widths_[at])), op,
                                       {all, b[at], BufferLoad(acc_, {Lanes(i, v)})});
      body->push_back(BufferStore(acc_, sum, {Lanes(i, v)}));
    }
  }
}

Stmt RegisterTile::Sum(int64_t depth, const LoadA& load_a, const LoadB& load_b,
                       const Extra& extra) {
  Array<Stmt> seq{tirx::AllocBuffer(acc_)};
  for (int64_t v = 0; v < vectors(); ++v) {
    const size_t at = static_cast<size_t>(v);
    Var start("start", step_.acc.with_lanes(static_cast<int>(widths_[at])));
    seq.push_back(Bind(start, init_ ? init_(at) : Splat(make_zero(step_.acc), widths_[at])));
    for (int64_t i = 0; i < rows_; ++i) seq.push_back(BufferStore(acc_, start, {Lanes(i, v)}));
  }
  int64_t unroll = unroll_;
  if (unroll == 0) {
    unroll = depth <= kShort ? kMostUnroll : CeilDiv(kTurn, rows_ * vectors());
    unroll = std::min(unroll, kMostUnroll);
  }
  const int64_t looped = last_apart_ ? depth - 1 : depth;
  if (looped < unroll) unroll = 1;
  Var group = IndexVar("k");
  access_->Bind(group, std::max<int64_t>(1, looped / unroll));
  Array<Stmt> body;
  if (extra) body.push_back(extra(group, unroll));
  for (int64_t u = 0; u < unroll; ++u) {
    Step(PrimExpr(group) * Index(unroll) + Index(u), load_a, load_b, &body);
  }
  Array<Stmt> steps;
  if (looped >= unroll) steps.push_back(Loop(group, looped / unroll, SeqStmt::Flatten(body)));
  for (int64_t k = looped / unroll * unroll; k < depth; ++k) {
    Step(Index(k), load_a, load_b, &steps);
  }
  Stmt all = SeqStmt::Flatten(steps);
  if (outer_) {
    Var turn = IndexVar("turn");
    all = SeqStmt::Flatten(Bind(outer_->var, outer_->first + turn), all);
    all = For(turn, Index(0), access_->Simplify(outer_->end - outer_->first), ForKind::kSerial,
              std::move(all));
  }
  seq.push_back(all);
  return SeqStmt::Flatten(seq);
}

}  // namespace kernels
}  // namespace tvm
