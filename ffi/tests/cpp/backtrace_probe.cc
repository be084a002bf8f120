// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Library with a line table, whose frames backtrace_test.cc looks for. Built once per version of
/// the format.
#include <tvm/ffi/c_api.h>

#include <string>

namespace probe {
namespace {

__attribute__((noinline)) std::string Hidden() {
  const TVMFFIByteArray* text = TVMFFIBacktrace(nullptr, 0, nullptr, 0);  // line 14
  return std::string(text->data, text->size);
}

}  // namespace

__attribute__((noinline, visibility("default"))) std::string PROBE_NAME() {
  std::string text = Hidden();  // line 21
  text += "end\n";
  return text;
}

}  // namespace probe
