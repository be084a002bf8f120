// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "kernels/register_tile.h"

#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <utility>

namespace tvm {
namespace kernels {

using ffi::Array;
using tirx::Bind;
using tirx::BufferLoad;
using tirx::BufferStore;
using tirx::SeqStmt;
using tirx::Stmt;

PrimExpr Consecutive(const PrimExpr& offset, int64_t width) {
  if (width == 1) return offset;
  return tirx::Ramp(offset, Index(1), IntImm::Int32(width));
}

Stmt PrefetchLine(const tirx::Buffer& buffer, const PrimExpr& offset) {
  constexpr int kRead = 0, kSecondLevel = 2, kDataCache = 1;
  return tirx::Evaluate(
      tirx::CallBuiltin(DataType::Void(), tirx::builtin::prefetch(),
                        {tirx::AddressOf(buffer, {offset}), IntImm::Int32(kRead),
                         IntImm::Int32(kSecondLevel), IntImm::Int32(kDataCache)}));
}

RegisterTile::RegisterTile(FlatAccess* access, DataType dtype, int64_t lanes, int64_t rows,
                           std::vector<int64_t> widths)
    : access_(access), dtype_(dtype), lanes_(lanes), rows_(rows), widths_(std::move(widths)) {
  acc_ = FlatAccess::Scratch("acc", rows_ * vectors() * lanes_, dtype_, "local");
  access_->UseAsIs(acc_);
}

PrimExpr RegisterTile::Lanes(int64_t i, int64_t v) const {
  return Consecutive(Index(Slot(i, v)), widths_[static_cast<size_t>(v)]);
}

Stmt RegisterTile::Sum(int64_t depth, const LoadA& load_a, const LoadB& load_b,
                       const Extra& extra) {
  auto splat = [](const PrimExpr& value, int64_t width) {
    return width == 1 ? value : PrimExpr(tirx::Broadcast(value, IntImm::Int32(width)));
  };
  Array<Stmt> seq{tirx::AllocBuffer(acc_)};
  for (int64_t i = 0; i < rows_; ++i) {
    for (int64_t v = 0; v < vectors(); ++v) {
      const int64_t width = widths_[static_cast<size_t>(v)];
      seq.push_back(BufferStore(acc_, splat(make_zero(dtype_), width), {Lanes(i, v)}));
    }
  }
  auto step = [&](const PrimExpr& k, Array<Stmt>* body) {
    std::vector<Var> b;
    for (size_t v = 0; v < widths_.size(); ++v) {
      b.emplace_back("b", dtype_.with_lanes(static_cast<int>(widths_[v])));
      body->push_back(Bind(b.back(), load_b(v, k)));
    }
    for (int64_t i = 0; i < rows_; ++i) {
      Var a("a", dtype_);
      body->push_back(Bind(a, load_a(i, k)));
      for (int64_t v = 0; v < vectors(); ++v) {
        const size_t at = static_cast<size_t>(v);
        PrimExpr sum = tirx::CallBuiltin(
            b[at].dtype(), tirx::builtin::fma(),
            {splat(PrimExpr(a), widths_[at]), b[at], BufferLoad(acc_, {Lanes(i, v)})});
        body->push_back(BufferStore(acc_, sum, {Lanes(i, v)}));
      }
    }
  };
  constexpr int64_t kUnroll = 4;
  const int64_t unroll = depth >= kUnroll ? kUnroll : 1;
  Var group = IndexVar("k");
  access_->Bind(group, std::max<int64_t>(1, depth / unroll));
  Array<Stmt> body;
  if (extra) body.push_back(extra(group, unroll));
  for (int64_t u = 0; u < unroll; ++u) step(PrimExpr(group) * Index(unroll) + Index(u), &body);
  if (depth >= unroll) seq.push_back(Loop(group, depth / unroll, SeqStmt::Flatten(body)));
  for (int64_t k = depth / unroll * unroll; k < depth; ++k) step(Index(k), &seq);
  return SeqStmt::Flatten(seq);
}

}  // namespace kernels
}  // namespace tvm
