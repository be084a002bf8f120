// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Frame and functions that build modules.
#ifndef TVM_SCRIPT_IR_BUILDER_IR_H_
#define TVM_SCRIPT_IR_BUILDER_IR_H_

#include <tvm/ir/module.h>
#include <tvm/script/ir_builder/base.h>

#include <unordered_set>

namespace tvm::script::ir_builder {

/// Collects functions, attributes and global infos; leaving it makes the IRModule.
class TVM_DLL IRModuleFrameNode : public IRBuilderFrameNode {
 public:
  ffi::Map<ffi::String, GlobalVar> global_var_map;
  /// Holds declared functions too, until they are defined.
  ffi::Map<GlobalVar, BaseFunc> functions;
  /// Those of the variables above whose function has a body.
  std::unordered_set<const ffi::Object*> defined;
  ffi::Map<ffi::String, ffi::Any> attrs;
  ffi::Map<ffi::String, ffi::Array<GlobalInfo>> global_infos;

  void ExitWithScope() final;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("script.ir_builder.IRModuleFrame", IRModuleFrameNode,
                                    IRBuilderFrameNode);
};

class IRModuleFrame : public IRBuilderFrame {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(IRModuleFrame, IRBuilderFrame, IRModuleFrameNode);
};

TVM_DLL IRModuleFrame IRModule();

/// Declares a function by a signature, before its body is known. The global function
/// `script.ir_builder.decl_function.<type key of the signature>` (name, signature) -> GlobalVar
/// may make the variable; else it gets the type of the signature.
/// ValueError if the module has a function of that name.
TVM_DLL GlobalVar DeclFunction(const ffi::String& name, const BaseFunc& signature);
/// Sets the body of a declared function. ValueError if it was not declared.
TVM_DLL void DefFunction(const ffi::String& name, const BaseFunc& func);
/// The frame of the module that is being built; ValueError outside of one.
TVM_DLL IRModuleFrame RequireModuleFrame(const ffi::String& who);

}  // namespace tvm::script::ir_builder

#endif  // TVM_SCRIPT_IR_BUILDER_IR_H_
