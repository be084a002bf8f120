// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file checked_math.h
/// Integer arithmetic that reports overflow instead of wrapping.
#ifndef TVM_SUPPORT_CHECKED_MATH_H_
#define TVM_SUPPORT_CHECKED_MATH_H_

#include <cstdint>
#include <limits>
#include <type_traits>

namespace tvm {
namespace support {

/// Each returns false on overflow, and then leaves *out alone.
template <typename T>
[[nodiscard]] inline bool CheckedAdd(T a, T b, T* out) {
  static_assert(std::is_integral_v<T>);
  T r;
  if (__builtin_add_overflow(a, b, &r)) return false;
  *out = r;
  return true;
}
template <typename T>
[[nodiscard]] inline bool CheckedSub(T a, T b, T* out) {
  static_assert(std::is_integral_v<T>);
  T r;
  if (__builtin_sub_overflow(a, b, &r)) return false;
  *out = r;
  return true;
}
template <typename T>
[[nodiscard]] inline bool CheckedMul(T a, T b, T* out) {
  static_assert(std::is_integral_v<T>);
  T r;
  if (__builtin_mul_overflow(a, b, &r)) return false;
  *out = r;
  return true;
}
/// Quotient rounded toward minus infinity; false for b == 0 or min / -1.
template <typename T>
[[nodiscard]] inline bool CheckedFloorDiv(T a, T b, T* out) {
  static_assert(std::is_integral_v<T>);
  if (b == 0) return false;
  if constexpr (std::is_signed_v<T>) {
    if (b == T(-1) && a == std::numeric_limits<T>::min()) return false;
    T q = a / b;
    *out = static_cast<T>(q - ((a % b != 0) && ((a % b < 0) != (b < 0)) ? 1 : 0));
  } else {
    *out = a / b;
  }
  return true;
}
template <typename T>
inline constexpr T CeilDiv(T a, T b) {
  return static_cast<T>((a + b - 1) / b);
}
template <typename T>
inline constexpr T RoundUp(T a, T b) {
  return static_cast<T>(CeilDiv(a, b) * b);
}

}  // namespace support
}  // namespace tvm

#endif  // TVM_SUPPORT_CHECKED_MATH_H_
