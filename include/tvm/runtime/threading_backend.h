// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file threading_backend.h
/// Worker threads and their placement on the machine's cores.
#ifndef TVM_RUNTIME_THREADING_BACKEND_H_
#define TVM_RUNTIME_THREADING_BACKEND_H_

#include <tvm/runtime/base.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

namespace tvm {
namespace runtime {
namespace threading {

/// A set of threads that each run worker_callback(id) once.
class TVM_RUNTIME_DLL ThreadGroup {
 public:
  class Impl;
  enum AffinityMode : int {
    kBig = 1,
    kLittle = -1,
    /// One core a thread, from the given list.
    kSpecifyOneCorePerThread = -2,
    /// All threads share the given cores.
    kSpecifyThreadShareAllCore = -3,
  };
  /// With exclude_worker0 the caller plays worker 0 and only the others get threads.
  ThreadGroup(int num_workers, std::function<void(int)> worker_callback,
              bool exclude_worker0 = false);
  ~ThreadGroup();
  void Join();
  /// Places the threads; returns how many workers the mode suggests.
  int Configure(AffinityMode mode, int nthreads, bool exclude_worker0,
                const std::vector<unsigned int>& cpus = {});

 private:
  std::unique_ptr<Impl> impl_;
};

TVM_RUNTIME_DLL void YieldThread();
/// Upper bound on workers: SetMaxConcurrency, TVM_NUM_THREADS, OMP_NUM_THREADS, else the number
/// of physical cores that this process may use.
TVM_RUNTIME_DLL int MaxConcurrency();
/// 0 takes the limit away.
TVM_RUNTIME_DLL void SetMaxConcurrency(int value);
/// Drops the workers of the pool; the next launch starts new ones.
TVM_RUNTIME_DLL void ResetThreadPool();
TVM_RUNTIME_DLL void Configure(ThreadGroup::AffinityMode mode, int nthreads,
                               const std::vector<unsigned int>& cpus, int max_concurrency = 0);
/// Workers that a launch from this thread may use, the caller included.
TVM_RUNTIME_DLL int32_t NumThreads();

}  // namespace threading

/// Launches f(task_id, num_task, data) and raises the first error.
TVM_RUNTIME_DLL void ParallelLaunch(void (*f)(int, int, void*), void* data, int num_task);

/// Calls f(i) for i in [begin, end), split over the workers. An exception of f is raised again.
template <typename F>
inline void parallel_for_with_threading_backend(F f, int64_t begin, int64_t end) {
  if (end <= begin) return;
  struct Closure {
    F* f;
    int64_t begin, end;
  } closure{&f, begin, end};
  int64_t total = end - begin;
  int64_t workers = threading::NumThreads();
  ParallelLaunch(
      [](int task, int num_task, void* data) {
        auto* c = static_cast<Closure*>(data);
        int64_t n = c->end - c->begin;
        int64_t lo = c->begin + n / num_task * task + std::min<int64_t>(task, n % num_task);
        int64_t hi = lo + n / num_task + (task < n % num_task ? 1 : 0);
        for (int64_t i = lo; i < hi; ++i) (*c->f)(i);
      },
      &closure, static_cast<int>(total < workers ? total : workers));
}

}  // namespace runtime
}  // namespace tvm

#endif  // TVM_RUNTIME_THREADING_BACKEND_H_
