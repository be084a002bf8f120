// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// New loops for a block whose iteration variables run over given ranges.
#ifndef TVM_SRC_S_TIR_SCHEDULE_PRIMITIVE_BLOCK_NEST_H_
#define TVM_SRC_S_TIR_SCHEDULE_PRIMITIVE_BLOCK_NEST_H_

#include <optional>
#include <vector>

#include "s_tir/schedule/primitive/loop_checks.h"

namespace tvm {
namespace s_tir {

/// Bounds of an iteration variable, both included; nothing stands for its whole domain.
struct VarBounds {
  PrimExpr low;
  PrimExpr high;
};
using BlockBounds = std::vector<std::optional<VarBounds>>;

/// Loops "ax0", "ax1", ... around a realize of `block`. A variable that its bounds may push out of
/// its domain is held in by the predicate. Extents are constants where the analyzer has a bound.
tirx::Stmt MakeBlockNest(const tirx::SBlock& block, const BlockBounds& bounds,
                         bool preserve_unit_loops, const arith::Analyzer& analyzer);

/// Values of one variable for which `index` (of extent `extent`) can touch [low, high]: all of
/// them and maybe more.
struct IndexSolution {
  tirx::Var var;
  VarBounds bounds;
  /// Exactly those values whose whole index lies in [low, high].
  bool exact = false;
};
/// Nothing if the index has no variable of `domains`, or a form that cannot be solved.
std::vector<IndexSolution> SolveIndex(const PrimExpr& index, const PrimExpr& extent,
                                      const VarBounds& target,
                                      const ffi::Map<tirx::Var, Range>& domains,
                                      const arith::Analyzer& analyzer);

/// Where to insert below a loop: from what has to come before and after.
struct InsertRange {
  int64_t first = 0;
  int64_t last = 0;
};
/// Position for the user's index: -1 last possible, -2 first possible.
int64_t ChoosePosition(const StmtSRef& block, const StmtSRef& loop, const InsertRange& range,
                       int64_t index);
/// Positions after all of `before` and up to the first of `after`, among the members of the loop's
/// body. Blocks elsewhere do not count.
InsertRange PositionsBetween(const State& state, const StmtSRef& block, const StmtSRef& loop,
                             const ffi::Array<StmtSRef>& before, const ffi::Array<StmtSRef>& after);
/// Takes `block` out of its place and puts `nest` into the body of `loop` at `position`.
void MoveBlock(State* state, const StmtSRef& block, const StmtSRef& scope_root,
               const StmtSRef& loop, const tirx::Stmt& nest, int64_t position);

}  // namespace s_tir
}  // namespace tvm

#endif  // TVM_SRC_S_TIR_SCHEDULE_PRIMITIVE_BLOCK_NEST_H_
