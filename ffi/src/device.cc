// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/device.h>

namespace tvm {
namespace ffi {
namespace {

struct DeviceName {
  std::string_view name;
  DLDeviceType type;
};

constexpr DeviceName kDeviceNames[] = {
    {"cpu", kDLCPU},        {"cuda", kDLCUDA},       {"opencl", kDLOpenCL}, {"vulkan", kDLVulkan},
    {"metal", kDLMetal},    {"mps", kDLMetal},       {"vpi", kDLVPI},       {"rocm", kDLROCM},
    {"ext_dev", kDLExtDev}, {"hexagon", kDLHexagon}, {"wgpu", kDLWebGPU},   {"webgpu", kDLWebGPU},
    {"maia", kDLMAIA},      {"trn", kDLTrn},
};

/// Plain decimal digits that fit an int32.
std::optional<int32_t> ParseIndex(std::string_view text) {
  if (text.empty()) return std::nullopt;
  int64_t value = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
    if (value > INT32_MAX) return std::nullopt;
  }
  return static_cast<int32_t>(value);
}

}  // namespace

std::optional<DLDevice> detail::TryStringViewToDLDevice(std::string_view str) {
  const size_t colon = str.find(':');
  std::optional<int32_t> index = 0;
  if (colon != std::string_view::npos) index = ParseIndex(str.substr(colon + 1));
  if (!index.has_value()) return std::nullopt;
  const std::string_view name = str.substr(0, colon);
  for (const DeviceName& known : kDeviceNames) {
    if (known.name == name) return DLDevice{known.type, *index};
  }
  return std::nullopt;
}

}  // namespace ffi
}  // namespace tvm
