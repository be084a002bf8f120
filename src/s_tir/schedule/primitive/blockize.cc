// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// blockize: a loop and all inside of it become one block, so that the iterations are split into
/// those of an outer block and those of the block inside.
///
///   for i_0, i_1:               ==>   for i_0:
///     with block("C"):                  with block("C_o"): v_o = i_0
///       v = i_0 * 16 + i_1                for i_1: with block("C"): v_i = i_1; v = v_o * 16 + v_i
#include "s_tir/schedule/primitive/blockize.h"

#include <unordered_map>
#include <unordered_set>

#include "s_tir/schedule/primitive/inline_util.h"
#include "s_tir/schedule/primitive/loop_uses.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)
using arith::IntSet;

namespace {

/// A bound value as outer * inner_extent + inner.
struct Halves {
  PrimExpr outer, outer_extent;
  PrimExpr inner, inner_extent;
};

bool UsesAny(const PrimExpr& expr, const ffi::Array<Var>& vars) {
  return UsesVar(expr, [&](const VarNode* v) {
    for (const Var& var : vars) {
      if (var.get() == v) return true;
    }
    return false;
  });
}

class Blockizer {
 public:
  Blockizer(State* state, const StmtSRef& loop, bool preserve_unit_iters)
      : state_(state), loop_(loop), preserve_(preserve_unit_iters) {}

  StmtSRef Run() {
    LoopOf(loop_);
    ffi::Array<StmtSRef> blocks = ChildBlocks(*state_, loop_);
    SCHEDULE_CHECK(blocks.size() == 1, loop_)
        << "The loop {0} has to hold one block to be made a block, but holds " << blocks.size();
    block_ = blocks[0];
    realize_ = RealizeOf(*state_, block_);
    for (const StmtSRef& loop : LoopsAbove(block_)) {
      if (Encloses(loop_, loop)) inner_loops_.push_back(loop);
    }
    CheckChainToBlock(*state_, ffi::Array<StmtSRef>(inner_loops_.begin(), inner_loops_.end()),
                      block_);
    for (const StmtSRef& loop : inner_loops_) inner_vars_.push_back(LoopOf(loop)->loop_var);
    analyzer_ = AnalyzerAt(*state_, ffi::GetRef<StmtSRef>(block_->parent()));
    Divide();
    MakeIters();
    SBlockRealize outer = OuterRealize();
    const SBlock old_block = Downcast<SBlock>(block_->stmt.value());
    state_->Replace(loop_, outer, {{old_block, inner_block_}});
    return state_->GetSRef(outer->block.get());
  }

 private:
  void Divide() {
    const auto& values = realize_->iter_values;
    ffi::Array<ffi::Array<arith::IterMark>> marks = arith::SubspaceDivide(
        values, LoopDomains(block_), inner_vars_, realize_->predicate, arith::kSurjective,
        analyzer_, /*simplify_trivial_iterators=*/!preserve_);
    if (marks.size() == values.size() + 1) {
      for (size_t i = 0; i < values.size(); ++i) {
        DataType dtype = values[i].dtype();
        auto expr = [&](const arith::IterMark& mark) {
          return cast(dtype, arith::NormalizeIterMapToExpr(mark->source));
        };
        Halves half{expr(marks[i][0]), cast(dtype, marks[i][0]->extent), expr(marks[i][1]),
                    cast(dtype, marks[i][1]->extent)};
        // The outer part may come with the inner extent as its scale.
        auto fits = [&] {
          return analyzer_->CanProveEqual(half.outer * half.inner_extent + half.inner, values[i]);
        };
        if (!fits()) half.outer = analyzer_->Simplify(floordiv(half.outer, half.inner_extent));
        SCHEDULE_CHECK(fits(), block_, loop_)
            << "The value " << values[i] << " in the block {0} cannot be divided into a part above "
            << "and a part below the loop {1}";
        halves_.push_back(half);
      }
    } else {
      DivideByUse();
    }
    for (const PrimExpr& part : Conjuncts(realize_->predicate)) {
      const bool inner = UsesAny(part, inner_vars_);
      bool outer = false;
      for (const StmtSRef& loop : LoopsAbove(block_)) {
        outer = outer || (!Encloses(loop_, loop) && UsesLoop(part, loop));
      }
      SCHEDULE_CHECK(!inner || !outer, block_, loop_)
          << "The predicate " << part << " of the block {0} mixes loops above and below {1}, so "
          << "its iterations cannot be divided";
      PrimExpr& target = inner ? inner_predicate_ : outer_predicate_;
      target = Conjoin(target, part);
    }
  }

