// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// rfactor: a reduction loop is reduced last, over partial results kept in a buffer.
///
///   for i, k: C[i] += A[i, k]   ==>   for i, k_0, k_1: C_rf[k_0, i] += A[i, k_0 * 4 + k_1]
///   (k split in k_0, k_1)             for i, k_0: C[i] += C_rf[k_0, i]
#include <tvm/tirx/op.h>

#include <unordered_set>

#include "s_tir/schedule/primitive/inline_util.h"
#include "s_tir/schedule/primitive/loop_uses.h"
#include "s_tir/schedule/reducer.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

class RFactor {
 public:
  RFactor(State* state, const StmtSRef& loop, int64_t factor_axis)
      : state_(state), loop_(loop), axis_(factor_axis) {}

  StmtSRef Run() {
    Check();
    MakeBuffers();
    ClassifyLoops();
    const SBlock old_block = Downcast<SBlock>(block_->stmt.value());
    Stmt partial = PartialNest();
    SBlock final_block = FinalBlock();
    Stmt final_nest = FinalNest(final_block);
    const SBlock root = Downcast<SBlock>(scope_root_->stmt.value());
    Stmt member = MemberTowards(*state_, scope_root_, block_);
    BlockReuse reuse;
    SBlock changed = WithBody(
        root, ReplaceStmt(root->body, member.get(), SeqStmt::Flatten(partial, final_nest), &reuse));
    for (const Buffer& buffer : rf_buffers_) changed = WithAlloc(changed, buffer);
    reuse.Set(root, changed);
    reuse.Set(old_block, final_block);
    state_->Replace(scope_root_, changed, reuse);
    return state_->GetSRef(rf_block_.get());
  }

 private:
  void Check() {
    const ForNode* loop = LoopOf(loop_);
    SCHEDULE_CHECK(loop->kind == ForKind::kSerial && loop->HasTrivialStep(), loop_)
        << "The loop {0} has to be serial, but is " << ForKind2String(loop->kind);
    ffi::Array<StmtSRef> blocks = ChildBlocks(*state_, loop_);
    SCHEDULE_CHECK(blocks.size() == 1, loop_)
        << "The loop {0} has to hold one block, but holds " << blocks.size();
    block_ = blocks[0];
    scope_root_ = ScopeRootOf(block_);
    CheckStagePipeline(state_, scope_root_);
    CheckReductionBlock(state_, block_);
    CheckChainToBlock(*state_, LoopsAbove(block_), block_);
    const auto* block = block_->StmtAs<SBlockNode>();
    auto step = MatchReduction(block->init.value(), block->body);
    SCHEDULE_CHECK(step.has_value(), block_)
        << "The body of the block {0} is no known reduction: its init and update have to fit a "
           "registered reducer (sum, product, min, max, all, any, argmin, argmax, ...)";
    step_ = *step;
    const int64_t ndim = static_cast<int64_t>(step_.indices.size());
    SCHEDULE_CHECK(axis_ >= -(ndim + 1) && axis_ <= ndim, block_)
        << "The block {0} writes a buffer of " << ndim << " axes, so factor_axis has to be in ["
        << -(ndim + 1) << ", " << ndim << "], but is " << axis_;
    if (axis_ < 0) axis_ += ndim + 1;
    realize_ = RealizeOf(*state_, block_);
    LoopUse use = UseOfLoop(realize_, loop_);
    SCHEDULE_CHECK(use.reduce && !use.spatial, loop_, block_)
        << "The loop {0} has to feed reduction variables of the block {1} only";
  }

  void MakeBuffers() {
    for (const Buffer& buffer : step_.buffers) {
      ffi::Array<PrimExpr> shape = buffer.shape();
      PrimExpr extent = LoopOf(loop_)->extent;
      shape.insert(shape.begin() + axis_, shape.empty() ? extent : cast(shape[0].dtype(), extent));
      rf_buffers_.push_back(BufferWithShape(buffer, std::string(buffer->name) + "_rf",
                                            std::string(buffer.scope()), shape));
    }
  }

