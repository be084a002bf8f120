// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Enum entries as reflection shows them. Entries are singletons, so they are named, not copied.
#ifndef TVM_FFI_SRC_EXTRA_ENUM_UTIL_H_
#define TVM_FFI_SRC_EXTRA_ENUM_UTIL_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/enum.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/reflection/accessor.h>

#include <optional>

#include "reflection_util.h"
#include "value_util.h"

namespace tvm {
namespace ffi {

inline bool IsEnumType(int32_t type_index) {
  return type_index >= kTVMFFIDynObjectBegin &&
         detail::RuntimeTypeIndexMatch(type_index, EnumObj::RuntimeTypeIndex());
}

inline bool IsIntEnumType(int32_t type_index) {
  return detail::RuntimeTypeIndexMatch(type_index, IntEnumObj::RuntimeTypeIndex());
}

/// Entry of the enum type by integer or name; nullopt when there is none.
std::optional<Any> FindEnumEntry(int32_t type_index, const Any& key);

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_SRC_EXTRA_ENUM_UTIL_H_
