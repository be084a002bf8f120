// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file cpu_topology.h
/// What the machine and the process's limits say about cores.
#ifndef TVM_RUNTIME_THREADING_CPU_TOPOLOGY_H_
#define TVM_RUNTIME_THREADING_CPU_TOPOLOGY_H_

#include <vector>

namespace tvm {
namespace runtime {
namespace threading {

struct CpuTopology {
  /// Logical CPUs this process may use, those with the highest top frequency first.
  std::vector<unsigned> cpus;
  /// How many of them share the highest top frequency, and the lowest.
  int num_big = 0;
  int num_little = 0;
  /// Distinct physical cores among them, further limited by a CPU quota of the control group.
  int num_physical = 1;

  bool heterogeneous() const { return num_big < static_cast<int>(cpus.size()); }
  static const CpuTopology& Get();
};

}  // namespace threading
}  // namespace runtime
}  // namespace tvm

#endif  // TVM_RUNTIME_THREADING_CPU_TOPOLOGY_H_
