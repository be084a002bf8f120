// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// The innermost part of every contraction: rows x vectors of sums that stay in registers while the
/// reduction runs over them.
#ifndef TVM_KERNELS_REGISTER_TILE_H_
#define TVM_KERNELS_REGISTER_TILE_H_

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/dot_step.h"
#include "kernels/group.h"

namespace tvm {
namespace kernels {

class RegisterTile {
 public:
  /// Row i of A in step k: a scalar, or the elements of one word; or as many of them as lanes are
  /// used of a vector, one for each lane.
  using LoadA = std::function<PrimExpr(int64_t i, const PrimExpr& k)>;
  /// Vector v of B in step k: one scalar or word for each lane of that vector.
  using LoadB = std::function<PrimExpr(size_t v, const PrimExpr& k)>;
  /// What all rows of vector v start from.
  using Init = std::function<PrimExpr(size_t v)>;
  /// What must run before B is read in step k.
  using Prepare = std::function<tirx::Stmt(const PrimExpr& k)>;
  /// What to do besides before `steps` steps of k, e.g. prefetch; `group` counts such runs.
  using Extra = std::function<tirx::Stmt(const PrimExpr& group, int64_t steps)>;

  /// `widths` are the lanes that are used of each vector of a row; a slot has `lanes`.
  RegisterTile(FlatAccess* access, DotStep step, int64_t lanes, int64_t rows,
               std::vector<int64_t> widths);
  /// Sums, A and B all of one type.
  RegisterTile(FlatAccess* access, DataType dtype, int64_t lanes, int64_t rows,
               std::vector<int64_t> widths)
      : RegisterTile(access, DotStep{dtype, dtype, dtype}, lanes, rows, std::move(widths)) {}

  /// Steps of k in one turn of the loop; the hints of `Extra` come once a turn. By default, 0, long
  /// sums take as many as make a turn of kTurn multiply-adds, as more only makes code that must be
  /// compiled; short ones, whose end is often mispredicted, kMostUnroll.
  void set_unroll(int64_t unroll) { unroll_ = unroll; }

  void set_init(Init init) { init_ = std::move(init); }
  void set_prepare(Prepare prepare) { prepare_ = std::move(prepare); }
  /// Sums all steps for each value of `var` in [first, end): an outer loop of the reduction.
  void set_outer(Var var, PrimExpr first, PrimExpr end) {
    outer_ = Outer{std::move(var), std::move(first), std::move(end)};
  }
  /// Takes the last step out of the loop: LoadA and LoadB get it as the constant depth - 1.
  void set_last_apart(bool apart) { last_apart_ = apart; }

  /// acc = 0 or init; for k < depth: acc[i, v] += A(i, k) * B(v, k)
  tirx::Stmt Sum(int64_t depth, const LoadA& load_a, const LoadB& load_b,
                 const Extra& extra = nullptr);

  const tirx::Buffer& acc() const { return acc_; }
  int64_t rows() const { return rows_; }
  int64_t vectors() const { return static_cast<int64_t>(widths_.size()); }
  /// First element of a sum's vector in acc().
  int64_t Slot(int64_t i, int64_t v) const { return (i * vectors() + v) * lanes_; }
  /// All used lanes of a sum, as an index of acc().
  PrimExpr Lanes(int64_t i, int64_t v) const;

 private:
  /// All vectors of A and B in step k, and the products.
  void Step(const PrimExpr& k, const LoadA& load_a, const LoadB& load_b,
            ffi::Array<tirx::Stmt>* body);

  struct Outer {
    Var var;
    PrimExpr first, end;
  };
  static constexpr int64_t kTurn = 64, kShort = 96, kMostUnroll = 4;

  FlatAccess* access_;
  DotStep step_;
  int64_t lanes_, rows_, unroll_ = 0;
  std::vector<int64_t> widths_;
  Init init_;
  Prepare prepare_;
  std::optional<Outer> outer_;
  bool last_apart_ = false;
  tirx::Buffer acc_;
};

/// `width` consecutive elements from `offset` on.
PrimExpr Consecutive(const PrimExpr& offset, int64_t width);

/// A scalar in all of `width` lanes.
PrimExpr Splat(const PrimExpr& value, int64_t width);

/// Lane i of each vector side by side: a0 b0 a1 b1 .. of vectors a and b.
PrimExpr Interleaved(const ffi::Array<PrimExpr>& vectors);

/// A hint to bring the line that holds an element to all caches, or to all but the first level. The
/// former reaches further ahead of memory, but many at a time hold up the loads of the first level.
tirx::Stmt PrefetchLine(const tirx::Buffer& buffer, const PrimExpr& offset,
                        bool to_first_level = true);

}  // namespace kernels
}  // namespace tvm

#endif  // TVM_KERNELS_REGISTER_TILE_H_
