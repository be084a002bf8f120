// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// reindex, reindex_cache_read, reindex_cache_write: a block accesses a copy of a buffer whose
/// layout is a map of the block's iteration variables.
///
///   C[v, w] += A[w * 2 + v] ..  ==>   A_reindex[v, w] = A[w * 2 + v]
///                                     C[v, w] += A_reindex[v, w] ..
#include "s_tir/schedule/primitive/cache_util.h"
#include "s_tir/schedule/primitive/inline_util.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

/// The one place where a block accesses a buffer.
ffi::Array<PrimExpr> SingleAccess(const StmtSRef& sref, const Buffer& buffer) {
  ffi::Array<PrimExpr> indices;
  bool found = false, same = true;
  auto access = [&](const Buffer& other, const ffi::Array<PrimExpr>& at) {
    if (!other.same_as(buffer)) return;
    for (size_t d = 0; found && d < at.size(); ++d) {
      same = same && ExprDeepEqual()(indices[d], at[d]);
    }
    indices = at;
    found = true;
  };
  const auto* block = sref->StmtAs<SBlockNode>();
  auto visit = [&](const ffi::ObjectRef& node) {
    if (const auto* load = node.as<BufferLoadNode>()) access(load->buffer, load->indices);
    if (const auto* store = node.as<BufferStoreNode>()) access(store->buffer, store->indices);
  };
  PostOrderVisit(block->body, visit);
  if (block->init.has_value()) PostOrderVisit(block->init.value(), visit);
  SCHEDULE_CHECK(found && same, sref)
      << "The block {0} has to access the buffer " << buffer->name << " at one place only";
  // Variables of loops and blocks inside mean nothing outside.
  std::unordered_set<const VarNode*> inside;
  PreOrderVisit(block->body, [&](const ffi::ObjectRef& node) {
    if (const auto* loop = node.as<ForNode>()) inside.insert(loop->loop_var.get());
    if (const auto* bind = node.as<BindNode>()) inside.insert(bind->var.get());
    if (const auto* inner = node.as<SBlockNode>()) {
      for (const IterVar& iter : inner->iter_vars) inside.insert(iter->var.get());
    }
    return true;
  });
  for (const PrimExpr& index : indices) {
    SCHEDULE_CHECK(!UsesVar(index, [&](const VarNode* v) { return inside.count(v) != 0; }), sref)
        << "The block {0} accesses the buffer " << buffer->name << " at " << index
        << ", which depends on loops inside of it";
  }
  return indices;
}

/// Swaps accesses of one buffer for accesses of another at fixed indices.
class AccessSwapper final : public StmtExprMutator {
 public:
  AccessSwapper(const Buffer& from, const Buffer& to, ffi::Array<PrimExpr> indices)
      : from_(from), to_(to), indices_(std::move(indices)) {}
  Stmt Run(const Stmt& stmt) { return VisitStmt(stmt); }

 private:
  Expr VisitExpr_(const BufferLoadNode* op) final {
    if (op->buffer.same_as(from_)) return BufferLoad(to_, indices_, op->predicate);
    return StmtExprMutator::VisitExpr_(op);
  }
  Stmt VisitStmt_(const BufferStoreNode* op) final {
    if (!op->buffer.same_as(from_)) return StmtExprMutator::VisitStmt_(op);
    return BufferStore(to_, VisitPrimExpr(op->value), indices_, op->predicate);
  }
  Buffer from_, to_;
  ffi::Array<PrimExpr> indices_;
};

struct ReindexPlan {
  StmtSRef block, scope_root;
  Buffer buffer;
  bool is_write = false;
  std::string buffer_name, block_name, scope;
  /// New indices, in the block's variables.
  ffi::Array<PrimExpr> indices;
};

