// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Which operators of a block become one kernel.
#ifndef TVM_SRC_RELAX_TRANSFORM_GROUP_PARTITION_H_
#define TVM_SRC_RELAX_TRANSFORM_GROUP_PARTITION_H_

#include <tvm/relax/op_row.h>
#include <tvm/target/target.h>

#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tvm {
namespace relax {

/// One binding of a block as the partition sees it.
struct OpNodeInfo {
  Binding binding;
  const CallNode* call = nullptr;  ///< when it calls an operator that has a kernel rule
  const OpRow* row = nullptr;
  /// Same elements in the same order: an alias at run time, no kernel.
  bool view = false;
  std::vector<int> producers;  ///< bindings of this block whose values it reads
  std::vector<int> reads;      ///< the same with repetitions, one for each operand
  std::vector<int> consumers;
  bool escapes = false;  ///< read outside of the block
};

struct OpGroup {
  std::vector<int> members;  ///< in program order; the last one's value is the group's output
  int anchor = -1;           ///< member that reduces, or -1 for element-wise groups
  bool attention = false;    ///< all of an attention, whose anchor is the last product
};

/// Members of every group, and for each binding its group or -1.
struct Partition {
  std::vector<OpNodeInfo> nodes;
  std::vector<OpGroup> groups;
  std::vector<int> group_of;
};

/// Puts each attention that a kernel rule streams into one group, then grows a group around every
/// other anchor (products, convolutions, reductions, normalisations): forward
/// over element-wise consumers while one value leaves the group, backward over element-wise or
/// transposing producers that nothing else reads. What is left forms element-wise groups.
Partition PartitionBlock(const BindingBlock& block,
                         const std::unordered_set<const VarNode*>& used_outside,
                         const Target& target);

}  // namespace relax
}  // namespace tvm

#endif  // TVM_SRC_RELAX_TRANSFORM_GROUP_PARTITION_H_
