// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#ifndef TVM_FFI_EXTRA_STRUCTURAL_KEY_H_
#define TVM_FFI_EXTRA_STRUCTURAL_KEY_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/ffi/extra/structural_hash.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/object.h>

#include <cstdint>
#include <utility>

namespace tvm {
namespace ffi {

/// Wraps a value so that Map and Dict look it up by structure instead of identity.
class StructuralKeyObj : public Object {
 public:
  Any key;
  int64_t hash_i64 = 0;

  StructuralKeyObj() = default;
  explicit StructuralKeyObj(Any value)
      : key(std::move(value)), hash_i64(static_cast<int64_t>(StructuralHash::Hash(key))) {}

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ffi.StructuralKey", StructuralKeyObj, Object);
};

class StructuralKey : public ObjectRef {
 public:
  explicit StructuralKey(Any key) : ObjectRef(make_object<StructuralKeyObj>(std::move(key))) {}

  bool operator==(const StructuralKey& other) const {
    return same_as(other) ||
           (get()->hash_i64 == other->hash_i64 && StructuralEqual::Equal(get()->key, other->key));
  }
  bool operator!=(const StructuralKey& other) const { return !(*this == other); }

  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(StructuralKey, ObjectRef, StructuralKeyObj);
};

}  // namespace ffi
}  // namespace tvm

template <>
struct std::hash<::tvm::ffi::StructuralKey> {
  std::size_t operator()(const ::tvm::ffi::StructuralKey& key) const {
    return static_cast<std::size_t>(key->hash_i64);
  }
};

#endif  // TVM_FFI_EXTRA_STRUCTURAL_KEY_H_
