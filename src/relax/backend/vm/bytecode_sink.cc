// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Steps as instructions of the executable.
#include "relax/backend/vm/function_sink.h"

namespace tvm {
namespace relax {

namespace {

class BytecodeSink final : public FunctionSink {
 public:
  BytecodeSink(ExecBuilder builder, const std::string& name, const std::vector<std::string>& params)
      : builder_(std::move(builder)), name_(name), next_(static_cast<RegName>(params.size())) {
    builder_->BeginFunction(name, next_, params);
  }

  RegName NewRegister() final { return next_++; }

  void Call(const std::string& func, const std::vector<Arg>& args, RegName dst) final {
    builder_->EmitCall(func, args, dst);
  }

  void Reset(RegName reg) final { builder_->EmitCall("vm.builtin.null_value", {}, reg); }

  void If(Arg cond, const std::function<void()>& on_true,
          const std::function<void()>& on_false) final {
    Arg truth = Arg::Register(NewRegister());
    builder_->EmitCall("vm.builtin.read_if_cond", {cond}, truth.value());
    const Index branch = builder_->NumInstructions();
    builder_->EmitIf(truth, 0);
    on_true();
    const Index jump = builder_->NumInstructions();
    builder_->EmitGoto(1);
    builder_->PatchIf(branch, builder_->NumInstructions() - branch);
    on_false();
    builder_->PatchGoto(jump, builder_->NumInstructions() - jump);
  }

  void Return(Arg value) final {
    if (value.kind() != Instruction::ArgKind::kRegister) {
      Arg held = Arg::Register(NewRegister());
      builder_->EmitCall("vm.builtin.copy", {value}, held.value());
      value = held;
    }
    builder_->EmitRet(value);
    builder_->EndFunction(name_);
  }

 private:
  ExecBuilder builder_;
  std::string name_;
  RegName next_;
};

}  // namespace

std::unique_ptr<FunctionSink> MakeBytecodeSink(ExecBuilder builder, const std::string& name,
                                               const std::vector<std::string>& params) {
  return std::make_unique<BytecodeSink>(std::move(builder), name, params);
}

}  // namespace relax
}  // namespace tvm
