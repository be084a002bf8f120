// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// How attention is cut into panels of queries, blocks of keys and tasks.
#ifndef TVM_KERNELS_ATTENTION_PLAN_H_
#define TVM_KERNELS_ATTENTION_PLAN_H_

#include <tvm/target/target.h>

#include <cstdint>

namespace tvm {
namespace kernels {

/// Sizes of the pieces, all analytic.
struct AttentionPlan {
  bool few;        ///< vectors along the head size instead of along queries
  int64_t width;   ///< queries of a panel
  int64_t panels;  ///< panels of a head
  int64_t group;   ///< panels of a task, which share each block of keys while it is cached
  int64_t block;   ///< keys of a block
  int64_t blocks;
  bool parallel;
};

AttentionPlan PlanAttention(int64_t heads, int64_t queries, int64_t keys, int64_t depth,
                            int64_t columns, const Target& target);

}  // namespace kernels
}  // namespace tvm

#endif  // TVM_KERNELS_ATTENTION_PLAN_H_
