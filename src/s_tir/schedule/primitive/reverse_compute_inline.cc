// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// reverse_compute_inline: a reader goes into the one block that produces what it reads.
///
///   B[v, w] = A[v, w] + 1       ==>   C[w, v] = (A[v, w] + 1) * 2
///   C[w', v'] = B[v', w'] * 2
#include <tvm/tirx/op.h>

#include "s_tir/schedule/primitive/inline_util.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

struct Plan {
  StmtSRef producer;
  StmtSRef consumer;
  Buffer buffer;
  ffi::Array<PrimExpr> load_indices;
  const BufferStoreNode* store = nullptr;           // of the consumer
  const BufferStoreNode* producer_store = nullptr;  // of the producer
};

ffi::Array<PrimExpr> UniqueLoad(const StmtSRef& consumer, const Buffer& buffer) {
  ffi::Array<PrimExpr> indices;
  bool found = false, same = true;
  PostOrderVisit(consumer->StmtAs<SBlockNode>()->body, [&](const ffi::ObjectRef& node) {
    const auto* load = node.as<BufferLoadNode>();
    if (load == nullptr || !load->buffer.same_as(buffer)) return;
    ExprDeepEqual equal;
    for (size_t d = 0; found && d < indices.size(); ++d) {
      same = same && equal(indices[d], load->indices[d]);
    }
    indices = load->indices;
    found = true;
  });
  SCHEDULE_CHECK(found && same, consumer)
      << "The block {0} has to read the buffer " << buffer->name << " at one place only";
  return indices;
}

Plan MakePlan(State* state, const StmtSRef& consumer, const StmtSRef& scope_root) {
  CheckStagePipeline(state, scope_root);
  CheckCompleteBlock(state, consumer);
  Plan plan;
  plan.consumer = consumer;
  ffi::Array<StmtSRef> producers = ProducersOf(state, consumer);
  SCHEDULE_CHECK(producers.size() == 1, consumer)
      << "The block {0} has to have one producer, but has " << producers.size();
  plan.producer = producers[0];
  CheckCompleteBlock(state, plan.producer);
  CheckPredicateIsDomain(*state, consumer);
  SCHEDULE_CHECK(RunsOverDomain(*state, plan.producer), plan.producer)
      << "It cannot be shown that the producer {0} runs for all values of its variables";
  const size_t consumers = ConsumersOf(state, plan.producer).size();
  SCHEDULE_CHECK(consumers == 1, plan.producer, consumer)
      << "The block {1} has to be the only consumer of its producer {0}, which has " << consumers;
  plan.buffer = SingleIntermediateBuffer(state, plan.producer, scope_root);
  CheckNoOpaqueUse(scope_root, plan.buffer);
  const auto* block = consumer->StmtAs<SBlockNode>();
  plan.store = SingleStore(block->body);
  SCHEDULE_CHECK(plan.store != nullptr && !block->init.has_value(), consumer)
      << "The body of the block {0} has to be one store";
  plan.producer_store = SingleStore(plan.producer->StmtAs<SBlockNode>()->body);
  SCHEDULE_CHECK(plan.producer_store != nullptr &&
                     !plan.producer->StmtAs<SBlockNode>()->init.has_value() &&
                     plan.producer_store->buffer.same_as(plan.buffer),
                 plan.producer)
      << "The body of the producer {0} has to be one store";
  plan.load_indices = UniqueLoad(consumer, plan.buffer);
  return plan;
}

/// The consumer's variables as functions of the producer's, and where they are in their domains.
struct Inversion {
  ffi::Map<Var, PrimExpr> values;
  PrimExpr predicate;
};

/// Every iteration of the consumer has to have one of the producer, also where a condition keeps it
/// from reading.
void CheckEachReadIsWritten(const Plan& plan, const ffi::Map<Var, Range>& domains,
                            const arith::Analyzer& analyzer) {
  ffi::Map<Var, arith::IntSet> written_domains;
  for (const IterVar& iter : plan.producer->StmtAs<SBlockNode>()->iter_vars) {
    written_domains.Set(iter->var, arith::IntSet::FromRange(iter->dom));
  }
  for (size_t d = 0; d < plan.load_indices.size(); ++d) {
    arith::IntSet read = arith::EvalSet(plan.load_indices[d], arith::AsIntSet(domains), analyzer);
    arith::IntSet written =
        arith::EvalSet(plan.producer_store->indices[d], written_domains, analyzer);
    SCHEDULE_CHECK(analyzer->CanProve(written.min() <= read.min()) &&
                       analyzer->CanProve(written.max() >= read.max()),
                   plan.consumer, plan.producer)
        << "The block {0} has iterations that read axis " << d << " of " << plan.buffer->name
        << " where its producer {1} does not write";
  }
}

