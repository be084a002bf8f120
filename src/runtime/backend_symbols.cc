// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file backend_symbols.cc
/// Workspaces for compiled code, and the table of runtime functions it receives at load.
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/runtime/c_backend_api.h>
#include <tvm/runtime/device_api.h>

void* TVMBackendAllocWorkspace(int device_type, int device_id, uint64_t nbytes, int dtype_code_hint,
                               int dtype_bits_hint) {
  using tvm::runtime::DeviceAPI;
  try {
    tvm::Device dev{static_cast<DLDeviceType>(device_type), device_id};
    DLDataType hint{static_cast<uint8_t>(dtype_code_hint), static_cast<uint8_t>(dtype_bits_hint),
                    1};
    return DeviceAPI::Get(dev)->AllocWorkspace(dev, static_cast<size_t>(nbytes), hint);
  } catch (const tvm::ffi::Error& e) {
    // Compiled code turns the null into its own error.
    TVMFFIErrorSetRaisedFromCStr(std::string(e.kind().data(), e.kind().size()).c_str(), e.what());
    return nullptr;
  } catch (const std::exception& e) {
    TVMFFIErrorSetRaisedFromCStr("RuntimeError", e.what());
    return nullptr;
  }
}

int TVMBackendFreeWorkspace(int device_type, int device_id, void* ptr) {
  TVM_FFI_SAFE_CALL_BEGIN();
  tvm::Device dev{static_cast<DLDeviceType>(device_type), device_id};
  tvm::runtime::DeviceAPI::Get(dev)->FreeWorkspace(dev, ptr);
  TVM_FFI_SAFE_CALL_END();
}

namespace tvm {
namespace runtime {

TVM_FFI_STATIC_INIT_BLOCK() {
  struct Symbol {
    const char* name;
    void* address;
  };
  const Symbol symbols[] = {
      {"__TVMFFIFunctionCall", reinterpret_cast<void*>(&TVMFFIFunctionCall)},
      {"__TVMFFIErrorSetRaisedFromCStr", reinterpret_cast<void*>(&TVMFFIErrorSetRaisedFromCStr)},
      {"__TVMFFIErrorSetRaisedFromCStrParts",
       reinterpret_cast<void*>(&TVMFFIErrorSetRaisedFromCStrParts)},
      {"__TVMFFIEnvModLookupFromImports", reinterpret_cast<void*>(&TVMFFIEnvModLookupFromImports)},
      {"__TVMFFIHandleInitOnce", reinterpret_cast<void*>(&TVMFFIHandleInitOnce)},
      {"__TVMBackendAllocWorkspace", reinterpret_cast<void*>(&TVMBackendAllocWorkspace)},
      {"__TVMBackendFreeWorkspace", reinterpret_cast<void*>(&TVMBackendFreeWorkspace)},
      {"__TVMBackendParallelLaunch", reinterpret_cast<void*>(&TVMBackendParallelLaunch)},
      {"__TVMBackendParallelBarrier", reinterpret_cast<void*>(&TVMBackendParallelBarrier)},
  };
  for (const Symbol& s : symbols) {
    TVM_FFI_CHECK_SAFE_CALL(TVMFFIEnvModRegisterContextSymbol(s.name, s.address));
  }
}

}  // namespace runtime
}  // namespace tvm
