// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Which variables a piece of program uses, and which of them it does not define.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/tirx/analysis.h>

#include <unordered_set>

namespace tvm {
namespace tirx {

namespace {

class UndefinedCollector final : public StmtExprVisitor {
 public:
  explicit UndefinedCollector(const ffi::Array<Var>& defs) {
    for (const Var& var : defs) defined_.insert(var.get());
  }
  using StmtExprVisitor::VisitExpr;
  using StmtExprVisitor::VisitStmt;

  ffi::Array<Var> undefined;

 private:
  void Use(const VarNode* var) {
    if (defined_.count(var) != 0 || !seen_.insert(var).second) return;
    undefined.push_back(ffi::GetRef<Var>(var));
  }
  void Define(const Var& var) { defined_.insert(var.get()); }

  void VisitExpr_(const VarNode* op) final { Use(op); }
  void VisitBufferUse(const Buffer& buffer) final { Use(buffer.get()); }
  void VisitBufferDef(const Buffer& buffer) final {
    StmtExprVisitor::VisitBufferDef(buffer);
    Define(buffer);
  }
  void VisitExpr_(const LetNode* op) final {
    VisitExpr(op->value);
    Define(op->var);
    VisitExpr(op->body);
  }
  void VisitExpr_(const ReduceNode* op) final {
    for (const IterVar& axis : op->axis) Define(axis->var);
    StmtExprVisitor::VisitExpr_(op);
  }
  void VisitStmt_(const BindNode* op) final {
    VisitExpr(op->value);
    Define(op->var);
  }
  void VisitStmt_(const ForNode* op) final {
    VisitExpr(op->min);
    VisitExpr(op->extent);
    if (op->step.has_value()) VisitExpr(op->step.value());
    Define(op->loop_var);
    VisitStmt(op->body);
  }
  void VisitStmt_(const AttrStmtNode* op) final {
    VisitExpr(op->value);
    if (auto iter = op->node.as<IterVar>()) Define(iter.value()->var);
    if (auto var = op->node.as<Var>()) Use(var.value().get());
    VisitStmt(op->body);
  }
  void VisitStmt_(const SBlockNode* op) final {
    for (const IterVar& iter : op->iter_vars) Define(iter->var);
    StmtExprVisitor::VisitStmt_(op);
  }
  void VisitStmt_(const ScopeIdDefStmtNode* op) final {
    StmtExprVisitor::VisitStmt_(op);
    for (const Var& id : op->def->def_ids) Define(id);
  }

  std::unordered_set<const ffi::Object*> defined_;
  std::unordered_set<const ffi::Object*> seen_;
};

class UseFinder final : public StmtExprVisitor {
 public:
  explicit UseFinder(const std::function<bool(const VarNode*)>& pred) : pred_(pred) {}
  bool found = false;

 private:
  void VisitExpr(const Expr& expr) final {
    if (!found) StmtExprVisitor::VisitExpr(expr);
  }
  void VisitStmt(const Stmt& stmt) final {
    if (!found) StmtExprVisitor::VisitStmt(stmt);
  }
  void VisitExpr_(const VarNode* op) final { found = found || pred_(op); }
  void VisitBufferUse(const Buffer& buffer) final { found = found || pred_(buffer.get()); }

  const std::function<bool(const VarNode*)>& pred_;
};

}  // namespace

ffi::Array<Var> UndefinedVars(const Stmt& stmt, const ffi::Array<Var>& defs) {
  UndefinedCollector collector(defs);
  collector.VisitStmt(stmt);
  return collector.undefined;
}

ffi::Array<Var> UndefinedVars(const Expr& expr, const ffi::Array<Var>& defs) {
  UndefinedCollector collector(defs);
  collector.VisitExpr(expr);
  return collector.undefined;
}

bool StmtUsesVar(const Stmt& stmt, const std::function<bool(const VarNode*)>& pred) {
  UseFinder finder(pred);
  finder(stmt);
  return finder.found;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  refl::GlobalDef()
      .def("tirx.analysis.UndefinedVars",
           [](ffi::ObjectRef node, ffi::Array<Var> defs) -> ffi::Array<Var> {
             if (auto stmt = node.as<Stmt>()) return UndefinedVars(*stmt, defs);
             if (auto expr = node.as<Expr>()) return UndefinedVars(*expr, defs);
             TVM_FFI_THROW(TypeError) << "UndefinedVars expects a statement or an expression, got "
                                      << node->GetTypeKey();
             TVM_FFI_UNREACHABLE();
           })
      .def("tirx.analysis.expr_deep_equal",
           [](Expr lhs, Expr rhs) { return ExprDeepEqual()(lhs, rhs); });
}

}  // namespace tirx
}  // namespace tvm
