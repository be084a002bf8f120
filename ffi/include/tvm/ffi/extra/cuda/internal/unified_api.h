// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// What cubin_launcher.h needs of CUDA, on the runtime or on the driver.
///
/// TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API chooses: 1 calls the driver (links libcuda, toolkits from
/// 12.0), 0 the runtime (12.8 and newer, where it got libraries). The default is the runtime where
/// it can do it. All of a program must choose the same.
#ifndef TVM_FFI_EXTRA_CUDA_INTERNAL_UNIFIED_API_H_
#define TVM_FFI_EXTRA_CUDA_INTERNAL_UNIFIED_API_H_

#include <cuda.h>
#include <cuda_runtime.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/cuda/base.h>
#include <tvm/ffi/extra/cuda/device_guard.h>

#include <cstdint>
#include <string>

#ifndef TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API
#if CUDART_VERSION >= 12080
#define TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API 0
#else
#define TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API 1
#endif
#endif

#if !TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API && CUDART_VERSION < 12080
#error "TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API=0 needs CUDA 12.8 or newer"
#endif

namespace tvm {
namespace ffi {
namespace cuda_api {

#if TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API

using StreamHandle = CUstream;
using DeviceHandle = CUdevice;
using LibraryHandle = CUlibrary;
using KernelHandle = CUkernel;
using LaunchConfig = CUlaunchConfig;
using LaunchAttrType = CUlaunchAttribute;
using ResultType = CUresult;
inline constexpr ResultType kSuccess = CUDA_SUCCESS;

/// Name and description of a status.
inline void GetErrorString(ResultType status, const char** name, const char** text) {
  if (cuGetErrorName(status, name) != CUDA_SUCCESS) *name = "unknown";
  if (cuGetErrorString(status, text) != CUDA_SUCCESS) *text = "no description";
}

inline ResultType LoadLibrary(LibraryHandle* library, const void* image) {
  if (ResultType status = cuInit(0); status != kSuccess) return status;
  return cuLibraryLoadData(library, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
}
inline ResultType UnloadLibrary(LibraryHandle library) { return cuLibraryUnload(library); }
inline ResultType GetKernel(KernelHandle* kernel, LibraryHandle library, const char* name) {
  return cuLibraryGetKernel(kernel, library, name);
}

inline ResultType LaunchKernel(KernelHandle kernel, void** args, dim3 grid, dim3 block,
                               StreamHandle stream, uint32_t dyn_smem_bytes) {
  return cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), grid.x, grid.y, grid.z, block.x,
                        block.y, block.z, dyn_smem_bytes, stream, args, nullptr);
}
inline ResultType LaunchKernelEx(KernelHandle kernel, void** args, const LaunchConfig& config) {
  return cuLaunchKernelEx(&config, reinterpret_cast<CUfunction>(kernel), args, nullptr);
}

/// Bytes of shared memory on device `index` that the kernel may ask for at launch.
inline ResultType DynamicSharedMemoryLeft(KernelHandle kernel, int index, int* bytes) {
  CUdevice device;
  int limit = 0, used = 0;
  ResultType status = cuDeviceGet(&device, index);
  if (status != kSuccess) return status;
  status =
      cuDeviceGetAttribute(&limit, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device);
  if (status != kSuccess) return status;
  status = cuKernelGetAttribute(&used, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel, device);
  *bytes = limit - used;
  return status;
}
inline ResultType SetMaxDynamicSharedMemory(KernelHandle kernel, int index, int bytes) {
  CUdevice device;
  ResultType status = cuDeviceGet(&device, index);
  if (status != kSuccess) return status;
  return cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes, kernel,
                              device);
}
inline ResultType GetDeviceCount(int* count) {
  if (ResultType status = cuInit(0); status != kSuccess) return status;
  return cuDeviceGetCount(count);
}

inline ResultType AllowLargeClusters(KernelHandle kernel) {
  CUdevice device;
  if (ResultType status = cuCtxGetDevice(&device); status != kSuccess) return status;
  return cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1, kernel,
                              device);
}
inline void FillLaunchConfig(StreamHandle stream, uint32_t smem_size, dim3 grid, dim3 block,
                             LaunchConfig* config) {
  *config = LaunchConfig{};
  config->gridDimX = grid.x;
  config->gridDimY = grid.y;
  config->gridDimZ = grid.z;
  config->blockDimX = block.x;
  config->blockDimY = block.y;
  config->blockDimZ = block.z;
  config->sharedMemBytes = smem_size;
  config->hStream = stream;
}
inline void SetClusterSize(LaunchAttrType* attr, unsigned int size) {
  *attr = LaunchAttrType{};
  attr->id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attr->value.clusterDim.x = size;
  attr->value.clusterDim.y = 1;
  attr->value.clusterDim.z = 1;
}

#else

