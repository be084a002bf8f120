// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// JSON writer with an explicit stack.
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/json.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "src/library_init.h"
#include "value_util.h"

namespace tvm {
namespace ffi {
namespace json {
namespace {

class Writer {
 public:
  explicit Writer(int indent) : indent_(indent) {}

  std::string Write(const Any& root) {
    Begin(root);
    while (!open_.empty()) Advance();
    return std::move(text_);
  }

 private:
  /// A container that is being written.
  struct Open {
    Any value;
    bool is_object;
    MapEntries entries;  ///< of an object
    size_t next = 0;
  };

  void Begin(const Any& value) {
    const TVMFFIAny& raw = RawAny(value);
    switch (raw.type_index) {
      case kTVMFFINone:
        text_ += "null";
        return;
      case kTVMFFIBool:
        text_ += raw.v_int64 != 0 ? "true" : "false";
        return;
      case kTVMFFIInt:
        text_ += std::to_string(raw.v_int64);
        return;
      case kTVMFFIFloat:
        WriteFloat(raw.v_float64);
        return;
      case kTVMFFISmallStr:
      case kTVMFFIStr:
        WriteString(TextOf(raw));
        return;
      case kTVMFFIList:
        // Only a mutable container can hold itself.
        if (!lists_on_path_.insert(raw.v_obj).second) {
          TVM_FFI_THROW(ValueError) << "Cycle detected: List contains itself";
        }
        [[fallthrough]];
      case kTVMFFIArray:
        text_ += '[';
        open_.push_back(Open{value, false, {}});
        return;
      case kTVMFFIMap:
        text_ += '{';
        open_.push_back(Open{value, true, EntriesOf(value)});
        return;
      default:
        TVM_FFI_THROW(ValueError) << "Unsupported type: `" << value.GetTypeKey() << "`";
    }
  }

  void Advance() {
    Open& top = open_.back();
    const size_t size = top.is_object ? top.entries.size() : SequenceView(RawAny(top.value)).size();
    if (top.next >= size) {
      const Open done = std::move(open_.back());
      open_.pop_back();
      if (done.value.type_index() == kTVMFFIList) lists_on_path_.erase(RawAny(done.value).v_obj);
      NewLine();
      text_ += done.is_object ? '}' : ']';
      return;
    }
    if (top.next != 0) text_ += ',';
    NewLine();
    const size_t i = top.next++;
    if (!top.is_object) {
      const Any item = SequenceView(RawAny(top.value))[i];
      Begin(item);
      return;
    }
    const Any key = top.entries[i].first;
    const Any item = top.entries[i].second;
    if (CanonicalTypeIndex(key.type_index()) != kTVMFFIStr) {
      TVM_FFI_THROW(ValueError) << "Expect key to be string, got `" << key.GetTypeKey() << "`";
    }
    WriteString(TextOf(RawAny(key)));
    text_ += indent_ > 0 ? ": " : ":";
    Begin(item);
  }

  void NewLine() {
    if (indent_ == 0) return;
    text_ += '\n';
    text_.append(open_.size() * static_cast<size_t>(indent_), ' ');
  }

  void WriteFloat(double number) {
    if (std::isnan(number)) {
      text_ += "NaN";
    } else if (std::isinf(number)) {
      text_ += number > 0 ? "Infinity" : "-Infinity";
    } else {
      char buffer[40];
      const bool integral = std::trunc(number) == number && std::fabs(number) < 1e15;
      std::snprintf(buffer, sizeof(buffer), integral ? "%.1f" : "%.17g", number);
      std::string_view digits(buffer);
      text_ += digits;
      // Keep it a float for the reader.
      if (digits.find_first_of(".e") == std::string_view::npos) text_ += ".0";
    }
  }

  void WriteString(std::string_view content) {
    static constexpr char kHex[] = "0123456789abcdef";
    text_ += '"';
    for (const char c : content) {
      switch (c) {
        case '"':
          text_ += "\\\"";
          break;
        case '\\':
          text_ += "\\\\";
          break;
        case '/':
          text_ += "\\/";
          break;
        case '\b':
          text_ += "\\b";
          break;
        case '\f':
          text_ += "\\f";
          break;
        case '\n':
          text_ += "\\n";
          break;
        case '\r':
          text_ += "\\r";
          break;
        case '\t':
          text_ += "\\t";
          break;
        default:
          if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            text_ += "\\u00";
            text_ += kHex[static_cast<unsigned char>(c) >> 4];
            text_ += kHex[c & 0xf];
          } else {
            text_ += c;
          }
      }
    }
    text_ += '"';
  }

  const int indent_;
  std::string text_;
  std::vector<Open> open_;
  std::unordered_set<const TVMFFIObject*> lists_on_path_;
};

}  // namespace

String Stringify(const Any& value, const Optional<int>& indent) {
  const int spaces = indent.has_value() ? *indent : 0;
  if (spaces < 0) {
    TVM_FFI_THROW(ValueError) << "json indent must not be negative, got " << spaces;
  }
  return String(Writer(spaces).Write(value));
}

TVM_FFI_LIBRARY_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef().def("ffi.json.Stringify", Stringify);
}

}  // namespace json
}  // namespace ffi
}  // namespace tvm
