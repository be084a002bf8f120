// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// ModuleObj, its global functions, and lookups that generated code makes through its context.
#include <tvm/ffi/cast.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/reflection/registry.h>

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "module_internal.h"
#include "reflection_util.h"
#include "src/library_init.h"

namespace tvm {
namespace ffi {
namespace {

/// Visits `root` and everything it imports, depth first in import order, each module once, until
/// `visit` returns true.
template <typename Visit>
bool VisitImportTree(const ModuleObj* root, Visit visit) {
  std::vector<const ModuleObj*> pending{root};
  std::unordered_set<const ModuleObj*> seen;
  while (!pending.empty()) {
    const ModuleObj* module = pending.back();
    pending.pop_back();
    if (!seen.insert(module).second) continue;
    if (visit(const_cast<ModuleObj*>(module))) return true;
    const Array<Any>& imports = module->imports();
    for (size_t i = imports.size(); i > 0; --i) {
      pending.push_back(imports[i - 1].cast<Module>().get());
    }
  }
  return false;
}

std::string Text(const String& text) { return std::string(text.data(), text.size()); }

}  // namespace

void ModuleObj::ImportModule(const Module& other) {
  VisitImportTree(other.get(), [this](const ModuleObj* module) {
    if (module == this) {
      TVM_FFI_THROW(RuntimeError) << "Cyclic dependency detected during import";
    }
    return false;
  });
  imports_.push_back(Any(other));
}

/// The lookup cache stays: generated code may hold what it was given.
void ModuleObj::ClearImports() { imports_.clear(); }

Optional<Function> ModuleObj::GetFunction(const String& name, bool query_imports) {
  if (!query_imports) return GetFunction(name);
  Optional<Function> result = std::nullopt;
  VisitImportTree(this, [&](ModuleObj* module) {
    result = module->GetFunction(name);
    return result.has_value();
  });
  return result;
}

bool ModuleObj::ImplementsFunction(const String& name, bool query_imports) {
  if (!query_imports) return ImplementsFunction(name);
  return VisitImportTree(this, [&](ModuleObj* module) { return module->ImplementsFunction(name); });
}

Optional<String> ModuleObj::GetFunctionDoc(const String& name, bool query_imports) {
  if (!query_imports) return GetFunctionDoc(name);
  Optional<String> result = std::nullopt;
  VisitImportTree(this, [&](ModuleObj* module) {
    result = module->GetFunctionDoc(name);
    return result.has_value();
  });
  return result;
}

Optional<String> ModuleObj::GetFunctionMetadata(const String& name, bool query_imports) {
  if (!query_imports) return GetFunctionMetadata(name);
  Optional<String> result = std::nullopt;
  VisitImportTree(this, [&](ModuleObj* module) {
    result = module->GetFunctionMetadata(name);
    return result.has_value();
  });
  return result;
}

TVMFFIObjectHandle ModuleObj::InternalUnsafe::LookUpFromImports(ModuleObj* module,
                                                                const String& name) {
  static std::mutex mutex;
  {
    std::lock_guard<std::mutex> guard(mutex);
    if (auto cached = module->import_lookup_cache_.Get(name); cached.has_value()) {
      return detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(*cached);
    }
  }
  // Not under the lock: a module may run code, even load libraries, to provide a function.
  Optional<Function> found = std::nullopt;
  for (const Any& import : module->imports_) {
    found = import.cast<Module>()->GetFunction(name, true);
    if (found.has_value()) break;
  }
  if (!found.has_value()) found = Function::GetGlobal(std::string_view(name.data(), name.size()));
  if (!found.has_value()) {
    TVM_FFI_THROW(RuntimeError) << "Cannot find function `" << Text(name)
                                << "` in the imported modules or the global registry";
  }
  std::lock_guard<std::mutex> guard(mutex);
  if (auto cached = module->import_lookup_cache_.Get(name); cached.has_value()) {
    return detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(*cached);
  }
  module->import_lookup_cache_.Set(name, *found);
  return detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(*found);
}

namespace {

/// The only import of a library's context.
class LibraryImportsObj final : public ModuleObj {
 public:
  LibraryImportsObj(const Module& root, const Module& self, Function find_own)
      : root_(GetObjectPtr<ModuleObj>(root.get())),
        self_(GetObjectPtr<ModuleObj>(self.get())),
        self_address_(self.get()),
        find_own_(std::move(find_own)) {}

  const char* kind() const final { return "library_imports"; }

  Optional<Function> GetFunction(const String& name) final {
    if (ObjectPtr<ModuleObj> root = root_.lock()) return Search(root->imports(), name);
    if (ObjectPtr<ModuleObj> self = self_.lock()) return Search(self->imports(), name);
    return std::nullopt;
  }

 private:
  Optional<Function> Search(const Array<Any>& imports, const String& name) {
    Optional<Function> found = std::nullopt;
    auto ask = [&](ModuleObj* module) {
      found = module == self_address_ ? find_own_(name).cast<Optional<Function>>()
                                      : module->GetFunction(name);
      return found.has_value();
    };
    for (const Any& import : imports) {
      if (VisitImportTree(import.cast<Module>().get(), ask)) break;
    }
    return found;
  }

