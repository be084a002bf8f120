// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// A set of objects linked in memory, in place of a shared library.
#ifndef TVM_FFI_ORCJIT_LIBRARY_H_
#define TVM_FFI_ORCJIT_LIBRARY_H_

#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/Support/MemoryBuffer.h>

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "link_plugin.h"
#include "session.h"

namespace tvm {
namespace ffi {
namespace orcjit {

class Library : public std::enable_shared_from_this<Library> {
 public:
  /// Raises RuntimeError. `compiler` names the C++ compiler whose library the objects may need.
  static std::shared_ptr<Library> Create(std::shared_ptr<Session> session, std::string name,
                                         const std::string& compiler);
  /// Runs destructors and frees the memory.
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  /// Adds an object, to be linked at the next Link. RuntimeError for bytes that are no object of
  /// this machine and for symbols that the library has already.
  void Add(std::unique_ptr<llvm::MemoryBuffer> object);

  /// Links what was added since the last call and runs its constructors. If that fails the objects
  /// are dropped; the RuntimeError names the symbols that nothing defines.
  void Link();

  /// Libraries whose symbols this one sees, after its own. They live as long as this one.
  void SetLinkOrder(const std::vector<std::shared_ptr<Library>>& libraries);

  /// Exported symbol of a linked object, or NULL.
  void* FindSymbol(const std::string& symbol) const;

  const std::string& name() const { return name_; }
  const std::shared_ptr<Session>& session() const { return session_; }

  /// Keeps the library for the rest of the process: something outside refers to its code.
  void Pin();
  /// Library whose memory holds the address, or NULL.
  static std::shared_ptr<Library> Owner(const void* address);
  /// Runs the destructors of all libraries that are left when the process ends.
  static void RunDestructorsAtExit();

 private:
  Library(std::shared_ptr<Session> session, std::string name)
      : session_(std::move(session)), name_(std::move(name)) {}

  llvm::Error Open(const std::string& compiler);
  llvm::Error DefineHandle();
  llvm::Error Materialize();
  void RunConstructors();
  void RunDestructors();
  void Discard();
  bool Uses(const Library* other) const;

  const std::shared_ptr<Session> session_;
  const std::string name_;
  std::shared_ptr<LinkRecord> record_ = std::make_shared<LinkRecord>();
  llvm::orc::JITDylib* dylib_ = nullptr;
  llvm::orc::JITDylibSearchOrder base_order_;
  void* dso_handle_ = nullptr;

  std::recursive_mutex link_mutex_;     // a constructor may come back here
  llvm::orc::ResourceTrackerSP batch_;  ///< objects added since the last Link
  llvm::orc::SymbolFlagsMap pending_;
  size_t num_objects_ = 0;
  std::vector<std::shared_ptr<Library>> uses_;
  std::vector<LinkRecord::Range> ranges_;
  std::vector<LinkRecord::Entry> destructors_;  ///< in the order in which they run

  mutable std::mutex symbols_mutex_;
  std::unordered_map<std::string, void*> symbols_;
};

}  // namespace orcjit
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_ORCJIT_LIBRARY_H_
