// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <gtest/gtest.h>
#include <tvm/support/byte_io.h>
#include <tvm/support/checked_math.h>
#include <tvm/support/hash.h>
#include <tvm/support/parallel_for.h>
#include <tvm/support/str_util.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace tvm {
namespace support {
namespace {

TEST(ByteIOTest, RoundTripAndTruncation) {
  std::string bytes;
  ByteWriter w(&bytes);
  w.Write<int32_t>(-5);
  w.WriteString("text");
  w.WriteVector(std::vector<int64_t>{1, 2, 3});
  w.WriteStrings({"a", "", "bc"});
  auto read = [](std::string_view in) {
    ByteReader r(in);
    int32_t i = 0;
    std::string s;
    std::vector<int64_t> v;
    std::vector<std::string> list;
    bool ok =
        r.Read(&i) && r.ReadString(&s) && r.ReadVector(&v) && r.ReadStrings(&list) && r.AtEnd();
    if (ok) {
      EXPECT_EQ(i, -5);
      EXPECT_EQ(s, "text");
      EXPECT_EQ(v, (std::vector<int64_t>{1, 2, 3}));
      EXPECT_EQ(list, (std::vector<std::string>{"a", "", "bc"}));
    }
    return ok;
  };
  EXPECT_TRUE(read(bytes));
  for (size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(read(bytes.substr(0, n)));
  // A count that would overflow when multiplied is refused before anything is allocated.
  std::string huge(16, '\xff');
  ByteReader r(huge);
  std::vector<int64_t> v;
  EXPECT_FALSE(r.ReadVector(&v));
}

TEST(CheckedMathTest, Overflow) {
  int64_t out = 7;
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  EXPECT_FALSE(CheckedMul(int64_t{1} << 62, int64_t{2}, &out));
  EXPECT_FALSE(CheckedAdd(std::numeric_limits<int64_t>::max(), int64_t{1}, &out));
  EXPECT_FALSE(CheckedFloorDiv(int64_t{1}, int64_t{0}, &out));
  EXPECT_FALSE(CheckedFloorDiv(kMin, int64_t{-1}, &out));
  EXPECT_EQ(out, 7);
  EXPECT_TRUE(CheckedFloorDiv(int64_t{-7}, int64_t{2}, &out));
  EXPECT_EQ(out, -4);
  EXPECT_TRUE(CheckedFloorDiv(int64_t{7}, int64_t{-2}, &out));
  EXPECT_EQ(out, -4);
  EXPECT_EQ(RoundUp(65, 64), 128);
}

TEST(StrUtilTest, Pieces) {
  EXPECT_EQ(Split("a,b,,c", ','), (std::vector<std::string>{"a", "b", "", "c"}));
  EXPECT_TRUE(Split("", ',').empty());
  EXPECT_EQ(Join(std::vector<std::string>{"x", "y"}, ", "), "x, y");
  EXPECT_EQ(Trim("  a b\n"), "a b");
  EXPECT_EQ(ParseInt("-12").value(), -12);
  EXPECT_FALSE(ParseInt("12x").has_value());
  EXPECT_FALSE(ParseInt("99999999999999999999").has_value());
}

TEST(ParallelForTest, RunsEachPieceOnceAndStopsAtAnError) {
  std::vector<std::atomic<int>> runs(500);
  ParallelFor(runs.size(), [&](size_t i) { ++runs[i]; });
  for (const auto& count : runs) EXPECT_EQ(count, 1);
  ParallelFor(0, [](size_t) { FAIL(); });

  std::atomic<size_t> begun{0};
  auto work = [&](size_t i) {
    ++begun;
    if (i == 3) throw std::runtime_error("piece 3");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  try {
    ParallelFor(10000, work);
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "piece 3");
  }
  EXPECT_LT(begun, 10000u);
}

TEST(HashTest, Sha256KnownAnswers) {
  auto digest = [](const std::string& text, size_t piece) {
    Sha256 h;
    for (size_t i = 0; i < text.size(); i += piece) h.Update(text.substr(i, piece));
    return ToHex(h.Finish());
  };
  // FIPS 180-4 examples.
  EXPECT_EQ(digest("abc", 1), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest("", 1), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  std::string million(1000000, 'a');
  EXPECT_EQ(digest(million, 977),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(HashTest, Hasher128SeesEveryByte) {
  std::string text(300, 'x');
  auto digest = [](const std::string& s, size_t piece) {
    Hasher128 h;
    for (size_t i = 0; i < s.size(); i += piece) h.Update(s.substr(i, piece));
    return ToHex(h.Finish());
  };
  std::string base = digest(text, 300);
  EXPECT_EQ(base, digest(text, 7));
  for (size_t i = 0; i < text.size(); ++i) {
    std::string copy = text;
    copy[i] ^= 1;
    EXPECT_NE(digest(copy, 300), base) << i;
  }
  EXPECT_NE(digest(text + '\0', 301), base);
  EXPECT_NE(digest(std::string(64, '\0'), 64), digest(std::string(128, '\0'), 64));
}

}  // namespace
}  // namespace support
}  // namespace tvm
