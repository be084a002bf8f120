// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Strict JSON reader (RFC 8259, plus NaN and the infinities) with an explicit stack.
/// Messages and positions are those of Python's json module.
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/json.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "src/library_init.h"

namespace tvm {
namespace ffi {
namespace json {
namespace {

/// Values are released recursively, so their depth is bounded where they enter.
constexpr size_t kMaxDepth = 10000;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  /// False with a message in `error()`.
  bool Parse(Any* result) {
    SkipSpace();
    if (!ParseTree(result)) return false;
    SkipSpace();
    if (pos_ != text_.size()) return Fail("Extra data", pos_);
    return true;
  }

  const std::string& error() const { return error_; }

 private:
  /// A container whose end has not been read.
  struct Open {
    bool is_object;
    std::vector<Any> items;
    Object members;
    String key;
  };

  bool Fail(const char* what, size_t position) {
    // Line and column count characters, as a reader of the text does.
    size_t line = 1;
    size_t column = 1;
    size_t characters = 0;
    for (size_t i = 0; i < position; ++i) {
      if ((static_cast<unsigned char>(text_[i]) & 0xc0) == 0x80) continue;
      ++characters;
      ++column;
      if (text_[i] == '\n') {
        ++line;
        column = 1;
      }
    }
    error_ = std::string(what) + ": line " + std::to_string(line) + " column " +
             std::to_string(column) + " (char " + std::to_string(characters) + ")";
    return false;
  }

  void SkipSpace() {
    while (pos_ < text_.size() && (text_[pos_] == ' ' || text_[pos_] == '\t' ||
                                   text_[pos_] == '\n' || text_[pos_] == '\r')) {
      ++pos_;
    }
  }

  bool At(char c) const { return pos_ < text_.size() && text_[pos_] == c; }

  bool ParseTree(Any* result) {
    std::vector<Open> open;
    while (true) {
      // A value is expected here.
      Any value;
      if (At('[') || At('{')) {
        if (open.size() == kMaxDepth) return Fail("Nesting deeper than 10000 levels", pos_);
        open.push_back(Open{text_[pos_] == '{', {}, Object(), String()});
        ++pos_;
        SkipSpace();
        if (open.back().is_object) {
          if (!At('}')) {
            if (!ParseKey(&open.back())) return false;
            continue;
          }
        } else if (!At(']')) {
          continue;
        }
        ++pos_;
        value = Close(&open);
      } else if (!ParseScalar(&value)) {
        return false;
      }
      // The value goes to its container, whose end may follow at once.
      bool expect_value = false;
      while (!expect_value) {
        if (open.empty()) {
          *result = std::move(value);
          return true;
        }
        if (!AddToContainer(&open, &value, &expect_value)) return false;
      }
    }
  }

  /// Stores `value`; then either a next value is expected or `value` is the finished container.
  bool AddToContainer(std::vector<Open>* open, Any* value, bool* expect_value) {
    Open& top = open->back();
    if (top.is_object) {
      top.members.Set(Any(top.key), *value);
    } else {
      top.items.push_back(std::move(*value));
    }
    SkipSpace();
    if (At(',')) {
      const size_t comma = pos_++;
      SkipSpace();
      *expect_value = true;
      static_cast<void>(comma);
      return !top.is_object || ParseKey(&top);
    }
    if (!At(top.is_object ? '}' : ']')) return Fail("Expecting ',' delimiter", pos_);
    ++pos_;
    *value = Close(open);
    return true;
  }

  static Any Close(std::vector<Open>* open) {
    Open done = std::move(open->back());
    open->pop_back();
    if (done.is_object) return Any(std::move(done.members));
    return Any(Array(done.items.begin(), done.items.end()));
  }

  bool ParseKey(Open* object) {
    if (!At('"')) return Fail("Expecting property name enclosed in double quotes", pos_);
    std::string key;
    if (!ParseString(&key)) return false;
    object->key = String(key.data(), key.size());
    SkipSpace();
    if (!At(':')) return Fail("Expecting ':' delimiter", pos_);
    ++pos_;
    SkipSpace();
    return true;
  }

  bool TakeWord(std::string_view word) {
    if (text_.substr(pos_, word.size()) != word) return false;
    pos_ += word.size();
    return true;
  }

  bool ParseScalar(Any* value) {
    if (At('"')) {
      std::string text;
      if (!ParseString(&text)) return false;
      *value = String(text.data(), text.size());
      return true;
    }
    if (TakeWord("null")) {
      *value = Any(nullptr);
    } else if (TakeWord("true")) {
      *value = true;
    } else if (TakeWord("false")) {
      *value = false;
    } else if (TakeWord("NaN")) {
      *value = std::numeric_limits<double>::quiet_NaN();
    } else if (TakeWord("Infinity")) {
      *value = std::numeric_limits<double>::infinity();
    } else if (TakeWord("-Infinity")) {
      *value = -std::numeric_limits<double>::infinity();
    } else {
      return ParseNumber(value);
    }
    return true;
  }

  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }
  bool DigitAt(size_t i) const { return i < text_.size() && IsDigit(text_[i]); }

