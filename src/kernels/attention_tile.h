// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Parts of attention that shuffle vectors: Q of a panel transposed, and dot products of a few
/// queries.
#ifndef TVM_KERNELS_ATTENTION_TILE_H_
#define TVM_KERNELS_ATTENTION_TILE_H_

#include <functional>
#include <vector>

#include "kernels/group.h"

namespace tvm {
namespace kernels {

/// Some queries of a head: `row` is the first one, `slot` counts the panels of a task.
struct AttentionPanel {
  Var slot, row;
  int64_t queries;
};

/// Copies what lies [query, step] so that vectors run along queries, `group` steps side by side:
/// packed[base + (step / group, query, step % group)].
struct AttentionPacker {
  FlatAccess* access;
  int64_t lanes;
  int64_t width;  ///< places of a panel; those past its queries are set to zero
  int64_t depth;  ///< steps; those past the last, in its group, are set to zero
  int64_t group;  ///< elements that are moved as one word of 32 bits, or 1 of any size
  tirx::Buffer packed;

  /// `load` gives the element of a row at a step: a scalar load.
  using Load = std::function<PrimExpr(const PrimExpr& row, const PrimExpr& step)>;
  tirx::Stmt Pack(const AttentionPanel& panel, const PrimExpr& base, const Load& load) const;

 private:
  /// Words [0, tiles * lanes) of queries [0, whole): squares of words, transposed in registers.
  tirx::Stmt Squares(const AttentionPanel& panel, const PrimExpr& base, const Load& load,
                     int64_t whole, int64_t tiles) const;
  /// Words from `first_word` on of queries [from, to), element by element.
  tirx::Stmt Rest(const AttentionPanel& panel, const PrimExpr& base, const Load& load, int64_t from,
                  int64_t to, int64_t first_word) const;
};

/// Dot products of one query with `count` <= `lanes` keys at a time, one a lane of the result, all
/// in float32 whatever the type of the operands.
class AttentionDots {
 public:
  using LoadQ = std::function<PrimExpr(const PrimExpr& step)>;
  using LoadK = std::function<PrimExpr(int64_t key, const PrimExpr& step)>;

  AttentionDots(FlatAccess* access, int64_t lanes, int64_t count, int64_t depth);

  tirx::Stmt Sum(const LoadQ& load_q, const LoadK& load_k);
  const tirx::Buffer& result() const { return result_; }

 private:
  /// Adds the products of `lanes` steps from `step` on, but for the first `skip`, to each key's
  /// sum.
  tirx::Stmt Products(const tirx::Buffer& acc, const LoadQ& load_q, const LoadK& load_k,
                      const PrimExpr& step, int64_t skip);

  FlatAccess* access_;
  int64_t lanes_, count_, depth_;
  tirx::Buffer result_;
};

}  // namespace kernels
}  // namespace tvm

#endif  // TVM_KERNELS_ATTENTION_TILE_H_