  /// Splits loops into spatial and reduction ones, and makes a variable for each of the latter.
  void ClassifyLoops() {
    for (const StmtSRef& sref : LoopsAbove(block_)) {
      const ForNode* loop = LoopOf(sref);
      LoopUse use = UseOfLoop(realize_, sref);
      SCHEDULE_CHECK(!use.reduce || !use.spatial, block_, sref)
          << "The loop {1} feeds both data parallel and reduction variables of the block {0}";
      if (!use.reduce) continue;
      reduce_loops_.insert(loop->loop_var.get());
      Var var("v" + std::string(loop->loop_var->name), loop->loop_var->dtype());
      loop_to_var_.Set(loop->loop_var, var);
      IterVar iter(Range::FromMinExtent(loop->min, loop->extent), var,
                   sref.same_as(loop_) ? kDataPar : kCommReduce);
      if (sref.same_as(loop_)) {
        factor_iter_ = iter;
      } else {
        reduce_iters_.push_back(iter);
        reduce_values_.push_back(loop->loop_var);
      }
    }
    for (const PrimExpr& part : Conjuncts(realize_->predicate)) {
      bool on_reduce = UsesVar(part, [&](const VarNode* v) { return reduce_loops_.count(v) != 0; });
      if (!on_reduce) {
        outer_predicate_ = Conjoin(outer_predicate_, part);
        continue;
      }
      guard_ = Conjoin(guard_, Substitute(part, loop_to_var_));
    }
    for (const StmtSRef& sref : LoopsAbove(block_)) {
      SCHEDULE_CHECK(!UsesVar(guard_, LoopOf(sref)->loop_var), block_, sref)
          << "A predicate of the block {0} mixes reduction loops with the loop {1}";
    }
  }

  ffi::Array<PrimExpr> FactorIndices(const PrimExpr& factor,
                                     const ffi::Array<PrimExpr>& indices) const {
    ffi::Array<PrimExpr> result = indices;
    result.insert(result.begin() + axis_, factor - LoopOf(loop_)->min);
    return result;
  }

  /// The original variables of one kind with their values.
  void AddSpatial(ffi::Array<IterVar>* iters, ffi::Array<PrimExpr>* values,
                  ffi::Map<Var, PrimExpr>* renamed) const {
    for (size_t i = 0; i < realize_->iter_values.size(); ++i) {
      const IterVar& iter = realize_->block->iter_vars[i];
      if (iter->iter_type == kCommReduce) continue;
      Var var = iter->var.copy_with_suffix("");
      renamed->Set(iter->var, var);
      iters->push_back(IterVar(iter->dom, var, iter->iter_type));
      values->push_back(realize_->iter_values[i]);
    }
  }

  Stmt Stores(const std::vector<Buffer>& buffers, const ffi::Array<PrimExpr>& indices,
              const ffi::Array<PrimExpr>& values) const {
    ffi::Array<Stmt> stores;
    if (values.size() == 1) return BufferStore(buffers[0], values[0], indices);
    for (size_t i = 0; i < values.size(); ++i) {
      Var name("v_" + std::string(buffers[i]->name), values[i].dtype());
      stores.push_back(Bind(name, values[i]));
    }
    for (size_t i = 0; i < values.size(); ++i) {
      stores.push_back(BufferStore(buffers[i], PrimExpr(stores[i].as<BindNode>()->var), indices));
    }
    return SeqStmt::Flatten(stores);
  }
  Stmt PlainStores(const std::vector<Buffer>& buffers, const ffi::Array<PrimExpr>& indices,
                   const ffi::Array<PrimExpr>& values) const {
    ffi::Array<Stmt> stores;
    for (size_t i = 0; i < values.size(); ++i) {
      stores.push_back(BufferStore(buffers[i], values[i], indices));
    }
    return SeqStmt::Flatten(stores);
  }
  static ffi::Array<PrimExpr> Loads(const std::vector<Buffer>& buffers,
                                    const ffi::Array<PrimExpr>& indices) {
    ffi::Array<PrimExpr> loads;
    for (const Buffer& buffer : buffers) loads.push_back(BufferLoad(buffer, indices));
    return loads;
  }
  static ffi::Array<PrimExpr> MapExprs(const ffi::Array<PrimExpr>& exprs,
                                       const ffi::Map<Var, PrimExpr>& values) {
    ffi::Array<PrimExpr> result;
    Substituter substituter(values);
    for (const PrimExpr& expr : exprs) result.push_back(substituter.Run(expr));
    return result;
  }

