// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file thread_pool.cc
/// The process's pool of workers and the launches that share it.
///
/// A launch lives on its caller's stack. The caller claims idle workers, posts the launch to
/// each, takes part itself and waits. Each participant owns a run of neighbouring task ids, so that
/// a thread sees the same part of the data launch after launch; who is done early takes tasks from
/// the end of the others' runs, also of workers that have not begun, as a worker without a core
/// must not hold a launch up. Tasks that meet at a barrier have all begun by then. Callers of
/// several threads share the workers and together keep at most as many threads busy as there may
/// be; a caller that finds none idle runs alone.
///
/// Above 500 lines: slots, launches and pool are one protocol.
#include <pthread.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>
#include <tvm/runtime/c_backend_api.h>
#include <tvm/runtime/logging.h>
#include <tvm/runtime/threading_backend.h>
#include <tvm/support/str_util.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "runtime/threading/affinity.h"
#include "runtime/threading/cpu_topology.h"

namespace tvm {
namespace runtime {

namespace {

inline void CpuRelax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Waits in ever cheaper ways: spin, give the core away, sleep.
class Backoff {
 public:
  void Pause() {
    ++count_;
    if (count_ < kSpins) {
      CpuRelax();
    } else if (count_ < kYields) {
      std::this_thread::yield();
    } else {
      // Whatever we wait for has no core to run on, or takes long.
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

 private:
  static constexpr int kSpins = 4000;
  static constexpr int kYields = 8000;
  int count_ = 0;
};

/// True while this thread runs a task: a launch inside one runs inline.
thread_local bool in_parallel_task = false;

class InTask {
 public:
  InTask() : outer_(in_parallel_task) { in_parallel_task = true; }
  ~InTask() { in_parallel_task = outer_; }

 private:
  bool outer_;
};

/// The task ids that one participant has left, begin in the low half and end in the high one.
class alignas(64) Share {
 public:
  Share(int begin, int end) : range_(Pack(begin, end)) {}

  /// The first id left, for the owner; -1 if there is none.
  int TakeFirst() {
    uint64_t range = range_.load(std::memory_order_relaxed);
    while (Begin(range) < End(range)) {
      if (range_.compare_exchange_weak(range, Pack(Begin(range) + 1, End(range)),
                                       std::memory_order_relaxed)) {
        return Begin(range);
      }
    }
    return -1;
  }

  /// The last id left, for the others.
  int TakeLast() {
    uint64_t range = range_.load(std::memory_order_relaxed);
    while (Begin(range) < End(range)) {
      if (range_.compare_exchange_weak(range, Pack(Begin(range), End(range) - 1),
                                       std::memory_order_relaxed)) {
        return End(range) - 1;
      }
    }
    return -1;
  }

 private:
  static uint64_t Pack(int begin, int end) {
    return static_cast<uint64_t>(static_cast<uint32_t>(end)) << 32 | static_cast<uint32_t>(begin);
  }
  static int Begin(uint64_t range) { return static_cast<int>(range & 0xffffffffu); }
  static int End(uint64_t range) { return static_cast<int>(range >> 32); }

  std::atomic<uint64_t> range_;
};

struct Launch {
  FTVMParallelLambda lambda;
  void* cdata;
  int participants;
  TVMParallelGroupEnv env;
  /// One a participant; the caller's is the first if it takes part.
  Share* shares;
  /// Participants, the caller excluded, that still run.
  std::atomic<int> pending;
  std::atomic<uint64_t> barrier_arrivals{0};
  std::atomic<bool> failed{false};
  /// The error of the failed task with the lowest id, guarded by mu.
  std::mutex mu;
  int failed_task = -1;
  TVMFFIObjectHandle error = nullptr;

  void RunTask(int task) {
    int rc = lambda(task, &env, cdata);
    if (__builtin_expect(rc != 0, 0)) RecordFailure(task, rc);
  }

  /// The tasks of one participant, then what the others have left.
  void RunShare(int self) {
    for (int task = shares[self].TakeFirst(); task >= 0; task = shares[self].TakeFirst()) {
      RunTask(task);
    }
    for (int i = 1; i < participants; ++i) {
      Share& other = shares[(self + i) % participants];
      for (int task = other.TakeLast(); task >= 0; task = other.TakeLast()) RunTask(task);
    }
  }

  void RecordFailure(int task, int rc) {
    TVMFFIObjectHandle raised = nullptr;
    TVMFFIErrorMoveFromRaised(&raised);
    if (raised == nullptr) {
      std::string text = "Task " + std::to_string(task) + " error: it returned status " +
                         std::to_string(rc) + " without raising an error";
      TVMFFIErrorSetRaisedFromCStr("RuntimeError", text.c_str());
      TVMFFIErrorMoveFromRaised(&raised);
    }
    {
      std::lock_guard<std::mutex> lock(mu);
      if (failed_task < 0 || task < failed_task) {
        std::swap(error, raised);
        failed_task = task;
      }
    }
    if (raised != nullptr) TVMFFIObjectDecRef(raised);
    failed.store(true, std::memory_order_release);
  }

  /// Hands the recorded error to this thread; 0 if there is none.
  int Finish() {
    if (__builtin_expect(!failed.load(std::memory_order_acquire), 1)) return 0;
    // The task's own error travels on, so its kind and any host exception behind it survive.
    TVMFFIErrorSetRaised(error);
    TVMFFIObjectDecRef(error);
    return -1;
  }
};

class ThreadPool {
 public:
  static ThreadPool* Global() {
    ThreadPool* pool = global_.load(std::memory_order_acquire);
    if (__builtin_expect(pool != nullptr, 1)) return pool;
    return Create();
  }

  /// Stops the workers once no launch uses them.
  static void Reset() {
    std::lock_guard<std::mutex> lock(create_mu_);
    // Taken out of sight first; a launch already inside finishes on the old pool, which is
    // only stopped when idle and never freed, as such a launch may still look at it.
    if (ThreadPool* pool = global_.exchange(nullptr, std::memory_order_acq_rel)) {
      pool->Stop();
      pool->retired_before_ = last_retired_;
      last_retired_ = pool;
    }
  }

  int NumThreads() const { return num_used_.load(std::memory_order_relaxed); }

  static void Configure(threading::ThreadGroup::AffinityMode mode, int nthreads,
                        const std::vector<unsigned>& cpus) {
    int use = threading::SuggestedThreads(mode, nthreads, cpus);
    if (nthreads <= 0) use = std::min(use, threading::MaxConcurrency());
    // Raises for a wrong mode here and not at the next launch.
    threading::PlanAffinity(mode, use, cpus);
    {
      std::lock_guard<std::mutex> lock(create_mu_);
      configured_threads_ = std::max(1, use);
      configured_mode_ = mode;
      configured_cpus_ = cpus;
    }
    Reset();
  }

  int Run(FTVMParallelLambda lambda, void* cdata, int num_task, bool needs_all) {
    if (in_parallel_task || num_task == 1) return RunInline(lambda, cdata, num_task);
    int limit = NumThreads();
    int want = num_task == 0 ? limit : std::min(num_task, limit);
    if (want <= 1 && exclude_worker0_) return RunInline(lambda, cdata, num_task);

    Slot* claimed[kMaxWorkers];
    int num_claimed = 0;
    int helpers = exclude_worker0_ ? want - 1 : want;
    busy_.fetch_add(1, std::memory_order_relaxed);
    if (needs_all && num_task != 0 && num_task <= limit) {
      ClaimExactly(claimed, &num_claimed, helpers);
    } else {
      ClaimIdle(claimed, &num_claimed, helpers);
    }
    if (num_claimed == 0) {
      busy_.fetch_sub(1, std::memory_order_relaxed);
      return RunInline(lambda, cdata, num_task);
    }

    int first = exclude_worker0_ ? 1 : 0;
    Launch launch;
    launch.lambda = lambda;
    launch.cdata = cdata;
    launch.participants = num_claimed + first;
    launch.env.sync_handle = &launch;
    launch.env.num_task = num_task == 0 ? launch.participants : num_task;
    alignas(64) char storage[sizeof(Share) * (kMaxWorkers + 1)];
    launch.shares = reinterpret_cast<Share*>(storage);
    for (int i = 0; i < launch.participants; ++i) {
      auto bound = [&](int64_t p) {
        return static_cast<int>(p * launch.env.num_task / launch.participants);
      };
      new (&launch.shares[i]) Share(bound(i), bound(i + 1));
    }
    launch.pending.store(num_claimed, std::memory_order_relaxed);
    for (int i = 0; i < num_claimed; ++i) Post(claimed[i], &launch, i + first);
    if (first != 0) {
      InTask guard;
      launch.RunShare(0);
      for (int i = num_claimed - 1; i >= 0; --i) TakeBack(claimed[i], &launch);
    }
    Backoff backoff;
    while (launch.pending.load(std::memory_order_acquire) != 0) backoff.Pause();
    busy_.fetch_sub(1, std::memory_order_relaxed);
    return launch.Finish();
  }

 private:
  static constexpr int kMaxWorkers = 256;

  struct alignas(64) Slot {
    std::atomic<bool> claimed{false};
    /// What the worker is to do; it takes this back to null, or the caller does.
    std::atomic<Launch*> post{nullptr};
    int participant = 0;
    /// Counts posts, for a sleeping worker to wait on.
    std::atomic<uint32_t> epoch{0};
    std::atomic<bool> sleeping{false};
  };

  static ThreadPool* Create() {
    std::lock_guard<std::mutex> lock(create_mu_);
    ThreadPool* pool = global_.load(std::memory_order_acquire);
    if (pool == nullptr) {
      static std::once_flag once;
      std::call_once(once, [] {
        pthread_atfork([] { create_mu_.lock(); }, [] { create_mu_.unlock(); },
                       [] {
                         // The child has none of the threads: it starts a pool of its own.
                         create_mu_.unlock();
                         global_.store(nullptr, std::memory_order_relaxed);
                       });
      });
      pool = new ThreadPool();
      global_.store(pool, std::memory_order_release);
    }
    return pool;
  }

  ThreadPool() {
    const char* exclude = std::getenv("TVM_EXCLUDE_WORKER0");
    exclude_worker0_ = exclude == nullptr || std::atoi(exclude) != 0;
    const char* spin = std::getenv("TVM_THREAD_POOL_SPIN_COUNT");
    spin_count_ = spin == nullptr ? 300000 : std::max(0, std::atoi(spin));
    int threads = configured_threads_ > 0 ? configured_threads_ : threading::MaxConcurrency();
    threads = std::min(std::max(threads, 1), kMaxWorkers);
    num_used_.store(threads, std::memory_order_relaxed);
    num_slots_ = exclude_worker0_ ? threads - 1 : threads;
    slots_ = std::make_unique<Slot[]>(static_cast<size_t>(num_slots_));
    auto plan = threading::BindThreadsAllowed()
                    ? threading::PlanAffinity(configured_mode_, threads, configured_cpus_)
                    : std::vector<std::vector<unsigned>>(static_cast<size_t>(threads));
    for (int i = 0; i < num_slots_; ++i) {
      Slot* slot = &slots_[static_cast<size_t>(i)];
      workers_.emplace_back([this, slot] { Work(slot); });
      threading::SetAffinity(&workers_.back(),
                             plan[static_cast<size_t>(i + (exclude_worker0_ ? 1 : 0))]);
    }
  }

  void Stop() {
    stopped_.store(true, std::memory_order_relaxed);
    for (int i = 0; i < num_slots_; ++i) {
      Slot* slot = &slots_[static_cast<size_t>(i)];
      Backoff backoff;
      while (slot->claimed.exchange(true, std::memory_order_acquire)) backoff.Pause();
      Post(slot, &stop_mark_, 0);
    }
    for (std::thread& t : workers_) t.join();
    workers_.clear();
  }

  int RunInline(FTVMParallelLambda lambda, void* cdata, int num_task) {
    Launch launch;
    launch.lambda = lambda;
    launch.cdata = cdata;
    launch.participants = 1;
    launch.env.sync_handle = &launch;
    launch.env.num_task = num_task == 0 ? 1 : num_task;
    InTask guard;
    for (int task = 0; task < launch.env.num_task; ++task) launch.RunTask(task);
    return launch.Finish();
  }

  bool TryClaim(Slot* slot) {
    if (slot->claimed.load(std::memory_order_relaxed) ||
        slot->claimed.exchange(true, std::memory_order_acquire)) {
      return false;
    }
    busy_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }

  /// Takes idle workers as long as callers and workers stay within the number of threads.
  void ClaimIdle(Slot** claimed, int* num_claimed, int want) {
    for (int i = 0; i < num_slots_ && *num_claimed < want; ++i) {
      int busy = busy_.load(std::memory_order_relaxed);
      if (busy >= NumThreads() + (exclude_worker0_ ? 0 : 1)) return;
      Slot* slot = &slots_[static_cast<size_t>(i)];
      if (TryClaim(slot)) claimed[(*num_claimed)++] = slot;
    }
  }

  /// Waits for the first `want` workers, since tasks that may meet at a barrier must all run at
  /// once. The fixed order keeps two such callers from waiting for each other.
  void ClaimExactly(Slot** claimed, int* num_claimed, int want) {
    for (int i = 0; i < want; ++i) {
      Slot* slot = &slots_[static_cast<size_t>(i)];
      Backoff backoff;
      while (!TryClaim(slot)) {
        if (stopped_.load(std::memory_order_relaxed)) {
          // The pool is being replaced: the tasks run here one after another.
          while (*num_claimed > 0) {
            busy_.fetch_sub(1, std::memory_order_relaxed);
            claimed[--*num_claimed]->claimed.store(false, std::memory_order_release);
          }
          return;
        }
        backoff.Pause();
      }
      claimed[(*num_claimed)++] = slot;
    }
  }

  static void Post(Slot* slot, Launch* launch, int participant) {
    slot->participant = participant;
    slot->post.store(launch, std::memory_order_release);
    slot->epoch.fetch_add(1, std::memory_order_seq_cst);
    if (slot->sleeping.load(std::memory_order_seq_cst)) slot->epoch.notify_one();
  }

  /// Makes a worker that has not begun idle again; its tasks are done by now.
  void TakeBack(Slot* slot, Launch* launch) {
    Launch* expected = launch;
    if (slot->post.load(std::memory_order_relaxed) != launch ||
        !slot->post.compare_exchange_strong(expected, nullptr, std::memory_order_acquire,
                                            std::memory_order_relaxed)) {
      return;
    }
    launch->pending.fetch_sub(1, std::memory_order_relaxed);
    busy_.fetch_sub(1, std::memory_order_relaxed);
    slot->claimed.store(false, std::memory_order_release);
  }

  /// Waits for a post and takes it, with the participant it is for.
  Launch* Take(Slot* slot, int* participant) {
    for (int i = 0;; ++i) {
      if (slot->post.load(std::memory_order_relaxed) != nullptr) {
        // The caller may take it back at any time; once it is ours, the slot is.
        if (Launch* launch = slot->post.exchange(nullptr, std::memory_order_acquire)) {
          *participant = slot->participant;
          return launch;
        }
        i = 0;
      }
      if (i < spin_count_) {
        CpuRelax();
        continue;
      }
      slot->sleeping.store(true, std::memory_order_seq_cst);
      uint32_t seen = slot->epoch.load(std::memory_order_seq_cst);
      if (slot->post.load(std::memory_order_seq_cst) == nullptr) slot->epoch.wait(seen);
      slot->sleeping.store(false, std::memory_order_relaxed);
      i = 0;
    }
  }

  void Work(Slot* slot) {
    InTask guard;
    for (;;) {
      int participant = 0;
      Launch* launch = Take(slot, &participant);
      if (launch == &stop_mark_) return;
      launch->RunShare(participant);
      // Idle again before the caller can go on, so that its next launch finds this worker.
      busy_.fetch_sub(1, std::memory_order_relaxed);
      slot->claimed.store(false, std::memory_order_release);
      launch->pending.fetch_sub(1, std::memory_order_release);
    }
  }

  static std::atomic<ThreadPool*> global_;
  static ThreadPool* last_retired_;
  static std::mutex create_mu_;
  static int configured_threads_;
  static threading::ThreadGroup::AffinityMode configured_mode_;
  static std::vector<unsigned> configured_cpus_;

  ThreadPool* retired_before_ = nullptr;
  bool exclude_worker0_ = true;
  int spin_count_ = 0;
  int num_slots_ = 0;
  std::atomic<int> num_used_{1};
  std::atomic<bool> stopped_{false};
  /// Callers inside Run and claimed workers.
  std::atomic<int> busy_{0};
  std::unique_ptr<Slot[]> slots_;
  std::vector<std::thread> workers_;
  Launch stop_mark_{};
};

std::atomic<ThreadPool*> ThreadPool::global_{nullptr};
ThreadPool* ThreadPool::last_retired_ = nullptr;
std::mutex ThreadPool::create_mu_;
int ThreadPool::configured_threads_ = 0;
threading::ThreadGroup::AffinityMode ThreadPool::configured_mode_ = threading::ThreadGroup::kBig;
std::vector<unsigned> ThreadPool::configured_cpus_;

}  // namespace

namespace threading {

void ResetThreadPool() { ThreadPool::Reset(); }

void Configure(ThreadGroup::AffinityMode mode, int nthreads, const std::vector<unsigned int>& cpus,
               int max_concurrency) {
  if (max_concurrency > 0) SetMaxConcurrency(max_concurrency);
  ThreadPool::Configure(mode, nthreads, cpus);
}

int32_t NumThreads() { return ThreadPool::Global()->NumThreads(); }

}  // namespace threading

void ParallelLaunch(void (*f)(int, int, void*), void* data, int num_task) {
  struct Closure {
    void (*f)(int, int, void*);
    void* data;
  } closure{f, data};
  auto body = [](int task, TVMParallelGroupEnv* env, void* cdata) -> int {
    auto* c = static_cast<Closure*>(cdata);
    TVM_FFI_SAFE_CALL_BEGIN();
    c->f(task, env->num_task, c->data);
    TVM_FFI_SAFE_CALL_END();
  };
  TVM_FFI_CHECK_SAFE_CALL(ThreadPool::Global()->Run(body, &closure, num_task, false));
}

/// More threads than any machine has are a mistake, and starting them would take for ever.
static int CheckedThreads(int64_t count) {
  constexpr int64_t kMost = 1 << 16;
  TVM_REQUIRE(count <= kMost, ValueError)
      << "expected a number of threads of at most " << kMost << ", got " << count;
  return static_cast<int>(std::max<int64_t>(count, -1));
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def_packed("runtime.config_threadpool",
                  [](ffi::PackedArgs args, ffi::Any* rv) {
                    TVM_REQUIRE(args.size() >= 2, TypeError)
                        << "runtime.config_threadpool expects a mode and a number of threads, got "
                        << args.size() << " arguments";
                    std::vector<unsigned> cpus;
                    if (args.size() >= 3 && args[2] != nullptr) {
                      for (const ffi::String& s : args[2].cast<ffi::Array<ffi::String>>()) {
                        auto cpu = support::ParseInt(std::string_view(s.data(), s.size()));
                        TVM_REQUIRE(cpu.has_value() && *cpu >= 0, ValueError)
                            << "expected the number of a core, got \"" << s << "\"";
                        cpus.push_back(static_cast<unsigned>(*cpu));
                      }
                    }
                    int limit = args.size() >= 4 ? args[3].cast<int>() : 0;
                    threading::Configure(
                        static_cast<threading::ThreadGroup::AffinityMode>(args[0].cast<int>()),
                        CheckedThreads(args[1].cast<int64_t>()), cpus, limit);
                  })
      .def("runtime.NumThreads", []() { return threading::NumThreads(); })
      .def("tvm.runtime.threading.set_current_thread_affinity", [](ffi::Shape cpus) {
        std::vector<unsigned> list;
        for (int64_t cpu : cpus) {
          TVM_REQUIRE(cpu >= 0, ValueError) << "expected the number of a core, got " << cpu;
          list.push_back(static_cast<unsigned>(cpu));
        }
        TVM_REQUIRE(threading::SetAffinity(nullptr, list), RuntimeError)
            << "cannot restrict this thread to cores " << cpus;
      });
}

}  // namespace runtime
}  // namespace tvm

int TVMBackendParallelLaunch(FTVMParallelLambda flambda, void* cdata, int num_task) {
  using tvm::runtime::ThreadPool;
  try {
    return ThreadPool::Global()->Run(flambda, cdata, num_task, true);
  } catch (const std::exception& e) {
    TVMFFIErrorSetRaisedFromCStr("RuntimeError", e.what());
    return -1;
  }
}

int TVMBackendParallelBarrier(int task_id, TVMParallelGroupEnv* penv) {
  using tvm::runtime::Launch;
  auto* launch = static_cast<Launch*>(penv->sync_handle);
  if (launch->participants < penv->num_task) {
    std::string text = "Request parallel sync task larger than number of threads used: " +
                       std::to_string(penv->num_task) + " tasks on " +
                       std::to_string(launch->participants) + " threads";
    TVMFFIErrorSetRaisedFromCStr("InternalError", text.c_str());
    return -1;
  }
  auto n = static_cast<uint64_t>(penv->num_task);
  uint64_t ticket = launch->barrier_arrivals.fetch_add(1, std::memory_order_acq_rel);
  uint64_t target = (ticket / n + 1) * n;
  tvm::runtime::Backoff backoff;
  while (launch->barrier_arrivals.load(std::memory_order_acquire) < target) {
    // A task that failed never arrives.
    if (launch->failed.load(std::memory_order_acquire)) {
      TVMFFIErrorSetRaisedFromCStr("RuntimeError", "another task of the launch failed");
      return -1;
    }
    backoff.Pause();
  }
  return 0;
}
