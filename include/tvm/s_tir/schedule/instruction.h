// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Instructions: one recorded use of a primitive each.
#ifndef TVM_S_TIR_SCHEDULE_INSTRUCTION_H_
#define TVM_S_TIR_SCHEDULE_INSTRUCTION_H_

#include <tvm/s_tir/stmt.h>

namespace tvm {
namespace s_tir {

/// A primitive by name; one object per name for the life of the process.
class InstructionKindNode : public ffi::Object {
 public:
  /// CamelCase name of the primitive.
  ffi::String name;
  /// It changes nothing but makes random variables: unused ones may be dropped from a trace.
  bool is_pure = false;

  /// Whether this is the marker between search and post-processing.
  TVM_DLL bool IsPostproc() const;

  static void RegisterReflection();
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindUniqueInstance;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("s_tir.InstructionKind", InstructionKindNode, ffi::Object);
};

class InstructionKind : public ffi::ObjectRef {
 public:
  /// ValueError, with the known names, if there is no such primitive.
  TVM_DLL static InstructionKind Get(const ffi::String& name);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(InstructionKind, ffi::ObjectRef, InstructionKindNode);
};

class InstructionNode : public ffi::Object {
 public:
  InstructionKind kind;
  /// Random variables, expressions, strings, maps, lists or None.
  ffi::Array<ffi::Any> inputs;
  /// Constants.
  ffi::Array<ffi::Any> attrs;
  /// Random variables that the primitive made.
  ffi::Array<ffi::Any> outputs;

  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("s_tir.Instruction", InstructionNode, ffi::Object);
};

class Instruction : public ffi::ObjectRef {
 public:
  TVM_DLL Instruction(InstructionKind kind, ffi::Array<ffi::Any> inputs, ffi::Array<ffi::Any> attrs,
                      ffi::Array<ffi::Any> outputs);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Instruction, ffi::ObjectRef, InstructionNode);
};

}  // namespace s_tir
}  // namespace tvm

#endif  // TVM_S_TIR_SCHEDULE_INSTRUCTION_H_
