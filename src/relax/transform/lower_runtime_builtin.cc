// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief LowerRuntimeBuiltin: operators that the virtual machine or its builtins carry out.
///
///   R.reshape(x, s)  =>  vm.builtin.reshape(x, s);   R.memory.alloc_tensor(..)  =>
///   R.vm.alloc_tensor(..)
#include <tvm/relax/analysis.h>
#include <tvm/relax/expr_functor.h>

#include "relax/ir/utils.h"
#include "relax/op/call_like.h"
#include "relax/op/common.h"
#include "relax/transform/utils.h"

namespace tvm {
namespace relax {
namespace transform {

namespace {

class BuiltinLowering : public ExprMutator {
 public:
  using ExprMutator::ExprMutator;
  using ExprMutator::VisitExpr_;

  Expr VisitExpr_(const CallNode* op) override {
    Call call = Downcast<Call>(VisitExprPostOrder(op));
    const auto* callee = call->op.as<OpNode>();
    if (callee == nullptr) return call;
    const Array<Expr>& args = call->args;
    const Op& o = *static_cast<const Op*>(static_cast<const Expr*>(&call->op));
    if (o.same_as(TVM_RX_OP("memory.alloc_storage"))) {
      return Call(call->ty, TVM_RX_OP("vm.alloc_storage"), {args[0], args[1], args[3], args[2]});
    }
    if (o.same_as(TVM_RX_OP("memory.alloc_tensor"))) {
      return Call(call->ty, TVM_RX_OP("vm.alloc_tensor"), {args[0], args[1], args[2], args[3]});
    }
    if (o.same_as(TVM_RX_OP("memory.kill_storage")) || o.same_as(TVM_RX_OP("memory.kill_tensor"))) {
      return Call(call->ty, TVM_RX_OP("vm.kill_object"), {args[0]});
    }
    if (o.same_as(TVM_RX_OP("reshape"))) return Packed("vm.builtin.reshape", args, call);
    if (o.same_as(TVM_RX_OP("flatten")) || o.same_as(TVM_RX_OP("expand_dims")) ||
        o.same_as(TVM_RX_OP("squeeze")) || o.same_as(TVM_RX_OP("nn.batch_flatten"))) {
      const auto* ty = call->ty.as<TensorTypeNode>();
      TVM_FFI_CHECK(ty != nullptr && ty->shape.has_value(), ValueError)
          << callee->name << " cannot be compiled: the shape of its result is unknown";
      return Packed("vm.builtin.reshape", {args[0], ty->shape.value()}, call);
    }
    if (o.same_as(TVM_RX_OP("shape_of"))) return Packed("vm.builtin.shape_of", args, call);
    if (o.same_as(TVM_RX_OP("tensor_to_shape"))) {
      return Packed("vm.builtin.tensor_to_shape", args, call);
    }
    if (o.same_as(TVM_RX_OP("make_closure"))) {
      Array<Expr> all{args[0]};
      for (const Expr& f : Fields(args[1])) all.push_back(f);
      return Packed("vm.builtin.make_closure", all, call);
    }
    if (o.same_as(TVM_RX_OP("invoke_closure"))) {
      Array<Expr> all{args[0]};
      for (const Expr& f : Fields(args[1])) all.push_back(f);
      return Call(call->ty, TVM_RX_OP("call_builtin_with_ctx"),
                  {ExternFunc("vm.builtin.invoke_closure"), Tuple(all)}, Attrs(), call->ty_args);
    }
    if (o.same_as(TVM_RX_OP("call_py_func"))) {
      return Packed("vm.builtin.call_py_func", args, call);
    }
    if (o.same_as(TVM_RX_OP("vm.call_tir_dyn"))) {
      Array<Expr> all{args[0]};
      for (const Expr& f : Fields(args[1])) all.push_back(f);
      return Packed("vm.builtin.call_tir_dyn", all, call);
    }
    if (o.same_as(TVM_RX_OP("to_vdevice"))) {
      VDevice dst = Downcast<VDevice>(AttrsOf<ToVDeviceAttrs>(call.get())->dst_vdevice);
      Target target = Downcast<Target>(dst->target);
      return Packed("vm.builtin.to_device",
                    {args[0], Int64(target->GetTargetDeviceType()), Int64(dst->vdevice_id)}, call);
    }
    if (o.same_as(TVM_RX_OP("hint_on_device"))) {
      const auto* hint = AttrsOf<HintOnDeviceAttrs>(call.get());
      Array<Expr> operands{args[0], Int64(hint->device_type), Int64(hint->index)};
      if (hint->memory_scope != "global") operands.push_back(StringImm(hint->memory_scope));
      return Packed("vm.builtin.to_device", operands, call);
    }
    if (o.same_as(TVM_RX_OP("builtin.stop_lift_params"))) return args[0];
    static const OpAttrTable* table = Op::GetAttrTable("FLowerBuiltin");
    if (const ffi::Any* f = table->Find(callee->index)) {
      return f->cast<ffi::Function>()(builder_, call).cast<Expr>();
    }
    return call;
  }

 private:
  static Array<Expr> Fields(const Expr& tuple) {
    if (const auto* t = tuple.as<TupleNode>()) return t->fields;
    return {tuple};
  }
  static Call Packed(const char* name, const Array<Expr>& args, const Call& call) {
    return Call(call->ty, ExternFunc(name), args, Attrs(), {call->ty});
  }
};

Function Run(Function func, const IRModule& mod, const PassContext&) {
  return Downcast<Function>(BuiltinLowering(mod).VisitExpr(func));
}
const FunctionPassRegistration kPass({"relax.LowerRuntimeBuiltin",
                                      "Operators that the virtual machine carries out itself.",
                                      Run});

}  // namespace

Pass LowerRuntimeBuiltin() { return kPass(); }

}  // namespace transform
}  // namespace relax
}  // namespace tvm
