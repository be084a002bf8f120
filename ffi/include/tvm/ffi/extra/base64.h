// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Base64 with the standard alphabet and padding (RFC 4648 section 4).
#ifndef TVM_FFI_EXTRA_BASE64_H_
#define TVM_FFI_EXTRA_BASE64_H_

#include <tvm/ffi/c_api.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/string.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace tvm {
namespace ffi {

inline String Base64Encode(TVMFFIByteArray bytes) {
  static constexpr char kAlphabet[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size; i += 3) {
    const size_t left = bytes.size - i;
    uint32_t group = static_cast<uint32_t>(static_cast<uint8_t>(bytes.data[i])) << 16;
    if (left > 1) group |= static_cast<uint32_t>(static_cast<uint8_t>(bytes.data[i + 1])) << 8;
    if (left > 2) group |= static_cast<uint8_t>(bytes.data[i + 2]);
    text += kAlphabet[group >> 18];
    text += kAlphabet[(group >> 12) & 63];
    text += left > 1 ? kAlphabet[(group >> 6) & 63] : '=';
    text += left > 2 ? kAlphabet[group & 63] : '=';
  }
  return String(std::move(text));
}

inline String Base64Encode(const Bytes& data) {
  return Base64Encode(TVMFFIByteArray{data.data(), data.size()});
}

namespace base64_detail {
inline int Digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  if (c == '/') return 63;
  return -1;
}
}  // namespace base64_detail

/// ValueError for a wrong length, a foreign character, or padding that is not at the end.
inline Bytes Base64Decode(TVMFFIByteArray text) {
  if (text.size % 4 != 0) {
    TVM_FFI_THROW(ValueError) << "base64 text needs a length that is a multiple of 4, got "
                              << text.size;
  }
  size_t padding = 0;
  while (padding < 2 && padding < text.size && text.data[text.size - 1 - padding] == '=') ++padding;
  std::string bytes;
  bytes.reserve(text.size / 4 * 3);
  for (size_t i = 0; i < text.size; i += 4) {
    uint32_t group = 0;
    for (size_t j = i; j < i + 4; ++j) {
      const bool padded = j >= text.size - padding;
      const int digit = padded ? 0 : base64_detail::Digit(text.data[j]);
      if (digit < 0) {
        TVM_FFI_THROW(ValueError) << "unexpected character in base64 text at offset " << j;
      }
      group = group << 6 | static_cast<uint32_t>(digit);
    }
    bytes += static_cast<char>(group >> 16);
    bytes += static_cast<char>(group >> 8 & 0xff);
    bytes += static_cast<char>(group & 0xff);
  }
  bytes.resize(bytes.size() - padding);
  return Bytes(std::move(bytes));
}

inline Bytes Base64Decode(const String& text) {
  return Base64Decode(TVMFFIByteArray{text.data(), text.size()});
}

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_BASE64_H_
