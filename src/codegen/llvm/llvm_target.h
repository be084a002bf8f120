// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// What an `llvm` target means to LLVM: triple, processor, features, floating-point licence.
#ifndef TVM_CODEGEN_LLVM_LLVM_TARGET_H_
#define TVM_CODEGEN_LLVM_LLVM_TARGET_H_

#include <llvm/ADT/StringSet.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/FMF.h>
#include <llvm/Target/TargetMachine.h>
#include <tvm/target/target.h>

#include <memory>
#include <string>

namespace tvm {
namespace codegen {

/// Text of an LLVM error, for our messages.
std::string LLVMErrorText(llvm::Error error);

/// Registers LLVM's target for this machine, once per process.
void InitializeLLVM();
/// Registers all of LLVM's targets, which takes memory and time that few need.
void InitializeAllLLVM();

/// Immutable; shared by the threads that compile one module.
class LLVMTarget {
 public:
  /// ValueError for an unknown triple; an unknown mcpu is logged and replaced by generic.
  explicit LLVMTarget(const Target& target);
  /// Of a triple alone, portable code.
  static LLVMTarget ForTriple(const std::string& triple);

  /// A target machine costs about a millisecond and must not be shared between threads.
  std::unique_ptr<llvm::TargetMachine> CreateMachine() const;

  const llvm::Triple& triple() const { return triple_; }
  const std::string& cpu() const { return cpu_; }
  const std::string& features() const { return features_; }
  /// Name of LLVM's backend, e.g. `x86-64`.
  const std::string& backend() const { return backend_; }
  const llvm::DataLayout& data_layout() const { return *data_layout_; }
  /// Licence for floating-point instructions: contraction unless the target says otherwise.
  llvm::FastMathFlags fast_math() const { return fast_math_; }
  /// 0-3 as the target says, -1 for the default (our lean pipeline).
  int opt_level() const { return opt_level_; }
  /// Width that vector code should use, in bits.
  int vector_bits() const { return vector_bits_; }
  bool HasFeature(const std::string& feature) const;
  /// JSON of the target that this came from; empty for ForTriple.
  const std::string& target_text() const { return target_text_; }
  /// Whether code for it runs in this process.
  bool RunsHere() const;

 private:
  LLVMTarget() = default;
  void Resolve();

  llvm::Triple triple_;
  std::string cpu_;
  std::string features_;
  std::string abi_;
  std::string backend_;
  bool soft_float_ = false;
  std::shared_ptr<llvm::DataLayout> data_layout_;
  std::shared_ptr<const llvm::StringSet<>> enabled_;  // features, those that others imply included
  llvm::FastMathFlags fast_math_;
  int opt_level_ = -1;
  int vector_bits_ = 128;
  std::string target_text_;
};

}  // namespace codegen
}  // namespace tvm
#endif  // TVM_CODEGEN_LLVM_LLVM_TARGET_H_
