// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief What an executable says of its functions: names, types and shapes of inputs and outputs.
#ifndef TVM_SRC_RELAX_BACKEND_VM_SIGNATURE_H_
#define TVM_SRC_RELAX_BACKEND_VM_SIGNATURE_H_

#include <tvm/ir/module.h>

#include "relax/backend/vm/exec_builder.h"

namespace tvm {
namespace relax {

/// Adds a function `__tvm_signature_<f>` for each public function f of `mod` as it was given to the
/// compiler. It takes nothing and returns the JSON text
///
///   {"inputs": [{"name": "x", "dtype": "float32", "shape": [1, null]}], "outputs": [...]}
///
/// where null stands for an extent that is open. Functions whose parameters or results are not all
/// tensors get none.
void EmitSignatures(const ExecBuilder& builder, const IRModule& mod);

}  // namespace relax
}  // namespace tvm

#endif  // TVM_SRC_RELAX_BACKEND_VM_SIGNATURE_H_
