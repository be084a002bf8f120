// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Names expressions that one sequence of statements computes several times.
///
///   A[i * 8 + j + 1] = 0          ==>    cse_v1 = bind(i * 8 + j)
///   B[i * 8 + j + 2] = 1                 A[cse_v1 + 1] = 0
///                                        B[cse_v1 + 2] = 1
///
/// Candidates are scalar arithmetic on names and constants, without loads and calls. The name is
/// given in front of the first statement of the sequence that needs it, where all variables of the
/// expression are defined; expressions that use a loop variable thus stay inside of that loop.
#include <tvm/ir/expr_functor.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>
#include <tvm/tirx/transform.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tirx/transform/with_body.h"

namespace tvm {
namespace tirx {

namespace {

using ExprSet = std::unordered_map<Expr, int, ExprDeepHash, ExprDeepEqual>;

bool IsArithmetic(const Expr& e) {
  return e.as<AddNode>() || e.as<SubNode>() || e.as<MulNode>() || e.as<DivNode>() ||
         e.as<ModNode>() || e.as<FloorDivNode>() || e.as<FloorModNode>() || e.as<MinNode>() ||
         e.as<MaxNode>() || e.as<CastNode>() || e.as<SelectNode>();
}

/// Arithmetic all the way down to names and constants, worth a name.
bool IsCandidate(const Expr& expr) {
  if (!IsPrimExpr(expr) || !expr.dtype().is_scalar() || expr.dtype().is_bool()) return false;
  if (!IsArithmetic(expr)) return false;
  bool pure = true;
  int operations = 0;
  PostOrderVisitExpr(expr, [&](const Expr& e) {
    operations += IsArithmetic(e);
    pure =
        pure && (IsArithmetic(e) || e.as<VarNode>() != nullptr || e.as<IntImmNode>() != nullptr ||
                 e.as<FloatImmNode>() != nullptr || e.as<EQNode>() || e.as<NENode>() ||
                 e.as<LTNode>() || e.as<LENode>() || e.as<GTNode>() || e.as<GENode>() ||
                 e.as<AndNode>() || e.as<OrNode>() || e.as<NotNode>());
  });
  return pure && operations >= 2;
}

/// Counts candidates in one statement, without entering nested definitions of variables they use.
class CandidateCounter final : public StmtExprVisitor {
 public:
  explicit CandidateCounter(ExprSet* counts) : counts_(*counts) {}

 private:
  void VisitExpr(const Expr& expr) final {
    if (IsCandidate(expr) &&
        !UsesVar(expr, [this](const VarNode* v) { return inner_.count(v) != 0; })) {
      ++counts_[expr];
      return;  // the largest common expression gets the name
    }
    StmtExprVisitor::VisitExpr(expr);
  }
  void VisitExpr_(const LetNode* op) final {
    VisitExpr(op->value);
    inner_.insert(op->var.get());
    VisitExpr(op->body);
  }
  void VisitStmt_(const ForNode* op) final {
    inner_.insert(op->loop_var.get());
    StmtExprVisitor::VisitStmt_(op);
  }
  void VisitStmt_(const BindNode* op) final {
    StmtExprVisitor::VisitStmt_(op);
    inner_.insert(op->var.get());
  }
  void VisitStmt_(const AttrStmtNode* op) final {
    if (auto iter = op->node.as<IterVar>()) inner_.insert(iter.value()->var.get());
    StmtExprVisitor::VisitStmt_(op);
  }

  ExprSet& counts_;
  std::unordered_set<const VarNode*> inner_;
};

class CommonNamer final : public StmtExprMutator {
 private:
  Expr VisitExpr(const Expr& expr) final {
    if (!names_.empty() && IsArithmetic(expr)) {
      auto it = names_.find(expr);
      if (it != names_.end()) return it->second;
    }
    return StmtExprMutator::VisitExpr(expr);
  }

  Stmt VisitStmt_(const SeqStmtNode* op) final {
    ffi::Array<Stmt> seq;
    std::vector<Expr> mine;
    bool changed = false;
    for (size_t i = 0; i < op->seq.size(); ++i) {
      std::vector<Expr> here;
      CollectFrom(op, i, &here);
      for (const Expr& expr : here) {
        if (names_.count(expr) != 0) continue;
        Var name("cse_v" + std::to_string(++next_), expr.dtype());
        Expr value = StmtExprMutator::VisitExpr(expr);
        seq.push_back(Bind(name, value));
        names_.emplace(expr, name);
        mine.push_back(expr);
        changed = true;
      }
      Stmt visited = VisitStmt(op->seq[i]);
      changed = changed || !visited.same_as(op->seq[i]);
      seq.push_back(visited);
    }
    for (const Expr& expr : mine) names_.erase(expr);
    return changed ? SeqStmt::Flatten(seq) : ffi::GetRef<Stmt>(op);
  }

  /// Expressions that first occur in statement `begin` of the sequence and occur again.
  void CollectFrom(const SeqStmtNode* seq, size_t begin, std::vector<Expr>* result) {
    auto& tables = tables_[seq];
    if (tables.empty()) {
      // One walk of the sequence: per statement its candidates, and totals from each on.
      tables.resize(seq->seq.size());
      for (size_t i = 0; i < seq->seq.size(); ++i) {
        CandidateCounter counter(&tables[i]);
        counter(seq->seq[i]);
      }
      ExprSet total;
      for (size_t i = seq->seq.size(); i-- > 0;) {
        for (auto& [expr, count] : tables[i]) {
          int behind = total[expr];
          total[expr] += count;
          count += behind;
        }
      }
    }
    for (const auto& [expr, count] : tables[begin]) {
      if (count > 1) result->push_back(expr);
    }
    // Hash order is not an order for programs.
    std::sort(result->begin(), result->end(), [](const Expr& a, const Expr& b) {
      return std::string(DebugText(a)) < std::string(DebugText(b));
    });
  }

  std::unordered_map<Expr, Var, ExprDeepHash, ExprDeepEqual> names_;
  std::unordered_map<const SeqStmtNode*, std::vector<ExprSet>> tables_;
  int next_ = 0;
};

const transform::PrimFuncPassRegistration kPass{{
    .name = "tirx.CommonSubexprElim",
    .summary = "Name expressions that are computed several times",
    .run =
        [](PrimFunc func, const transform::PassContext&) {
          Stmt body = CommonNamer()(func->body);
          return WithBody(std::move(func), std::move(body));
        },
}};

}  // namespace

namespace transform {
Pass CommonSubexprElim() { return kPass.Create(); }
}  // namespace transform

}  // namespace tirx
}  // namespace tvm
