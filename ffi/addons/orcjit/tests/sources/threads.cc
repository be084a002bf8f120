// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// Thread-local variables of its own and of the C++ library.
#include <tvm/ffi/c_api.h>

#include <atomic>
#include <mutex>
#include <thread>

namespace orcjit_test {
#ifndef VISIBLE
namespace {
#endif

std::atomic<int64_t> alive{0};

struct Counted {
  Counted() { ++alive; }
  ~Counted() { --alive; }
  int64_t uses = 0;
};

thread_local int64_t initialized = 40;  // .tdata
thread_local int64_t zero;              // .tbss
thread_local Counted counted;           // with destructor

int64_t Step() { return ++initialized * 10000 + ++zero * 100 + ++counted.uses; }

#ifndef VISIBLE
}  // namespace
#endif
}  // namespace orcjit_test

using orcjit_test::Step;

extern "C" {

TVM_FFI_DLL_EXPORT int __tvm_ffi_step(void*, const TVMFFIAny*, int32_t, TVMFFIAny* result) {
  result->type_index = kTVMFFIInt;
  result->v_int64 = Step();
  return 0;
}

/// Steps of a fresh thread; then the number of counted objects left in other threads.
TVM_FFI_DLL_EXPORT int __tvm_ffi_step_in_thread(void*, const TVMFFIAny*, int32_t,
                                                TVMFFIAny* result) {
  int64_t value = 0;
  std::once_flag once;
  std::call_once(once, [&] {  // uses thread-local variables of the C++ library
    std::thread thread([&] {
      Step();
      value = Step();
    });
    thread.join();
  });
  result->type_index = kTVMFFIInt;
  result->v_int64 = value;
  return 0;
}

TVM_FFI_DLL_EXPORT int __tvm_ffi_alive(void*, const TVMFFIAny*, int32_t, TVMFFIAny* result) {
  result->type_index = kTVMFFIInt;
  result->v_int64 = orcjit_test::alive.load();
  return 0;
}
}
