// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file test_builder.h
/// Assembles executables by hand, for tests.
#ifndef TVM_RUNTIME_VM_TEST_BUILDER_H_
#define TVM_RUNTIME_VM_TEST_BUILDER_H_

#include <tvm/ffi/memory.h>
#include <tvm/runtime/vm/executable.h>
#include <tvm/runtime/vm/vm.h>

#include <string>
#include <utility>
#include <vector>

namespace tvm {
namespace runtime {
namespace vm {

class TestBuilder {
 public:
  using Arg = Instruction::Arg;

  TestBuilder() : exec_(ffi::make_object<VMExecutable>()) {}

  Index Func(const std::string& name) {
    for (size_t i = 0; i < exec_->func_table.size(); ++i) {
      if (exec_->func_table[i].name == name) return static_cast<Index>(i);
    }
    VMFuncInfo info{};
    info.kind = VMFuncInfo::FuncKind::kPackedFunc;
    info.name = name;
    exec_->func_table.push_back(info);
    return static_cast<Index>(exec_->func_table.size()) - 1;
  }
  Arg Const(ffi::Any value) {
    exec_->constants.push_back(std::move(value));
    return Arg::ConstIdx(static_cast<Index>(exec_->constants.size()) - 1);
  }
  static Arg R(Index i) { return Arg::Register(i); }
  static Arg I(int64_t v) { return Arg::Immediate(v); }
  static Arg VM() { return Arg::Register(Instruction::kVMRegister); }
  static constexpr RegName kVoid = Instruction::kVoidRegister;

  void Begin(const std::string& name, Index num_args, Index num_regs) {
    Index i = Func(name);
    VMFuncInfo& f = exec_->func_table[static_cast<size_t>(i)];
    f.kind = VMFuncInfo::FuncKind::kVMFunc;
    f.start_instr = static_cast<Index>(exec_->instr_offset.size());
    f.num_args = num_args;
    f.register_file_size = num_regs;
    for (Index k = 0; k < num_args; ++k) f.param_names.push_back("p" + std::to_string(k));
    current_ = i;
  }
  void End() {
    exec_->func_table[static_cast<size_t>(current_)].end_instr =
        static_cast<Index>(exec_->instr_offset.size());
  }
  void Call(const std::string& name, std::vector<Arg> args, RegName dst = kVoid) {
    Index func = Func(name);
    std::vector<ExecWord> words = {static_cast<ExecWord>(Opcode::Call), dst, func,
                                   static_cast<ExecWord>(args.size())};
    for (const Arg& a : args) words.push_back(a.data());
    Emit(words);
  }
  void Ret(RegName reg) { Emit({static_cast<ExecWord>(Opcode::Ret), reg}); }
  void Goto(Index offset) { Emit({static_cast<ExecWord>(Opcode::Goto), offset}); }
  void If(RegName cond, Index false_offset) {
    Emit({static_cast<ExecWord>(Opcode::If), cond, false_offset});
  }
  ffi::ObjectPtr<VMExecutable> Finish() {
    exec_->Validate();
    return exec_;
  }
  VMExecutable* exec() { return exec_.get(); }

 private:
  void Emit(const std::vector<ExecWord>& words) {
    exec_->instr_offset.push_back(static_cast<Index>(exec_->instr_data.size()));
    exec_->instr_data.insert(exec_->instr_data.end(), words.begin(), words.end());
  }
  ffi::ObjectPtr<VMExecutable> exec_;
  Index current_ = 0;
};

/// A machine on the cpu.
inline ffi::Module MakeMachine(const ffi::ObjectPtr<VMExecutable>& exec,
                               AllocatorType type = memory::kPooled) {
  ffi::Module machine = exec->VMLoadExecutable();
  auto init = machine->GetFunction("vm_initialization", false);
  (*init)(static_cast<int>(kDLCPU), 0, static_cast<int>(type));
  return machine;
}

}  // namespace vm
}  // namespace runtime
}  // namespace tvm

#endif  // TVM_RUNTIME_VM_TEST_BUILDER_H_
