// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Feeds arbitrary text to the readers of dtypes and devices. A dtype that is accepted must print
/// as text that names the same dtype.
#include <tvm/ffi/any.h>
#include <tvm/ffi/device.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/error.h>

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const tvm::ffi::String text(reinterpret_cast<const char*>(data), size);
  try {
    const DLDataType dtype = tvm::ffi::StringToDLDataType(text);
    const tvm::ffi::String printed = tvm::ffi::DLDataTypeToString(dtype);
    if (tvm::ffi::StringToDLDataType(printed) != dtype) std::abort();
  } catch (const tvm::ffi::Error& error) {
    if (error.message().empty()) std::abort();
  }
  const auto device = tvm::ffi::Any(text).try_cast<DLDevice>();
  if (device.has_value() && device->device_id < 0) std::abort();
  return 0;
}
