// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Modules: named functions that live and are saved together, with modules they import.
#ifndef TVM_FFI_EXTRA_MODULE_H_
#define TVM_FFI_EXTRA_MODULE_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/base.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/string.h>

#include <utility>

namespace tvm {
namespace ffi {

class Module;

/// Interface of a module. The order of the virtual functions is ABI; the destructor is not one of
/// them: the deleter that make_object installs knows the class.
class TVM_FFI_EXTRA_CXX_API ModuleObj : public Object {
 public:
  ModuleObj() = default;

  /// Name of the implementation; also selects the loader `ffi.Module.load_from_bytes.<kind>`.
  virtual const char* kind() const = 0;
  /// Module::ModulePropertyMask bits.
  virtual int GetPropertyMask() const { return 0; }
  virtual Optional<Function> GetFunction(const String& name) = 0;
  virtual bool ImplementsFunction(const String& name) { return GetFunction(name).has_value(); }
  virtual Optional<String> GetFunctionDoc(const String& /*name*/) { return std::nullopt; }
  /// JSON text.
  virtual Optional<String> GetFunctionMetadata(const String& /*name*/) { return std::nullopt; }
  virtual void WriteToFile(const String& /*file_name*/, const String& /*format*/) const {
    ThrowUnsupported("WriteToFile");
  }
  virtual Array<String> GetWriteFormats() const { return {}; }
  virtual Bytes SaveToBytes() const { ThrowUnsupported("SaveToBytes"); }
  virtual String InspectSource(const String& /*format*/) const { return String(); }
  /// RuntimeError when `other` imports this module, directly or not.
  virtual void ImportModule(const Module& other);
  virtual void ClearImports();

  // The forms below also ask imported modules, in import order, depth first.
  Optional<Function> GetFunction(const String& name, bool query_imports);
  bool ImplementsFunction(const String& name, bool query_imports);
  Optional<String> GetFunctionDoc(const String& name, bool query_imports);
  Optional<String> GetFunctionMetadata(const String& name, bool query_imports);

  /// Elements are Modules.
  const Array<Any>& imports() const { return imports_; }

  /// Access for the loader and the C API.
  struct InternalUnsafe;

  static constexpr int32_t _type_index = kTVMFFIModule;
  static constexpr bool _type_mutable = true;
  static constexpr bool _type_final = true;
  TVM_FFI_DECLARE_OBJECT_INFO_STATIC("ffi.Module", ModuleObj, Object);

 protected:
  friend struct InternalUnsafe;

  Array<Any> imports_;

 private:
  [[noreturn]] void ThrowUnsupported(const char* operation) const {
    TVM_FFI_THROW(RuntimeError) << "Module[" << kind() << "] does not support " << operation;
    TVM_FFI_UNREACHABLE();
  }

  /// Functions that generated code has looked up through its library context.
  Map<String, Function> import_lookup_cache_;
};

class Module : public ObjectRef {
 public:
  enum ModulePropertyMask : int {
    kBinarySerializable = 1,
    kRunnable = 2,
    kCompilationExportable = 4,
  };

  explicit Module(ObjectPtr<ModuleObj> module) : ObjectRef(std::move(module)) {}

  /// Loads by file extension through global `ffi.Module.load_from_file.<ext>`.
  TVM_FFI_EXTRA_CXX_API static Module LoadFromFile(const String& file_name);

  /// Lists the symbols that libraries receive when they are loaded.
  TVM_FFI_EXTRA_CXX_API static void VisitContextSymbols(
      const TypedFunction<void(String, void*)>& callback);

  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Module, ObjectRef, ModuleObj);
};

/// Symbol names in libraries.
namespace symbol {
inline constexpr const char* tvm_ffi_symbol_prefix = "__tvm_ffi_";
inline constexpr const char* tvm_ffi_main = "__tvm_ffi_main";
inline constexpr const char* tvm_ffi_library_ctx = "__tvm_ffi__library_ctx";
inline constexpr const char* tvm_ffi_library_bin = "__tvm_ffi__library_bin";
inline constexpr const char* tvm_ffi_metadata_prefix = "__tvm_ffi__metadata_";
inline constexpr const char* tvm_ffi_doc_prefix = "__tvm_ffi__doc_";
}  // namespace symbol

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_EXTRA_MODULE_H_
