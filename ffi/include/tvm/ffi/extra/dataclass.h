// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Printing, comparing, hashing and copying of whole values by their reflected fields.
#ifndef TVM_FFI_EXTRA_DATACLASS_H_
#define TVM_FFI_EXTRA_DATACLASS_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/variant.h>
#include <tvm/ffi/extra/base.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ffi/string.h>

#include <cstdint>
#include <ostream>

namespace tvm {
namespace ffi {

/// Copies everything reachable once: sharing and cycles survive, enum entries stay singletons.
TVM_FFI_EXTRA_CXX_API Any DeepCopy(const Any& value);

/// Text in Python style; a cycle prints as `...`.
TVM_FFI_EXTRA_CXX_API String ReprPrint(const Any& value);

/// Streams print like `ReprPrint`; a type with an `operator<<` of its own keeps that.
inline std::ostream& operator<<(std::ostream& os, const Any& value) {
  return os << ReprPrint(value);
}
inline std::ostream& operator<<(std::ostream& os, const ObjectRef& value) {
  return os << ReprPrint(Any(value));
}
template <typename... V>
std::ostream& operator<<(std::ostream& os, const Variant<V...>& value) {
  return os << ReprPrint(Any(value));
}
template <typename T>
std::ostream& operator<<(std::ostream& os, const Optional<T>& value) {
  return os << ReprPrint(Any(value));
}

TVM_FFI_EXTRA_CXX_API int64_t RecursiveHash(const Any& value);

/// Equality of content: NaN equals NaN, 1 differs from True and 1.0.
TVM_FFI_EXTRA_CXX_API bool RecursiveEq(const Any& lhs, const Any& rhs);

/// Order of values of the same type; None comes first. TypeError when there is no order.
TVM_FFI_EXTRA_CXX_API bool RecursiveLt(const Any& lhs, const Any& rhs);
TVM_FFI_EXTRA_CXX_API bool RecursiveLe(const Any& lhs, const Any& rhs);
TVM_FFI_EXTRA_CXX_API bool RecursiveGt(const Any& lhs, const Any& rhs);
TVM_FFI_EXTRA_CXX_API bool RecursiveGe(const Any& lhs, const Any& rhs);

namespace type_attr {
/// (object, repr_fn(value) -> String) -> String.
inline constexpr reflection::AttrKey<Function> kRepr{"__ffi_repr__"};
/// (object, hash_fn(value) -> int) -> int.
inline constexpr reflection::AttrKey<Function> kHash{"__ffi_hash__"};
/// (a, b, eq_fn(x, y) -> bool) -> bool.
inline constexpr reflection::AttrKey<Function> kEq{"__ffi_eq__"};
/// (a, b, compare_fn(x, y) -> int) -> negative, zero or positive int.
inline constexpr reflection::AttrKey<Function> kCompare{"__ffi_compare__"};
}  // namespace type_attr

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_DATACLASS_H_
