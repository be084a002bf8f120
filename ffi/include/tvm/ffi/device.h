// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// DLDevice: text form, comparison, traits.
#ifndef TVM_FFI_DEVICE_H_
#define TVM_FFI_DEVICE_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/string.h>
#include <tvm/ffi/type_traits.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tvm {
namespace ffi {
namespace detail {

struct DeviceName {
  std::string_view name;
  DLDeviceType type;
};

inline constexpr DeviceName kDeviceNames[] = {
    {"cpu", kDLCPU},        {"cuda", kDLCUDA},       {"opencl", kDLOpenCL}, {"vulkan", kDLVulkan},
    {"metal", kDLMetal},    {"mps", kDLMetal},       {"vpi", kDLVPI},       {"rocm", kDLROCM},
    {"ext_dev", kDLExtDev}, {"hexagon", kDLHexagon}, {"wgpu", kDLWebGPU},   {"webgpu", kDLWebGPU},
    {"maia", kDLMAIA},      {"trn", kDLTrn},
};

/// Plain decimal digits that fit an int32.
inline std::optional<int32_t> ParseDeviceIndex(std::string_view text) {
  if (text.empty()) return std::nullopt;
  int64_t value = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
    if (value > INT32_MAX) return std::nullopt;
  }
  return static_cast<int32_t>(value);
}

/// `cuda`, `cuda:1`, ...; nullopt for anything else.
inline std::optional<DLDevice> TryStringViewToDLDevice(std::string_view str) {
  const size_t colon = str.find(':');
  std::optional<int32_t> index = 0;
  if (colon != std::string_view::npos) index = ParseDeviceIndex(str.substr(colon + 1));
  if (!index.has_value()) return std::nullopt;
  const std::string_view name = str.substr(0, colon);
  for (const DeviceName& known : kDeviceNames) {
    if (known.name == name) return DLDevice{known.type, *index};
  }
  return std::nullopt;
}

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
