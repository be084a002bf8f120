// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// `BigInt`: integers of any size. Values inside the int64 range are stored as plain Int, so
/// equal numbers have one representation. Not part of tvm_ffi.h.
#ifndef TVM_FFI_BIG_INT_H_
#define TVM_FFI_BIG_INT_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/base_detail.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/type_traits.h>

#include <istream>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tvm {
namespace ffi {

/// Word count, then the words: two's complement, least significant first, as few as the value
/// needs including its sign.
class BigIntObj : public Object {
 public:
  explicit BigIntObj(size_t size) : size_(size) {}
  BigIntObj(const BigIntObj&) = delete;
  BigIntObj& operator=(const BigIntObj&) = delete;

  size_t size() const { return size_; }
  const int64_t* data() const {
    return reinterpret_cast<const int64_t*>(reinterpret_cast<const char*>(this) +
                                            sizeof(BigIntObj));
  }

  static constexpr uint32_t _type_index = TypeIndex::kTVMFFIBigInt;
  static constexpr bool _type_final = true;
  TVM_FFI_DECLARE_OBJECT_INFO_STATIC(StaticTypeKey::kTVMFFIBigInt, BigIntObj, Object);

 private:
  size_t size_;
};

static_assert(sizeof(BigIntObj) == 32, "words start 32 bytes behind the object");

class BigInt {
 public:
  /// Borrowed words of a value.
  class ArrayView {
   public:
    ArrayView(const int64_t* data, size_t size) : data_(data), size_(size) {}
    const int64_t& operator[](size_t i) const { return data_[i]; }
    size_t size() const { return size_; }
    bool negative() const { return data_[size_ - 1] < 0; }

   private:
    const int64_t* data_;
    size_t size_;
  };

  BigInt() = default;
  template <typename Int, std::enable_if_t<std::is_integral_v<Int> && sizeof(Int) <= 8, int> = 0>
  BigInt(Int value) {  // NOLINT(google-explicit-constructor)
    if constexpr (std::is_unsigned_v<Int> && sizeof(Int) == 8) {
      if (value > static_cast<Int>(std::numeric_limits<int64_t>::max())) {
        const int64_t words[2] = {static_cast<int64_t>(value), 0};
        data_ = FromWords(words, 2);
        return;
      }
    }
    data_ = static_cast<int64_t>(value);
  }
  /// Truncates. ValueError for NaN, OverflowError for infinity.
  explicit inline BigInt(double value);
  BigInt(const BigInt&) = default;
  BigInt(BigInt&& other) noexcept : data_(std::move(other.data_)) { other.data_ = int64_t{0}; }
  BigInt& operator=(const BigInt&) = default;
  BigInt& operator=(BigInt&& other) noexcept {
    BigInt(std::move(other)).swap(*this);
    return *this;
  }
  void swap(BigInt& other) noexcept { data_.swap(other.data_); }

  explicit operator bool() const noexcept { return !is_small() || small() != 0; }
  /// OverflowError when out of range.
  explicit operator int64_t() const {
    if (!is_small()) TVM_FFI_THROW(OverflowError) << "BigInt does not fit int64_t";
    return small();
  }
  /// Nearest, ties to even. OverflowError when too large.
  explicit inline operator double() const;
  /// The value if it fits Int.
  template <typename Int, std::enable_if_t<std::is_integral_v<Int> && sizeof(Int) <= 8, int> = 0>
  std::optional<Int> as() const {
    if (!is_small()) {
      const ArrayView words = view();
      if (std::is_unsigned_v<Int> && sizeof(Int) == 8 && words.size() == 2 && words[1] == 0) {
        return static_cast<Int>(words[0]);
      }
      return std::nullopt;
    }
    const int64_t value = small();
    if constexpr (std::is_same_v<Int, bool>) {
      if (value != 0 && value != 1) return std::nullopt;
    } else if constexpr (std::is_unsigned_v<Int>) {
      if (value < 0) return std::nullopt;
      if (static_cast<uint64_t>(value) > std::numeric_limits<Int>::max()) return std::nullopt;
    } else {
      if (value < std::numeric_limits<Int>::min()) return std::nullopt;
      if (value > std::numeric_limits<Int>::max()) return std::nullopt;
    }
    return static_cast<Int>(value);
  }
  /// By value; the type-tagged form is AnyHash.
  uint64_t hash() const {
    if (is_small()) return static_cast<uint64_t>(small());
    const ArrayView words = view();
    return detail::StableHashBytes(&words[0], words.size() * sizeof(int64_t));
  }

