// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// rolling_buffer: what neighbouring iterations of a loop share of a buffer is kept, not computed
/// again. The axis along which the window moves becomes a ring as long as the window.
///
///   for i:                      ==>   for i:
///     for ax in 3: P[i + ax] = ..       for ax in 3: P[(i + ax) % 3] = .. where i < 1 or ax >= 2
///     Q[i] = P[i] + P[i + 2]            Q[i] = P[i % 3] + P[(i + 2) % 3]
#include <tvm/tirx/op.h>

#include "s_tir/schedule/primitive/inline_util.h"
#include "s_tir/schedule/primitive/loop_checks.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)
using arith::IntSet;

namespace {

struct Window {
  size_t axis = 0;
  StmtSRef loop;
  int64_t step = 0;
  int64_t length = 0;
  /// First element of the window at one iteration.
  PrimExpr begin;
};

class RollingBuffer {
 public:
  RollingBuffer(State* state, const StmtSRef& block, int64_t index)
      : state_(state), block_(block), index_(index) {}

  void Run() {
    scope_root_ = ScopeRootOf(block_);
    buffer_ = NthBuffer(block_, index_, true);
    CheckCompleteBlock(state_, block_);
    CheckNotOutputBlock(state_, block_, scope_root_);
    CheckNoOpaqueUse(scope_root_, buffer_);
    SCHEDULE_CHECK(AllocationSite(block_, buffer_).same_as(scope_root_), block_)
        << "The buffer " << buffer_->name << " of {0} has to be allocated by the scope";
    for (const Dependency& dep : state_->GetSBlockScope(scope_root_)->GetDepsBySrc(block_)) {
      SCHEDULE_CHECK(dep->kind == DepKind::kRAW, block_)
          << "Other blocks may only read what the block {0} writes";
    }
    realize_ = RealizeOf(*state_, block_);
    SCHEDULE_CHECK(DomainImpliesPredicate(*state_, block_), block_)
        << "The predicate " << realize_->predicate << " of the block {0} may cut off a part of the "
        << "window";
    ffi::Array<StmtSRef> consumers = ConsumersOf(state_, block_);
    SCHEDULE_CHECK(!consumers.empty(), block_) << "Nothing reads what the block {0} writes";
    FindWindow(consumers);
    Rewrite(consumers);
  }

 private:
  /// The innermost common loop along which the written window slides with overlap.
  void FindWindow(const ffi::Array<StmtSRef>& consumers) {
    std::vector<StmtSRef> all{block_};
    for (const StmtSRef& consumer : consumers) all.push_back(consumer);
    StmtSRef lca = CommonAncestor(all);
    const BufferRegion write = NthRegion(block_, index_, true);
    // The innermost common loop only: inside of another one, what an earlier iteration of an outer
    // loop has computed need not have been complete then.
    SCHEDULE_CHECK(lca->StmtAs<ForNode>() != nullptr, block_)
        << "The block {0} and its consumers share no loop";
    const StmtSRef& loop = lca;
    arith::Analyzer analyzer = AnalyzerAt(*state_, loop);
    ffi::Map<Var, PrimExpr> values = Bindings(realize_);
    ffi::Map<Var, Range> inner = LoopDomains(block_, loop);
    // The predicate only cuts off what no one reads.
    ffi::Array<IntSet> sets = arith::EstimateRegionUpperBound(
        SubstituteRegion(write->region, values), inner, Bool(true), analyzer);
    for (size_t d = 0; d < sets.size(); ++d) {
      if (!sets[d].HasLowerBound() || !sets[d].HasUpperBound()) continue;
      const ForNode* op = LoopOf(loop);
      PrimExpr next =
          Substitute(sets[d].min(), ffi::Map<Var, PrimExpr>{{op->loop_var, op->loop_var + 1}});
      PrimExpr step = analyzer->Simplify(next - sets[d].min());
      PrimExpr length = analyzer->Simplify(sets[d].max() - sets[d].min() + 1);
      const int64_t* s = as_const_int(step);
      const int64_t* n = as_const_int(length);
      if (s == nullptr || n == nullptr || *s <= 0 || *s >= *n) continue;
      window_ = {d, loop, *s, *n, analyzer->Simplify(sets[d].min())};
      SCHEDULE_CHECK(op->kind == ForKind::kSerial, loop)
          << "The loop {0} along which the window moves has to be serial";
      SCHEDULE_CHECK(analyzer->CanProve(op->min == 0), loop)
          << "The loop {0} along which the window moves has to start at 0";
      return;
    }
    SCHEDULE_FAIL(block_, lca)
        << "The innermost loop {1} around the block {0} and its consumers makes the part of "
        << buffer_->name << " that it writes slide with an overlap";
  }

  /// Index along the ring.
  PrimExpr Ring(const PrimExpr& index) const {
    return floormod(index, make_const(index.dtype(), window_.length));
  }

  class AccessRewriter final : public BlockMutator {
   public:
    explicit AccessRewriter(const RollingBuffer& rolling, const Buffer& to)
        : rolling_(rolling), to_(to) {}
    Stmt Run(const Stmt& stmt) { return VisitStmt(stmt); }

