// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Feeds arbitrary text to the JSON parser: it must answer with a value or an error, and what the
/// writer makes of the value must read back as an equal one.
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/extra/json.h>

#include <cstdint>
#include <cstdlib>

using tvm::ffi::Any;
using tvm::ffi::String;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const String text(reinterpret_cast<const char*>(data), size);
  String error;
  const Any value = tvm::ffi::json::Parse(text, &error);
  if (!error.empty()) {
    if (value != nullptr) std::abort();
    return 0;
  }
  const int indent = size % 3 == 0 ? 0 : 2;
  const String written = tvm::ffi::json::Stringify(value, indent);
  const Any back = tvm::ffi::json::Parse(written, &error);
  if (!error.empty() || !tvm::ffi::RecursiveEq(value, back)) std::abort();
  return 0;
}
