// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "kernels/attention_plan.h"

#include <tvm/target/cpu_features.h>

#include <algorithm>

#include "kernels/contraction_plan.h"
#include "kernels/group.h"

namespace tvm {
namespace kernels {

namespace {

constexpr int64_t kKeys = 128;  // of a block: its scores stay in the first-level cache

}  // namespace

AttentionPlan PlanAttention(int64_t heads, int64_t queries, int64_t keys, int64_t depth,
                            int64_t columns, const Target& target) {
  const CpuFeatures cpu = CpuFeaturesOf(target);
  const int64_t lanes = VectorLanes(DataType::Float(32), target);
  AttentionPlan plan;
  plan.few = lanes > 1 && queries * 4 <= lanes;
  plan.width = plan.few ? queries : queries > lanes ? 2 * lanes : lanes;
  plan.panels = CeilDiv(queries, plan.width);
  plan.blocks = CeilDiv(keys, kKeys);
  plan.block = CeilDiv(keys, plan.blocks);
  const int64_t cores = std::max(1, cpu.num_cores);
  plan.parallel = cores > 1 && heads * queries * keys * (depth + columns) >= 200000;
  // Each block of keys and values serves several panels, as long as all cores have work.
  plan.group = 1;
  while (plan.group < 4 && plan.group < plan.panels &&
         (cores == 1 || heads * CeilDiv(plan.panels, 2 * plan.group) >= 4 * cores)) {
    plan.group *= 2;
  }
  plan.group = std::min(plan.group, plan.panels);
  return plan;
}

}  // namespace kernels
}  // namespace tvm