   private:
    Buffer VisitBufferDef(const Buffer& buffer) final {
      return buffer.same_as(rolling_.buffer_) ? to_ : BlockMutator::VisitBufferDef(buffer);
    }
    ffi::Array<PrimExpr> Indices(ffi::Array<PrimExpr> indices) {
      indices.Set(rolling_.window_.axis, rolling_.Ring(indices[rolling_.window_.axis]));
      return indices;
    }
    Expr VisitExpr_(const BufferLoadNode* op) final {
      if (!op->buffer.same_as(rolling_.buffer_)) return BlockMutator::VisitExpr_(op);
      return BufferLoad(to_, Indices(VisitExprs(op->indices)), op->predicate);
    }
    Stmt VisitStmt_(const BufferStoreNode* op) final {
      if (!op->buffer.same_as(rolling_.buffer_)) return BlockMutator::VisitStmt_(op);
      return BufferStore(to_, VisitPrimExpr(op->value), Indices(VisitExprs(op->indices)),
                         op->predicate);
    }
    BufferRegion VisitRegion(const BufferRegion& region) final {
      if (!region->buffer.same_as(rolling_.buffer_)) return BlockMutator::VisitRegion(region);
      ffi::Array<Range> ranges = region->region;
      const size_t axis = rolling_.window_.axis;
      const Range& range = ranges[axis];
      DataType dtype = range->min.dtype();
      // A part of a ring may wrap around; the whole ring covers it.
      ranges.Set(axis, is_one(range->extent)
                           ? Range::FromMinExtent(rolling_.Ring(range->min), range->extent)
                           : Range::FromMinExtent(make_zero(dtype),
                                                  make_const(dtype, rolling_.window_.length)));
      return BufferRegion(to_, ranges);
    }
    const RollingBuffer& rolling_;
    Buffer to_;
  };

  void Rewrite(const ffi::Array<StmtSRef>& consumers) {
    ffi::Array<PrimExpr> shape = buffer_.shape();
    shape.Set(window_.axis, make_const(shape[window_.axis].dtype(), window_.length));
    BufferType type = buffer_.buffer_type();
    type.CopyOnWrite()->shape = shape;
    const Buffer ring = buffer_.WithType(type);
    // Written before unless it is the first iteration, or the last `step` elements of the window.
    const BufferRegion write = NthRegion(block_, index_, true);
    SCHEDULE_CHECK(is_one(write->region[window_.axis]->extent), block_)
        << "The block {0} has to write one element of " << buffer_->name << " at a time";
    PrimExpr place = Substitute(write->region[window_.axis]->min, Bindings(realize_));
    const Var& loop_var = LoopOf(window_.loop)->loop_var;
    arith::Analyzer analyzer = AnalyzerAt(
        *state_, block_->parent() == nullptr ? block_ : ffi::GetRef<StmtSRef>(block_->parent()));
    PrimExpr fresh = analyzer->Simplify(place - window_.begin >=
                                        make_const(place.dtype(), window_.length - window_.step));
    PrimExpr predicate =
        Conjoin(realize_->predicate, loop_var < make_const(loop_var->dtype(), 1) || fresh);

    AccessRewriter rewriter(*this, ring);
    const SBlock old_root = Downcast<SBlock>(scope_root_->stmt.value());
    // The predicate first, on the statement as it is.
    SBlockRealize realize = realize_;
    realize.CopyOnWrite()->predicate = predicate;
    BlockReuse reuse;
    SBlock root = WithBody(old_root, ReplaceStmt(old_root->body, realize_.get(), realize, &reuse));
    reuse.Set(old_root, root);
    SBlock changed = Downcast<SBlock>(rewriter.Run(root));
    BlockReuse all = Compose(reuse, rewriter.reuse), own;
    for (const auto& [before, after] : all) {
      if (state_->GetSRef(before.get()).defined()) own.Set(before, after);
    }
    state_->Replace(scope_root_, changed, own);
    MarkOpaque(block_);
    for (const StmtSRef& consumer : consumers) MarkOpaque(consumer);
  }

  /// Variables that follow the sliding loop may not be reordered or run at once any more.
  void MarkOpaque(const StmtSRef& sref) {
    const SBlockRealize realize = RealizeOf(*state_, sref);
    SBlock block = realize->block;
    ffi::Array<IterVar> iters;
    for (size_t i = 0; i < realize->iter_values.size(); ++i) {
      IterVar iter = block->iter_vars[i];
      if (UsesLoop(realize->iter_values[i], window_.loop)) iter.CopyOnWrite()->iter_type = kOpaque;
      iters.push_back(iter);
    }
    const SBlock old_block = block;
    block.CopyOnWrite()->iter_vars = iters;
    state_->Replace(sref, block, {{old_block, block}});
  }

  State* state_;
  StmtSRef block_, scope_root_;
  int64_t index_;
  Buffer buffer_;
  SBlockRealize realize_;
  Window window_;
};

const PrimitiveRegistration kRollingBuffer{{
    .name = "RollingBuffer",
    .method = "rolling_buffer",
    .params = "block=i0 write_buffer_index=a0",
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      RollingBuffer(call.state, call.Block(0), call.Int(0)).Run();
      return {};
    },
}};

}  // namespace

}  // namespace s_tir
}  // namespace tvm
