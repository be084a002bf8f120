// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// Says when it is destroyed.
#include <tvm/ffi/c_api.h>

#include <cstdio>

namespace {
struct Tracer {
  ~Tracer() { std::puts("object destroyed"); }
} tracer;
__attribute__((destructor)) void Destructor() { std::puts("destructor"); }
}  // namespace

extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi_add(void*, const TVMFFIAny* args, int32_t,
                                                TVMFFIAny* result) {
  result->type_index = kTVMFFIInt;
  result->v_int64 = args[0].v_int64 + args[1].v_int64;
  return 0;
}
