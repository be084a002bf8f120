// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// decompose_reduction: the init of a reduction becomes a block of its own, before a loop.
///
///   for i, k:                   ==>   for i:
///     with block("C"):                  with block("C_init"): C[i] = 0
///       init: C[i] = 0                  for k: with block("C_update"): C[i] += A[i, k]
///       C[i] += A[i, k]
#include "s_tir/schedule/primitive/inline_util.h"
#include "s_tir/schedule/primitive/loop_uses.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

void CheckPlace(State* state, const StmtSRef& block, const StmtSRef& loop) {
  CheckReductionBlock(state, block);
  LoopOf(loop);
  SCHEDULE_CHECK(Encloses(loop, block) && ScopeRootOf(loop).same_as(ScopeRootOf(block)), block,
                 loop)
      << "The loop {1} has to be one of the loops of the block {0}";
  const SBlockRealize realize = RealizeOf(*state, block);
  for (const StmtSRef& outer : LoopsAbove(block)) {
    if (outer.same_as(loop)) return;
    SCHEDULE_CHECK(!UseOfLoop(realize, outer).reduce, block, loop, outer)
        << "The loop {1} has to be above all reduction loops of the block {0}, but {2} is above it";
  }
}

/// Builds the nest that initialises what the loops from `loop` inwards reduce into.
class InitNest {
 public:
  InitNest(const State& state, const StmtSRef& block, const StmtSRef& loop)
      : block_(block), realize_(RealizeOf(state, block)) {
    bool inside = false;
    for (const StmtSRef& candidate : LoopsAbove(block)) {
      inside = inside || candidate.same_as(loop);
      if (inside) AddLoop(candidate);
    }
  }

  Stmt Build() {
    Stmt nest = SBlockRealize(Values(), Predicate(), Block());
    for (size_t i = loops_.size(); i-- > 0;) {
      nest = CopyLoop(LoopOf(loops_[i]), vars_[i], ranges_[i], std::move(nest));
    }
    return nest;
  }

 private:
  void AddLoop(const StmtSRef& sref) {
    const ForNode* loop = LoopOf(sref);
    const LoopUse use = UseOfLoop(realize_, sref);
    SCHEDULE_CHECK(!use.reduce || !use.spatial, block_, sref)
        << "The loop {1} feeds both data parallel and reduction variables of the block {0}";
    // A loop that only the predicate knows still decides which iterations there are.
    SCHEDULE_CHECK(use.reduce || use.spatial || is_one(loop->extent), block_, sref)
        << "The block {0} does not depend on the loop {1}, which repeats it: without its init, it "
           "would add up what it computes";
    if (use.reduce || (!use.spatial && !UsesLoop(realize_->predicate, sref))) {
      dropped_.push_back(sref);
      return;
    }
    Range range = Substitute(Range::FromMinExtent(loop->min, loop->extent), renamed_);
    for (const StmtSRef& gone : dropped_) {
      SCHEDULE_CHECK(!UsesLoop(range->min, gone) && !UsesLoop(range->extent, gone), block_, sref)
          << "The domain of the loop {1} depends on a loop that the init of the block {0} does not "
             "have";
    }
    Var var = loop->loop_var.copy_with_suffix("_init");
    renamed_.Set(loop->loop_var, var);
    loops_.push_back(sref);
    vars_.push_back(var);
    ranges_.push_back(range);
  }

  ffi::Array<PrimExpr> Values() {
    ffi::Array<PrimExpr> values;
    for (size_t i = 0; i < realize_->iter_values.size(); ++i) {
      if (realize_->block->iter_vars[i]->iter_type == kCommReduce) continue;
      values.push_back(Substitute(realize_->iter_values[i], renamed_));
    }
    return values;
  }

