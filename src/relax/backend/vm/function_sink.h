// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Where the steps of a function of the virtual machine go: bytecode or native code.
#ifndef TVM_SRC_RELAX_BACKEND_VM_FUNCTION_SINK_H_
#define TVM_SRC_RELAX_BACKEND_VM_FUNCTION_SINK_H_

#include <tvm/tirx/function.h>

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "relax/backend/vm/exec_builder.h"

namespace tvm {
namespace relax {

/// Takes one function, step by step. Registers 0 to n - 1 hold its n parameters.
class FunctionSink {
 public:
  using Arg = Instruction::Arg;
  virtual ~FunctionSink() = default;

  virtual RegName NewRegister() = 0;
  /// Calls a function by name. `dst` may be kVoidRegister.
  virtual void Call(const std::string& func, const std::vector<Arg>& args, RegName dst) = 0;
  /// Lets go of a register's value.
  virtual void Reset(RegName reg) = 0;
  /// Runs one of the branches; both emit into this sink.
  virtual void If(Arg cond, const std::function<void()>& on_true,
                  const std::function<void()>& on_false) = 0;
  /// The last step.
  virtual void Return(Arg value) = 0;
};

/// Instructions of `builder`.
std::unique_ptr<FunctionSink> MakeBytecodeSink(ExecBuilder builder, const std::string& name,
                                               const std::vector<std::string>& params);

/// Kernels of the module by symbol; native code calls them directly.
using KernelSymbols = std::unordered_map<std::string, bool>;

/// A PrimFunc `__vmtir__<name>(vm, registers, constants, functions)`, given to `done` at the end.
/// The result is left in the register after the parameters.
std::unique_ptr<FunctionSink> MakeNativeSink(ExecBuilder builder, const std::string& name,
                                             const std::vector<std::string>& params,
                                             const KernelSymbols& kernels,
                                             std::function<void(tirx::PrimFunc)> done);

}  // namespace relax
}  // namespace tvm

#endif  // TVM_SRC_RELAX_BACKEND_VM_FUNCTION_SINK_H_
