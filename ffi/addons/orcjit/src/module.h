// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Modules over JIT libraries.
#ifndef TVM_FFI_ORCJIT_MODULE_H_
#define TVM_FFI_ORCJIT_MODULE_H_

#include <tvm/ffi/extra/module.h>

#include <memory>

#include "library.h"

namespace tvm {
namespace ffi {
namespace orcjit {

/// What NewModule makes of a library.
struct LoadedModule {
  Module root;     ///< the library's own module, or the root of the tree that it carries
  Module context;  ///< where the library's code looks its callees up
};

/// Module over a linked library. Fills in its context symbols and unpacks the modules it carries.
LoadedModule NewModule(std::shared_ptr<Library> library);

/// Fills in the context symbols of objects that were linked after the module was made. RuntimeError
/// if they carry modules: those belong to the first link.
void ExtendModule(Library* library, const LoadedModule& loaded, bool had_modules);

}  // namespace orcjit
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_ORCJIT_MODULE_H_
