// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Shared by the implementation files of reflection and of the operations built on it.
#ifndef TVM_FFI_SRC_EXTRA_REFLECTION_UTIL_H_
#define TVM_FFI_SRC_EXTRA_REFLECTION_UTIL_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ffi/reflection/registry.h>

#include <string>

namespace tvm {
namespace ffi {

/// Argument that separates positional from named arguments of an automatic constructor.
const ObjectRef& KwargsSentinel();

namespace reflection {

/// An attribute column that is created on first use, so that a lookup never fails.
class TypeAttrLookup {
 public:
  template <typename T>
  explicit TypeAttrLookup(const AttrKey<T>& key) : column_(Created(key)) {}

  AnyView operator[](int32_t type_index) const { return column_[type_index]; }

 private:
  template <typename T>
  static TypeAttrColumn Created(const AttrKey<T>& key) {
    EnsureTypeAttrColumn(key);
    return TypeAttrColumn(key);
  }

  TypeAttrColumn column_;
};

inline std::string TypeKeyOf(int32_t type_index) { return internal::TypeKeyText(type_index); }

}  // namespace reflection

inline const TVMFFIAny& RawAny(const Any& value) {
  return *reinterpret_cast<const TVMFFIAny*>(&value);
}
inline const TVMFFIAny& RawAny(const AnyView& value) {
  return *reinterpret_cast<const TVMFFIAny*>(&value);
}

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_SRC_EXTRA_REFLECTION_UTIL_H_
