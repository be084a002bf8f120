// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// cache_index: indices of a block's accesses are computed beforehand.
///
///   C[v] = A[v * 3 % 8]         ==>   index_var_0[v] = v * 3 % 8
///                                     C[v] = A[index_var_0[v]]
#include <unordered_set>

#include "s_tir/schedule/primitive/inline_util.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

bool IsSimple(const PrimExpr& expr) { return expr.as<VarNode>() != nullptr || is_const_int(expr); }

/// Expressions used as indices of loads, with how often (parts of) them occur.
class IndexCollector final : public StmtExprVisitor {
 public:
  explicit IndexCollector(int64_t cse_thresh) : cse_thresh_(cse_thresh) {}

  std::vector<PrimExpr> Run(const Stmt& body) {
    VisitStmt(body);
    std::vector<PrimExpr> result;
    for (const auto& [expr, count] : found_) {
      const bool whole = cse_thresh_ <= 0;
      if (whole || count > cse_thresh_) result.push_back(expr);
    }
    return result;
  }

 private:
  void VisitExpr_(const BufferLoadNode* op) final {
    for (const PrimExpr& index : op->indices) {
      if (cse_thresh_ <= 0) {
        Note(index);
      } else {
        PostOrderVisitExpr(index, [this](const Expr& part) {
          if (IsPrimExpr(part)) Note(PrimExpr(part));
        });
      }
    }
    StmtExprVisitor::VisitExpr_(op);
  }

  void Note(const PrimExpr& expr) {
    if (IsSimple(expr) || !expr.dtype().is_int()) return;
    bool reads = false;
    PostOrderVisitExpr(expr, [&](const Expr& e) { reads |= e.as<BufferLoadNode>() != nullptr; });
    if (reads) return;
    for (auto& [known, count] : found_) {
      if (ExprDeepEqual()(known, expr)) {
        ++count;
        return;
      }
    }
    found_.emplace_back(expr, 1);
  }

  int64_t cse_thresh_;
  std::vector<std::pair<PrimExpr, int64_t>> found_;
};

class IndexReplacer final : public StmtExprMutator {
 public:
  IndexReplacer(std::vector<PrimExpr> from, std::vector<PrimExpr> to)
      : from_(std::move(from)), to_(std::move(to)) {}
  Stmt Run(const Stmt& stmt) { return VisitStmt(stmt); }

 private:
  Expr VisitExpr(const Expr& expr) final {
    if (in_index_ && IsPrimExpr(expr)) {
      for (size_t i = 0; i < from_.size(); ++i) {
        if (ExprDeepEqual()(from_[i], expr)) return to_[i];
      }
    }
    return StmtExprMutator::VisitExpr(expr);
  }
  Expr VisitExpr_(const BufferLoadNode* op) final {
    bool outer = std::exchange(in_index_, true);
    Expr result = StmtExprMutator::VisitExpr_(op);
    in_index_ = outer;
    return result;
  }
  std::vector<PrimExpr> from_, to_;
  bool in_index_ = false;
};

ffi::Array<StmtSRef> CacheIndex(State* state, const StmtSRef& sref, const std::string& scope,
                                int64_t cse_thresh) {
  const StmtSRef scope_root = ScopeRootOf(sref);
  const SBlock old_block = Downcast<SBlock>(sref->stmt.value());
  const std::vector<PrimExpr> indices = IndexCollector(cse_thresh).Run(old_block->body);
  SCHEDULE_CHECK(!indices.empty(), sref) << "The block {0} has no index that is worth caching";
  std::vector<PrimExpr> loads;
  ffi::Array<Stmt> stages;
  std::vector<SBlock> new_blocks;
  SBlock root = Downcast<SBlock>(scope_root->stmt.value());
  const SBlock old_root = root;
  for (const PrimExpr& index : indices) {
    const std::string number = std::to_string(loads.size());
    std::vector<Var> loops;
    std::vector<Range> ranges;
    ffi::Array<IterVar> iters;
    ffi::Array<PrimExpr> values, point, own_point, shape;
    ffi::Map<Var, PrimExpr> renamed;
    std::unordered_set<const VarNode*> known;
    for (const IterVar& iter : old_block->iter_vars) {
      if (!UsesVar(index, iter->var)) continue;
      known.insert(iter->var.get());
      const std::string d = std::to_string(loops.size());
      Var loop("ax" + d, iter->var->dtype()), var("v" + d, iter->var->dtype());
      loops.push_back(loop);
      ranges.push_back(iter->dom);
      iters.push_back(IterVar(iter->dom, var, kDataPar));
      values.push_back(loop);
      renamed.Set(iter->var, var);
      shape.push_back(iter->dom->extent);
      point.push_back(is_zero(iter->dom->min) ? PrimExpr(var) : var - iter->dom->min);
      own_point.push_back(is_zero(iter->dom->min) ? PrimExpr(iter->var)
                                                  : iter->var - iter->dom->min);
    }
    const bool closed = !UsesVar(index, [&](const VarNode* v) { return known.count(v) == 0; });
    SCHEDULE_CHECK(closed && !loops.empty(), sref)
        << "The index " << index << " of the block {0} uses more than its iteration variables";
    Buffer buffer("index_var_" + number, BufferType(index.dtype(), shape, {}, PrimExpr(), scope));
    SBlock block(iters, {}, {BufferRegion::FromPoint(buffer, point)}, "index_" + number,
                 BufferStore(buffer, Substitute(index, renamed), point));
    new_blocks.push_back(block);
    stages.push_back(NestLoops(loops, ranges, SBlockRealize(values, Bool(true), block)));
    loads.push_back(BufferLoad(buffer, own_point));
    root = WithAlloc(root, buffer);
  }
  SBlock block = old_block;
  SBlockNode* node = block.CopyOnWrite();
  node->body = IndexReplacer(indices, loads).Run(node->body);
  // What is read of the data stays as it was stated: in terms of the variables it is exact.
  for (const PrimExpr& load : loads) {
    const auto* index = load.as<BufferLoadNode>();
    node->reads.push_back(BufferRegion::FromPoint(index->buffer, index->indices));
  }
  const Stmt member = MemberTowards(*state, scope_root, sref);
  const SBlockRealize old_realize = RealizeOf(*state, sref);
  SBlockRealize realize = old_realize;
  realize.CopyOnWrite()->block = block;
  BlockReuse reuse;
  Stmt body = InsertBeside(root->body, member.get(), SeqStmt::Flatten(stages), /*after=*/false);
  body = ReplaceStmt(body, old_realize.get(), realize, &reuse);
  SBlock changed = WithBody(root, body);
  reuse.Set(old_root, changed);
  reuse.Set(old_block, block);
  state->Replace(scope_root, changed, reuse);
  ffi::Array<StmtSRef> result;
  for (const SBlock& added : new_blocks) result.push_back(state->GetSRef(added.get()));
  return result;
}

const PrimitiveRegistration kCacheIndex{{
    .name = "CacheIndex",
    .method = "cache_index",
    .params = "block=i0 storage_scope=a0 cse_thresh=a1",
    .result = Result::kList,
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      return call.Blocks(CacheIndex(call.state, call.Block(0),
                                    std::string(call.Attr<ffi::String>(0)), call.Int(1)));
    },
}};

}  // namespace

}  // namespace s_tir
}  // namespace tvm
