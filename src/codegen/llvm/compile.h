// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// From an IRModule of lowered functions to object buffers, on all cores.
#ifndef TVM_CODEGEN_LLVM_COMPILE_H_
#define TVM_CODEGEN_LLVM_COMPILE_H_

#include <llvm/IR/Module.h>
#include <tvm/codegen/codegen.h>
#include <tvm/ffi/string.h>
#include <tvm/ir/module.h>

#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "codegen/llvm/codegen_llvm.h"
#include "codegen/llvm/llvm_target.h"

namespace tvm {
namespace codegen {

/// Functions that are compiled together: those that call each other, and small strangers.
using FunctionBatch = std::vector<FunctionUnit>;

struct CompilePlan {
  std::vector<FunctionBatch> batches;
  /// Every symbol the library defines.
  std::unordered_set<std::string> symbols;
  /// Names of the packed functions, without prefix.
  std::vector<std::string> function_names;
  /// Packed symbol of the one function of batch i, empty for other batches.
  std::vector<std::string> separate;
  /// The library registers its symbols at start-up under this prefix, when `is_system_lib`.
  bool is_system_lib = false;
  std::string system_lib_prefix;
};

/// Groups the functions of a module; equal bodies become one unit with aliases, except the separate
/// ones of `reuse`. InternalError when two functions claim one symbol.
TVM_DLL CompilePlan PlanCompilation(const IRModule& mod, const CodeReuse& reuse = {});

/// LLVM IR of a batch, optimized for `machine` unless that is null.
std::unique_ptr<llvm::Module> GenerateBatch(const FunctionBatch& batch, const CompilePlan& plan,
                                            const LLVMTarget& target, llvm::LLVMContext* context,
                                            llvm::TargetMachine* machine);
/// One llvm::Module of all batches.
std::unique_ptr<llvm::Module> GenerateWhole(const CompilePlan& plan, const LLVMTarget& target,
                                            llvm::LLVMContext* context, bool optimize,
                                            bool with_glue);

/// Object buffers of the batches, compiled on all cores along with the glue, which goes into *glue.
/// Unless they are kept, the functions of a batch are dropped once LLVM has their code.
std::vector<std::string> CompileBatches(CompilePlan* plan, const LLVMTarget& target,
                                        bool keep_functions,
                                        std::shared_ptr<const std::string>* glue);

/// Object of src/codegen/argcheck for a target; compiled once per process and target.
std::shared_ptr<const std::string> GlueObject(const LLVMTarget& target);
std::unique_ptr<llvm::Module> GlueModule(const LLVMTarget& target, llvm::LLVMContext* context);

/// Runs `run(0) .. run(count - 1)` on up to one thread per core; rethrows the first error. A
/// pending signal of the host, e.g. KeyboardInterrupt, ends it as an error does.
TVM_DLL void ParallelCompile(size_t count, const std::function<void(size_t)>& run);

}  // namespace codegen
}  // namespace tvm
#endif  // TVM_CODEGEN_LLVM_COMPILE_H_
