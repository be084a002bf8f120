// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// `Tensor`, an owning DLTensor, and `TensorView`, its borrowed form.
///
/// Above 500 lines: owner, view and both conversions share the same accessors.
#ifndef TVM_FFI_CONTAINER_TENSOR_H_
#define TVM_FFI_CONTAINER_TENSOR_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/device.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/type_traits.h>

#include <optional>
#include <string>
#include <utility>

namespace tvm {
namespace ffi {

/// Whether the host can do arithmetic on the data pointer of this device.
inline bool IsDirectAddressDevice(const DLDevice& device) {
  switch (device.device_type) {
    case kDLCPU:
    case kDLCUDA:
    case kDLCUDAHost:
    case kDLCUDAManaged:
    case kDLROCM:
    case kDLROCMHost:
      return true;
    default:
      return false;
  }
}

/// Whether the elements are packed in row-major order; true if there are none.
inline bool IsContiguous(const DLTensor& arr) {
  if (arr.strides == nullptr) return true;
  int64_t expected = 1;
  bool packed = true;
  for (int32_t i = arr.ndim; i-- > 0;) {
    if (arr.shape[i] == 0) return true;
    if (arr.shape[i] == 1 || !packed) continue;  // the stride of one element is never used
    packed = arr.strides[i] == expected;
    expected *= arr.shape[i];
  }
  return packed;
}

/// Whether the first element sits on an `alignment`-byte boundary.
inline bool IsAligned(const DLTensor& arr, size_t alignment) {
  if (IsDirectAddressDevice(arr.device)) {
    return (reinterpret_cast<size_t>(arr.data) + arr.byte_offset) % alignment == 0;
  }
  return arr.byte_offset % alignment == 0;
}

/// Bytes of `numel` elements; sub-byte elements are packed and the total is rounded up.
inline size_t GetDataSize(size_t numel, DLDataType dtype) {
  return (numel * dtype.bits * dtype.lanes + 7) / 8;
}

inline size_t GetDataSize(const DLTensor& arr) {
  return GetDataSize(
      static_cast<size_t>(ShapeView(arr.shape, static_cast<size_t>(arr.ndim)).Product()),
      arr.dtype);
}

class TensorObj : public Object, public DLTensor {
 public:
  TensorObj() : DLTensor{} {}

  /// New managed tensor that keeps this one alive.
  DLManagedTensor* ToDLPack() const {
    DLManagedTensor* managed;
    TVM_FFI_CHECK_SAFE_CALL(TVMFFITensorToDLPack(Handle(), &managed));
    return managed;
  }
  DLManagedTensorVersioned* ToDLPackVersioned() const {
    DLManagedTensorVersioned* managed;
    TVM_FFI_CHECK_SAFE_CALL(TVMFFITensorToDLPackVersioned(Handle(), &managed));
    return managed;
  }

  static constexpr uint32_t _type_index = TypeIndex::kTVMFFITensor;
  TVM_FFI_DECLARE_OBJECT_INFO_STATIC(StaticTypeKey::kTVMFFITensor, TensorObj, Object);

 private:
  TVMFFIObjectHandle Handle() const { return const_cast<TensorObj*>(this); }
};

namespace detail {

/// Memory layout of a new tensor.
struct TensorLayout {
  ShapeView shape;
  ShapeView strides;  ///< empty: row-major
  DLDataType dtype;
  DLDevice device;
};

/// Tensor whose memory comes from `TNDAlloc`: AllocData(DLTensor*, extra..) sets `data`,
/// FreeData(DLTensor*) releases it. Shape and strides follow the object.
template <typename TNDAlloc>
class TensorObjFromNDAlloc : public TensorObj {
 public:
  template <typename... ExtraArgs>
  TensorObjFromNDAlloc(TNDAlloc alloc, const TensorLayout& layout, ExtraArgs&&... extra_args)
      : alloc_(std::move(alloc)) {
    const size_t ndim = layout.shape.size();
    this->device = layout.device;
    this->ndim = static_cast<int32_t>(ndim);
    this->dtype = layout.dtype;
    this->byte_offset = 0;
    this->shape =
        reinterpret_cast<int64_t*>(reinterpret_cast<char*>(this) + sizeof(TensorObjFromNDAlloc));
    this->strides = this->shape + ndim;
    for (size_t i = 0; i < ndim; ++i) this->shape[i] = layout.shape[i];
    if (layout.strides.empty()) {
      FillStridesFromShape(layout.shape, this->strides);
    } else {
      for (size_t i = 0; i < ndim; ++i) this->strides[i] = layout.strides[i];
    }
    alloc_.AllocData(static_cast<DLTensor*>(this), std::forward<ExtraArgs>(extra_args)...);
  }
  ~TensorObjFromNDAlloc() { alloc_.FreeData(static_cast<DLTensor*>(this)); }

