// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
//
// What compiled code needs besides its kernels; linked, hidden, once into every compiled library
// and JIT session. The runtime sets the `__TVMBackend*` pointers when it loads the library; without
// libtvm_runtime they stay null and the library still runs, single-threaded, on malloc.
#include <stdint.h>
#include <stdlib.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

#ifndef TVM_GLUE
#define TVM_GLUE __attribute__((weak, visibility("hidden")))
#endif
#ifndef TVM_GLUE_EXPORT
#define TVM_GLUE_EXPORT __attribute__((weak, visibility("default")))
#endif

typedef struct {
  void* sync_handle;
  int32_t num_task;
} TVMGlueParallelEnv;

typedef int (*TVMGlueTask)(int task_id, TVMGlueParallelEnv* env, void* cdata);

// Written by the loader.
TVM_GLUE_EXPORT void* __tvm_ffi__library_ctx = NULL;
TVM_GLUE_EXPORT int (*__TVMBackendParallelLaunch)(TVMGlueTask, void*, int) = NULL;
TVM_GLUE_EXPORT int (*__TVMBackendParallelBarrier)(int, TVMGlueParallelEnv*) = NULL;
TVM_GLUE_EXPORT void* (*__TVMBackendAllocWorkspace)(int, int, uint64_t, int, int) = NULL;
TVM_GLUE_EXPORT int (*__TVMBackendFreeWorkspace)(int, int, void*) = NULL;

TVM_GLUE int __tvm_parallel_launch(TVMGlueTask task, void* cdata, int num_task) {
  if (__TVMBackendParallelLaunch) return __TVMBackendParallelLaunch(task, cdata, num_task);
  TVMGlueParallelEnv env = {NULL, num_task > 0 ? num_task : 1};
  for (int id = 0; id < env.num_task; ++id) {
    int status = task(id, &env, cdata);
    if (status != 0) return status;
  }
  return 0;
}

TVM_GLUE int __tvm_parallel_barrier(int task_id, TVMGlueParallelEnv* env) {
  return __TVMBackendParallelBarrier ? __TVMBackendParallelBarrier(task_id, env) : 0;
}

TVM_GLUE void* __tvm_alloc_workspace(int device_type, int device_id, uint64_t nbytes, int code,
                                     int bits) {
  if (__TVMBackendAllocWorkspace) {
    return __TVMBackendAllocWorkspace(device_type, device_id, nbytes, code, bits);
  }
  if (device_type != 1) return NULL;
  return aligned_alloc(64, (nbytes + 127) / 64 * 64);
}

TVM_GLUE int __tvm_free_workspace(int device_type, int device_id, void* pointer) {
  if (__TVMBackendFreeWorkspace) return __TVMBackendFreeWorkspace(device_type, device_id, pointer);
  free(pointer);
  return 0;
}

// Resolves a packed function by name once; racing threads find the same borrowed handle.
TVM_GLUE void* __tvm_lookup_function(void** slot, const char* name) {
  void* known = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
  if (known) return known;
  TVMFFIObjectHandle handle = NULL;
  if (TVMFFIEnvModLookupFromImports(__tvm_ffi__library_ctx, name, &handle) != 0) return NULL;
  __atomic_store_n(slot, (void*)handle, __ATOMIC_RELEASE);
  return (void*)handle;
}

// Moves a value into an element of a list and lets go of the old one; null clears the element.
TVM_GLUE int __tvm_anylist_move(TVMFFIAny* list, int64_t index, const TVMFFIAny* value) {
  TVMFFIAny old = list[index];
  TVMFFIAny none = {0};
  list[index] = value ? *value : none;
  return old.type_index >= kTVMFFIStaticObjectBegin ? TVMFFIObjectDecRef(old.v_obj) : 0;
}

// The constants of an executable, placed by the object writer; absent in a JIT session.
extern const char __tvm_const_blob[] __attribute__((weak));

TVM_GLUE_EXPORT int __tvm_ffi___tvm_const_base(void* self, const TVMFFIAny* args, int32_t num_args,
                                               TVMFFIAny* result) {
  (void)self;
  (void)args;
  (void)num_args;
  const char* base = __tvm_const_blob;
  result->type_index = base ? kTVMFFIOpaquePtr : kTVMFFINone;
  result->zero_padding = 0;
  result->v_int64 = (int64_t)(intptr_t)base;
  return 0;
}

// Half precision on processors without conversion instructions: LLVM calls these. Integer
// arithmetic only, so that none calls itself.
typedef union {
  _Float16 value;
  uint16_t bits;
} TVMHalf;

// Rounds sign, biased exponent (of a float64) and a 52-bit fraction to half, ties to even.
static uint16_t TVMRoundToHalf(uint64_t bits) {
  const uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
  const int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
  uint64_t fraction = bits & 0xfffffffffffffull;
  if (exponent == 1024) return (uint16_t)(sign | 0x7c00 | (fraction ? 0x200 | fraction >> 42 : 0));
  if (exponent > 15) return (uint16_t)(sign | 0x7c00);
  if (exponent < -25) return sign;
  int shift = 42;
  uint64_t result = (uint64_t)(exponent + 15) << 10;
  if (exponent < -14) {  // subnormal: the leading one becomes part of the fraction
    fraction |= 1ull << 52;
    shift += -14 - exponent;
    result = 0;
  }
  result += fraction >> shift;
  const uint64_t rest = fraction & ((1ull << shift) - 1);
  const uint64_t half = 1ull << (shift - 1);
  if (rest > half || (rest == half && (result & 1))) ++result;  // may carry into infinity
  return (uint16_t)(sign | result);
}

TVM_GLUE _Float16 __truncdfhf2(double value) {
  union {
    double value;
    uint64_t bits;
  } in = {value};
  TVMHalf out;
  out.bits = TVMRoundToHalf(in.bits);
  return out.value;
}

// Widening a float is exact, so both narrowings are one.
TVM_GLUE _Float16 __truncsfhf2(float value) { return __truncdfhf2((double)value); }

TVM_GLUE float __extendhfsf2(_Float16 value) {
  TVMHalf in;
  in.value = value;
  const uint32_t sign = (uint32_t)(in.bits & 0x8000) << 16;
  uint32_t exponent = in.bits >> 10 & 0x1f;
  uint32_t fraction = in.bits & 0x3ff;
  union {
    uint32_t bits;
    float value;
  } out;
  if (exponent == 0x1f) {
    out.bits = sign | 0x7f800000 | (fraction ? 0x400000 | fraction << 13 : 0);
  } else if (exponent == 0 && fraction == 0) {
    out.bits = sign;
  } else {
    if (exponent == 0) {  // subnormal: normalize
      exponent = 1;
      while (!(fraction & 0x400)) {
        fraction <<= 1;
        --exponent;
      }
      fraction &= 0x3ff;
    }
    out.bits = sign | (exponent + 112) << 23 | fraction << 13;
  }
  return out.value;
}
