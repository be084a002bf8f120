// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Questions that primitives ask about the program. Functions named Check* throw ScheduleFailure.
#ifndef TVM_SRC_S_TIR_SCHEDULE_ANALYSIS_H_
#define TVM_SRC_S_TIR_SCHEDULE_ANALYSIS_H_

#include <tvm/arith/analyzer.h>
#include <tvm/arith/iter_affine_map.h>
#include <tvm/s_tir/schedule/state.h>

#include <functional>
#include <string>
#include <vector>

#include "s_tir/schedule/failure.h"

namespace tvm {
namespace s_tir {

using State = ScheduleStateNode;

/// The statement as a loop or block; null if it is the other.
template <typename Node>
const Node* NodeAs(const tirx::StmtNode* stmt) {
  return stmt->IsInstance<Node>() ? static_cast<const Node*>(stmt) : nullptr;
}

// ---- the tree (tree.cc) ----

/// Blocks below a loop or block, those inside of other blocks left out, in program order.
ffi::Array<StmtSRef> ChildBlocks(const State& state, const StmtSRef& parent);
/// Loops between a block and its enclosing block, outermost first.
ffi::Array<StmtSRef> LoopsAbove(const StmtSRef& block);
/// The enclosing block; a failure for a root block.
StmtSRef ScopeRootOf(const StmtSRef& sref);
tirx::SBlockRealize RealizeOf(const State& state, const StmtSRef& block);
/// Whether `above` is `below` or encloses it.
bool Encloses(const StmtSRef& above, const StmtSRef& below);
/// The innermost loop or block that encloses all of them.
StmtSRef CommonAncestor(const std::vector<StmtSRef>& srefs);
/// The child of `ancestor` on the way down to `sref`.
StmtSRef ChildTowards(const StmtSRef& ancestor, const StmtSRef& sref);
tirx::Stmt BodyOf(const StmtSRef& sref);
/// The statements of a sequence, or the one statement.
ffi::Array<tirx::Stmt> StmtsOf(const tirx::Stmt& body);
/// All blocks of that name in a function.
ffi::Array<StmtSRef> BlocksNamed(const State& state, const std::string& name,
                                 const GlobalVar& func);
tirx::PrimFunc FunctionAround(const State& state, const StmtSRef& sref);

// ---- domains ----

/// Ranges of the loops around `low`, up to but without `high` (null: up to the scope's block).
ffi::Map<tirx::Var, Range> LoopDomains(const StmtSRef& low, const StmtSRef& high = StmtSRef());
/// The threads below the reach of a storage scope are seen as one: their loops above `sref`.
ffi::Map<tirx::Var, Range> ThreadDomains(const StmtSRef& sref, const std::string& storage_scope);
/// An analyzer that knows the loops and block variables around `sref`, itself included, and that
/// extents of parameters are not negative.
arith::Analyzer AnalyzerAt(const State& state, const StmtSRef& sref);

// ---- kinds of blocks (block_kind.cc) ----

/// 0 if the block is complete, else the number of the condition that fails: 1 all iteration
/// variables are data parallel, 2 it is the only writer of what it writes, and before its readers,
/// 3 it reads nothing that it writes. With `local` only the blocks below it count.
int CompleteBlockViolation(State* state, const StmtSRef& block, const StmtSRef& local);
/// The same for reduction blocks: 1 it has an init, 2 its bindings are quasi-affine, 3 iteration
/// variables are data parallel or reduce, 4 it is the only writer, 5 no reduction variable
/// indexes what it writes.
int ReductionBlockViolation(State* state, const StmtSRef& block, const StmtSRef& local);
bool IsCompleteBlock(State* state, const StmtSRef& block);
bool IsReductionBlock(State* state, const StmtSRef& block);
void CheckCompleteBlock(State* state, const StmtSRef& block);
void CheckReductionBlock(State* state, const StmtSRef& block);
void CheckCompleteOrReductionBlock(State* state, const StmtSRef& block);
/// All blocks below `loop` are complete or reductions, seen from `loop`.
void CheckSubtreeCompactDataflow(State* state, const StmtSRef& loop);
void CheckAffineBinding(State* state, const StmtSRef& block);
void CheckStagePipeline(State* state, const StmtSRef& scope_root);
/// Writes a buffer that its scope does not allocate.
bool IsOutputBlock(State* state, const StmtSRef& block, const StmtSRef& scope_root);
/// A block that is no output: a failure otherwise.
void CheckNotOutputBlock(State* state, const StmtSRef& block, const StmtSRef& scope_root);
/// Blocks that read what `block` writes / that write what it reads.
ffi::Array<StmtSRef> ConsumersOf(State* state, const StmtSRef& block);
ffi::Array<StmtSRef> ProducersOf(State* state, const StmtSRef& block);
/// Whether each iteration variable is bound to a loop of its own, in full.
bool IsTrivialBinding(const State& state, const StmtSRef& block);

// ---- regions (region.cc) ----

/// Bindings are a quasi-affine image of the loops (not more than one iteration per value).
bool IsAffineBinding(const tirx::SBlockRealize& realize, const ffi::Map<tirx::Var, Range>& loops,
                     const arith::Analyzer& analyzer);
/// Whether a block runs for every value of its variables' domains.
bool RunsOverDomain(const State& state, const StmtSRef& block);
/// Fails unless the predicate of a block only keeps its variables inside of their domains (and each
/// value to one iteration), so that new loops over the domains need not repeat it.
void CheckPredicateIsDomain(const State& state, const StmtSRef& block);
/// Whether a block runs wherever its variables are inside of their domains.
bool DomainImpliesPredicate(const State& state, const StmtSRef& block);
/// Block variable -> bound value.
ffi::Map<tirx::Var, PrimExpr> Bindings(const tirx::SBlockRealize& realize);
ffi::Array<Range> SubstituteRegion(const ffi::Array<Range>& region,
                                   const ffi::Map<tirx::Var, PrimExpr>& values);
/// The region over all values of some loops: covering it / covered by it (or nothing).
ffi::Array<arith::IntSet> RegionUpperBound(const tirx::SBlockRealize& realize,
                                           const tirx::BufferRegion& region,
                                           const ffi::Map<tirx::Var, Range>& loops,
                                           const arith::Analyzer& analyzer);
ffi::Optional<ffi::Array<arith::IntSet>> RegionLowerBound(const tirx::SBlockRealize& realize,
                                                          const tirx::BufferRegion& region,
                                                          const ffi::Map<tirx::Var, Range>& loops,
                                                          const arith::Analyzer& analyzer);
/// Whether `inner`, as far as it lies inside of the buffer, is part of `outer`.
bool ProvablyCovers(const ffi::Array<arith::IntSet>& outer, const ffi::Array<arith::IntSet>& inner,
                    const tirx::Buffer& buffer, const arith::Analyzer& analyzer);
/// The i-th buffer a block reads or writes; a failure if there are fewer.
tirx::BufferRegion NthRegion(const StmtSRef& block, int64_t index, bool is_write);
tirx::Buffer NthBuffer(const StmtSRef& block, int64_t index, bool is_write);
/// The block that allocates `buffer`; null if it is a parameter.
StmtSRef AllocationSite(const StmtSRef& below, const tirx::Buffer& buffer);
bool MentionsVar(const ffi::ObjectRef& node, const std::function<bool(const tirx::VarNode*)>& is);
/// Whether `value` uses the loop's variable.
bool UsesLoop(const PrimExpr& value, const StmtSRef& loop);

}  // namespace s_tir
}  // namespace tvm

#endif  // TVM_SRC_S_TIR_SCHEDULE_ANALYSIS_H_
