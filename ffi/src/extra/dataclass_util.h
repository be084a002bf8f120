// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Rules shared by the operations on whole values.
#ifndef TVM_FFI_SRC_EXTRA_DATACLASS_UTIL_H_
#define TVM_FFI_SRC_EXTRA_DATACLASS_UTIL_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/c_api.h>

#include <cstddef>

#include "value_util.h"

namespace tvm {
namespace ffi {

/// Nesting that comparison and hashing accept.
inline constexpr size_t kMaxValueDepth = size_t{1} << 20;

/// Objects without described content, and those that exist once, are equal to themselves only.
inline bool ComparesByIdentity(int32_t type_index) {
  if (IsSequence(type_index) || IsMapping(type_index)) return false;
  if (type_index == kTVMFFIModule) return true;
  const TVMFFITypeMetadata* metadata = TVMFFIGetTypeInfo(type_index)->metadata;
  return metadata == nullptr ||
         metadata->structural_eq_hash_kind == kTVMFFISEqHashKindUniqueInstance;
}

/// What such an object is told apart by. Every crossing wraps a host object anew, so there it is
/// the object inside.
inline const void* IdentityOf(TVMFFIObject* object) {
  if (object->type_index == kTVMFFIOpaquePyObject) {
    return TVMFFIOpaqueObjectGetCellPtr(object)->handle;
  }
  return object;
}

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_SRC_EXTRA_DATACLASS_UTIL_H_
