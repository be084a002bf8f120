// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Rewrites the body of one vectorized loop so that all iterations run at once.
#ifndef TVM_SRC_TIRX_TRANSFORM_VECTORIZER_H_
#define TVM_SRC_TIRX_TRANSFORM_VECTORIZER_H_

#include <tvm/arith/analyzer.h>
#include <tvm/tirx/stmt_functor.h>

#include <unordered_map>
#include <utility>
#include <vector>

namespace tvm {
namespace tirx {

/// The loop variable becomes a Ramp, values that depend on it vectors, buffers allocated inside the
/// loop get one element per lane.
///
/// Where a condition differs between lanes: with `use_masks` the accesses under it get the
/// condition as predicate; without, or where a statement has no vector form, that statement becomes
/// a serial loop over the lanes.
class Vectorizer final : public StmtExprMutator {
 public:
  Vectorizer(Var loop_var, int lanes, bool use_masks, arith::Analyzer analyzer);

  Stmt Vectorize(const Stmt& body);

 private:
  // Statements.
  Stmt VisitStmt(const Stmt& stmt) final;
  Stmt VisitStmt_(const BindNode* op) final;
  Stmt VisitStmt_(const AttrStmtNode* op) final;
  Stmt VisitStmt_(const AssertStmtNode* op) final;
  Stmt VisitStmt_(const BufferStoreNode* op) final;
  Stmt VisitStmt_(const AllocBufferNode* op) final;
  Stmt VisitStmt_(const DeclBufferNode* op) final;
  Stmt VisitStmt_(const SeqStmtNode* op) final;
  Stmt VisitStmt_(const EvaluateNode* op) final;
  Stmt VisitStmt_(const IfThenElseNode* op) final;
  Stmt VisitStmt_(const ForNode* op) final;
  Stmt VisitStmt_(const WhileNode* op) final;
  Stmt VisitStmt_(const ReturnNode* op) final;
  Stmt VisitStmt_(const BreakNode* op) final;
  Stmt VisitStmt_(const ContinueNode* op) final;

  // Expressions.
  Expr VisitExpr_(const VarNode* op) final;
  Expr VisitExpr_(const CallNode* op) final;
  Expr VisitExpr_(const LetNode* op) final;
  Expr VisitExpr_(const CastNode* op) final;
  Expr VisitExpr_(const NotNode* op) final;
  Expr VisitExpr_(const SelectNode* op) final;
  Expr VisitExpr_(const RampNode* op) final;
  Expr VisitExpr_(const BroadcastNode* op) final;
  Expr VisitExpr_(const ShuffleNode* op) final;
  Expr VisitExpr_(const BufferLoadNode* op) final;
#define TVM_TIRX_VECTORIZE_BINARY(Name) Expr VisitExpr_(const Name##Node* op) final;
  TVM_TIRX_VECTORIZE_BINARY(Add)
  TVM_TIRX_VECTORIZE_BINARY(Sub)
  TVM_TIRX_VECTORIZE_BINARY(Mul)
  TVM_TIRX_VECTORIZE_BINARY(Div)
  TVM_TIRX_VECTORIZE_BINARY(Mod)
  TVM_TIRX_VECTORIZE_BINARY(FloorDiv)
  TVM_TIRX_VECTORIZE_BINARY(FloorMod)
  TVM_TIRX_VECTORIZE_BINARY(Min)
  TVM_TIRX_VECTORIZE_BINARY(Max)
  TVM_TIRX_VECTORIZE_BINARY(EQ)
  TVM_TIRX_VECTORIZE_BINARY(NE)
  TVM_TIRX_VECTORIZE_BINARY(LT)
  TVM_TIRX_VECTORIZE_BINARY(LE)
  TVM_TIRX_VECTORIZE_BINARY(GT)
  TVM_TIRX_VECTORIZE_BINARY(GE)
  TVM_TIRX_VECTORIZE_BINARY(And)
  TVM_TIRX_VECTORIZE_BINARY(Or)
#undef TVM_TIRX_VECTORIZE_BINARY

  template <typename Ref, typename Node>
  Expr Binary(const Node* op);
  template <typename Ref, typename Node>
  Expr AddSub(const Node* op, bool subtract);
  Expr IfThenElseCall(const CallNode* op);

  /// Visits under a mask: `condition` (null: all lanes) and the mask around it.
  template <typename F>
  auto UnderMask(const PrimExpr& condition, F visit);

  PrimExpr VisitIndex(const PrimExpr& index);
  /// `value` with as many lanes as the loop.
  PrimExpr Widen(const PrimExpr& value) const;
  /// Whether the value has a lane per iteration.
  bool IsWide(const PrimExpr& value, const PrimExpr& scalar_form) const;
  /// Marks the current statement as having no vector form.
  template <typename T>
  Expr GiveUp(const T* op) {
    give_up_ = true;
    return ffi::GetRef<Expr>(op);
  }
  Stmt GiveUpStmt(const StmtNode* op) {
    give_up_ = true;
    return ffi::GetRef<Stmt>(op);
  }
  /// The statement once per lane, one after the other.
  Stmt Scalarize(const Stmt& stmt);

  Var loop_var_;
  int lanes_;
  bool use_masks_;
  arith::Analyzer analyzer_;
  PrimExpr ramp_;
  /// Lanes that run, when not all do.
  PrimExpr mask_;
  bool give_up_ = false;
  /// Vector variables that a scalar loop could not read, defined in the sequences being visited.
  int wide_names_ = 0;
  std::unordered_map<const VarNode*, Var> wide_vars_;
  /// Buffers of the loop body -> the buffer with an element per lane.
  std::unordered_map<const ffi::Object*, Buffer> wide_buffers_;
  /// Keys of wide_buffers_, in order of definition.
  std::vector<const ffi::Object*> widened_;
};

}  // namespace tirx
}  // namespace tvm

#endif  // TVM_SRC_TIRX_TRANSFORM_VECTORIZER_H_
