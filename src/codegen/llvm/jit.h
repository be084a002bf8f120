// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Links object buffers into this process with ORC.
#ifndef TVM_CODEGEN_LLVM_JIT_H_
#define TVM_CODEGEN_LLVM_JIT_H_

#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/llvm/llvm_target.h"

namespace tvm {
namespace codegen {

/// One set of objects, linked together. Functions of libtvm_ffi and libtvm_runtime are bound to
/// the copies that this compiler itself uses; other undefined names (libc, libm, C functions that
/// a kernel calls) are searched in the process.
class JITSession {
 public:
  JITSession(const LLVMTarget& target, const std::vector<std::string_view>& objects, void* context);
  ~JITSession();
  JITSession(const JITSession&) = delete;
  JITSession& operator=(const JITSession&) = delete;

  /// Address of a symbol; null when no object defines it.
  void* Lookup(const std::string& symbol);

 private:
  void DefineRuntimeSymbols();
  void SetPointer(const char* symbol, void* value);

  std::mutex mutex_;
  std::unique_ptr<llvm::orc::ExecutionSession> session_;
  std::unique_ptr<llvm::orc::ObjectLinkingLayer> layer_;
  llvm::orc::JITDylib* library_ = nullptr;
};

}  // namespace codegen
}  // namespace tvm
#endif  // TVM_CODEGEN_LLVM_JIT_H_
