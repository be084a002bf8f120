// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// estimate_tir_flops: arithmetic operations on numbers that are no indices, times the iterations
/// around.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/module.h>
#include <tvm/s_tir/analysis.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <algorithm>

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

class FlopCounter final : public StmtExprVisitor {
 public:
  double Count(const Stmt& stmt) {
    VisitStmt(stmt);
    return total_;
  }

 private:
  void VisitStmt_(const ForNode* op) final {
    const int64_t* extent = as_const_int(op->extent);
    TVM_FFI_CHECK(extent != nullptr, ValueError)
        << "the operations of a loop cannot be counted: its extent " << op->extent
        << " is no constant";
    double before = times_;
    times_ *= static_cast<double>(std::max<int64_t>(*extent, 0));
    VisitStmt(op->body);
    times_ = before;
  }
  void VisitStmt_(const SBlockNode* op) final {
    // The init runs once for many iterations of the body; it is left out, like the predicates.
    VisitStmt(op->body);
  }
  void VisitStmt_(const SBlockRealizeNode* op) final { VisitStmt(op->block); }
  void VisitStmt_(const IfThenElseNode* op) final {
    VisitExpr(op->condition);
    const double before = total_;
    VisitStmt(op->then_case);
    const double then_flops = total_ - before;
    total_ = before;
    if (op->else_case.has_value()) VisitStmt(op->else_case.value());
    total_ = before + std::max(then_flops, total_ - before);
  }
  void VisitStmt_(const BufferStoreNode* op) final { VisitExpr(op->value); }
  void VisitExpr_(const BufferLoadNode*) final {}

  void Note(DataType dtype, double weight = 1) {
    if (!dtype.is_bool() && !dtype.is_handle()) total_ += times_ * weight * dtype.lanes();
  }
#define TVM_S_TIR_COUNT(Name)                   \
  void VisitExpr_(const Name##Node* op) final { \
    Note(op->a.dtype());                        \
    StmtExprVisitor::VisitExpr_(op);            \
  }
  TVM_S_TIR_COUNT(Add)
  TVM_S_TIR_COUNT(Sub)
  TVM_S_TIR_COUNT(Mul)
  TVM_S_TIR_COUNT(Div)
  TVM_S_TIR_COUNT(Mod)
  TVM_S_TIR_COUNT(FloorDiv)
  TVM_S_TIR_COUNT(FloorMod)
  TVM_S_TIR_COUNT(Min)
  TVM_S_TIR_COUNT(Max)
  TVM_S_TIR_COUNT(EQ)
  TVM_S_TIR_COUNT(NE)
  TVM_S_TIR_COUNT(LT)
  TVM_S_TIR_COUNT(LE)
  TVM_S_TIR_COUNT(GT)
  TVM_S_TIR_COUNT(GE)
#undef TVM_S_TIR_COUNT
  void VisitExpr_(const CallNode* op) final {
    // One operation for a function, whatever it takes to compute.
    if (!op->op.same_as(builtin_scalar::if_then_else()) &&
        !op->op.same_as(builtin_scalar::likely()) && IsPrimExpr(op)) {
      Note(op->dtype());
    }
    StmtExprVisitor::VisitExpr_(op);
  }

  double total_ = 0;
  double times_ = 1;
};

}  // namespace

double EstimateTIRFlops(const Stmt& stmt) { return FlopCounter().Count(stmt); }

double EstimateTIRFlops(const IRModule& mod) {
  double total = 0;
  for (const auto& [gvar, base] : mod->functions) {
    if (const auto* func = base.as<PrimFuncNode>()) total += EstimateTIRFlops(func->body);
  }
  return total;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef().def(
      "s_tir.analysis.EstimateTIRFlops", [](const ffi::Any& what) -> double {
        TVM_FFI_CHECK(what != nullptr, TypeError)
            << "expected a module, function or statement, but got None";
        if (auto mod = what.as<IRModule>()) return EstimateTIRFlops(*mod);
        if (auto stmt = what.as<Stmt>()) return EstimateTIRFlops(*stmt);
        if (auto func = what.as<PrimFunc>()) return EstimateTIRFlops((*func)->body);
        TVM_FFI_THROW(TypeError) << "expected a module, function or statement, but got "
                                 << what.GetTypeKey();
        TVM_FFI_UNREACHABLE();
      });
}

}  // namespace s_tir
}  // namespace tvm
