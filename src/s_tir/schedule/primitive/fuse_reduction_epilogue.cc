// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// fuse_reduction_epilogue: an element-wise block goes into the reduction before it.
///
///   C[v] += A[v, k]             ==>   init: D[v] = bias[v]
///   D[v] = C[v] + bias[v]             D[v] += A[v, k]
///
/// A maximum, a minimum or a clip is applied in each step, which is not what applying it to the sum
/// gives. The caller asks for that.
#include <tvm/tirx/op.h>

#include "s_tir/schedule/primitive/inline_util.h"
#include "s_tir/schedule/reducer.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

bool Loads(const PrimExpr& expr, const Buffer& buffer) {
  bool found = false;
  PostOrderVisitExpr(expr, [&](const Expr& e) {
    const auto* load = e.as<BufferLoadNode>();
    found = found || (load != nullptr && load->buffer.same_as(buffer));
  });
  return found;
}

/// value = outer(C[..] + bias), where outer is made of min and max with what does not read C.
struct Epilogue {
  ffi::Optional<PrimExpr> bias;
  /// Applied from the inside out: (is_max, other operand).
  std::vector<std::pair<bool, PrimExpr>> clamps;
};

bool Parse(const PrimExpr& value, const Buffer& buffer, Epilogue* epilogue) {
  if (const auto* load = value.as<BufferLoadNode>()) return load->buffer.same_as(buffer);
  auto split = [&](const PrimExpr& a, const PrimExpr& b, PrimExpr* inner, PrimExpr* other) {
    const bool in_a = Loads(a, buffer), in_b = Loads(b, buffer);
    if (in_a == in_b) return false;
    *inner = in_a ? a : b;
    *other = in_a ? b : a;
    return true;
  };
  PrimExpr inner, other;
  if (const auto* op = value.as<AddNode>()) {
    if (!split(op->a, op->b, &inner, &other)) return false;
    const auto* load = inner.as<BufferLoadNode>();
    if (load == nullptr || !load->buffer.same_as(buffer)) return false;
    epilogue->bias = other;
    return true;
  }
  bool is_max = value.as<MaxNode>() != nullptr;
  if (is_max) {
    const auto* op = value.as<MaxNode>();
    if (!split(op->a, op->b, &inner, &other)) return false;
  } else if (const auto* op = value.as<MinNode>()) {
    if (!split(op->a, op->b, &inner, &other)) return false;
  } else {
    return false;
  }
  if (!Parse(inner, buffer, epilogue)) return false;
  epilogue->clamps.emplace_back(is_max, other);
  return true;
}