StmtSRef RunReindex(State* state, const ReindexPlan& plan) {
  const auto* old_node = plan.block->StmtAs<SBlockNode>();
  const ffi::Array<PrimExpr> old_indices = SingleAccess(plan.block, plan.buffer);
  CheckNoOpaqueUse(plan.block, plan.buffer);
  SBlockScope scope = state->GetSBlockScope(plan.scope_root);
  ffi::Array<StmtSRef> writers = scope->WritersOf(plan.buffer);
  SCHEDULE_CHECK(plan.is_write ? writers.size() == 1 : writers.size() <= 1, plan.block)
      << "The buffer " << plan.buffer->name << " of the block {0} has " << writers.size()
      << " writers in its scope";
  SCHEDULE_CHECK(plan.is_write || writers.empty() || !writers[0].same_as(plan.block), plan.block)
      << "The block {0} writes the buffer " << plan.buffer->name << " that it reads";
  CheckAffineBinding(state, plan.block);
  if (plan.is_write) CheckStartsAfresh(plan.block, plan.buffer);

  // Which variables matter, and that no two of their values share an element.
  ffi::Map<Var, Range> used_domains;
  std::vector<IterVar> used;
  for (const IterVar& iter : old_node->iter_vars) {
    bool in_old = false, in_new = false;
    for (const PrimExpr& index : old_indices) in_old = in_old || UsesVar(index, iter->var);
    for (const PrimExpr& index : plan.indices) in_new = in_new || UsesVar(index, iter->var);
    if (!in_old && !in_new) continue;
    SCHEDULE_CHECK(in_new || is_one(iter->dom->extent), plan.block)
        << "The new layout does not use the iteration variable " << iter->var->name
        << " of the block {0}, on which the old index depends";
    SCHEDULE_CHECK(!plan.is_write || iter->iter_type == kDataPar, plan.block)
        << "The reduction variable " << iter->var->name
        << " of the block {0} cannot index what it writes";
    used.push_back(iter);
    used_domains.Set(iter->var, iter->dom);
  }
  arith::Analyzer analyzer = AnalyzerAt(*state, plan.block);
  bool trivial = true;
  for (const PrimExpr& index : plan.indices) {
    trivial = trivial && (index.as<VarNode>() != nullptr || is_const_int(index));
  }
  SCHEDULE_CHECK(trivial || !arith::DetectIterMap(plan.indices, used_domains, Bool(true),
                                                  arith::kBijective, analyzer)
                                 ->indices.empty(),
                 plan.block)
      << "The new layout for the block {0} has to keep different elements apart";
  ffi::Map<Var, arith::IntSet> sets;
  for (const auto& [var, range] : used_domains) sets.Set(var, arith::IntSet::FromRange(range));
  ffi::Array<PrimExpr> shape;
  for (const PrimExpr& index : plan.indices) {
    shape.push_back(analyzer->Simplify(arith::EvalSet(index, sets, analyzer).max() + 1));
  }
  const Buffer copy = BufferWithShape(plan.buffer, plan.buffer_name, plan.scope, shape);

  // The block that copies.
  std::vector<Var> loops;
  std::vector<Range> ranges;
  ffi::Array<IterVar> iters;
  ffi::Array<PrimExpr> values;
  ffi::Map<Var, PrimExpr> renamed;
  for (const IterVar& iter : used) {
    Var loop("ax" + std::to_string(loops.size()), iter->var->dtype());
    Var var("v" + std::to_string(loops.size()), iter->var->dtype());
    loops.push_back(loop);
    ranges.push_back(iter->dom);
    iters.push_back(IterVar(iter->dom, var, kDataPar));
    values.push_back(loop);
    renamed.Set(iter->var, var);
  }
  for (const IterVar& iter : old_node->iter_vars) {
    if (renamed.count(iter->var) == 0) renamed.Set(iter->var, iter->dom->min);
  }
  ffi::Array<PrimExpr> at_old, at_new;
  Substituter rename(renamed);
  for (const PrimExpr& index : old_indices) at_old.push_back(rename.Run(index));
  for (const PrimExpr& index : plan.indices) at_new.push_back(rename.Run(index));
  Stmt store = plan.is_write ? BufferStore(plan.buffer, BufferLoad(copy, at_new), at_old)
                             : BufferStore(copy, BufferLoad(plan.buffer, at_old), at_new);
  SBlock copy_block = RefreshRegions(SBlock(iters, {}, {}, plan.block_name, store));
  // A guarded access may have indices outside of the buffer, where nothing is to be copied.
  PrimExpr inside = Bool(true);
  ffi::Map<Var, PrimExpr> at_loops;
  for (size_t i = 0; i < iters.size(); ++i) {
    at_loops.Set(iters[i]->var, values[i]);
    analyzer->Bind(iters[i]->var, iters[i]->dom);
  }
  for (size_t d = 0; d < at_old.size(); ++d) {
    for (const PrimExpr& bound : {at_old[d] >= 0, at_old[d] < plan.buffer.shape()[d]}) {
      if (analyzer->CanProve(bound)) continue;
      SCHEDULE_CHECK(!plan.is_write, plan.block)
          << "It cannot be shown that the block {0} writes " << plan.buffer->name << " at "
          << old_indices[d] << " inside of the buffer";
      inside = Conjoin(inside, Substitute(bound, at_loops));
    }
  }
  Stmt nest = NestLoops(loops, ranges, SBlockRealize(values, inside, copy_block));

  // The block that used the buffer.
  const SBlock old_block = Downcast<SBlock>(plan.block->stmt.value());
  SBlock new_block = old_block;
  SBlockNode* node = new_block.CopyOnWrite();
  AccessSwapper swapper(plan.buffer, copy, plan.indices);
  node->body = swapper.Run(node->body);
  if (node->init.has_value()) node->init = swapper.Run(node->init.value());
  new_block = RefreshRegions(new_block);
  const SBlock root = Downcast<SBlock>(plan.scope_root->stmt.value());
  const Stmt member = MemberTowards(*state, plan.scope_root, plan.block);
  BlockReuse reuse;
  // Before a reader, whatever writes the buffer has run; after a writer, no one has read it.
  if (!plan.is_write && !writers.empty()) {
    SCHEDULE_CHECK(!MemberTowards(*state, plan.scope_root, writers[0]).same_as(member), plan.block,
                   writers[0])
        << "The block {0} and the writer {1} of " << plan.buffer->name << " share a loop";
  }
  for (const StmtSRef& other :
       plan.is_write ? ConsumersOf(state, plan.block) : ffi::Array<StmtSRef>()) {
    SCHEDULE_CHECK(!MemberTowards(*state, plan.scope_root, other).same_as(member), plan.block,
                   other)
        << "The block {0} and the reader {1} of " << plan.buffer->name << " share a loop";
  }
  Stmt body = InsertBeside(root->body, member.get(), nest, plan.is_write);
  const SBlockRealize old_realize = RealizeOf(*state, plan.block);
  SBlockRealize realize = old_realize;
  realize.CopyOnWrite()->block = new_block;
  body = ReplaceStmt(body, old_realize.get(), realize, &reuse);
  SBlock changed = WithAlloc(WithBody(root, body), copy);
  reuse.Set(root, changed);
  reuse.Set(old_block, new_block);
  state->Replace(plan.scope_root, changed, reuse);
  return state->GetSRef(copy_block.get());
}

