// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Global functions as IR values: serialised by name, resolved when used.
#ifndef TVM_IR_ENV_FUNC_H_
#define TVM_IR_ENV_FUNC_H_

#include <tvm/ffi/function.h>
#include <tvm/ir/cow.h>
#include <tvm/runtime/base.h>

namespace tvm {

class EnvFuncNode : public ffi::Object {
 public:
  ffi::String name;
  ffi::Function func;

  static void RegisterReflection();
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("ir.EnvFunc", EnvFuncNode, ffi::Object);
};

class EnvFunc : public ffi::ObjectRef {
 public:
  /// ValueError when no global function has that name.
  TVM_DLL static EnvFunc Get(const ffi::String& name);
  template <typename... Args>
  ffi::Any operator()(Args&&... args) const {
    return (*this)->func(std::forward<Args>(args)...);
  }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(EnvFunc, ffi::ObjectRef, EnvFuncNode);
};

}  // namespace tvm
#endif  // TVM_IR_ENV_FUNC_H_