  PrimExpr Predicate() {
    PrimExpr result = Bool(true);
    for (const PrimExpr& part : Conjuncts(realize_->predicate)) {
      bool uses_dropped = false, uses_kept = false;
      for (const StmtSRef& loop : LoopsAbove(block_)) {
        if (!UsesLoop(part, loop)) continue;
        bool dropped = false;
        for (const StmtSRef& gone : dropped_) dropped = dropped || gone.same_as(loop);
        (dropped ? uses_dropped : uses_kept) = true;
      }
      SCHEDULE_CHECK(!uses_dropped || !uses_kept, block_)
          << "The predicate " << part
          << " of the block {0} mixes data parallel and reduction loops";
      if (!uses_dropped) result = Conjoin(result, Substitute(part, renamed_));
    }
    return result;
  }

  SBlock Block() {
    const SBlock& block = realize_->block;
    ffi::Map<Var, PrimExpr> fresh;
    ffi::Array<IterVar> iters;
    for (const IterVar& iter : block->iter_vars) {
      if (iter->iter_type == kCommReduce) continue;
      Var var = iter->var.copy_with_suffix("");
      fresh.Set(iter->var, var);
      iters.push_back(IterVar(Substitute(iter->dom, fresh), var, iter->iter_type));
    }
    Stmt body = Substituter(fresh).Run(block->init.value());
    SBlock init(iters, {}, {}, std::string(block->name_hint) + "_init", body, std::nullopt, {}, {},
                block->annotations);
    return RefreshRegions(init);
  }

  StmtSRef block_;
  SBlockRealize realize_;
  std::vector<StmtSRef> loops_, dropped_;
  std::vector<Var> vars_;
  std::vector<Range> ranges_;
  ffi::Map<Var, PrimExpr> renamed_;
};

SBlock UpdateBlock(const SBlock& block) {
  SBlock update = block;
  SBlockNode* node = update.CopyOnWrite();
  node->name_hint = std::string(block->name_hint) + "_update";
  node->init = std::nullopt;
  ffi::Array<BufferRegion> reads = block->writes;
  for (const BufferRegion& read : block->reads) {
    bool known = false;
    for (const BufferRegion& write : block->writes) {
      known = known || write->buffer.same_as(read->buffer);
    }
    if (!known) reads.push_back(read);
  }
  node->reads = std::move(reads);
  return update;
}

StmtSRef DecomposeReduction(State* state, const StmtSRef& block, const StmtSRef& loop) {
  CheckPlace(state, block, loop);
  Stmt init = InitNest(*state, block, loop).Build();
  const SBlockNode* init_block = nullptr;
  PreOrderVisit(init, [&](const ffi::ObjectRef& node) {
    if (const auto* found = node.as<SBlockNode>()) init_block = found;
    return init_block == nullptr;
  });
  const SBlock old_block = Downcast<SBlock>(block->stmt.value());
  const SBlock update = UpdateBlock(old_block);
  BlockReuse reuse{{old_block, update}};
  Stmt old_loop = loop->stmt.value();
  const SBlockRealize old_realize = RealizeOf(*state, block);
  SBlockRealize realize = old_realize;
  realize.CopyOnWrite()->block = update;
  Stmt new_loop = ReplaceStmt(old_loop, old_realize.get(), realize, &reuse);
  Stmt both = SeqStmt::Flatten(init, new_loop);
  StmtSRef parent = ffi::GetRef<StmtSRef>(loop->parent());
  if (const auto* op = parent->StmtAs<ForNode>()) {
    For outer = ffi::GetRef<For>(op);
    Stmt body = ReplaceStmt(op->body, old_loop.get(), both, &reuse);
    outer.CopyOnWrite()->body = std::move(body);
    state->Replace(parent, outer, reuse);
  } else {
    SBlock outer = Downcast<SBlock>(parent->stmt.value());
    SBlock changed = WithBody(outer, ReplaceStmt(outer->body, old_loop.get(), both, &reuse));
    reuse.Set(outer, changed);
    state->Replace(parent, changed, reuse);
  }
  return state->GetSRef(init_block);
}

const PrimitiveRegistration kDecomposeReduction{{
    .name = "DecomposeReduction",
    .method = "decompose_reduction",
    .params = "block=i0 loop=i1",
    .result = Result::kOne,
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      return call.One(DecomposeReduction(call.state, call.Block(0), call.Loop(1)));
    },
}};

}  // namespace

}  // namespace s_tir
}  // namespace tvm
