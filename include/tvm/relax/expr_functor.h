// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Visiting and rewriting graph-level expressions.
#ifndef TVM_RELAX_EXPR_FUNCTOR_H_
#define TVM_RELAX_EXPR_FUNCTOR_H_

#include <tvm/ffi/extra/visit_error_context.h>
#include <tvm/relax/block_builder.h>
#include <tvm/relax/expr.h>

#include <unordered_map>

namespace tvm {

// Of <tvm/ir/expr_functor.h>, whose visitors have the names of those below.
TVM_DLL void CheckStackDepth();

namespace relax {

/// Node kinds that graph-level visitors tell apart.
enum class ExprKind : uint8_t {
  kPrim,  ///< any primitive expression except a variable; also other layers' nodes
  kConstant,
  kShapeExpr,
  kStringImm,
  kDataTypeImm,
  kTuple,
  kTupleGetItem,
  kVar,
  kDataflowVar,
  kGlobalVar,
  kOp,
  kExternFunc,
  kFunction,
  kCall,
  kSeqExpr,
  kIf,
};
TVM_DLL ExprKind KindOf(const Expr& expr);

/// Calls the member for the kind of an expression. An error that leaves it remembers the
/// expressions it came through, and visits of bindings add the binding.
template <typename R>
class ExprDispatch {
 public:
  virtual ~ExprDispatch() = default;
  virtual R VisitExpr(const Expr& e) {
    TVM_FFI_VISIT_BEGIN();
    CheckStackDepth();
    switch (KindOf(e)) {
      case ExprKind::kConstant:
        return VisitExpr_(static_cast<const ConstantNode*>(e.get()));
      case ExprKind::kShapeExpr:
        return VisitExpr_(static_cast<const ShapeExprNode*>(e.get()));
      case ExprKind::kStringImm:
        return VisitExpr_(static_cast<const StringImmNode*>(e.get()));
      case ExprKind::kDataTypeImm:
        return VisitExpr_(static_cast<const DataTypeImmNode*>(e.get()));
      case ExprKind::kTuple:
        return VisitExpr_(static_cast<const TupleNode*>(e.get()));
      case ExprKind::kTupleGetItem:
        return VisitExpr_(static_cast<const TupleGetItemNode*>(e.get()));
      case ExprKind::kVar:
        return VisitExpr_(static_cast<const VarNode*>(e.get()));
      case ExprKind::kDataflowVar:
        return VisitExpr_(static_cast<const DataflowVarNode*>(e.get()));
      case ExprKind::kGlobalVar:
        return VisitExpr_(static_cast<const GlobalVarNode*>(e.get()));
      case ExprKind::kOp:
        return VisitExpr_(static_cast<const OpNode*>(e.get()));
      case ExprKind::kExternFunc:
        return VisitExpr_(static_cast<const ExternFuncNode*>(e.get()));
      case ExprKind::kFunction:
        return VisitExpr_(static_cast<const FunctionNode*>(e.get()));
      case ExprKind::kCall:
        return VisitExpr_(static_cast<const CallNode*>(e.get()));
      case ExprKind::kSeqExpr:
        return VisitExpr_(static_cast<const SeqExprNode*>(e.get()));
      case ExprKind::kIf:
        return VisitExpr_(static_cast<const IfNode*>(e.get()));
      case ExprKind::kPrim:
        break;
    }
    return VisitPrim(e);
    TVM_FFI_VISIT_END(e);
  }

  virtual R VisitExpr_(const ConstantNode* op) = 0;
  virtual R VisitExpr_(const ShapeExprNode* op) = 0;
  virtual R VisitExpr_(const StringImmNode* op) = 0;
  virtual R VisitExpr_(const DataTypeImmNode* op) = 0;
  virtual R VisitExpr_(const TupleNode* op) = 0;
  virtual R VisitExpr_(const TupleGetItemNode* op) = 0;
  virtual R VisitExpr_(const VarNode* op) = 0;
  virtual R VisitExpr_(const DataflowVarNode* op) = 0;
  virtual R VisitExpr_(const GlobalVarNode* op) = 0;
  virtual R VisitExpr_(const OpNode* op) = 0;
  virtual R VisitExpr_(const ExternFuncNode* op) = 0;
  virtual R VisitExpr_(const FunctionNode* op) = 0;
  virtual R VisitExpr_(const CallNode* op) = 0;
  virtual R VisitExpr_(const SeqExprNode* op) = 0;
  virtual R VisitExpr_(const IfNode* op) = 0;
  virtual R VisitPrim(const Expr& e) = 0;
};

/// Visits every sub-expression, binding and definition in program order.
class TVM_DLL ExprVisitor : public ExprDispatch<void> {
 public:
  using ExprDispatch<void>::VisitExpr_;
  void VisitExpr_(const ConstantNode* op) override;
  void VisitExpr_(const ShapeExprNode* op) override;
  void VisitExpr_(const StringImmNode* op) override;
  void VisitExpr_(const DataTypeImmNode* op) override;
  void VisitExpr_(const TupleNode* op) override;
  void VisitExpr_(const TupleGetItemNode* op) override;
  void VisitExpr_(const VarNode* op) override;
  void VisitExpr_(const DataflowVarNode* op) override;
  void VisitExpr_(const GlobalVarNode* op) override;
  void VisitExpr_(const OpNode* op) override;
  void VisitExpr_(const ExternFuncNode* op) override;
  void VisitExpr_(const FunctionNode* op) override;
  void VisitExpr_(const CallNode* op) override;
  void VisitExpr_(const SeqExprNode* op) override;
  void VisitExpr_(const IfNode* op) override;
  void VisitPrim(const Expr& e) override;

