// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// decompose_padding: a padded buffer is filled with the pad value, then gets what is inside.
///
///   P[v] = A[v - 1] if 1 <= v < n + 1 else 0   ==>   for i: P[i] = 0
///                                                     for i in range(n): P[i + 1] = A[i]
#include <tvm/ffi/reflection/registry.h>
#include <tvm/tirx/op.h>

#include "s_tir/schedule/primitive/inline_util.h"
#include "s_tir/schedule/primitive/loop_uses.h"
#include "s_tir/schedule/primitive/padding.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

/// value = condition ? inside : constant
struct PadPattern {
  PrimExpr condition, inside, constant;
};

PadPattern MatchPad(const StmtSRef& sref) {
  const auto* block = sref->StmtAs<SBlockNode>();
  const BufferStoreNode* store = SingleStore(block->body);
  SCHEDULE_CHECK(store != nullptr && !block->init.has_value(), sref)
      << "The body of the block {0} has to be one store";
  PadPattern pattern;
  if (const auto* call = store->value.as<CallNode>();
      call != nullptr && call->op.same_as(builtin_scalar::if_then_else())) {
    pattern = {PrimExpr(call->args[0]), PrimExpr(call->args[1]), PrimExpr(call->args[2])};
  } else if (const auto* select = store->value.as<SelectNode>()) {
    pattern = {select->condition, select->true_value, select->false_value};
  } else {
    SCHEDULE_FAIL(sref) << "The block {0} has to store if_then_else(condition, value, constant)";
  }
  SCHEDULE_CHECK(is_const_number(pattern.constant), sref)
      << "The pad value of the block {0} has to be a constant, but is " << pattern.constant;
  return pattern;
}

/// Bounds of the variables from conditions of the form v + c >= d, v < d, ...
struct VarRange {
  PrimExpr low, high;  // both included
};

std::vector<VarRange> InsideRanges(const StmtSRef& sref, const PadPattern& pattern,
                                   const arith::Analyzer& analyzer) {
  const auto* block = sref->StmtAs<SBlockNode>();
  std::vector<VarRange> ranges;
  for (const IterVar& iter : block->iter_vars) {
    ranges.push_back({iter->dom->min, iter->dom->min + iter->dom->extent - 1});
  }
  for (PrimExpr part : Conjuncts(pattern.condition)) {
    if (const auto* call = part.as<CallNode>();
        call != nullptr && call->op.same_as(builtin_scalar::likely())) {
      part = PrimExpr(call->args[0]);
    }
    bool done = false;
    // part is left <= right, after moving everything to one side: left - right <= 0.
    auto bound = [&](const PrimExpr& left, const PrimExpr& right) {
      PrimExpr difference = analyzer->Simplify(left - right);
      for (size_t i = 0; i < ranges.size() && !done; ++i) {
        const Var& var = block->iter_vars[i]->var;
        if (!UsesVar(difference, var)) continue;
        PrimExpr rest = analyzer->Simplify(difference - var);
        PrimExpr negative_rest = analyzer->Simplify(difference + var);
        if (!UsesVar(rest, var)) {  // var + rest <= 0
          ranges[i].high = analyzer->Simplify(min(ranges[i].high, analyzer->Simplify(-rest)));
          done = true;
        } else if (!UsesVar(negative_rest, var)) {  // -var + rest <= 0
          ranges[i].low = analyzer->Simplify(max(ranges[i].low, negative_rest));
          done = true;
        }
        for (const IterVar& other : block->iter_vars) {
          if (other->var.same_as(var)) continue;
          done = done && !UsesVar(difference, other->var);
        }
      }
    };
    if (const auto* op = part.as<LTNode>()) bound(op->a + 1, op->b);
    if (const auto* op = part.as<LENode>()) bound(op->a, op->b);
    if (const auto* op = part.as<GTNode>()) bound(op->b + 1, op->a);
    if (const auto* op = part.as<GENode>()) bound(op->b, op->a);
    SCHEDULE_CHECK(done, sref) << "The condition " << part
                               << " of the padding in the block {0} bounds no iteration variable";
  }
  return ranges;
}

class Decomposer {
 public:
  Decomposer(State* state, const StmtSRef& block, const StmtSRef& loop)
      : state_(state), block_(block), loop_(loop) {}

