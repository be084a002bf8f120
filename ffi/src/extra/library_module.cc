// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Modules backed by native libraries: shared libraries on disk and symbols linked in.
#include <dlfcn.h>
#include <tvm/ffi/cast.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/reflection/registry.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "library_bin.h"
#include "library_function.h"
#include "module_internal.h"
#include "src/library_init.h"
#include "src/registrations.h"

namespace tvm {
namespace ffi {
namespace {

std::string Text(const String& text) { return std::string(text.data(), text.size()); }

/// What dlopen is given: it looks for a bare name in the system's folders only, so that a file of
/// that name in the current folder is named with it.
std::string LoaderName(const std::string& path) {
  if (path.find('/') != std::string::npos || access(path.c_str(), F_OK) != 0) return path;
  return "./" + path;
}

/// Symbols that libraries receive in pointer variables of the same name when they are loaded.
class ContextSymbols {
 public:
  static ContextSymbols* Global() {
    static auto* symbols = new ContextSymbols();
    return symbols;
  }

  void Register(const char* name, void* symbol) {
    CountRegistration();
    std::lock_guard<std::mutex> guard(mutex_);
    symbols_[name] = symbol;
  }

  std::map<std::string, void*> Snapshot() {
    std::lock_guard<std::mutex> guard(mutex_);
    return symbols_;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, void*> symbols_;
};

/// A file that is mapped as long as the module lives, or for good once something outside may refer
/// to its code.
class SharedLibrary final : public Library {
 public:
  explicit SharedLibrary(std::string path) : path_(std::move(path)) {
    const uint64_t before = num_registrations.load(std::memory_order_relaxed);
    handle_ = dlopen(LoaderName(path_).c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (handle_ == nullptr) {
      const char* reason = dlerror();
      TVM_FFI_THROW(RuntimeError) << "Failed to load dynamic shared library " << path_ << ": "
                                  << (reason == nullptr ? "unknown reason" : reason);
    }
    if (num_registrations.load(std::memory_order_relaxed) != before) Pin();
  }
  ~SharedLibrary() final {
    if (handle_ != nullptr && !stays()) dlclose(handle_);
  }

  void* GetSymbol(const char* name) final { return dlsym(handle_, name); }
  const char* Description() const final { return path_.c_str(); }
  bool stays() const final { return stays_.load(std::memory_order_relaxed); }
  void Pin() final { stays_.store(true, std::memory_order_relaxed); }

 private:
  std::string path_;
  void* handle_;
  std::atomic<bool> stays_{false};
};

/// Symbols that object files linked into the process have registered.
class SystemSymbols {
 public:
  static SystemSymbols* Global() {
    static auto* symbols = new SystemSymbols();
    return symbols;
  }

  void Register(const char* name, void* symbol) {
    CountRegistration();
    std::lock_guard<std::mutex> guard(mutex_);
    auto [it, inserted] = symbols_.try_emplace(name, symbol);
    if (!inserted && it->second != symbol) {
      std::fprintf(stderr, "[tvm_ffi] warning: system library symbol %s is replaced\n", name);
      it->second = symbol;
    }
  }

  void* Get(const std::string& name) {
    std::lock_guard<std::mutex> guard(mutex_);
    auto it = symbols_.find(name);
    return it == symbols_.end() ? nullptr : it->second;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, void*> symbols_;
};

/// The registered symbols of one prefix; `__tvm_ffi_<prefix>f` goes before `__tvm_ffi_f`.
class SystemLibrary final : public Library {
 public:
  explicit SystemLibrary(std::string prefix) : prefix_(std::move(prefix)) {}