 private:
  TNDAlloc alloc_;
};

inline int64_t CheckedAxis(int64_t idx, int32_t ndim, const char* what) {
  const int64_t axis = idx < 0 ? idx + ndim : idx;
  if (axis < 0 || axis >= ndim) {
    TVM_FFI_THROW(IndexError) << what << ": axis " << idx << " out of bounds for " << ndim
                              << " dimensions";
  }
  return axis;
}

/// View of the same memory. Moves the data pointer where the host may, else the byte offset.
inline DLTensor MakeStridedPrototype(const DLTensor& source, ShapeView shape, ShapeView strides,
                                     std::optional<int64_t> element_offset) {
  TVM_FFI_CHECK_EQ(shape.size(), strides.size(), ValueError)
      << "a strided view needs one stride per extent";
  DLTensor view = source;
  view.ndim = static_cast<int32_t>(shape.size());
  view.shape = const_cast<int64_t*>(shape.data());
  view.strides = const_cast<int64_t*>(strides.data());
  const size_t offset_bits =
      static_cast<size_t>(element_offset.value_or(0)) * view.dtype.bits * view.dtype.lanes;
  TVM_FFI_CHECK_EQ(offset_bits % 8, 0, ValueError) << "a view must start at a whole byte";
  view.byte_offset += offset_bits / 8;
  if (IsDirectAddressDevice(view.device)) {
    view.data = static_cast<char*>(view.data) + view.byte_offset;
    view.byte_offset = 0;
  }
  return view;
}

/// Read access common to Tensor and TensorView; Derived offers `dl() -> const DLTensor&`.
template <typename Derived>
class TensorAccess {
 public:
  void* data_ptr() const { return dl().data; }
  DLDevice device() const { return dl().device; }
  int32_t ndim() const { return dl().ndim; }
  DLDataType dtype() const { return dl().dtype; }
  ShapeView shape() const { return ShapeView(dl().shape, static_cast<size_t>(dl().ndim)); }
  /// In elements.
  ShapeView strides() const {
    TVM_FFI_ICHECK(dl().strides != nullptr || dl().ndim == 0) << "the tensor has no strides";
    return ShapeView(dl().strides, static_cast<size_t>(dl().ndim));
  }
  /// Extent of an axis; negative axes count from the end.
  int64_t size(int64_t idx) const { return dl().shape[CheckedAxis(idx, dl().ndim, "size")]; }
  int64_t stride(int64_t idx) const {
    return strides().begin()[CheckedAxis(idx, dl().ndim, "stride")];
  }
  int64_t numel() const { return shape().Product(); }
  uint64_t byte_offset() const { return dl().byte_offset; }
  bool IsContiguous() const { return ::tvm::ffi::IsContiguous(dl()); }
  bool IsAligned(size_t alignment) const { return ::tvm::ffi::IsAligned(dl(), alignment); }
  // Names of other tensor libraries.
  int32_t dim() const { return ndim(); }
  ShapeView sizes() const { return shape(); }
  bool is_contiguous() const { return IsContiguous(); }

 private:
  const DLTensor& dl() const { return static_cast<const Derived*>(this)->dl(); }
};

}  // namespace detail

/// Managed tensor; strides are always present.
class Tensor : public ObjectRef, public detail::TensorAccess<Tensor> {
 public:
  Tensor() = default;
  explicit Tensor(::tvm::ffi::ObjectPtr<TensorObj> n)
      : ObjectRef(ObjectPtr<Object>(std::move(n))) {}
  explicit Tensor(::tvm::ffi::UnsafeInit tag) : ObjectRef(tag) {}
  TVM_FFI_DEFINE_DEFAULT_COPY_MOVE_AND_ASSIGN(Tensor);

  /// Tensor on this memory that keeps it alive. The caller vouches for the bounds.
  Tensor as_strided(ShapeView shape, ShapeView strides,
                    std::optional<int64_t> element_offset = std::nullopt) const {
    const DLTensor prototype = detail::MakeStridedPrototype(*get(), shape, strides, element_offset);
    TVMFFIObjectHandle view;
    TVM_FFI_CHECK_SAFE_CALL(TVMFFITensorCreateUnsafeView(
        detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(*this), &prototype, &view));
    return FromHandle(view);
  }

