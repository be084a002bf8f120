// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Loads GPU binaries (CUBIN, fatbin) and launches their kernels.
///
///   TVM_FFI_EMBED_CUBIN(my_kernels);  // the build puts the binary in: tvm_ffi_embed_bin_into
///
///   void AddOne(TensorView x, TensorView y) {
///     static CubinKernel kernel = TVM_FFI_EMBED_CUBIN_GET_KERNEL(my_kernels, "add_one");
///     void* in = x.data_ptr();
///     void* out = y.data_ptr();
///     int64_t n = x.size(0);
///     void* args[] = {&in, &out, &n};
///     auto stream = static_cast<cuda_api::StreamHandle>(
///         TVMFFIEnvGetStream(x.device().device_type, x.device().device_id));
///     TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(kernel.Launch(args, (n + 255) / 256, 256, stream));
///   }
#ifndef TVM_FFI_EXTRA_CUDA_CUBIN_LAUNCHER_H_
#define TVM_FFI_EXTRA_CUDA_CUBIN_LAUNCHER_H_

#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/cuda/base.h>
#include <tvm/ffi/extra/cuda/internal/unified_api.h>
#include <tvm/ffi/string.h>

#include <cstdint>
#include <string>
#include <utility>

namespace tvm {
namespace ffi {

/// A kernel of a loaded binary. The CubinModule it comes from must live longer.
class CubinKernel {
 public:
  /// RuntimeError when the binary has no such kernel; C++ names are mangled.
  CubinKernel(cuda_api::LibraryHandle library, const char* name) {
    const cuda_api::ResultType status = cuda_api::GetKernel(&kernel_, library, name);
    if (status != cuda_api::kSuccess) {
      cuda_api::ThrowError(status, std::string("looking up the kernel `") + name + "`");
    }
  }
  CubinKernel(const CubinKernel&) = delete;
  CubinKernel& operator=(const CubinKernel&) = delete;
  CubinKernel(CubinKernel&& other) noexcept : kernel_(std::exchange(other.kernel_, nullptr)) {}
  CubinKernel& operator=(CubinKernel&& other) noexcept {
    kernel_ = std::exchange(other.kernel_, nullptr);
    return *this;
  }

  /// Launches on `stream` of the current device and returns the status. `args` points to the
  /// arguments, one pointer each; `dyn_smem_bytes` is shared memory beside what the kernel
  /// declares.
  cuda_api::ResultType Launch(void** args, dim3 grid, dim3 block, cuda_api::StreamHandle stream,
                              uint32_t dyn_smem_bytes = 0) {
    return cuda_api::LaunchKernel(kernel_, args, grid, block, stream, dyn_smem_bytes);
  }
  /// As Launch, with settings of cuda_api::ConstructLaunchConfig.
  cuda_api::ResultType LaunchEx(void** args, const cuda_api::LaunchConfig& config) {
    return cuda_api::LaunchKernelEx(kernel_, args, config);
  }

  cuda_api::KernelHandle GetHandle() const { return kernel_; }

 private:
  cuda_api::KernelHandle kernel_ = nullptr;
};

/// A GPU binary in memory; unloaded with the last use of the process or with this object.
class CubinModule {
 public:
  /// The driver copies the bytes. ValueError when there are none, RuntimeError when they are no
  /// binary for a device at hand.
  explicit CubinModule(const Bytes& bytes) : CubinModule(NonEmpty(bytes)) {}
  explicit CubinModule(const unsigned char* code)
      : CubinModule(reinterpret_cast<const char*>(code)) {}
  explicit CubinModule(const char* code) {
    const cuda_api::ResultType status = cuda_api::LoadLibrary(&library_, code);
    if (status != cuda_api::kSuccess) cuda_api::ThrowError(status, "loading a GPU binary");
  }
  /// Failures are ignored: at exit the driver may be gone already.
  ~CubinModule() {
    if (library_ != nullptr) static_cast<void>(cuda_api::UnloadLibrary(library_));
  }
  CubinModule(const CubinModule&) = delete;
  CubinModule& operator=(const CubinModule&) = delete;
  CubinModule(CubinModule&& other) noexcept : library_(std::exchange(other.library_, nullptr)) {}
  CubinModule& operator=(CubinModule&& other) noexcept {
    std::swap(library_, other.library_);
    return *this;
  }

  CubinKernel GetKernel(const char* name) { return CubinKernel(library_, name); }
  CubinKernel operator[](const char* name) { return GetKernel(name); }

