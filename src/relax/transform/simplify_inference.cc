// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief SimplifyInference: scales move into constant weights, 1-D convolutions become 2-D ones.
///
///   R.multiply(R.nn.conv2d(x, W), s)            =>  R.nn.conv2d(x, W * s)
///   R.multiply(R.add(R.nn.conv2d(x, W), b), s)  =>  R.add(R.nn.conv2d(x, W * s), b * s)
///   R.add(R.add(y, a), b), a and b constant     =>  R.add(y, a + b)
///   R.divide(x, c), c one constant              =>  R.multiply(x, 1 / c)
///   R.nn.conv1d(x, W)                           =>  R.squeeze(R.nn.conv2d(x[..,1,..], W[..,1,..]))
#include <tvm/relax/analysis.h>
#include <tvm/relax/expr_functor.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "relax/ir/utils.h"
#include "relax/op/call_like.h"
#include "relax/op/common.h"
#include "relax/transform/utils.h"

namespace tvm {
namespace relax {
namespace transform {

namespace {

class Simplifier : public ExprMutator {
 public:
  using ExprMutator::ExprMutator;

  Function Run(const Function& func) {
    struct Counter : public ExprVisitor {
      std::unordered_map<const VarNode*, int>* uses;
      void VisitExpr_(const VarNode* op) override { ++(*uses)[op]; }
    };
    Counter c;
    c.uses = &uses_;
    c.VisitExpr(func);
    return Downcast<Function>(VisitExpr(func));
  }

  void VisitVarBinding(const VarBindingNode* b) override {
    // Results of rewritten bindings are counted under their new names too.
    ExprMutator::VisitVarBinding(b);
    auto it = var_remap_.find(b->var.get());
    if (it != var_remap_.end()) {
      if (const auto* v = it->second.as<VarNode>()) uses_[v] = uses_[b->var.get()];
    }
  }

  using ExprMutator::VisitExpr_;
  Expr VisitExpr_(const CallNode* op) override {
    Call call = Downcast<Call>(VisitExprPostOrder(op));
    if (call->op.same_as(TVM_RX_OP("multiply"))) return Multiply(call);
    if (call->op.same_as(TVM_RX_OP("divide"))) return Divide(call);
    if (call->op.same_as(TVM_RX_OP("add"))) return Add(call);
    if (call->op.same_as(TVM_RX_OP("nn.conv1d"))) return Conv1d(call);
    return call;
  }

 private:
  Expr Emit(const Expr& e) { return builder_->Emit(e); }

  /// The call bound to a variable that is read once.
  const CallNode* OnlyUse(const Expr& e) {
    const auto* v = e.as<VarNode>();
    if (v == nullptr || uses_[v] != 1) return nullptr;
    auto value = builder_->LookupBinding(GetRef<Var>(v));
    return value.has_value() ? value.value().as<CallNode>() : nullptr;
  }
  static bool IsScalable(const CallNode* call) {
    if (call == nullptr || !call->args.size() || call->args.size() < 2) return false;
    const auto* weight = call->args[1].as<ConstantNode>();
    // A scaled integer would be none.
    if (weight == nullptr || !DataType(weight->data.dtype()).is_any_float()) return false;
    if (call->op.same_as(TVM_RX_OP("nn.conv2d"))) {
      const auto* a = AttrsOf<Conv2DAttrs>(call);
      return a->data_layout == "NCHW" && a->out_layout == "NCHW" && a->kernel_layout == "OIHW";
    }
    if (call->op.same_as(TVM_RX_OP("nn.conv2d_transpose"))) {
      const auto* a = AttrsOf<Conv2DTransposeAttrs>(call);
      return a->data_layout == "NCHW" && a->out_layout == "NCHW" && a->kernel_layout == "IOHW" &&
             a->groups == 1;
    }
    return false;
  }
  /// A float constant that varies along the channels only, as [C]; nullopt otherwise.
  Optional<Expr> ChannelVector(const Expr& e, const Type& out) {
    const auto* c = e.as<ConstantNode>();
    const auto* ty = out.as<TensorTypeNode>();
    auto dims = ty->GetStaticShape();
    if (c == nullptr || !dims.has_value() || dims.value().size() != 4) return std::nullopt;
    if (DataType(c->data.dtype()) != ty->ElementType() || !ty->ElementType().is_any_float()) {
      return std::nullopt;
    }
    int64_t channels = dims.value()[1];
    int n = c->data.ndim();
    if (c->data.numel() == 1) return e;
    if (c->data.numel() != channels || n < 3) return std::nullopt;
    if (c->data.shape()[n - 3] != channels) return std::nullopt;
    return e;
  }
  /// The vector placed along one dimension of a weight of rank 4.
  Expr AlongWeight(const Expr& s, int axis) {
    const auto* c = s.as<ConstantNode>();
    if (c->data.numel() == 1) return Emit(MakeOp("reshape", {s, ShapeExpr(Array<PrimExpr>())}));
    std::vector<int64_t> shape(4, 1);
    shape[axis] = c->data.numel();
    return Emit(MakeOp("reshape", {s, ShapeExpr(Dims(shape))}));
  }
  Expr ScaledConv(const CallNode* conv, const Expr& s) {
    int axis = conv->op.same_as(TVM_RX_OP("nn.conv2d")) ? 0 : 1;
    Expr w = Emit(MakeOp("multiply", {conv->args[1], AlongWeight(s, axis)}));
    return CallWithArgs(conv, {conv->args[0], w});
  }

