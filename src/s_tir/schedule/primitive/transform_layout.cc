// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// transform_layout: another order, or shape, for the elements of a buffer.
///
///   B[v, w] = ..                ==>   B[v // 4, w, v % 4] = ..       (map: i, j -> i // 4, j, i %
///   4)
///
/// If the new buffer has elements without an old one, they get the pad value: by the block that
/// writes the buffer, which then runs over the new layout, if it has one variable for each axis; by
/// a block of their own otherwise. A parameter is taken to be padded by the caller.
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>

#include "s_tir/schedule/primitive/inline_util.h"
#include "s_tir/schedule/primitive/loop_checks.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

struct Layout {
  Buffer from, to;
  IndexMap map;
  /// New indices -> old ones, and where there is no old one.
  ffi::Optional<IndexMap> inverse;
  PrimExpr padding = Bool(false);
  bool padded = false;
  ffi::Optional<IndexMap> pad_value;
};

/// Rewrites all accesses, and simplifies the new indices for the blocks they stand in.
class LayoutRewriter final : public BlockMutator {
 public:
  LayoutRewriter(const Layout& layout, const arith::Analyzer& analyzer)
      : layout_(layout), analyzer_(analyzer) {}
  Stmt Run(const Stmt& stmt) { return VisitStmt(stmt); }

 private:
  Buffer VisitBufferDef(const Buffer& buffer) final {
    return buffer.same_as(layout_.from) ? layout_.to : BlockMutator::VisitBufferDef(buffer);
  }
  Expr VisitExpr_(const VarNode* op) final {
    SCHEDULE_CHECK(op != layout_.from.get(), current_)
        << "The block {0} uses the buffer " << layout_.from->name
        << " other than by loads and stores of elements, so its layout cannot change";
    return BlockMutator::VisitExpr_(op);
  }
  Expr VisitExpr_(const BufferLoadNode* op) final {
    if (!op->buffer.same_as(layout_.from)) return BlockMutator::VisitExpr_(op);
    return BufferLoad(layout_.to, Map(VisitExprs(op->indices)), op->predicate);
  }
  Stmt VisitStmt_(const BufferStoreNode* op) final {
    if (!op->buffer.same_as(layout_.from)) return BlockMutator::VisitStmt_(op);
    return BufferStore(layout_.to, VisitPrimExpr(op->value), Map(VisitExprs(op->indices)),
                       op->predicate);
  }
  Stmt VisitStmt_(const ForNode* op) final {
    analyzer_->Bind(op->loop_var, Range::FromMinExtent(op->min, op->extent), true);
    return BlockMutator::VisitStmt_(op);
  }
  Stmt VisitStmt_(const SBlockNode* op) final {
    const ffi::ObjectRef outer = std::exchange(current_, ffi::GetRef<ffi::ObjectRef>(op));
    for (const IterVar& iter : op->iter_vars) analyzer_->Bind(iter->var, iter->dom, true);
    for (const MatchBufferRegion& match : op->match_buffers) {
      SCHEDULE_CHECK(!match->source->buffer.same_as(layout_.from), current_)
          << "The block {0} matches a buffer to a region of " << layout_.from->name
          << ", so its layout cannot change";
    }
    Stmt result = BlockMutator::VisitStmt_(op);
    current_ = outer;
    return result;
  }
  BufferRegion VisitRegion(const BufferRegion& region) final {
    if (!region->buffer.same_as(layout_.from)) return BlockMutator::VisitRegion(region);
    ffi::Array<PrimExpr> point;
    bool is_point = true;
    for (const Range& range : region->region) {
      is_point = is_point && is_one(range->extent);
      point.push_back(range->min);
    }
    if (is_point) return BufferRegion::FromPoint(layout_.to, Map(point));
    return BufferRegion(layout_.to, MapBox(region->region));
  }

  ffi::Array<PrimExpr> Map(const ffi::Array<PrimExpr>& indices) {
    return layout_.map->MapIndices(indices, analyzer_);
  }

  /// A box around the images of all points of a box.
  ffi::Array<Range> MapBox(const ffi::Array<Range>& box) {
    ffi::Map<Var, arith::IntSet> domains;
    for (size_t d = 0; d < box.size(); ++d) {
      domains.Set(layout_.map->initial_indices[d], arith::IntSet::FromRange(box[d]));
    }
    ffi::Array<Range> result;
    for (size_t d = 0; d < layout_.map->final_indices.size(); ++d) {
      const PrimExpr& extent = layout_.to.shape()[d];
      Range whole = Range::FromMinExtent(make_zero(extent.dtype()), extent);
      Range cover =
          arith::EvalSet(layout_.map->final_indices[d], domains, analyzer_).CoverRange(whole);
      // Bounds wider than the axis say nothing.
      if (analyzer_->CanProve(cover->extent >= extent)) cover = whole;
      result.push_back(Range::FromMinExtent(analyzer_->Simplify(cover->min),
                                            analyzer_->Simplify(cover->extent)));
    }
    return result;
  }