  StmtSRef Run() {
    LoopOf(loop_);
    SCHEDULE_CHECK(Encloses(loop_, block_) && ScopeRootOf(loop_).same_as(ScopeRootOf(block_)),
                   block_, loop_)
        << "The loop {1} has to be one of the loops of the block {0}";
    CheckCompleteBlock(state_, block_);
    realize_ = RealizeOf(*state_, block_);
    SCHEDULE_CHECK(is_one(realize_->predicate), block_) << "The block {0} runs under a predicate";
    pattern_ = MatchPad(block_);
    analyzer_ = AnalyzerAt(*state_, block_);
    ranges_ = InsideRanges(block_, pattern_, analyzer_);
    bool below = false;
    for (const StmtSRef& loop : LoopsAbove(block_)) {
      below = below || loop.same_as(loop_);
      if (below) inner_loops_.push_back(loop);
    }
    CheckChainToBlock(*state_, ffi::Array<StmtSRef>(inner_loops_.begin(), inner_loops_.end()),
                      block_);
    Stmt fill = FillNest();
    Stmt inside = InsideNest();
    Stmt both = SeqStmt::Flatten(fill, inside);
    StmtSRef parent = ffi::GetRef<StmtSRef>(loop_->parent());
    BlockReuse reuse{{realize_->block, inside_block_}};
    const StmtNode* old_loop = loop_->get_stmt();
    if (const auto* op = parent->StmtAs<ForNode>()) {
      For outer = ffi::GetRef<For>(op);
      Stmt body = ReplaceStmt(op->body, old_loop, both, &reuse);
      outer.CopyOnWrite()->body = body;
      state_->Replace(parent, outer, reuse);
    } else {
      SBlock outer = Downcast<SBlock>(parent->stmt.value());
      SBlock changed = WithBody(outer, ReplaceStmt(outer->body, old_loop, both, &reuse));
      reuse.Set(outer, changed);
      state_->Replace(parent, changed, reuse);
    }
    return state_->GetSRef(fill_block_.get());
  }

 private:
  Stmt FillNest() {
    const SBlock& block = realize_->block;
    const BufferStoreNode* store = SingleStore(block->body);
    ffi::Map<Var, PrimExpr> loops, vars;
    std::vector<Var> new_vars;
    std::vector<Range> new_ranges;
    for (const StmtSRef& sref : inner_loops_) {
      const ForNode* loop = LoopOf(sref);
      Var var = loop->loop_var.copy_with_suffix("");
      new_ranges.push_back(Substitute(Range::FromMinExtent(loop->min, loop->extent), loops));
      loops.Set(loop->loop_var, var);
      new_vars.push_back(var);
    }
    ffi::Array<IterVar> iters;
    ffi::Array<PrimExpr> values, indices;
    for (size_t i = 0; i < block->iter_vars.size(); ++i) {
      const IterVar& iter = block->iter_vars[i];
      Var var = iter->var.copy_with_suffix("");
      vars.Set(iter->var, var);
      iters.push_back(IterVar(iter->dom, var, iter->iter_type));
      values.push_back(Substitute(realize_->iter_values[i], loops));
    }
    for (const PrimExpr& index : store->indices) indices.push_back(Substitute(index, vars));
    fill_block_ = RefreshRegions(SBlock(iters, {}, {}, std::string(block->name_hint) + "_pad_const",
                                        BufferStore(store->buffer, pattern_.constant, indices)));
    Stmt nest = SBlockRealize(values, Bool(true), fill_block_);
    for (size_t i = new_vars.size(); i-- > 0;) {
      nest = CopyLoop(LoopOf(inner_loops_[i]), new_vars[i], new_ranges[i], nest);
    }
    return nest;
  }

