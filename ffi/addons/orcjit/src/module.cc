// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "module.h"

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
  Module module;

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

  Optional<Function> GetFunction(const String& name) final {
    return Find(symbol::tvm_ffi_symbol_prefix, name);
  }
  Optional<String> GetFunctionMetadata(const String& name) final {
    return CallForText(symbol::tvm_ffi_metadata_prefix, name);
  }
  Optional<String> GetFunctionDoc(const String& name) final {
    return CallForText(symbol::tvm_ffi_doc_prefix, name);
  }
  bool ImplementsFunction(const String& name) final {
    return Address(symbol::tvm_ffi_symbol_prefix, name) != nullptr;
  }

 private:
  void* Address(const char* prefix, const String& name) {
    return library_->FindSymbol(prefix + std::string(name.data(), name.size()));
  }

  Optional<Function> Find(const char* prefix, const String& name) {
    void* address = Address(prefix, name);
    if (address == nullptr) return std::nullopt;
    auto* callee = new Callee{reinterpret_cast<TVMFFISafeCallType>(address), GetRef<Module>(this)};
    return Function::FromExternC(callee, Callee::Call, Callee::Delete);
  }

  Optional<String> CallForText(const char* prefix, const String& name) {
    Optional<Function> function = Find(prefix, name);
    if (!function.has_value()) return std::nullopt;
    return (*function)().cast<String>();
  }

  const std::shared_ptr<Library> library_;
};

/// Modules that the library carries, with `self` among them; needs the loader of libtvm_ffi.
Module UnpackModules(void* blob, const Module& self, const std::string& name) {
  constexpr const char* kLoader = "ffi.ModuleLinkLibraryBin";
  std::optional<Function> loader = Function::GetGlobal(kLoader);
  if (!loader.has_value()) {
    TVM_FFI_THROW(RuntimeError) << "JIT library `" << name << "` carries modules, but libtvm_ffi "
                                << "has no function `" << kLoader << "` to load them";
  }
  return (*loader)(blob, self, String(name)).cast<Module>();
}

void FillContext(Library* library, const Module& root) {
  Module::VisitContextSymbols([&](String name, void* value) {
    void* slot = library->FindSymbol(std::string(name.data(), name.size()));
    if (slot != nullptr) *static_cast<void**>(slot) = value;
  });
  // Generated code looks its callees up from the root, which sees every module of the blob.
  if (void* slot = library->FindSymbol(symbol::tvm_ffi_library_ctx)) {
    *static_cast<void**>(slot) = const_cast<ModuleObj*>(root.get());
  }
}

}  // namespace

Module NewModule(std::shared_ptr<Library> library) {
  Module root(make_object<JitModuleObj>(library));
  if (void* blob = library->FindSymbol(symbol::tvm_ffi_library_bin)) {
    root = UnpackModules(blob, root, library->name());
  }
  FillContext(library.get(), root);
  return root;
}

void ExtendModule(Library* library, const Module& root, bool had_modules) {
  if (!had_modules && library->FindSymbol(symbol::tvm_ffi_library_bin) != nullptr) {
    TVM_FFI_THROW(RuntimeError) << "JIT library `" << library->name() << "` got an object that "
                                << "carries modules after functions were looked up in it";
  }
  FillContext(library, root);
}

}  // namespace orcjit
}  // namespace ffi
}  // namespace tvm