  /// Each value uses loops of one side only: no arithmetic is needed, whatever the extents are.
  void DivideByUse() {
    for (size_t i = 0; i < realize_->iter_values.size(); ++i) {
      const PrimExpr& value = realize_->iter_values[i];
      const IterVar& iter = realize_->block->iter_vars[i];
      DataType dtype = value.dtype();
      PrimExpr zero = make_zero(dtype), one = make_const(dtype, 1);
      bool outer = false;
      for (const StmtSRef& loop : LoopsAbove(block_)) {
        outer = outer || (!Encloses(loop_, loop) && UsesLoop(value, loop));
      }
      if (!UsesAny(value, inner_vars_)) {
        halves_.push_back({value, iter->dom->extent, zero, one});
      } else {
        SCHEDULE_CHECK(!outer, block_, loop_)
            << "The value " << value << " of " << iter->var->name << " in the block {0} cannot be "
            << "divided into a part above and a part below the loop {1}";
        halves_.push_back({zero, one, value, iter->dom->extent});
      }
    }
  }

  /// The variables of both blocks, and the block's old ones in terms of them.
  void MakeIters() {
    for (size_t i = 0; i < halves_.size(); ++i) {
      const IterVar& iter = realize_->block->iter_vars[i];
      const std::string name(iter->var->name);
      DataType dtype = iter->var->dtype();
      const Halves& half = halves_[i];
      const bool has_outer = !is_one(half.outer_extent) || is_one(half.inner_extent) ||
                             (preserve_ && !is_const_int(half.outer));
      const bool has_inner = !is_one(half.inner_extent);
      PrimExpr outer = half.outer, inner = half.inner;
      if (has_outer) {
        Var var(name + "_o", dtype);
        const Range dom = has_inner ? OuterDomain(half, iter) : iter->dom;
        outer_iters_.push_back(IterVar(dom, var, iter->iter_type));
        outer_values_.push_back(half.outer);
        analyzer_->Bind(var, dom, true);
        outer = var;
      }
      if (has_inner) {
        Var var(name + "_i", dtype);
        inner_iters_.push_back(IterVar(Range::FromMinExtent(make_zero(dtype), half.inner_extent),
                                       var, iter->iter_type));
        inner_values_.push_back(half.inner);
        inner = var;
      }
      outer_part_.push_back(outer);
      PrimExpr value = has_inner ? outer * half.inner_extent + inner : outer;
      old_to_new_.Set(iter->var, analyzer_->Simplify(value));
    }
  }

  /// Values of the outer part: from zero, unless the value has an offset. Then all that can be.
  Range OuterDomain(const Halves& half, const IterVar& iter) {
    const PrimExpr zero = make_zero(half.outer.dtype());
    IntSet values = arith::EvalSet(half.outer, arith::AsIntSet(LoopDomains(loop_)), analyzer_);
    if (values.HasLowerBound() && analyzer_->CanProve(values.min() == 0)) {
      return Range::FromMinExtent(zero, half.outer_extent);
    }
    PrimExpr first = floordiv(iter->dom->min, half.inner_extent);
    PrimExpr last = floordiv(iter->dom->min + iter->dom->extent - 1, half.inner_extent);
    return Range::FromMinExtent(analyzer_->Simplify(first), analyzer_->Simplify(last - first + 1));
  }

  SBlock InnerBlock() {
    SBlock block = realize_->block;
    Substituter substituter(old_to_new_);
    SBlockNode* node = block.CopyOnWrite();
    const ffi::Optional<Stmt> init = node->init;
    if (init.has_value()) {
      ffi::Array<BufferRegion> reads = node->writes;
      for (const BufferRegion& read : node->reads) reads.push_back(read);
      node->reads = std::move(reads);
    }
    node->init = std::nullopt;
    // The variables go: their uses become expressions of the new ones.
    node->iter_vars = {};
    SBlock changed = Downcast<SBlock>(substituter.Run(block));
    changed.CopyOnWrite()->iter_vars =
        ffi::Array<IterVar>(inner_iters_.begin(), inner_iters_.end());
    return changed;
  }

