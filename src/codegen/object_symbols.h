// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Gives the code in a relocatable ELF64 object other names.
#ifndef TVM_CODEGEN_OBJECT_SYMBOLS_H_
#define TVM_CODEGEN_OBJECT_SYMBOLS_H_

#include <tvm/runtime/base.h>

#include <string>
#include <string_view>
#include <vector>

namespace tvm {
namespace codegen {

/// The object with the global symbol `from` under each of `names` instead. ValueError when it is no
/// little-endian relocatable ELF64, is malformed, or defines no such symbol.
TVM_DLL std::string RenameSymbol(std::string_view object, std::string_view from,
                                 const std::vector<std::string>& names);

/// Whether bytes begin like an object that RenameSymbol takes.
TVM_DLL bool IsElfObject(std::string_view object);

}  // namespace codegen
}  // namespace tvm
#endif  // TVM_CODEGEN_OBJECT_SYMBOLS_H_
