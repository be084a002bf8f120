// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Arithmetic of BigInt beyond int64: two's complement words for additions and bit operations,
/// sign and magnitude for products and quotients. Included by big_int.h.
#ifndef TVM_FFI_BIG_INT_DETAIL_H_
#define TVM_FFI_BIG_INT_DETAIL_H_

#include <tvm/ffi/big_int.h>

#include <algorithm>
#include <cmath>
#include <istream>
#include <vector>

namespace tvm {
namespace ffi {
namespace detail {
namespace big_int {

using ArrayView = BigInt::ArrayView;
using Words = std::vector<int64_t>;    ///< two's complement
using Digits = std::vector<uint32_t>;  ///< magnitude in base 2^32, no leading zeros
inline constexpr size_t kWordBits = 64;
/// Larger results would exhaust memory long before they are useful.
inline constexpr uint64_t kMaxBits = uint64_t{1} << 36;

inline BigInt FromWords(const Words& words) {
  return BigInt::FromTwosComplement(words.data(), words.size());
}

/// Word `i` with the sign extended to infinity.
inline uint64_t WordAt(const ArrayView& x, size_t i) {
  if (i < x.size()) return static_cast<uint64_t>(x[i]);
  return x.negative() ? ~uint64_t{0} : 0;
}

/// a + b, or a - b = a + ~b + 1. One more word than the longer operand holds the carry.
inline BigInt AddOrSub(const ArrayView& a, const ArrayView& b, bool subtract) {
  Words sum(std::max(a.size(), b.size()) + 1);
  uint64_t carry = subtract ? 1 : 0;
  for (size_t i = 0; i < sum.size(); ++i) {
    const uint64_t rhs = subtract ? ~WordAt(b, i) : WordAt(b, i);
    const auto total = static_cast<unsigned __int128>(WordAt(a, i)) + rhs + carry;
    sum[i] = static_cast<int64_t>(static_cast<uint64_t>(total));
    carry = static_cast<uint64_t>(total >> 64);
  }
  return FromWords(sum);
}

inline void Trim(Digits* digits) {
  while (!digits->empty() && digits->back() == 0) digits->pop_back();
}

inline Digits Magnitude(const ArrayView& x) {
  Digits digits;
  digits.reserve(2 * x.size());
  uint64_t carry = 1;
  for (size_t i = 0; i < x.size(); ++i) {
    auto word = static_cast<uint64_t>(x[i]);
    if (x.negative()) {
      word = ~word + carry;
      carry = carry != 0 && word == 0 ? 1 : 0;
    }
    digits.push_back(static_cast<uint32_t>(word));
    digits.push_back(static_cast<uint32_t>(word >> 32));
  }
  Trim(&digits);
  return digits;
}

inline BigInt FromMagnitude(const Digits& digits, bool negative) {
  Words words(digits.size() / 2 + 1, 0);
  for (size_t i = 0; i < digits.size(); ++i) {
    words[i / 2] |= static_cast<int64_t>(static_cast<uint64_t>(digits[i]) << (i % 2 * 32));
  }
  if (digits.size() % 2 == 0 || words.back() < 0) words.push_back(0);
  BigInt value = FromWords(words);
  return negative ? BigInt(0) - value : value;
}

inline Digits Multiply(const Digits& a, const Digits& b) {
  Digits product(a.size() + b.size(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    uint64_t carry = 0;
    for (size_t j = 0; j < b.size(); ++j) {
      const uint64_t total = static_cast<uint64_t>(a[i]) * b[j] + product[i + j] + carry;
      product[i + j] = static_cast<uint32_t>(total);
      carry = total >> 32;
    }
    product[i + b.size()] = static_cast<uint32_t>(carry);
  }
  Trim(&product);
  return product;
}

/// Divides in place by one digit and returns the remainder.
inline uint32_t DivideByDigit(Digits* digits, uint32_t divisor) {
  uint64_t remainder = 0;
  for (size_t i = digits->size(); i-- > 0;) {
    const uint64_t part = (remainder << 32) | (*digits)[i];
    (*digits)[i] = static_cast<uint32_t>(part / divisor);
    remainder = part % divisor;
  }
  Trim(digits);
  return static_cast<uint32_t>(remainder);
}

inline Digits ShiftLeft(const Digits& digits, int bits, size_t size) {
  Digits shifted(size, 0);
  for (size_t i = 0; i < digits.size(); ++i) {
    const uint64_t part = static_cast<uint64_t>(digits[i]) << bits;
    shifted[i] |= static_cast<uint32_t>(part);
    if (i + 1 < size) shifted[i + 1] |= static_cast<uint32_t>(part >> 32);
  }
  return shifted;
}

/// Long division (Knuth, The Art of Computer Programming 2, 4.3.1 D): `numerator` becomes the
/// remainder, the quotient is returned.
inline Digits DivideLong(Digits* numerator, const Digits& denominator) {
  if (denominator.size() == 1) {
    Digits quotient = *numerator;
    const uint32_t remainder = DivideByDigit(&quotient, denominator[0]);
    numerator->assign(remainder == 0 ? 0 : 1, remainder);
    return quotient;
  }
  if (numerator->size() < denominator.size()) return {};
  const size_t n = denominator.size();
  const size_t m = numerator->size() - n;
  const int shift = __builtin_clz(denominator.back());
  const Digits v = ShiftLeft(denominator, shift, n);
  Digits u = ShiftLeft(*numerator, shift, numerator->size() + 1);
  Digits quotient(m + 1, 0);
  for (size_t j = m + 1; j-- > 0;) {
    const uint64_t top = (static_cast<uint64_t>(u[j + n]) << 32) | u[j + n - 1];
    uint64_t estimate = top / v[n - 1];
    uint64_t rest = top % v[n - 1];
    while (estimate >> 32 != 0 || estimate * v[n - 2] > ((rest << 32) | u[j + n - 2])) {
      --estimate;
      rest += v[n - 1];
      if (rest >> 32 != 0) break;
    }
    int64_t borrow = 0;
    uint64_t carry = 0;
    for (size_t i = 0; i < n; ++i) {
      carry += estimate * v[i];
      const int64_t part =
          static_cast<int64_t>(u[i + j]) - borrow - static_cast<int64_t>(carry & 0xFFFFFFFF);
      u[i + j] = static_cast<uint32_t>(part);
      borrow = part < 0 ? 1 : 0;
      carry >>= 32;
    }
    const int64_t part = static_cast<int64_t>(u[j + n]) - borrow - static_cast<int64_t>(carry);
    u[j + n] = static_cast<uint32_t>(part);
    if (part < 0) {  // the estimate was one too large
      --estimate;
      uint64_t add = 0;
      for (size_t i = 0; i < n; ++i) {
        add += static_cast<uint64_t>(u[i + j]) + v[i];
        u[i + j] = static_cast<uint32_t>(add);
        add >>= 32;
      }
      u[j + n] += static_cast<uint32_t>(add);
    }
    quotient[j] = static_cast<uint32_t>(estimate);
  }
  numerator->assign(n, 0);
  for (size_t i = 0; i < n; ++i) {
    const uint64_t part = (static_cast<uint64_t>(u[i + 1]) << 32) | u[i];
    (*numerator)[i] = static_cast<uint32_t>(part >> shift);
  }
  Trim(numerator);
  Trim(&quotient);
  return quotient;
}

inline BigInt ShiftLeftBy(const ArrayView& x, uint64_t count) {
  if (count > kMaxBits) TVM_FFI_THROW(OverflowError) << "BigInt shift count is too large";
  const size_t skip = count / kWordBits;
  const size_t bits = count % kWordBits;
  Words words(x.size() + skip + 1, 0);
  for (size_t i = 0; i <= x.size(); ++i) {
    uint64_t word = WordAt(x, i) << bits;
    if (bits != 0 && i > 0) word |= WordAt(x, i - 1) >> (kWordBits - bits);
    words[i + skip] = static_cast<int64_t>(word);
  }
  return FromWords(words);
}

inline BigInt ShiftRightBy(const ArrayView& x, uint64_t count) {
  const uint64_t skip = count / kWordBits;
  const size_t bits = count % kWordBits;
  if (skip >= x.size()) return x.negative() ? -1 : 0;
  Words words(x.size() - skip, 0);
  for (size_t i = 0; i < words.size(); ++i) {
    uint64_t word = WordAt(x, i + skip) >> bits;
    if (bits != 0) word |= WordAt(x, i + skip + 1) << (kWordBits - bits);
    words[i] = static_cast<int64_t>(word);
  }
  return FromWords(words);
}

}  // namespace big_int

inline BigInt BigIntAdd(const BigInt& a, const BigInt& b) {
  return big_int::AddOrSub(a.view(), b.view(), false);
}
inline BigInt BigIntSub(const BigInt& a, const BigInt& b) {
  return big_int::AddOrSub(a.view(), b.view(), true);
}
inline BigInt BigIntMul(const BigInt& a, const BigInt& b) {
  return big_int::FromMagnitude(
      big_int::Multiply(big_int::Magnitude(a.view()), big_int::Magnitude(b.view())),
      a.view().negative() != b.view().negative());
}

inline BigInt BigIntDivMod(const BigInt& a, const BigInt& b, bool floor, bool quotient) {
  if (!b) TVM_FFI_THROW(ZeroDivisionError) << "BigInt division by zero";
  const bool a_negative = a.view().negative();
  const bool b_negative = b.view().negative();
  big_int::Digits remainder = big_int::Magnitude(a.view());
  BigInt q = big_int::FromMagnitude(big_int::DivideLong(&remainder, big_int::Magnitude(b.view())),
                                    a_negative != b_negative);
  BigInt r = big_int::FromMagnitude(remainder, a_negative);
  if (floor && r && a_negative != b_negative) {
    q -= 1;
    r += b;
  }
  return quotient ? q : r;
}

inline BigInt BigIntBitwise(BigIntBitOp op, const BigInt& a, const BigInt& b) {
  const big_int::ArrayView x = a.view(), y = b.view();
  big_int::Words words(std::max(x.size(), y.size()));
  for (size_t i = 0; i < words.size(); ++i) {
    const uint64_t lhs = big_int::WordAt(x, i), rhs = big_int::WordAt(y, i);
    const uint64_t word = op == BigIntBitOp::kAnd  ? (lhs & rhs)
                          : op == BigIntBitOp::kOr ? (lhs | rhs)
                                                   : (lhs ^ rhs);
    words[i] = static_cast<int64_t>(word);
  }
  return big_int::FromWords(words);
}

inline BigInt BigIntShift(const BigInt& value, const BigInt& count, bool left) {
  if (count < 0) TVM_FFI_THROW(ValueError) << "negative shift count";
  if (!count.is_small()) {
    if (left && value) TVM_FFI_THROW(OverflowError) << "BigInt shift count is too large";
    return left ? BigInt(0) : BigInt(value.view().negative() ? -1 : 0);
  }
  const auto bits = static_cast<uint64_t>(count.small());
  if (!value) return 0;
  return left ? big_int::ShiftLeftBy(value.view(), bits)
              : big_int::ShiftRightBy(value.view(), bits);
}

inline int BigIntCompare(const BigInt& a, const BigInt& b) {
  const big_int::ArrayView x = a.view(), y = b.view();
  if (x.negative() != y.negative()) return x.negative() ? -1 : 1;
  // Minimal form: with equal signs, more words are further from zero.
  if (x.size() != y.size()) return (x.size() > y.size()) != x.negative() ? 1 : -1;
  for (size_t i = x.size(); i-- > 0;) {
    const auto lhs = static_cast<uint64_t>(x[i]), rhs = static_cast<uint64_t>(y[i]);
    if (lhs != rhs) return lhs > rhs ? 1 : -1;
  }
  return 0;
}

}  // namespace detail

inline BigInt::BigInt(double value) {
  if (std::isnan(value)) TVM_FFI_THROW(ValueError) << "Cannot convert NaN to BigInt";
  if (std::isinf(value)) TVM_FFI_THROW(OverflowError) << "Cannot convert infinity to BigInt";
  value = std::trunc(value);
  int exponent = 0;
  std::frexp(value, &exponent);
  if (exponent < 63) {
    data_ = static_cast<int64_t>(value);
    return;
  }
  // The 53-bit significand as an integer, shifted into place.
  const auto significand = static_cast<int64_t>(std::ldexp(value, 53 - exponent));
  *this = BigInt(significand) << (exponent - 53);
}

inline BigInt::operator double() const {
  if (is_small()) return static_cast<double>(small());
  const detail::big_int::Digits digits = detail::big_int::Magnitude(view());
  const size_t bits = digits.size() * 32 - static_cast<size_t>(__builtin_clz(digits.back()));
  // Top 64 bits; what lies below only breaks ties, so it is folded into the lowest bit.
  const size_t drop = bits - 64;
  const BigInt positive = view().negative() ? BigInt(0) - *this : *this;
  uint64_t top = static_cast<uint64_t>((positive >> static_cast<int64_t>(drop)).view()[0]);
  bool sticky = false;
  for (size_t i = 0; i < drop / 32 && !sticky; ++i) sticky = digits[i] != 0;
  if (!sticky && drop % 32 != 0) {
    sticky = (digits[drop / 32] & ((uint32_t{1} << (drop % 32)) - 1)) != 0;
  }
  if (sticky) top |= 1;
  const double magnitude = drop > 2048
                               ? std::numeric_limits<double>::infinity()
                               : std::ldexp(static_cast<double>(top), static_cast<int>(drop));
  if (std::isinf(magnitude)) TVM_FFI_THROW(OverflowError) << "BigInt is too large for double";
  return view().negative() ? -magnitude : magnitude;
}

inline std::string BigInt::ToString() const {
  if (is_small()) return std::to_string(small());
  constexpr uint32_t kChunk = 1000000000;
  detail::big_int::Digits digits = detail::big_int::Magnitude(view());
  std::string text;  // least significant digit first
  while (!digits.empty()) {
    uint32_t chunk = detail::big_int::DivideByDigit(&digits, kChunk);
    for (int i = 0; i < 9 && (chunk != 0 || !digits.empty()); ++i, chunk /= 10) {
      text.push_back(static_cast<char>('0' + chunk % 10));
    }
  }
  if (view().negative()) text.push_back('-');
  std::reverse(text.begin(), text.end());
  return text;
}

inline std::optional<BigInt> BigInt::Parse(std::string_view text) {
  const bool negative = !text.empty() && text.front() == '-';
  if (negative || (!text.empty() && text.front() == '+')) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  detail::big_int::Digits digits;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    uint64_t carry = static_cast<uint64_t>(c - '0');
    for (uint32_t& digit : digits) {
      carry += static_cast<uint64_t>(digit) * 10;
      digit = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) digits.push_back(static_cast<uint32_t>(carry));
  }
  return detail::big_int::FromMagnitude(digits, negative);
}

inline std::istream& operator>>(std::istream& is, BigInt& value) {
  std::istream::sentry ready(is);
  if (!ready) return is;
  std::string text;
  const auto take = [&] {
    text.push_back(static_cast<char>(is.get()));
    return is.peek();
  };
  int next = is.peek();
  if (next == '+' || next == '-') next = take();
  while (next >= '0' && next <= '9') next = take();
  if (std::optional<BigInt> parsed = BigInt::Parse(text)) {
    value = *std::move(parsed);
    if (is.eof()) is.clear(std::ios::eofbit);
  } else {
    is.setstate(std::ios::failbit);
  }
  return is;
}

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_BIG_INT_DETAIL_H_
