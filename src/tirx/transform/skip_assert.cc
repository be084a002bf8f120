// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Removes assertions, and (RemoveAssume) the assumptions that only analyses read.
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>
#include <tvm/tirx/transform.h>

#include "tirx/transform/with_body.h"

namespace tvm {
namespace tirx {

namespace {

/// Drops statements that became empty from sequences.
class StmtDropper : public StmtMutator {
 protected:
  using StmtMutator::VisitStmt_;
  Stmt VisitStmt_(const SeqStmtNode* op) final {
    Stmt visited = StmtMutator::VisitStmt_(op);
    return visited.get() == op ? visited : SeqStmt::Flatten(visited);
  }
};

class AssertRemover final : public StmtDropper {
  using StmtDropper::VisitStmt_;
  Stmt VisitStmt_(const AssertStmtNode*) final { return Evaluate(0); }
};

class AssumeRemover final : public StmtDropper {
  using StmtDropper::VisitStmt_;
  Stmt VisitStmt_(const EvaluateNode* op) final {
    const auto* call = op->value.as<CallNode>();
    if (call != nullptr && call->op.same_as(builtin::assume())) return Evaluate(0);
    return ffi::GetRef<Stmt>(op);
  }
};

const transform::PrimFuncPassRegistration kSkipAssert{{
    .name = "tirx.SkipAssert",
    .summary = "Remove assertions",
    .run =
        [](PrimFunc func, const transform::PassContext&) {
          Stmt body = AssertRemover()(func->body);
          return WithBody(std::move(func), std::move(body));
        },
}};

const transform::PrimFuncPassRegistration kRemoveAssume{{
    .name = "tirx.RemoveAssume",
    .summary = "Remove assumptions",
    .run =
        [](PrimFunc func, const transform::PassContext&) {
          Stmt body = AssumeRemover()(func->body);
          return WithBody(std::move(func), std::move(body));
        },
}};

}  // namespace

namespace transform {
Pass SkipAssert() { return kSkipAssert.Create(); }
Pass RemoveAssume() { return kRemoveAssume.Create(); }
}  // namespace transform

}  // namespace tirx
}  // namespace tvm
