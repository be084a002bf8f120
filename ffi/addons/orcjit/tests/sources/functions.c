// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/* Functions by the C ABI alone. OFFSET and NAME make variants of the same object. */
#include <tvm/ffi/c_api.h>

#ifndef OFFSET
#define OFFSET 0
#endif

static int64_t counter = OFFSET;

TVM_FFI_DLL_EXPORT int __tvm_ffi_add(void* self, const TVMFFIAny* args, int32_t n,
                                     TVMFFIAny* result) {
  result->type_index = kTVMFFIInt;
  result->v_int64 = args[0].v_int64 + args[1].v_int64 + OFFSET;
  return 0;
}

TVM_FFI_DLL_EXPORT int __tvm_ffi_count(void* self, const TVMFFIAny* args, int32_t n,
                                       TVMFFIAny* result) {
  result->type_index = kTVMFFIInt;
  result->v_int64 = ++counter;
  return 0;
}

TVM_FFI_DLL_EXPORT int __tvm_ffi_fail(void* self, const TVMFFIAny* args, int32_t n,
                                      TVMFFIAny* result) {
  TVMFFIErrorSetRaisedFromCStr("ValueError", "failed as asked");
  return -1;
}

TVM_FFI_DLL_EXPORT int __tvm_ffi__doc_add(void* self, const TVMFFIAny* args, int32_t n,
                                          TVMFFIAny* result) {
  TVMFFIByteArray text = {"adds two integers", 17};
  return TVMFFIStringFromByteArray(&text, result);
}
