// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/* Calls a function of a module that it imports, or carries, through its library context. */
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

TVM_FFI_DLL_EXPORT void* __tvm_ffi__library_ctx = NULL;

TVM_FFI_DLL_EXPORT int __tvm_ffi_call_imported(void* self, const TVMFFIAny* args, int32_t n,
                                               TVMFFIAny* result) {
  TVMFFIObjectHandle function = NULL;
  int status = TVMFFIEnvModLookupFromImports(__tvm_ffi__library_ctx, "add", &function);
  if (status != 0) return status;
  return TVMFFIFunctionCall(function, (TVMFFIAny*)args, n, result);
}

#ifdef WITH_MODULES
#ifdef DAMAGED
#define COUNT 200
#else
#define COUNT 3
#endif
#define U64(x) x, 0, 0, 0, 0, 0, 0, 0
// clang-format off
#ifdef BELOW
/* Two modules: one that imports this library. */
TVM_FFI_DLL_EXPORT const unsigned char __tvm_ffi__library_bin[] = {
    U64(91), U64(COUNT), U64(0), U64(1), U64(1), U64(1), U64(1),
    U64(11), 'o', 'r', 'c', 'j', 'i', 't', '_', 'r', 'o', 'o', 't',
    U64(4), 'b', 'o', 'd', 'y',
    U64(4), '_', 'l', 'i', 'b'};
#else
/* Two modules: this library, which imports the other. */
TVM_FFI_DLL_EXPORT const unsigned char __tvm_ffi__library_bin[] = {
    U64(91),                                                             /* length of the rest */
    U64(COUNT), U64(0), U64(1), U64(1),                                  /* import_indptr */
    U64(1), U64(1),                                                      /* import_indices */
    U64(4), '_', 'l', 'i', 'b',                                          /* kind */
    U64(11), 'o', 'r', 'c', 'j', 'i', 't', '_', 't', 'e', 's', 't',      /* kind */
    U64(4), 'b', 'o', 'd', 'y'};
#endif
// clang-format on
#endif