  bool is_small() const { return data_.type_index() == TypeIndex::kTVMFFIInt; }
  /// Only for is_small values.
  int64_t small() const { return raw()->v_int64; }
  ArrayView view() const {
    if (is_small()) return ArrayView(&raw()->v_int64, 1);
    const auto* node = detail::AnyUnsafe::RawObjectPtrFromAnyAfterCheck<const BigIntObj>(data_);
    return ArrayView(node->data(), node->size());
  }
  /// Two's complement words, redundant sign words allowed.
  static BigInt FromTwosComplement(const int64_t* words, size_t count) {
    BigInt value;
    value.data_ = FromWords(words, count);
    return value;
  }
  inline std::string ToString() const;
  /// Decimal digits with optional sign; nullopt for other text.
  static inline std::optional<BigInt> Parse(std::string_view text);

#define TVM_FFI_BIG_INT_COMPOUND_(op) BigInt& operator op## = (const BigInt& rhs);
  TVM_FFI_BIG_INT_COMPOUND_(+)
  TVM_FFI_BIG_INT_COMPOUND_(-)
  TVM_FFI_BIG_INT_COMPOUND_(*)
  TVM_FFI_BIG_INT_COMPOUND_(/)
  TVM_FFI_BIG_INT_COMPOUND_(%)
  TVM_FFI_BIG_INT_COMPOUND_(&)
  TVM_FFI_BIG_INT_COMPOUND_(|)
  TVM_FFI_BIG_INT_COMPOUND_(^)
  TVM_FFI_BIG_INT_COMPOUND_(<<)
  TVM_FFI_BIG_INT_COMPOUND_(>>)
#undef TVM_FFI_BIG_INT_COMPOUND_
  BigInt& operator++() { return *this += 1; }
  BigInt& operator--() { return *this -= 1; }
  BigInt operator++(int) {
    BigInt old = *this;
    ++*this;
    return old;
  }
  BigInt operator--(int) {
    BigInt old = *this;
    --*this;
    return old;
  }

 private:
  const TVMFFIAny* raw() const { return detail::AnyUnsafe::TVMFFIAnyPtrFromAny(data_); }
  static Any FromWords(const int64_t* words, size_t count) {
    const TVMFFIByteArray bytes{reinterpret_cast<const char*>(words), count * sizeof(int64_t)};
    TVMFFIAny value;
    TVM_FFI_CHECK_SAFE_CALL(TVMFFIBigIntFromByteArray(&bytes, &value));
    return detail::AnyUnsafe::MoveTVMFFIAnyRawToAny(value);
  }

