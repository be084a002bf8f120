// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// A thread-local variable that several objects may define.
#include <tvm/ffi/c_api.h>

#ifdef HIDDEN_INLINE
inline thread_local int64_t shared_variable = 7;
inline thread_local int64_t other_variable = 1;
#else
static thread_local int64_t shared_variable = 7;
static thread_local int64_t other_variable = 1;
#endif

extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi_next(void*, const TVMFFIAny*, int32_t,
                                                 TVMFFIAny* result) {
  result->type_index = kTVMFFIInt;
  result->v_int64 = shared_variable += other_variable;
  return 0;
}
