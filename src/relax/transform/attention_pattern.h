// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Operators that are one attention together.
#ifndef TVM_SRC_RELAX_TRANSFORM_ATTENTION_PATTERN_H_
#define TVM_SRC_RELAX_TRANSFORM_ATTENTION_PATTERN_H_

#include <tvm/target/target.h>

#include <optional>
#include <vector>

#include "relax/transform/group_partition.h"

namespace tvm {
namespace relax {

/// Bindings that are one streaming kernel with the product at `last`, in no order:
///
///   s = R.matmul(q, k); x = R.multiply(s, scale); y = R.add(x, mask); p = R.nn.softmax(y)
///   last = R.matmul(p, v)
///
/// with any elementwise operators between s and the softmax, which nothing else reads, and the
/// transposes of q, k and v. q, k, v and p may be rounded to bfloat16 by R.astype. nullopt when it
/// is not that, when shapes are open or other values not float32, or when no kernel rule takes it.
std::optional<std::vector<int>> AttentionMembers(const Partition& partition, int last,
                                                 const Target& target);

/// Whether a kernel rule streams this call of nn.attention or nn.attention_bias.
bool StreamsAttention(const Call& call, const Target& target);

/// What the anchor of such a group says to the kernel rule.
Map<String, ffi::Any> AttentionAnnotations();

}  // namespace relax
}  // namespace tvm

#endif  // TVM_SRC_RELAX_TRANSFORM_ATTENTION_PATTERN_H_
