// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// A sum of products as C[b, m, n] = scale[b, m, n] * sum_k A[b, m, k] * B[b, k, n].
#ifndef TVM_KERNELS_CONTRACTION_FORM_H_
#define TVM_KERNELS_CONTRACTION_FORM_H_

#include <optional>
#include <string>
#include <vector>

#include "kernels/dot_step.h"
#include "kernels/group.h"

namespace tvm {
namespace kernels {

/// The anchor, its iterations sorted by the operands that use them.
struct Contraction {
  /// In their own type, without the cast to that of the sums.
  PrimExpr a, b;
  /// A factor of B that no iteration of the reduction changes; undefined when there is none.
  PrimExpr scale;
  DotStep step;
  std::vector<Iter> batch, rows, cols, depth;
  /// Columns of a panel of B packed while compiling, 0 when it is not; the rows of words that a
  /// panel has, and how many of them come before the weight: what the sums start from.
  int64_t panel = 0, panel_words = 0, skipped_words = 0;
  /// The read of packed panels in B.
  const tirx::BufferLoadNode* packed = nullptr;
  int64_t m = 1, n = 1, k = 1;
  int64_t words = 1;  // steps of `step` that cover k
  /// Bits of an element of a packed weight (low_bit.h), 0 for all others; elements of k that share
  /// a scale; the scale (float32) and the zero point (int32), undefined when 1 and 0.
  int weight_bits = 0;
  int64_t scale_block = 0;
  PrimExpr block_scale, block_zero;

  /// Whether each group of a convolution has a packed matrix of its own.
  bool HasPackedGroups() const {
    return packed->indices.size() == (step.group > 1 ? size_t{5} : size_t{4});
  }
};

/// Reads B as a weight of a few bits; false with a reason when it is none.
bool ReadLowBits(const Stage& stage, Contraction* c, std::string* why);

/// nullopt with a reason when the anchor is not such a sum.
std::optional<Contraction> ReadContraction(const Group& group, const Target& target,
                                           std::string* why);

}  // namespace kernels
}  // namespace tvm

#endif  // TVM_KERNELS_CONTRACTION_FORM_H_
