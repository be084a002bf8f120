// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Uses every part of tvm/ffi/extra/cuda; ffi/tests/python/test_cuda_headers.py calls it.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/cuda/base.h>
#include <tvm/ffi/extra/cuda/cubin_launcher.h>
#include <tvm/ffi/extra/cuda/device_guard.h>
#include <tvm/ffi/function.h>

#include <string>
#include <type_traits>
#include <utility>

namespace ffi = tvm::ffi;

TVM_FFI_EMBED_CUBIN(linked);

namespace nested {
const unsigned char kImage[] = "KERNELS from_bytes:16";
TVM_FFI_EMBED_CUBIN_FROM_BYTES(bytes, kImage);
ffi::CubinKernel Kernel() { return TVM_FFI_EMBED_CUBIN_GET_KERNEL(bytes, "from_bytes"); }
}  // namespace nested

namespace {

static_assert(!std::is_copy_constructible_v<ffi::CubinModule>);
static_assert(std::is_nothrow_move_constructible_v<ffi::CubinModule>);
static_assert(!std::is_default_constructible_v<ffi::CUDADeviceGuard>);

std::string Launch(ffi::CubinKernel kernel, int64_t value, ffi::dim3 grid, ffi::dim3 block,
                   uint32_t shared) {
  void* args[] = {&value};
  auto stream = static_cast<ffi::cuda_api::StreamHandle>(TVMFFIEnvGetStream(kDLCUDA, 0));
  TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(kernel.Launch(args, grid, block, stream, shared));
  return stand_in::Now().log;
}

std::string LaunchLinked(int64_t value) {
  return Launch(TVM_FFI_EMBED_CUBIN_GET_KERNEL(linked, "add_one"), value, {2, 3}, 256, 64);
}
std::string LaunchBytes(int64_t value) { return Launch(nested::Kernel(), value, 1, {8, 4, 2}, 0); }

std::string LaunchCluster(int64_t value, int cluster) {
  ffi::CubinKernel kernel = TVM_FFI_EMBED_CUBIN_GET_KERNEL(linked, "add_one");
  ffi::cuda_api::LaunchConfig config;
  ffi::cuda_api::LaunchAttrType attr;
  TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(ffi::cuda_api::ConstructLaunchConfig(
      kernel.GetHandle(), nullptr, 32, 16, 128, cluster, config, attr));
  void* args[] = {&value};
  TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(kernel.LaunchEx(args, config));
  return stand_in::Now().log + (kernel.GetHandle()->large_clusters ? " large" : "");
}

/// Number of libraries while one of these bytes is loaded, and after.
ffi::Array<int64_t> LoadAndUnload(const ffi::Bytes& image) {
  const size_t before = stand_in::Now().loaded.size();
  size_t during = 0;
  {
    ffi::CubinModule module(image);
    ffi::CubinModule moved = std::move(module);
    during = stand_in::Now().loaded.size();
  }
  return {static_cast<int64_t>(during - before),
          static_cast<int64_t>(stand_in::Now().loaded.size() - before)};
}

void FindKernel(const std::string& name) {
  static ffi::CubinModule module("KERNELS one:0");
  module[name.c_str()];
}

/// Bytes asked for on each device; 0 where nothing was.
ffi::Array<int64_t> SharedMemory(int64_t wanted) {
  ffi::CubinModule module("KERNELS big:1000");
  ffi::CubinKernel kernel = module.GetKernelWithMaxDynamicSharedMemory("big", wanted);
  auto& asked = kernel.GetHandle()->dynamic_bytes;
  return {asked[0], asked[1]};
}

/// Current devices before, inside and after a guard; the status of the runtime at the end.
ffi::Array<int64_t> Guard(int device) {
  ffi::Array<int64_t> seen;
  auto note = [&] {
    int current = -1;
    TVM_FFI_CHECK_CUDA_ERROR(cudaGetDevice(&current));
    seen.push_back(current);
  };
  note();
  try {
    ffi::CUDADeviceGuard guard(device);
    note();
  } catch (const ffi::Error&) {
    seen.push_back(cudaGetLastError());
    throw;
  }
  note();
  return seen;
}

}  // namespace

TVM_FFI_DLL_EXPORT_TYPED_FUNC(launch_linked, LaunchLinked);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(launch_bytes, LaunchBytes);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(launch_cluster, LaunchCluster);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(load_and_unload, LoadAndUnload);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(find_kernel, FindKernel);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(shared_memory, SharedMemory);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(guard, Guard);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(last_error, [] { return static_cast<int64_t>(cudaGetLastError()); });
