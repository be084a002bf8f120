// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Values to and from a JSON graph:
/// {"root_index": i, "nodes": [{"type": key, "data": ..}], "metadata"?: ..}.
/// Shared objects are written once, so sharing survives the round trip.
#ifndef TVM_FFI_EXTRA_SERIALIZATION_H_
#define TVM_FFI_EXTRA_SERIALIZATION_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/extra/base.h>
#include <tvm/ffi/extra/json.h>
#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ffi/string.h>

namespace tvm {
namespace ffi {

/// `metadata` is stored next to the nodes when it is not None.
TVM_FFI_EXTRA_CXX_API json::Value ToJSONGraph(const Any& value, const Any& metadata = Any(nullptr));
TVM_FFI_EXTRA_CXX_API Any FromJSONGraph(const json::Value& value);

inline String ToJSONGraphString(const Any& value, const Any& metadata = Any(nullptr)) {
  return json::Stringify(ToJSONGraph(value, metadata));
}
inline Any FromJSONGraphString(const String& text) { return FromJSONGraph(json::Parse(text)); }

namespace type_attr {
/// (object) -> JSON value.
inline constexpr reflection::AttrKey<Function> kDataToJson{"__data_to_json__"};
/// (JSON value) -> object.
inline constexpr reflection::AttrKey<Function> kDataFromJson{"__data_from_json__"};
}  // namespace type_attr

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_SERIALIZATION_H_
