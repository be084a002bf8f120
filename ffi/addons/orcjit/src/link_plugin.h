// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// What linking an object has to do besides relocating it: find constructors and destructors, and
/// give thread-local variables an implementation.
#ifndef TVM_FFI_ORCJIT_LINK_PLUGIN_H_
#define TVM_FFI_ORCJIT_LINK_PLUGIN_H_

#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tvm {
namespace ffi {
namespace orcjit {

/// What the plugin found in the objects of one library.
class LinkRecord {
 public:
  using Initializer = void (*)(int, char**, char**);

  struct Entry {
    int priority;   ///< lower runs first; destructors run in the opposite order
    size_t object;  ///< position among the objects of the library
    size_t place;   ///< position inside the object
    Initializer function;
  };

  using Range = std::pair<uintptr_t, uintptr_t>;

  /// Objects initialize in the order in which they are named.
  void NameObject(std::string name);
  /// Constructors found since the last call, in the order in which they run.
  std::vector<Entry> TakeConstructors();
  /// Destructors found since the last call, in the order in which they run.
  std::vector<Entry> TakeDestructors();
  /// Memory of the objects linked since the last call.
  std::vector<Range> TakeRanges();

 private:
  friend class LinkPlugin;

  std::mutex mutex_;
  std::map<std::string, size_t> objects_;
  std::vector<Entry> constructors_;
  std::vector<Entry> destructors_;
  std::vector<Range> ranges_;
};

class LinkPlugin final : public llvm::orc::ObjectLinkingLayer::Plugin {
 public:
  /// With `ranges_only` an ORC runtime takes care of everything but memory ranges.
  explicit LinkPlugin(bool ranges_only) : ranges_only_(ranges_only) {}

  void Watch(llvm::orc::JITDylib* library, std::shared_ptr<LinkRecord> record);
  void Forget(llvm::orc::JITDylib* library);

  void modifyPassConfig(llvm::orc::MaterializationResponsibility& responsibility,
                        llvm::jitlink::LinkGraph& graph,
                        llvm::jitlink::PassConfiguration& passes) override;
  llvm::Error notifyFailed(llvm::orc::MaterializationResponsibility&) override {
    return llvm::Error::success();
  }
  llvm::Error notifyRemovingResources(llvm::orc::JITDylib&, llvm::orc::ResourceKey) override {
    return llvm::Error::success();
  }
  void notifyTransferringResources(llvm::orc::JITDylib&, llvm::orc::ResourceKey,
                                   llvm::orc::ResourceKey) override {}

 private:
  const bool ranges_only_;
  std::mutex mutex_;
  std::map<llvm::orc::JITDylib*, std::shared_ptr<LinkRecord>> records_;
};

}  // namespace orcjit
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_ORCJIT_LINK_PLUGIN_H_
