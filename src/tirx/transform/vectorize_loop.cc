// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Turns vectorized loops into vector code.
///
///   for i in vectorized(4): A[i] = B[i] + x    ==>    A[ramp(0, 1, 4)] =
///                                                       B[ramp(0, 1, 4)] + broadcast(x, 4)
///
/// With vectorization disabled they become serial loops.
#include <tvm/arith/analyzer.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/target/cpu_features.h>
#include <tvm/target/target.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/transform.h>

#include "tirx/transform/folding_mutator.h"
#include "tirx/transform/vectorizer.h"
#include "tirx/transform/with_body.h"

namespace tvm {
namespace tirx {

namespace {

class LoopVectorizer final : public StmtMutator {
 public:
  explicit LoopVectorizer(bool use_masks) : use_masks_(use_masks) {}

 private:
  Stmt VisitStmt_(const ForNode* op) final {
    analyzer_->Bind(op->loop_var, Range::FromMinExtent(op->min, op->extent),
                    /*allow_override=*/true);
    if (op->kind != ForKind::kVectorized) return StmtMutator::VisitStmt_(op);
    const int64_t* extent = as_const_int(op->extent);
    if (extent == nullptr) {
      TVM_FFI_THROW(ValueError) << "VectorizeLoop: the extent of vectorized loop "
                                << op->loop_var->name << " must be a constant, got " << op->extent;
    }
    TVM_FFI_CHECK(op->HasTrivialStep(), ValueError)
        << "VectorizeLoop: vectorized loop " << op->loop_var->name << " must have step 1";
    if (*extent <= 0) return Evaluate(0);
    // Inner vectorized loops first: they are the ones whose lanes lie side by side.
    Stmt body = VisitStmt(op->body);
    if (*extent == 1 || !is_zero(op->min)) {
      Var counter = op->loop_var.copy_with_suffix("");
      FoldingMutator shift;
      shift.SetValue(op->loop_var, *extent == 1 ? op->min : op->min + PrimExpr(counter));
      body = shift(body);
      if (*extent == 1) return body;
      return Vectorizer(counter, static_cast<int>(*extent), use_masks_, analyzer_).Vectorize(body);
    }
    return Vectorizer(op->loop_var, static_cast<int>(*extent), use_masks_, analyzer_)
        .Vectorize(body);
  }

  bool use_masks_;
  arith::Analyzer analyzer_;
};

class VectorizeSkipper final : public StmtMutator {
  Stmt VisitStmt_(const ForNode* op) final {
    Stmt visited = StmtMutator::VisitStmt_(op);
    if (op->kind != ForKind::kVectorized) return visited;
    For loop = ffi::GetRef<For>(visited.as<ForNode>());
    loop.CopyOnWrite()->kind = ForKind::kSerial;
    return loop;
  }
};

Target TargetOf(const PrimFunc& func) {
  auto target = func->GetAttr<Target>(attr::kTarget);
  return target.has_value() ? target.value() : Target::Current(/*allow_none=*/true);
}

bool TargetHasVectors(const PrimFunc& func) {
  Target target = TargetOf(func);
  return !target.defined() || target->GetTargetDeviceType() != kDLCPU ||
         CpuFeaturesOf(target).vector_bits > 0;
}

/// Masked accesses pay where the machine has them; elsewhere lanes run one by one.
bool TargetHasMasks(const PrimFunc& func) {
  Target current = TargetOf(func);
  if (!current.defined() || current->kind->name != "llvm") return false;
  CpuFeatures features = CpuFeaturesOf(current);
  return features.avx512f || features.avx2;
}

}  // namespace

namespace transform {

Pass VectorizeLoop(bool enable_vectorize) {
  return CreatePrimFuncPass(
      [enable_vectorize](PrimFunc func, const IRModule&, const PassContext& ctx) {
        if (!enable_vectorize || !TargetHasVectors(func)) {
          Stmt body = VectorizeSkipper()(func->body);
          return WithBody(std::move(func), std::move(body));
        }
        auto option = ctx->GetConfig<bool>("tirx.enable_buffer_level_predication");
        bool use_masks = option.has_value() ? option.value() : TargetHasMasks(func);
        Stmt body = LoopVectorizer(use_masks)(func->body);
        return WithBody(std::move(func), std::move(body));
      },
      0, "tirx.VectorizeLoop");
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  refl::GlobalDef().def("tirx.transform.VectorizeLoop",
                        [](bool enable_vectorize) { return VectorizeLoop(enable_vectorize); });
}

}  // namespace transform

}  // namespace tirx
}  // namespace tvm
