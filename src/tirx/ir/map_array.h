// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Element-wise rewrite of an array that shares the array when no element changes.
#ifndef TVM_SRC_TIRX_IR_MAP_ARRAY_H_
#define TVM_SRC_TIRX_IR_MAP_ARRAY_H_

#include <tvm/ffi/container/array.h>

#include <utility>

namespace tvm {
namespace tirx {

template <typename T, typename F>
ffi::Array<T> MapArray(const ffi::Array<T>& array, F&& f) {
  size_t n = array.size();
  for (size_t i = 0; i < n; ++i) {
    T old_value = array[i];
    T new_value = f(old_value);
    if (new_value.same_as(old_value)) continue;
    ffi::Array<T> result;
    result.reserve(static_cast<int64_t>(n));
    for (size_t j = 0; j < i; ++j) result.push_back(array[j]);
    result.push_back(std::move(new_value));
    for (size_t j = i + 1; j < n; ++j) result.push_back(f(array[j]));
    return result;
  }
  return array;
}

}  // namespace tirx
}  // namespace tvm

#endif  // TVM_SRC_TIRX_IR_MAP_ARRAY_H_
