// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Uniform access to the builtin values for code that walks arbitrary values.
#ifndef TVM_FFI_SRC_EXTRA_VALUE_UTIL_H_
#define TVM_FFI_SRC_EXTRA_VALUE_UTIL_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/object.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "reflection_util.h"

namespace tvm {
namespace ffi {

/// Type index that does not distinguish inline from heap strings.
inline int32_t CanonicalTypeIndex(int32_t type_index) {
  switch (type_index) {
    case kTVMFFISmallStr:
      return kTVMFFIStr;
    case kTVMFFISmallBytes:
      return kTVMFFIBytes;
    default:
      return type_index;
  }
}

/// Content of a string or bytes value; borrowed from `value`.
inline std::string_view TextOf(const TVMFFIAny& value) {
  if (value.type_index == kTVMFFISmallStr || value.type_index == kTVMFFISmallBytes) {
    return std::string_view(value.v_bytes, value.small_str_len);
  }
  const TVMFFIByteArray* bytes = TVMFFIBytesGetByteArrayPtr(value.v_obj);
  return std::string_view(bytes->data, bytes->size);
}

inline size_t MappingSize(const Any& value) {
  return value.type_index() == kTVMFFIMap ? value.cast<Map<Any, Any>>().size()
                                          : value.cast<Dict<Any, Any>>().size();
}

inline std::optional<Any> LookUp(const Any& mapping, const Any& key) {
  auto find = [&key](const auto& map) -> std::optional<Any> {
    auto it = map.find(key);
    if (it == map.end()) return std::nullopt;
    return Any((*it).second);
  };
  return mapping.type_index() == kTVMFFIMap ? find(mapping.cast<Map<Any, Any>>())
                                            : find(mapping.cast<Dict<Any, Any>>());
}

/// Tensor data as bytes. ValueError unless it is contiguous CPU memory that exists.
inline std::string_view TensorBytes(const DLTensor* tensor, const char* purpose) {
  if (tensor->device.device_type != kDLCPU) {
    TVM_FFI_THROW(ValueError) << purpose << " needs a CPU tensor, got device type "
                              << static_cast<int>(tensor->device.device_type);
  }
  if (!IsContiguous(*tensor)) {
    TVM_FFI_THROW(ValueError) << purpose << " needs a contiguous tensor";
  }
  const size_t size = GetDataSize(*tensor);
  if (size == 0) return {};
  if (tensor->data == nullptr) {
    TVM_FFI_THROW(ValueError) << purpose << " needs the data of a tensor of " << size
                              << " bytes, but its data pointer is NULL";
  }
  return std::string_view(static_cast<const char*>(tensor->data) + tensor->byte_offset, size);
}

inline uint64_t CombineHash(uint64_t seed, uint64_t value) {
  return seed ^ (value + 0x9e3779b9 + (seed << 6) + (seed >> 2));
}

/// Hash of bytes that the map ABI prescribes.
inline uint64_t HashBytes(std::string_view bytes) {
  constexpr uint64_t kMultiplier = 1099511628211ULL;
  constexpr uint64_t kModulus = 2147483647ULL;
  uint64_t result = 0;
  for (size_t i = 0; i < bytes.size(); i += 8) {
    uint64_t word = 0;
    for (size_t j = i; j < bytes.size() && j < i + 8; ++j) {
      word |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[j])) << (8 * (j - i));
    }
    result = (result * kMultiplier + word) % kModulus;
  }
  return result;
}

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_SRC_EXTRA_VALUE_UTIL_H_
