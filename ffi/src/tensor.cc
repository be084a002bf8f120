// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Tensors over foreign memory: DLPack import and export, views.
#include <tvm/ffi/container/tensor.h>

#include <algorithm>
#include <memory>

namespace tvm {
namespace ffi {
namespace {

constexpr bool IsSubByte(DLDataType dtype) {
  return (static_cast<int>(dtype.bits) * dtype.lanes) % 8 != 0;
}

/// Refuses fields that no tensor can have: later arithmetic on them would overflow or read nothing.
void CheckFields(const DLTensor& tensor) {
  if (tensor.ndim < 0) {
    TVM_FFI_THROW(ValueError) << "FromDLPack: ndim is " << tensor.ndim << ", expected 0 or more";
  }
  if (tensor.ndim > 0 && tensor.shape == nullptr) {
    TVM_FFI_THROW(ValueError) << "FromDLPack: shape is NULL, but ndim is " << tensor.ndim;
  }
  // Extents of 0 do not hide the others: strides are products of a part of them.
  int64_t bits = static_cast<int64_t>(tensor.dtype.bits) * tensor.dtype.lanes;
  if (bits == 0) bits = 1;
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    const int64_t extent = tensor.shape[i];
    if (extent < 0) {
      TVM_FFI_THROW(ValueError) << "FromDLPack: extent of axis " << i << " is " << extent
                                << ", expected 0 or more";
    }
    if (extent > 1 && __builtin_mul_overflow(bits, extent, &bits)) {
      TVM_FFI_THROW(ValueError) << "FromDLPack: the extents up to axis " << i
                                << " need more than 2^63 bits";
    }
  }
}

void CheckImport(const DLTensor& tensor, uint64_t flags, int32_t require_alignment,
                 int32_t require_contiguous) {
  CheckFields(tensor);
  if (require_alignment < 0) {
    TVM_FFI_THROW(ValueError) << "FromDLPack: required alignment is " << require_alignment
                              << ", expected 0 or more";
  }
  if ((flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0 && IsSubByte(tensor.dtype)) {
    TVM_FFI_THROW(RuntimeError) << "FromDLPack: padded sub-byte elements are not supported";
  }
  if (require_alignment != 0 && !IsAligned(tensor, static_cast<size_t>(require_alignment))) {
    TVM_FFI_THROW(RuntimeError) << "FromDLPack: Data is not aligned to " << require_alignment
                                << " bytes.";
  }
  if (require_contiguous != 0 && !IsContiguous(tensor)) {
    TVM_FFI_THROW(RuntimeError) << "FromDLPack: Tensor is not contiguous.";
  }
}

/// Tensor on the memory of a managed tensor. Missing strides follow the object.
template <typename Managed>
class ImportedTensorObj : public TensorObj {
 public:
  explicit ImportedTensorObj(Managed* managed) : managed_(managed) {
    *static_cast<DLTensor*>(this) = managed->dl_tensor;
    if (this->strides == nullptr) {
      auto* tail =
          reinterpret_cast<int64_t*>(reinterpret_cast<char*>(this) + sizeof(ImportedTensorObj));
      detail::FillStridesFromShape(ShapeView(this->shape, static_cast<size_t>(this->ndim)), tail);
      this->strides = tail;
    }
  }
  ~ImportedTensorObj() {
    if (managed_->deleter != nullptr) managed_->deleter(managed_);
  }

 private:
  Managed* managed_;
};

template <typename Managed>
TVMFFIObjectHandle Import(Managed* managed, uint64_t flags, int32_t require_alignment,
                          int32_t require_contiguous) {
  CheckImport(managed->dl_tensor, flags, require_alignment, require_contiguous);
  const size_t tail =
      managed->dl_tensor.strides == nullptr ? static_cast<size_t>(managed->dl_tensor.ndim) : 0;
  return detail::ObjectUnsafe::MoveObjectPtrToTVMFFIObjectPtr(
      make_inplace_array_object<ImportedTensorObj<Managed>, int64_t>(tail, managed));
}

/// Managed tensor that holds one reference to its tensor object.
template <typename Managed>
Managed* Export(TVMFFIObjectHandle tensor) {
  auto managed = std::make_unique<Managed>();
  *managed = Managed{};
  managed->dl_tensor = *TVMFFITensorGetDLTensorPtr(tensor);
  managed->manager_ctx = tensor;
  managed->deleter = [](Managed* self) {
    detail::ObjectUnsafe::DecRefObjectHandle(self->manager_ctx);
    delete self;
  };
  detail::ObjectUnsafe::IncRefObjectHandle(tensor);
  return managed.release();
}

void CheckViewFields(const DLTensor& prototype) {
  TVM_FFI_CHECK(prototype.ndim >= 0, ValueError)
      << "a tensor view cannot have " << prototype.ndim << " dimensions";
  TVM_FFI_CHECK(prototype.strides != nullptr || prototype.ndim == 0, ValueError)
      << "a tensor view needs strides";
  TVM_FFI_CHECK(prototype.shape != nullptr || prototype.ndim == 0, ValueError)
      << "a tensor view needs a shape";
}

/// View that keeps the tensor it was made from alive. Shape and strides follow the object.
class ViewTensorObj : public TensorObj {
 public:
  ViewTensorObj(ObjectPtr<Object> source, const DLTensor& prototype) : source_(std::move(source)) {
    const auto ndim = static_cast<size_t>(prototype.ndim);
    *static_cast<DLTensor*>(this) = prototype;
    this->shape = reinterpret_cast<int64_t*>(reinterpret_cast<char*>(this) + sizeof(ViewTensorObj));
    this->strides = this->shape + ndim;
    std::copy_n(prototype.shape, ndim, this->shape);
    std::copy_n(prototype.strides, ndim, this->strides);
  }

 private:
  ObjectPtr<Object> source_;
};

}  // namespace
}  // namespace ffi
}  // namespace tvm

