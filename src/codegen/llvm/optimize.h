// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// LLVM passes and emission for one llvm::Module.
#ifndef TVM_CODEGEN_LLVM_OPTIMIZE_H_
#define TVM_CODEGEN_LLVM_OPTIMIZE_H_

#include <llvm/IR/Module.h>

#include <string>

#include "codegen/llvm/llvm_target.h"

namespace tvm {
namespace codegen {

/// What is left to do for loops.
struct LoopWork {
  bool vectorize = true;  ///< some are scalar
  bool unroll = true;     ///< some are scalar, or marked to be unrolled
};

/// Runs the passes that suit our code. Kernels arrive tiled, vectorized and mostly unrolled, so the
/// default pipeline is short: promote stack tiles to registers, combine, hoist, and what `loops`
/// asks for. An explicit opt-level of the target runs LLVM's own pipeline of that level.
void OptimizeModule(llvm::Module* module, const LLVMTarget& target, llvm::TargetMachine* machine,
                    LoopWork loops = {});

enum class EmitKind { kObject, kAssembly };
std::string EmitModule(llvm::Module* module, const LLVMTarget& target, llvm::TargetMachine* machine,
                       EmitKind kind);

/// InternalError with the verifier's text when the module is malformed.
void VerifyLLVM(const llvm::Module& module);

}  // namespace codegen
}  // namespace tvm
#endif  // TVM_CODEGEN_LLVM_OPTIMIZE_H_
