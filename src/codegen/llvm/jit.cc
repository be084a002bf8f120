// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "codegen/llvm/jit.h"

#include <dlfcn.h>
#include <llvm/Config/llvm-config.h>
#if LLVM_VERSION_MAJOR >= 21
#include <llvm/ExecutionEngine/Orc/AbsoluteSymbols.h>
#include <llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h>
#else
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#endif
#include <llvm/Support/MemoryBuffer.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/runtime/c_backend_api.h>

namespace tvm {
namespace codegen {
namespace {

/// Names that no object defines and the runtime does not provide: C library, math library, C
/// functions of the application. Ours are excluded, so that a missing one is an error and never
/// another copy that happens to be loaded.
class ProcessSymbols final : public llvm::orc::DefinitionGenerator {
 public:
  llvm::Error tryToGenerate(llvm::orc::LookupState&, llvm::orc::LookupKind,
                            llvm::orc::JITDylib& library, llvm::orc::JITDylibLookupFlags,
                            const llvm::orc::SymbolLookupSet& wanted) override {
    llvm::orc::SymbolMap found;
    for (const auto& [name, flags] : wanted) {
      const std::string symbol = (*name).str();
      if (symbol.rfind("__tvm", 0) == 0 || symbol.rfind("__TVM", 0) == 0) continue;
      if (void* address = dlsym(RTLD_DEFAULT, symbol.c_str())) {
        found[name] = {llvm::orc::ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
      }
    }
    return found.empty() ? llvm::Error::success()
                         : library.define(llvm::orc::absoluteSymbols(std::move(found)));
  }
};

template <typename T>
T Required(llvm::Expected<T> value, const char* what) {
  if (!value) TVM_FFI_THROW(RuntimeError) << what << ": " << LLVMErrorText(value.takeError());
  return std::move(*value);
}

void Required(llvm::Error error, const char* what) {
  if (error) TVM_FFI_THROW(RuntimeError) << what << ": " << LLVMErrorText(std::move(error));
}

}  // namespace

JITSession::JITSession(const LLVMTarget& target, const std::vector<std::string_view>& objects,
                       void* context) {
  TVM_FFI_CHECK(target.RunsHere(), ValueError)
      << "code for `" << target.triple().str() << "` cannot run in this process";
  auto control = Required(llvm::orc::SelfExecutorProcessControl::Create(), "cannot start the JIT");
  session_ = std::make_unique<llvm::orc::ExecutionSession>(std::move(control));
  session_->setErrorReporter([](llvm::Error error) { llvm::consumeError(std::move(error)); });
  layer_ = std::make_unique<llvm::orc::ObjectLinkingLayer>(*session_);
  library_ = &session_->createBareJITDylib("library");
  DefineRuntimeSymbols();
  library_->addGenerator(std::make_unique<ProcessSymbols>());
  for (std::string_view object : objects) {
    // The layer reads the object in place; the module that owns the session owns the bytes.
    auto buffer = llvm::MemoryBuffer::getMemBuffer(llvm::StringRef(object.data(), object.size()),
                                                   "object", /*RequiresNullTerminator=*/false);
    Required(layer_->add(*library_, std::move(buffer)), "cannot add an object to the JIT");
  }
  SetPointer("__tvm_ffi__library_ctx", context);
  SetPointer("__TVMBackendParallelLaunch", reinterpret_cast<void*>(&TVMBackendParallelLaunch));
  SetPointer("__TVMBackendParallelBarrier", reinterpret_cast<void*>(&TVMBackendParallelBarrier));
  SetPointer("__TVMBackendAllocWorkspace", reinterpret_cast<void*>(&TVMBackendAllocWorkspace));
  SetPointer("__TVMBackendFreeWorkspace", reinterpret_cast<void*>(&TVMBackendFreeWorkspace));
}

JITSession::~JITSession() {
  if (session_ != nullptr) llvm::consumeError(session_->endSession());
}

void JITSession::DefineRuntimeSymbols() {
  llvm::orc::SymbolMap symbols;
  auto define = [&](const char* name, auto* function) {
    symbols[session_->intern(name)] = {
        llvm::orc::ExecutorAddr::fromPtr(function),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  };
#define TVM_DEFINE(Name) define(#Name, &Name)
  TVM_DEFINE(TVMFFIFunctionCall);
  TVM_DEFINE(TVMFFIErrorSetRaisedFromCStr);
  TVM_DEFINE(TVMFFIErrorSetRaisedFromCStrParts);
  TVM_DEFINE(TVMFFIEnvModLookupFromImports);
  TVM_DEFINE(TVMFFIHandleInitOnce);
  TVM_DEFINE(TVMFFIObjectDecRef);
  TVM_DEFINE(TVMFFIObjectIncRef);
  TVM_DEFINE(TVMFFIAnyViewToOwnedAny);
  TVM_DEFINE(TVMBackendParallelLaunch);
  TVM_DEFINE(TVMBackendParallelBarrier);
  TVM_DEFINE(TVMBackendAllocWorkspace);
  TVM_DEFINE(TVMBackendFreeWorkspace);
#undef TVM_DEFINE
  Required(library_->define(llvm::orc::absoluteSymbols(std::move(symbols))),
           "cannot define runtime symbols");
}

void JITSession::SetPointer(const char* symbol, void* value) {
  void* slot = Lookup(symbol);
  if (slot != nullptr) *static_cast<void**>(slot) = value;
}

void* JITSession::Lookup(const std::string& symbol) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto name = session_->intern(symbol);
  llvm::orc::SymbolLookupSet wanted(name, llvm::orc::SymbolLookupFlags::WeaklyReferencedSymbol);
  auto found = session_->lookup(
      llvm::orc::makeJITDylibSearchOrder(library_, llvm::orc::JITDylibLookupFlags::MatchAllSymbols),
      std::move(wanted));
  if (!found) {
    TVM_FFI_THROW(RuntimeError) << "cannot link compiled code: "
                                << LLVMErrorText(found.takeError());
  }
  auto it = found->find(name);
  return it == found->end() ? nullptr : it->second.getAddress().toPtr<void*>();
}

}  // namespace codegen
}  // namespace tvm
