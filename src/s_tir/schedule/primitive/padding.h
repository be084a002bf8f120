// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#ifndef TVM_SRC_S_TIR_SCHEDULE_PRIMITIVE_PADDING_H_
#define TVM_SRC_S_TIR_SCHEDULE_PRIMITIVE_PADDING_H_

#include "s_tir/schedule/analysis.h"

namespace tvm {
namespace s_tir {

/// Fills the buffer that a padding block writes before `loop`, and leaves the block what is inside
/// of the padding. Returns the block that fills.
StmtSRef DecomposePadding(State* state, const StmtSRef& block, const StmtSRef& loop);

}  // namespace s_tir
}  // namespace tvm

#endif  // TVM_SRC_S_TIR_SCHEDULE_PRIMITIVE_PADDING_H_
