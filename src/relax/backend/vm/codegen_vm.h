// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#ifndef TVM_SRC_RELAX_BACKEND_VM_CODEGEN_VM_H_
#define TVM_SRC_RELAX_BACKEND_VM_CODEGEN_VM_H_

#include <tvm/relax/expr.h>

#include "relax/backend/vm/exec_builder.h"

namespace tvm {
namespace relax {

enum class ExecMode {
  /// Instructions that the machine interprets.
  kBytecode,
  /// PrimFuncs `__vmtir__<name>`, to be compiled with the kernels.
  kNative,
};
/// `bytecode` or `compiled`; ValueError for anything else.
ExecMode ParseExecMode(const String& mode);

/// Generates code for every Relax function of a lowered module. Returns what is left to compile:
/// the kernels, and native code of the functions.
IRModule VMCodeGen(const ExecBuilder& builder, const IRModule& mod, ExecMode mode);

}  // namespace relax
}  // namespace tvm

#endif  // TVM_SRC_RELAX_BACKEND_VM_CODEGEN_VM_H_
