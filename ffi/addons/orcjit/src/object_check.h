// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Checks of object files before the linker sees them.
#ifndef TVM_FFI_ORCJIT_OBJECT_CHECK_H_
#define TVM_FFI_ORCJIT_OBJECT_CHECK_H_

#include <llvm/ADT/StringRef.h>
#include <llvm/TargetParser/Triple.h>

#include <string>

namespace tvm {
namespace ffi {
namespace orcjit {

/// Why `bytes` are no relocatable ELF object that code of `host` can use; empty if they are one.
/// The linker trusts offsets and sizes inside a file: they are checked here.
std::string CheckObject(llvm::StringRef bytes, const llvm::Triple& host);

}  // namespace orcjit
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_ORCJIT_OBJECT_CHECK_H_
