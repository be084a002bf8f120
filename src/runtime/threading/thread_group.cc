// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file thread_group.cc
/// Threads, their affinity, and the limit on how many run.
#include <tvm/runtime/logging.h>
#include <tvm/runtime/threading_backend.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>
#include <utility>

#include "runtime/threading/affinity.h"
#include "runtime/threading/cpu_topology.h"

#ifdef __linux__
#include <pthread.h>
#include <sched.h>
#endif

namespace tvm {
namespace runtime {
namespace threading {

bool BindThreadsAllowed() {
  const char* value = std::getenv("TVM_BIND_THREADS");
  return value == nullptr || std::atoi(value) == 1;
}

bool SetAffinity(std::thread* thread, const std::vector<unsigned>& cpus) {
#ifdef __linux__
  if (cpus.empty()) return true;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (unsigned cpu : cpus) {
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  }
  pthread_t handle = thread != nullptr ? thread->native_handle() : pthread_self();
  return pthread_setaffinity_np(handle, sizeof(set), &set) == 0;
#else
  return cpus.empty();
#endif
}

std::vector<std::vector<unsigned>> PlanAffinity(ThreadGroup::AffinityMode mode, int nthreads,
                                                const std::vector<unsigned>& cpus) {
  const CpuTopology& topo = CpuTopology::Get();
  std::vector<std::vector<unsigned>> plan(static_cast<size_t>(std::max(nthreads, 0)));
  switch (mode) {
    case ThreadGroup::kSpecifyOneCorePerThread:
      CHECK(!cpus.empty()) << "this affinity mode needs a list of cores";
      for (size_t i = 0; i < plan.size(); ++i) plan[i] = {cpus[i % cpus.size()]};
      break;
    case ThreadGroup::kSpecifyThreadShareAllCore:
      CHECK(!cpus.empty()) << "this affinity mode needs a list of cores";
      for (auto& set : plan) set = cpus;
      break;
    case ThreadGroup::kBig:
    case ThreadGroup::kLittle: {
      // On a machine of equal cores the system's scheduler places threads better than we do.
      if (!topo.heterogeneous()) break;
      bool big = mode == ThreadGroup::kBig;
      std::vector<unsigned> set =
          big ? std::vector<unsigned>(topo.cpus.begin(), topo.cpus.begin() + topo.num_big)
              : std::vector<unsigned>(topo.cpus.end() - topo.num_little, topo.cpus.end());
      for (auto& s : plan) s = set;
      break;
    }
    default:
      TVM_FFI_THROW(ValueError) << "unknown affinity mode " << static_cast<int>(mode)
                                << ", expected 1, -1, -2 or -3";
  }
  return plan;
}

int SuggestedThreads(ThreadGroup::AffinityMode mode, int nthreads,
                     const std::vector<unsigned>& cpus) {
  const CpuTopology& topo = CpuTopology::Get();
  if (nthreads > 0) return nthreads;
  if (mode == ThreadGroup::kSpecifyOneCorePerThread ||
      mode == ThreadGroup::kSpecifyThreadShareAllCore) {
    return std::max<int>(1, static_cast<int>(cpus.size()));
  }
  if (mode == ThreadGroup::kLittle && topo.heterogeneous()) return topo.num_little;
  if (mode == ThreadGroup::kBig && topo.heterogeneous()) return topo.num_big;
  return MaxConcurrency();
}

class ThreadGroup::Impl {
 public:
  Impl(int num_workers, std::function<void(int)> callback, bool exclude_worker0) {
    for (int i = exclude_worker0 ? 1 : 0; i < num_workers; ++i) {
      threads_.emplace_back([callback, i] { callback(i); });
    }
  }
  ~Impl() { Join(); }

  void Join() {
    for (std::thread& t : threads_) {
      if (t.joinable()) t.join();
    }
  }

  int Configure(AffinityMode mode, int nthreads, bool exclude_worker0,
                const std::vector<unsigned>& cpus) {
    int use = SuggestedThreads(mode, nthreads, cpus);
    if (BindThreadsAllowed()) {
      size_t first = exclude_worker0 ? 1 : 0;
      auto plan = PlanAffinity(mode, static_cast<int>(threads_.size() + first), cpus);
      for (size_t i = 0; i < threads_.size(); ++i) SetAffinity(&threads_[i], plan[i + first]);
    }
    return std::min(use, MaxConcurrency());
  }

 private:
  std::vector<std::thread> threads_;
};

ThreadGroup::ThreadGroup(int num_workers, std::function<void(int)> worker_callback,
                         bool exclude_worker0)
    : impl_(std::make_unique<Impl>(num_workers, std::move(worker_callback), exclude_worker0)) {}
ThreadGroup::~ThreadGroup() = default;
void ThreadGroup::Join() { impl_->Join(); }
int ThreadGroup::Configure(AffinityMode mode, int nthreads, bool exclude_worker0,
                           const std::vector<unsigned int>& cpus) {
  return impl_->Configure(mode, nthreads, exclude_worker0, cpus);
}

void YieldThread() { std::this_thread::yield(); }

namespace {
std::atomic<int> max_concurrency{0};

int PositiveEnv(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::max(0, std::atoi(text));
}
}  // namespace

void SetMaxConcurrency(int value) {
  TVM_REQUIRE(value >= 0, ValueError)
      << "the limit on worker threads must be at least 0, got " << value;
  max_concurrency.store(value, std::memory_order_relaxed);
}

int MaxConcurrency() {
  if (int value = max_concurrency.load(std::memory_order_relaxed)) return value;
  if (int value = PositiveEnv("TVM_NUM_THREADS")) return value;
  if (int value = PositiveEnv("OMP_NUM_THREADS")) return value;
  return CpuTopology::Get().num_physical;
}

}  // namespace threading
}  // namespace runtime
}  // namespace tvm
