// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Complete and reduction blocks, output blocks, producers and consumers.
#include <unordered_set>

#include "s_tir/schedule/analysis.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

const SBlockNode* BlockOf(const StmtSRef& sref) {
  const auto* block = sref->StmtAs<SBlockNode>();
  TVM_FFI_ICHECK(block != nullptr) << "the reference is no block";
  return block;
}

/// Only writer of its outputs, and every reader of them comes after it.
bool IsDominant(State* state, const StmtSRef& block, const StmtSRef& local) {
  SBlockScope scope;
  if (local.defined()) {
    scope = SBlockScope(ChildBlocks(*state, local));
  } else if (block->parent() != nullptr) {
    scope = state->GetSBlockScope(ScopeRootOf(block));
  } else {
    return true;
  }
  std::unordered_set<const ffi::Object*> written;
  for (const BufferRegion& write : BlockOf(block)->writes) {
    written.insert(write->buffer.get());
    for (const StmtSRef& writer : scope->WritersOf(write->buffer)) {
      if (!writer.same_as(block)) return false;
    }
  }
  for (const StmtSRef& other : scope->blocks) {
    if (other.same_as(block)) break;
    for (const BufferRegion& read : BlockOf(other)->reads) {
      if (written.count(read->buffer.get()) != 0) return false;
    }
  }
  return true;
}

bool ReadsOwnWrites(const SBlockNode* block) {
  for (const BufferRegion& read : block->reads) {
    for (const BufferRegion& write : block->writes) {
      if (read->buffer.same_as(write->buffer)) return true;
    }
  }
  return false;
}

bool ReductionVarIndexesWrites(const SBlockNode* block) {
  std::unordered_set<const VarNode*> reduce_vars;
  for (const IterVar& iter : block->iter_vars) {
    if (iter->iter_type == kCommReduce) reduce_vars.insert(iter->var.get());
  }
  auto is_reduce = [&](const VarNode* var) { return reduce_vars.count(var) != 0; };
  bool found = false;
  PostOrderVisit(block->body, [&](const ffi::ObjectRef& node) {
    const auto* store = node.as<BufferStoreNode>();
    if (store == nullptr) return;
    for (const PrimExpr& index : store->indices) found = found || UsesVar(index, is_reduce);
  });
  for (const BufferRegion& write : block->writes) {
    for (const Range& range : write->region) {
      found = found || UsesVar(range->min, is_reduce) || UsesVar(range->extent, is_reduce);
    }
  }
  return found;
}

const char* kCompleteConditions =
    "(1 all iteration variables are data parallel, 2 it is the only writer of what it writes and "
    "comes before all readers, 3 it reads nothing that it writes)";
const char* kReductionConditions =
    "(1 it has an init statement, 2 its bindings are quasi-affine, 3 its iteration variables are "
    "data parallel or reductions, 4 it is the only writer of what it writes and comes before all "
    "readers, 5 no reduction variable indexes what it writes)";

}  // namespace

int CompleteBlockViolation(State* state, const StmtSRef& sref, const StmtSRef& local) {
  const SBlockNode* block = BlockOf(sref);
  for (const IterVar& iter : block->iter_vars) {
    if (iter->iter_type != kDataPar) return 1;
  }
  if (!IsDominant(state, sref, local)) return 2;
  return ReadsOwnWrites(block) ? 3 : 0;
}

int ReductionBlockViolation(State* state, const StmtSRef& sref, const StmtSRef& local) {
  const SBlockNode* block = BlockOf(sref);
  if (!block->init.has_value()) return 1;
  if (!state->IsAffineBlockBinding(sref)) return 2;
  for (const IterVar& iter : block->iter_vars) {
    if (iter->iter_type != kDataPar && iter->iter_type != kCommReduce) return 3;
  }
  if (!IsDominant(state, sref, local)) return 4;
  return ReductionVarIndexesWrites(block) ? 5 : 0;
}

bool IsCompleteBlock(State* state, const StmtSRef& block) {
  return CompleteBlockViolation(state, block, StmtSRef()) == 0;
}

bool IsReductionBlock(State* state, const StmtSRef& block) {
  return ReductionBlockViolation(state, block, StmtSRef()) == 0;
}

