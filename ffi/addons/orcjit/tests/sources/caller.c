// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/* Uses what other objects define. */
#include <tvm/ffi/c_api.h>

int64_t orcjit_test_base(int64_t x);
extern int64_t orcjit_test_value;

TVM_FFI_DLL_EXPORT int __tvm_ffi_call_base(void* self, const TVMFFIAny* args, int32_t n,
                                           TVMFFIAny* result) {
  result->type_index = kTVMFFIInt;
  result->v_int64 = orcjit_test_base(args[0].v_int64) + orcjit_test_value;
  return 0;
}
