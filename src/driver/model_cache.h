// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Whole executables in the compile cache.
///
/// An entry holds the bytecode, the object files of the kernels and the constants. A hit maps it:
/// constants are used where they lie, and only the kernels are linked into the process.
#ifndef TVM_DRIVER_MODEL_CACHE_H_
#define TVM_DRIVER_MODEL_CACHE_H_

#include <tvm/ffi/extra/module.h>
#include <tvm/target/target.h>

#include <string>

namespace tvm {
namespace driver {

/// The executable kept for `description`, which names everything that it was made from besides the
/// compiler itself (content of the model, shapes, options). Null when there is none or no cache.
TVM_DLL ffi::Optional<ffi::Module> LoadCachedModel(const std::string& description,
                                                   const Target& target);

/// Keeps an executable that consists of bytecode and code of one LLVM target; others are not kept.
/// Returns whether it was.
TVM_DLL bool StoreCachedModel(const std::string& description, const Target& target,
                              const ffi::Module& executable);

}  // namespace driver
}  // namespace tvm
#endif  // TVM_DRIVER_MODEL_CACHE_H_
