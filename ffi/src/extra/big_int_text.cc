// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "big_int_text.h"

#include <tvm/ffi/c_api.h>
#include <tvm/ffi/error.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace tvm {
namespace ffi {
namespace {

using Words = std::vector<uint64_t>;  // two's complement, least significant first

Words WordsOf(const Any& value) {
  const TVMFFIByteArray bytes =
      TVMFFIBigIntGetContentByteArray(reinterpret_cast<const TVMFFIAny*>(&value));
  Words words(bytes.size / 8);
  if (!words.empty()) std::memcpy(words.data(), bytes.data, words.size() * 8);
  return words;
}

bool IsNegative(const Words& words) { return !words.empty() && words.back() >> 63 != 0; }

void Negate(Words* words) {
  uint64_t carry = 1;
  for (uint64_t& word : *words) {
    word = ~word + carry;
    carry = carry != 0 && word == 0 ? 1 : 0;
  }
}

}  // namespace

int CompareBigInts(const Any& lhs, const Any& rhs) {
  Words left = WordsOf(lhs);
  Words right = WordsOf(rhs);
  const bool negative = IsNegative(left);
  if (negative != IsNegative(right)) return negative ? -1 : 1;
  const size_t size = std::max(left.size(), right.size());
  left.resize(size, negative ? ~uint64_t{0} : 0);
  right.resize(size, negative ? ~uint64_t{0} : 0);
  for (size_t i = size; i-- > 0;) {
    if (left[i] != right[i]) return left[i] < right[i] ? -1 : 1;
  }
  return 0;
}

std::string BigIntText(const Any& value) {
  Words words = WordsOf(value);
  const bool negative = IsNegative(words);
  if (negative) Negate(&words);
  // Peel off groups of 18 decimal digits.
  constexpr uint64_t kGroup = 1000000000000000000ULL;
  std::vector<uint64_t> groups;
  while (!words.empty()) {
    unsigned __int128 rest = 0;
    for (size_t i = words.size(); i-- > 0;) {
      rest = rest << 64 | words[i];
      words[i] = static_cast<uint64_t>(rest / kGroup);
      rest %= kGroup;
    }
    groups.push_back(static_cast<uint64_t>(rest));
    while (!words.empty() && words.back() == 0) words.pop_back();
  }
  if (groups.empty()) return "0";
  std::string text = negative ? "-" : "";
  text += std::to_string(groups.back());
  for (size_t i = groups.size() - 1; i-- > 0;) {
    const std::string digits = std::to_string(groups[i]);
    text.append(18 - digits.size(), '0').append(digits);
  }
  return text;
}

Any BigIntFromText(std::string_view text) {
  const bool negative = text.substr(0, 1) == "-";
  const std::string_view digits = text.substr(negative ? 1 : 0);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
    TVM_FFI_THROW(ValueError) << "Invalid decimal string for ffi.BigInt";
  }
  Words words;
  for (size_t i = 0; i < digits.size();) {
    // As many digits as fit a word: one pass over the words for each 18 digits.
    uint64_t scale = 1;
    uint64_t carry = 0;
    for (int j = 0; j < 18 && i < digits.size(); ++j, ++i) {
      scale *= 10;
      carry = carry * 10 + static_cast<uint64_t>(digits[i] - '0');
    }
    for (uint64_t& word : words) {
      const unsigned __int128 product = static_cast<unsigned __int128>(word) * scale + carry;
      word = static_cast<uint64_t>(product);
      carry = static_cast<uint64_t>(product >> 64);
    }
    if (carry != 0) words.push_back(carry);
  }
  words.push_back(0);  // room for the sign
  if (negative) Negate(&words);
  const TVMFFIByteArray bytes{reinterpret_cast<const char*>(words.data()), words.size() * 8};
  Any result;
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIBigIntFromByteArray(&bytes, reinterpret_cast<TVMFFIAny*>(&result)));
  return result;
}

}  // namespace ffi
}  // namespace tvm
