// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Callback tables that bindings pass to structural traversals, and their depth limit.
#ifndef TVM_FFI_SRC_EXTRA_STRUCTURAL_DISPATCH_H_
#define TVM_FFI_SRC_EXTRA_STRUCTURAL_DISPATCH_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>

#include <optional>

#include "src/type_table.h"
#include "value_util.h"

namespace tvm {
namespace ffi {

/// (type index, function) pairs; the first whose type takes a value is called.
using CallbackList = Array<Tuple<int64_t, Function>>;

/// Refuses callbacks for types that do not exist, before the walk compares indices.
template <typename Callbacks>
void CheckCallbackTypes(const Callbacks& callbacks) {
  for (const auto& entry : callbacks) {
    const int64_t wanted = entry.template get<0>();
    if (wanted != kTVMFFIAny) TypeTable::Global()->Get(wanted);
  }
}

/// Whether a value of type `actual` is of type `wanted` (-1: any value).
inline bool TypeTakes(int64_t wanted, int32_t actual) {
  if (wanted == kTVMFFIAny) return true;
  return detail::RuntimeTypeIndexMatch(CanonicalTypeIndex(actual), static_cast<int32_t>(wanted)) ||
         wanted == actual;
}

inline std::optional<Function> FindCallback(const CallbackList& callbacks, AnyView value) {
  for (const auto& entry : callbacks) {
    if (TypeTakes(entry.template get<0>(), value.type_index())) return entry.template get<1>();
  }
  return std::nullopt;
}

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_SRC_EXTRA_STRUCTURAL_DISPATCH_H_