  /// Memory from `alloc`, see detail::TensorObjFromNDAlloc. Row-major.
  template <typename TNDAlloc, typename... ExtraArgs>
  static Tensor FromNDAlloc(TNDAlloc alloc, ffi::ShapeView shape, DLDataType dtype, DLDevice device,
                            ExtraArgs&&... extra_args) {
    return MakeFromNDAlloc(std::move(alloc), detail::TensorLayout{shape, {}, dtype, device},
                           std::forward<ExtraArgs>(extra_args)...);
  }
  template <typename TNDAlloc, typename... ExtraArgs>
  static Tensor FromNDAllocStrided(TNDAlloc alloc, ffi::ShapeView shape, ffi::ShapeView strides,
                                   DLDataType dtype, DLDevice device, ExtraArgs&&... extra_args) {
    TVM_FFI_CHECK_EQ(shape.size(), strides.size(), ValueError)
        << "a strided tensor needs one stride per extent";
    return MakeFromNDAlloc(std::move(alloc), detail::TensorLayout{shape, strides, dtype, device},
                           std::forward<ExtraArgs>(extra_args)...);
  }
  /// Memory from a C allocator such as TVMFFIEnvTensorAlloc.
  static Tensor FromEnvAlloc(int (*env_alloc)(DLTensor*, TVMFFIObjectHandle*), ffi::ShapeView shape,
                             DLDataType dtype, DLDevice device) {
    DLTensor prototype{};
    prototype.device = device;
    prototype.dtype = dtype;
    prototype.ndim = static_cast<int32_t>(shape.size());
    prototype.shape = const_cast<int64_t*>(shape.data());
    TVMFFIObjectHandle tensor;
    TVM_FFI_CHECK_SAFE_CALL(env_alloc(&prototype, &tensor));
    return FromHandle(tensor);
  }
  /// Zero-copy import; takes over `tensor`. RuntimeError when a requirement fails.
  static Tensor FromDLPack(DLManagedTensor* tensor, size_t require_alignment = 0,
                           bool require_contiguous = false) {
    TVMFFIObjectHandle handle;
    TVM_FFI_CHECK_SAFE_CALL(TVMFFITensorFromDLPack(tensor, static_cast<int32_t>(require_alignment),
                                                   require_contiguous ? 1 : 0, &handle));
    return FromHandle(handle);
  }
  static Tensor FromDLPackVersioned(DLManagedTensorVersioned* tensor, size_t require_alignment = 0,
                                    bool require_contiguous = false) {
    TVMFFIObjectHandle handle;
    TVM_FFI_CHECK_SAFE_CALL(TVMFFITensorFromDLPackVersioned(
        tensor, static_cast<int32_t>(require_alignment), require_contiguous ? 1 : 0, &handle));
    return FromHandle(handle);
  }
  DLManagedTensor* ToDLPack() const { return get()->ToDLPack(); }
  DLManagedTensorVersioned* ToDLPackVersioned() const { return get()->ToDLPackVersioned(); }
  const DLTensor* GetDLTensorPtr() const { return get(); }
  const TensorObj* operator->() const { return detail::NotNull(get()); }
  const TensorObj* get() const { return static_cast<const TensorObj*>(data_.get()); }

  static constexpr bool _type_is_nullable = true;
  using ContainerType = TensorObj;

 protected:
  TensorObj* get_mutable() const { return static_cast<TensorObj*>(data_.get()); }

 private:
  const DLTensor& dl() const { return *detail::NotNull(get()); }
  static Tensor FromHandle(TVMFFIObjectHandle handle) {
    return Tensor(
        detail::ObjectUnsafe::ObjectPtrFromOwned<TensorObj>(static_cast<TVMFFIObject*>(handle)));
  }
  template <typename TNDAlloc, typename... ExtraArgs>
  static Tensor MakeFromNDAlloc(TNDAlloc alloc, const detail::TensorLayout& layout,
                                ExtraArgs&&... extra_args) {
    return Tensor(make_inplace_array_object<detail::TensorObjFromNDAlloc<TNDAlloc>, int64_t>(
        layout.shape.size() * 2, std::move(alloc), layout, std::forward<ExtraArgs>(extra_args)...));
  }

  friend class detail::TensorAccess<Tensor>;
};

/// Non-owning tensor: the referred tensor must outlive it.
class TensorView : public detail::TensorAccess<TensorView> {
 public:
  TensorView(const Tensor& tensor) {  // NOLINT(google-explicit-constructor)
    TVM_FFI_ICHECK(tensor.defined()) << "a view needs a tensor";
    tensor_ = *tensor.GetDLTensorPtr();
  }
  TensorView(const DLTensor* tensor) {  // NOLINT(google-explicit-constructor)
    TVM_FFI_ICHECK(tensor != nullptr) << "a view needs a tensor";
    tensor_ = *tensor;
  }
  TensorView(const TensorView&) noexcept = default;
  TensorView(TensorView&&) noexcept = default;
  TensorView& operator=(const TensorView&) noexcept = default;
  TensorView& operator=(TensorView&&) noexcept = default;
  TensorView& operator=(const Tensor& tensor) { return *this = TensorView(tensor); }
  // A temporary tensor would leave the view dangling.
  TensorView(Tensor&&) = delete;
  TensorView& operator=(Tensor&&) = delete;

