// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Source lines in backtraces.
#include <gtest/gtest.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>

#include <string>
#include <thread>
#include <vector>

#ifdef TVM_FFI_TEST_BACKTRACE_PROBES
namespace probe {
std::string Dwarf4();
std::string Dwarf5();
}  // namespace probe
#endif

namespace {

using tvm::ffi::Error;
using tvm::ffi::Function;

#ifdef TVM_FFI_TEST_BACKTRACE_PROBES
void ExpectLines(const std::string& trace, const std::string& outer) {
  const size_t first = trace.find("backtrace_probe.cc\", line 14, in probe::(anonymous namespace)");
  ASSERT_NE(first, std::string::npos) << trace;
  EXPECT_EQ(trace.rfind("  File \"/", first), 0U) << trace;
  const size_t second = trace.find("backtrace_probe.cc\", line 21, in probe::" + outer, first);
  EXPECT_NE(second, std::string::npos) << trace;
}

TEST(Backtrace, LinesOfDwarf4) { ExpectLines(probe::Dwarf4(), "Dwarf4"); }

TEST(Backtrace, LinesOfDwarf5) {
  ExpectLines(probe::Dwarf5(), "Dwarf5");
  ExpectLines(probe::Dwarf5(), "Dwarf5");  // now from the cache
}

TEST(Backtrace, ManyThreads) {
  std::vector<std::thread> threads;
  std::vector<std::string> traces(8);
  for (std::string& trace : traces) {
    threads.emplace_back([&trace] {
      for (int i = 0; i < 50; ++i) trace = probe::Dwarf5();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& trace : traces) ExpectLines(trace, "Dwarf5");
}
#endif

[[gnu::noinline]] std::string Trace() {
  const TVMFFIByteArray* text = TVMFFIBacktrace(nullptr, 0, nullptr, 1);
  return std::string(text->data, text->size);
}

[[gnu::noinline]] std::string ThroughFirst() {
  std::string text = Trace();
  asm volatile("" ::: "memory");  // no tail call: the frame has to stay
  return text;
}

[[gnu::noinline]] std::string ThroughSecond() {
  std::string text = Trace();
  asm volatile("" ::: "memory");  // no tail call: the frame has to stay
  return text;
}

/// Its frame has room for `n` bytes more.
[[gnu::noinline]] std::string ThroughVariableFrame(int n, std::string (*next)()) {
  auto* room = static_cast<volatile char*>(__builtin_alloca(static_cast<size_t>(n)));
  room[n - 1] = 0;
  std::string text = next();
  room[0] = 1;
  return text;
}

[[gnu::noinline]] std::string Recursive(int depth) {
  std::string text = depth == 0 ? Trace() : Recursive(depth - 1);
  asm volatile("" ::: "memory");
  return text;
}

int Count(const std::string& text, const std::string& word) {
  int count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

/// A walk is remembered; another one from the same place must not be taken for it.
TEST(Backtrace, CallersAtTheSameDepth) {
  for (int round = 0; round < 4; ++round) {
    for (auto* function : {ThroughFirst, ThroughSecond}) {
      const std::string text = function();
      const bool first = function == ThroughFirst;
      EXPECT_EQ(Count(text, "ThroughFirst"), first ? 1 : 0) << text;
      EXPECT_EQ(Count(text, "ThroughSecond"), first ? 0 : 1) << text;
      EXPECT_EQ(Count(text, "CallersAtTheSameDepth"), 1) << text;
    }
  }
}

TEST(Backtrace, CallersAtOtherDepths) {
  for (int round = 0; round < 3; ++round) {
    for (int n : {16, 4096, 16, 64, 4096}) {
      const std::string text = ThroughVariableFrame(n, ThroughFirst);
      EXPECT_EQ(Count(text, "ThroughVariableFrame"), 1) << text;
      EXPECT_EQ(Count(text, "ThroughFirst"), 1) << text;
    }
    for (int depth : {0, 3, 1, 3, 100, 0}) {
      EXPECT_EQ(Count(Recursive(depth), "Recursive"), depth + 1);
    }
  }
}

/// What lies behind the call of a function is the business of its caller.
TEST(Backtrace, EndsAtTheBoundary) {
  Function fail = Function::FromTyped([]() { TVM_FFI_THROW(ValueError) << "no"; });
  TVMFFIAny result;
  result.type_index = kTVMFFINone;
  result.zero_padding = 0;
  result.v_int64 = 0;
  auto* handle = tvm::ffi::detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(fail);
  ASSERT_EQ(TVMFFIFunctionCall(handle, nullptr, 0, &result), -1);
  const Error error = tvm::ffi::detail::MoveFromSafeCallRaised();
  EXPECT_NE(error.backtrace().find("backtrace_test.cc\", line"), std::string::npos);
  EXPECT_EQ(error.backtrace().find("testing::Test"), std::string::npos) << error.backtrace();
}

}  // namespace
