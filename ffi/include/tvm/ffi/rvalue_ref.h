// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Passing an object so that the callee takes over the caller's reference, which lets
/// copy-on-write code update a unique object in place.
#ifndef TVM_FFI_RVALUE_REF_H_
#define TVM_FFI_RVALUE_REF_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/object.h>

#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace tvm {
namespace ffi {

/// Argument-only wrapper: `f(RValueRef(std::move(x)))`; the callee reads `*std::move(arg)`.
template <typename TObjRef, typename = std::enable_if_t<std::is_base_of_v<ObjectRef, TObjRef>>>
class RValueRef {
 public:
  using ContainerType = typename TObjRef::ContainerType;
  explicit RValueRef(TObjRef&& data)
      : data_(detail::ObjectUnsafe::ObjectPtrFromObjectRef<Object>(std::move(data))) {}

  TObjRef operator*() && {
    return detail::ObjectUnsafe::ObjectRefFromObjectPtr<TObjRef>(std::move(data_));
  }

 private:
  // Views point into this slot and the callee clears it.
  mutable ObjectPtr<Object> data_;
  friend struct TypeTraits<RValueRef<TObjRef>>;
};

template <typename TObjRef>
inline constexpr bool use_default_type_traits_v<RValueRef<TObjRef>> = false;

template <typename TObjRef>
struct TypeTraits<RValueRef<TObjRef>> : public TypeTraitsBase {
  static constexpr bool storage_enabled = false;

  TVM_FFI_INLINE static void CopyToAnyView(const RValueRef<TObjRef>& src, TVMFFIAny* result) {
    static_assert(sizeof(ObjectPtr<Object>) == sizeof(TVMFFIObject*), "the slot is one pointer");
    result->type_index = TypeIndex::kTVMFFIObjectRValueRef;
    result->zero_padding = 0;
    TVM_FFI_CLEAR_PTR_PADDING_IN_FFI_ANY(result);
    result->v_ptr = &src.data_;
  }
  TVM_FFI_INLINE static std::string GetMismatchTypeInfo(const TVMFFIAny* src) {
    if (src->type_index != TypeIndex::kTVMFFIObjectRValueRef) {
      return TypeTraits<TObjRef>::GetMismatchTypeInfo(src);
    }
    TVMFFIAny content;
    detail::StoreObject(*static_cast<TVMFFIObject**>(src->v_ptr), &content);
    return "RValueRef<" + TypeTraits<TObjRef>::GetMismatchTypeInfo(&content) + ">";
  }
  TVM_FFI_INLINE static std::optional<RValueRef<TObjRef>> TryCastFromAnyView(const TVMFFIAny* src) {
    if (src->type_index == TypeIndex::kTVMFFIObjectRValueRef) {
      auto* slot = static_cast<TVMFFIObject**>(src->v_ptr);
      TVMFFIAny content;
      detail::StoreObject(*slot, &content);
      if (TypeTraits<TObjRef>::CheckAnyStrict(&content)) {
        *slot = nullptr;
        return RValueRef<TObjRef>(TypeTraits<TObjRef>::MoveFromAnyAfterCheck(&content));
      }
      // A conversion makes a new object; the caller keeps its own.
      return Convert(&content);
    }
    return Convert(src);
  }
  TVM_FFI_INLINE static std::string TypeStr() {
    return "RValueRef<" + TypeTraits<TObjRef>::TypeStr() + ">";
  }
  TVM_FFI_INLINE static std::string TypeSchema() {
    return detail::CompoundTypeSchema<TObjRef>(StaticTypeKey::kTVMFFIObjectRValueRef);
  }

 private:
  TVM_FFI_INLINE static std::optional<RValueRef<TObjRef>> Convert(const TVMFFIAny* src) {
    if (std::optional<TObjRef> value = TypeTraits<TObjRef>::TryCastFromAnyView(src)) {
      return RValueRef<TObjRef>(*std::move(value));
    }
    return std::nullopt;
  }
};

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_RVALUE_REF_H_
