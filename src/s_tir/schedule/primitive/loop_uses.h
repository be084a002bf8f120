// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Which loops feed which iteration variables of a block.
#ifndef TVM_SRC_S_TIR_SCHEDULE_PRIMITIVE_LOOP_USES_H_
#define TVM_SRC_S_TIR_SCHEDULE_PRIMITIVE_LOOP_USES_H_

#include <vector>

#include "s_tir/schedule/primitive/loop_checks.h"

namespace tvm {
namespace s_tir {

struct LoopUse {
  bool spatial = false;
  bool reduce = false;
};

inline LoopUse UseOfLoop(const tirx::SBlockRealize& realize, const StmtSRef& loop) {
  LoopUse use;
  for (size_t i = 0; i < realize->iter_values.size(); ++i) {
    if (!UsesLoop(realize->iter_values[i], loop)) continue;
    (realize->block->iter_vars[i]->iter_type == tirx::kCommReduce ? use.reduce : use.spatial) =
        true;
  }
  return use;
}

/// A copy of a loop with another variable and body.
inline tirx::For CopyLoop(const tirx::ForNode* loop, const tirx::Var& var, Range range,
                          tirx::Stmt body) {
  return tirx::For(var, range->min, range->extent, loop->kind, std::move(body),
                   loop->thread_binding, loop->annotations, loop->step);
}

}  // namespace s_tir
}  // namespace tvm

#endif  // TVM_SRC_S_TIR_SCHEDULE_PRIMITIVE_LOOP_USES_H_
