// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// The part of the CUDA runtime that tvm/ffi/extra/cuda uses, on the devices of device.h.
#ifndef TVM_FFI_TESTS_CUDA_STAND_IN_CUDA_RUNTIME_H_
#define TVM_FFI_TESTS_CUDA_STAND_IN_CUDA_RUNTIME_H_

#include "device.h"

#define CUDART_VERSION 12080

enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidDevice = 101 };
enum cudaDeviceAttr { cudaDevAttrMaxSharedMemoryPerBlockOptin = 97 };
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributeNonPortableClusterSizeAllowed = 10,
};
enum cudaLaunchAttributeID { cudaLaunchAttributeClusterDimension = 4 };

struct dim3 {
  unsigned int x, y, z;
  constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
};

using cudaStream_t = struct CUstream_st*;
using cudaLibrary_t = stand_in::Library*;
using cudaKernel_t = stand_in::Kernel*;
struct cudaFuncAttributes {
  size_t sharedSizeBytes;
};
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  struct {
    dim3 clusterDim;
  } val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned int numAttrs;
};

inline cudaError_t AsRuntime(int status) { return static_cast<cudaError_t>(status); }

inline const char* cudaGetErrorName(cudaError_t status) { return stand_in::NameOf(status); }
inline const char* cudaGetErrorString(cudaError_t) { return "as the stand-in says"; }
inline cudaError_t cudaGetLastError() {
  const int last = stand_in::Now().last_error;
  stand_in::Now().last_error = 0;
  return AsRuntime(last);
}
inline cudaError_t cudaGetDeviceCount(int* count) {
  *count = stand_in::kNumDevices;
  return cudaSuccess;
}
inline cudaError_t cudaGetDevice(int* device) {
  *device = stand_in::Now().current_device;
  return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= stand_in::kNumDevices) {
    return AsRuntime(stand_in::Fail(stand_in::kInvalidDevice));
  }
  stand_in::Now().current_device = device;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int device) {
  *value = stand_in::kSharedMemory[device];
  return cudaSuccess;
}
inline cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* image, void*, void*,
                                       unsigned, void*, void*, unsigned) {
  return AsRuntime(stand_in::Load(library, image));
}
inline cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  return AsRuntime(stand_in::Unload(library));
}
inline cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library,
                                        const char* name) {
  return AsRuntime(stand_in::Find(kernel, library, name));
}
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  attributes->sharedSizeBytes =
      static_cast<size_t>(static_cast<const stand_in::Kernel*>(kernel)->shared_bytes);
  return cudaSuccess;
}
inline cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute,
                                        int value) {
  auto* kernel = static_cast<cudaKernel_t>(const_cast<void*>(function));
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    kernel->dynamic_bytes[stand_in::Now().current_device] = value;
  } else {
    kernel->large_clusters = value != 0;
  }
  return cudaSuccess;
}
inline cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** args,
                                    size_t shared, cudaStream_t stream) {
  return AsRuntime(stand_in::Launch(static_cast<const stand_in::Kernel*>(kernel), grid, block, args,
                                    shared, stream));
}
inline cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel,
                                       void** args) {
  const unsigned cluster = config->numAttrs == 0 ? 1 : config->attrs[0].val.clusterDim.x;
  return AsRuntime(stand_in::Launch(static_cast<const stand_in::Kernel*>(kernel), config->gridDim,
                                    config->blockDim, args, config->dynamicSmemBytes,
                                    config->stream, cluster));
}

#endif  // TVM_FFI_TESTS_CUDA_STAND_IN_CUDA_RUNTIME_H_
