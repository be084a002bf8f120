// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// The innermost part of every contraction: rows x vectors of sums that stay in registers while the
/// reduction runs over them.
#ifndef TVM_KERNELS_REGISTER_TILE_H_
#define TVM_KERNELS_REGISTER_TILE_H_

#include <functional>
#include <vector>

#include "kernels/group.h"

namespace tvm {
namespace kernels {

class RegisterTile {
 public:
  /// Row i of A in step k; a scalar.
  using LoadA = std::function<PrimExpr(int64_t i, const PrimExpr& k)>;
  /// Vector v of B in step k, of the width of that vector.
  using LoadB = std::function<PrimExpr(size_t v, const PrimExpr& k)>;
  /// What to do besides before `steps` steps of k, e.g. prefetch; `group` counts such runs.
  using Extra = std::function<tirx::Stmt(const PrimExpr& group, int64_t steps)>;

  /// `widths` are the lanes that are used of each vector of a row; a slot has `lanes`.
  RegisterTile(FlatAccess* access, DataType dtype, int64_t lanes, int64_t rows,
               std::vector<int64_t> widths);

  /// acc = 0; for k < depth: acc[i, v] += A(i, k) * B(v, k)
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
  FlatAccess* access_;
  DataType dtype_;
  int64_t lanes_, rows_;
  std::vector<int64_t> widths_;
  tirx::Buffer acc_;
};

/// `width` consecutive elements from `offset` on.
PrimExpr Consecutive(const PrimExpr& offset, int64_t width);

/// A hint to bring the line that holds an element to the second-level cache.
tirx::Stmt PrefetchLine(const tirx::Buffer& buffer, const PrimExpr& offset);

}  // namespace kernels
}  // namespace tvm

#endif  // TVM_KERNELS_REGISTER_TILE_H_
