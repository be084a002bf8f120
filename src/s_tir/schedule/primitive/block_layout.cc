// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// transform_block_layout: a block runs over a map of its iteration variables.
/// reorder_block_iter_var: it lists them in another order.
#include "s_tir/schedule/primitive/loop_checks.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

/// What kind of variable an expression of block variables is: of the one kind they all are.
IterVarType TypeOf(const StmtSRef& sref, const SBlockNode* block, const PrimExpr& value) {
  ffi::Optional<IterVar> first;
  for (const IterVar& iter : block->iter_vars) {
    if (!UsesVar(value, iter->var)) continue;
    SCHEDULE_CHECK(!first.has_value() || first.value()->iter_type == iter->iter_type, sref)
        << "The new index " << value << " of the block {0} mixes "
        << IterVarTypeToString(first.value()->iter_type) << " and "
        << IterVarTypeToString(iter->iter_type) << " variables";
    first = iter;
  }
  return first.has_value() ? first.value()->iter_type : kDataPar;
}

void TransformBlockLayout(State* state, const StmtSRef& sref, const IndexMap& map) {
  const StmtSRef scope_root = ScopeRootOf(sref);
  const SBlock old_block = Downcast<SBlock>(sref->stmt.value());
  const SBlockRealize realize = RealizeOf(*state, sref);
  SCHEDULE_CHECK(map->initial_indices.size() == old_block->iter_vars.size(), sref)
      << "The block {0} has " << old_block->iter_vars.size()
      << " iteration variables, but the index map takes " << map->initial_indices.size();
  const ffi::Array<StmtSRef> loops = LoopsAbove(sref);
  CheckChainToBlock(*state, loops, sref);
  // The new loops run over all values of the variables, so the old ones must have.
  SCHEDULE_CHECK(IsTrivialBinding(*state, sref) && is_one(realize->predicate), sref)
      << "Each iteration variable of the block {0} has to be bound to one loop, in order";
  for (size_t i = 0; i < loops.size(); ++i) {
    CheckPlainLoop(loops[i]);
    arith::Analyzer analyzer = AnalyzerAt(*state, scope_root);
    const ForNode* loop = LoopOf(loops[i]);
    const Range& dom = old_block->iter_vars[i]->dom;
    SCHEDULE_CHECK(analyzer->CanProveEqual(loop->min, dom->min) &&
                       analyzer->CanProveEqual(loop->extent, dom->extent),
                   sref, loops[i])
        << "The loop {1} has to run over the whole domain of the iteration variable of {0}";
  }
  arith::Analyzer analyzer = AnalyzerAt(*state, scope_root);
  ffi::Array<Range> domains;
  ffi::Array<PrimExpr> old_vars;
  for (const IterVar& iter : old_block->iter_vars) {
    domains.push_back(iter->dom);
    old_vars.push_back(iter->var);
  }
  IndexMap inverse;
  ffi::Array<Range> new_domains;
  try {
    inverse = map.Inverse(domains, analyzer);
    new_domains = map->MapRanges(domains, analyzer);
  } catch (const ffi::Error& error) {
    SCHEDULE_FAIL(sref) << "The index map for the block {0} has to be bijective: "
                        << error.message();
  }
  ffi::Array<PrimExpr> in_old_vars = map->MapIndices(old_vars, arith::Analyzer());
  std::vector<Var> loop_vars;
  std::vector<Range> ranges;
  ffi::Array<IterVar> iters;
  ffi::Array<PrimExpr> values, new_vars;
  for (size_t i = 0; i < new_domains.size(); ++i) {
    DataType dtype = new_domains[i]->extent.dtype();
    Var loop("ax" + std::to_string(i), dtype);
    Var var("v" + std::to_string(i), dtype);
    loop_vars.push_back(loop);
    ranges.push_back(new_domains[i]);
    iters.push_back(IterVar(new_domains[i], var, TypeOf(sref, old_block.get(), in_old_vars[i])));
    values.push_back(loop);
    new_vars.push_back(var);
    analyzer->Bind(var, new_domains[i]);
  }
  ffi::Array<PrimExpr> old_values = inverse->MapIndices(new_vars, analyzer);
  ffi::Map<Var, PrimExpr> renamed;
  for (size_t i = 0; i < old_block->iter_vars.size(); ++i) {
    const Var& var = old_block->iter_vars[i]->var;
    renamed.Set(var, cast(var->dtype(), old_values[i]));
  }
  SBlock block = old_block;
  block.CopyOnWrite()->iter_vars = {};
  Substituter substituter(renamed);
  block = Downcast<SBlock>(substituter.Run(block));
  block.CopyOnWrite()->iter_vars = iters;
  BlockReuse reuse;
  for (const auto& [before, after] : substituter.reuse) {
    if (state->GetSRef(before.get()).defined()) reuse.Set(before, after);
  }
  Stmt nest = NestLoops(loop_vars, ranges, SBlockRealize(values, Bool(true), block));
  const SBlock root = Downcast<SBlock>(scope_root->stmt.value());
  const Stmt member = loops.empty() ? Stmt(realize) : loops[0]->stmt.value();
  SBlock changed = WithBody(root, ReplaceStmt(root->body, member.get(), nest, &reuse));
  reuse.Set(root, changed);
  reuse.Set(old_block, block);
  state->Replace(scope_root, changed, reuse);
}

void ReorderIters(State* state, const StmtSRef& sref, const ffi::Array<int64_t>& order) {
  const SBlockRealize old_realize = RealizeOf(*state, sref);
  const SBlock& old_block = old_realize->block;
  ScopeRootOf(sref);
  const size_t n = old_block->iter_vars.size();
  std::vector<bool> seen(n, false);
  bool permutation = order.size() == n;
  for (int64_t at : order) {
    permutation = permutation && at >= 0 && at < static_cast<int64_t>(n) && !seen[at];
    if (permutation) seen[at] = true;
  }
  SCHEDULE_CHECK(permutation, sref) << "The new order has to be a permutation of the " << n
                                    << " iteration variables of the block {0}";
  ffi::Array<IterVar> iters;
  ffi::Array<PrimExpr> values;
  for (int64_t at : order) {
    iters.push_back(old_block->iter_vars[at]);
    values.push_back(old_realize->iter_values[at]);
  }
  SBlock block = old_block;
  block.CopyOnWrite()->iter_vars = iters;
  ReplaceRealize(state, sref, SBlockRealize(values, old_realize->predicate, block),
                 {{old_block, block}});
}

const PrimitiveRegistration kTransformBlockLayout{{
    .name = "TransformBlockLayout",
    .method = "transform_block_layout",
    .params = "block=i0 index_map=a0",
    .index_map_attr = 0,
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      TransformBlockLayout(call.state, call.Block(0), call.Attr<IndexMap>(0));
      return {};
    },
}};

const PrimitiveRegistration kReorderBlockIterVar{{
    .name = "ReorderBlockIterVar",
    .method = "reorder_block_iter_var",
    .params = "block=i0 new_order=i1",
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      ReorderIters(call.state, call.Block(0), call.inputs[1].cast<ffi::Array<int64_t>>());
      return {};
    },
}};

}  // namespace

}  // namespace s_tir
}  // namespace tvm
