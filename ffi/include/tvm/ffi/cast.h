// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// From raw node pointers back to counted handles.
#ifndef TVM_FFI_CAST_H_
#define TVM_FFI_CAST_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/optional.h>

#include <type_traits>
#include <utility>

namespace tvm {
namespace ffi {

/// Handle of a node that some handle already owns. `RefType` may be Optional<Ref>: null gives
/// nullopt. Null for a non-nullable class throws InternalError.
template <typename RefType, typename ObjectType>
inline RefType GetRef(const ObjectType* ptr) {
  static_assert(std::is_base_of_v<typename RefType::ContainerType, ObjectType>,
                "the handle class cannot hold this node class");
  if constexpr (is_optional_type_v<RefType>) {
    if (ptr == nullptr) return RefType(std::nullopt);
    return RefType(GetRef<typename RefType::value_type>(ptr));
  } else {
    if constexpr (!RefType::_type_is_nullable) TVM_FFI_ICHECK_NOTNULL(ptr);
    return detail::ObjectUnsafe::ObjectRefFromObjectPtr<RefType>(
        detail::ObjectUnsafe::ObjectPtrFromUnowned<Object>(
            const_cast<Object*>(static_cast<const Object*>(ptr))));
  }
}

/// Counted pointer of a node that is already owned.
template <typename BaseType, typename ObjectType>
inline ObjectPtr<BaseType> GetObjectPtr(ObjectType* ptr) {
  static_assert(std::is_base_of_v<BaseType, ObjectType>,
                "the pointer class cannot hold this node class");
  return detail::ObjectUnsafe::ObjectPtrFromUnowned<BaseType>(
      const_cast<Object*>(static_cast<const Object*>(ptr)));
}

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_CAST_H_
