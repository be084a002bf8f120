// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// A mutator that replaces variables by values and folds the constants that result.
#ifndef TVM_SRC_TIRX_TRANSFORM_FOLDING_MUTATOR_H_
#define TVM_SRC_TIRX_TRANSFORM_FOLDING_MUTATOR_H_

#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <unordered_map>

namespace tvm {
namespace tirx {

class FoldingMutator : public StmtExprMutator {
 public:
  void SetValue(const Var& var, PrimExpr value) { values_[var.get()] = std::move(value); }
  void ClearValue(const Var& var) { values_.erase(var.get()); }

 protected:
  using StmtExprMutator::VisitExpr_;
  using StmtExprMutator::VisitStmt_;

  Expr VisitExpr_(const VarNode* op) override {
    if (!values_.empty()) {
      auto it = values_.find(op);
      if (it != values_.end()) return it->second;
    }
    return StmtExprMutator::VisitExpr_(op);
  }

#define TVM_TIRX_FOLD_BINARY(Node, Build)                                   \
  Expr VisitExpr_(const Node* op) override {                                \
    PrimExpr a = VisitPrimExpr(op->a);                                      \
    PrimExpr b = VisitPrimExpr(op->b);                                      \
    if (a.same_as(op->a) && b.same_as(op->b)) return ffi::GetRef<Expr>(op); \
    return Build(std::move(a), std::move(b), op->span);                     \
  }
  TVM_TIRX_FOLD_BINARY(AddNode, tvm::add)
  TVM_TIRX_FOLD_BINARY(SubNode, tvm::sub)
  TVM_TIRX_FOLD_BINARY(MulNode, tvm::mul)
  TVM_TIRX_FOLD_BINARY(DivNode, tvm::div)
  TVM_TIRX_FOLD_BINARY(ModNode, tvm::truncmod)
  TVM_TIRX_FOLD_BINARY(FloorDivNode, tvm::floordiv)
  TVM_TIRX_FOLD_BINARY(FloorModNode, tvm::floormod)
  TVM_TIRX_FOLD_BINARY(MinNode, tvm::min)
  TVM_TIRX_FOLD_BINARY(MaxNode, tvm::max)
  TVM_TIRX_FOLD_BINARY(EQNode, tvm::equal)
  TVM_TIRX_FOLD_BINARY(NENode, tvm::not_equal)
  TVM_TIRX_FOLD_BINARY(LTNode, tvm::less)
  TVM_TIRX_FOLD_BINARY(LENode, tvm::less_equal)
  TVM_TIRX_FOLD_BINARY(GTNode, tvm::greater)
  TVM_TIRX_FOLD_BINARY(GENode, tvm::greater_equal)
  TVM_TIRX_FOLD_BINARY(AndNode, tvm::logical_and)
  TVM_TIRX_FOLD_BINARY(OrNode, tvm::logical_or)
#undef TVM_TIRX_FOLD_BINARY

  Expr VisitExpr_(const CastNode* op) override {
    PrimExpr value = VisitPrimExpr(op->value);
    if (value.same_as(op->value)) return ffi::GetRef<Expr>(op);
    return tvm::cast(op->dtype(), std::move(value), op->span);
  }

  /// A condition that became constant decides the branch.
  Stmt VisitStmt_(const IfThenElseNode* op) override {
    PrimExpr condition = VisitPrimExpr(op->condition);
    if (!condition.same_as(op->condition) && is_const_int(condition)) {
      if (!is_zero(condition)) return VisitStmt(op->then_case);
      return op->else_case.has_value() ? VisitStmt(op->else_case.value()) : Evaluate(0);
    }
    return StmtExprMutator::VisitStmt_(op);
  }

 private:
  std::unordered_map<const ffi::Object*, PrimExpr> values_;
};

}  // namespace tirx
}  // namespace tvm

#endif  // TVM_SRC_TIRX_TRANSFORM_FOLDING_MUTATOR_H_
