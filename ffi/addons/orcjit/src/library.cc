// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "library.h"

#include <llvm/ADT/BitmaskEnum.h>
#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/JITLink/x86_64.h>
#include <llvm/ExecutionEngine/Orc/ObjectFileInterface.h>
#include <tvm/ffi/error.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <utility>

#include "object_check.h"
#include "thread_local.h"
#include "thread_local_model.h"

extern "C" void __cxa_finalize(void* dso_handle);

namespace tvm {
namespace ffi {
namespace orcjit {
namespace {

LLVM_ENABLE_BITMASK_ENUMS_IN_NAMESPACE();

namespace orc = llvm::orc;
namespace jitlink = llvm::jitlink;

/// Libraries by the memory of their objects, and all of them by age.
struct LibraryTable {
  std::mutex mutex;
  std::map<uintptr_t, std::pair<uintptr_t, std::weak_ptr<Library>>>
      ranges;  ///< begin -> end, owner
  std::vector<std::weak_ptr<Library>> all;
  std::vector<std::shared_ptr<Library>> pinned;

  static LibraryTable* Global() {
    static auto* table = new LibraryTable();  // outlives static destructors
    return table;
  }
};

/// `__dso_handle`, and `atexit`, which the C library gives to each shared library by itself:
///   xor esi, esi; lea rdx, [rip + __dso_handle]; jmp __cxa_atexit
constexpr char kAtExit[] = {0x31, char(0xf6), 0x48,       char(0x8d), 0x15, 0, 0,
                            0,    0,          char(0xe9), 0,          0,    0, 0};
constexpr uint32_t kHandleFixup = 5, kCallFixup = 10;

std::unique_ptr<jitlink::LinkGraph> HandleGraph(orc::ExecutionSession& execution) {
  auto graph = std::make_unique<jitlink::LinkGraph>(
      "<handle>", execution.getSymbolStringPool(), execution.getTargetTriple(),
      llvm::SubtargetFeatures(), jitlink::x86_64::getEdgeKindName);
  auto& data = graph->createSection(".data", orc::MemProt::Read | orc::MemProt::Write);
  auto& handle_block =
      graph->createMutableContentBlock(data, sizeof(void*), orc::ExecutorAddr(), 8, 0);
  auto& handle = graph->addDefinedSymbol(handle_block, 0, "__dso_handle", sizeof(void*),
                                         jitlink::Linkage::Strong, jitlink::Scope::Hidden,
                                         /*IsCallable=*/false, /*IsLive=*/true);
  auto& text = graph->createSection(".text", orc::MemProt::Read | orc::MemProt::Exec);
  auto& code = graph->createContentBlock(text, llvm::ArrayRef<char>(kAtExit, sizeof(kAtExit)),
                                         orc::ExecutorAddr(), 16, 0);
  auto& register_function = graph->addExternalSymbol("__cxa_atexit", 0, false);
  code.addEdge(jitlink::x86_64::PCRel32, kHandleFixup, handle, 0);
  code.addEdge(jitlink::x86_64::BranchPCRel32, kCallFixup, register_function, 0);
  graph->addDefinedSymbol(code, 0, "atexit", sizeof(kAtExit), jitlink::Linkage::Weak,
                          jitlink::Scope::Hidden, /*IsCallable=*/true, /*IsLive=*/true);
  return graph;
}

}  // namespace

std::shared_ptr<Library> Library::Create(std::shared_ptr<Session> session, std::string name,
                                         const std::string& compiler) {
  std::shared_ptr<Library> library(new Library(std::move(session), std::move(name)));
  LinkMessages messages;
  if (llvm::Error error = library->Open(compiler)) {
    messages.Add(std::move(error));
    TVM_FFI_THROW(RuntimeError) << "cannot create JIT library `" << library->name_
                                << "`: " << messages.Text();
  }
  LibraryTable* table = LibraryTable::Global();
  std::lock_guard<std::mutex> guard(table->mutex);
  auto& all = table->all;
  all.erase(std::remove_if(all.begin(), all.end(), [](auto& weak) { return weak.expired(); }),
            all.end());
  all.push_back(library);
  return library;
}

llvm::Error Library::Open(const std::string& compiler) {
  auto dylib = session_->NewDylib(name_, compiler);
  if (!dylib) return dylib.takeError();
  dylib_ = *dylib;
  dylib_->withLinkOrderDo([&](const orc::JITDylibSearchOrder& order) { base_order_ = order; });
  session_->plugin().Watch(dylib_, record_);
  return session_->has_runtime() ? llvm::Error::success() : DefineHandle();
}

llvm::Error Library::DefineHandle() {
  orc::ExecutionSession& execution = session_->execution();
  if (llvm::Error error = session_->layer().add(*dylib_, HandleGraph(execution))) return error;
  auto found = session_->Link(dylib_, orc::SymbolLookupSet(execution.intern("__dso_handle")));
  if (!found) return found.takeError();
  dso_handle_ = found->begin()->second.getAddress().toPtr<void*>();
  AddThreadLocalOwner(dso_handle_);
  return llvm::Error::success();
}

Library::~Library() {
  RunDestructors();
  Discard();
  {
    LibraryTable* table = LibraryTable::Global();
    std::lock_guard<std::mutex> guard(table->mutex);
    for (const LinkRecord::Range& range : ranges_) table->ranges.erase(range.first);
  }
  if (dylib_ == nullptr) return;
  session_->plugin().Forget(dylib_);
  batch_ = nullptr;
  llvm::consumeError(session_->execution().removeJITDylib(*dylib_));
}

/// Forgets what objects that failed have left in tables.
void Library::Discard() {
  record_->TakeConstructors();
  record_->TakeDestructors();
  for (const LinkRecord::Range& range : record_->TakeRanges()) {
    DropThreadLocalImages(range.first, range.second);
  }
}

void Library::Add(std::unique_ptr<llvm::MemoryBuffer> object) {
  std::lock_guard<std::recursive_mutex> guard(link_mutex_);
  const std::string given = object->getBufferIdentifier().str();
  const std::string problem =
      CheckObject(object->getBuffer(), session_->execution().getTargetTriple());
  if (!problem.empty()) {
    TVM_FFI_THROW(RuntimeError) << "cannot load object `" << given << "`: " << problem;
  }
  // The same file may come twice.
  const std::string unique = given + "#" + std::to_string(num_objects_++);
  auto copy = llvm::WritableMemoryBuffer::getNewUninitMemBuffer(object->getBufferSize(), unique);
  std::copy(object->getBufferStart(), object->getBufferEnd(), copy->getBufferStart());
  if (!session_->has_runtime()) {
    const std::string obstacle = RewriteLocalDynamic(copy->getBuffer());
    if (!obstacle.empty()) {
      TVM_FFI_THROW(RuntimeError) << "cannot load object `" << given << "`: " << obstacle;
    }
  }
  object = std::move(copy);
  record_->NameObject(unique);
  LinkMessages messages;
  auto interface = orc::getObjectFileInterface(session_->execution(), object->getMemBufferRef());
  llvm::Error error = interface ? llvm::Error::success() : interface.takeError();
  if (!error) {
    if (batch_ == nullptr) batch_ = dylib_->createResourceTracker();
    for (const auto& [name, flags] : interface->SymbolFlags) {
      auto [it, inserted] = pending_.insert({name, flags});
      if (!inserted && flags.isStrong()) it->second = flags;
    }
    error = session_->layer().add(batch_, std::move(object), std::move(*interface));
  }
  if (error) {
    messages.Add(std::move(error));
    TVM_FFI_THROW(RuntimeError) << "cannot add object `" << given << "` to JIT library `" << name_
                                << "`: " << messages.Text();
  }
}

llvm::Error Library::Materialize() {
  orc::SymbolLookupSet wanted;
  for (const auto& [name, flags] : pending_) {
    wanted.add(name, flags.hasMaterializationSideEffectsOnly()
                         ? orc::SymbolLookupFlags::WeaklyReferencedSymbol
                         : orc::SymbolLookupFlags::RequiredSymbol);
  }
  auto found = session_->Link(dylib_, std::move(wanted));
  if (!found) return found.takeError();
  std::lock_guard<std::mutex> guard(symbols_mutex_);
  for (const auto& [name, symbol] : *found) {
    if (symbol.getFlags().isExported() && symbol.getAddress()) {
      symbols_[(*name).str()] = symbol.getAddress().toPtr<void*>();
    }
  }
  return llvm::Error::success();
}

void Library::Link() {
  std::lock_guard<std::recursive_mutex> guard(link_mutex_);
  for (const std::shared_ptr<Library>& used : uses_) used->Link();  // runs its constructors first
  if (batch_ == nullptr) return;
  LinkMessages messages;
  llvm::Error error = Materialize();
  orc::ResourceTrackerSP batch = std::exchange(batch_, nullptr);
  pending_.clear();
  if (!error && session_->has_runtime()) error = session_->jit().initialize(*dylib_);
  if (error) {
    messages.Add(std::move(error));
    if (llvm::Error other = batch->remove()) messages.Add(std::move(other));
    Discard();
    TVM_FFI_THROW(RuntimeError) << "cannot link JIT library `" << name_ << "`: " << messages.Text();
  }
  const std::vector<LinkRecord::Range> ranges = record_->TakeRanges();
  {
    LibraryTable* table = LibraryTable::Global();
    std::lock_guard<std::mutex> table_guard(table->mutex);
    for (const LinkRecord::Range& range : ranges) {
      table->ranges[range.first] = {range.second, weak_from_this()};
    }
  }
  ranges_.insert(ranges_.end(), ranges.begin(), ranges.end());
  RunConstructors();
}

void Library::RunConstructors() {
  std::vector<LinkRecord::Entry> constructors = record_->TakeConstructors();
  std::vector<LinkRecord::Entry> destructors = record_->TakeDestructors();
  std::optional<Error> failure;
  try {
    char* no_arguments[] = {nullptr};
    for (const LinkRecord::Entry& entry : constructors) {
      entry.function(0, no_arguments, no_arguments);
    }
  } catch (const Error& error) {
    failure = error;
  } catch (const std::exception& error) {
    failure = Error("RuntimeError", error.what(), "");
  } catch (...) {
    failure = Error("RuntimeError", "unknown exception in a static constructor", "");
  }
  // The exception belongs to code that goes while it travels: the caller gets one of ours.
  if (failure.has_value()) throw Error(*failure);
  destructors_.insert(destructors_.begin(), destructors.begin(), destructors.end());
}

void Library::RunDestructors() {
  std::lock_guard<std::recursive_mutex> guard(link_mutex_);
  if (session_->has_runtime()) {
    if (dylib_ != nullptr && !ranges_.empty()) {
      llvm::consumeError(session_->jit().deinitialize(*dylib_));
    }
    return;
  }
  if (dso_handle_ == nullptr) return;
  RemoveThreadLocalOwner(dso_handle_);
  __cxa_finalize(std::exchange(dso_handle_, nullptr));
  for (const LinkRecord::Entry& entry : std::exchange(destructors_, {})) {
    entry.function(0, nullptr, nullptr);
  }
  for (const LinkRecord::Range& range : ranges_) {
    DropThreadLocalImages(range.first, range.second);
  }
}

bool Library::Uses(const Library* other) const {
  return this == other || std::any_of(uses_.begin(), uses_.end(),
                                      [&](const auto& used) { return used->Uses(other); });
}

void Library::SetLinkOrder(const std::vector<std::shared_ptr<Library>>& libraries) {
  std::lock_guard<std::recursive_mutex> guard(link_mutex_);
  orc::JITDylibSearchOrder order{base_order_.begin(), base_order_.begin() + 1};
  for (const std::shared_ptr<Library>& library : libraries) {
    if (library->session_ != session_) {
      TVM_FFI_THROW(ValueError) << "JIT library `" << library->name_ << "` belongs to another "
                                << "session than `" << name_ << "`";
    }
    if (library->Uses(this)) {
      TVM_FFI_THROW(ValueError) << "JIT libraries `" << name_ << "` and `" << library->name_
                                << "` would keep each other alive";
    }
    order.emplace_back(library->dylib_, orc::JITDylibLookupFlags::MatchExportedSymbolsOnly);
  }
  order.insert(order.end(), base_order_.begin() + 1, base_order_.end());
  dylib_->setLinkOrder(std::move(order), /*LinkAgainstThisJITDylibFirst=*/false);
  // What is linked already may still use the earlier ones.
  uses_.insert(uses_.end(), libraries.begin(), libraries.end());
}

void* Library::FindSymbol(const std::string& symbol) const {
  std::lock_guard<std::mutex> guard(symbols_mutex_);
  auto it = symbols_.find(symbol);
  return it == symbols_.end() ? nullptr : it->second;
}

void Library::Pin() {
  LibraryTable* table = LibraryTable::Global();
  std::lock_guard<std::mutex> guard(table->mutex);
  auto self = shared_from_this();
  if (std::find(table->pinned.begin(), table->pinned.end(), self) == table->pinned.end()) {
    table->pinned.push_back(std::move(self));
  }
}

std::shared_ptr<Library> Library::Owner(const void* address) {
  const auto value = reinterpret_cast<uintptr_t>(address);
  LibraryTable* table = LibraryTable::Global();
  std::lock_guard<std::mutex> guard(table->mutex);
  auto it = table->ranges.upper_bound(value);
  if (it == table->ranges.begin()) return nullptr;
  --it;
  return value < it->second.first ? it->second.second.lock() : nullptr;
}

void Library::RunDestructorsAtExit() {
  std::vector<std::weak_ptr<Library>> all;
  {
    LibraryTable* table = LibraryTable::Global();
    std::lock_guard<std::mutex> guard(table->mutex);
    all = table->all;
  }
  for (auto it = all.rbegin(); it != all.rend(); ++it) {
    if (std::shared_ptr<Library> library = it->lock()) library->RunDestructors();
  }
}

}  // namespace orcjit
}  // namespace ffi
}  // namespace tvm
