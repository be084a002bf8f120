// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "module.h"

#include <tvm/ffi/cast.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/memory.h>

#include <optional>
#include <string>
#include <utility>

namespace tvm {
namespace ffi {
namespace orcjit {
namespace {

void PinOwner(TVMFFIObjectHandle object) {
  if (object == nullptr) return;
  const auto* header = static_cast<const TVMFFIObject*>(object);
  if (auto owner = Library::Owner(reinterpret_cast<const void*>(header->deleter))) owner->Pin();
}

/// As PinOwner, for the raised error.
void PinOwnerOfRaised() {
  TVMFFIObjectHandle error = nullptr;
  TVMFFIErrorMoveFromRaised(&error);
  if (error == nullptr) return;
  PinOwner(error);
  TVMFFIErrorSetRaised(error);
  TVMFFIObjectDecRef(error);
}

/// A function of a library and what keeps the library.
struct Callee {
  TVMFFISafeCallType function;
  std::shared_ptr<Library> library;
  ObjectPtr<ModuleObj> module;
  ObjectPtr<ModuleObj> root;

  static int Call(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
    const int status = static_cast<Callee*>(self)->function(nullptr, args, num_args, result);
    // Nobody knows how long what leaves here lives, and its deleter may be JIT code.
    if (status == -1) {
      PinOwnerOfRaised();
    } else if (result->type_index >= kTVMFFIStaticObjectBegin) {
      PinOwner(result->v_obj);
    }
    return status;
  }
  static void Delete(void* self) { delete static_cast<Callee*>(self); }
};

class JitModuleObj final : public ModuleObj {
 public:
  explicit JitModuleObj(std::shared_ptr<Library> library) : library_(std::move(library)) {}

  const char* kind() const final { return "orcjit"; }
  int GetPropertyMask() const final { return Module::kRunnable; }

  /// The function keeps this module and the root, as code may look callees up from both.
  Optional<Function> GetFunction(const String& name) final {
    return Find(library_, symbol::tvm_ffi_symbol_prefix, name, GetObjectPtr<ModuleObj>(this),
                root_.lock());
  }
  Optional<String> GetFunctionMetadata(const String& name) final {
    return CallForText(symbol::tvm_ffi_metadata_prefix, name);
  }
  Optional<String> GetFunctionDoc(const String& name) final {
    return CallForText(symbol::tvm_ffi_doc_prefix, name);
  }
  bool ImplementsFunction(const String& name) final {
    return Address(*library_, symbol::tvm_ffi_symbol_prefix, name) != nullptr;
  }

  /// Says that modules of the library's own blob lie above this one; returns the context for the
  /// library's code. `new_context` is a function of libtvm_ffi.
  Module SetRoot(const Module& root, const Function& new_context) {
    root_ = WeakObjectPtr<ModuleObj>(GetObjectPtr<ModuleObj>(root.get()));
    auto find_own = [library = library_](const String& name) {
      return Find(library, symbol::tvm_ffi_symbol_prefix, name, nullptr, nullptr);
    };
    context_ =
        new_context(root, GetRef<Module>(this), Function::FromTyped(find_own)).cast<Module>();
    return *context_;
  }

 private:
  static void* Address(const Library& library, const char* prefix, const String& name) {
    return library.FindSymbol(prefix + std::string(name.data(), name.size()));
  }

  static Optional<Function> Find(const std::shared_ptr<Library>& library, const char* prefix,
                                 const String& name, ObjectPtr<ModuleObj> module,
                                 ObjectPtr<ModuleObj> root) {
    void* address = Address(*library, prefix, name);
    if (address == nullptr) return std::nullopt;
    auto* callee = new Callee{reinterpret_cast<TVMFFISafeCallType>(address), library,
                              std::move(module), std::move(root)};
    return Function::FromExternC(callee, Callee::Call, Callee::Delete);
  }

  Optional<String> CallForText(const char* prefix, const String& name) {
    Optional<Function> function =
        Find(library_, prefix, name, GetObjectPtr<ModuleObj>(this), nullptr);
    if (!function.has_value()) return std::nullopt;
    return (*function)().cast<String>();
  }

  const std::shared_ptr<Library> library_;
  WeakObjectPtr<ModuleObj> root_;
  Optional<Module> context_;
};

/// A function of our libtvm_ffi that the released ones lack.
Function Required(const char* name, const std::string& library) {
  std::optional<Function> function = Function::GetGlobal(name);
  if (!function.has_value()) {
    TVM_FFI_THROW(RuntimeError) << "JIT library `" << library << "` carries modules, but "
                                << "libtvm_ffi has no function `" << name << "` to load them";
  }
  return *std::move(function);
}

void FillContext(Library* library, const Module& context) {
  Module::VisitContextSymbols([&](String name, void* value) {
    void* slot = library->FindSymbol(std::string(name.data(), name.size()));
    if (slot != nullptr) *static_cast<void**>(slot) = value;
  });
  // Generated code looks its callees up from the root, which sees every module of the blob.
  if (void* slot = library->FindSymbol(symbol::tvm_ffi_library_ctx)) {
    *static_cast<void**>(slot) = const_cast<ModuleObj*>(context.get());
  }
}

}  // namespace

LoadedModule NewModule(std::shared_ptr<Library> library) {
  auto self = make_object<JitModuleObj>(library);
  LoadedModule loaded{Module(self), Module(self)};
  if (void* blob = library->FindSymbol(symbol::tvm_ffi_library_bin)) {
    const std::string& name = library->name();
    loaded.root =
        Required("ffi.ModuleLinkLibraryBin", name)(blob, Module(self), String(name)).cast<Module>();
    if (loaded.root.get() != self.get()) {
      loaded.context = self->SetRoot(loaded.root, Required("ffi.ModuleNewLibraryContext", name));
    }
  }
  FillContext(library.get(), loaded.context);
  return loaded;
}

void ExtendModule(Library* library, const LoadedModule& loaded, bool had_modules) {
  if (!had_modules && library->FindSymbol(symbol::tvm_ffi_library_bin) != nullptr) {
    TVM_FFI_THROW(RuntimeError) << "JIT library `" << library->name() << "` got an object that "
                                << "carries modules after functions were looked up in it";
  }
  FillContext(library, loaded.context);
}

}  // namespace orcjit
}  // namespace ffi
}  // namespace tvm
