// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// DLDevice: text form, comparison, traits.
#ifndef TVM_FFI_DEVICE_H_
#define TVM_FFI_DEVICE_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/string.h>
#include <tvm/ffi/type_traits.h>

#include <optional>
#include <string>
#include <string_view>

namespace tvm {
namespace ffi {
namespace detail {

/// `cuda`, `cuda:1`, ...; nullopt for anything else.
TVM_FFI_DLL std::optional<DLDevice> TryStringViewToDLDevice(std::string_view str);

}  // namespace detail

template <>
struct TypeTraits<DLDevice> : public TypeTraitsBase {
  static constexpr int32_t field_static_type_index = TypeIndex::kTVMFFIDevice;

  TVM_FFI_INLINE static void CopyToAnyView(const DLDevice& src, TVMFFIAny* result) {
    result->type_index = TypeIndex::kTVMFFIDevice;
    result->zero_padding = 0;
    result->v_device = src;
  }
  TVM_FFI_INLINE static void MoveToAny(DLDevice src, TVMFFIAny* result) {
    CopyToAnyView(src, result);
  }
  TVM_FFI_INLINE static bool CheckAnyStrict(const TVMFFIAny* src) {
    return src->type_index == TypeIndex::kTVMFFIDevice;
  }
  TVM_FFI_INLINE static DLDevice CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    return src->v_device;
  }
  TVM_FFI_INLINE static DLDevice MoveFromAnyAfterCheck(TVMFFIAny* src) { return src->v_device; }
  TVM_FFI_INLINE static std::optional<DLDevice> TryCastFromAnyView(const TVMFFIAny* src) {
    if (CheckAnyStrict(src)) return src->v_device;
    if (std::optional<String> text = TypeTraits<String>::TryCastFromAnyView(src)) {
      return detail::TryStringViewToDLDevice(text->view());
    }
    return std::nullopt;
  }
  TVM_FFI_INLINE static std::string TypeStr() { return StaticTypeKey::kTVMFFIDevice; }
  TVM_FFI_INLINE static std::string TypeSchema() {
    return detail::SimpleTypeSchema(StaticTypeKey::kTVMFFIDevice);
  }
};

}  // namespace ffi
}  // namespace tvm

// DLPack types are global: argument-dependent lookup finds these only here.
inline bool operator==(const DLDevice& lhs, const DLDevice& rhs) {
  return lhs.device_type == rhs.device_type && lhs.device_id == rhs.device_id;
}
inline bool operator!=(const DLDevice& lhs, const DLDevice& rhs) { return !(lhs == rhs); }

#endif  // TVM_FFI_DEVICE_H_