  /// `shape` and `strides` must outlive the result.
  TensorView as_strided(ShapeView shape, ShapeView strides,
                        std::optional<int64_t> element_offset = std::nullopt) const {
    const DLTensor view = detail::MakeStridedPrototype(tensor_, shape, strides, element_offset);
    return TensorView(&view);
  }
  const DLTensor* GetDLTensorPtr() const { return &tensor_; }

 private:
  const DLTensor& dl() const { return tensor_; }

  DLTensor tensor_;
  friend class detail::TensorAccess<TensorView>;
  friend struct TypeTraits<TensorView>;
};

inline size_t GetDataSize(const Tensor& tensor) { return GetDataSize(*tensor.GetDLTensorPtr()); }
inline size_t GetDataSize(const TensorView& tensor) {
  return GetDataSize(*tensor.GetDLTensorPtr());
}

namespace detail {

/// The DLTensor behind a DLTensorPtr or Tensor cell, or nullptr.
TVM_FFI_INLINE DLTensor* DLTensorOf(const TVMFFIAny* src) {
  if (src->type_index == TypeIndex::kTVMFFIDLTensorPtr) return static_cast<DLTensor*>(src->v_ptr);
  if (src->type_index == TypeIndex::kTVMFFITensor) return TVMFFITensorGetDLTensorPtr(src->v_obj);
  return nullptr;
}

TVM_FFI_INLINE void StoreDLTensorPtr(DLTensor* src, TVMFFIAny* result) {
  result->type_index = TypeIndex::kTVMFFIDLTensorPtr;
  result->zero_padding = 0;
  TVM_FFI_CLEAR_PTR_PADDING_IN_FFI_ANY(result);
  result->v_ptr = src;
}

}  // namespace detail

/// Argument-only: a borrowed pointer cannot be owned.
template <>
struct TypeTraits<DLTensor*> : public TypeTraitsBase {
  static constexpr bool storage_enabled = false;
  static constexpr int32_t field_static_type_index = TypeIndex::kTVMFFIDLTensorPtr;

  TVM_FFI_INLINE static void CopyToAnyView(DLTensor* src, TVMFFIAny* result) {
    TVM_FFI_ICHECK(src != nullptr) << "a DLTensor argument must not be null";
    detail::StoreDLTensorPtr(src, result);
  }
  TVM_FFI_INLINE static void MoveToAny(DLTensor*, TVMFFIAny*) {
    TVM_FFI_THROW(RuntimeError)
        << "DLTensor* cannot be held in Any: it does not own its memory, use Tensor instead";
  }
  TVM_FFI_INLINE static bool CheckAnyStrict(const TVMFFIAny* src) {
    return src->type_index == TypeIndex::kTVMFFIDLTensorPtr;
  }
  TVM_FFI_INLINE static DLTensor* CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    return static_cast<DLTensor*>(src->v_ptr);
  }
  TVM_FFI_INLINE static std::optional<DLTensor*> TryCastFromAnyView(const TVMFFIAny* src) {
    if (DLTensor* tensor = detail::DLTensorOf(src)) return tensor;
    return std::nullopt;
  }
  TVM_FFI_INLINE static std::string TypeStr() { return StaticTypeKey::kTVMFFIDLTensorPtr; }
  TVM_FFI_INLINE static std::string TypeSchema() {
    return detail::SimpleTypeSchema(StaticTypeKey::kTVMFFIDLTensorPtr);
  }
};

template <>
struct TypeTraits<TensorView> : public TypeTraitsBase {
  static constexpr bool storage_enabled = false;
  static constexpr int32_t field_static_type_index = TypeIndex::kTVMFFIDLTensorPtr;

  TVM_FFI_INLINE static void CopyToAnyView(const TensorView& src, TVMFFIAny* result) {
    detail::StoreDLTensorPtr(const_cast<DLTensor*>(&src.tensor_), result);
  }
  TVM_FFI_INLINE static bool CheckAnyStrict(const TVMFFIAny* src) {
    return src->type_index == TypeIndex::kTVMFFIDLTensorPtr;
  }
  TVM_FFI_INLINE static TensorView CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    return TensorView(static_cast<const DLTensor*>(src->v_ptr));
  }
  TVM_FFI_INLINE static std::optional<TensorView> TryCastFromAnyView(const TVMFFIAny* src) {
    if (const DLTensor* tensor = detail::DLTensorOf(src)) return TensorView(tensor);
    return std::nullopt;
  }
  TVM_FFI_INLINE static std::string TypeStr() { return StaticTypeKey::kTVMFFIDLTensorPtr; }
  TVM_FFI_INLINE static std::string TypeSchema() {
    return detail::SimpleTypeSchema(StaticTypeKey::kTVMFFIDLTensorPtr);
  }
};

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_CONTAINER_TENSOR_H_
