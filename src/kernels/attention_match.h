// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// softmax(Q K^T ..) V in the blocks of a group.
#ifndef TVM_KERNELS_ATTENTION_MATCH_H_
#define TVM_KERNELS_ATTENTION_MATCH_H_

#include <optional>
#include <string>
#include <vector>

#include "kernels/group.h"

namespace tvm {
namespace kernels {

/// The blocks of a group as one formula over the iterations of its anchor, the product with V:
///
///   product     = sum over `depth` of q * k
///   out[row, c] = sum over key of softmax over key of (score) * v
///
/// The batch iterations are in all of them. q reads no key, k no row, v no row.
struct Attention {
  std::vector<Iter> batch;
  std::vector<Iter> rows, cols;  ///< at most one each: none when its extent is 1
  Iter key;
  std::vector<Iter> depth;
  /// Plain loads of parameters, in float32 or bfloat16.
  PrimExpr q, k, v;
  /// Whether a product is of operands rounded to bfloat16; what is read may still be wider.
  bool narrow_scores = false, narrow_values = false;
  /// In terms of `product`, the iterations and whatever else is read.
  PrimExpr score;
  Var product;

  int64_t queries() const { return Product(rows); }
  int64_t columns() const { return Product(cols); }
};

/// nullopt with a reason when the group computes something else.
std::optional<Attention> MatchAttention(const Group& group, std::string* why);

/// `expr` with every load equal to `load` replaced.
PrimExpr ReplaceEqual(const PrimExpr& expr, const PrimExpr& load, const PrimExpr& value);

/// What a causal mask lets a row see: keys in (row + shift - window, row + shift].
struct VisibleKeys {
  int64_t shift = 0;
  std::optional<int64_t> window;
};

/// Read from the score select(visible, x, -inf); nullopt when it is of another form.
std::optional<VisibleKeys> ReadCausalMask(const Attention& attention, FlatAccess* access);

}  // namespace kernels
}  // namespace tvm

#endif  // TVM_KERNELS_ATTENTION_MATCH_H_
