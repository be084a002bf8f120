// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "s_tir/schedule/primitive/cache_util.h"

#include <algorithm>

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)
using arith::IntSet;

BufferSwapper::BufferSwapper(const Buffer& from, const Buffer& to, SwapWhat what,
                             const ffi::Array<StmtSRef>& blocks)
    : from_(from), to_(to), what_(what) {
  for (const StmtSRef& block : blocks) blocks_.insert(block->get_stmt());
}

ffi::Array<BufferRegion> BufferSwapper::SwapRegions(const ffi::Array<BufferRegion>& regions) {
  ffi::Array<BufferRegion> result;
  for (BufferRegion region : regions) {
    if (region->buffer.same_as(from_)) region.CopyOnWrite()->buffer = to_;
    result.push_back(region);
  }
  return result;
}

Stmt BufferSwapper::VisitStmt_(const SBlockNode* op) {
  const bool chosen = blocks_.count(op) != 0;
  depth_ += chosen;
  Stmt visited = StmtExprMutator::VisitStmt_(op);
  depth_ -= chosen;
  if (depth_ > 0 || chosen) {
    bool mentions = false;
    for (const BufferRegion& region : op->reads) {
      mentions = mentions || (Reads() && region->buffer.same_as(from_));
    }
    for (const BufferRegion& region : op->writes) {
      mentions = mentions || (Writes() && region->buffer.same_as(from_));
    }
    if (mentions) {
      SBlock block = Downcast<SBlock>(visited);
      SBlockNode* node = block.CopyOnWrite();
      if (Reads()) node->reads = SwapRegions(node->reads);
      if (Writes()) node->writes = SwapRegions(node->writes);
      ffi::Array<MatchBufferRegion> matches;
      for (MatchBufferRegion match : node->match_buffers) {
        if (match->source->buffer.same_as(from_)) {
          BufferRegion source = match->source;
          source.CopyOnWrite()->buffer = to_;
          match.CopyOnWrite()->source = source;
        }
        matches.push_back(match);
      }
      node->match_buffers = std::move(matches);
      visited = block;
    }
  }
  if (visited.get() != op) reuse.Set(ffi::GetRef<SBlock>(op), Downcast<SBlock>(visited));
  return visited;
}

Stmt BufferSwapper::VisitStmt_(const BufferStoreNode* op) {
  Stmt visited = BlockMutator::VisitStmt_(op);
  if (depth_ == 0 || !Writes() || !op->buffer.same_as(from_)) return visited;
  BufferStore store = Downcast<BufferStore>(visited);
  store.CopyOnWrite()->buffer = to_;
  return store;
}

Expr BufferSwapper::VisitExpr_(const BufferLoadNode* op) {
  Expr visited = BlockMutator::VisitExpr_(op);
  if (depth_ == 0 || !Reads() || !op->buffer.same_as(from_)) return visited;
  BufferLoad load = Downcast<BufferLoad>(visited);
  load.CopyOnWrite()->buffer = to_;
  return load;
}

namespace {

/// Whether some store to a buffer depends on a condition.
class ConditionalStoreFinder final : public StmtVisitor {
 public:
  explicit ConditionalStoreFinder(const Buffer& buffer) : buffer_(buffer) {}
  bool Run(const Stmt& stmt) {
    VisitStmt(stmt);
    return found_;
  }

 private:
  void VisitStmt_(const BufferStoreNode* op) final {
    const bool masked = op->predicate.has_value();
    found_ = found_ || ((depth_ > 0 || masked) && op->buffer.same_as(buffer_));
  }
  void VisitStmt_(const IfThenElseNode* op) final {
    ++depth_;
    StmtVisitor::VisitStmt_(op);
    --depth_;
  }
  void VisitStmt_(const WhileNode* op) final {
    ++depth_;
    StmtVisitor::VisitStmt_(op);
    --depth_;
  }
  Buffer buffer_;
  int depth_ = 0;
  bool found_ = false;
};

}  // namespace

void CheckStartsAfresh(const StmtSRef& sref, const Buffer& buffer) {
  const auto* block = sref->StmtAs<SBlockNode>();
  SCHEDULE_CHECK(block->init.has_value() || !ConditionalStoreFinder(buffer).Run(block->body), sref)
      << "The block {0} writes the buffer " << buffer->name
      << " under a condition; cache_inplace keeps what it does not write";
  for (const BufferRegion& read : block->reads) {
    SCHEDULE_CHECK(block->init.has_value() || !read->buffer.same_as(buffer), sref)
        << "The block {0} goes on from what the buffer " << buffer->name
        << " holds before; cache_inplace copies that, too";
  }
}