  virtual void VisitBindingBlock(const BindingBlock& block);
  virtual void VisitBinding(const Binding& binding);
  virtual void VisitVarBinding(const VarBindingNode* binding);
  virtual void VisitMatchCast(const MatchCastNode* binding);
  virtual void VisitVarDef(const Var& var);
};

/// Rewrites expressions; whatever does not change keeps its identity. Operands stay in normal
/// form only if the overrides keep them so (see BuilderMutator otherwise).
class TVM_DLL ExprMutatorBase : public ExprDispatch<Expr> {
 public:
  using ExprDispatch<Expr>::VisitExpr_;
  Expr VisitExpr_(const ConstantNode* op) override;
  Expr VisitExpr_(const ShapeExprNode* op) override;
  Expr VisitExpr_(const StringImmNode* op) override;
  Expr VisitExpr_(const DataTypeImmNode* op) override;
  Expr VisitExpr_(const TupleNode* op) override;
  Expr VisitExpr_(const TupleGetItemNode* op) override;
  Expr VisitExpr_(const VarNode* op) override;
  Expr VisitExpr_(const DataflowVarNode* op) override;
  Expr VisitExpr_(const GlobalVarNode* op) override;
  Expr VisitExpr_(const OpNode* op) override;
  Expr VisitExpr_(const ExternFuncNode* op) override;
  Expr VisitExpr_(const FunctionNode* op) override;
  Expr VisitExpr_(const CallNode* op) override;
  Expr VisitExpr_(const SeqExprNode* op) override;
  Expr VisitExpr_(const IfNode* op) override;
  Expr VisitPrim(const Expr& e) override;

  virtual BindingBlock VisitBindingBlock(const BindingBlock& block);
  /// Types may hold expressions (shapes); overrides rewrite them here.
  virtual Type VisitType(const Type& ty) { return ty; }
};

/// Rewrites through a BlockBuilder: results are normalised and typed again, and variables whose
/// type changed are replaced by new ones.
class TVM_DLL ExprMutator : public ExprMutatorBase {
 public:
  explicit ExprMutator(Optional<IRModule> mod = std::nullopt);

  Expr VisitExpr(const Expr& e) override;
  using ExprMutatorBase::VisitExpr_;
  Expr VisitExpr_(const VarNode* op) override;
  Expr VisitExpr_(const DataflowVarNode* op) override;
  Expr VisitExpr_(const FunctionNode* op) override;
  Expr VisitExpr_(const SeqExprNode* op) override;
  Expr VisitExpr_(const IfNode* op) override;
  Expr VisitPrim(const Expr& e) override;
  Expr VisitExpr_(const ShapeExprNode* op) override;

  BindingBlock VisitBindingBlock(const BindingBlock& block) override;
  virtual void VisitBinding(const Binding& binding);
  virtual void VisitVarBinding(const VarBindingNode* binding);
  virtual void VisitMatchCast(const MatchCastNode* binding);
  virtual Var VisitVarDef(const Var& var);
  Type VisitType(const Type& ty) override;

 protected:
  /// Visits the functions of `mod` that are no fused groups and puts back those that changed.
  IRModule VisitFunctions(const IRModule& mod);
  /// Bind `value` (already in normal form) in place of the binding's old value.
  void ReEmit(const VarBindingNode* binding, const Expr& value);
  /// Children rewritten, then normalised.
  Expr VisitExprPostOrder(const ExprNode* op);
  /// Visit a branch or body in its own scope.
  SeqExpr VisitWithNewScope(const Expr& body, Optional<Array<Var>> params = std::nullopt);
  Optional<Expr> LookupBinding(const Var& var) const { return builder_->LookupBinding(var); }
  Var WithType(const Var& var, const Type& ty);

  BlockBuilder builder_;
  std::unordered_map<const VarNode*, Expr> var_remap_;
};

TVM_DLL void PostOrderVisit(const Expr& e, std::function<void(const Expr&)> fvisit);

}  // namespace relax
}  // namespace tvm

#endif  // TVM_RELAX_EXPR_FUNCTOR_H_