  Any data_{int64_t{0}};
  friend struct TypeTraits<BigInt>;
};

static_assert(sizeof(BigInt) == sizeof(TVMFFIAny), "BigInt shares the layout of Any");

namespace detail {

// General case of each operation; the inline operators below handle int64 pairs themselves.
inline BigInt BigIntAdd(const BigInt& a, const BigInt& b);
inline BigInt BigIntSub(const BigInt& a, const BigInt& b);
inline BigInt BigIntMul(const BigInt& a, const BigInt& b);
/// Quotient (rounded to zero, or down) or remainder. ZeroDivisionError for b = 0.
inline BigInt BigIntDivMod(const BigInt& a, const BigInt& b, bool floor, bool quotient);
enum class BigIntBitOp { kAnd, kOr, kXor };
inline BigInt BigIntBitwise(BigIntBitOp op, const BigInt& a, const BigInt& b);
/// Left for positive counts, right (rounding down) for negative ones.
inline BigInt BigIntShift(const BigInt& value, const BigInt& count, bool left);
/// Negative, 0 or positive.
inline int BigIntCompare(const BigInt& a, const BigInt& b);

}  // namespace detail

inline BigInt operator+(const BigInt& a, const BigInt& b) {
  int64_t sum;
  if (a.is_small() && b.is_small() && !__builtin_add_overflow(a.small(), b.small(), &sum)) {
    return sum;
  }
  return detail::BigIntAdd(a, b);
}
inline BigInt operator-(const BigInt& a, const BigInt& b) {
  int64_t difference;
  if (a.is_small() && b.is_small() && !__builtin_sub_overflow(a.small(), b.small(), &difference)) {
    return difference;
  }
  return detail::BigIntSub(a, b);
}
inline BigInt operator*(const BigInt& a, const BigInt& b) {
  int64_t product;
  if (a.is_small() && b.is_small() && !__builtin_mul_overflow(a.small(), b.small(), &product)) {
    return product;
  }
  return detail::BigIntMul(a, b);
}
/// Rounded to zero, like C++.
inline BigInt truncdiv(const BigInt& a, const BigInt& b) {
  return detail::BigIntDivMod(a, b, false, true);
}
/// Sign of the dividend.
inline BigInt truncmod(const BigInt& a, const BigInt& b) {
  return detail::BigIntDivMod(a, b, false, false);
}
/// Rounded down, like Python.
inline BigInt floordiv(const BigInt& a, const BigInt& b) {
  return detail::BigIntDivMod(a, b, true, true);
}
/// Sign of the divisor.
inline BigInt floormod(const BigInt& a, const BigInt& b) {
  return detail::BigIntDivMod(a, b, true, false);
}
inline BigInt operator/(const BigInt& a, const BigInt& b) { return truncdiv(a, b); }
inline BigInt operator%(const BigInt& a, const BigInt& b) { return truncmod(a, b); }
inline BigInt operator&(const BigInt& a, const BigInt& b) {
  return detail::BigIntBitwise(detail::BigIntBitOp::kAnd, a, b);
}
inline BigInt operator|(const BigInt& a, const BigInt& b) {
  return detail::BigIntBitwise(detail::BigIntBitOp::kOr, a, b);
}
inline BigInt operator^(const BigInt& a, const BigInt& b) {
  return detail::BigIntBitwise(detail::BigIntBitOp::kXor, a, b);
}
inline BigInt operator<<(const BigInt& a, const BigInt& b) {
  return detail::BigIntShift(a, b, true);
}
inline BigInt operator>>(const BigInt& a, const BigInt& b) {
  return detail::BigIntShift(a, b, false);
}
inline int CompareBigInt(const BigInt& a, const BigInt& b) {
  if (a.is_small() && b.is_small()) return (a.small() > b.small()) - (a.small() < b.small());
  return detail::BigIntCompare(a, b);
}
inline bool operator==(const BigInt& a, const BigInt& b) { return CompareBigInt(a, b) == 0; }
inline bool operator!=(const BigInt& a, const BigInt& b) { return CompareBigInt(a, b) != 0; }
inline bool operator<(const BigInt& a, const BigInt& b) { return CompareBigInt(a, b) < 0; }
inline bool operator<=(const BigInt& a, const BigInt& b) { return CompareBigInt(a, b) <= 0; }
inline bool operator>(const BigInt& a, const BigInt& b) { return CompareBigInt(a, b) > 0; }
inline bool operator>=(const BigInt& a, const BigInt& b) { return CompareBigInt(a, b) >= 0; }
inline BigInt min(const BigInt& a, const BigInt& b) { return b < a ? b : a; }
inline BigInt max(const BigInt& a, const BigInt& b) { return a < b ? b : a; }
inline BigInt operator+(const BigInt& value) { return value; }
inline BigInt operator-(const BigInt& value) { return BigInt(0) - value; }
inline BigInt operator~(const BigInt& value) { return BigInt(-1) - value; }

// Exact overloads for int64, so that a mixed expression does not fall to a built-in operator
// through BigInt's explicit conversions.
#define TVM_FFI_BIG_INT_MIXED_(Ret, fn)                                  \
  inline Ret fn(const BigInt& a, int64_t b) { return fn(a, BigInt(b)); } \
  inline Ret fn(int64_t a, const BigInt& b) { return fn(BigInt(a), b); }
TVM_FFI_BIG_INT_MIXED_(BigInt, operator+)
TVM_FFI_BIG_INT_MIXED_(BigInt, operator-)
TVM_FFI_BIG_INT_MIXED_(BigInt, operator*)
TVM_FFI_BIG_INT_MIXED_(BigInt, operator/)
TVM_FFI_BIG_INT_MIXED_(BigInt, operator%)
TVM_FFI_BIG_INT_MIXED_(BigInt, operator&)
TVM_FFI_BIG_INT_MIXED_(BigInt, operator|)
TVM_FFI_BIG_INT_MIXED_(BigInt, operator^)
TVM_FFI_BIG_INT_MIXED_(BigInt, operator<<)
TVM_FFI_BIG_INT_MIXED_(BigInt, operator>>)
TVM_FFI_BIG_INT_MIXED_(BigInt, truncdiv)
TVM_FFI_BIG_INT_MIXED_(BigInt, truncmod)
TVM_FFI_BIG_INT_MIXED_(BigInt, floordiv)
TVM_FFI_BIG_INT_MIXED_(BigInt, floormod)
TVM_FFI_BIG_INT_MIXED_(BigInt, min)
TVM_FFI_BIG_INT_MIXED_(BigInt, max)
TVM_FFI_BIG_INT_MIXED_(bool, operator==)
TVM_FFI_BIG_INT_MIXED_(bool, operator!=)
TVM_FFI_BIG_INT_MIXED_(bool, operator<)
TVM_FFI_BIG_INT_MIXED_(bool, operator<=)
TVM_FFI_BIG_INT_MIXED_(bool, operator>)
TVM_FFI_BIG_INT_MIXED_(bool, operator>=)
#undef TVM_FFI_BIG_INT_MIXED_

#define TVM_FFI_BIG_INT_COMPOUND_(op) \
  inline BigInt& BigInt::operator op## = (const BigInt& rhs) { return *this = *this op rhs; }
TVM_FFI_BIG_INT_COMPOUND_(+)
TVM_FFI_BIG_INT_COMPOUND_(-)
TVM_FFI_BIG_INT_COMPOUND_(*)
TVM_FFI_BIG_INT_COMPOUND_(/)
TVM_FFI_BIG_INT_COMPOUND_(%)
TVM_FFI_BIG_INT_COMPOUND_(&)
TVM_FFI_BIG_INT_COMPOUND_(|)
TVM_FFI_BIG_INT_COMPOUND_(^)
TVM_FFI_BIG_INT_COMPOUND_(<<)
TVM_FFI_BIG_INT_COMPOUND_(>>)
#undef TVM_FFI_BIG_INT_COMPOUND_

/// Decimal.
inline std::ostream& operator<<(std::ostream& os, const BigInt& value) {
  return os << value.ToString();
}
/// Decimal with optional sign; sets failbit on other text.
inline std::istream& operator>>(std::istream& is, BigInt& value);

template <>
struct TypeTraits<BigInt> : public TypeTraitsBase {
  static constexpr int32_t field_static_type_index = TypeIndex::kTVMFFIAny;

