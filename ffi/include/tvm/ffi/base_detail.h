// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Compiler macros and the stable hash shared by every header.
#ifndef TVM_FFI_BASE_DETAIL_H_
#define TVM_FFI_BASE_DETAIL_H_

#include <tvm/ffi/c_api.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(_MSC_VER)
#define TVM_FFI_INLINE [[msvc::forceinline]] inline
#define TVM_FFI_NO_INLINE [[msvc::noinline]]
#define TVM_FFI_COLD_CODE
#define TVM_FFI_UNREACHABLE() __assume(false)
#define TVM_FFI_PREDICT_TRUE(cond) (cond)
#define TVM_FFI_PREDICT_FALSE(cond) (cond)
#define TVM_FFI_UNSAFE_ASSUME(cond) __assume(cond)
#define TVM_FFI_FUNC_SIG __FUNCSIG__
#define TVM_FFI_WEAK __declspec(selectany)
#else
#define TVM_FFI_INLINE [[gnu::always_inline]] inline
#define TVM_FFI_NO_INLINE [[gnu::noinline]]
/// Keeps error paths out of the hot text.
#define TVM_FFI_COLD_CODE [[gnu::cold]]
#define TVM_FFI_UNREACHABLE() __builtin_unreachable()
#define TVM_FFI_PREDICT_TRUE(cond) (__builtin_expect(static_cast<bool>(cond), 1))
#define TVM_FFI_PREDICT_FALSE(cond) (__builtin_expect(static_cast<bool>(cond), 0))
#if defined(__clang__)
#define TVM_FFI_UNSAFE_ASSUME(cond) __builtin_assume(cond)
#else
#define TVM_FFI_UNSAFE_ASSUME(cond)       \
  do {                                    \
    if (!(cond)) __builtin_unreachable(); \
  } while (0)
#endif
#define TVM_FFI_FUNC_SIG __PRETTY_FUNCTION__
#define TVM_FFI_WEAK __attribute__((weak))
#endif

#define TVM_FFI_STR_CONCAT_(__x, __y) __x##__y
#define TVM_FFI_STR_CONCAT(__x, __y) TVM_FFI_STR_CONCAT_(__x, __y)

/// On 32-bit hosts a pointer leaves the upper payload half untouched; equality needs it zero.
#define TVM_FFI_CLEAR_PTR_PADDING_IN_FFI_ANY(result)                    \
  if constexpr (sizeof((result)->v_ptr) != sizeof((result)->v_int64)) { \
    (result)->v_int64 = 0;                                              \
  }

#define TVM_FFI_STATIC_INIT_BLOCK_DEF_(FnName)                                             \
  static void FnName();                                                                    \
  [[maybe_unused]] static const bool TVM_FFI_STR_CONCAT(FnName, _done) = (FnName(), true); \
  static void FnName()

/// `TVM_FFI_STATIC_INIT_BLOCK() { ... }` runs its body when the library is loaded, in file order.
#define TVM_FFI_STATIC_INIT_BLOCK() \
  TVM_FFI_STATIC_INIT_BLOCK_DEF_(TVM_FFI_STR_CONCAT(__TVMFFIStaticInitFunc, __COUNTER__))

namespace tvm {
namespace ffi {
namespace detail {

struct for_each_dispatcher {
  template <typename F, typename... Args, size_t... I>
  static void run(std::index_sequence<I...>, const F& f, Args&&... args) {
    (f(I, std::forward<Args>(args)), ...);
  }
};

/// Calls `f(position, arg)` for each argument in order.
template <typename F, typename... Args>
void for_each(const F& f, Args&&... args) {
  for_each_dispatcher::run(std::index_sequence_for<Args...>{}, f, std::forward<Args>(args)...);
}

/// Hash values are ABI: containers built in one library are probed in another.
template <typename T, std::enable_if_t<std::is_convertible_v<T, uint64_t>, bool> = true>
TVM_FFI_INLINE uint64_t StableHashCombine(uint64_t key, const T& value) {
  return key ^ (static_cast<uint64_t>(value) + 0x9e3779b9 + (key << 6) + (key >> 2));
}

inline constexpr uint64_t kStableHashFactor = 1099511628211ULL;
inline constexpr uint64_t kStableHashModulus = 2147483647ULL;

/// Loads up to 8 bytes as a little-endian word, zero padded.
TVM_FFI_INLINE uint64_t LoadWordLE(const char* data, size_t num_bytes) {
  uint64_t word = 0;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  for (size_t i = 0; i < num_bytes; ++i) {
    word |= static_cast<uint64_t>(static_cast<uint8_t>(data[i])) << (8 * i);
  }
#else
  std::memcpy(&word, data, num_bytes);
#endif
  return word;
}

inline uint64_t StableHashBytes(const void* data_ptr, size_t size) {
  const char* cursor = static_cast<const char*>(data_ptr);
  uint64_t hash = 0;
  for (; size >= 8; size -= 8, cursor += 8) {
    hash = (hash * kStableHashFactor + LoadWordLE(cursor, 8)) % kStableHashModulus;
  }
  if (size != 0) {
    hash = (hash * kStableHashFactor + LoadWordLE(cursor, size)) % kStableHashModulus;
  }
  return hash;
}

/// Same value as StableHashBytes over the content of a small string: one padded word.
TVM_FFI_INLINE uint64_t StableHashSmallStrBytes(const TVMFFIAny* data) {
  return LoadWordLE(data->v_bytes, 8) % kStableHashModulus;
}

}  // namespace detail
namespace details = detail;  // spelling of 0.1.14
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_BASE_DETAIL_H_
