// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#ifndef TVM_FFI_EXTRA_STRUCTURAL_EQUAL_H_
#define TVM_FFI_EXTRA_STRUCTURAL_EQUAL_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/extra/base.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/reflection/access_path.h>
#include <tvm/ffi/reflection/accessor.h>

namespace tvm {
namespace ffi {

/// Equality of values by content, up to consistent renaming of variables where they are defined.
class StructuralEqual {
 public:
  /// `map_free_vars` also pairs variables that are used without a definition.
  /// `skip_tensor_content` compares tensors by shape and dtype only.
  TVM_FFI_EXTRA_CXX_API static bool Equal(const Any& lhs, const Any& rhs,
                                          bool map_free_vars = false,
                                          bool skip_tensor_content = false);

  /// Where the first difference lies; empty when the values are equal.
  TVM_FFI_EXTRA_CXX_API static Optional<reflection::AccessPathPair> GetFirstMismatch(
      const Any& lhs, const Any& rhs, bool map_free_vars = false, bool skip_tensor_content = false);

  bool operator()(const Any& lhs, const Any& rhs) const { return Equal(lhs, rhs); }
};

namespace type_attr {
/// (a, b, callback(l, r, def_region_kind, field_name) -> bool) -> bool.
inline constexpr reflection::AttrKey<Function> kSEqual{"__s_equal__"};
}  // namespace type_attr

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_STRUCTURAL_EQUAL_H_