  void* GetSymbol(const char* name) final {
    const std::string_view plain(name);
    const std::string_view ffi_prefix(symbol::tvm_ffi_symbol_prefix);
    if (!prefix_.empty() && plain.substr(0, ffi_prefix.size()) == ffi_prefix) {
      std::string prefixed(ffi_prefix);
      prefixed += prefix_;
      prefixed += plain.substr(ffi_prefix.size());
      if (void* found = SystemSymbols::Global()->Get(prefixed)) return found;
    }
    return SystemSymbols::Global()->Get(std::string(plain));
  }
  const char* Description() const final { return "the system library"; }
  bool stays() const final { return true; }
  void Pin() final {}

 private:
  std::string prefix_;
};

class LibraryModuleObj final : public ModuleObj {
 public:
  explicit LibraryModuleObj(std::shared_ptr<Library> library) : library_(std::move(library)) {}

  const char* kind() const final { return "library"; }
  int GetPropertyMask() const final { return Module::kBinarySerializable | Module::kRunnable; }

  /// The function keeps this module and the root, as code may look callees up from both.
  Optional<Function> GetFunction(const String& name) final {
    return LibraryFunction(library_, symbol::tvm_ffi_symbol_prefix + Text(name),
                           GetObjectPtr<ModuleObj>(this), root_.lock());
  }

  bool ImplementsFunction(const String& name) final {
    return library_->GetSymbol((symbol::tvm_ffi_symbol_prefix + Text(name)).c_str()) != nullptr;
  }

  Optional<String> GetFunctionMetadata(const String& name) final {
    return CallForText(symbol::tvm_ffi_metadata_prefix + Text(name));
  }

  Optional<String> GetFunctionDoc(const String& name) final {
    return CallForText(symbol::tvm_ffi_doc_prefix + Text(name));
  }

  /// Says that the library's own blob made `root`; returns the context for the library's code.
  Module SetRoot(const Module& root) {
    root_ = WeakObjectPtr<ModuleObj>(GetObjectPtr<ModuleObj>(root.get()));
    auto find_own = [library = library_](const String& name) {
      return LibraryFunction(library, symbol::tvm_ffi_symbol_prefix + Text(name), nullptr, nullptr);
    };
    context_ = NewLibraryContext(root, GetRef<Module>(this), Function::FromTyped(find_own));
    return *context_;
  }

 private:
  Optional<String> CallForText(const std::string& symbol_name) {
    Optional<Function> function =
        LibraryFunction(library_, symbol_name, GetObjectPtr<ModuleObj>(this), nullptr);
    if (!function.has_value()) return std::nullopt;
    return (*function)().cast<String>();
  }

