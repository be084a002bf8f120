// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Feeds arbitrary bytes to the loader of parameter files: it must load or raise.
#include <tvm/ffi/function.h>
#include <tvm/ffi/string.h>
#include <tvm/runtime/tensor.h>

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto load = tvm::ffi::Function::GetGlobalRequired("runtime.LoadParams");
  try {
    load(tvm::ffi::Bytes(reinterpret_cast<const char*>(data), size));
  } catch (const tvm::ffi::Error&) {
  }
  return 0;
}
