// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/script/printer/doc_printer.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>

namespace tvm::script::printer {

using ffi::String;

std::string PythonString(const String& value) {
  std::string result = "\"";
  for (char c : std::string_view(value)) {
    switch (c) {
      case '"':
        result += "\\\"";
        break;
      case '\\':
        result += "\\\\";
        break;
      case '\n':
        result += "\\n";
        break;
      case '\t':
        result += "\\t";
        break;
      case '\r':
        result += "\\r";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          char escape[8];
          std::snprintf(escape, sizeof(escape), "\\x%02X", static_cast<unsigned char>(c));
          result += escape;
        } else {
          result += c;
        }
    }
  }
  return result + "\"";
}

std::string PythonFloat(double value) {
  if (std::isnan(value)) return "\"nan\"";
  if (std::isinf(value)) return value > 0 ? "\"inf\"" : "\"-inf\"";
  if (value == std::trunc(value)) {
    std::string text(350, '\0');
    text.resize(std::snprintf(text.data(), text.size(), "%.1f", value));
    return text;
  }
  char text[40];
  std::snprintf(text, sizeof(text), "%.17g", value);
  return text;
}

}  // namespace tvm::script::printer
