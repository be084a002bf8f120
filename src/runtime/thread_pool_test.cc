// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <gtest/gtest.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/runtime/c_backend_api.h>
#include <tvm/runtime/threading_backend.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace tvm {
namespace runtime {
namespace {

class ThreadPoolTest : public ::testing::Test {
 protected:
  void SetUp() override { threading::Configure(threading::ThreadGroup::kBig, 4, {}); }
  void TearDown() override { threading::Configure(threading::ThreadGroup::kBig, 0, {}); }
};

std::string RaisedMessage() {
  TVMFFIObjectHandle handle = nullptr;
  TVMFFIErrorMoveFromRaised(&handle);
  if (handle == nullptr) return "";
  TVMFFIErrorCell* cell = TVMFFIErrorGetCellPtr(handle);
  std::string out = std::string(cell->kind.data, cell->kind.size) + ": " +
                    std::string(cell->message.data, cell->message.size);
  TVMFFIObjectDecRef(handle);
  return out;
}

TEST_F(ThreadPoolTest, EachTaskRunsOnce) {
  EXPECT_EQ(threading::NumThreads(), 4);
  for (int num_task : {1, 2, 4, 7, 64}) {
    std::vector<std::atomic<int>> hits(static_cast<size_t>(num_task));
    auto body = [](int task, TVMParallelGroupEnv* env, void* data) {
      auto& h = *static_cast<std::vector<std::atomic<int>>*>(data);
      EXPECT_EQ(env->num_task, static_cast<int>(h.size()));
      h[static_cast<size_t>(task)].fetch_add(1);
      return 0;
    };
    ASSERT_EQ(TVMBackendParallelLaunch(body, &hits, num_task), 0);
    for (auto& h : hits) EXPECT_EQ(h.load(), 1);
  }
}

TEST_F(ThreadPoolTest, TasksOfALateThreadAreTakenOver) {
  // The first task lasts until all others are done, so its neighbours must go to other threads.
  struct State {
    std::atomic<int> done{0};
    std::atomic<bool> late{false};
  } state;
  constexpr int kTasks = 64;
  auto body = [](int task, TVMParallelGroupEnv*, void* data) {
    auto* s = static_cast<State*>(data);
    if (task == 0) {
      auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (s->done.load() < kTasks - 1) {
        if (std::chrono::steady_clock::now() > end) {
          s->late.store(true);
          return 0;
        }
        std::this_thread::yield();
      }
    }
    s->done.fetch_add(1);
    return 0;
  };
  ASSERT_EQ(TVMBackendParallelLaunch(body, &state, kTasks), 0);
  EXPECT_FALSE(state.late.load());
  EXPECT_EQ(state.done.load(), kTasks);
}

TEST_F(ThreadPoolTest, ZeroMeansAllAndBarrierHolds) {
  struct State {
    std::atomic<int> before{0};
    std::atomic<bool> ok{true};
  };
  for (int round = 0; round < 40; ++round) {
    State state;
    auto body = [](int task, TVMParallelGroupEnv* env, void* data) {
      auto* s = static_cast<State*>(data);
      for (int phase = 1; phase <= 3; ++phase) {
        s->before.fetch_add(1);
        if (TVMBackendParallelBarrier(task, env) != 0) return -1;
        if (s->before.load() < phase * env->num_task) s->ok = false;
        if (TVMBackendParallelBarrier(task, env) != 0) return -1;
      }
      return 0;
    };
    ASSERT_EQ(TVMBackendParallelLaunch(body, &state, round % 2 == 0 ? 0 : 3), 0);
    EXPECT_TRUE(state.ok.load());
  }
}

TEST_F(ThreadPoolTest, ErrorsKeepKindAndMessage) {
  auto body = [](int task, TVMParallelGroupEnv*, void*) {
    if (task < 2) return 0;
    TVMFFIErrorSetRaisedFromCStr("ValueError", ("bad task " + std::to_string(task)).c_str());
    return -1;
  };
  EXPECT_EQ(TVMBackendParallelLaunch(body, nullptr, 4), -1);
  EXPECT_EQ(RaisedMessage(), "ValueError: bad task 2");
  // A single task takes the same path.
  auto one = [](int, TVMParallelGroupEnv*, void*) { return 5; };
  EXPECT_EQ(TVMBackendParallelLaunch(one, nullptr, 1), -1);
  EXPECT_NE(RaisedMessage().find("RuntimeError: Task 0 error: "), std::string::npos);
}

TEST_F(ThreadPoolTest, FailureReleasesBarrier) {
  auto body = [](int task, TVMParallelGroupEnv* env, void*) {
    if (task == 1) {
      TVMFFIErrorSetRaisedFromCStr("TypeError", "stop");
      return -1;
    }
    return TVMBackendParallelBarrier(task, env);
  };
  EXPECT_EQ(TVMBackendParallelLaunch(body, nullptr, 4), -1);
  // Which error is kept depends on the tasks' order; one is, and nothing hangs.
  EXPECT_NE(RaisedMessage(), "");
}

TEST_F(ThreadPoolTest, BarrierWithTooManyTasksIsAnError) {
  auto body = [](int task, TVMParallelGroupEnv* env, void*) {
    return TVMBackendParallelBarrier(task, env);
  };
  EXPECT_EQ(TVMBackendParallelLaunch(body, nullptr, 64), -1);
  EXPECT_NE(RaisedMessage().find("Request parallel sync task larger than number of threads used"),
            std::string::npos);
}

TEST_F(ThreadPoolTest, NestedLaunchRunsInline) {
  std::atomic<int> count{0};
  auto outer = [](int, TVMParallelGroupEnv*, void* data) {
    auto inner = [](int, TVMParallelGroupEnv* env, void* d) {
      static_cast<std::atomic<int>*>(d)->fetch_add(env->num_task);
      return 0;
    };
    return TVMBackendParallelLaunch(inner, data, 0);
  };
  ASSERT_EQ(TVMBackendParallelLaunch(outer, &count, 4), 0);
  EXPECT_EQ(count.load(), 4);
}

TEST_F(ThreadPoolTest, ManyCallers) {
  std::vector<std::thread> callers;
  std::atomic<int64_t> total{0};
  std::atomic<int> active{0}, most{0};
  for (int c = 0; c < 6; ++c) {
    callers.emplace_back([&] {
      for (int round = 0; round < 100; ++round) {
        std::vector<int64_t> parts(64, 0);
        parallel_for_with_threading_backend(
            [&](int64_t i) {
              int now = active.fetch_add(1) + 1;
              int seen = most.load();
              while (now > seen && !most.compare_exchange_weak(seen, now)) {
              }
              parts[static_cast<size_t>(i)] = i;
              active.fetch_sub(1);
            },
            0, 64);
        total += std::accumulate(parts.begin(), parts.end(), int64_t{0});
      }
    });
  }
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(total.load(), int64_t{6} * 100 * 2016);
  // Six callers and the workers they claim: at most one thread a caller beyond the limit of four.
  EXPECT_LE(most.load(), 6 + 3);
}

TEST_F(ThreadPoolTest, ExplicitBarriersOfManyCallersEnd) {
  std::vector<std::thread> callers;
  std::atomic<int> failures{0};
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      auto body = [](int task, TVMParallelGroupEnv* env, void*) {
        return TVMBackendParallelBarrier(task, env);
      };
      for (int round = 0; round < 20; ++round) {
        if (TVMBackendParallelLaunch(body, nullptr, 4) != 0) failures.fetch_add(1);
      }
    });
  }
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(failures.load(), 0);
}

TEST_F(ThreadPoolTest, ExceptionOfParallelForArrives) {
  try {
    parallel_for_with_threading_backend(
        [](int64_t i) {
          if (i == 17) TVM_FFI_THROW(IndexError) << "at " << i;
        },
        0, 32);
    FAIL() << "no error";
  } catch (const ffi::Error& e) {
    EXPECT_EQ(std::string(e.kind().data(), e.kind().size()), "IndexError");
    EXPECT_STREQ(e.what(), "at 17");
  }
}

TEST_F(ThreadPoolTest, ConfigureChangesTheNumber) {
  auto config = ffi::Function::GetGlobalRequired("runtime.config_threadpool");
  auto num = ffi::Function::GetGlobalRequired("runtime.NumThreads");
  config(1, 2);
  EXPECT_EQ(num().cast<int>(), 2);
  config(1, 3);
  EXPECT_EQ(num().cast<int>(), 3);
  EXPECT_THROW(config(5, 2), ffi::Error);
}

}  // namespace
}  // namespace runtime
}  // namespace tvm
