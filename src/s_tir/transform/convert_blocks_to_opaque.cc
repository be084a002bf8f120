// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Replaces the iteration variables of blocks by their values.
///
///   with sblock: vi = spatial(n, i); A[vi] = 0    ==>    with sblock: A[i] = 0
#include <tvm/s_tir/transform.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <unordered_map>

#include "s_tir/transform/blocks.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

class BlockOpener final : public StmtExprMutator {
  Expr VisitExpr_(const VarNode* op) final {
    auto it = values_.find(op);
    if (it != values_.end()) return it->second;
    return StmtExprMutator::VisitExpr_(op);
  }

  Stmt VisitStmt_(const SBlockRealizeNode* op) final {
    for (const IterVar& iter : op->block->iter_vars) {
      TVM_FFI_CHECK(!UsesVar(op->predicate, iter->var), ValueError)
          << "the predicate of block " << op->block->name_hint << " must be stated in loop "
          << "variables, but uses the block variable " << iter->var->name;
    }
    ffi::Array<PrimExpr> values = VisitExprs(op->iter_values);
    PrimExpr predicate = VisitPrimExpr(op->predicate);
    for (size_t i = 0; i < values.size(); ++i) {
      const Var& var = op->block->iter_vars[i]->var;
      values_[var.get()] = cast(var->dtype(), values[i]);
    }
    SBlock block = ffi::GetRef<SBlock>(VisitStmt(op->block).as<SBlockNode>());
    if (values.empty() && predicate.same_as(op->predicate) && block.same_as(op->block)) {
      return ffi::GetRef<Stmt>(op);
    }
    if (!block->iter_vars.empty()) block.CopyOnWrite()->iter_vars = ffi::Array<IterVar>();
    return SBlockRealize({}, predicate, block, op->span);
  }

  std::unordered_map<const VarNode*, PrimExpr> values_;
};

const tirx::transform::PrimFuncPassRegistration kPass{{
    .name = "s_tir.ConvertBlocksToOpaque",
    .summary = "Replace block variables by the values bound to them",
    .run =
        [](PrimFunc func, const tirx::transform::PassContext&) {
          if (!HasBlocks(func)) return func;
          Stmt body = BlockOpener()(func->body);
          return WithBody(std::move(func), std::move(body));
        },
}};

}  // namespace

namespace transform {
Pass ConvertBlocksToOpaque() { return kPass.Create(); }
}  // namespace transform

}  // namespace s_tir
}  // namespace tvm
