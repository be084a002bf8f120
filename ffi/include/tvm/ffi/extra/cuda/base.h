// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Checks of CUDA calls, and launch dimensions. Needs the CUDA toolkit, as all headers beside it.
#ifndef TVM_FFI_EXTRA_CUDA_BASE_H_
#define TVM_FFI_EXTRA_CUDA_BASE_H_

#include <cuda_runtime.h>
#include <tvm/ffi/base_detail.h>
#include <tvm/ffi/error.h>

namespace tvm {
namespace ffi {

/// Extent of a grid or block; converts from a number of threads along x.
struct dim3 {
  unsigned int x = 1;
  unsigned int y = 1;
  unsigned int z = 1;

  dim3() = default;
  dim3(unsigned int x, unsigned int y = 1,
       unsigned int z = 1)  // NOLINT(google-explicit-constructor)
      : x(x), y(y), z(z) {}
};

namespace detail {

/// Raises RuntimeError with the name and the description of the status. The runtime's record of
/// the failure is cleared, so that a later check of other code does not report it again.
[[noreturn]] TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE inline void ThrowCudaError(
    cudaError_t status, const char* call, const char* file, int line, const char* function) {
  static_cast<void>(cudaGetLastError());
  ErrorBuilder("RuntimeError", file, line, function, TVM_FFI_ALWAYS_LOG_BEFORE_THROW).stream()
      << "CUDA error " << cudaGetErrorName(status) << " (" << static_cast<int>(status) << ") in `"
      << call << "`: " << cudaGetErrorString(status);
  TVM_FFI_UNREACHABLE();
}

}  // namespace detail
}  // namespace ffi
}  // namespace tvm

/// Raises RuntimeError unless a call of the CUDA runtime succeeds.
#define TVM_FFI_CHECK_CUDA_ERROR(stmt)                                                \
  do {                                                                                \
    const cudaError_t ffi_cuda_status_ = (stmt);                                      \
    if (TVM_FFI_PREDICT_FALSE(ffi_cuda_status_ != cudaSuccess)) {                     \
      ::tvm::ffi::detail::ThrowCudaError(ffi_cuda_status_, #stmt, __FILE__, __LINE__, \
                                         TVM_FFI_FUNC_SIG);                           \
    }                                                                                 \
  } while (false)

#endif  // TVM_FFI_EXTRA_CUDA_BASE_H_
