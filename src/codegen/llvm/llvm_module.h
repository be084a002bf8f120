// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Runtime module of kind "llvm": object buffers that are both linked into this process on first
/// use and exported.
#ifndef TVM_CODEGEN_LLVM_LLVM_MODULE_H_
#define TVM_CODEGEN_LLVM_LLVM_MODULE_H_

#include <tvm/ffi/extra/module.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "codegen/llvm/compile.h"
#include "codegen/llvm/jit.h"
#include "codegen/llvm/llvm_target.h"

namespace tvm {
namespace codegen {

class LLVMModuleObj final : public ffi::ModuleObj {
 public:
  /// Compiles right away; later calls never run LLVM's optimizer again.
  LLVMModuleObj(LLVMTarget target, CompilePlan plan, const CodeReuse& reuse = {});
  /// Of LLVM IR text or bitcode.
  LLVMModuleObj(LLVMTarget target, std::string bitcode);

  const char* kind() const final { return "llvm"; }
  int GetPropertyMask() const final {
    return ffi::Module::kRunnable | ffi::Module::kCompilationExportable;
  }
  ffi::Optional<ffi::Function> GetFunction(const ffi::String& name) final;
  bool ImplementsFunction(const ffi::String& name) final;
  void WriteToFile(const ffi::String& file_name, const ffi::String& format) const final;
  ffi::Array<ffi::String> GetWriteFormats() const final {
    return {"o", "obj", "s", "asm", "ll", "bc"};
  }
  ffi::String InspectSource(const ffi::String& format) const final;

  /// One relocatable object, glue included.
  std::string MergedObject() const;
  const std::vector<std::string>& objects() const { return objects_; }
  const LLVMTarget& target() const { return target_; }

 private:
  void Reuse(const CodeReuse& reuse);
  JITSession* Session();
  std::string Text(const std::string& format, bool with_glue) const;
  std::unique_ptr<llvm::Module> Regenerate(llvm::LLVMContext* context, bool with_glue) const;

  LLVMTarget target_;
  CompilePlan plan_;
  std::string bitcode_;              // instead of a plan
  std::function<IRModule()> whole_;  // gives the functions that the plan lacks
  std::vector<std::string> objects_;
  std::shared_ptr<const std::string> glue_;
  std::mutex mutex_;
  std::unique_ptr<JITSession> session_;
};

}  // namespace codegen
}  // namespace tvm
#endif  // TVM_CODEGEN_LLVM_LLVM_MODULE_H_