Inversion Invert(const State& state, const Plan& plan) {
  const auto* consumer = plan.consumer->StmtAs<SBlockNode>();
  arith::Analyzer analyzer = AnalyzerAt(state, plan.consumer);
  ffi::Map<Var, Range> domains;
  Inversion result;
  for (const IterVar& iter : consumer->iter_vars) {
    domains.Set(iter->var, iter->dom);
    bool used = false;
    for (const PrimExpr& index : plan.load_indices) used = used || UsesVar(index, iter->var);
    SCHEDULE_CHECK(used || is_one(iter->dom->extent), plan.consumer)
        << "The iteration variable " << iter->var->name << " of the block {0} does not index "
        << plan.buffer->name << ", so it cannot be found from the producer's";
    if (!used) result.values.Set(iter->var, iter->dom->min);
  }
  arith::IterMapResult map =
      arith::DetectIterMap(plan.load_indices, domains, Bool(true), arith::kBijective, analyzer,
                           /*simplify_trivial_iterators=*/false);
  if (map->indices.empty()) {
    map = arith::DetectIterMap(plan.load_indices, domains, Bool(true), arith::kBijective, analyzer);
  }
  SCHEDULE_CHECK(!map->indices.empty(), plan.consumer)
      << "The indices at which the block {0} reads " << plan.buffer->name << " cannot be inverted";
  ffi::Array<PrimExpr> points;
  for (const PrimExpr& index : plan.producer_store->indices) points.push_back(index);
  for (const auto& [var, value] : arith::InverseAffineIterMap(map->indices, points)) {
    result.values.Set(var, value);
  }
  arith::Analyzer inner = AnalyzerAt(state, plan.producer);
  CheckEachReadIsWritten(plan, domains, inner);
  result.predicate = Bool(true);
  for (const IterVar& iter : consumer->iter_vars) {
    if (result.values.count(iter->var) == 0) result.values.Set(iter->var, iter->dom->min);
    PrimExpr value = inner->Simplify(result.values[iter->var]);
    result.values.Set(iter->var, cast(iter->var->dtype(), value));
    for (const PrimExpr& bound :
         {value >= iter->dom->min, value < iter->dom->min + iter->dom->extent}) {
      if (!inner->CanProve(bound)) result.predicate = Conjoin(result.predicate, bound);
    }
  }
  // The producer's points that no consumer reads, e.g. of a strided reader, are left out.
  Substituter at_values(result.values);
  for (size_t d = 0; d < points.size(); ++d) {
    PrimExpr same = at_values.Run(plan.load_indices[d]) == points[d];
    if (!inner->CanProve(same)) result.predicate = Conjoin(result.predicate, same);
  }
  return result;
}

class LoadReplacer final : public StmtExprMutator {
 public:
  LoadReplacer(const Buffer& buffer, PrimExpr value) : buffer_(buffer), value_(std::move(value)) {}
  PrimExpr Run(const PrimExpr& expr) { return VisitPrimExpr(expr); }

 private:
  Expr VisitExpr_(const BufferLoadNode* op) final {
    if (op->buffer.same_as(buffer_)) return value_;
    return StmtExprMutator::VisitExpr_(op);
  }
  Buffer buffer_;
  PrimExpr value_;
};

}  // namespace

void ReverseComputeInline(State* state, const StmtSRef& consumer) {
  const StmtSRef scope_root = ScopeRootOf(consumer);
  const Plan plan = MakePlan(state, consumer, scope_root);
  const Inversion inversion = Invert(*state, plan);
  Substituter to_producer(inversion.values);
  PrimExpr value = to_producer.Run(plan.store->value);
  value = LoadReplacer(plan.buffer, plan.producer_store->value).Run(value);
  ffi::Array<PrimExpr> indices;
  arith::Analyzer analyzer = AnalyzerAt(*state, plan.producer);
  for (const PrimExpr& index : plan.store->indices) {
    indices.push_back(analyzer->Simplify(to_producer.Run(index)));
  }
  Stmt body = BufferStore(plan.store->buffer, value, indices, plan.store->predicate);
  if (!is_one(inversion.predicate)) body = IfThenElse(inversion.predicate, body);
  SBlock old_producer = Downcast<SBlock>(plan.producer->stmt.value());
  SBlock producer = old_producer;
  producer = RefreshRegions(WithBody(producer, body));
  // The consumer's own marks go with its computation.
  for (const auto& [key, mark] : plan.consumer->StmtAs<SBlockNode>()->annotations) {
    if (producer->annotations.count(key) == 0) {
      producer.CopyOnWrite()->annotations.Set(key, mark);
    }
  }
  Removal removal = PlanRemoval(*state, consumer, scope_root);
  SBlock root = Downcast<SBlock>(scope_root->stmt.value());
  BlockReuse reuse;
  SBlockRealize old_realize = RealizeOf(*state, plan.producer);
  SBlockRealize realize = old_realize;
  realize.CopyOnWrite()->block = producer;
  Stmt scope_body = ReplaceStmt(root->body, old_realize.get(), realize, &reuse);
  // The consumer's statement is untouched by that, unless both stand in one loop.
  scope_body = ReplaceStmt(scope_body, removal.what.get(), Stmt(), &reuse);
  SBlock changed = WithoutAlloc(WithBody(root, scope_body), plan.buffer);
  reuse.Set(root, changed);
  reuse.Set(old_producer, producer);
  state->Replace(scope_root, changed, reuse);
}

namespace {

const PrimitiveRegistration kReverseComputeInline{{
    .name = "ReverseComputeInline",
    .method = "reverse_compute_inline",
    .params = "block=i0",
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      ReverseComputeInline(call.state, call.Block(0));
      return {};
    },
}};

}  // namespace

}  // namespace s_tir
}  // namespace tvm