  Expr Multiply(const Call& call) {
    Expr x = call->args[0];
    Optional<Expr> s = ChannelVector(call->args[1], call->ty);
    if (!s.has_value()) {
      s = ChannelVector(call->args[0], call->ty);
      x = call->args[1];
    }
    if (!s.has_value()) return call;
    const CallNode* inner = OnlyUse(x);
    if (inner == nullptr) return call;
    if (IsScalable(inner)) return ScaledConv(inner, s.value());
    if (inner->op.same_as(TVM_RX_OP("add"))) {
      const CallNode* conv = OnlyUse(inner->args[0]);
      Optional<Expr> b = ChannelVector(inner->args[1], call->ty);
      if (!IsScalable(conv) || !b.has_value()) return call;
      Expr y = Emit(ScaledConv(conv, s.value()));
      return MakeOp("add", {y, Emit(MakeOp("multiply", {b.value(), s.value()}))});
    }
    return call;
  }

  Expr Add(const Call& call) {
    Optional<Expr> b = ChannelVector(call->args[1], call->ty);
    const CallNode* inner = OnlyUse(call->args[0]);
    if (!b.has_value() || inner == nullptr || !inner->op.same_as(TVM_RX_OP("add"))) return call;
    Optional<Expr> a = ChannelVector(inner->args[1], call->ty);
    if (!a.has_value() || inner->args[0].as<ConstantNode>()) return call;
    return MakeOp("add", {inner->args[0], Emit(MakeOp("add", {a.value(), b.value()}))});
  }

  /// A multiplication costs a tenth of a division. It may round the last bit another way.
  Expr Divide(const Call& call) {
    const auto* c = call->args[1].as<ConstantNode>();
    if (c == nullptr || c->data.numel() != 1) return call;
    if (DataType(c->data.dtype()) != DataType::Float(32)) return call;
    float divisor;
    std::memcpy(&divisor, TensorBytes(c->data), sizeof(divisor));
    const float factor = 1 / divisor;
    if (!std::isnormal(factor)) return call;
    ffi::Tensor t = NewHostTensor(std::vector<int64_t>(c->data.ndim(), 1), DataType::Float(32));
    std::memcpy(TensorBytes(t), &factor, sizeof(factor));
    return Multiply(
        Downcast<Call>(builder_->Normalize(MakeOp("multiply", {call->args[0], Constant(t)}))));
  }

  Expr Conv1d(const Call& call) {
    const auto* a = AttrsOf<Conv1DAttrs>(call.get());
    const auto* x = call->args[0]->ty.as<TensorTypeNode>();
    const auto* w = call->args[1]->ty.as<TensorTypeNode>();
    if (a->data_layout != "NCW" || a->out_layout != "NCW" || a->kernel_layout != "OIW" ||
        !x->GetShape().has_value() || !w->GetShape().has_value()) {
      return call;
    }
    Expr x4 = Emit(MakeOp("expand_dims", {call->args[0]}, {{"axis", Ints{2}}}));
    Expr w4 = Emit(MakeOp("expand_dims", {call->args[1]}, {{"axis", Ints{2}}}));
    Expr y = Emit(MakeOp("nn.conv2d", {x4, w4},
                         {{"strides", Ints{1, a->strides[0]}},
                          {"padding", Ints{0, a->padding[0], 0, a->padding[1]}},
                          {"dilation", Ints{1, a->dilation[0]}},
                          {"groups", a->groups},
                          {"out_dtype", a->out_dtype}}));
    return MakeOp("squeeze", {y}, {{"axis", Ints{2}}});
  }

  std::unordered_map<const VarNode*, int> uses_;
};

Function Run(Function func, const IRModule& mod, const PassContext&) {
  return Simplifier(mod).Run(func);
}
const FunctionPassRegistration kPass({"relax.SimplifyInference",
                                      "Scales move into constant weights.", Run});

}  // namespace

Pass SimplifyInference() { return kPass(); }

}  // namespace transform
}  // namespace relax
}  // namespace tvm
