// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief DecomposeOpsForInference: batch norm as arithmetic, attention that no kernel streams as
/// products and softmax, shapes from tensors as checked packed calls.
///
///   R.nn.batch_norm(x, g, b, m, v)  =>  x * (g / sqrt(v + eps)) + (b - m * g / sqrt(v + eps))
#include <tvm/ffi/reflection/registry.h>
#include <tvm/relax/analysis.h>
#include <tvm/relax/expr_functor.h>

#include <algorithm>
#include <cmath>

#include "relax/ir/utils.h"
#include "relax/op/call_like.h"
#include "relax/op/common.h"
#include "relax/transform/utils.h"

namespace tvm {
namespace relax {
namespace transform {

namespace {

class Decomposer : public ExprMutator {
 public:
  using ExprMutator::ExprMutator;
  using ExprMutator::VisitExpr_;

  Expr VisitExpr_(const CallNode* op) override {
    Call call = Downcast<Call>(VisitExprPostOrder(op));
    if (call->op.same_as(TVM_RX_OP("nn.batch_norm"))) return BatchNorm(call);
    if (call->op.same_as(TVM_RX_OP("nn.attention")) ||
        call->op.same_as(TVM_RX_OP("nn.attention_bias"))) {
      return Attention(call);
    }
    if (call->op.same_as(TVM_RX_OP("nn.dropout"))) return Dropout(call);
    if (call->op.same_as(TVM_RX_OP("nn.lstm"))) return LSTM(call);
    if (call->op.same_as(TVM_RX_OP("tensor_to_shape"))) return TensorToShape(call);
    if (call->op.same_as(TVM_RX_OP("size"))) return Size(call);
    return call;
  }

 private:
  Var Emit(const Expr& e) { return builder_->Emit(e); }
  Expr Op2(const char* name, const Expr& a, const Expr& b) { return Emit(MakeOp(name, {a, b})); }

  Expr BatchNorm(const Call& call) {
    const auto* attrs = AttrsOf<BatchNormAttrs>(call.get());
    const auto* x = call->args[0]->ty.as<TensorTypeNode>();
    // The stored statistics are used, whatever `training` says.
    if (x == nullptr || x->IsUnknownNdim() || x->IsUnknownDtype()) return call;
    DataType dtype = x->ElementType();
    int axis = NormalizeAxis(call, attrs->axis, x->ndim);
    Expr rstd =
        Emit(MakeOp("rsqrt", {Op2("add", call->args[4], ScalarConst(attrs->epsilon, dtype))}));
    Expr scale = attrs->scale ? Op2("multiply", call->args[1], rstd) : rstd;
    Expr shift = Op2("multiply", call->args[3], scale);
    shift =
        attrs->center ? Op2("subtract", call->args[2], shift) : Emit(MakeOp("negative", {shift}));
    Ints axes;
    for (int d = axis + 1; d < x->ndim; ++d) axes.push_back(d - axis);
    auto expand = [&](const Expr& v) {
      return axes.empty() ? v : Emit(MakeOp("expand_dims", {v}, {{"axis", axes}}));
    };
    Expr y = Op2("add", Op2("multiply", call->args[0], expand(scale)), expand(shift));
    return Tuple({y, call->args[3], call->args[4]});
  }

  /// q k^T scale (+ bias, mask) -> softmax -> v, all over [batch, head, sequence, size].
  Expr Attention(const Call& call) {
    const auto* attrs = AttrsOf<AttentionAttrs>(call.get());
    const auto* q = call->args[0]->ty.as<TensorTypeNode>();
    const auto* k = call->args[1]->ty.as<TensorTypeNode>();
    if (!q->GetShape().has_value() || !k->GetShape().has_value() || q->IsUnknownDtype())
      return call;
    // One streaming kernel, which needs no tensor of scores and no mask.
    const bool streams = std::all_of(call->args.begin(), call->args.end(), [](const Expr& a) {
      const auto* type = a->ty.as<TensorTypeNode>();
      return type->ElementType() == DataType::Float(32) && type->GetStaticShape().has_value();
    });
    if (streams) return call;
    auto size = AsInt(q->GetShape().value()[3]);
    if (!attrs->scale.has_value() && !size) return call;
    DataType dtype = q->ElementType();
    double scale = attrs->scale.has_value() ? attrs->scale.value()
                                            : 1.0 / std::sqrt(static_cast<double>(*size));
    auto permute = [&](const Expr& e, Ints axes) {
      return Emit(MakeOp("permute_dims", {e}, {{"axes", axes}}));
    };
    Expr qt = permute(call->args[0], {0, 2, 1, 3});
    Expr kt = permute(call->args[1], {0, 2, 3, 1});
    Expr vt = permute(call->args[2], {0, 2, 1, 3});
    Expr s = Op2("multiply", Emit(MakeOp("matmul", {qt, kt})), ScalarConst(scale, dtype));
    if (call->args.size() > 3) s = Op2("add", s, call->args[3]);
    if (attrs->causal_mask.has_value()) {
      auto n = AsInt(q->GetShape().value()[1]), m = AsInt(k->GetShape().value()[1]);
      if (!n || !m) return call;
      s = Op2("add", s, Mask(*n, *m, *attrs, dtype));
    }
    Expr p = Emit(MakeOp("nn.softmax", {s}, {{"axis", int64_t{-1}}}));
    return MakeOp("permute_dims", {Emit(MakeOp("matmul", {p, vt}))}, {{"axes", Ints{0, 2, 1, 3}}});
  }

