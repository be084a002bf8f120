// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Element types of C++ types: `dtype_trait<T>::value`, known at compile time. For kernels written
/// as templates over their element type.
#ifndef TVM_FFI_EXTRA_DTYPE_H_
#define TVM_FFI_EXTRA_DTYPE_H_

#include <tvm/ffi/c_api.h>

#include <cstdint>
#include <type_traits>

// Types of the GPU toolkits. Only their names are needed, so their headers are not.
struct __half;
struct __nv_bfloat16;
struct __nv_fp8_e4m3;
struct __nv_fp8_e5m2;
struct __nv_fp8_e8m0;
struct __nv_fp4_e2m1;
struct __nv_fp4x2_e2m1;
struct __hip_bfloat16;
struct __hip_fp8_e4m3;
struct __hip_fp8_e4m3_fnuz;
struct __hip_fp8_e5m2;
struct __hip_fp8_e5m2_fnuz;
struct __hip_fp4_e2m1;
struct __hip_fp4x2_e2m1;

namespace tvm {
namespace ffi {

/// Storage for elements that C++ has no type for. They hold bits and do not calculate.
namespace dtypes {

template <typename Bits, uint8_t kCode, uint8_t kBits, uint16_t kLanes = 1>
struct Packed {
  Bits bits;
  static constexpr DLDataType value{kCode, kBits, kLanes};
};

using float16 = Packed<uint16_t, kDLFloat, 16>;
using bfloat16 = Packed<uint16_t, kDLBfloat, 16>;
using float8_e3m4 = Packed<uint8_t, kDLFloat8_e3m4, 8>;
using float8_e4m3 = Packed<uint8_t, kDLFloat8_e4m3, 8>;
using float8_e4m3b11fnuz = Packed<uint8_t, kDLFloat8_e4m3b11fnuz, 8>;
using float8_e4m3fn = Packed<uint8_t, kDLFloat8_e4m3fn, 8>;
using float8_e4m3fnuz = Packed<uint8_t, kDLFloat8_e4m3fnuz, 8>;
using float8_e5m2 = Packed<uint8_t, kDLFloat8_e5m2, 8>;
using float8_e5m2fnuz = Packed<uint8_t, kDLFloat8_e5m2fnuz, 8>;
using float8_e8m0fnu = Packed<uint8_t, kDLFloat8_e8m0fnu, 8>;
/// Two elements in a byte.
using float4_e2m1fnx2 = Packed<uint8_t, kDLFloat4_e2m1fn, 4, 2>;

}  // namespace dtypes

/// Not defined for types that are no elements of tensors.
template <typename T, typename = void>
struct dtype_trait;

template <typename T>
struct dtype_trait<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>> {
  static constexpr DLDataType value{std::is_signed_v<T> ? kDLInt : kDLUInt, sizeof(T) * 8, 1};
};

template <typename T>
struct dtype_trait<T, std::enable_if_t<std::is_same_v<T, float> || std::is_same_v<T, double>>> {
  static constexpr DLDataType value{kDLFloat, sizeof(T) * 8, 1};
};

template <>
struct dtype_trait<bool> {
  static constexpr DLDataType value{kDLBool, 8, 1};
};

template <>
struct dtype_trait<void*> {
  static constexpr DLDataType value{kDLOpaqueHandle, 64, 1};
};

template <typename Bits, uint8_t kCode, uint8_t kBits, uint16_t kLanes>
struct dtype_trait<dtypes::Packed<Bits, kCode, kBits, kLanes>> {
  static constexpr DLDataType value = dtypes::Packed<Bits, kCode, kBits, kLanes>::value;
};

template <>
struct dtype_trait<__half> : dtype_trait<dtypes::float16> {};
template <>
struct dtype_trait<__nv_bfloat16> : dtype_trait<dtypes::bfloat16> {};
template <>
struct dtype_trait<__nv_fp8_e4m3> : dtype_trait<dtypes::float8_e4m3fn> {};
template <>
struct dtype_trait<__nv_fp8_e5m2> : dtype_trait<dtypes::float8_e5m2> {};
template <>
struct dtype_trait<__nv_fp8_e8m0> : dtype_trait<dtypes::float8_e8m0fnu> {};
template <>
struct dtype_trait<__nv_fp4_e2m1> {
  static constexpr DLDataType value{kDLFloat4_e2m1fn, 4, 1};
};
template <>
struct dtype_trait<__nv_fp4x2_e2m1> : dtype_trait<dtypes::float4_e2m1fnx2> {};
template <>
struct dtype_trait<__hip_bfloat16> : dtype_trait<dtypes::bfloat16> {};
template <>
struct dtype_trait<__hip_fp8_e4m3> : dtype_trait<dtypes::float8_e4m3fn> {};
template <>
struct dtype_trait<__hip_fp8_e4m3_fnuz> : dtype_trait<dtypes::float8_e4m3fnuz> {};
template <>
struct dtype_trait<__hip_fp8_e5m2> : dtype_trait<dtypes::float8_e5m2> {};
template <>
struct dtype_trait<__hip_fp8_e5m2_fnuz> : dtype_trait<dtypes::float8_e5m2fnuz> {};
template <>
struct dtype_trait<__hip_fp4_e2m1> : dtype_trait<__nv_fp4_e2m1> {};
template <>
struct dtype_trait<__hip_fp4x2_e2m1> : dtype_trait<dtypes::float4_e2m1fnx2> {};

}  // namespace ffi
}  // namespace tvm

/// The older place of the trait.
namespace tvm_ffi {
using ::tvm::ffi::dtype_trait;
}  // namespace tvm_ffi
#endif  // TVM_FFI_EXTRA_DTYPE_H_
