// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#ifndef TVM_SRC_S_TIR_SCHEDULE_PRIMITIVE_BLOCKIZE_H_
#define TVM_SRC_S_TIR_SCHEDULE_PRIMITIVE_BLOCKIZE_H_

#include "s_tir/schedule/primitive_registry.h"
#include "s_tir/schedule/rewrite.h"

namespace tvm {
namespace s_tir {

/// Makes the loop, and all inside of it, one block.
StmtSRef Blockize(State* state, const StmtSRef& loop, bool preserve_unit_iters);

}  // namespace s_tir
}  // namespace tvm

#endif  // TVM_SRC_S_TIR_SCHEDULE_PRIMITIVE_BLOCKIZE_H_
