// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Feeds arbitrary text to the graph reader, with the types of the testing library registered. What
/// it accepts must print, hash, copy and serialise again without a crash.
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/extra/serialization.h>

#include <cstdint>

extern "C" int TVMFFITestingDummyTarget();

namespace {

using tvm::ffi::Any;

/// Runs a step that may refuse the value, but not crash on it.
template <typename Step>
void Try(const Step& step) {
  try {
    step();
  } catch (const tvm::ffi::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const int linked = TVMFFITestingDummyTarget();  // registers its types when loaded
  (void)linked;
  Any value;
  try {
    value =
        tvm::ffi::FromJSONGraphString(tvm::ffi::String(reinterpret_cast<const char*>(data), size));
  } catch (const tvm::ffi::Error&) {
    return 0;
  }
  Try([&] { tvm::ffi::ReprPrint(value); });
  Try([&] { tvm::ffi::RecursiveHash(value); });
  Try([&] { tvm::ffi::RecursiveEq(value, tvm::ffi::DeepCopy(value)); });
  Try([&] { tvm::ffi::FromJSONGraphString(tvm::ffi::ToJSONGraphString(value)); });
  return 0;
}
