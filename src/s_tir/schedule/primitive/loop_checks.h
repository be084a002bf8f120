// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Conditions that several loop primitives share.
#ifndef TVM_SRC_S_TIR_SCHEDULE_PRIMITIVE_LOOP_CHECKS_H_
#define TVM_SRC_S_TIR_SCHEDULE_PRIMITIVE_LOOP_CHECKS_H_

#include <vector>

#include "s_tir/schedule/primitive_registry.h"
#include "s_tir/schedule/rewrite.h"

namespace tvm {
namespace s_tir {

/// The loop of a reference: a failure unless it is one.
const tirx::ForNode* LoopOf(const StmtSRef& loop);
/// Neither annotations nor a thread binding, nor a kind other than serial: all would be lost.
void CheckPlainLoop(const StmtSRef& loop);
void CheckStartsAtZero(const StmtSRef& loop, const arith::Analyzer& analyzer);
/// Each loop is the only statement in the one before.
void CheckChain(const std::vector<StmtSRef>& loops);
/// The loops are a chain, and the innermost holds nothing but the block.
void CheckChainToBlock(const State& state, const ffi::Array<StmtSRef>& loops,
                       const StmtSRef& block);
/// Factors of split and loop_partition: at most one is left open, all are positive. Returns the
/// position of the open one, or -1.
int CheckFactors(const StmtSRef& loop, const ffi::Array<ffi::Optional<PrimExpr>>& factors,
                 const arith::Analyzer& analyzer);
/// References to the loops of a nest just put in, outermost first.
ffi::Array<StmtSRef> NestSRefs(const State& state, const tirx::Stmt& nest, size_t count);

}  // namespace s_tir
}  // namespace tvm

#endif  // TVM_SRC_S_TIR_SCHEDULE_PRIMITIVE_LOOP_CHECKS_H_
