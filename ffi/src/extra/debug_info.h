// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Names and source lines of code addresses, for backtraces.
#ifndef TVM_FFI_SRC_EXTRA_DEBUG_INFO_H_
#define TVM_FFI_SRC_EXTRA_DEBUG_INFO_H_

#include <cstdint>
#include <string>

namespace tvm {
namespace ffi {

struct CodeLocation {
  std::string function;  ///< mangled; empty if not known
  std::string file;      ///< empty if the module has no line table
  int line = 0;
};

/// Looks into the dynamic symbols first, then into the symbol and line tables of the module's
/// file, which is read once. Safe to call from any thread.
CodeLocation FindCodeLocation(uintptr_t address);

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_SRC_EXTRA_DEBUG_INFO_H_
