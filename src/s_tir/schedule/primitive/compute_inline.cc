// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// compute_inline: what a block computes goes into its readers.
///
///   B[v, w] = A[v, w] + 1       ==>   C[v, w] = (A[v, w] + 1) * 2
///   C[v, w] = B[v, w] * 2
#include <tvm/tirx/op.h>

#include <unordered_set>

#include "s_tir/schedule/primitive/inline_util.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

/// B[v, w] = value, as a rule for loads of B.
struct InlineRule {
  Buffer buffer;
  std::vector<Var> vars;  // null where the index is the constant 0 of an extent 1
  PrimExpr value;
};

InlineRule MakeRule(const StmtSRef& sref, const Buffer& buffer) {
  const auto* block = sref->StmtAs<SBlockNode>();
  const BufferStoreNode* store = SingleStore(block->body);
  SCHEDULE_CHECK(store != nullptr && store->buffer.same_as(buffer) && !store->predicate.has_value(),
                 sref)
      << "The body of the block {0} has to be one store to the buffer " << buffer->name;
  SCHEDULE_CHECK(!block->init.has_value(), sref) << "The block {0} has an init statement";
  std::unordered_set<const VarNode*> seen;
  InlineRule rule{buffer, {}, store->value};
  for (size_t d = 0; d < store->indices.size(); ++d) {
    auto var = store->indices[d].as<Var>();
    if (!var.has_value() && is_zero(store->indices[d]) && is_one(buffer.shape()[d])) {
      rule.vars.push_back(Var(ffi::UnsafeInit{}));
      continue;
    }
    SCHEDULE_CHECK(var.has_value() && seen.insert(var->get()).second, sref)
        << "The block {0} has to write the buffer " << buffer->name
        << " at distinct variables, but the index " << d << " is " << store->indices[d];
    rule.vars.push_back(*var);
  }
  ffi::Map<Var, PrimExpr> only_value;
  for (const IterVar& iter : block->iter_vars) {
    SCHEDULE_CHECK(seen.count(iter->var.get()) != 0 || is_one(iter->dom->extent) ||
                       !UsesVar(store->value, iter->var),
                   sref)
        << "The value that the block {0} computes depends on the iteration variable "
        << iter->var->name << ", which no index of the store uses";
    if (seen.count(iter->var.get()) == 0) only_value.Set(iter->var, iter->dom->min);
  }
  rule.value = Substituter(only_value).Run(rule.value);
  return rule;
}

class Inliner final : public BlockMutator {
 public:
  explicit Inliner(const InlineRule& rule) : rule_(rule) {}
  Stmt Run(const Stmt& body) { return VisitStmt(body); }

 private:
  Expr VisitExpr_(const BufferLoadNode* op) final {
    Expr visited = BlockMutator::VisitExpr_(op);
    const auto* load = visited.as<BufferLoadNode>();
    if (!load->buffer.same_as(rule_.buffer)) return visited;
    used_ = true;
    ffi::Map<Var, PrimExpr> values;
    for (size_t d = 0; d < rule_.vars.size(); ++d) {
      if (!rule_.vars[d].defined()) continue;
      values.Set(rule_.vars[d], cast(rule_.vars[d]->dtype(), load->indices[d]));
    }
    return Substituter(values).Run(rule_.value);
  }

  Stmt VisitStmt_(const SBlockNode* op) final {
    bool outer_used = std::exchange(used_, false);
    Stmt result = StmtExprMutator::VisitStmt_(op);
    if (used_) result = RefreshRegions(Downcast<SBlock>(result));
    if (result.get() != op) reuse.Set(ffi::GetRef<SBlock>(op), Downcast<SBlock>(result));
    used_ = used_ || outer_used;
    return result;
  }

  const InlineRule& rule_;
  bool used_ = false;
};

}  // namespace

void ComputeInline(State* state, const StmtSRef& block) {
  const StmtSRef scope_root = ScopeRootOf(block);
  CheckStagePipeline(state, scope_root);
  CheckCompleteBlock(state, block);
  const Buffer buffer = SingleIntermediateBuffer(state, block, scope_root);
  const InlineRule rule = MakeRule(block, buffer);
  CheckNoOpaqueUse(scope_root, buffer);
  CheckPredicateIsDomain(*state, block);
  Removal removal = PlanRemoval(*state, block, scope_root);
  SBlock root = Downcast<SBlock>(scope_root->stmt.value());
  BlockReuse reuse;
  Stmt body = ReplaceStmt(root->body, removal.what.get(), Stmt(), &reuse);
  Inliner inliner(rule);
  body = inliner.Run(body);
  SBlock changed = WithoutAlloc(WithBody(root, body), buffer);
  BlockReuse all = Compose(reuse, inliner.reuse);
  all.Set(root, changed);
  state->Replace(scope_root, changed, all);
}

namespace {

const PrimitiveRegistration kComputeInline{{
    .name = "ComputeInline",
    .method = "compute_inline",
    .params = "block=i0",
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      ComputeInline(call.state, call.Block(0));
      return {};
    },
}};

}  // namespace

}  // namespace s_tir
}  // namespace tvm
