// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Reflection of the statically numbered types: how bindings convert values to them.
#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <string>

#include "src/library_init.h"

namespace tvm {
namespace ffi {
namespace {

template <typename T>
void DefineConvert(int32_t type_index) {
  const std::string name = reflection::internal::TypeKeyText(type_index) + ".__ffi_convert__";
  reflection::internal::RegisterTypeAttr(
      type_index, type_attr::kConvert,
      Any(Function::FromTyped(
          [](AnyView value) -> Any { return reflection::internal::ConvertTo<T>(value); }, name)));
}

}  // namespace

TVM_FFI_LIBRARY_INIT_BLOCK() {
  reflection::ObjectDef<Object>(reflection::init(false));
  reflection::internal::RegisterTypeAttr(kTVMFFIBigInt, type_attr::kTypeFinal, Any(true));
  DefineConvert<ObjectRef>(kTVMFFIObject);
  DefineConvert<String>(kTVMFFIStr);
  DefineConvert<Bytes>(kTVMFFIBytes);
  DefineConvert<Error>(kTVMFFIError);
  DefineConvert<Function>(kTVMFFIFunction);
  DefineConvert<Shape>(kTVMFFIShape);
  DefineConvert<Tensor>(kTVMFFITensor);
  DefineConvert<Array<Any>>(kTVMFFIArray);
  DefineConvert<Map<Any, Any>>(kTVMFFIMap);
  DefineConvert<List<Any>>(kTVMFFIList);
  DefineConvert<Dict<Any, Any>>(kTVMFFIDict);
}

}  // namespace ffi
}  // namespace tvm