  const Layout& layout_;
  arith::Analyzer analyzer_;
  ffi::ObjectRef current_;
};

ffi::Array<Range> ShapeRanges(const Buffer& buffer) {
  ffi::Array<Range> ranges;
  for (const PrimExpr& extent : buffer.shape()) {
    ranges.push_back(Range::FromMinExtent(make_zero(extent.dtype()), extent));
  }
  return ranges;
}

Layout MakeLayout(const StmtSRef& block, const Buffer& buffer, const IndexMap& map,
                  ffi::Optional<IndexMap> pad_value, bool assume_injective,
                  const arith::Analyzer& analyzer) {
  Layout layout{.from = buffer, .map = map};
  SCHEDULE_CHECK(map->initial_indices.size() == buffer.ndim(), block)
      << "The buffer " << buffer->name << " of {0} has " << buffer.ndim()
      << " axes, but the index map takes " << map->initial_indices.size() << " indices";
  SCHEDULE_CHECK(buffer.strides().empty(), block)
      << "The buffer " << buffer->name << " of {0} has explicit strides";
  layout.pad_value = std::move(pad_value);
  if (!assume_injective) {
    try {
      auto [inverse, padding] = map.NonSurjectiveInverse(ShapeRanges(buffer), analyzer);
      layout.inverse = inverse;
      layout.padding = analyzer->Simplify(padding);
    } catch (const ffi::Error& error) {
      SCHEDULE_FAIL(block) << "The index map for the buffer " << buffer->name
                           << " of {0} cannot be inverted: " << error.message();
    }
  }
  layout.padded = layout.inverse.has_value() && !is_zero(layout.padding);
  SCHEDULE_CHECK(!layout.padded || layout.pad_value.has_value(), block)
      << "The new layout of the buffer " << buffer->name << " of {0} has elements without an old "
      << "one (where " << layout.padding << "), so it needs a pad_value";
  SCHEDULE_CHECK(!layout.pad_value.has_value() ||
                     (layout.pad_value.value()->final_indices.size() == 1 &&
                      layout.pad_value.value()->final_indices[0].dtype() == buffer.dtype()),
                 block)
      << "The pad value has to be one value of the type of the buffer " << buffer->name
      << " of {0}, " << buffer.dtype();
  BufferType type = buffer.buffer_type();
  type.CopyOnWrite()->shape = map->MapShape(buffer.shape(), analyzer);
  layout.to = buffer.WithType(type);
  return layout;
}

/// The pad value at new indices, and the condition for it.
PrimExpr PadAt(const Layout& layout, const ffi::Array<PrimExpr>& indices,
               const arith::Analyzer& analyzer) {
  return layout.pad_value.value()->MapIndices(indices, analyzer)[0];
}
PrimExpr PaddingAt(const Layout& layout, const ffi::Array<PrimExpr>& indices) {
  ffi::Map<Var, PrimExpr> values;
  const IndexMap& inverse = layout.inverse.value();
  for (size_t d = 0; d < indices.size(); ++d) {
    values.Set(inverse->initial_indices[d], cast(inverse->initial_indices[d]->dtype(), indices[d]));
  }
  return Substituter(values).Run(layout.padding);
}

/// Makes the writer run over the new layout, if each of its spatial variables is one index of what
/// it writes, over the whole axis, and it has nothing else to say.
class PaddedWriter {
 public:
  PaddedWriter(const State& state, const StmtSRef& sref, const Layout& layout)
      : layout_(layout),
        realize_(RealizeOf(state, sref)),
        loops_(LoopsAbove(sref)),
        analyzer_(AnalyzerAt(state, ScopeRootOf(sref))) {}

  bool Applies() {
    const SBlock& block = realize_->block;
    if (!is_one(realize_->predicate) || block->writes.size() != 1) return false;
    if (SingleStore(block->body) == nullptr) return false;
    if (block->init.has_value() && SingleStore(block->init.value()) == nullptr) return false;
    if (loops_.size() != realize_->iter_values.size()) return false;
    const BufferStoreNode* store = SingleStore(block->body);
    if (!store->buffer.same_as(layout_.from)) return false;
    size_t spatial = 0;
    for (size_t i = 0; i < loops_.size(); ++i) {
      const ForNode* loop = LoopOf(loops_[i]);
      const IterVar& iter = block->iter_vars[i];
      if (!realize_->iter_values[i].same_as(loop->loop_var) || !loop->annotations.empty() ||
          loop->kind != ForKind::kSerial || StmtsOf(loop->body).size() != 1 ||
          !analyzer_->CanProve(loop->min == 0)) {
        return false;
      }
      if (iter->iter_type != kDataPar) {
        seen_reduce_ = true;
        continue;
      }
      if (seen_reduce_) return false;
      if (spatial >= store->indices.size() || !store->indices[spatial].same_as(iter->var) ||
          !analyzer_->CanProveEqual(iter->dom->extent, layout_.from.shape()[spatial])) {
        return false;
      }
      ++spatial;
    }
    return spatial == store->indices.size();
  }