  std::shared_ptr<Library> library_;
  WeakObjectPtr<ModuleObj> root_;
  Optional<Module> context_;
};

/// Size of the blob from its length word, which is not part of it.
std::string_view LibraryBinContent(const void* blob) {
  const auto* bytes = static_cast<const unsigned char*>(blob);
  uint64_t size = 0;
  for (int i = 0; i < 8; ++i) size |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  return std::string_view(static_cast<const char*>(blob) + 8, size);
}

Module LoadModuleFromBytes(const LibraryBinModule& entry, const char* library) {
  const std::string loader_name = "ffi.Module.load_from_bytes." + std::string(entry.kind);
  std::optional<Function> loader = Function::GetGlobal(loader_name);
  if (!loader.has_value()) {
    TVM_FFI_THROW(RuntimeError) << "Library " << library << " carries a module of kind `"
                                << std::string(entry.kind) << "`, but no global function `"
                                << loader_name << "` is registered to load it";
  }
  return (*loader)(Bytes(entry.body.data(), entry.body.size())).cast<Module>();
}

/// Makes the modules of the blob and links their imports; returns the root.
Module LinkLibraryBin(const void* blob, const Module& self, const char* library) {
  LibraryBin bin;
  std::string error;
  if (!ParseLibraryBin(LibraryBinContent(blob), &bin, &error)) {
    TVM_FFI_THROW(ValueError) << "library_bin of " << library << " is damaged: " << error;
  }
  std::vector<Module> modules;
  modules.reserve(bin.modules.size());
  for (const LibraryBinModule& entry : bin.modules) {
    modules.push_back(entry.kind == kLibraryBinSelf ? self : LoadModuleFromBytes(entry, library));
  }
  for (size_t i = 0; i < modules.size(); ++i) {
    for (uint64_t j = bin.import_indptr[i]; j < bin.import_indptr[i + 1]; ++j) {
      modules[i]->ImportModule(modules[bin.import_indices[j]]);  // rejects cycles
    }
  }
  return modules[0];
}

Module LoadSharedLibrary(const String& path, const String&) {
  // The runtime may refuse a file (foreign architecture, missing CPU features) before it is mapped.
  if (std::optional<Function> check = Function::GetGlobal("ffi.Module.check_library")) {
    (*check)(path);
  }
  return CreateLibraryModule(std::make_shared<SharedLibrary>(Text(path)));
}

/// One module per prefix, so that the context pointer and state of a prefix stay the same.
Module SystemLib(const std::string& prefix) {
  static std::mutex mutex;
  static auto* modules = new std::map<std::string, Module>();
  {
    std::lock_guard<std::mutex> guard(mutex);
    if (auto it = modules->find(prefix); it != modules->end()) return it->second;
  }
  Module created = CreateLibraryModule(std::make_shared<SystemLibrary>(prefix));
  std::lock_guard<std::mutex> guard(mutex);
  return modules->try_emplace(prefix, created).first->second;
}

}  // namespace

Module CreateLibraryModule(std::shared_ptr<Library> library) {
  for (const auto& [name, value] : ContextSymbols::Global()->Snapshot()) {
    if (void* slot = library->GetSymbol(name.c_str())) *static_cast<void**>(slot) = value;
  }
  auto self = make_object<LibraryModuleObj>(library);
  Module root(self);
  Module context = root;
  if (void* blob = library->GetSymbol(symbol::tvm_ffi_library_bin)) {
    root = LinkLibraryBin(blob, Module(self), library->Description());
    // Generated code looks its callees up from the root, which sees every module of the blob.
    if (root.get() != self.get()) context = self->SetRoot(root);
  }
  if (void* slot = library->GetSymbol(symbol::tvm_ffi_library_ctx)) {
    *static_cast<void**>(slot) = const_cast<ModuleObj*>(context.get());
  }
  return root;
}

void Module::VisitContextSymbols(const TypedFunction<void(String, void*)>& callback) {
  for (const auto& [name, value] : ContextSymbols::Global()->Snapshot()) {
    callback(String(name), value);
  }
}

TVM_FFI_LIBRARY_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("ffi.Module.load_from_file.so", LoadSharedLibrary)
      // For libraries that other loaders map into memory: `blob` is their library_bin symbol.
      .def("ffi.ModuleLinkLibraryBin",
           [](void* blob, const Module& self, const String& library) {
             return LinkLibraryBin(blob, self, Text(library).c_str());
           })
      .def_packed("ffi.SystemLib", [](PackedArgs args, Any* result) {
        if (args.size() > 1) {
          TVM_FFI_THROW(TypeError) << "SystemLib takes at most one argument, got " << args.size();
        }
        *result = SystemLib(args.size() == 0 ? std::string() : args[0].cast<std::string>());
      });
}

}  // namespace ffi
}  // namespace tvm

int TVMFFIEnvModRegisterContextSymbol(const char* name, void* symbol) {
  TVM_FFI_SAFE_CALL_BEGIN();
  tvm::ffi::ContextSymbols::Global()->Register(name, symbol);
  TVM_FFI_SAFE_CALL_END();
}

int TVMFFIEnvModRegisterSystemLibSymbol(const char* name, void* symbol) {
  TVM_FFI_SAFE_CALL_BEGIN();
  tvm::ffi::SystemSymbols::Global()->Register(name, symbol);
  TVM_FFI_SAFE_CALL_END();
}
