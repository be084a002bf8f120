// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <gtest/gtest.h>
#include <tvm/ffi/big_int.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/function.h>

#include <cmath>
#include <random>
#include <sstream>
#include <unordered_map>

#include "testing_object.h"

namespace tvm {
namespace ffi {
namespace {

using testing::ErrorOf;
using Int128 = __int128;

BigInt From128(Int128 value) {
  const int64_t words[2] = {static_cast<int64_t>(value), static_cast<int64_t>(value >> 64)};
  return BigInt::FromTwosComplement(words, 2);
}

BigInt Parse(const char* text) { return BigInt::Parse(text).value(); }

TEST(BigInt, StandardHash) {
  const BigInt big = BigInt(1) << 90;
  std::unordered_map<BigInt, int> names{{big, 1}, {5, 2}};
  EXPECT_EQ(names.at((big - 1) + 1), 1);
  EXPECT_EQ(names.at(BigInt(2) + 3), 2);
  EXPECT_EQ(std::hash<BigInt>()(big), static_cast<size_t>(big.hash()));
}

TEST(BigInt, CanonicalForm) {
  EXPECT_EQ(sizeof(BigInt), 16u);
  EXPECT_EQ(Any(BigInt(5)).type_index(), kTVMFFIInt);
  const BigInt big = BigInt(INT64_MAX) + 1;
  EXPECT_EQ(Any(big).type_index(), kTVMFFIBigInt);
  EXPECT_EQ(Any(big - 1).type_index(), kTVMFFIInt) << "back in range means back to Int";
  EXPECT_EQ(big.view().size(), 2u);
  EXPECT_EQ((-BigInt(INT64_MIN)).ToString(), "9223372036854775808");
  const int64_t redundant[3] = {-1, -1, -1};
  EXPECT_EQ(BigInt::FromTwosComplement(redundant, 3), -1);
  EXPECT_EQ(BigInt::FromTwosComplement(nullptr, 0), 0);
  BigInt moved = big;
  BigInt target = std::move(moved);
  EXPECT_EQ(moved, 0);  // NOLINT: moved-from is zero
  EXPECT_EQ(target, big);
}

TEST(BigInt, MatchesInt128) {
  std::mt19937_64 rng(99);
  auto draw = [&] {
    Int128 value = static_cast<Int128>(static_cast<int64_t>(rng())) * (Int128{1} << (rng() % 40));
    value += static_cast<int64_t>(rng() >> (rng() % 64));
    return rng() % 2 ? value : static_cast<Int128>(static_cast<int64_t>(value >> (rng() % 80)));
  };
  for (int i = 0; i < 3000; ++i) {
    const Int128 a = draw(), b = draw();
    const BigInt x = From128(a), y = From128(b);
    ASSERT_EQ(x + y, From128(a + b));
    ASSERT_EQ(x - y, From128(a - b));
    ASSERT_EQ((x & y), From128(a & b));
    ASSERT_EQ((x | y), From128(a | b));
    ASSERT_EQ((x ^ y), From128(a ^ b));
    ASSERT_EQ(~x, From128(~a));
    ASSERT_EQ(x < y, a < b);
    ASSERT_EQ(x == y, a == b);
    const int shift = static_cast<int>(rng() % 130);
    ASSERT_EQ(x >> shift, From128(shift > 127 ? (a < 0 ? -1 : 0) : a >> shift));
    ASSERT_EQ((x << shift) >> shift, x);
    if (b != 0) {
      ASSERT_EQ(x / y, From128(a / b));
      ASSERT_EQ(x % y, From128(a % b));
      const BigInt q = floordiv(x, y), r = floormod(x, y);
      ASSERT_EQ(q * y + r, x);
      ASSERT_TRUE(r == 0 || (r < 0) == (y < 0));
    }
  }
}

TEST(BigInt, LongProductsAndQuotients) {
  std::mt19937_64 rng(5);
  auto draw = [&](int words) {
    BigInt value = static_cast<int64_t>(rng());
    for (int i = 1; i < words; ++i) value = (value << 64) + BigInt(rng());
    return value;
  };
  for (int i = 0; i < 300; ++i) {
    const BigInt q = draw(1 + i % 7), d = draw(1 + i % 5), n = q * d;
    ASSERT_EQ(n / d, q);
    ASSERT_EQ(n % d, 0);
    ASSERT_EQ((n + d - 1) / d * d + (n + d - 1) % d, n + d - 1);
    ASSERT_EQ(Parse(n.ToString().c_str()), n);
  }
  // Forces the rare correction step of long division.
  const BigInt hard = (BigInt(1) << 96) - 1, divisor = (BigInt(1) << 64) - 1;
  EXPECT_EQ(hard / divisor * divisor + hard % divisor, hard);
}

TEST(BigInt, TextAndStreams) {
  const BigInt value = Parse("-123456789012345678901234567890");
  EXPECT_EQ(value.ToString(), "-123456789012345678901234567890");
  EXPECT_FALSE(BigInt::Parse("").has_value());
  EXPECT_FALSE(BigInt::Parse("12a").has_value());
  std::istringstream in(" +17 -99999999999999999999 x");
  BigInt a, b, c = 4;
  in >> a >> b;
  EXPECT_EQ(a, 17);
  std::ostringstream out;
  out << b;
  EXPECT_EQ(out.str(), "-99999999999999999999");
  in >> c;
  EXPECT_TRUE(in.fail());
  EXPECT_EQ(c, 4);
}

TEST(BigInt, Doubles) {
  EXPECT_EQ(BigInt(1e20).ToString(), "100000000000000000000");
  EXPECT_EQ(BigInt(-1.9), -1);
  EXPECT_EQ(ErrorOf([] { BigInt{std::nan("")}; }).substr(0, 11), "ValueError:");
  EXPECT_EQ(ErrorOf([] { BigInt{HUGE_VAL}; }), "OverflowError: Cannot convert infinity to BigInt");
  const BigInt even = BigInt(1) << 100, tie = even + (BigInt(1) << 47);
  EXPECT_EQ(static_cast<double>(tie), std::ldexp(1, 100)) << "ties go to even";
  EXPECT_GT(static_cast<double>(tie + 1), std::ldexp(1, 100));
  EXPECT_EQ(static_cast<double>(-even), -std::ldexp(1, 100));
  EXPECT_EQ(ErrorOf([&] { (void)static_cast<double>(BigInt(1) << 2000); }).substr(0, 14),
            "OverflowError:");
}

TEST(BigInt, ConversionsAndKeys) {
  EXPECT_EQ(BigInt(255).as<uint8_t>(), uint8_t{255});
  EXPECT_FALSE(BigInt(256).as<uint8_t>().has_value());
  EXPECT_EQ(BigInt(UINT64_MAX).as<uint64_t>(), UINT64_MAX);
  EXPECT_EQ(ErrorOf([] { (void)static_cast<int64_t>(BigInt(1) << 70); }),
            "OverflowError: BigInt does not fit int64_t");
  EXPECT_EQ(ErrorOf([] { Any(BigInt(1) << 70).cast<int>(); }),
            "TypeError: Cannot convert from type `ffi.BigInt` to `int`");
  EXPECT_EQ(Any(true).cast<BigInt>(), 1);
  Map<Any, Any> map{{BigInt(1) << 80, 1}};
  EXPECT_EQ(map[BigInt(1) << 80].cast<int>(), 1) << "equal values are one key";
  EXPECT_EQ(map.count((BigInt(1) << 80) + 1), 0u);
  EXPECT_EQ(ErrorOf([] { BigInt(1) / 0; }).substr(0, 18), "ZeroDivisionError:");
  EXPECT_EQ(ErrorOf([] { BigInt(1) << -1; }).substr(0, 11), "ValueError:");
  const TVMFFIByteArray odd{"abc", 3};
  EXPECT_EQ(ErrorOf([&] {
              TVMFFIAny out;
              TVM_FFI_CHECK_SAFE_CALL(TVMFFIBigIntFromByteArray(&odd, &out));
            }),
            "ValueError: BigInt content must contain whole 64-bit words");
  Function twice = Function::FromTyped([](BigInt v) { return v * 2; });
  EXPECT_EQ(twice(BigInt(1) << 64).cast<BigInt>(), BigInt(1) << 65);
}

}  // namespace
}  // namespace ffi
}  // namespace tvm
