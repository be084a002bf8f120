// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// How attention is cut into panels of queries, blocks of keys and tasks.
#ifndef TVM_KERNELS_ATTENTION_PLAN_H_
#define TVM_KERNELS_ATTENTION_PLAN_H_

#include <tvm/kernels/rule.h>
#include <tvm/target/target.h>

#include <cstdint>
#include <vector>

namespace tvm {
namespace kernels {

/// What there is to cut.
struct AttentionShape {
  int64_t heads, queries, keys, depth, columns;
};

/// Sizes of the pieces, all analytic unless a knob says otherwise.
struct AttentionPlan {
  bool few;        ///< vectors along the head size instead of along queries
  int64_t width;   ///< queries of a panel
  int64_t panels;  ///< panels of a head
  int64_t group;   ///< panels of a task, which share each block of keys while it is cached
  int64_t block;   ///< keys of a block
  int64_t blocks;
  bool parallel;
};

/// Knobs: `keys` of a block at most, `panels` of a task, `parallel`.
AttentionPlan PlanAttention(const AttentionShape& shape, const Target& target,
                            const KernelKnobs& knobs);

/// Other cuts, those near the plan's first.
std::vector<KernelCandidate> AttentionCuts(const AttentionShape& shape, const Target& target);

}  // namespace kernels
}  // namespace tvm

#endif  // TVM_KERNELS_ATTENTION_PLAN_H_