  Stmt PartialNest() {
    ffi::Array<IterVar> iters{factor_iter_};
    ffi::Array<PrimExpr> values{LoopOf(loop_)->loop_var};
    ffi::Map<Var, PrimExpr> renamed;
    AddSpatial(&iters, &values, &renamed);
    for (size_t i = 0; i < reduce_iters_.size(); ++i) {
      iters.push_back(reduce_iters_[i]);
      values.push_back(reduce_values_[i]);
    }
    for (size_t i = 0; i < realize_->iter_values.size(); ++i) {
      const IterVar& iter = realize_->block->iter_vars[i];
      if (iter->iter_type != kCommReduce) continue;
      renamed.Set(iter->var, Substitute(realize_->iter_values[i], loop_to_var_));
    }
    ffi::Array<PrimExpr> indices =
        FactorIndices(factor_iter_->var, MapExprs(step_.indices, renamed));
    ffi::Array<PrimExpr> sources = MapExprs(step_.sources, renamed);
    if (!is_one(guard_)) {
      // Iterations past the end add nothing; the partial result is still initialised for them.
      for (size_t i = 0; i < sources.size(); ++i) {
        sources.Set(i, if_then_else(guard_, sources[i], step_.combiner->identity_element[i]));
      }
    }
    ffi::Array<PrimExpr> updated = (*step_.combiner.get())(Loads(rf_buffers_, indices), sources);
    SBlock block(iters, {}, {}, std::string(realize_->block->name_hint) + "_rf",
                 Stores(rf_buffers_, indices, updated),
                 PlainStores(rf_buffers_, indices, step_.combiner->identity_element), {}, {},
                 realize_->block->annotations);
    rf_block_ = RefreshRegions(block);
    Stmt nest = SBlockRealize(values, outer_predicate_, rf_block_);
    ffi::Array<StmtSRef> loops = LoopsAbove(block_);
    for (size_t i = loops.size(); i-- > 0;) {
      For loop = ffi::GetRef<For>(LoopOf(loops[i]));
      loop.CopyOnWrite()->body = std::move(nest);
      nest = loop;
    }
    return nest;
  }

  SBlock FinalBlock() {
    IterVar factor(factor_iter_->dom, factor_iter_->var.copy_with_suffix(""), kCommReduce);
    ffi::Array<IterVar> iters{factor};
    final_values_ = {LoopOf(loop_)->loop_var};
    ffi::Map<Var, PrimExpr> renamed;
    AddSpatial(&iters, &final_values_, &renamed);
    ffi::Array<PrimExpr> indices = MapExprs(step_.indices, renamed);
    ffi::Array<PrimExpr> updated = (*step_.combiner.get())(
        Loads(step_.buffers, indices), Loads(rf_buffers_, FactorIndices(factor->var, indices)));
    SBlock block(iters, {}, {}, realize_->block->name_hint, Stores(step_.buffers, indices, updated),
                 PlainStores(step_.buffers, indices, step_.init), {}, {},
                 realize_->block->annotations);
    return RefreshRegions(block);
  }

  Stmt FinalNest(const SBlock& block) {
    ffi::Map<Var, PrimExpr> renamed;
    std::vector<const ForNode*> loops;
    std::vector<Var> vars;
    for (const StmtSRef& sref : LoopsAbove(block_)) {
      const ForNode* loop = LoopOf(sref);
      if (reduce_loops_.count(loop->loop_var.get()) != 0 && !sref.same_as(loop_)) continue;
      loops.push_back(loop);
      vars.push_back(loop->loop_var.copy_with_suffix(""));
      renamed.Set(loop->loop_var, vars.back());
    }
    Stmt nest = SBlockRealize(MapExprs(final_values_, renamed),
                              Substitute(outer_predicate_, renamed), block);
    for (size_t i = loops.size(); i-- > 0;) {
      Range range = Substitute(Range::FromMinExtent(loops[i]->min, loops[i]->extent), renamed);
      nest = CopyLoop(loops[i], vars[i], range, std::move(nest));
    }
    return nest;
  }

  State* state_;
  StmtSRef loop_, block_, scope_root_;
  int64_t axis_;
  SBlockRealize realize_;
  ReductionStep step_;
  std::vector<Buffer> rf_buffers_;
  SBlock rf_block_;
  std::unordered_set<const VarNode*> reduce_loops_;
  ffi::Map<Var, PrimExpr> loop_to_var_;
  IterVar factor_iter_;
  std::vector<IterVar> reduce_iters_;
  ffi::Array<PrimExpr> reduce_values_, final_values_;
  PrimExpr outer_predicate_ = Bool(true), guard_ = Bool(true);
};

const PrimitiveRegistration kRFactor{{
    .name = "RFactor",
    .method = "rfactor",
    .params = "loop=i0 factor_axis=a0",
    .result = Result::kOne,
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      return call.One(RFactor(call.state, call.Loop(0), call.Int(0)).Run());
    },
}};

}  // namespace

}  // namespace s_tir
}  // namespace tvm
