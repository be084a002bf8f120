// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief The frames that builder functions work on.
#ifndef TVM_SRC_RELAX_SCRIPT_IR_BUILDER_UTILS_H_
#define TVM_SRC_RELAX_SCRIPT_IR_BUILDER_UTILS_H_

#include <tvm/relax/ir_builder.h>

namespace tvm::script::ir_builder::relax {

/// Innermost function being built; ValueError names `who` when there is none.
FunctionFrame CurrentFunction(const char* who);
/// The block that takes the next binding, opened if none is open.
BindingBlockFrame CurrentBlock(const char* who);

}  // namespace tvm::script::ir_builder::relax

#endif  // TVM_SRC_RELAX_SCRIPT_IR_BUILDER_UTILS_H_
