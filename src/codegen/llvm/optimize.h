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

/// Runs the passes that suit our code. Kernels arrive tiled, vectorized and unrolled, so the
/// default pipeline is short: promote stack tiles to registers, combine, hoist; `scalar_loops` adds
/// the loop vectorizer for functions that kept plain loops. An explicit opt-level of the target
/// runs LLVM's own pipeline of that level.
void OptimizeModule(llvm::Module* module, const LLVMTarget& target, llvm::TargetMachine* machine,
                    bool scalar_loops);

enum class EmitKind { kObject, kAssembly };
std::string EmitModule(llvm::Module* module, llvm::TargetMachine* machine, EmitKind kind);

/// InternalError with the verifier's text when the module is malformed.
void VerifyLLVM(const llvm::Module& module);

}  // namespace codegen
}  // namespace tvm
#endif  // TVM_CODEGEN_LLVM_OPTIMIZE_H_