  /// The init as a block over the data parallel inner iterations.
  Stmt InitNest() {
    const SBlock& block = realize_->block;
    std::unordered_set<const VarNode*> used;
    ffi::Array<IterVar> iters;
    ffi::Array<PrimExpr> values;
    ffi::Map<Var, PrimExpr> old_to_init;
    size_t next = 0;
    for (size_t i = 0; i < halves_.size(); ++i) {
      const IterVar& iter = block->iter_vars[i];
      const bool has_inner = !is_one(halves_[i].inner_extent);
      const IterVar inner = has_inner ? inner_iters_[next++] : IterVar();
      if (iter->iter_type == kCommReduce) continue;
      PrimExpr value = outer_part_[i];
      if (has_inner) {
        Var var(std::string(iter->var->name) + "_i_init", iter->var->dtype());
        iters.push_back(IterVar(inner->dom, var, iter->iter_type));
        values.push_back(halves_[i].inner);
        for (const Var& v : FreeVars(halves_[i].inner)) used.insert(v.get());
        value = analyzer_->Simplify(value * halves_[i].inner_extent + var);
      }
      old_to_init.Set(iter->var, value);
    }
    // Loops that only the predicate knows still decide which iterations there are.
    std::unordered_set<const VarNode*> reduce;
    for (size_t i = 0; i < halves_.size(); ++i) {
      if (block->iter_vars[i]->iter_type != kCommReduce) continue;
      for (const Var& v : FreeVars(halves_[i].inner)) reduce.insert(v.get());
    }
    PrimExpr predicate = Bool(true);
    for (const PrimExpr& part : Conjuncts(inner_predicate_)) {
      bool uses_reduce = false, uses_other = false;
      for (const Var& v : inner_vars_) {
        if (UsesVar(part, v)) (reduce.count(v.get()) != 0 ? uses_reduce : uses_other) = true;
      }
      SCHEDULE_CHECK(!uses_reduce || !uses_other, block_)
          << "The predicate " << part << " of the block {0} mixes reduction and other loops";
      if (uses_reduce) continue;
      for (const Var& v : FreeVars(part)) used.insert(v.get());
      predicate = Conjoin(predicate, part);
    }
    for (const VarNode* v : reduce) {
      SCHEDULE_CHECK(used.count(v) == 0, block_)
          << "The loop " << v->name << " feeds both data parallel and reduction variables of {0}";
    }
    SBlock init(iters, {}, {}, std::string(block->name_hint) + "_init",
                Substituter(old_to_init).Run(block->init.value()));
    init = RefreshRegions(init);
    ffi::Map<Var, PrimExpr> renamed;
    std::vector<const ForNode*> loops;
    for (const StmtSRef& loop : inner_loops_) {
      const ForNode* node = LoopOf(loop);
      if (used.count(node->loop_var.get()) == 0) continue;
      loops.push_back(node);
      renamed.Set(node->loop_var, node->loop_var.copy_with_suffix("_init"));
    }
    Substituter rename(renamed);
    ffi::Array<PrimExpr> bound;
    for (const PrimExpr& value : values) bound.push_back(rename.Run(value));
    Stmt nest = SBlockRealize(bound, rename.Run(predicate), init);
    for (size_t i = loops.size(); i-- > 0;) {
      Range range = Substitute(Range::FromMinExtent(loops[i]->min, loops[i]->extent), renamed);
      nest = For(Downcast<Var>(renamed[loops[i]->loop_var]), range->min, range->extent,
                 ForKind::kSerial, std::move(nest));
    }
    return nest;
  }

  ffi::Array<BufferRegion> OuterRegions(const ffi::Array<BufferRegion>& regions,
                                        const SBlockRealize& inner) {
    ffi::Map<Var, Range> loops;
    for (const StmtSRef& loop : inner_loops_) {
      const ForNode* node = LoopOf(loop);
      loops.Set(node->loop_var, Range::FromMinExtent(node->min, node->extent));
    }
    ffi::Array<BufferRegion> result;
    for (const BufferRegion& region : regions) {
      ffi::Array<IntSet> sets = RegionUpperBound(inner, region, loops, analyzer_);
      ffi::Array<Range> ranges;
      for (size_t d = 0; d < sets.size(); ++d) {
        const PrimExpr& extent = region->buffer.shape()[d];
        Range whole = Range::FromMinExtent(make_zero(extent.dtype()), extent);
        Range cover = sets[d].CoverRange(whole);
        ranges.push_back(Range::FromMinExtent(analyzer_->Simplify(cover->min),
                                              analyzer_->Simplify(cover->extent)));
      }
      result.push_back(BufferRegion(region->buffer, ranges));
    }
    return result;
  }

