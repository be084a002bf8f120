// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Moves conditions out of the loops on which they do not depend.
///
///   for i in range(n):              ==>    if m > 4:
///     if m > 4: A[i] = 0                     for i in range(n): A[i] = 0
///
/// Only conditions over names move: one that reads memory or calls something could change its value
/// or its effect. The loop must hold nothing but the condition.
#include <tvm/s_tir/transform.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include "tirx/transform/with_body.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

bool IsMovable(const PrimExpr& condition) {
  bool movable = SideEffect(condition) <= CallEffectKind::kPure;
  PostOrderVisitExpr(
      condition, [&](const Expr& e) { movable = movable && e.as<BufferLoadNode>() == nullptr; });
  return movable;
}

class IfHoister final : public StmtMutator {
  Stmt VisitStmt_(const ForNode* op) final {
    Stmt visited = StmtMutator::VisitStmt_(op);
    const auto* loop = visited.as<ForNode>();
    const auto* branch = loop->body.as<IfThenElseNode>();
    // Iterations of these kinds are set up by what is around the loop.
    if (branch == nullptr || loop->kind == ForKind::kThreadBinding) return visited;
    if (UsesVar(branch->condition, loop->loop_var) || !IsMovable(branch->condition)) return visited;
    auto with_body = [&](const Stmt& body) -> Stmt {
      For copy = ffi::GetRef<For>(loop);
      copy.CopyOnWrite()->body = body;
      return copy;
    };
    ffi::Optional<Stmt> else_case;
    if (branch->else_case.has_value()) {
      // The loop stands twice from here on, with a variable of its own each time.
      Var fresh = loop->loop_var.copy_with_suffix("");
      For copy = ffi::GetRef<For>(loop);
      ForNode* node = copy.CopyOnWrite();
      node->loop_var = fresh;
      node->body =
          Substitute(branch->else_case.value(), ffi::Map<Var, Expr>{{loop->loop_var, fresh}});
      else_case = copy;
    }
    return IfThenElse(branch->condition, with_body(branch->then_case), else_case, branch->span);
  }
};

const tirx::transform::PrimFuncPassRegistration kPass{{
    .name = "s_tir.HoistIfThenElse",
    .summary = "Move conditions out of loops on which they do not depend",
    .run =
        [](PrimFunc func, const tirx::transform::PassContext&) {
          Stmt body = IfHoister()(func->body);
          return WithBody(std::move(func), std::move(body));
        },
}};

}  // namespace

namespace transform {
Pass HoistIfThenElse() { return kPass.Create(); }
}  // namespace transform

}  // namespace s_tir
}  // namespace tvm
