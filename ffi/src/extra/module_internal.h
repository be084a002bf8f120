// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Internals that the module files share.
#ifndef TVM_FFI_SRC_EXTRA_MODULE_INTERNAL_H_
#define TVM_FFI_SRC_EXTRA_MODULE_INTERNAL_H_

#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/string.h>

#include <memory>

namespace tvm {
namespace ffi {

struct __attribute__((visibility("hidden"))) ModuleObj::InternalUnsafe {
  /// Function `name` from what `module` imports, else a global function; kept by the module.
  static TVMFFIObjectHandle LookUpFromImports(ModuleObj* module, const String& name);

  static Array<Any> ModuleObj::* imports() { return &ModuleObj::imports_; }
  static Array<Any>* MutableImports(ModuleObj* module) { return &module->imports_; }
};

/// Symbols of one library, by plain C name.
class Library {
 public:
  Library() = default;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  virtual ~Library() = default;

  /// NULL when the library does not export the name.
  virtual void* GetSymbol(const char* name) = 0;
  /// For messages.
  virtual const char* Description() const = 0;
  /// Whether the code is in memory as long as the process lives.
  virtual bool stays() const = 0;
  /// Makes it stay: something outside may refer to it.
  virtual void Pin() = 0;
};

/// Context for the code of a library whose own module is `self` and whose library_bin made `root`.
/// Callees are looked up in what `root` imports, or `self` once `root` is gone. It keeps neither
/// alive, and finds the library's own functions with `find_own`(name), which must not either: what
/// is found is cached as long as `self` lives.
Module NewLibraryContext(const Module& root, const Module& self, Function find_own);

/// Module over the library; when the library carries a library_bin, the root of its import tree.
/// Fills in the library's context pointer and registered context symbols.
Module CreateLibraryModule(std::shared_ptr<Library> library);

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_SRC_EXTRA_MODULE_INTERNAL_H_
