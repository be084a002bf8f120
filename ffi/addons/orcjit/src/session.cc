// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "session.h"

#include <llvm/Demangle/Demangle.h>
#include <llvm/ExecutionEngine/Orc/AbsoluteSymbols.h>
#include <llvm/ExecutionEngine/Orc/EHFrameRegistrationPlugin.h>
#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>
#include <llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/TaskDispatch.h>
#include <llvm/TargetParser/Host.h>
#include <tvm/ffi/error.h>

#include <algorithm>
#include <utility>

#include "process_symbols.h"
#include "thread_local.h"

namespace tvm {
namespace ffi {
namespace orcjit {
namespace {

namespace orc = llvm::orc;

thread_local LinkMessages* current_messages = nullptr;

/// Objects come compiled; LLJIT wants a compiler nevertheless.
class NoCompiler final : public orc::IRCompileLayer::IRCompiler {
 public:
  NoCompiler() : IRCompiler(orc::IRSymbolMapper::ManglingOptions()) {}
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> operator()(llvm::Module&) override {
    return llvm::createStringError(std::errc::not_supported, "only object files can be loaded");
  }
};

constexpr int64_t kMinSlabSize = int64_t{4} << 20;
// Only mangling reads it: ELF symbols carry no prefix.
constexpr const char* kDataLayout = "e-m:e-i64:64-i128:128-n8:16:32:64-S128";

orc::ExecutorSymbolDef Callable(void* function) {
  return {orc::ExecutorAddr::fromPtr(function),
          llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
}

size_t SlabSize(int64_t wanted) {
  if (wanted == 0) return MemoryPool::kDefaultSlabSize;
  if (wanted < 0) return 0;
  if (wanted < kMinSlabSize) {
    TVM_FFI_THROW(ValueError) << "slab_size must be 0 (default), negative (no pool) or at least "
                              << kMinSlabSize << " bytes, got " << wanted;
  }
  return static_cast<size_t>(wanted);
}

}  // namespace

LinkMessages::LinkMessages() : outer_(current_messages) { current_messages = this; }
LinkMessages::~LinkMessages() { current_messages = outer_; }
LinkMessages* LinkMessages::Current() { return current_messages; }

void LinkMessages::Add(llvm::Error error) {
  llvm::handleAllErrors(
      std::move(error),
      [&](const orc::SymbolsNotFound& missing) {
        for (const auto& symbol : missing.getSymbols()) {
          const std::string name = (*symbol).str();
          const std::string readable = llvm::demangle(name);
          undefined_.push_back(readable == name ? name : name + " (" + readable + ")");
        }
      },
      [](const orc::FailedToMaterialize&) {},
      [&](const llvm::ErrorInfoBase& other) { texts_.push_back(other.message()); });
}

std::string LinkMessages::Text() const {
  std::vector<std::string> names = undefined_;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string text;
  for (const std::string& name : names)
    text += (text.empty() ? "undefined symbols: " : ", ") + name;
  for (const std::string& other : texts_) text += (text.empty() ? "" : "; ") + other;
  return text.empty() ? "an object that it needs failed to link" : text;
}

void RequireOwnSupport(const std::string& triple) {
  const llvm::Triple host(triple);
  if (host.getArch() == llvm::Triple::x86_64 && host.isOSLinux()) return;
  TVM_FFI_THROW(RuntimeError) << "JIT sessions on " << triple << " (" << host.getArchName().str()
                              << ", " << host.getOSName().str()
                              << ") need an ORC runtime, which is only built in for x86-64 Linux:"
                              << " give the path of compiler-rt's liborc_rt archive as orc_rt";
}

std::shared_ptr<Session> Session::Create(std::unique_ptr<llvm::MemoryBuffer> runtime,
                                         int64_t slab_size) {
  const size_t slab = SlabSize(slab_size);
  if (runtime == nullptr) RequireOwnSupport(llvm::sys::getProcessTriple());
  std::shared_ptr<Session> session(new Session(runtime != nullptr, slab));
  LinkMessages messages;
  if (llvm::Error error = session->Start(std::move(runtime))) {
    messages.Add(std::move(error));
    TVM_FFI_THROW(RuntimeError) << "cannot start a JIT session: " << messages.Text();
  }
  return session;
}

llvm::Error Session::Start(std::unique_ptr<llvm::MemoryBuffer> runtime) {
  auto control = orc::SelfExecutorProcessControl::Create(
      nullptr, std::make_unique<orc::InPlaceTaskDispatcher>());
  if (!control) return control.takeError();
  orc::LLJITBuilder builder;
  builder.setExecutorProcessControl(std::move(*control))
      .setJITTargetMachineBuilder(
          orc::JITTargetMachineBuilder(llvm::Triple(llvm::sys::getProcessTriple())))
      .setDataLayout(llvm::DataLayout(kDataLayout))
      .setCompileFunctionCreator([](orc::JITTargetMachineBuilder) {
        return llvm::Expected<std::unique_ptr<orc::IRCompileLayer::IRCompiler>>(
            std::make_unique<NoCompiler>());
      });
  builder.setObjectLinkingLayerCreator([this](orc::ExecutionSession& execution)
                                           -> llvm::Expected<std::unique_ptr<orc::ObjectLayer>> {
    execution.setErrorReporter([](llvm::Error error) {
      if (LinkMessages* messages = LinkMessages::Current()) {
        messages->Add(std::move(error));
      } else {
        llvm::logAllUnhandledErrors(std::move(error), llvm::errs(), "[tvm_ffi_orcjit] ");
      }
    });
    auto layer = std::make_unique<orc::ObjectLinkingLayer>(execution, pool_);
    layer->addPlugin(plugin_);
    if (!has_runtime_) {
      auto frames = orc::EHFrameRegistrationPlugin::Create(execution);
      if (!frames) return frames.takeError();
      layer->addPlugin(std::move(*frames));
    }
    layer_ = layer.get();
    return layer;
  });
  builder.setProcessSymbolsJITDylibSetup([](orc::LLJIT& jit) -> llvm::Expected<orc::JITDylibSP> {
    orc::JITDylib& process = jit.getExecutionSession().createBareJITDylib("<process>");
    process.addGenerator(NewProcessGenerator());
    return &process;
  });
  if (has_runtime_) {
    builder.setPlatformSetUp(orc::ExecutorNativePlatform(std::move(runtime)));
  } else {
    builder.setPlatformSetUp(orc::setUpInactivePlatform);
  }
  auto jit = builder.create();
  if (!jit) return jit.takeError();
  jit_ = std::move(*jit);
  return has_runtime_ ? llvm::Error::success() : DefineSupport();
}

llvm::Error Session::DefineSupport() {
  support_ = &execution().createBareJITDylib("<loader>");
  return support_->define(
      orc::absoluteSymbols({{execution().intern("__tls_get_addr"),
                             Callable(reinterpret_cast<void*>(&ThreadLocalAddress))},
                            {execution().intern("__cxa_thread_atexit"),
                             Callable(reinterpret_cast<void*>(&ThreadAtExit))}}));
}

llvm::Expected<orc::SymbolMap> Session::Link(orc::JITDylib* dylib, orc::SymbolLookupSet symbols) {
  std::lock_guard<std::mutex> guard(link_mutex_);
  return execution().lookup({{dylib, orc::JITDylibLookupFlags::MatchAllSymbols}},
                            std::move(symbols));
}

orc::JITDylib& Session::ToolchainDylib(const std::string& compiler) {
  std::lock_guard<std::mutex> guard(toolchains_mutex_);
  orc::JITDylib*& dylib = toolchains_[compiler];
  if (dylib == nullptr) {
    dylib = &execution().createBareJITDylib("<libraries of " + compiler + ">");
    dylib->addGenerator(NewToolchainGenerator(*layer_, compiler));
    // Members of its archive use each other and the process.
    dylib->addToLinkOrder(jit_->defaultLinkOrder());
  }
  return *dylib;
}

llvm::Expected<orc::JITDylib*> Session::NewDylib(const std::string& name,
                                                 const std::string& compiler) {
  const std::string unique = name + "#" + std::to_string(next_dylib_++);
  auto dylib = execution().createJITDylib(unique);
  if (!dylib) return dylib.takeError();
  if (support_ != nullptr) dylib->addToLinkOrder(*support_);
  dylib->addToLinkOrder(jit_->defaultLinkOrder());
  dylib->addToLinkOrder(ToolchainDylib(compiler));
  return &*dylib;
}

}  // namespace orcjit
}  // namespace ffi
}  // namespace tvm
