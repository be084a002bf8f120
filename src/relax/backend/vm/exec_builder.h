// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Builds an executable of the virtual machine, instruction by instruction.
#ifndef TVM_SRC_RELAX_BACKEND_VM_EXEC_BUILDER_H_
#define TVM_SRC_RELAX_BACKEND_VM_EXEC_BUILDER_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/runtime/vm/executable.h>

#include <string>
#include <unordered_map>
#include <vector>

namespace tvm {
namespace relax {

using runtime::vm::ExecWord;
using runtime::vm::Index;
using runtime::vm::Instruction;
using runtime::vm::RegName;
using runtime::vm::VMExecutable;
using runtime::vm::VMFuncInfo;

class ExecBuilderNode : public ffi::Object {
 public:
  ExecBuilderNode();

  /// Make a function known; calls may refer to it before it is defined.
  void DeclareFunction(const std::string& name, VMFuncInfo::FuncKind kind);
  /// Kind of a declared function; what nobody declared is a packed function.
  VMFuncInfo::FuncKind KindOf(const std::string& name) const;
  void BeginFunction(const std::string& name, int64_t num_inputs,
                     const std::vector<std::string>& param_names,
                     VMFuncInfo::FuncKind kind = VMFuncInfo::FuncKind::kVMFunc,
                     int64_t init_register_size = 0);
  void EndFunction(const std::string& name);

  void EmitCall(const std::string& func, const std::vector<Instruction::Arg>& args, RegName dst);
  void EmitRet(Instruction::Arg result);
  void EmitGoto(Index offset);
  void EmitIf(Instruction::Arg cond, Index false_offset);
  /// Instructions so far, to compute offsets.
  Index NumInstructions() const { return static_cast<Index>(exec_->instr_offset.size()); }
  void PatchGoto(Index instruction, Index offset) {
    exec_->SetInstructionData(instruction, 1, offset);
  }
  void PatchIf(Index instruction, Index offset) {
    exec_->SetInstructionData(instruction, 2, offset);
  }

  /// Operand for a value: an immediate for small integers, else an entry of the constant pool.
  Instruction::Arg ConvertConstant(const ffi::Any& value);
  Instruction::Arg FunctionArg(const std::string& name);
  void SetMemoryScope(Instruction::Arg constant, const std::string& scope);

  /// The executable, checked. The builder must not be used afterwards.
  ffi::ObjectPtr<VMExecutable> Get();

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("relax.ExecBuilder", ExecBuilderNode, ffi::Object);

 private:
  Index FuncIndex(const std::string& name);
  void CheckRegisters() const;

  ffi::ObjectPtr<VMExecutable> exec_;
  std::unordered_map<ffi::Any, Index, ffi::AnyHash, ffi::AnyEqual> pool_;
  std::string current_;
};

class ExecBuilder : public ffi::ObjectRef {
 public:
  static ExecBuilder Create() { return ExecBuilder(ffi::make_object<ExecBuilderNode>()); }
  ExecBuilderNode* operator->() const {
    return const_cast<ExecBuilderNode*>(static_cast<const ExecBuilderNode*>(get()));
  }
  explicit ExecBuilder(ffi::ObjectPtr<ExecBuilderNode> node)
      : ffi::ObjectRef(ffi::ObjectPtr<ffi::Object>(std::move(node))) {}
  explicit ExecBuilder(ffi::UnsafeInit tag) : ffi::ObjectRef(tag) {}
  static constexpr bool _type_is_nullable = false;
  using ContainerType = ExecBuilderNode;
};

}  // namespace relax
}  // namespace tvm

#endif  // TVM_SRC_RELAX_BACKEND_VM_EXEC_BUILDER_H_
