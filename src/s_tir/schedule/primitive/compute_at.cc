// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// compute_at: a block moves into a loop of its consumers, and computes there what they read.
///
///   for i, j: B[i, j] = ..      ==>   for i:
///   for i, j: C[i, j] = B[i, j]         for ax0: B[i, ax0] = ..
///                                       for j: C[i, j] = B[i, j]
#include "s_tir/schedule/primitive/block_nest.h"
#include "s_tir/schedule/primitive/inline_util.h"
#include "s_tir/schedule/primitive/loop_uses.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)
using arith::IntSet;

namespace {

void CheckMove(State* state, const StmtSRef& block, const StmtSRef& loop,
               const StmtSRef& scope_root) {
  LoopOf(loop);
  SCHEDULE_CHECK(ScopeRootOf(loop).same_as(scope_root), block, loop)
      << "The block {0} and the loop {1} have to be in the same scope";
  CheckStagePipeline(state, scope_root);
  CheckCompleteOrReductionBlock(state, block);
  SCHEDULE_CHECK(!Encloses(loop, block), block, loop)
      << "The loop {1} is already around the block {0}";
}

ffi::Map<Var, Range> RelaxedLoops(const StmtSRef& consumer, const StmtSRef& loop,
                                  const Buffer& buffer) {
  ffi::Map<Var, Range> result = LoopDomains(consumer, loop);
  for (const auto& [var, range] : ThreadDomains(loop, std::string(buffer.scope()))) {
    result.Set(var, range);
  }
  return result;
}

/// What the consumers in `loop` read of `buffer` during one iteration of it.
ffi::Array<IntSet> RequiredRegion(const State& state, const ffi::Array<StmtSRef>& consumers,
                                  const StmtSRef& loop, const Buffer& buffer,
                                  const arith::Analyzer& analyzer) {
  ffi::Array<ffi::Array<IntSet>> regions;
  for (const StmtSRef& consumer : consumers) {
    SBlockRealize realize = RealizeOf(state, consumer);
    for (const BufferRegion& read : realize->block->reads) {
      if (!read->buffer.same_as(buffer)) continue;
      regions.push_back(
          RegionUpperBound(realize, read, RelaxedLoops(consumer, loop, buffer), analyzer));
    }
  }
  if (regions.empty()) return {};
  return regions.size() == 1 ? regions[0] : arith::UnionRegion(regions);
}

void Widen(std::optional<VarBounds>* bounds, const VarBounds& more, bool first) {
  if (first) {
    *bounds = more;
  } else if (bounds->has_value()) {
    *bounds = VarBounds{min((*bounds)->low, more.low), max((*bounds)->high, more.high)};
  }
}

/// Ranges of the block's variables that write all that is required.
BlockBounds SolveForRequired(const State& state, const StmtSRef& sref,
                             const ffi::Array<StmtSRef>& consumers, const StmtSRef& loop,
                             const arith::Analyzer& analyzer) {
  const auto* block = sref->StmtAs<SBlockNode>();
  ffi::Map<Var, Range> domains;
  for (const IterVar& iter : block->iter_vars) domains.Set(iter->var, iter->dom);
  BlockBounds result(block->iter_vars.size());
  bool first = true;
  for (const BufferRegion& write : block->writes) {
    ffi::Array<IntSet> required = RequiredRegion(state, consumers, loop, write->buffer, analyzer);
    if (required.empty()) continue;
    BlockBounds own(block->iter_vars.size());
    for (size_t d = 0; d < required.size(); ++d) {
      if (!required[d].HasLowerBound() || !required[d].HasUpperBound()) continue;
      const Range& range = write->region[d];
      for (const IndexSolution& solution :
           SolveIndex(range->min, range->extent, {required[d].min(), required[d].max()}, domains,
                      analyzer)) {
        for (size_t i = 0; i < own.size(); ++i) {
          const IterVar& iter = block->iter_vars[i];
          if (!iter->var.same_as(solution.var) || own[i].has_value()) continue;
          // A reduction is done in full wherever it is done.
          if (iter->iter_type == kDataPar) own[i] = solution.bounds;
        }
      }
    }
    for (size_t i = 0; i < own.size(); ++i) {
      if (own[i].has_value()) {
        Widen(&result[i], own[i].value(), first);
      } else {
        result[i] = std::nullopt;
      }
    }
    first = false;
  }
  return result;
}

void ComputeAt(State* state, const StmtSRef& block, const StmtSRef& loop, bool preserve_unit_loops,
               int64_t index) {
  const StmtSRef scope_root = ScopeRootOf(block);
  CheckMove(state, block, loop, scope_root);
  CheckNotOutputBlock(state, block, scope_root);
  const ffi::Array<StmtSRef> consumers = ConsumersOf(state, block);
  SCHEDULE_CHECK(!consumers.empty(), block) << "The block {0} has no consumer to be computed at";
  for (const StmtSRef& consumer : consumers) {
    SCHEDULE_CHECK(Encloses(loop, consumer), block, loop, consumer)
        << "All consumers of the block {0} have to be in the loop {1}, but {2} is not";
  }
  CheckPredicateIsDomain(*state, block);
  InsertRange range = PositionsBetween(*state, block, loop, ProducersOf(state, block), consumers);
  const int64_t position = ChoosePosition(block, loop, range, index);
  arith::Analyzer analyzer = AnalyzerAt(*state, loop);
  BlockBounds bounds = SolveForRequired(*state, block, consumers, loop, analyzer);
  Stmt nest =
      MakeBlockNest(Downcast<SBlock>(block->stmt.value()), bounds, preserve_unit_loops, analyzer);
  MoveBlock(state, block, scope_root, loop, nest, position);
}

/// What the producers in `loop` have written of `buffer` after one iteration of it.
ffi::Array<IntSet> ProvidedRegion(const State& state, const ffi::Array<StmtSRef>& producers,
                                  const StmtSRef& loop, const Buffer& buffer,
                                  const arith::Analyzer& analyzer) {
  ffi::Array<ffi::Array<IntSet>> regions;
  for (const StmtSRef& producer : producers) {
    SBlockRealize realize = RealizeOf(state, producer);
    for (const BufferRegion& write : realize->block->writes) {
      if (!write->buffer.same_as(buffer)) continue;
      ffi::Map<Var, Range> loops = RelaxedLoops(producer, loop, buffer);
      auto region = RegionLowerBound(realize, write, loops, analyzer);
      // Under a predicate that only cuts off the tail, the bound from above says the same.
      regions.push_back(region.has_value() ? region.value()
                                           : RegionUpperBound(realize, write, loops, analyzer));
    }
  }
  if (regions.empty()) return {};
  return regions.size() == 1 ? regions[0] : arith::UnionRegion(regions);
}

/// Ranges of the block's variables whose reads are provided in this iteration.
BlockBounds SolveForProvided(const State& state, const StmtSRef& sref,
                             const ffi::Array<StmtSRef>& producers, const StmtSRef& loop,
                             const arith::Analyzer& analyzer) {
  const auto* block = sref->StmtAs<SBlockNode>();
  ffi::Map<Var, Range> domains;
  for (const IterVar& iter : block->iter_vars) domains.Set(iter->var, iter->dom);
  BlockBounds result(block->iter_vars.size());
  for (const BufferRegion& read : block->reads) {
    ffi::Array<IntSet> provided = ProvidedRegion(state, producers, loop, read->buffer, analyzer);
    for (size_t d = 0; d < provided.size(); ++d) {
      const PrimExpr& extent = read->buffer.shape()[d];
      const bool bounded = provided[d].HasLowerBound() && provided[d].HasUpperBound();
      if (bounded && analyzer->CanProve(provided[d].min() <= 0) &&
          analyzer->CanProve(provided[d].max() >= extent - 1)) {
        continue;  // the whole axis is there
      }
      std::vector<IndexSolution> solutions;
      if (bounded) {
        solutions = SolveIndex(read->region[d]->min, read->region[d]->extent,
                               {provided[d].min(), provided[d].max()}, domains, analyzer);
      }
      SCHEDULE_CHECK(solutions.size() == 1 && solutions[0].exact, sref, loop)
          << "The block {0} reads the axis " << d << " of " << read->buffer->name << " at "
          << read->region[d]->min << " (extent " << read->region[d]->extent
          << "): which of its iterations can run in one iteration of the loop {1} cannot be found";
      for (size_t i = 0; i < result.size(); ++i) {
        if (!block->iter_vars[i]->var.same_as(solutions[0].var)) continue;
        const VarBounds& more = solutions[0].bounds;
        if (!result[i].has_value()) {
          result[i] = more;
        } else if (!analyzer->CanProveEqual(result[i]->low, more.low) ||
                   !analyzer->CanProveEqual(result[i]->high, more.high)) {
          SCHEDULE_FAIL(sref, loop)
              << "What the block {0} reads asks for different ranges of "
              << block->iter_vars[i]->var->name << " in one iteration of the loop {1}";
        }
      }
    }
  }
  return result;
}

/// Iterations that run at once must not add to the same element.
void CheckNoParallelReduction(const SBlockRealize& realize, const StmtSRef& block) {
  for (const StmtSRef& loop : LoopsAbove(block)) {
    const ForNode* node = LoopOf(loop);
    if (node->kind == ForKind::kSerial || node->kind == ForKind::kUnrolled) continue;
    SCHEDULE_CHECK(!UseOfLoop(realize, loop).reduce, block, loop)
        << "The block {0} would reduce along the loop {1}, which is " << ForKind2String(node->kind);
  }
}

/// Over all loops, the bindings have to reach the whole domain of each variable.
void CheckWholeDomain(const State& state, const SBlockRealize& realize, const StmtSRef& block,
                      const StmtSRef& loop) {
  ffi::Map<Var, IntSet> loops = arith::AsIntSet(LoopDomains(block));
  arith::Analyzer analyzer = AnalyzerAt(state, ScopeRootOf(block));
  for (size_t i = 0; i < realize->iter_values.size(); ++i) {
    const IterVar& iter = realize->block->iter_vars[i];
    IntSet reached = arith::EvalSet(realize->iter_values[i], loops, analyzer);
    PrimExpr last = iter->dom->min + iter->dom->extent - 1;
    SCHEDULE_CHECK(reached.HasLowerBound() && reached.HasUpperBound() &&
                       analyzer->CanProve(reached.min() <= iter->dom->min) &&
                       analyzer->CanProve(reached.max() >= last),
                   block, loop)
        << "Some iterations of the block {0} read nothing that is written in the loop {1}: it "
           "would run for "
        << iter->var->name << " in " << reached.min() << " to " << reached.max() << " only";
  }
}

void ReverseComputeAt(State* state, const StmtSRef& block, const StmtSRef& loop,
                      bool preserve_unit_loops, int64_t index) {
  const StmtSRef scope_root = ScopeRootOf(block);
  CheckMove(state, block, loop, scope_root);
  const ffi::Array<StmtSRef> producers = ProducersOf(state, block);
  SCHEDULE_CHECK(!producers.empty(), block) << "The block {0} has no producer to be computed at";
  for (const StmtSRef& producer : producers) {
    SCHEDULE_CHECK(Encloses(loop, producer), block, loop, producer)
        << "All producers of the block {0} have to be in the loop {1}, but {2} is not";
  }
  CheckPredicateIsDomain(*state, block);
  InsertRange range = PositionsBetween(*state, block, loop, producers, ConsumersOf(state, block));
  const int64_t position = ChoosePosition(block, loop, range, index);
  arith::Analyzer analyzer = AnalyzerAt(*state, loop);
  BlockBounds bounds = SolveForProvided(*state, block, producers, loop, analyzer);
  bool partial = false;
  for (const auto& bound : bounds) partial = partial || bound.has_value();
  const bool reduction = block->StmtAs<SBlockNode>()->init.has_value();
  Stmt nest =
      MakeBlockNest(Downcast<SBlock>(block->stmt.value()), bounds, preserve_unit_loops, analyzer);
  MoveBlock(state, block, scope_root, loop, nest, position);
  if (!partial && !reduction) return;
  // Each iteration has to run once, over all of the loops around.
  SBlockRealize realize = RealizeOf(*state, block);
  CheckNoParallelReduction(realize, block);
  CheckWholeDomain(*state, realize, block, loop);
  SCHEDULE_CHECK(IsAffineBinding(realize, LoopDomains(block), AnalyzerAt(*state, loop)), block,
                 loop)
      << "It cannot be shown that each iteration of the block {0} would run exactly once in the "
         "loop {1}";
}

const PrimitiveRegistration kComputeAt{{
    .name = "ComputeAt",
    .method = "compute_at",
    .params = "block=i0 loop=i1 preserve_unit_loops=a0:bool index=a1",
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      StmtSRef loop = call.Loop(1);
      // A sampled location may say: stay, or inline.
      if (loop.same_as(StmtSRef::RootMark())) return {};
      if (loop.same_as(StmtSRef::InlineMark())) {
        ComputeInline(call.state, call.Block(0));
        return {};
      }
      ComputeAt(call.state, call.Block(0), loop, call.Flag(0), call.Int(1));
      return {};
    },
}};

const PrimitiveRegistration kReverseComputeAt{{
    .name = "ReverseComputeAt",
    .method = "reverse_compute_at",
    .params = "block=i0 loop=i1 preserve_unit_loops=a0:bool index=a1",
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      StmtSRef loop = call.Loop(1);
      if (loop.same_as(StmtSRef::RootMark())) return {};
      if (loop.same_as(StmtSRef::InlineMark())) {
        ReverseComputeInline(call.state, call.Block(0));
        return {};
      }
      ReverseComputeAt(call.state, call.Block(0), loop, call.Flag(0), call.Int(1));
      return {};
    },
}};

}  // namespace

}  // namespace s_tir
}  // namespace tvm
