// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// How this library was built, for problem reports.
#include <tvm/codegen/codegen.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/reflection/registry.h>

#include <string>
#include <utility>

namespace tvm {
namespace driver {
namespace {

/// Build options, and a function that is registered where the option is on.
constexpr std::pair<const char*, const char*> kOptional[] = {
    {"USE_CUDA", "device_api.cuda"},
    {"USE_HEXAGON", "device_api.hexagon"},
    {"USE_METAL", "device_api.metal"},
    {"USE_OPENCL", "device_api.opencl"},
    {"USE_RANDOM", "tvm.contrib.random.uniform"},
    {"USE_ROCM", "device_api.rocm"},
    {"USE_RPC", "rpc.Connect"},
    {"USE_SORT", "tvm.contrib.sort.sort"},
    {"USE_VULKAN", "device_api.vulkan"},
};

/// How the libraries of this process were built.
ffi::Map<ffi::String, ffi::String> LibInfo() {
  ffi::Map<ffi::String, ffi::String> info;
#if defined(__clang__)
  info.Set("CXX_COMPILER", "clang " __clang_version__);
#elif defined(__GNUC__)
  info.Set("CXX_COMPILER", "gcc " __VERSION__);
#endif
  info.Set("CXX_STANDARD", std::to_string(__cplusplus));
#ifdef NDEBUG
  info.Set("ASSERTIONS", "OFF");
#else
  info.Set("ASSERTIONS", "ON");
#endif
  std::string reason;
  const codegen::LLVMHooks* llvm = codegen::TryGetLLVMHooks(&reason);
  info.Set("USE_LLVM", llvm != nullptr ? "ON" : "OFF");
  if (llvm != nullptr) info.Set("LLVM_VERSION_MAJOR", std::to_string(llvm->version_major));
  if (llvm == nullptr && !reason.empty()) info.Set("LLVM_MISSING_BECAUSE", reason);
  // The libraries that are loaded decide, not how this one was built.
  for (const auto& [option, global] : kOptional) {
    info.Set(option, ffi::Function::GetGlobal(global).has_value() ? "ON" : "OFF");
  }
  return info;
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  refl::GlobalDef().def("support.GetLibInfo", LibInfo);
}

}  // namespace driver
}  // namespace tvm
