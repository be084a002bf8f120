// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Turns the init statement of a reduction block into a guarded statement of its body.
///
///   with sblock: vi = spatial, vk = reduce      ==>    with sblock:
///     with init(): C[vi] = 0                             if vk == 0: C[vi] = 0
///     C[vi] += A[vi, vk]                                 C[vi] += A[vi, vk]
///
/// Where the reduction loops directly around the block may run zero times, the init statement goes
/// in front of them instead: the neutral element is written in any case.
#include <tvm/s_tir/transform.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <algorithm>
#include <vector>

#include "s_tir/transform/blocks.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

/// The block below `loop` and `rest`, loops of reduction only, whose init may stand before them.
struct ReductionNest {
  const SBlockRealizeNode* realize = nullptr;
  bool may_be_empty = false;
};

ReductionNest MatchReductionNest(const ForNode* loop) {
  ReductionNest nest;
  std::vector<const VarNode*> loop_vars;
  const StmtNode* stmt = loop;
  while (stmt != nullptr && stmt->IsInstance<ForNode>()) {
    const auto* inner = static_cast<const ForNode*>(stmt);
    loop_vars.push_back(inner->loop_var.get());
    nest.may_be_empty = nest.may_be_empty || !is_positive_const(inner->extent);
    stmt = inner->body.get();
  }
  if (stmt == nullptr || !stmt->IsInstance<SBlockRealizeNode>()) return {};
  const auto* realize = static_cast<const SBlockRealizeNode*>(stmt);
  if (!realize->block->init.has_value()) return {};
  auto uses_nest = [&](const PrimExpr& expr) {
    return UsesVar(expr, [&](const VarNode* var) {
      return std::find(loop_vars.begin(), loop_vars.end(), var) != loop_vars.end();
    });
  };
  size_t reduce_loops = 0;
  for (size_t i = 0; i < realize->iter_values.size(); ++i) {
    const bool reduces = realize->block->iter_vars[i]->iter_type == kCommReduce;
    if (reduces) {
      if (realize->iter_values[i].as<VarNode>() == nullptr) return {};
      if (uses_nest(realize->iter_values[i])) ++reduce_loops;
    }
    if (uses_nest(realize->iter_values[i]) != reduces) return {};
  }
  if (reduce_loops != loop_vars.size() || uses_nest(realize->predicate)) return {};
  nest.realize = realize;
  return nest;
}

class InitLowerer final : public StmtMutator {
  Stmt VisitStmt_(const ForNode* op) final {
    ReductionNest nest = MatchReductionNest(op);
    if (nest.realize == nullptr || !nest.may_be_empty) return StmtMutator::VisitStmt_(op);
    const SBlockNode* block = nest.realize->block.get();
    ffi::Map<Var, Expr> values;
    for (size_t i = 0; i < block->iter_vars.size(); ++i) {
      values.Set(block->iter_vars[i]->var, nest.realize->iter_values[i]);
    }
    Stmt init = Substitute(block->init.value(), values);
    if (!is_one(nest.realize->predicate)) init = IfThenElse(nest.realize->predicate, init);
    return SeqStmt::Flatten(init, InitDropper(block)(ffi::GetRef<Stmt>(op)));
  }

  /// Removes the init statement of one block.
  class InitDropper final : public StmtMutator {
   public:
    explicit InitDropper(const SBlockNode* block) : block_(block) {}

   private:
    Stmt VisitStmt_(const SBlockNode* op) final {
      if (op != block_) return StmtMutator::VisitStmt_(op);
      SBlock block = ffi::GetRef<SBlock>(op);
      block.CopyOnWrite()->init = std::nullopt;
      return block;
    }
    const SBlockNode* block_;
  };

  Stmt VisitStmt_(const SBlockNode* op) final {
    Stmt rewritten = StmtMutator::VisitStmt_(op);
    const auto* block = rewritten.as<SBlockNode>();
    if (!block->init.has_value()) return rewritten;
    Stmt init = block->init.value();
    PrimExpr at_start;
    for (const IterVar& iter : block->iter_vars) {
      if (iter->iter_type != kCommReduce) continue;
      PrimExpr here = equal(PrimExpr(iter->var), iter->dom->min);
      at_start = at_start.defined() ? logical_and(at_start, here) : here;
    }
    SBlock lowered = ffi::GetRef<SBlock>(block);
    SBlockNode* node = lowered.CopyOnWrite();
    if (at_start.defined() && !is_one(at_start)) init = IfThenElse(at_start, init);
    node->body = SeqStmt::Flatten(init, block->body);
    node->init = std::nullopt;
    return lowered;
  }
};

const tirx::transform::PrimFuncPassRegistration kPass{{
    .name = "s_tir.LowerInitBlock",
    .summary = "Guard the init statement of reduction blocks and put it into the body",
    .run =
        [](PrimFunc func, const tirx::transform::PassContext&) {
          if (!HasBlocks(func)) return func;
          Stmt body = InitLowerer()(func->body);
          return WithBody(std::move(func), std::move(body));
        },
}};

}  // namespace

namespace transform {
Pass LowerInitBlock() { return kPass.Create(); }
}  // namespace transform

}  // namespace s_tir
}  // namespace tvm
