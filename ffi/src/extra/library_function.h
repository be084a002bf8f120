// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Functions of libraries that may be unloaded.
#ifndef TVM_FFI_SRC_EXTRA_LIBRARY_FUNCTION_H_
#define TVM_FFI_SRC_EXTRA_LIBRARY_FUNCTION_H_

#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/optional.h>

#include <memory>
#include <string>

#include "module_internal.h"

namespace tvm {
namespace ffi {

/// Function at a symbol of the library, nullopt when there is none. It keeps the library and the
/// two modules, which may be null.
///
/// Objects carry the address of the code that destroys them. So a call that may have left an object
/// of the library elsewhere makes the library stay: one that returned an object other than a plain
/// value of libtvm_ffi, was given an object that can hold others, such as a function or a list, or
/// registered something. Whatever else keeps addresses of its code, like a thread that it started,
/// is the caller's to end before the last function goes.
Optional<Function> LibraryFunction(std::shared_ptr<Library> library, const std::string& symbol,
                                   ObjectPtr<ModuleObj> module, ObjectPtr<ModuleObj> root);

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_SRC_EXTRA_LIBRARY_FUNCTION_H_