  SBlockRealize OuterRealize() {
    inner_block_ = InnerBlock();
    SBlockRealize inner(ffi::Array<PrimExpr>(inner_values_.begin(), inner_values_.end()),
                        inner_predicate_, inner_block_);
    const bool reduces = realize_->block->init.has_value();
    ffi::Array<BufferRegion> inner_reads;
    for (const BufferRegion& read : inner_block_->reads) {
      bool own = false;
      for (const BufferRegion& write : inner_block_->writes) {
        own = own || (reduces && read->buffer.same_as(write->buffer));
      }
      if (!own) inner_reads.push_back(read);
    }
    ffi::Array<BufferRegion> reads = OuterRegions(inner_reads, inner);
    ffi::Array<BufferRegion> writes = OuterRegions(inner_block_->writes, inner);
    ffi::Optional<Stmt> init;
    if (reduces) init = InitNest();
    Stmt body = inner;
    for (size_t i = inner_loops_.size(); i-- > 0;) {
      For loop = ffi::GetRef<For>(LoopOf(inner_loops_[i]));
      loop.CopyOnWrite()->body = std::move(body);
      body = loop;
    }
    SBlock outer(ffi::Array<IterVar>(outer_iters_.begin(), outer_iters_.end()), reads, writes,
                 std::string(realize_->block->name_hint) + "_o", body, init);
    return SBlockRealize(ffi::Array<PrimExpr>(outer_values_.begin(), outer_values_.end()),
                         outer_predicate_, outer);
  }

  State* state_;
  StmtSRef loop_, block_;
  bool preserve_;
  SBlockRealize realize_;
  std::vector<StmtSRef> inner_loops_;
  ffi::Array<Var> inner_vars_;
  arith::Analyzer analyzer_;
  std::vector<Halves> halves_;
  std::vector<IterVar> outer_iters_, inner_iters_;
  std::vector<PrimExpr> outer_values_, inner_values_, outer_part_;
  ffi::Map<Var, PrimExpr> old_to_new_;
  PrimExpr outer_predicate_ = Bool(true), inner_predicate_ = Bool(true);
  SBlock inner_block_;
};

/// Makes neighbouring statements, which hold the given blocks, one block without variables.
StmtSRef BlockizeMany(State* state, const std::vector<StmtSRef>& blocks) {
  TVM_FFI_CHECK(!blocks.empty(), ValueError) << "blockize needs at least one block";
  const StmtSRef parent = CommonAncestor(blocks);
  ffi::Array<Stmt> members = StmtsOf(BodyOf(parent));
  std::unordered_set<const ffi::Object*> wanted;
  for (const StmtSRef& block : blocks) {
    wanted.insert(MemberTowards(*state, parent, block).get());
  }
  ffi::Array<Stmt> inside, before, after;
  for (const Stmt& member : members) {
    if (wanted.count(member.get()) != 0) {
      SCHEDULE_CHECK(after.empty(), parent)
          << "The blocks to be made one have to follow each other in {0}";
      inside.push_back(member);
    } else {
      (inside.empty() ? before : after).push_back(member);
    }
  }
  std::string name;
  for (const StmtSRef& block : blocks) {
    name += std::string(block->StmtAs<SBlockNode>()->name_hint) + "_";
  }
  Stmt body = SeqStmt::Flatten(inside);
  ffi::Map<Var, Range> loops;
  if (parent->StmtAs<ForNode>() != nullptr) {
    loops = LoopDomains(parent);
    const ForNode* op = LoopOf(parent);
    loops.Set(op->loop_var, Range::FromMinExtent(op->min, op->extent));
  }
  BlockReuse reuse;
  const SBlockRealize realize = CloseOverLoops(SBlock({}, {}, {}, name + "o", body), loops, &reuse);
  Stmt new_body = SeqStmt::Flatten(before, realize, after);
  if (const auto* op = parent->StmtAs<ForNode>()) {
    For loop = ffi::GetRef<For>(op);
    loop.CopyOnWrite()->body = new_body;
    state->Replace(parent, loop, reuse);
  } else {
    SBlock old_block = Downcast<SBlock>(parent->stmt.value());
    SBlock changed = WithBody(old_block, new_body);
    reuse.Set(old_block, changed);
    state->Replace(parent, changed, reuse);
  }
  return state->GetSRef(realize->block.get());
}

const PrimitiveRegistration kBlockize{{
    .name = "Blockize",
    .method = "blockize",
    .params = "target=i0 preserve_unit_iters=a0:bool",
    .result = Result::kOne,
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      if (auto list = call.inputs[0].as<ffi::Array<SBlockRV>>()) {
        std::vector<StmtSRef> blocks;
        for (const SBlockRV& rv : *list) blocks.push_back(call.sch->GetSRef(rv));
        return call.One(BlockizeMany(call.state, blocks));
      }
      return call.One(Blockize(call.state, call.Loop(0), call.Flag(0)));
    },
}};

}  // namespace

StmtSRef Blockize(State* state, const StmtSRef& loop, bool preserve_unit_iters) {
  return Blockizer(state, loop, preserve_unit_iters).Run();
}

}  // namespace s_tir
}  // namespace tvm