void CheckCompleteBlock(State* state, const StmtSRef& block) {
  int violated = CompleteBlockViolation(state, block, StmtSRef());
  SCHEDULE_CHECK(violated == 0, block) << "The block {0} is not a complete block: it violates "
                                          "condition #"
                                       << violated << " " << kCompleteConditions;
}

void CheckReductionBlock(State* state, const StmtSRef& block) {
  int violated = ReductionBlockViolation(state, block, StmtSRef());
  SCHEDULE_CHECK(violated == 0, block) << "The block {0} is not a reduction block: it violates "
                                          "condition #"
                                       << violated << " " << kReductionConditions;
}

namespace {
void CheckEither(State* state, const StmtSRef& block, const StmtSRef& local,
                 const ffi::ObjectRef& where) {
  int complete = CompleteBlockViolation(state, block, local);
  if (complete == 0) return;
  int reduction = ReductionBlockViolation(state, block, local);
  SCHEDULE_CHECK(reduction == 0, block, where)
      << "The block {0} is neither complete nor a reduction"
      << (local.defined() ? ", seen from the loop {1}" : "")
      << ": as a complete block it violates condition #" << complete << " " << kCompleteConditions
      << ", as a reduction block condition #" << reduction << " " << kReductionConditions;
}
}  // namespace

void CheckCompleteOrReductionBlock(State* state, const StmtSRef& block) {
  CheckEither(state, block, StmtSRef(), At(block));
}

void CheckSubtreeCompactDataflow(State* state, const StmtSRef& loop) {
  for (const StmtSRef& block : ChildBlocks(*state, loop)) {
    CheckEither(state, block, loop, At(loop));
  }
}

void CheckAffineBinding(State* state, const StmtSRef& block) {
  SCHEDULE_CHECK(state->IsAffineBlockBinding(block), block)
      << "The bindings of the block {0} are not a quasi-affine map of its loops";
}

void CheckStagePipeline(State* state, const StmtSRef& scope_root) {
  SCHEDULE_CHECK(state->IsStagePipeline(scope_root), scope_root)
      << "The scope {0} is not a stage pipeline: its body has to hold loops and blocks only, what "
         "a block reads has to be written in full before, and no block may overwrite what an "
         "earlier one reads";
}

bool IsOutputBlock(State* state, const StmtSRef& block, const StmtSRef& scope_root) {
  std::unordered_set<const ffi::Object*> allocated;
  for (const Buffer& buffer : BlockOf(scope_root)->alloc_buffers) allocated.insert(buffer.get());
  for (const BufferRegion& write : BlockOf(block)->writes) {
    if (allocated.count(write->buffer.get()) == 0) return true;
  }
  return false;
}

void CheckNotOutputBlock(State* state, const StmtSRef& block, const StmtSRef& scope_root) {
  SCHEDULE_CHECK(!IsOutputBlock(state, block, scope_root), block)
      << "The block {0} is an output block";
}

namespace {
ffi::Array<StmtSRef> Partners(State* state, const StmtSRef& block, bool consumers) {
  SBlockScope scope = state->GetSBlockScope(ScopeRootOf(block));
  ffi::Array<StmtSRef> result;
  std::unordered_set<const ffi::Object*> seen{block.get()};
  for (const Dependency& dep :
       consumers ? scope->GetDepsBySrc(block) : scope->GetDepsByDst(block)) {
    if (dep->kind != DepKind::kRAW) continue;
    const StmtSRef& other = consumers ? dep->dst : dep->src;
    if (seen.insert(other.get()).second) result.push_back(other);
  }
  return result;
}
}  // namespace

ffi::Array<StmtSRef> ConsumersOf(State* state, const StmtSRef& block) {
  return Partners(state, block, true);
}

ffi::Array<StmtSRef> ProducersOf(State* state, const StmtSRef& block) {
  return Partners(state, block, false);
}

bool IsTrivialBinding(const State& state, const StmtSRef& block) {
  SBlockRealize realize = RealizeOf(state, block);
  ffi::Array<StmtSRef> loops = LoopsAbove(block);
  if (loops.size() != realize->iter_values.size()) return false;
  for (size_t i = 0; i < loops.size(); ++i) {
    if (!realize->iter_values[i].same_as(loops[i]->StmtAs<ForNode>()->loop_var)) return false;
  }
  return true;
}

}  // namespace s_tir
}  // namespace tvm