StmtSRef ReIndex(State* state, const StmtSRef& block, int64_t index, bool is_write) {
  ReindexPlan plan{.block = block, .scope_root = ScopeRootOf(block)};
  plan.buffer = NthBuffer(block, index, is_write);
  plan.is_write = is_write;
  plan.scope = std::string(plan.buffer.scope());
  plan.buffer_name = std::string(plan.buffer->name) + "_reindex";
  plan.block_name = plan.buffer_name;
  if (!is_write) plan.block_name += "_reindex";
  for (const IterVar& iter : block->StmtAs<SBlockNode>()->iter_vars) {
    bool used = false;
    for (const PrimExpr& old : SingleAccess(block, plan.buffer)) {
      used = used || UsesVar(old, iter->var);
    }
    if (used) plan.indices.push_back(iter->var);
  }
  SCHEDULE_CHECK(!plan.indices.empty(), block)
      << "The block {0} accesses the buffer " << plan.buffer->name << " at a constant place";
  return RunReindex(state, plan);
}

template <bool kIsWrite>
ffi::Array<ffi::Any> ReindexCache(PrimitiveCall& call) {
  const StmtSRef block = call.Block(0);
  const IndexMap map = call.inputs[1].cast<IndexMap>();
  const auto* node = block->StmtAs<SBlockNode>();
  SCHEDULE_CHECK(map->initial_indices.size() == node->iter_vars.size(), block)
      << "The block {0} has " << node->iter_vars.size()
      << " iteration variables, but the index map takes " << map->initial_indices.size();
  ReindexPlan plan{.block = block, .scope_root = ScopeRootOf(block)};
  plan.buffer = NthBuffer(block, call.Int(0), kIsWrite);
  plan.is_write = kIsWrite;
  plan.scope = std::string(call.Attr<ffi::String>(1));
  plan.buffer_name = CacheName(plan.buffer, plan.scope);
  plan.block_name = plan.buffer_name;
  ffi::Array<PrimExpr> vars;
  for (const IterVar& iter : node->iter_vars) vars.push_back(iter->var);
  plan.indices = map->MapIndices(vars, AnalyzerAt(*call.state, block));
  return call.One(RunReindex(call.state, plan));
}

const PrimitiveRegistration kReIndex{{
    .name = "ReIndex",
    .method = "reindex",
    .params = "block=i0 buffer=a0:access",
    .result = Result::kOne,
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      return call.One(ReIndex(call.state, call.Block(0), call.Int(0), call.Int(1) != 0));
    },
}};

const PrimitiveRegistration kReindexCacheRead{{
    .name = "ReindexCacheRead",
    .method = "reindex_cache_read",
    .params = "block=i0 read_buffer_index=a0 storage_scope=a1 index_map=i1",
    .result = Result::kOne,
    .run = ReindexCache<false>,
}};

const PrimitiveRegistration kReindexCacheWrite{{
    .name = "ReindexCacheWrite",
    .method = "reindex_cache_write",
    .params = "block=i0 write_buffer_index=a0 storage_scope=a1 index_map=i1",
    .result = Result::kOne,
    .run = ReindexCache<true>,
}};

}  // namespace

}  // namespace s_tir
}  // namespace tvm
