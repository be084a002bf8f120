// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file tensor.h
/// runtime::Tensor: ffi::Tensor with allocation, copies, views and a file format.
#ifndef TVM_RUNTIME_TENSOR_H_
#define TVM_RUNTIME_TENSOR_H_

#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/string.h>
#include <tvm/runtime/base.h>
#include <tvm/runtime/data_type.h>

#include <string>
#include <utility>

namespace tvm {
namespace support {
class ByteReader;
}
namespace runtime {

using ffi::GetDataSize;
using ffi::IsAligned;
using ffi::IsContiguous;

/// Reference to an n-dimensional array on a device.
class Tensor : public ffi::Tensor {
 public:
  Tensor() = default;
  explicit Tensor(ffi::ObjectPtr<ffi::TensorObj> data) : ffi::Tensor(std::move(data)) {}
  explicit Tensor(ffi::UnsafeInit tag) : ffi::Tensor(tag) {}
  Tensor(ffi::Tensor&& other) : ffi::Tensor(std::move(other)) {}  // NOLINT(*)
  Tensor(const ffi::Tensor& other) : ffi::Tensor(other) {}        // NOLINT(*)

  ffi::ShapeView Shape() const { return this->shape(); }
  runtime::DataType DataType() const { return runtime::DataType(this->dtype()); }
  DLTensor* operator->() const {
    return const_cast<ffi::TensorObj*>(ffi::detail::NotNull(this->get()));
  }

  /// New tensor with unspecified content; data is aligned to kAllocAlignment.
  TVM_RUNTIME_DLL static Tensor Empty(ffi::Shape shape, DLDataType dtype, Device dev,
                                      ffi::Optional<ffi::String> mem_scope = std::nullopt);
  /// Contiguous view of the bytes from relative_byte_offset on; keeps this tensor alive.
  TVM_RUNTIME_DLL Tensor CreateView(ffi::Shape shape, DLDataType dtype,
                                    uint64_t relative_byte_offset = 0) const;
  TVM_RUNTIME_DLL void CopyFrom(const DLTensor* other);
  void CopyFrom(const Tensor& other) { CopyFrom(other.GetDLTensorPtr()); }
  TVM_RUNTIME_DLL void CopyTo(DLTensor* other) const;
  void CopyTo(const Tensor& other) const { CopyTo(const_cast<DLTensor*>(other.GetDLTensorPtr())); }
  TVM_RUNTIME_DLL Tensor CopyTo(Device dev,
                                ffi::Optional<ffi::String> mem_scope = std::nullopt) const;
  /// nbytes must be exactly the tensor's size.
  TVM_RUNTIME_DLL void CopyFromBytes(const void* data, size_t nbytes);
  TVM_RUNTIME_DLL void CopyToBytes(void* data, size_t nbytes) const;
  TVM_RUNTIME_DLL static void CopyFromTo(const DLTensor* from, DLTensor* to,
                                         TVMStreamHandle stream = nullptr);
  TVM_RUNTIME_DLL static void CopyToBytes(const DLTensor* from, void* to, size_t nbytes,
                                          TVMStreamHandle stream = nullptr);
  TVM_RUNTIME_DLL static void CopyFromBytes(const DLTensor* to, void* from, size_t nbytes,
                                            TVMStreamHandle stream = nullptr);
  /// True if both name the same memory on the same device.
  TVM_RUNTIME_DLL static bool IsStorageShared(const DLTensor* a, const DLTensor* b);
  static Tensor FromDLPack(DLManagedTensor* tensor) {
    return ffi::Tensor::FromDLPack(tensor, kAllocAlignment, true);
  }
  static Tensor FromDLPackVersioned(DLManagedTensorVersioned* tensor) {
    return ffi::Tensor::FromDLPackVersioned(tensor, kAllocAlignment, true);
  }
  /// Appends the file form to out; the data must be contiguous and reachable.
  TVM_RUNTIME_DLL void Save(std::string* out) const;
  /// Reads one tensor; InternalError `Invalid DLTensor file format` for damaged bytes.
  TVM_RUNTIME_DLL static Tensor Load(support::ByteReader* reader);
  /// The device type whose host memory copies fastest to dev.
  TVM_RUNTIME_DLL static Device GetPreferredHostDevice(Device dev);
};

TVM_RUNTIME_DLL void SaveDLTensor(std::string* out, const DLTensor* tensor);

inline constexpr uint64_t kTVMTensorMagic = 0xDD5E40F096B4A13FULL;
inline constexpr uint64_t kTVMTensorListMagic = 0xF7E58D4F05049CB7ULL;

}  // namespace runtime
}  // namespace tvm

#endif  // TVM_RUNTIME_TENSOR_H_
