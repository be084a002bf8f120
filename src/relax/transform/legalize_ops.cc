// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief LegalizeOps: every operator becomes a call of a kernel of its own.
///
///   R.add(x, y)  =>  R.call_tir(add, (x, y), out_ty=...)
///
/// Operators without a kernel rule become calls of the packed function that the row names. Calls
/// whose shapes are unknown stay.
#include <tvm/ffi/reflection/registry.h>
#include <tvm/relax/analysis.h>
#include <tvm/relax/expr_functor.h>
#include <tvm/relax/transform.h>
#include <tvm/tirx/function.h>

#include <unordered_map>

#include "relax/op/call_like.h"
#include "relax/transform/kernel_builder.h"
#include "relax/transform/utils.h"

namespace tvm {
namespace relax {
namespace transform {

namespace {

class Legalizer : public ExprMutator {
 public:
  explicit Legalizer(const IRModule& mod, Map<String, ffi::Function> custom)
      : ExprMutator(mod), mod_(mod), custom_(std::move(custom)), target_(Target::Current()) {}

  IRModule Run() { return VisitFunctions(mod_); }

  using ExprMutator::VisitExpr_;
  Expr VisitExpr_(const CallNode* op) override {
    Call call = Downcast<Call>(VisitExprPostOrder(op));
    const auto* callee = call->op.as<OpNode>();
    if (callee == nullptr) return call;
    if (auto f = custom_.Get(callee->name)) return f.value()(builder_, call).cast<Expr>();
    if (auto f = Registered("FLegalize", callee)) {
      Expr result = (*f)(builder_, call).cast<Expr>();
      return result.same_as(call) ? result : VisitExpr(result);
    }
    if (CanLower(call)) {
      KernelBuilder kernel(target_);
      Var result(String("out"), call->ty);
      kernel.Add(result, call);
      return CallKernel(builder_, kernel.Finish({result}));
    }
    if (auto packed = CallPackedFallback(call)) return packed.value();
    return call;
  }

 private:
  static std::optional<ffi::Function> Registered(const char* key, const OpNode* op) {
    static const OpAttrTable* table = Op::GetAttrTable("FLegalize");
    const ffi::Any* value = table->Find(op->index);
    if (value == nullptr) return std::nullopt;
    return value->cast<ffi::Function>();
  }

  IRModule mod_;
  Map<String, ffi::Function> custom_;
  Target target_;
};

Pass MakeLegalizeOps(Map<String, ffi::Function> custom) {
  return tvm::transform::CreateModulePass(
      [custom](IRModule mod, const PassContext&) { return Legalizer(mod, custom).Run(); }, 0,
      "LegalizeOps");
}

}  // namespace

Pass LegalizeOps() { return MakeLegalizeOps({}); }

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef().def("relax.transform.LegalizeOps",
                        [](Optional<Map<String, ffi::Function>> custom) {
                          return MakeLegalizeOps(custom.value_or({}));
                        });
}

}  // namespace transform
}  // namespace relax
}  // namespace tvm
