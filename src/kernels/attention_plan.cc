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

AttentionPlan PlanAttention(const AttentionShape& shape, const Target& target,
                            const KernelKnobs& knobs) {
  const CpuFeatures cpu = CpuFeaturesOf(target);
  const int64_t lanes = VectorLanes(DataType::Float(32), target), queries = shape.queries;
  AttentionPlan plan;
  plan.few = lanes > 1 && queries * 4 <= lanes;
  plan.width = plan.few ? queries : queries > lanes ? 2 * lanes : lanes;
  plan.panels = CeilDiv(queries, plan.width);
  plan.blocks = CeilDiv(shape.keys, Knob(knobs, "keys", kKeys));
  plan.block = CeilDiv(shape.keys, plan.blocks);
  const int64_t cores = std::max(1, cpu.num_cores);
  const int64_t work = shape.heads * queries * shape.keys * (shape.depth + shape.columns);
  plan.parallel = Knob(knobs, "parallel", cores > 1 && work >= 200000) != 0;
  // Each block of keys and values serves several panels, as long as all cores have work.
  plan.group = 1;
  while (plan.group < 4 && plan.group < plan.panels &&
         (cores == 1 || shape.heads * CeilDiv(plan.panels, 2 * plan.group) >= 4 * cores)) {
    plan.group *= 2;
  }
  plan.group = std::min(Knob(knobs, "panels", plan.group), plan.panels);
  return plan;
}

std::vector<KernelCandidate> AttentionCuts(const AttentionShape& shape, const Target& target) {
  const AttentionPlan own = PlanAttention(shape, target, {});
  std::vector<KernelCandidate> list;
  for (int64_t keys : {32, 64, 256, 512}) {
    // A block that holds all keys is the same one whatever its limit.
    if (CeilDiv(shape.keys, keys) == own.blocks) continue;
    list.push_back({{{"keys", keys}}, keys == 64 || keys == 256 ? 1.0 : 2.0});
  }
  for (int64_t panels : {1, 2, 4, 8}) {
    if (panels > own.panels || panels == own.group) continue;
    list.push_back({{{"panels", panels}}, 1.5});
  }
  if (CpuFeaturesOf(target).num_cores > 1) {
    list.push_back({{{"parallel", own.parallel ? 0 : 1}}, 3.0});
  }
  return list;
}

}  // namespace kernels
}  // namespace tvm
