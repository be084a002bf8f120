// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#ifndef TVM_SRC_RELAX_BACKEND_VM_CODEGEN_VM_H_
#define TVM_SRC_RELAX_BACKEND_VM_CODEGEN_VM_H_

#include <tvm/relax/expr.h>

#include "relax/backend/vm/exec_builder.h"

namespace tvm {
namespace relax {

/// Emits bytecode for every Relax function of a lowered module; returns what is left (kernels).
IRModule VMCodeGen(const ExecBuilder& builder, const IRModule& mod);

}  // namespace relax
}  // namespace tvm

#endif  // TVM_SRC_RELAX_BACKEND_VM_CODEGEN_VM_H_
