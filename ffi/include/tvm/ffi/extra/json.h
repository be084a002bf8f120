// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#ifndef TVM_FFI_EXTRA_JSON_H_
#define TVM_FFI_EXTRA_JSON_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/extra/base.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/string.h>

namespace tvm {
namespace ffi {
namespace json {

/// None, bool, int, float, String, Array or Object.
using Value = Any;
/// Keys are Strings.
using Object = ffi::Map<Any, Any>;
using Array = ffi::Array<Any>;

/// Parses one JSON text (NaN and the infinities are accepted; an int beyond int64 becomes a
/// float). ValueError names line, column and offset; with `error_msg` the message is stored there
/// instead and None is returned.
TVM_FFI_EXTRA_CXX_API Any Parse(const String& json_str, String* error_msg = nullptr);

/// JSON text of a value; `indent` spaces per level, one line when not given.
TVM_FFI_EXTRA_CXX_API String Stringify(const Any& value,
                                       const Optional<int>& indent = Optional<int>(std::nullopt));

}  // namespace json
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_JSON_H_