  /// The nest, with the store already in the new layout.
  Stmt Build(SBlock* new_block) {
    const SBlock& old_block = realize_->block;
    const size_t old_dims = layout_.from.ndim();
    std::vector<Var> loop_vars;
    std::vector<Range> ranges;
    ffi::Array<IterVar> iters;
    ffi::Array<PrimExpr> values, indices;
    for (size_t d = 0; d < layout_.to.ndim(); ++d) {
      const PrimExpr& final_index = layout_.map->final_indices[d];
      // An axis that is an old one keeps its name.
      std::string name = "axis" + std::to_string(d);
      for (size_t o = 0; o < old_dims; ++o) {
        if (final_index.same_as(layout_.map->initial_indices[o])) {
          name = std::string(LoopOf(loops_[o])->loop_var->name);
        }
      }
      DataType dtype = old_block->iter_vars[0]->var->dtype();
      Range range = Range::FromMinExtent(make_zero(dtype), cast(dtype, layout_.to.shape()[d]));
      Add(name, range, kDataPar, &loop_vars, &ranges, &iters, &values);
      indices.push_back(iters.back()->var);
      analyzer_->Bind(iters.back()->var, range);
    }
    ffi::Array<PrimExpr> old_indices = layout_.inverse.value()->MapIndices(indices, analyzer_);
    ffi::Map<Var, PrimExpr> renamed;
    for (size_t o = 0; o < old_dims; ++o) {
      const Var& var = old_block->iter_vars[o]->var;
      renamed.Set(var, cast(var->dtype(), old_indices[o]));
    }
    for (size_t i = old_dims; i < loops_.size(); ++i) {
      const ForNode* loop = LoopOf(loops_[i]);
      const IterVar& iter = old_block->iter_vars[i];
      Add(std::string(loop->loop_var->name), Range::FromMinExtent(loop->min, loop->extent),
          iter->iter_type, &loop_vars, &ranges, &iters, &values);
      renamed.Set(iter->var, iters.back()->var);
    }
    SBlock block = old_block;
    SBlockNode* node = block.CopyOnWrite();
    node->iter_vars = iters;
    node->body = PaddedStore(node->body, renamed, indices);
    if (node->init.has_value()) node->init = PaddedStore(node->init.value(), renamed, indices);
    *new_block = RefreshRegions(block);
    return NestLoops(loop_vars, ranges, SBlockRealize(values, Bool(true), *new_block));
  }

 private:
  static void Add(const std::string& name, const Range& range, IterVarType type,
                  std::vector<Var>* loop_vars, std::vector<Range>* ranges,
                  ffi::Array<IterVar>* iters, ffi::Array<PrimExpr>* values) {
    Var loop(name, range->extent.dtype());
    loop_vars->push_back(loop);
    ranges->push_back(range);
    iters->push_back(IterVar(range, Var("v_" + name, range->extent.dtype()), type));
    values->push_back(loop);
  }

  Stmt PaddedStore(const Stmt& stmt, const ffi::Map<Var, PrimExpr>& renamed,
                   const ffi::Array<PrimExpr>& indices) {
    const BufferStoreNode* store = SingleStore(stmt);
    // The block's own element is at the new indices, not at the image of the old ones.
    PrimExpr value = OwnLoads(store).Run(Substituter(renamed), store->value, indices, layout_);
    value = if_then_else(analyzer_->Simplify(PaddingAt(layout_, indices)),
                         PadAt(layout_, indices, analyzer_), value);
    return BufferStore(layout_.to, value, indices);
  }

  /// Replaces loads of the stored element.
  class OwnLoads final : public StmtExprMutator {
   public:
    explicit OwnLoads(const BufferStoreNode* store) : store_(store) {}
    PrimExpr Run(Substituter substituter, const PrimExpr& value,
                 const ffi::Array<PrimExpr>& indices, const Layout& layout) {
      own_ = BufferLoad(layout.to, indices);
      return substituter.Run(VisitPrimExpr(value));
    }

   private:
    Expr VisitExpr_(const BufferLoadNode* op) final {
      if (op->buffer.same_as(store_->buffer)) return own_;
      return StmtExprMutator::VisitExpr_(op);
    }
    const BufferStoreNode* store_;
    PrimExpr own_;
  };

