// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Names that differ between LLVM 19 and 22.
#ifndef TVM_CODEGEN_LLVM_LLVM_COMPAT_H_
#define TVM_CODEGEN_LLVM_LLVM_COMPAT_H_

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>
#include <llvm/TargetParser/Triple.h>

namespace tvm {
namespace codegen {

inline llvm::Function* DeclareIntrinsic(llvm::Module* module, llvm::Intrinsic::ID id,
                                        llvm::ArrayRef<llvm::Type*> types) {
#if LLVM_VERSION_MAJOR >= 20
  return llvm::Intrinsic::getOrInsertDeclaration(module, id, types);
#else
  return llvm::Intrinsic::getDeclaration(module, id, types);
#endif
}

inline llvm::Intrinsic::ID LookupIntrinsic(llvm::StringRef name) {
#if LLVM_VERSION_MAJOR >= 20
  return llvm::Intrinsic::lookupIntrinsicID(name);
#else
  return llvm::Function::lookupIntrinsicID(name);
#endif
}

inline void SetTriple(llvm::Module* module, const llvm::Triple& triple) {
#if LLVM_VERSION_MAJOR >= 21
  module->setTargetTriple(triple);
#else
  module->setTargetTriple(triple.str());
#endif
}

inline llvm::Triple TripleOf(const llvm::Module& module) {
  return llvm::Triple(module.getTargetTriple());
}

}  // namespace codegen
}  // namespace tvm
#endif  // TVM_CODEGEN_LLVM_LLVM_COMPAT_H_
