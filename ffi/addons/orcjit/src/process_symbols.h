// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Symbols that JIT code takes from the process and from the C++ compiler's libraries.
#ifndef TVM_FFI_ORCJIT_PROCESS_SYMBOLS_H_
#define TVM_FFI_ORCJIT_PROCESS_SYMBOLS_H_

#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/Layer.h>

#include <memory>
#include <string>

namespace tvm {
namespace ffi {
namespace orcjit {

/// Address of what the program, or a library this one depends on (libtvm_ffi, the C++ library),
/// exports; NULL if there is none.
void* FindProcessSymbol(const char* name);

/// Offers FindProcessSymbol to a JITDylib.
std::unique_ptr<llvm::orc::DefinitionGenerator> NewProcessGenerator();

/// Libraries of a C++ compiler; empty if it has none.
struct ToolchainFiles {
  std::string shared;   ///< libstdc++.so.6
  std::string archive;  ///< libstdc++_nonshared.a: what a newer compiler adds to an older library
};

/// Asks the compiler where its libraries are, once per command.
ToolchainFiles FindToolchainFiles(const std::string& compiler);

/// Offers what a newer C++ library has and the loaded one lacks. The compiler is asked at the first
/// symbol that nothing else defines.
std::unique_ptr<llvm::orc::DefinitionGenerator> NewToolchainGenerator(llvm::orc::ObjectLayer& layer,
                                                                      std::string compiler);

}  // namespace orcjit
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_ORCJIT_PROCESS_SYMBOLS_H_
