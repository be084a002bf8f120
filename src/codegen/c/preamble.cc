// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "codegen/c/codegen_c.h"

namespace tvm {
namespace codegen {

const char kCPreamble[] = R"c(#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__has_include) && __has_include(<tvm/ffi/c_api.h>)
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>
#else
// The part of the C API that compiled code uses.
typedef struct {
  int32_t device_type;
  int32_t device_id;
} DLDevice;
typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;
typedef struct {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} DLTensor;
typedef struct {
  int32_t type_index;
  uint32_t zero_padding;
  union {
    int64_t v_int64;
    double v_float64;
    void* v_ptr;
    void* v_obj;
  };
} TVMFFIAny;
enum {
  kTVMFFINone = 0,
  kTVMFFIInt = 1,
  kTVMFFIBool = 2,
  kTVMFFIFloat = 3,
  kTVMFFIOpaquePtr = 4,
  kTVMFFIDLTensorPtr = 7,
  kTVMFFIStaticObjectBegin = 64,
  kTVMFFITensor = 70
};
int TVMFFIFunctionCall(void*, TVMFFIAny*, int32_t, TVMFFIAny*);
int TVMFFIEnvModLookupFromImports(void*, const char*, void**);
int TVMFFIObjectDecRef(void*);
void TVMFFIErrorSetRaisedFromCStrParts(const char*, const char**, int32_t);
#endif

void* TVMBackendAllocWorkspace(int, int, uint64_t, int, int);
int TVMBackendFreeWorkspace(int, int, void*);

#define TVM_C_EXPORT __attribute__((visibility("default")))
TVM_C_EXPORT __attribute__((weak)) void* __tvm_ffi__library_ctx = NULL;

static inline int tvm_anylist_move(TVMFFIAny* list, int64_t index, const TVMFFIAny* value) {
  TVMFFIAny old = list[index];
  TVMFFIAny none = {0};
  list[index] = value ? *value : none;
  return old.type_index >= kTVMFFIStaticObjectBegin ? TVMFFIObjectDecRef(old.v_obj) : 0;
}

#define TVM_C_DIVIDE(T, S, U)                                                                    \
  static inline T tvm_truncdiv_##S(T a, T b) {                                                   \
    return b == 0 ? 0 : b == (T)-1 ? (T)(0 - (U)a) : a / b;                                      \
  }                                                                                              \
  static inline T tvm_truncmod_##S(T a, T b) { return b == 0 || b == (T)-1 ? 0 : a % b; }        \
  static inline T tvm_floormod_##S(T a, T b) {                                                   \
    T r = tvm_truncmod_##S(a, b);                                                                \
    return r != 0 && (r < 0) != (b < 0) ? (T)(r + b) : r;                                        \
  }                                                                                              \
  static inline T tvm_floordiv_##S(T a, T b) {                                                   \
    T r = tvm_truncmod_##S(a, b);                                                                \
    T q = tvm_truncdiv_##S(a, b);                                                                \
    return r != 0 && (r < 0) != (b < 0) ? (T)(q - 1) : q;                                        \
  }
#define TVM_C_UDIVIDE(T, S)                                                                      \
  static inline T tvm_truncdiv_##S(T a, T b) { return b == 0 ? 0 : a / b; }                      \
  static inline T tvm_truncmod_##S(T a, T b) { return b == 0 ? 0 : a % b; }                      \
  static inline T tvm_floordiv_##S(T a, T b) { return b == 0 ? 0 : a / b; }                      \
  static inline T tvm_floormod_##S(T a, T b) { return b == 0 ? 0 : a % b; }
#define TVM_C_SHIFT(T, S, U)                                                                     \
  static inline T tvm_shl_##S(T a, T b) {                                                        \
    return (U)b < sizeof(T) * 8 ? (T)((U)a << (U)b) : 0;                                         \
  }                                                                                              \
  static inline T tvm_shr_##S(T a, T b) {                                                        \
    return (U)b < sizeof(T) * 8 ? (T)(a >> (U)b) : (T)(a < 0 ? -1 : 0);                          \
  }
#define TVM_C_MINMAX(T, S)                                                                       \
  static inline T tvm_min_##S(T a, T b) { return a < b ? a : b; }                                \
  static inline T tvm_max_##S(T a, T b) { return a > b ? a : b; }
#define TVM_C_INT(T, S, U) TVM_C_DIVIDE(T, S, U) TVM_C_SHIFT(T, S, U) TVM_C_MINMAX(T, S)
#define TVM_C_UINT(T, S) TVM_C_UDIVIDE(T, S) TVM_C_SHIFT(T, S, T) TVM_C_MINMAX(T, S)
TVM_C_INT(int8_t, int8, uint8_t)
TVM_C_INT(int16_t, int16, uint16_t)
TVM_C_INT(int32_t, int32, uint32_t)
TVM_C_INT(int64_t, int64, uint64_t)
TVM_C_UINT(uint8_t, uint8)
TVM_C_UINT(uint16_t, uint16)
TVM_C_UINT(uint32_t, uint32)
TVM_C_UINT(uint64_t, uint64)
TVM_C_MINMAX(bool, bool)

#define TVM_C_FLOAT(T, S, FLOOR)                                                                 \
  static inline T tvm_min_##S(T a, T b) { return a < b || a != a ? a : b; }                      \
  static inline T tvm_max_##S(T a, T b) { return a > b || a != a ? a : b; }                      \
  static inline T tvm_floordiv_##S(T a, T b) { return FLOOR(a / b); }                            \
  static inline T tvm_floormod_##S(T a, T b) {                                                   \
    volatile T product = b * FLOOR(a / b); /* rounded before the subtraction */                  \
    return a - product;                                                                          \
  }
TVM_C_FLOAT(float, float32, floorf)
TVM_C_FLOAT(double, float64, floor)

#define TVM_C_SATURATE(T, S, MIN, MAX)                                                           \
  static inline T tvm_saturate_##S(double x) {                                                   \
    return x != x ? 0 : x <= (double)MIN ? MIN : x >= (double)MAX ? MAX : (T)x;                  \
  }
TVM_C_SATURATE(int8_t, int8, INT8_MIN, INT8_MAX)
TVM_C_SATURATE(int16_t, int16, INT16_MIN, INT16_MAX)
TVM_C_SATURATE(int32_t, int32, INT32_MIN, INT32_MAX)
TVM_C_SATURATE(int64_t, int64, INT64_MIN, INT64_MAX)
TVM_C_SATURATE(uint8_t, uint8, 0, UINT8_MAX)
TVM_C_SATURATE(uint16_t, uint16, 0, UINT16_MAX)
TVM_C_SATURATE(uint32_t, uint32, 0, UINT32_MAX)
TVM_C_SATURATE(uint64_t, uint64, 0, UINT64_MAX)

static inline bool tvm_isnan(double x) { return x != x; }
static inline bool tvm_isinf(double x) { return x == (double)INFINITY || x == -(double)INFINITY; }
static inline int64_t tvm_multiply_shift(int64_t x, int64_t y, int64_t left, int64_t right) {
  int64_t product = (int64_t)((uint64_t)x << left) * y;
  return (product + ((int64_t)1 << (right - 1))) >> right;
}
)c";

}  // namespace codegen
}  // namespace tvm
