// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/string.h>

namespace tvm {
namespace ffi {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

/// The letter of a two-character escape, or NUL.
char ShortEscape(char c) {
  switch (c) {
    case '\n':
      return 'n';
    case '\r':
      return 'r';
    case '\t':
      return 't';
    default:
      return '\0';
  }
}

void AppendHex(std::string* out, uint32_t value, int num_digits) {
  for (int i = num_digits; i-- > 0;) out->push_back(kHexDigits[(value >> (4 * i)) & 15]);
}

/// Length of the well-formed UTF-8 sequence at `pos`, 0 if there is none.
size_t Utf8Length(std::string_view text, size_t pos) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[pos + i]); };
  const uint8_t lead = byte(0);
  size_t length;
  uint8_t low = 0x80, high = 0xBF;  // bounds of the second byte
  if (lead < 0x80) {
    return 1;
  } else if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;   // overlong
    if (lead == 0xED) high = 0x9F;  // surrogates
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;   // overlong
    if (lead == 0xF4) high = 0x8F;  // beyond U+10FFFF
  } else {
    return 0;
  }
  if (pos + length > text.size() || byte(1) < low || byte(1) > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

}  // namespace

String EscapeStringJSON(const String& value) {
  std::string out = "\"";
  out.reserve(value.size() + 2);
  for (char c : value.view()) {
    if (c == '"' || c == '\\' || c == '/') {
      out.push_back('\\');
      out.push_back(c);
    } else if (char letter = c == '\b' ? 'b' : c == '\f' ? 'f' : ShortEscape(c)) {
      out.push_back('\\');
      out.push_back(letter);
    } else if (static_cast<uint8_t>(c) < 0x20 || c == 0x7F) {
      out.append("\\u00");
      AppendHex(&out, static_cast<uint8_t>(c), 2);
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
  return String(out);
}

String EscapedStringPy(const String& value) {
  const std::string_view text = value.view();
  std::string out = "\"";
  out.reserve(text.size() + 2);
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    const size_t length = Utf8Length(text, i);
    if (length > 1) {
      uint32_t code_point = static_cast<uint8_t>(c) & (0x7F >> length);
      for (size_t k = 1; k < length; ++k) code_point = code_point << 6 | (text[i + k] & 0x3F);
      out.append(code_point > 0xFFFF ? "\\U" : "\\u");
      AppendHex(&out, code_point, code_point > 0xFFFF ? 8 : 4);
      i += length;
      continue;
    }
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (char letter = ShortEscape(c)) {
      out.push_back('\\');
      out.push_back(letter);
    } else if (length == 0 || static_cast<uint8_t>(c) < 0x20 || c == 0x7F) {
      out.append("\\x");
      AppendHex(&out, static_cast<uint8_t>(c), 2);
    } else {
      out.push_back(c);
    }
    ++i;
  }
  out.push_back('"');
  return String(out);
}

}  // namespace ffi
}  // namespace tvm

int TVMFFIStringFromByteArray(const TVMFFIByteArray* input, TVMFFIAny* out) {
  TVM_FFI_SAFE_CALL_BEGIN();
  tvm::ffi::TypeTraits<tvm::ffi::String>::MoveToAny(tvm::ffi::String(*input), out);
  TVM_FFI_SAFE_CALL_END();
}

int TVMFFIBytesFromByteArray(const TVMFFIByteArray* input, TVMFFIAny* out) {
  TVM_FFI_SAFE_CALL_BEGIN();
  tvm::ffi::TypeTraits<tvm::ffi::Bytes>::MoveToAny(tvm::ffi::Bytes(*input), out);
  TVM_FFI_SAFE_CALL_END();
}
