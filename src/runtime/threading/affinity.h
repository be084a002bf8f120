// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file affinity.h
/// Placement of threads, shared by ThreadGroup and the pool.
#ifndef TVM_RUNTIME_THREADING_AFFINITY_H_
#define TVM_RUNTIME_THREADING_AFFINITY_H_

#include <tvm/runtime/threading_backend.h>

#include <thread>
#include <vector>

namespace tvm {
namespace runtime {
namespace threading {

/// False if TVM_BIND_THREADS is set to anything but 1.
bool BindThreadsAllowed();
/// Restricts a thread (null: the caller) to cpus; an empty set leaves it alone.
bool SetAffinity(std::thread* thread, const std::vector<unsigned>& cpus);
/// The set of CPUs for each of nthreads threads under a mode.
std::vector<std::vector<unsigned>> PlanAffinity(ThreadGroup::AffinityMode mode, int nthreads,
                                                const std::vector<unsigned>& cpus);
/// nthreads if positive, else what the mode and the machine suggest.
int SuggestedThreads(ThreadGroup::AffinityMode mode, int nthreads,
                     const std::vector<unsigned>& cpus);

}  // namespace threading
}  // namespace runtime
}  // namespace tvm

#endif  // TVM_RUNTIME_THREADING_AFFINITY_H_