void FuseReductionEpilogue(State* state, const StmtSRef& reduction, const StmtSRef& consumer) {
  const StmtSRef scope_root = ScopeRootOf(reduction);
  SCHEDULE_CHECK(ScopeRootOf(consumer).same_as(scope_root), reduction, consumer)
      << "The blocks {0} and {1} have to be in the same scope";
  CheckReductionBlock(state, reduction);
  CheckCompleteBlock(state, consumer);
  const SBlock old_block = Downcast<SBlock>(reduction->stmt.value());
  const Buffer buffer = SingleIntermediateBuffer(state, reduction, scope_root);
  ffi::Array<StmtSRef> consumers = ConsumersOf(state, reduction);
  SCHEDULE_CHECK(consumers.size() == 1 && consumers[0].same_as(consumer), reduction, consumer)
      << "The block {1} has to be the only consumer of the reduction {0}";
  auto step = MatchReduction(old_block->init.value(), old_block->body);
  SCHEDULE_CHECK(step.has_value() && step->buffers.size() == 1 &&
                     step->combiner->result[0].as<AddNode>() != nullptr,
                 reduction)
      << "The reduction {0} has to be a sum";
  const auto* node = consumer->StmtAs<SBlockNode>();
  const BufferStoreNode* store = SingleStore(node->body);
  SCHEDULE_CHECK(store != nullptr, consumer) << "The body of the block {0} has to be one store";
  size_t loads = 0;
  ffi::Array<PrimExpr> at;
  PostOrderVisitExpr(store->value, [&](const Expr& e) {
    const auto* load = e.as<BufferLoadNode>();
    if (load == nullptr || !load->buffer.same_as(buffer)) return;
    ++loads;
    at = load->indices;
  });
  SCHEDULE_CHECK(loads == 1, consumer)
      << "The block {0} has to use the result of the reduction once, but does " << loads
      << " times";
  Epilogue epilogue;
  SCHEDULE_CHECK(Parse(store->value, buffer, &epilogue), consumer)
      << "The block {0} has to add a bias to the result of the reduction, or bound it by min or "
         "max; scaling and other functions cannot go into the reduction";
  // The consumer's variables in terms of the reduction's: both index the buffer by variables.
  ffi::Map<Var, PrimExpr> renamed;
  for (size_t d = 0; d < at.size(); ++d) {
    auto var = at[d].as<Var>();
    SCHEDULE_CHECK(var.has_value() && renamed.count(*var) == 0, consumer)
        << "The block {0} has to read the result of the reduction at distinct variables";
    renamed.Set(*var, cast((*var)->dtype(), step->indices[d]));
  }
  arith::Analyzer analyzer = AnalyzerAt(*state, reduction);
  for (const IterVar& iter : node->iter_vars) {
    if (renamed.count(iter->var) != 0) continue;
    SCHEDULE_CHECK(is_one(iter->dom->extent), consumer)
        << "The iteration variable " << iter->var->name
        << " of the block {0} does not index the result of the reduction";
    renamed.Set(iter->var, iter->dom->min);
  }
  for (size_t d = 0; d < at.size(); ++d) {
    for (const IterVar& iter : node->iter_vars) {
      if (!at[d].same_as(iter->var)) continue;
      SCHEDULE_CHECK(analyzer->CanProveEqual(iter->dom->extent, buffer.shape()[d]), consumer)
          << "The block {0} has to run over the whole result of the reduction";
    }
  }
  Substituter rename(renamed);
  ffi::Array<PrimExpr> indices;
  for (const PrimExpr& index : store->indices) indices.push_back(rename.Run(index));
  PrimExpr init = epilogue.bias.has_value() ? rename.Run(epilogue.bias.value()) : step->init[0];
  PrimExpr value = BufferLoad(store->buffer, indices) + step->sources[0];
  SCHEDULE_CHECK(store->buffer.dtype() == buffer.dtype(), consumer)
      << "The block {0} changes the type of the result from " << buffer.dtype() << " to "
      << store->buffer.dtype();
  for (const auto& [is_max, other] : epilogue.clamps) {
    PrimExpr bound = rename.Run(other);
    value = is_max ? PrimExpr(Max(value, bound)) : PrimExpr(Min(value, bound));
  }
  SBlock block = old_block;
  SBlockNode* fused = block.CopyOnWrite();
  fused->init = BufferStore(store->buffer, init, indices);
  fused->body = BufferStore(store->buffer, value, indices);
  block = RefreshRegions(block);
  const SBlockRealize old_realize = RealizeOf(*state, reduction);
  SBlockRealize realize = old_realize;
  realize.CopyOnWrite()->block = block;
  Removal removal = PlanRemoval(*state, consumer, scope_root);
  const SBlock root = Downcast<SBlock>(scope_root->stmt.value());
  BlockReuse reuse;
  Stmt body = ReplaceStmt(root->body, old_realize.get(), realize, &reuse);
  body = ReplaceStmt(body, removal.what.get(), Stmt(), &reuse);
  SBlock changed = WithoutAlloc(WithBody(root, body), buffer);
  reuse.Set(root, changed);
  reuse.Set(old_block, block);
  state->Replace(scope_root, changed, reuse);
}

const PrimitiveRegistration kFuseReductionEpilogue{{
    .name = "FuseReductionEpilogue",
    .method = "fuse_reduction_epilogue",
    .params = "reduction_block=i0 epilogue_block=i1",
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      FuseReductionEpilogue(call.state, call.Block(0), call.Block(1));
      return {};
    },
}};

}  // namespace

}  // namespace s_tir
}  // namespace tvm
