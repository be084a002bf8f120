// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Simplifies expressions with what the surrounding loops and conditions imply, decides conditions
/// that are constant, and drops loops without iterations.
///
///   for i in range(8):                    ==>    for i in range(8):
///     if i < 8: A[(i * 4) // 4] = 0 * i            A[i] = 0
#include <tvm/arith/analyzer.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>
#include <tvm/tirx/transform.h>

#include <unordered_map>

#include "tirx/transform/options.h"
#include "tirx/transform/with_body.h"

namespace tvm {
namespace tirx {

namespace {

/// Whether an expression holds something that facts about its variables could decide or remove.
/// Sums and products of indices, and all float arithmetic, are what they are.
class DecidableFinder final : public ExprVisitor {
 public:
  static bool In(const Expr& expr) {
    DecidableFinder finder;
    finder.VisitExpr(expr);
    return finder.found_;
  }

 private:
  void VisitExpr(const Expr& expr) final {
    if (!found_) ExprVisitor::VisitExpr(expr);
  }
  template <typename Node>
  void OnIntegers(const Node* op) {
    if (op->a.dtype().is_any_float()) {
      ExprVisitor::VisitExpr_(op);
    } else {
      found_ = true;
    }
  }
  void VisitExpr_(const DivNode* op) final { OnIntegers(op); }
  void VisitExpr_(const ModNode* op) final { OnIntegers(op); }
  void VisitExpr_(const FloorDivNode* op) final { OnIntegers(op); }
  void VisitExpr_(const FloorModNode* op) final { OnIntegers(op); }
  void VisitExpr_(const MinNode* op) final { OnIntegers(op); }
  void VisitExpr_(const MaxNode* op) final { OnIntegers(op); }
  void VisitExpr_(const EQNode* op) final { OnIntegers(op); }
  void VisitExpr_(const NENode* op) final { OnIntegers(op); }
  void VisitExpr_(const LTNode* op) final { OnIntegers(op); }
  void VisitExpr_(const LENode* op) final { OnIntegers(op); }
  void VisitExpr_(const GTNode* op) final { OnIntegers(op); }
  void VisitExpr_(const GENode* op) final { OnIntegers(op); }
  void VisitExpr_(const AndNode*) final { found_ = true; }
  void VisitExpr_(const OrNode*) final { found_ = true; }
  void VisitExpr_(const NotNode*) final { found_ = true; }
  void VisitExpr_(const LetNode*) final { found_ = true; }

  bool found_ = false;
};

class StmtSimplifier final : public StmtExprMutator {
 public:
  /// `scheduled`: a kernel rule wrote the function with simplified indices; only what can be
  /// decided is looked at.
  StmtSimplifier(int64_t extensions, bool scheduled) : scheduled_(scheduled) {
    if (extensions != 0) analyzer_->SetEnabledExtensions(extensions);
  }

 private:
  Expr VisitExpr(const Expr& expr) final {
    if (renaming_) return StmtExprMutator::VisitExpr(expr);
    // Leaves need no simplifier; that is most operands of index expressions.
    if (expr.as<IntImmNode>() != nullptr || expr.as<FloatImmNode>() != nullptr ||
        expr.as<StringImmNode>() != nullptr) {
      return expr;
    }
    if (expr.as<VarNode>() != nullptr) return StmtExprMutator::VisitExpr(expr);
    // Pointers and calls for effect are no values to simplify, but their arguments are.
    if (!IsPrimExpr(expr) || IsVoidType(expr->ty)) return StmtExprMutator::VisitExpr(expr);
    Expr renamed = buffer_remap_.empty() && inlined_.empty() ? expr : Rename(expr);
    if (scheduled_ && !DecidableFinder::In(renamed)) return renamed;
    return analyzer_->Simplify(PrimExpr(renamed));
  }

  /// Applies replaced buffers and inlined variables, which the simplifier does not know.
  Expr Rename(const Expr& expr) {
    renaming_ = true;
    Expr renamed = StmtExprMutator::VisitExpr(expr);
    renaming_ = false;
    return renamed;
  }

  Expr VisitExpr_(const VarNode* op) final {
    auto it = inlined_.find(op);
    if (it != inlined_.end()) return it->second;
    return StmtExprMutator::VisitExpr_(op);
  }

  Stmt VisitStmt_(const ForNode* op) final {
    PrimExpr min = VisitPrimExpr(op->min);
    PrimExpr extent = VisitPrimExpr(op->extent);
    const int64_t* trips = as_const_int(extent);
    if (trips != nullptr && *trips <= 0) return Evaluate(0);
    analyzer_->Bind(op->loop_var, Range::FromMinExtent(min, extent), /*allow_override=*/true);
    Stmt body;
    if (trips == nullptr && op->HasTrivialStep()) {
      // Inside the loop there is an iteration, so the extent is positive.
      arith::ConstraintScope scope(analyzer_, extent > make_zero(extent.dtype()));
      body = VisitStmt(op->body);
    } else {
      body = VisitStmt(op->body);
    }
    if (min.same_as(op->min) && extent.same_as(op->extent) && body.same_as(op->body)) {
      return ffi::GetRef<Stmt>(op);
    }
    For loop = ffi::GetRef<For>(op);
    ForNode* node = loop.CopyOnWrite();
    node->min = min;
    node->extent = extent;
    node->body = body;
    return loop;
  }

