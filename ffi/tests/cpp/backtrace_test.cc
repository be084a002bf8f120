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
