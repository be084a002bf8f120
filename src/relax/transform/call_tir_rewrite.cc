// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief CallTIRRewrite: outputs of kernels become explicit allocations.
///
///   gv = R.call_tir(f, (x,), out_ty=T)  =>  alloc = R.builtin.alloc_tensor(shape, dtype, 0)
///                                           _ = f(x, alloc); gv = alloc
#include <tvm/relax/analysis.h>
#include <tvm/relax/expr_functor.h>

#include "relax/op/call_like.h"
#include "relax/op/common.h"
#include "relax/transform/utils.h"

namespace tvm {
namespace relax {
namespace transform {

namespace {

class Rewriter : public ExprMutator {
 public:
  using ExprMutator::ExprMutator;
  using ExprMutator::VisitExpr_;

  Expr VisitExpr_(const CallNode* op) override {
    Call call = Downcast<Call>(VisitExprPostOrder(op));
    if (call->op.same_as(TVM_RX_OP("call_tir"))) return CallDestination(call, {});
    if (call->op.same_as(TVM_RX_OP("call_tir_with_grad"))) return CallDestination(call, {});
    if (call->op.same_as(TVM_RX_OP("call_dps_packed"))) return CallDestination(call, {});
    if (call->op.same_as(TVM_RX_OP("call_tir_inplace"))) {
      return CallDestination(call, AttrsOf<CallTIRInplaceAttrs>(call.get())->inplace_indices);
    }
    return call;
  }

 private:
  Expr CallDestination(const Call& call, const Ints& inplace) {
    Array<Expr> args;
    if (const auto* tuple = call->args[1].as<TupleNode>()) {
      args = tuple->fields;
    } else {
      args = {call->args[1]};
    }
    Array<Type> out_types;
    const auto* tuple_ty = call->ty.as<TupleTypeNode>();
    if (tuple_ty != nullptr) {
      out_types = tuple_ty->fields;
    } else {
      out_types = {call->ty};
    }
    Array<Expr> outs, fresh;
    for (size_t i = 0; i < out_types.size(); ++i) {
      if (i < inplace.size() && inplace[i] != -1) {
        outs.push_back(args[inplace[i]]);
        continue;
      }
      const auto* tensor = out_types[i].as<TensorTypeNode>();
      TVM_FFI_CHECK(tensor != nullptr && tensor->shape.has_value(), ValueError)
          << "cannot allocate an output of type " << out_types[i];
      int64_t device = tensor->vdevice.has_value() ? tensor->vdevice.value()->vdevice_id : 0;
      String scope =
          tensor->vdevice.has_value() ? tensor->vdevice.value()->memory_scope : String("global");
      outs.push_back(builder_->Emit(MakeAllocTensor(out_types[i], device, scope), "alloc"));
      fresh.push_back(outs.back());
    }
    Array<Expr> all = args;
    for (const Expr& o : fresh) all.push_back(o);
    Type none = TupleType(Array<Type>());
    if (call->args.size() > 2) {
      all.push_back(call->args[2]);
      builder_->Emit(Call(none, TVM_RX_OP("vm.call_tir_dyn"), {call->args[0], Tuple(all)}), "_");
    } else {
      builder_->Emit(Call(none, call->args[0], all), "_");
    }
    if (tuple_ty == nullptr) return outs[0];
    return Tuple(outs);
  }
};

Function Run(Function func, const IRModule& mod, const PassContext&) {
  return Downcast<Function>(Rewriter(mod).VisitExpr(func));
}
const FunctionPassRegistration kPass({"relax.CallTIRRewrite",
                                      "Outputs of kernel calls are allocated explicitly.", Run});

}  // namespace

Pass CallTIRRewrite() { return kPass(); }

}  // namespace transform
}  // namespace relax
}  // namespace tvm