  Stmt VisitStmt_(const IfThenElseNode* op) final {
    PrimExpr condition = VisitPrimExpr(op->condition);
    const auto* likely_call = condition.as<CallNode>();
    PrimExpr fact = likely_call != nullptr && likely_call->op.same_as(builtin::likely())
                        ? PrimExpr(likely_call->args[0])
                        : condition;
    if (is_const_int(fact)) {
      if (!is_zero(fact)) return VisitStmt(op->then_case);
      return op->else_case.has_value() ? VisitStmt(op->else_case.value()) : Evaluate(0);
    }
    Stmt then_case;
    {
      arith::ConstraintScope scope(analyzer_, fact);
      then_case = VisitStmt(op->then_case);
    }
    ffi::Optional<Stmt> else_case = op->else_case;
    bool same_else = true;
    if (op->else_case.has_value()) {
      arith::ConstraintScope scope(analyzer_, analyzer_->RewriteSimplify(logical_not(fact)));
      Stmt visited = VisitStmt(op->else_case.value());
      same_else = visited.same_as(op->else_case.value());
      else_case = visited;
    }
    if (condition.same_as(op->condition) && then_case.same_as(op->then_case) && same_else) {
      return ffi::GetRef<Stmt>(op);
    }
    return IfThenElse(condition, then_case, else_case, op->span);
  }

  Stmt VisitStmt_(const BindNode* op) final {
    Expr value = VisitExpr(op->value);
    bool scalar_index = IsPrimExpr(value) && value.dtype().is_scalar() &&
                        (value.dtype().is_int() || value.dtype().is_uint());
    // A name for a constant or for another variable only hides it.
    if (value.as<IntImmNode>() != nullptr || value.as<FloatImmNode>() != nullptr ||
        (value.as<VarNode>() != nullptr && !IsBuffer(value.get()))) {
      inlined_[op->var.get()] = value;
      return Evaluate(0);
    }
    if (scalar_index && SideEffect(value) <= CallEffectKind::kPure) {
      // Only the bounds: binding the value would put it back wherever the name stands.
      analyzer_->Update(op->var, analyzer_->GetConstIntBound(PrimExpr(value)), true);
      analyzer_->Update(op->var, analyzer_->GetModularSet(PrimExpr(value)), true);
    }
    if (value.same_as(op->value)) return ffi::GetRef<Stmt>(op);
    return Bind(op->var, value, op->span);
  }

  Stmt VisitStmt_(const AttrStmtNode* op) final {
    if (op->attr_key == attr::thread_extent || op->attr_key == attr::virtual_thread) {
      if (auto axis = op->node.as<IterVar>()) {
        PrimExpr extent(op->value);
        analyzer_->Bind(axis.value()->var, Range::FromMinExtent(make_zero(extent.dtype()), extent),
                        /*allow_override=*/true);
      }
    }
    return StmtExprMutator::VisitStmt_(op);
  }

  Stmt VisitStmt_(const AssertStmtNode* op) final {
    Stmt visited = StmtExprMutator::VisitStmt_(op);
    const auto* check = visited.as<AssertStmtNode>();
    if (is_const_int(check->condition) && !is_zero(check->condition)) return Evaluate(0);
    return visited;
  }

  Stmt VisitStmt_(const SeqStmtNode* op) final {
    bool shrink = false;
    Stmt visited = VisitSeqStmt_(op, [&](const Stmt& stmt) {
      Stmt result = VisitStmt(stmt);
      const auto* eval = result.as<EvaluateNode>();
      if (eval != nullptr && !result.same_as(stmt) && is_const_int(eval->value)) shrink = true;
      return result;
    });
    return shrink ? SeqStmt::Flatten(visited) : visited;
  }

  bool scheduled_;
  bool renaming_ = false;
  arith::Analyzer analyzer_;
  std::unordered_map<const VarNode*, Expr> inlined_;
};

const transform::PrimFuncPassRegistration kPass{{
    .name = "tirx.StmtSimplify",
    .summary = "Simplify expressions and conditions with the facts around them",
    .run =
        [](PrimFunc func, const transform::PassContext& ctx) {
          StmtSimplifyOptions options = GetOptions<StmtSimplifyOptions>(ctx, "tirx.StmtSimplify");
          int64_t extensions = 0;
          if (options->transitively_prove_inequalities) {
            extensions |= arith::kTransitivelyProveInequalities;
          }
          if (options->convert_boolean_to_and_of_ors)
            extensions |= arith::kConvertBooleanToAndOfOrs;
          if (options->apply_constraints_to_boolean_branches) {
            extensions |= arith::kApplyConstraintsToBooleanBranches;
          }
          Stmt body =
              StmtSimplifier(extensions, func->HasNonzeroAttr(attr::kIsScheduled))(func->body);
          return WithBody(std::move(func), std::move(body));
        },
}};

}  // namespace

namespace transform {
Pass StmtSimplify() { return kPass.Create(); }
}  // namespace transform

}  // namespace tirx
}  // namespace tvm