  /// The block over what is inside: variables bound to one loop alone run over the inside only,
  /// others stay, with a predicate.
  Stmt InsideNest() {
    const SBlock& block = realize_->block;
    const BufferStoreNode* store = SingleStore(block->body);
    std::vector<For> loops;
    for (const StmtSRef& sref : inner_loops_) loops.push_back(ffi::GetRef<For>(LoopOf(sref)));
    ffi::Map<Var, PrimExpr> shifted;
    ffi::Array<IterVar> iters;
    ffi::Array<PrimExpr> values;
    PrimExpr predicate = Bool(true);
    for (size_t i = 0; i < block->iter_vars.size(); ++i) {
      const IterVar& iter = block->iter_vars[i];
      const PrimExpr& value = realize_->iter_values[i];
      PrimExpr low = ranges_[i].low;
      PrimExpr extent = analyzer_->Simplify(ranges_[i].high - low + 1);
      For* own = nullptr;
      for (For& loop : loops) {
        if (value.same_as(loop->loop_var) && analyzer_->CanProveEqual(loop->min, iter->dom->min) &&
            analyzer_->CanProveEqual(loop->extent, iter->dom->extent)) {
          own = &loop;
        }
      }
      // An inside that may be empty keeps its extent from turning negative.
      if (!analyzer_->CanProve(extent >= 0)) extent = max(extent, make_zero(extent.dtype()));
      Var var = iter->var.copy_with_suffix("");
      Range dom = Range::FromMinExtent(make_zero(extent.dtype()), extent);
      if (own != nullptr) {
        ForNode* node = own->CopyOnWrite();
        node->min = make_zero(node->loop_var->dtype());
        node->extent = cast(node->loop_var->dtype(), extent);
        values.push_back(value);
      } else {
        PrimExpr inner = value - low;
        if (!analyzer_->CanProveEqual(low, iter->dom->min)) {
          predicate = Conjoin(predicate, value >= low);
        }
        if (!analyzer_->CanProveEqual(extent, iter->dom->extent)) {
          predicate = Conjoin(predicate, value <= ranges_[i].high);
        }
        values.push_back(inner);
      }
      iters.push_back(IterVar(dom, var, iter->iter_type));
      shifted.Set(iter->var, is_zero(low) ? PrimExpr(var) : var + low);
    }
    arith::Analyzer analyzer = AnalyzerAt(*state_, ScopeRootOf(block_));
    for (const IterVar& iter : iters) analyzer->Bind(iter->var, iter->dom);
    ffi::Array<PrimExpr> indices;
    for (const PrimExpr& index : store->indices) {
      indices.push_back(analyzer->Simplify(Substitute(index, shifted)));
    }
    PrimExpr inside = IndexSimplifier(analyzer).Run(Substituter(shifted).Run(pattern_.inside));
    inside_block_ = RefreshRegions(SBlock(iters, {}, {}, block->name_hint,
                                          BufferStore(store->buffer, inside, indices), std::nullopt,
                                          {}, {}, block->annotations));
    Stmt nest = SBlockRealize(values, predicate, inside_block_);
    for (size_t i = loops.size(); i-- > 0;) {
      loops[i].CopyOnWrite()->body = nest;
      nest = loops[i];
    }
    return nest;
  }

  /// Simplifies the indices of loads only: the values are not the compiler's business.
  class IndexSimplifier final : public StmtExprMutator {
   public:
    explicit IndexSimplifier(const arith::Analyzer& analyzer) : analyzer_(analyzer) {}
    PrimExpr Run(const PrimExpr& expr) { return VisitPrimExpr(expr); }

   private:
    Expr VisitExpr_(const BufferLoadNode* op) final {
      ffi::Array<PrimExpr> indices;
      for (const PrimExpr& index : op->indices) indices.push_back(analyzer_->Simplify(index));
      return BufferLoad(op->buffer, indices, op->predicate);
    }
    arith::Analyzer analyzer_;
  };

  State* state_;
  StmtSRef block_, loop_;
  SBlockRealize realize_;
  PadPattern pattern_;
  arith::Analyzer analyzer_;
  std::vector<VarRange> ranges_;
  std::vector<StmtSRef> inner_loops_;
  SBlock fill_block_, inside_block_;
};

}  // namespace

StmtSRef DecomposePadding(State* state, const StmtSRef& block, const StmtSRef& loop) {
  return Decomposer(state, block, loop).Run();
}

namespace {

const PrimitiveRegistration kDecomposePadding{{
    .name = "DecomposePadding",
    .method = "decompose_padding",
    .params = "block=i0 loop=i1",
    .result = Result::kOne,
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      return call.One(DecomposePadding(call.state, call.Block(0), call.Loop(1)));
    },
}};

/// Tries it on a copy of the schedule.
bool CanDecomposePadding(Schedule sch, SBlockRV block, LoopRV loop) {
  Schedule copy = sch->Copy();
  try {
    copy->DecomposePadding(block, loop);
    return true;
  } catch (const ffi::Error& error) {
    if (error.kind() != "ScheduleError") throw;
    return false;
  }
}

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef().def("s_tir.schedule.CanDecomposePadding", CanDecomposePadding);
}

}  // namespace

}  // namespace s_tir
}  // namespace tvm