  /// Kernel that may ask for `dynamic_smem_max` bytes of shared memory at launch, more than the
  /// 48 KiB that need no permission; -1 for all that each device has. Devices that cannot run the
  /// kernel or have less are left out. RuntimeError when no device is left.
  CubinKernel GetKernelWithMaxDynamicSharedMemory(const char* name, int64_t dynamic_smem_max = -1) {
    CubinKernel kernel = GetKernel(name);
    int num_devices = 0;
    cuda_api::ResultType status = cuda_api::GetDeviceCount(&num_devices);
    bool allowed = false;
    for (int device = 0; device < num_devices; ++device) {
      int left = 0;
      cuda_api::ResultType result =
          cuda_api::DynamicSharedMemoryLeft(kernel.GetHandle(), device, &left);
      if (result == cuda_api::kSuccess && dynamic_smem_max > left) continue;
      if (result == cuda_api::kSuccess) {
        const int bytes = dynamic_smem_max < 0 ? left : static_cast<int>(dynamic_smem_max);
        result = cuda_api::SetMaxDynamicSharedMemory(kernel.GetHandle(), device, bytes);
      }
      allowed = allowed || result == cuda_api::kSuccess;
      if (result != cuda_api::kSuccess) status = result;
    }
    if (allowed) return kernel;
    const std::string what = std::string("asking for dynamic shared memory for the kernel `") +
                             name + "` on " + std::to_string(num_devices) + " devices";
    if (status != cuda_api::kSuccess) cuda_api::ThrowError(status, what);
    TVM_FFI_THROW(RuntimeError) << "no device has the " << dynamic_smem_max
                                << " bytes wanted, when " << what;
    TVM_FFI_UNREACHABLE();
  }

  cuda_api::LibraryHandle GetHandle() const { return library_; }

 private:
  static const char* NonEmpty(const Bytes& bytes) {
    if (bytes.size() == 0) TVM_FFI_THROW(ValueError) << "a GPU binary of 0 bytes";
    return bytes.data();
  }

  cuda_api::LibraryHandle library_ = nullptr;
};

}  // namespace ffi
}  // namespace tvm

/// Raises RuntimeError unless a call of `cuda_api` or a launch succeeds.
#define TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(stmt)                                \
  do {                                                                               \
    const ::tvm::ffi::cuda_api::ResultType ffi_cuda_status_ = (stmt);                \
    if (TVM_FFI_PREDICT_FALSE(ffi_cuda_status_ != ::tvm::ffi::cuda_api::kSuccess)) { \
      ::tvm::ffi::cuda_api::ThrowError(ffi_cuda_status_, "calling `" #stmt "`");     \
    }                                                                                \
  } while (false)

/// Module `name` of this file, loaded at the first use; `image` is its first byte.
#define TVM_FFI_EMBED_CUBIN_FROM_BYTES(name, imageBytes)                                      \
  namespace {                                                                                 \
  struct TVMFFIEmbeddedCubin_##name {                                                         \
    static ::tvm::ffi::CubinModule& Global() {                                                \
      static ::tvm::ffi::CubinModule module(reinterpret_cast<const char*>(&(imageBytes)[0])); \
      return module;                                                                          \
    }                                                                                         \
  };                                                                                          \
  }

#if defined(__GNUC__)
#define TVM_FFI_EMBED_CUBIN_LOCAL_ __attribute__((visibility("hidden")))
#else
#define TVM_FFI_EMBED_CUBIN_LOCAL_
#endif

/// As above, for a binary that the build puts in under the name: `tvm_ffi_embed_bin_into` of CMake,
/// `embed_cubin` of tvm_ffi.cpp, or `python -m tvm_ffi.utils.embed_cubin`.
#define TVM_FFI_EMBED_CUBIN(name)                                                   \
  extern "C" TVM_FFI_EMBED_CUBIN_LOCAL_ const char __tvm_ffi__cubin_##name[];       \
  extern "C" TVM_FFI_EMBED_CUBIN_LOCAL_ const char __tvm_ffi__cubin_##name##_end[]; \
  TVM_FFI_EMBED_CUBIN_FROM_BYTES(name, __tvm_ffi__cubin_##name)

/// CubinKernel of an embedded binary; keep it in a static variable.
#define TVM_FFI_EMBED_CUBIN_GET_KERNEL(name, kernel_name) \
  (TVMFFIEmbeddedCubin_##name::Global()[kernel_name])

#endif  // TVM_FFI_EXTRA_CUDA_CUBIN_LAUNCHER_H_