using StreamHandle = cudaStream_t;
using DeviceHandle = int;
using LibraryHandle = cudaLibrary_t;
using KernelHandle = cudaKernel_t;
using LaunchConfig = cudaLaunchConfig_t;
using LaunchAttrType = cudaLaunchAttribute;
using ResultType = cudaError_t;
inline constexpr ResultType kSuccess = cudaSuccess;

/// Name and description of a status.
inline void GetErrorString(ResultType status, const char** name, const char** text) {
  *name = cudaGetErrorName(status);
  *text = cudaGetErrorString(status);
}

inline ResultType LoadLibrary(LibraryHandle* library, const void* image) {
  return cudaLibraryLoadData(library, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
}
inline ResultType UnloadLibrary(LibraryHandle library) { return cudaLibraryUnload(library); }
inline ResultType GetKernel(KernelHandle* kernel, LibraryHandle library, const char* name) {
  return cudaLibraryGetKernel(kernel, library, name);
}

/// The runtime takes kernels of libraries where it takes functions.
inline const void* AsFunction(KernelHandle kernel) { return reinterpret_cast<const void*>(kernel); }
inline ::dim3 AsCudaDim(dim3 extent) { return ::dim3(extent.x, extent.y, extent.z); }

inline ResultType LaunchKernel(KernelHandle kernel, void** args, dim3 grid, dim3 block,
                               StreamHandle stream, uint32_t dyn_smem_bytes) {
  return cudaLaunchKernel(AsFunction(kernel), AsCudaDim(grid), AsCudaDim(block), args,
                          dyn_smem_bytes, stream);
}
inline ResultType LaunchKernelEx(KernelHandle kernel, void** args, const LaunchConfig& config) {
  return cudaLaunchKernelExC(&config, AsFunction(kernel), args);
}

/// Bytes of shared memory on device `index` that the kernel may ask for at launch.
inline ResultType DynamicSharedMemoryLeft(KernelHandle kernel, int index, int* bytes) {
  CUDADeviceGuard guard(index);
  int limit = 0;
  cudaFuncAttributes attributes{};
  ResultType status =
      cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, index);
  if (status != kSuccess) return status;
  status = cudaFuncGetAttributes(&attributes, AsFunction(kernel));
  *bytes = limit - static_cast<int>(attributes.sharedSizeBytes);
  return status;
}
inline ResultType SetMaxDynamicSharedMemory(KernelHandle kernel, int index, int bytes) {
  CUDADeviceGuard guard(index);
  return cudaFuncSetAttribute(AsFunction(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                              bytes);
}
inline ResultType GetDeviceCount(int* count) { return cudaGetDeviceCount(count); }

inline ResultType AllowLargeClusters(KernelHandle kernel) {
  return cudaFuncSetAttribute(AsFunction(kernel), cudaFuncAttributeNonPortableClusterSizeAllowed,
                              1);
}
inline void FillLaunchConfig(StreamHandle stream, uint32_t smem_size, dim3 grid, dim3 block,
                             LaunchConfig* config) {
  *config = LaunchConfig{};
  config->gridDim = AsCudaDim(grid);
  config->blockDim = AsCudaDim(block);
  config->dynamicSmemBytes = smem_size;
  config->stream = stream;
}
inline void SetClusterSize(LaunchAttrType* attr, unsigned int size) {
  *attr = LaunchAttrType{};
  attr->id = cudaLaunchAttributeClusterDimension;
  attr->val.clusterDim.x = size;
  attr->val.clusterDim.y = 1;
  attr->val.clusterDim.z = 1;
}

#endif

/// Blocks in a cluster that every device with clusters can run.
inline constexpr int kPortableClusterSize = 8;

/// Settings for CubinKernel::LaunchEx. `cluster_dim` blocks along x form a cluster; 1 means none.
/// `attr` is what `config` refers to and must live as long.
inline ResultType ConstructLaunchConfig(KernelHandle kernel, StreamHandle stream,
                                        uint32_t smem_size, dim3 grid, dim3 block, int cluster_dim,
                                        LaunchConfig& config, LaunchAttrType& attr) {
  FillLaunchConfig(stream, smem_size, grid, block, &config);
  if (cluster_dim <= 1) return kSuccess;
  SetClusterSize(&attr, static_cast<unsigned int>(cluster_dim));
  config.attrs = &attr;
  config.numAttrs = 1;
  return cluster_dim > kPortableClusterSize ? AllowLargeClusters(kernel) : kSuccess;
}

/// Raises RuntimeError with the name and the description of the status.
[[noreturn]] TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE inline void ThrowError(ResultType status,
                                                                        const std::string& what) {
  const char* name = nullptr;
  const char* text = nullptr;
  GetErrorString(status, &name, &text);
  TVM_FFI_THROW(RuntimeError) << "CUDA error " << name << " (" << static_cast<int>(status)
                              << ") when " << what << ": " << text;
}

}  // namespace cuda_api
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_CUDA_INTERNAL_UNIFIED_API_H_