  const Layout& layout_;
  SBlockRealize realize_;
  ffi::Array<StmtSRef> loops_;
  arith::Analyzer analyzer_;
  bool seen_reduce_ = false;
};

/// Writes the pad value where the new buffer has no old element.
Stmt PadNest(const Layout& layout, const arith::Analyzer& analyzer) {
  std::vector<Var> vars;
  ffi::Array<IterVar> iters;
  ffi::Array<PrimExpr> values, indices;
  std::vector<Range> ranges;
  for (const Range& range : ShapeRanges(layout.to)) {
    const std::string d = std::to_string(vars.size());
    vars.push_back(Var("ax" + d, range->extent.dtype()));
    ranges.push_back(range);
    iters.push_back(IterVar(range, Var("v" + d, range->extent.dtype()), kDataPar));
    values.push_back(vars.back());
    indices.push_back(iters.back()->var);
  }
  ffi::Array<PrimExpr> at_loops(vars.begin(), vars.end());
  SBlock block(iters, {}, {}, std::string(layout.to->name) + "_pad_value",
               BufferStore(layout.to, PadAt(layout, indices, analyzer), indices));
  return NestLoops(vars, ranges,
                   SBlockRealize(values, PaddingAt(layout, at_loops), RefreshRegions(block)));
}

void ReplaceParameter(State* state, const StmtSRef& root, const Layout& layout) {
  const GlobalVar gvar = state->FunctionOf(root);
  PrimFunc func = Downcast<PrimFunc>(state->mod->Lookup(gvar));
  ffi::Array<Var> params;
  for (const Var& param : func->params) {
    params.push_back(param.same_as(layout.from) ? Var(layout.to) : param);
  }
  func.CopyOnWrite()->params = params;
  state->mod.CopyOnWrite()->Update(gvar, func);
}

void TransformLayout(State* state, const StmtSRef& block, const Buffer& buffer, const IndexMap& map,
                     ffi::Optional<IndexMap> pad_value, bool assume_injective) {
  const StmtSRef alloc_site = AllocationSite(block, buffer);
  StmtSRef root = block;
  while (root->parent() != nullptr) root = ffi::GetRef<StmtSRef>(root->parent());
  const StmtSRef site = alloc_site.defined() ? alloc_site : root;
  arith::Analyzer analyzer = AnalyzerAt(*state, site);
  const Layout layout =
      MakeLayout(block, buffer, map, std::move(pad_value), assume_injective, analyzer);
  const SBlock old_root = Downcast<SBlock>(site->stmt.value());
  BlockReuse reuse;
  Stmt body = old_root->body;
  const ffi::Array<StmtSRef> writers = state->GetSBlockScope(site)->WritersOf(buffer);
  if (layout.padded && !writers.empty()) {
    PaddedWriter writer(*state, writers[0], layout);
    const Stmt member = MemberTowards(*state, site, writers[0]);
    if (writers.size() == 1 && writer.Applies()) {
      SBlock new_block;
      Stmt nest = writer.Build(&new_block);
      body = ReplaceStmt(body, member.get(), nest, &reuse);
      reuse.Set(Downcast<SBlock>(writers[0]->stmt.value()), new_block);
    } else {
      body = InsertBeside(body, member.get(), PadNest(layout, analyzer), /*after=*/false);
    }
  }
  LayoutRewriter rewriter(layout, analyzer);
  SBlock with_body = WithBody(old_root, body);
  reuse.Set(old_root, with_body);
  SBlock changed = Downcast<SBlock>(rewriter.Run(with_body));
  BlockReuse all = Compose(reuse, rewriter.reuse), own;
  for (const auto& [before, after] : all) {
    if (state->GetSRef(before.get()).defined()) own.Set(before, after);
  }
  state->Replace(site, changed, own);
  if (!alloc_site.defined()) ReplaceParameter(state, root, layout);
}

const PrimitiveRegistration kTransformLayout{{
    .name = "TransformLayout",
    .method = "transform_layout",
    .params = "block=i0 buffer=a0:access index_map=i1 pad_value=a2 "
              "assume_injective_transform=a3:bool",
    .index_map_attr = 2,
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      const StmtSRef block = call.Block(0);
      const Buffer buffer = NthBuffer(block, call.Int(0), call.Int(1) != 0);
      ffi::Optional<IndexMap> pad;
      if (call.attrs[2] != nullptr) pad = call.Attr<IndexMap>(2);
      TransformLayout(call.state, block, buffer, call.inputs[1].cast<IndexMap>(), pad,
                      call.Flag(3));
      return {};
    },
}};

}  // namespace

}  // namespace s_tir
}  // namespace tvm