  bool ParseNumber(Any* value) {
    const size_t start = pos_;
    size_t end = pos_;
    if (end < text_.size() && text_[end] == '-') ++end;
    if (!DigitAt(end)) return Fail("Expecting value", start);
    if (text_[end] == '0') {
      ++end;
    } else {
      while (DigitAt(end)) ++end;
    }
    bool is_float = false;
    if (end < text_.size() && text_[end] == '.' && DigitAt(end + 1)) {
      is_float = true;
      ++end;
      while (DigitAt(end)) ++end;
    }
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      size_t digits = end + 1;
      if (digits < text_.size() && (text_[digits] == '+' || text_[digits] == '-')) ++digits;
      if (DigitAt(digits)) {
        is_float = true;
        end = digits;
        while (DigitAt(end)) ++end;
      }
    }
    const char* first = text_.data() + start;
    const char* last = text_.data() + end;
    if (!is_float) {
      int64_t integer = 0;
      if (std::from_chars(first, last, integer).ec == std::errc()) {
        *value = integer;
        pos_ = end;
        return true;
      }
    }
    double number = 0;
    if (std::from_chars(first, last, number).ec != std::errc()) {
      // Too small is zero; too large has no value.
      if (!IsTiny(std::string_view(first, static_cast<size_t>(last - first)))) {
        return Fail("Number out of range", start);
      }
      number = *first == '-' ? -0.0 : 0.0;
    }
    *value = number;
    pos_ = end;
    return true;
  }

  /// Whether an out-of-range number underflowed.
  static bool IsTiny(std::string_view number) {
    const size_t exponent = number.find_first_of("eE");
    return exponent == std::string_view::npos
               ? number.find_first_of("123456789") >= number.find('.')
               : number.substr(exponent + 1, 1) == "-";
  }

  bool ParseString(std::string* result) {
    const size_t start = pos_++;
    while (true) {
      const size_t run = pos_;
      while (pos_ < text_.size() && text_[pos_] != '"' && text_[pos_] != '\\' &&
             static_cast<unsigned char>(text_[pos_]) >= 0x20) {
        ++pos_;
      }
      result->append(text_.substr(run, pos_ - run));
      if (pos_ == text_.size()) return Fail("Unterminated string starting at", start);
      if (text_[pos_] == '"') {
        ++pos_;
        return true;
      }
      if (text_[pos_] != '\\') return Fail("Invalid control character at", pos_);
      if (!ParseEscape(result, start)) return false;
    }
  }

  bool ParseEscape(std::string* result, size_t string_start) {
    const size_t escape = pos_ + 1;
    if (escape >= text_.size()) return Fail("Unterminated string starting at", string_start);
    pos_ += 2;
    switch (text_[escape]) {
      case '"':
        result->push_back('"');
        return true;
      case '\\':
        result->push_back('\\');
        return true;
      case '/':
        result->push_back('/');
        return true;
      case 'b':
        result->push_back('\b');
        return true;
      case 'f':
        result->push_back('\f');
        return true;
      case 'n':
        result->push_back('\n');
        return true;
      case 'r':
        result->push_back('\r');
        return true;
      case 't':
        result->push_back('\t');
        return true;
      case 'u':
        return ParseCodePoint(result, escape);
      default:
        return Fail("Invalid \\escape", escape);
    }
  }

  /// Four hexadecimal digits at pos_.
  bool ParseHex(uint32_t* unit) {
    if (text_.size() - pos_ < 4) return false;
    *unit = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = text_[pos_++];
      uint32_t digit;
      if (IsDigit(c)) {
        digit = static_cast<uint32_t>(c - '0');
      } else if (c >= 'a' && c <= 'f') {
        digit = static_cast<uint32_t>(c - 'a') + 10;
      } else if (c >= 'A' && c <= 'F') {
        digit = static_cast<uint32_t>(c - 'A') + 10;
      } else {
        return false;
      }
      *unit = *unit << 4 | digit;
    }
    return true;
  }

  bool ParseCodePoint(std::string* result, size_t escape) {
    uint32_t code = 0;
    if (!ParseHex(&code)) return Fail("Invalid \\uXXXX escape", escape);
    if (code >= 0xd800 && code < 0xe000) {
      uint32_t low = 0;
      const bool has_low = code < 0xdc00 && TakeWord("\\u") && ParseHex(&low);
      if (!has_low || low < 0xdc00 || low >= 0xe000) {
        return Fail("Invalid surrogate pair of \\uXXXX escapes", escape);
      }
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    AppendUtf8(result, code);
    return true;
  }

  static void AppendUtf8(std::string* result, uint32_t code) {
    auto byte = [result](uint32_t value) { result->push_back(static_cast<char>(value)); };
    if (code < 0x80) {
      byte(code);
    } else if (code < 0x800) {
      byte(0xc0 | code >> 6);
      byte(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
      byte(0xe0 | code >> 12);
      byte(0x80 | (code >> 6 & 0x3f));
      byte(0x80 | (code & 0x3f));
    } else {
      byte(0xf0 | code >> 18);
      byte(0x80 | (code >> 12 & 0x3f));
      byte(0x80 | (code >> 6 & 0x3f));
      byte(0x80 | (code & 0x3f));
    }
  }

  std::string_view text_;
  size_t pos_ = 0;
  std::string error_;
};

}  // namespace

Any Parse(const String& json_str, String* error_msg) {
  Parser parser(std::string_view(json_str.data(), json_str.size()));
  Any result;
  if (parser.Parse(&result)) {
    if (error_msg != nullptr) *error_msg = String();
    return result;
  }
  if (error_msg == nullptr) TVM_FFI_THROW(ValueError) << parser.error();
  *error_msg = String(parser.error());
  return Any(nullptr);
}

TVM_FFI_LIBRARY_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef().def("ffi.json.Parse", [](const String& text) { return Parse(text); });
}

}  // namespace json
}  // namespace ffi
}  // namespace tvm
