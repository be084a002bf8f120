// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Fresh names inside one scope.
#ifndef TVM_IR_NAME_SUPPLY_H_
#define TVM_IR_NAME_SUPPLY_H_

#include <tvm/ffi/object.h>
#include <tvm/ffi/string.h>
#include <tvm/runtime/base.h>

#include <string>
#include <string_view>
#include <unordered_map>

namespace tvm {

class UniqueNameSupplyNode : public ffi::Object {
 public:
  ffi::String prefix;

  /// `name` when free, else name_1, name_2, ... The prefix is joined by "_"; "." becomes "_" and
  /// an empty name "v".
  TVM_DLL ffi::String FreshName(const ffi::String& name, bool add_prefix = true,
                                bool add_underscore = true);
  TVM_DLL ffi::String ReserveName(const ffi::String& name, bool add_prefix = true);
  TVM_DLL bool ContainsName(const ffi::String& name, bool add_prefix = true) const;

  static void RegisterReflection();
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ir.UniqueNameSupply", UniqueNameSupplyNode, ffi::Object);

 private:
  std::string WithPrefix(std::string_view name) const;
  /// Taken name -> last number tried after it.
  std::unordered_map<std::string, int> taken_;
};

class UniqueNameSupply : public ffi::ObjectRef {
 public:
  TVM_DLL explicit UniqueNameSupply(const ffi::String& prefix);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(UniqueNameSupply, ffi::ObjectRef,
                                             UniqueNameSupplyNode);
};

}  // namespace tvm
#endif  // TVM_IR_NAME_SUPPLY_H_
