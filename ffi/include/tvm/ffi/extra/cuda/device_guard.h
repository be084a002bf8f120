// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Switches the thread's CUDA device for a scope.
#ifndef TVM_FFI_EXTRA_CUDA_DEVICE_GUARD_H_
#define TVM_FFI_EXTRA_CUDA_DEVICE_GUARD_H_

#include <tvm/ffi/extra/cuda/base.h>

namespace tvm {
namespace ffi {

/// Makes a device current; the one before is current again when the guard goes.
///
///   CUDADeviceGuard guard(tensor.device().device_id);
struct CUDADeviceGuard {
  CUDADeviceGuard() = delete;
  /// RuntimeError when there is no such device.
  explicit CUDADeviceGuard(int device_index) {
    TVM_FFI_CHECK_CUDA_ERROR(cudaGetDevice(&previous_));
    if (previous_ == device_index) return;
    TVM_FFI_CHECK_CUDA_ERROR(cudaSetDevice(device_index));
    switched_ = true;
  }
  /// A failure to switch back shows at the next use of the device: destructors do not throw.
  ~CUDADeviceGuard() {
    if (switched_) static_cast<void>(cudaSetDevice(previous_));
  }
  CUDADeviceGuard(const CUDADeviceGuard&) = delete;
  CUDADeviceGuard& operator=(const CUDADeviceGuard&) = delete;

 private:
  int previous_ = 0;
  bool switched_ = false;
};

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_CUDA_DEVICE_GUARD_H_
