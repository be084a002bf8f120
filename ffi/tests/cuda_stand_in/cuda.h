// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// The part of the CUDA driver that tvm/ffi/extra/cuda uses, on the devices of device.h.
#ifndef TVM_FFI_TESTS_CUDA_STAND_IN_CUDA_H_
#define TVM_FFI_TESTS_CUDA_STAND_IN_CUDA_H_

#include "device.h"

enum CUresult { CUDA_SUCCESS = 0, CUDA_ERROR_NOT_INITIALIZED = 3 };
enum CUdevice_attribute { CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97 };
enum CUfunction_attribute {
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14,
};
enum CUlaunchAttributeID { CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4 };

using CUdevice = int;
using CUstream = struct CUstream_st*;
using CUlibrary = stand_in::Library*;
using CUkernel = stand_in::Kernel*;
using CUfunction = struct CUfunc_st*;
struct CUlaunchAttribute {
  CUlaunchAttributeID id;
  struct {
    struct {
      unsigned int x, y, z;
    } clusterDim;
  } value;
};
struct CUlaunchConfig {
  unsigned int gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute* attrs;
  unsigned int numAttrs;
};

inline CUresult AsDriver(int status) { return static_cast<CUresult>(status); }

inline CUresult cuInit(unsigned) {
  stand_in::Now().driver_started = true;
  return CUDA_SUCCESS;
}
inline CUresult cuGetErrorName(CUresult status, const char** name) {
  *name = stand_in::NameOf(status);
  return CUDA_SUCCESS;
}
inline CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "as the stand-in says";
  return CUDA_SUCCESS;
}
inline CUresult cuDeviceGetCount(int* count) {
  *count = stand_in::kNumDevices;
  return CUDA_SUCCESS;
}
inline CUresult cuDeviceGet(CUdevice* device, int index) {
  *device = index;
  return CUDA_SUCCESS;
}
inline CUresult cuCtxGetDevice(CUdevice* device) {
  *device = stand_in::Now().current_device;
  return CUDA_SUCCESS;
}
inline CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute, CUdevice device) {
  *value = stand_in::kSharedMemory[device];
  return CUDA_SUCCESS;
}
inline CUresult cuLibraryLoadData(CUlibrary* library, const void* image, void*, void*, unsigned,
                                  void*, void*, unsigned) {
  if (!stand_in::Now().driver_started) return CUDA_ERROR_NOT_INITIALIZED;
  return AsDriver(stand_in::Load(library, image));
}
inline CUresult cuLibraryUnload(CUlibrary library) { return AsDriver(stand_in::Unload(library)); }
inline CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  return AsDriver(stand_in::Find(kernel, library, name));
}
inline CUresult cuKernelGetAttribute(int* value, CUfunction_attribute, CUkernel kernel, CUdevice) {
  *value = kernel->shared_bytes;
  return CUDA_SUCCESS;
}
inline CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                                     CUdevice device) {
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
    kernel->dynamic_bytes[device] = value;
  } else {
    kernel->large_clusters = value != 0;
  }
  return CUDA_SUCCESS;
}

struct CudaStandInDim {
  unsigned int x, y, z;
};
inline CUresult cuLaunchKernel(CUfunction kernel, unsigned gx, unsigned gy, unsigned gz,
                               unsigned bx, unsigned by, unsigned bz, unsigned shared,
                               CUstream stream, void** args, void**) {
  return AsDriver(stand_in::Launch(reinterpret_cast<CUkernel>(kernel), CudaStandInDim{gx, gy, gz},
                                   CudaStandInDim{bx, by, bz}, args, shared, stream));
}
inline CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction kernel, void** args,
                                 void**) {
  const unsigned cluster = config->numAttrs == 0 ? 1 : config->attrs[0].value.clusterDim.x;
  return AsDriver(
      stand_in::Launch(reinterpret_cast<CUkernel>(kernel),
                       CudaStandInDim{config->gridDimX, config->gridDimY, config->gridDimZ},
                       CudaStandInDim{config->blockDimX, config->blockDimY, config->blockDimZ},
                       args, config->sharedMemBytes, config->hStream, cluster));
}

#endif  // TVM_FFI_TESTS_CUDA_STAND_IN_CUDA_H_