  TVM_FFI_INLINE static void CopyToAnyView(const BigInt& src, TVMFFIAny* result) {
    *result = AnyView(src.data_).CopyToTVMFFIAny();
  }
  TVM_FFI_INLINE static void MoveToAny(BigInt src, TVMFFIAny* result) {
    *result = detail::AnyUnsafe::MoveAnyToTVMFFIAny(std::move(src.data_));
  }
  TVM_FFI_INLINE static bool CheckAnyStrict(const TVMFFIAny* src) {
    return src->type_index == TypeIndex::kTVMFFIInt || src->type_index == TypeIndex::kTVMFFIBigInt;
  }
  TVM_FFI_INLINE static BigInt CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    BigInt value;
    value.data_ = AnyView::CopyFromTVMFFIAny(*src);
    return value;
  }
  TVM_FFI_INLINE static BigInt MoveFromAnyAfterCheck(TVMFFIAny* src) {
    BigInt value;
    value.data_ = detail::AnyUnsafe::MoveTVMFFIAnyToAny(src);
    return value;
  }
  TVM_FFI_INLINE static std::optional<BigInt> TryCastFromAnyView(const TVMFFIAny* src) {
    if (CheckAnyStrict(src)) return CopyFromAnyViewAfterCheck(src);
    if (src->type_index == TypeIndex::kTVMFFIBool) return BigInt(src->v_int64);
    return std::nullopt;
  }
  TVM_FFI_INLINE static std::string TypeStr() { return "BigInt"; }
  TVM_FFI_INLINE static std::string TypeSchema() {
    return detail::SimpleTypeSchema(StaticTypeKey::kTVMFFIBigInt);
  }
};

}  // namespace ffi
}  // namespace tvm

template <>
struct std::hash<::tvm::ffi::BigInt> {
  std::size_t operator()(const ::tvm::ffi::BigInt& value) const {
    return static_cast<std::size_t>(value.hash());
  }
};

#include <tvm/ffi/big_int_detail.h>

#endif  // TVM_FFI_BIG_INT_H_
