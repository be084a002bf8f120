// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Makes every loop run from 0 in steps of 1.
///
///   for i in range(2, 10, step=3): A[i] = 0    ==>    for i in range(3): A[i * 3 + 2] = 0
#include <tvm/s_tir/transform.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include "s_tir/transform/blocks.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

class LoopCanonicalizer final : public StmtMutator {
  Stmt VisitStmt_(const ForNode* op) final {
    Stmt rewritten = StmtMutator::VisitStmt_(op);
    const auto* loop = rewritten.as<ForNode>();
    if (is_zero(loop->min) && loop->HasTrivialStep()) {
      if (!loop->step.has_value()) return rewritten;
      For plain = ffi::GetRef<For>(loop);
      plain.CopyOnWrite()->step = std::nullopt;
      return plain;
    }
    if (loop->kind == ForKind::kThreadBinding)
      return rewritten;  // the thread axis has its own range
    Var counter = loop->loop_var.copy_with_suffix("");
    PrimExpr value = counter;
    PrimExpr extent = loop->extent;
    if (!loop->HasTrivialStep()) {
      const PrimExpr& step = loop->step.value();
      TVM_FFI_CHECK(!is_const_int(step) || is_positive_const(step), ValueError)
          << "loop " << loop->loop_var->name << ": the step must be positive, got " << step;
      value = value * step;
      extent = ceildiv(extent, step);
    }
    if (!is_zero(loop->min)) value = value + loop->min;
    For plain = ffi::GetRef<For>(loop);
    ForNode* node = plain.CopyOnWrite();
    node->body = Substitute(loop->body, ffi::Map<Var, Expr>{{loop->loop_var, value}});
    node->loop_var = counter;
    node->min = make_zero(counter->dtype());
    node->extent = extent;
    node->step = std::nullopt;
    return plain;
  }
};

const tirx::transform::PrimFuncPassRegistration kPass{{
    .name = "s_tir.CanonicalizeLoop",
    .summary = "Make loops start at 0 with step 1",
    .run =
        [](PrimFunc func, const tirx::transform::PassContext&) {
          Stmt body = LoopCanonicalizer()(func->body);
          return WithBody(std::move(func), std::move(body));
        },
}};

}  // namespace

namespace transform {
Pass CanonicalizeLoop() { return kPass.Create(); }
}  // namespace transform

}  // namespace s_tir
}  // namespace tvm