  const WeakObjectPtr<ModuleObj> root_;
  const WeakObjectPtr<ModuleObj> self_;
  const ModuleObj* const self_address_;
  const Function find_own_;
};

class LibraryContextObj final : public ModuleObj {
 public:
  explicit LibraryContextObj(const Module& imports) { imports_.push_back(Any(imports)); }
  const char* kind() const final { return "library_context"; }
  Optional<Function> GetFunction(const String&) final { return std::nullopt; }
};

}  // namespace

Module NewLibraryContext(const Module& root, const Module& self, Function find_own) {
  Module imports(make_object<LibraryImportsObj>(root, self, std::move(find_own)));
  return Module(make_object<LibraryContextObj>(imports));
}

namespace {

/// Modules kept alive until the process ends or they are removed.
class ModuleGlobals {
 public:
  static ModuleGlobals* Global() {
    // Never destroyed: code of the libraries may still run in static destructors.
    static auto* globals = new ModuleGlobals();
    return globals;
  }

  void Add(const Module& module) {
    std::lock_guard<std::mutex> guard(mutex_);
    modules_.insert_or_assign(module.get(), module);
  }

  void Remove(const Module& module) {
    std::lock_guard<std::mutex> guard(mutex_);
    modules_.erase(module.get());
  }

 private:
  std::mutex mutex_;
  std::unordered_map<const ModuleObj*, Module> modules_;
};

/// Loader name for a file; the extensions of shared libraries on all systems are one format.
std::string FormatOfFile(const std::string& path) {
  const size_t slash = path.find_last_of("/\\");
  const size_t dot = path.rfind('.');
  if (dot == std::string::npos || (slash != std::string::npos && dot < slash) ||
      dot + 1 == path.size()) {
    TVM_FFI_THROW(RuntimeError) << "Failed to get file format from " << path
                                << ": the name has no extension";
  }
  const std::string extension = path.substr(dot + 1);
  if (extension == "dll" || extension == "dylib" || extension == "dso") return "so";
  return extension;
}

}  // namespace

Module Module::LoadFromFile(const String& file_name) {
  const std::string format = FormatOfFile(Text(file_name));
  const std::string loader_name = "ffi.Module.load_from_file." + format;
  std::optional<Function> loader = Function::GetGlobal(loader_name);
  if (!loader.has_value()) {
    TVM_FFI_THROW(RuntimeError) << "Loader for `." << format
                                << "` files is not registered: no global function `" << loader_name
                                << "` to load " << Text(file_name)
                                << ". Load the runtime library that provides it first";
  }
  return (*loader)(file_name, String(format)).cast<Module>();
}

TVM_FFI_LIBRARY_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::ObjectDef<ModuleObj>().def_ro("imports_", ModuleObj::InternalUnsafe::imports());
  refl::GlobalDef()
      .def("ffi.ModuleLoadFromFile", &Module::LoadFromFile)
      .def("ffi.ModuleGetKind", [](const Module& module) { return String(module->kind()); })
      .def("ffi.ModuleGetPropertyMask",
           [](const Module& module) { return module->GetPropertyMask(); })
      .def("ffi.ModuleGetFunction",
           [](const Module& module, const String& name, bool query_imports) {
             return module->GetFunction(name, query_imports);
           })
      .def("ffi.ModuleImplementsFunction",
           [](const Module& module, const String& name, bool query_imports) {
             return module->ImplementsFunction(name, query_imports);
           })
      .def("ffi.ModuleGetFunctionMetadata",
           [](const Module& module, const String& name, bool query_imports) {
             return module->GetFunctionMetadata(name, query_imports);
           })
      .def("ffi.ModuleGetFunctionDoc",
           [](const Module& module, const String& name, bool query_imports) {
             return module->GetFunctionDoc(name, query_imports);
           })
      .def("ffi.ModuleInspectSource",
           [](const Module& module, const String& format) { return module->InspectSource(format); })
      .def("ffi.ModuleGetWriteFormats",
           [](const Module& module) { return module->GetWriteFormats(); })
      .def("ffi.ModuleWriteToFile",
           [](const Module& module, const String& file_name, const String& format) {
             module->WriteToFile(file_name, format);
           })
      .def("ffi.ModuleImportModule",
           [](const Module& module, const Module& other) { module->ImportModule(other); })
      .def("ffi.ModuleClearImports", [](const Module& module) { module->ClearImports(); })
      .def("ffi.ModuleNewLibraryContext", NewLibraryContext)
      .def("ffi.ModuleGlobalsAdd",
           [](const Module& module) { ModuleGlobals::Global()->Add(module); })
      .def("ffi.ModuleGlobalsRemove",
           [](const Module& module) { ModuleGlobals::Global()->Remove(module); });
}

}  // namespace ffi
}  // namespace tvm

int TVMFFIEnvModLookupFromImports(TVMFFIObjectHandle library_ctx, const char* func_name,
                                  TVMFFIObjectHandle* out) {
  TVM_FFI_SAFE_CALL_BEGIN();
  if (library_ctx == nullptr) {
    TVM_FFI_THROW(RuntimeError) << "library context is NULL while looking up `" << func_name
                                << "`: the library was not loaded as a module";
  }
  *out = tvm::ffi::ModuleObj::InternalUnsafe::LookUpFromImports(
      static_cast<tvm::ffi::ModuleObj*>(library_ctx), tvm::ffi::String(func_name));
  TVM_FFI_SAFE_CALL_END();
}