int TVMFFITensorFromDLPack(DLManagedTensor* from, int32_t require_alignment,
                           int32_t require_contiguous, TVMFFIObjectHandle* out) {
  TVM_FFI_SAFE_CALL_BEGIN();
  TVM_FFI_CHECK(from != nullptr, ValueError) << "FromDLPack: the managed tensor is NULL";
  *out = tvm::ffi::Import(from, 0, require_alignment, require_contiguous);
  TVM_FFI_SAFE_CALL_END();
}

int TVMFFITensorFromDLPackVersioned(DLManagedTensorVersioned* from, int32_t require_alignment,
                                    int32_t require_contiguous, TVMFFIObjectHandle* out) {
  TVM_FFI_SAFE_CALL_BEGIN();
  TVM_FFI_CHECK(from != nullptr, ValueError) << "FromDLPack: the managed tensor is NULL";
  if (from->version.major > DLPACK_MAJOR_VERSION) {  // the fields behind it may lie elsewhere
    TVM_FFI_THROW(RuntimeError) << "FromDLPack: DLPack version " << from->version.major << '.'
                                << from->version.minor << " is not supported, expected "
                                << DLPACK_MAJOR_VERSION;
  }
  *out = tvm::ffi::Import(from, from->flags, require_alignment, require_contiguous);
  TVM_FFI_SAFE_CALL_END();
}

int TVMFFITensorToDLPack(TVMFFIObjectHandle from, DLManagedTensor** out) {
  TVM_FFI_SAFE_CALL_BEGIN();
  *out = tvm::ffi::Export<DLManagedTensor>(from);
  TVM_FFI_SAFE_CALL_END();
}

int TVMFFITensorToDLPackVersioned(TVMFFIObjectHandle from, DLManagedTensorVersioned** out) {
  TVM_FFI_SAFE_CALL_BEGIN();
  *out = tvm::ffi::Export<DLManagedTensorVersioned>(from);
  (*out)->version = DLPackVersion{DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  (*out)->flags = 0;
  TVM_FFI_SAFE_CALL_END();
}

int TVMFFITensorCreateUnsafeView(TVMFFIObjectHandle source, const DLTensor* prototype,
                                 TVMFFIObjectHandle* out) {
  TVM_FFI_SAFE_CALL_BEGIN();
  using tvm::ffi::detail::ObjectUnsafe;
  tvm::ffi::CheckViewFields(*prototype);
  auto owner =
      ObjectUnsafe::ObjectPtrFromUnowned<tvm::ffi::Object>(static_cast<TVMFFIObject*>(source));
  *out = ObjectUnsafe::MoveObjectPtrToTVMFFIObjectPtr(
      tvm::ffi::make_inplace_array_object<tvm::ffi::ViewTensorObj, int64_t>(
          2 * static_cast<size_t>(prototype->ndim), std::move(owner), *prototype));
  TVM_FFI_SAFE_CALL_END();
}
