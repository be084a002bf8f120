// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Removes statements without effect.
///
///   for i in range(n): T.evaluate(0)      ==>    A[0] = B[0]
///   x = bind(n + 1)      # never used
///   A[0] = B[0]
///   A[1] = A[1]
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>
#include <tvm/tirx/transform.h>

#include <unordered_map>
#include <vector>

#include "tirx/transform/options.h"
#include "tirx/transform/with_body.h"

namespace tvm {
namespace tirx {

namespace {

bool IsNoOp(const Stmt& stmt) {
  const auto* eval = stmt.as<EvaluateNode>();
  if (eval != nullptr) return is_const_int(eval->value);
  const auto* seq = stmt.as<SeqStmtNode>();
  return seq != nullptr && seq->seq.empty();
}

/// Number of uses of each variable, buffers included.
class UseCounter final : public StmtExprVisitor {
 public:
  std::unordered_map<const ffi::Object*, int> uses;

 private:
  void VisitExpr_(const VarNode* op) final { ++uses[op]; }
  void VisitBufferUse(const Buffer& buffer) final { ++uses[buffer.get()]; }
  void VisitStmt_(const AttrStmtNode* op) final {
    if (auto var = op->node.as<Var>()) ++uses[var.value().get()];
    StmtExprVisitor::VisitStmt_(op);
  }
};

class NoOpRemover final : public StmtMutator {
 public:
  NoOpRemover(std::unordered_map<const ffi::Object*, int>* uses, bool ignore_profiler)
      : uses_(*uses), ignore_profiler_(ignore_profiler) {}

 private:
  bool HasEffect(const Expr& expr) const {
    if (ignore_profiler_) {
      const auto* call = expr.as<CallNode>();
      if (call != nullptr && (call->op.same_as(builtin::start_profile_intrinsic()) ||
                              call->op.same_as(builtin::end_profile_intrinsic()))) {
        return false;
      }
    }
    return SideEffect(expr) > CallEffectKind::kReadState;
  }

  Stmt VisitStmt_(const EvaluateNode* op) final {
    if (is_const_int(op->value) || HasEffect(op->value)) return ffi::GetRef<Stmt>(op);
    const auto* call = op->value.as<CallNode>();
    // Profiling calls have no effect on values, and are there to be kept.
    if (call != nullptr && !ignore_profiler_ &&
        (call->op.same_as(builtin::start_profile_intrinsic()) ||
         call->op.same_as(builtin::end_profile_intrinsic()))) {
      return ffi::GetRef<Stmt>(op);
    }
    return Evaluate(0);
  }

  Stmt VisitStmt_(const BindNode* op) final {
    if (Unused(op->var) && !HasEffect(op->value)) return Evaluate(0);
    return ffi::GetRef<Stmt>(op);
  }

  Stmt VisitStmt_(const AllocBufferNode* op) final {
    return Unused(op->buffer) ? Stmt(Evaluate(0)) : ffi::GetRef<Stmt>(op);
  }

  Stmt VisitStmt_(const DeclBufferNode* op) final {
    if (Unused(op->buffer) && !HasEffect(op->data)) return Evaluate(0);
    return ffi::GetRef<Stmt>(op);
  }

  Stmt VisitStmt_(const BufferStoreNode* op) final {
    // Writing back what was just read from the same place.
    const auto* load = op->value.as<BufferLoadNode>();
    if (load == nullptr || !load->buffer.same_as(op->buffer) || op->predicate.has_value() ||
        load->predicate.has_value() || load->indices.size() != op->indices.size()) {
      return ffi::GetRef<Stmt>(op);
    }
    for (size_t i = 0; i < op->indices.size(); ++i) {
      if (!ExprDeepEqual()(load->indices[i], op->indices[i])) return ffi::GetRef<Stmt>(op);
    }
    return Evaluate(0);
  }

  Stmt VisitStmt_(const ForNode* op) final {
    if (is_zero(op->extent)) return Evaluate(0);
    Stmt visited = StmtMutator::VisitStmt_(op);
    if (!IsNoOp(visited.as<ForNode>()->body)) return visited;
    return KeepEffects({op->min, op->extent});
  }

  Stmt VisitStmt_(const WhileNode* op) final {
    Stmt visited = StmtMutator::VisitStmt_(op);
    return is_zero(op->condition) ? Stmt(Evaluate(0)) : visited;
  }

  Stmt VisitStmt_(const IfThenElseNode* op) final {
    Stmt visited = StmtMutator::VisitStmt_(op);
    const auto* branch = visited.as<IfThenElseNode>();
    bool no_else = !branch->else_case.has_value() || IsNoOp(branch->else_case.value());
    bool no_then = IsNoOp(branch->then_case);
    if (no_then && no_else) return KeepEffects({branch->condition});
    if (no_then) return IfThenElse(logical_not(branch->condition), branch->else_case.value());
    if (no_else && branch->else_case.has_value()) {
      return IfThenElse(branch->condition, branch->then_case);
    }
    return visited;
  }

  Stmt VisitStmt_(const AttrStmtNode* op) final {
    Stmt visited = StmtMutator::VisitStmt_(op);
    bool removable = op->attr_key != attr::thread_extent;
    if (removable && IsNoOp(visited.as<AttrStmtNode>()->body)) return KeepEffects({op->value});
    return visited;
  }

  Stmt VisitStmt_(const SeqStmtNode* op) final {
    bool changed = false;
    ffi::Array<Stmt> kept;
    for (const Stmt& stmt : op->seq) {
      Stmt result = VisitStmt(stmt);
      changed = changed || !result.same_as(stmt);
      if (IsNoOp(result)) {
        changed = true;
      } else {
        kept.push_back(result);
      }
    }
    if (!changed) return ffi::GetRef<Stmt>(op);
    return SeqStmt::Flatten(kept);
  }

  Stmt KeepEffects(const ffi::Array<Expr>& values) const {
    ffi::Array<Stmt> seq;
    for (const Expr& value : values) {
      if (HasEffect(value)) seq.push_back(Evaluate(value));
    }
    return SeqStmt::Flatten(seq);
  }

  bool Unused(const Var& var) const { return uses_.count(var.get()) == 0; }

  const std::unordered_map<const ffi::Object*, int>& uses_;
  bool ignore_profiler_;
};

const transform::PrimFuncPassRegistration kPass{{
    .name = "tirx.RemoveNoOp",
    .summary = "Remove statements without effect",
    .run =
        [](PrimFunc func, const transform::PassContext& ctx) {
          RemoveNoOpOptions options = GetOptions<RemoveNoOpOptions>(ctx, "tirx.RemoveNoOp");
          Stmt body = func->body;
          // A removed statement may have held the last use of a name: repeat until nothing changes.
          for (int round = 0; round < 8; ++round) {
            UseCounter counter;
            counter(body);
            Stmt next = NoOpRemover(&counter.uses, options->ignore_profiler_call)(body);
            if (next.same_as(body)) break;
            body = next;
          }
          return WithBody(std::move(func), std::move(body));
        },
}};

}  // namespace

namespace transform {
Pass RemoveNoOp() { return kPass.Create(); }
}  // namespace transform

}  // namespace tirx
}  // namespace tvm
