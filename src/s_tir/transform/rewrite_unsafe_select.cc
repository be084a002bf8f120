// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Turns selects whose unchosen value may not be evaluated into if_then_else.
///
///   select(i < n, A[i], 0)    ==>    if_then_else(i < n, A[i], 0)
///
/// A load is unsafe because its index may be out of bounds where it is not chosen, and so is an
/// integer division. Vector selects stay: there is no branch per lane.
#include <tvm/s_tir/transform.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include "tirx/transform/with_body.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

bool IsUnsafe(const PrimExpr& expr) {
  bool unsafe = false;
  auto divides = [](const auto* node) {
    return node != nullptr && !node->dtype().is_any_float() && !is_const_int(node->b);
  };
  PostOrderVisitExpr(expr, [&](const Expr& e) {
    unsafe = unsafe || e.as<BufferLoadNode>() != nullptr || divides(e.as<DivNode>()) ||
             divides(e.as<ModNode>()) || divides(e.as<FloorDivNode>()) ||
             divides(e.as<FloorModNode>());
  });
  return unsafe;
}

class SelectRewriter final : public StmtExprMutator {
  Expr VisitExpr_(const SelectNode* op) final {
    Expr visited = StmtExprMutator::VisitExpr_(op);
    const auto* select = visited.as<SelectNode>();
    if (select == nullptr || !select->condition.dtype().is_scalar()) return visited;
    if (!IsUnsafe(select->true_value) && !IsUnsafe(select->false_value)) return visited;
    return Call(op->ty, builtin::if_then_else(),
                {select->condition, select->true_value, select->false_value});
  }
};

const tirx::transform::PrimFuncPassRegistration kPass{{
    .name = "s_tir.RewriteUnsafeSelect",
    .summary = "Evaluate only the chosen value where the other one may be illegal",
    .run =
        [](PrimFunc func, const tirx::transform::PassContext&) {
          Stmt body = SelectRewriter()(func->body);
          return WithBody(std::move(func), std::move(body));
        },
}};

}  // namespace

namespace transform {
Pass RewriteUnsafeSelect() { return kPass.Create(); }
}  // namespace transform

}  // namespace s_tir
}  // namespace tvm
