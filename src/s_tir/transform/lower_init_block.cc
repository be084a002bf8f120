// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Turns the init statement of a reduction block into a guarded statement of its body.
///
///   with sblock: vi = spatial, vk = reduce      ==>    with sblock:
///     with init(): C[vi] = 0                             if vk == 0: C[vi] = 0
///     C[vi] += A[vi, vk]                                 C[vi] += A[vi, vk]
#include <tvm/s_tir/transform.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include "s_tir/transform/blocks.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

class InitLowerer final : public StmtMutator {
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
    .run = [](PrimFunc func, const tirx::transform::PassContext&) {
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