std::string CacheName(const Buffer& buffer, const std::string& scope) {
  std::string name = std::string(buffer->name) + "_" + scope;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

Stmt MakeCopy(const Buffer& from, const Buffer& to, const ffi::Array<IntSet>& region,
              const std::string& name, const arith::Analyzer& analyzer) {
  ffi::Array<IterVar> iters;
  ffi::Array<PrimExpr> indices;
  BlockBounds bounds;
  for (size_t d = 0; d < from.ndim(); ++d) {
    const PrimExpr& extent = from.shape()[d];
    Var var("v" + std::to_string(d), extent.dtype());
    iters.push_back(
        IterVar(Range::FromMinExtent(make_zero(extent.dtype()), extent), var, kDataPar));
    indices.push_back(var);
    const bool bounded =
        d < region.size() && region[d].HasLowerBound() && region[d].HasUpperBound();
    bounds.push_back(bounded ? std::optional<VarBounds>({region[d].min(), region[d].max()})
                             : std::nullopt);
  }
  SBlock block(iters, {BufferRegion::FromPoint(from, indices)},
               {BufferRegion::FromPoint(to, indices)}, name,
               BufferStore(to, BufferLoad(from, indices), indices));
  // Loops of one iteration are kept, so that a copy always has one loop an axis.
  return MakeBlockNest(block, bounds, /*preserve_unit_loops=*/true, analyzer);
}

ffi::Array<StmtSRef> ReadersOf(State* state, const StmtSRef& scope_root, const Buffer& buffer,
                               const ffi::Array<StmtSRef>& wanted) {
  auto reads = [&](const StmtSRef& block) {
    for (const BufferRegion& region : block->StmtAs<SBlockNode>()->reads) {
      if (region->buffer.same_as(buffer)) return true;
    }
    return false;
  };
  ffi::Array<StmtSRef> result;
  if (wanted.empty()) {
    for (const StmtSRef& block : ChildBlocks(*state, scope_root)) {
      if (reads(block)) result.push_back(block);
    }
    return result;
  }
  for (const StmtSRef& block : wanted) {
    SCHEDULE_CHECK(ScopeRootOf(block).same_as(scope_root), block, scope_root)
        << "The consumer block {0} has to be in the scope {1}";
    SCHEDULE_CHECK(reads(block), block)
        << "The consumer block {0} does not read the buffer " << buffer->name;
    result.push_back(block);
  }
  return result;
}

StmtSRef FindCopy(const State& state, const StmtSRef& scope_root, const std::string& name,
                  const Buffer& from, const Buffer& to) {
  for (const StmtSRef& block : ChildBlocks(state, scope_root)) {
    const auto* node = block->StmtAs<SBlockNode>();
    if (node->name_hint == name && node->writes.size() == 1 && node->reads.size() == 1 &&
        node->writes[0]->buffer.same_as(to) && node->reads[0]->buffer.same_as(from)) {
      return block;
    }
  }
  TVM_FFI_THROW(InternalError) << "the copy block " << name << " is not there";
  TVM_FFI_UNREACHABLE();
}

namespace {

/// Inserts statements beside members, top down, while the old statements are still there.
class StageInserter final : public BlockMutator {
 public:
  StageInserter(const State& state, const std::vector<StageEdit>& edits) {
    for (const StageEdit& edit : edits) {
      const StmtNode* anchor =
          edit.anchor.defined() ? MemberTowards(state, edit.parent, edit.anchor).get() : nullptr;
      edits_.push_back({edit.parent->get_stmt(), anchor, edit.after, edit.stmt});
    }
  }
  Stmt Run(const Stmt& stmt) { return VisitStmt(stmt); }

 private:
  struct Edit {
    const StmtNode* parent;
    const StmtNode* anchor;
    bool after;
    Stmt stmt;
  };
  Expr VisitExpr(const Expr& expr) final { return expr; }

  /// The body of `parent` with its insertions, members not yet visited.
  Stmt Insert(const StmtNode* parent, Stmt body) const {
    for (const Edit& edit : edits_) {
      if (edit.parent != parent) continue;
      body = edit.anchor == nullptr ? SeqStmt::Flatten(edit.stmt, body)
                                    : InsertBeside(body, edit.anchor, edit.stmt, edit.after);
    }
    return body;
  }
  Stmt VisitStmt_(const ForNode* op) final {
    For loop = ffi::GetRef<For>(op);
    Stmt body = VisitStmt(Insert(op, op->body));
    if (body.same_as(op->body)) return loop;
    loop.CopyOnWrite()->body = std::move(body);
    return loop;
  }
  Stmt VisitStmt_(const SBlockNode* op) final {
    SBlock block = ffi::GetRef<SBlock>(op);
    Stmt body = VisitStmt(Insert(op, op->body));
    if (body.same_as(op->body)) return block;
    SBlock changed = WithBody(block, std::move(body));
    reuse.Set(block, changed);
    return changed;
  }

  std::vector<Edit> edits_;
};

}  // namespace

void InsertStages(State* state, const StmtSRef& scope_root, const std::vector<StageEdit>& edits,
                  const std::vector<BufferSwapper*>& swappers, const Buffer& alloc) {
  StageInserter inserter(*state, edits);
  const SBlock old_root = Downcast<SBlock>(scope_root->stmt.value());
  Stmt root = inserter.Run(old_root);
  BlockReuse reuse = inserter.reuse;
  for (BufferSwapper* swapper : swappers) {
    root = swapper->Run(root);
    reuse = Compose(reuse, swapper->reuse);
  }
  SBlock changed = Downcast<SBlock>(root);
  if (alloc.defined()) changed = WithAlloc(changed, alloc);
  reuse.Set(old_root, changed);
  BlockReuse own;
  for (const auto& [before, after] : reuse) {
    if (state->GetSRef(before.get()).defined()) own.Set(before, after);
  }
  state->Replace(scope_root, changed, own);
}

}  // namespace s_tir
}  // namespace tvm
