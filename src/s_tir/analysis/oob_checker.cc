// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// OOBChecker: finds accesses that are outside of their buffer whatever the data is.
#include <tvm/arith/analyzer.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/s_tir/analysis.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <utility>

#include "s_tir/schedule/failure.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

/// An access is refused if the range of an index, under the conditions around, reaches past the
/// end or below zero for constant bounds.
class AccessChecker final : public StmtExprVisitor {
 public:
  void Run(const Stmt& stmt) { VisitStmt(stmt); }
  ffi::Array<ffi::ObjectRef> where;
  std::string message;

 private:
  void VisitStmt_(const ForNode* op) final {
    analyzer_->Bind(op->loop_var, Range::FromMinExtent(op->min, op->extent), true);
    StmtExprVisitor::VisitStmt_(op);
  }
  void VisitStmt_(const SBlockRealizeNode* op) final {
    VisitExprs(op->iter_values);
    arith::ConstraintScope scope(analyzer_, op->predicate);
    for (size_t i = 0; i < op->iter_values.size(); ++i) {
      const IterVar& iter = op->block->iter_vars[i];
      // The domain and the value both hold; the domain is what the block promises.
      analyzer_->Bind(iter->var, iter->dom, true);
    }
    VisitStmt(op->block);
  }
  void VisitStmt_(const SBlockNode* op) final {
    // Regions are only statements about the accesses.
    if (op->init.has_value()) VisitStmt(op->init.value());
    VisitStmt(op->body);
  }
  void VisitStmt_(const IfThenElseNode* op) final {
    VisitExpr(op->condition);
    {
      arith::ConstraintScope scope(analyzer_, op->condition);
      VisitStmt(op->then_case);
    }
    if (op->else_case.has_value()) {
      arith::ConstraintScope scope(analyzer_, !op->condition);
      VisitStmt(op->else_case.value());
    }
  }
  void VisitExpr_(const CallNode* op) final {
    if (!op->op.same_as(builtin_scalar::if_then_else())) return StmtExprVisitor::VisitExpr_(op);
    const PrimExpr condition(op->args[0]);
    VisitExpr(condition);
    {
      arith::ConstraintScope scope(analyzer_, condition);
      VisitExpr(op->args[1]);
    }
    arith::ConstraintScope scope(analyzer_, !condition);
    VisitExpr(op->args[2]);
  }
  void VisitStmt_(const BufferStoreNode* op) final {
    Check(op->buffer, op->indices, ffi::GetRef<ffi::ObjectRef>(op));
    StmtExprVisitor::VisitStmt_(op);
  }
  void VisitExpr_(const BufferLoadNode* op) final {
    Check(op->buffer, op->indices, ffi::GetRef<ffi::ObjectRef>(op));
    StmtExprVisitor::VisitExpr_(op);
  }

  void Check(const Buffer& buffer, const ffi::Array<PrimExpr>& indices,
             const ffi::ObjectRef& access) {
    for (size_t d = 0; d < indices.size(); ++d) {
      if (indices[d].dtype().lanes() != 1) continue;
      const arith::ConstIntBound bound = analyzer_->GetConstIntBound(indices[d]);
      const bool below = bound->min_value < 0 && bound->min_value != arith::ConstIntBound::kNegInf;
      bool above = analyzer_->CanProve(indices[d] >= buffer.shape()[d]);
      if (const int64_t* extent = as_const_int(buffer.shape()[d])) {
        above = above ||
                (bound->max_value >= *extent && bound->max_value != arith::ConstIntBound::kPosInf);
      }
      if (!below && !above) continue;
      if (where.empty()) {
        message = "the access of the buffer " + std::string(buffer->name) +
                  " in {0} is out of "
                  "bounds: axis " +
                  std::to_string(d) + " has the index " + std::string(DebugText(indices[d])) +
                  " in [" + std::to_string(bound->min_value) + ", " +
                  std::to_string(bound->max_value) + "], but the extent " +
                  std::string(DebugText(buffer.shape()[d]));
      }
      where.push_back(access);
    }
  }

  arith::Analyzer analyzer_;
};

}  // namespace

namespace transform {

tvm::transform::Pass OOBChecker() {
  auto run = [](IRModule mod, const tvm::transform::PassContext&) {
    AccessChecker checker;
    for (const auto& [gvar, base] : mod->SortedFunctions()) {
      if (const auto* func = base.as<PrimFuncNode>()) checker.Run(func->body);
    }
    if (!checker.where.empty()) {
      TVM_FFI_THROW(ScheduleError) << RenderFailure(ScheduleFailure(checker.where, checker.message),
                                                    "OOBChecker", mod, ErrorRenderLevel::kDetail);
    }
    return mod;
  };
  return tvm::transform::CreateModulePass(run, 0, "s_tir.OOBChecker", {});
}

}  // namespace transform

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef().def("s_tir.analysis.OOBChecker",
                                   [] { return transform::OOBChecker(); });
}

}  // namespace s_tir
}  // namespace tvm
