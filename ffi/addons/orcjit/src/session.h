// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// A JIT linker and the libraries it made.
#ifndef TVM_FFI_ORCJIT_SESSION_H_
#define TVM_FFI_ORCJIT_SESSION_H_

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "link_plugin.h"
#include "memory_pool.h"

namespace tvm {
namespace ffi {
namespace orcjit {

/// Messages of the linker on this thread while it lives. LLVM reports why an object failed beside
/// the error that the caller gets, which only says that it failed.
class LinkMessages {
 public:
  LinkMessages();
  ~LinkMessages();
  LinkMessages(const LinkMessages&) = delete;
  LinkMessages& operator=(const LinkMessages&) = delete;

  /// Adds an error's message unless it only repeats a consequence.
  void Add(llvm::Error error);
  /// All of it: undefined symbols by name, then the rest.
  std::string Text() const;

  static LinkMessages* Current();

 private:
  LinkMessages* const outer_;
  std::vector<std::string> undefined_;
  std::vector<std::string> texts_;
};

/// RuntimeError unless this library does itself, on such a machine, what an ORC runtime does.
void RequireOwnSupport(const std::string& triple);

class Session : public std::enable_shared_from_this<Session> {
 public:
  /// Without `runtime` (an ORC runtime archive) constructors, destructors and thread-local
  /// variables are implemented here. `slab_size`: bytes, 0 for the default, negative for a mapping
  /// per object.
  static std::shared_ptr<Session> Create(std::unique_ptr<llvm::MemoryBuffer> runtime,
                                         int64_t slab_size);

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  llvm::orc::LLJIT& jit() { return *jit_; }
  llvm::orc::ExecutionSession& execution() { return jit_->getExecutionSession(); }
  llvm::orc::ObjectLinkingLayer& layer() { return *layer_; }
  LinkPlugin& plugin() { return *plugin_; }
  MemoryPool& pool() { return pool_; }
  bool has_runtime() const { return has_runtime_; }

  /// Looks symbols of a JITDylib up, hidden ones too, and so links the objects that define them.
  /// One thread at a time: LLVM hands work, and its messages, to whichever thread comes along.
  llvm::Expected<llvm::orc::SymbolMap> Link(llvm::orc::JITDylib* dylib,
                                            llvm::orc::SymbolLookupSet symbols);

  /// Fresh JITDylib that sees the compiler's libraries after those of the process.
  llvm::Expected<llvm::orc::JITDylib*> NewDylib(const std::string& name,
                                                const std::string& compiler);

 private:
  Session(bool has_runtime, size_t slab_size)
      : has_runtime_(has_runtime),
        pool_(slab_size),
        plugin_(std::make_shared<LinkPlugin>(has_runtime)) {}

  llvm::Error Start(std::unique_ptr<llvm::MemoryBuffer> runtime);
  llvm::Error DefineSupport();
  llvm::orc::JITDylib& ToolchainDylib(const std::string& compiler);

  const bool has_runtime_;
  MemoryPool pool_;  // outlives the linker
  std::shared_ptr<LinkPlugin> plugin_;
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  llvm::orc::ObjectLinkingLayer* layer_ = nullptr;
  llvm::orc::JITDylib* support_ = nullptr;  ///< what stands in for the dynamic loader
  std::mutex link_mutex_;
  std::mutex toolchains_mutex_;
  std::map<std::string, llvm::orc::JITDylib*> toolchains_;
  std::atomic<uint64_t> next_dylib_{0};
};

}  // namespace orcjit
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_ORCJIT_SESSION_H_