  /// 0 where a position is visible, -inf elsewhere.
  static Expr Mask(int64_t n, int64_t m, const AttentionAttrs& attrs, DataType dtype) {
    ffi::Tensor t = NewHostTensor({n, m}, dtype);
    int64_t shift = attrs.causal_mask.value() == "BottomRight" ? m - n : 0;
    int64_t bytes = dtype.bytes();
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < m; ++j) {
        bool visible = j <= i + shift;
        if (attrs.window_size.has_value()) {
          visible = visible && i + shift - j < attrs.window_size.value();
        }
        StoreScalar(TensorBytes(t) + (i * m + j) * bytes, dtype, visible ? 0.0 : -INFINITY);
      }
    }
    return Constant(t);
  }

  Expr Dropout(const Call& call) {
    return Tuple({call->args[0], Emit(MakeOp("ones_like", {call->args[0]}))});
  }

  /// All input products at once, then the steps.
  Expr LSTM(const Call& call) {
    auto x = call->args[0]->ty.as<TensorTypeNode>()->GetStaticShape();
    auto w = call->args[1]->ty.as<TensorTypeNode>()->GetStaticShape();
    if (!x.has_value() || !w.has_value()) return call;
    int64_t t = x.value()[0], b = x.value()[1], in = x.value()[2];
    int64_t d = w.value()[0], g = w.value()[1];
    auto reshape = [&](const Expr& e, const std::vector<int64_t>& shape) {
      return Emit(MakeOp("reshape", {e, ShapeExpr(Dims(shape))}));
    };
    auto permute = [&](const Expr& e, Ints axes) {
      return Emit(MakeOp("permute_dims", {e}, {{"axes", axes}}));
    };
    Expr wt = reshape(permute(call->args[1], {2, 0, 1}), {in, d * g});
    Expr both = Emit(MakeOp("split", {call->args[3]},
                            {{"indices_or_sections", int64_t{2}}, {"axis", int64_t{1}}}));
    Expr bias =
        reshape(Op2("add", Emit(TupleGetItem(both, 0)), Emit(TupleGetItem(both, 1))), {d * g});
    Expr y = Op2("add", Op2("matmul", reshape(call->args[0], {t * b, in}), wt), bias);
    return MakeOp(
        "nn.lstm_steps",
        {reshape(y, {t, b, d, g}), permute(call->args[2], {0, 2, 1}), call->args[4], call->args[5]},
        {{"direction", AttrsOf<LSTMAttrs>(call.get())->direction}});
  }

  Expr TensorToShape(const Call& call) {
    const auto* ty = call->ty.as<ShapeTypeNode>();
    if (ty->IsUnknownNdim()) return call;
    const ShapeType rank(ty->ndim);
    Var shape =
        Emit(Call(rank, TVM_RX_OP("call_pure_packed"),
                  {ExternFunc("vm.builtin.tensor_to_shape"), call->args[0]}, Attrs(), {rank}));
    Array<PrimExpr> symbols;
    for (int i = 0; i < ty->ndim; ++i) {
      symbols.push_back(Downcast<PrimExpr>(Var("x" + std::to_string(i), DataType::Int(64))));
    }
    builder_->EmitMatchCast(shape, ShapeType(symbols));
    return ShapeExpr(symbols);
  }

  Expr Size(const Call& call) {
    const auto* x = call->args[0]->ty.as<TensorTypeNode>();
    auto n = x->GetShape().has_value() ? NumElements(x->GetShape().value()) : std::nullopt;
    return n ? Expr(ScalarConst(*n, DataType::Int(64))) : Expr(call);
  }
};

}  // namespace

Pass DecomposeOpsForInference(Optional<String> func_name) {
  return tvm::transform::CreateModulePass(
      [func_name](IRModule mod, const PassContext&) {
        return tvm::transform::MapFunctions<Function>(
            std::move(mod), [&](const IRModule& m, const GlobalVar& gv, const Function& f) {
              if (func_name.has_value() && gv->name_hint != func_name.value()) return f;
              return Downcast<Function>(Decomposer(m).VisitExpr(f));
            });
      },
      0, "DecomposeOpsForInference");
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef().def("relax.transform.DecomposeOpsForInference", DecomposeOpsForInference);
}

}  // namespace transform
}  // namespace relax
}  // namespace tvm
