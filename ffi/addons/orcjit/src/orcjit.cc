// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// The global functions and objects of the addon.
#include <llvm/Support/MemoryBuffer.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "library.h"
#include "module.h"
#include "session.h"

namespace tvm {
namespace ffi {
namespace orcjit {
namespace {

class ExecutionSessionObj : public Object {
 public:
  explicit ExecutionSessionObj(std::shared_ptr<Session> session) : session(std::move(session)) {}

  const std::shared_ptr<Session> session;

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tvm_ffi_orcjit.ExecutionSession", ExecutionSessionObj, Object);
};

class ExecutionSession : public ObjectRef {
 public:
  explicit ExecutionSession(std::shared_ptr<Session> session)
      : ObjectRef(make_object<ExecutionSessionObj>(std::move(session))) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(ExecutionSession, ObjectRef, ExecutionSessionObj);
};

/// A library to which objects are added one by one.
class DynamicLibraryObj : public Object {
 public:
  explicit DynamicLibraryObj(std::shared_ptr<Library> library) : library(std::move(library)) {}

  /// Module over all objects added so far.
  Module GetModule() {
    std::lock_guard<std::mutex> guard(mutex_);
    library->Link();
    if (!loaded_.has_value()) {
      loaded_ = NewModule(library);
      has_modules_ = library->FindSymbol(symbol::tvm_ffi_library_bin) != nullptr;
    } else {
      ExtendModule(library.get(), *loaded_, has_modules_);
    }
    return loaded_->root;
  }

  const std::shared_ptr<Library> library;

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tvm_ffi_orcjit.DynamicLibrary", DynamicLibraryObj, Object);

 private:
  std::mutex mutex_;
  std::optional<LoadedModule> loaded_;
  bool has_modules_ = false;
};

class DynamicLibrary : public ObjectRef {
 public:
  explicit DynamicLibrary(std::shared_ptr<Library> library)
      : ObjectRef(make_object<DynamicLibraryObj>(std::move(library))) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(DynamicLibrary, ObjectRef, DynamicLibraryObj);
};

std::string Text(const String& text) { return std::string(text.data(), text.size()); }

/// File or bytes in memory of its own.
std::unique_ptr<llvm::MemoryBuffer> ReadObject(const Any& object, const char* what) {
  if (auto bytes = object.as<Bytes>()) {
    return llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(bytes->data(), bytes->size()),
                                                "<bytes>");
  }
  if (auto path = object.as<String>()) {
    auto file = llvm::MemoryBuffer::getFile(Text(*path), /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false, /*IsVolatile=*/true);
    if (file) return std::move(*file);
    TVM_FFI_THROW(RuntimeError) << "cannot read " << what << " `" << *path
                                << "`: " << file.getError().message();
  }
  TVM_FFI_THROW(TypeError) << what << " must be a path or bytes, got " << object.GetTypeKey();
}

/// None and "auto": the implementation of this library.
std::unique_ptr<llvm::MemoryBuffer> ReadRuntime(const Any& runtime) {
  if (runtime == nullptr) return nullptr;
  if (auto text = runtime.as<String>(); text.has_value() && *text == "auto") return nullptr;
  return ReadObject(runtime, "ORC runtime");
}

std::string DefaultCompiler() {
  const char* compiler = std::getenv("CXX");
  return compiler == nullptr || *compiler == '\0' ? "c++" : compiler;
}

ExecutionSession NewSession(const Any& runtime, int64_t slab_size) {
  return ExecutionSession(Session::Create(ReadRuntime(runtime), slab_size));
}

ExecutionSession DefaultSession() {
  static auto* session = new ExecutionSession(NewSession(Any(), 0));  // libraries outlive main
  return *session;
}

std::shared_ptr<Library> NewLibrary(const ExecutionSession& session, const String& name,
                                    const Optional<String>& compiler) {
  return Library::Create(session->session, name.empty() ? "library" : Text(name),
                         compiler.has_value() ? Text(*compiler) : DefaultCompiler());
}

Module LoadModule(const ExecutionSession& session, const Array<Any>& objects, const String& name,
                  const Optional<String>& compiler) {
  std::shared_ptr<Library> library = NewLibrary(session, name, compiler);
  for (const Any& object : objects) library->Add(ReadObject(object, "object file"));
  library->Link();
  return NewModule(std::move(library)).root;
}

void SetLinkOrder(const DynamicLibrary& library, const Array<DynamicLibrary>& order) {
  std::vector<std::shared_ptr<Library>> libraries;
  for (const DynamicLibrary& used : order) libraries.push_back(used->library);
  library->library->SetLinkOrder(libraries);
}

void Register() {
  namespace refl = tvm::ffi::reflection;
  refl::ObjectDef<ExecutionSessionObj>(refl::init(false));
  refl::ObjectDef<DynamicLibraryObj>(refl::init(false));
  refl::GlobalDef()
      .def("tvm_ffi_orcjit.ExecutionSession", NewSession)
      .def("tvm_ffi_orcjit.GlobalDefaultSession", DefaultSession)
      .def("tvm_ffi_orcjit._RequireOwnSupport", RequireOwnSupport)
      .def("tvm_ffi_orcjit.SessionLoadModule", LoadModule)
      .def("tvm_ffi_orcjit.SessionClearFreeSlabs",
           [](const ExecutionSession& session) {
             return static_cast<int64_t>(session->session->pool().ClearFreeSlabs());
           })
      .def("tvm_ffi_orcjit.SessionCreateLibrary",
           [](const ExecutionSession& session, const String& name,
              const Optional<String>& compiler) {
             return DynamicLibrary(NewLibrary(session, name, compiler));
           })
      .def("tvm_ffi_orcjit.LibraryAdd",
           [](const DynamicLibrary& library, const Any& object) {
             library->library->Add(ReadObject(object, "object file"));
           })
      .def("tvm_ffi_orcjit.LibrarySetLinkOrder", SetLinkOrder)
      .def("tvm_ffi_orcjit.LibraryGetModule",
           [](const DynamicLibrary& library) { return library.get()->GetModule(); });
}

}  // namespace
}  // namespace orcjit
}  // namespace ffi
}  // namespace tvm

/// Registers types and functions, once; 0, or -1 with an error raised.
extern "C" TVM_FFI_DLL_EXPORT int TVMFFIOrcJITInitialize() {
  TVM_FFI_SAFE_CALL_BEGIN();
  static std::once_flag once;
  std::call_once(once, [] {
    tvm::ffi::orcjit::Register();
    std::atexit(tvm::ffi::orcjit::Library::RunDestructorsAtExit);
  });
  TVM_FFI_SAFE_CALL_END();
}
