// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "codegen/llvm/optimize.h"

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Vectorize/LoopVectorize.h>
#include <tvm/ffi/error.h>

namespace tvm {
namespace codegen {
namespace {

/// LLVM's unroller and vectorizer take as much time as all else together, so they run only where
/// the generator left them something to do.
llvm::FunctionPassManager LeanPipeline(LoopWork loops) {
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()),
                                                       /*UseMemorySSA=*/true));
  if (loops.vectorize) passes.addPass(llvm::LoopVectorizePass());
  if (loops.unroll) passes.addPass(llvm::LoopUnrollPass(llvm::LoopUnrollOptions(2)));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::InstCombinePass());
  if (loops.unroll) passes.addPass(llvm::SimplifyCFGPass());
  return passes;
}

}  // namespace

void OptimizeModule(llvm::Module* module, const LLVMTarget& target, llvm::TargetMachine* machine,
                    LoopWork work) {
  if (target.opt_level() == 0) return;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = target.opt_level() > 0;
  llvm::PassBuilder builder(machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager cgscc;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(cgscc);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, cgscc, modules);
  llvm::ModulePassManager passes;
  switch (target.opt_level()) {
    case 1:
      passes = builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O1);
      break;
    case 2:
      passes = builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2);
      break;
    case -1:
      passes.addPass(llvm::createModuleToFunctionPassAdaptor(LeanPipeline(work)));
      passes.addPass(llvm::GlobalDCEPass());
      break;
    default:
      passes = builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3);
      break;
  }
  passes.run(*module, modules);
}

namespace {

/// The passes of a code generator, without those that take long to find nothing: of the search for
/// cheap addresses in loops nothing is left to do (codegen_address.cc). Other processors than x86
/// have shorter offsets and thus keep it.
class LeanPassManager final : public llvm::legacy::PassManager {
 public:
  explicit LeanPassManager(const LLVMTarget& target)
      : is_lean_(target.opt_level() == -1 && target.triple().isX86()) {}

  void add(llvm::Pass* pass) override {
    const llvm::StringRef name = pass->getPassName();
    if (is_lean_ && (name == "Loop Strength Reduction" ||
                     name == "Canonicalize Freeze Instructions in Loops")) {
      delete pass;
    } else {
      llvm::legacy::PassManager::add(pass);
    }
  }

 private:
  bool is_lean_;
};

}  // namespace

std::string EmitModule(llvm::Module* module, const LLVMTarget& target, llvm::TargetMachine* machine,
                       EmitKind kind) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  LeanPassManager passes(target);
  const auto type = kind == EmitKind::kObject ? llvm::CodeGenFileType::ObjectFile
                                              : llvm::CodeGenFileType::AssemblyFile;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, type, /*DisableVerify=*/true)) {
    TVM_FFI_THROW(ValueError) << "LLVM cannot emit "
                              << (kind == EmitKind::kObject ? "an object file" : "assembly")
                              << " for " << machine->getTargetTriple().str();
  }
  passes.run(*module);
  return std::string(bytes.data(), bytes.size());
}

void VerifyLLVM(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (llvm::verifyModule(module, &stream)) {
    TVM_FFI_THROW(InternalError) << "generated LLVM IR is malformed: " << text;
  }
}

}  // namespace codegen
}  // namespace tvm
