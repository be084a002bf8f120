// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief NarrowProducts: operands of products and convolutions in bfloat16, sums in float32.
///
///   y = R.nn.relu(R.matmul(x, W)); z = R.matmul(y, V); r = R.add(z, y)
///     =>  y = R.astype(R.nn.relu(R.matmul(x', W', out_dtype="float32")), "bfloat16")
///         z = R.matmul(y, V', out_dtype="float32"); r = R.add(z, R.astype(y, "float32"))
///
/// A value that a product reads is kept in bfloat16 alone, cast where it is made: that fuses with
/// its kernel and halves its bytes. Others read it cast back. All other arithmetic, softmax and
/// norms included, stays in float32, and so do the function's operands and results. What only moves
/// or selects elements on the way to a product moves bfloat16. What a norm gives to a sum as well,
/// the stream of a transformer, keeps its float32 beside the copy for products: errors would add up
/// there. Depthwise convolutions, which memory bounds, read bfloat16 and multiply in float32. A row
/// times a constant matrix, which memory bounds too, is two rows: the row rounded, and what that
/// left off; a small matrix stays in float32. So do some small products, see WideProducts.
#include <tvm/relax/analysis.h>
#include <tvm/relax/attrs.h>
#include <tvm/relax/expr_functor.h>
#include <tvm/relax/op_row.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "relax/ir/utils.h"
#include "relax/op/call_like.h"
#include "relax/op/common.h"
#include "relax/transform/product_kinds.h"
#include "relax/transform/utils.h"

namespace tvm {
namespace relax {
namespace transform {

namespace {

const DataType kWide = DataType::Float(32);
const DataType kNarrow = DataType::BFloat(16);

/// The result has elements of operand 0, or of its fields, as they are: rounding them before or
/// after is the same.
bool Moves(const CallNode* call) {
  static const std::unordered_set<std::string_view> kMoves{
      "reshape",       "permute_dims",  "expand_dims",  "squeeze", "flatten",
      "strided_slice", "concat",        "take",         "split",   "nn.batch_flatten",
      "nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d"};
  const std::string_view name = OpNameOf(call);
  if (kMoves.count(name) != 0) return true;
  if (name == "nn.pad") return AttrsOf<PadAttrs>(call)->pad_value == 0;
  return name == "image.resize2d" && AttrsOf<Resize2DAttrs>(call)->method == "nearest_neighbor";
}
/// Whether the value, or each field of it, is float32.
bool IsWide(const Type& ty) {
  const auto* tuple = ty.as<TupleTypeNode>();
  if (tuple == nullptr) return HasType(ty, kWide);
  return !tuple->fields.empty() &&
         std::all_of(tuple->fields.begin(), tuple->fields.end(),
                     [](const Type& field) { return HasType(field, kWide); });
}
template <typename F>
void ForEachMoved(const CallNode* call, const F& f) {
  if (const auto* tuple = call->args[0].as<TupleNode>()) {
    for (const Expr& field : tuple->fields) f(field);
  } else {
    f(call->args[0]);
  }
}

bool IsNorm(const CallNode* call) {
  const std::string_view name = OpNameOf(call);
  return name == "nn.layer_norm" || name == "nn.rms_norm" || name == "nn.group_norm";
}

/// Variables that narrow products read, directly or moved, those that sums and wide products read,
/// and those that are results under another name.
class Wanted : public ExprVisitor {
 public:
  std::unordered_set<const VarNode*> vars, summed, results;
  /// Products that stay in float32; set first.
  std::unordered_set<const CallNode*> wide;

  void VisitBindingBlock(const BindingBlock& block) override {
    ExprVisitor::VisitBindingBlock(block);  // branches first
    for (size_t i = block->bindings.size(); i-- > 0;) {
      const auto* b = block->bindings[i].as<VarBindingNode>();
      if (b == nullptr) continue;
      if (!b->var.as<DataflowVarNode>()) AddResults(b->value);
      const auto* item = b->value.as<TupleGetItemNode>();
      if (item != nullptr && vars.count(b->var.get())) Add(item->tuple);
      const auto* call = b->value.as<CallNode>();
      if (call == nullptr) continue;
      if (IsProduct(call)) {
        if (wide.count(call)) {
          AddSummed(call);
          continue;
        }
        if (!IsOneRow(call)) Add(call->args[0]);
        if (!IsDepthwise(call)) Add(call->args[1]);
      } else if (Moves(call) && vars.count(b->var.get())) {
        ForEachMoved(call, [&](const Expr& e) { Add(e); });
      } else if (OpNameOf(call) == "add") {
        AddSummed(call);
      }
    }
  }

 private:
  void Add(const Expr& e) {
    if (const auto* v = e.as<VarNode>()) vars.insert(v);
  }
  void AddSummed(const CallNode* call) {
    for (const Expr& a : call->args) {
      if (const auto* v = a.as<VarNode>()) summed.insert(v);
    }
  }
  void AddResults(const Expr& e) {
    if (const auto* v = e.as<VarNode>()) results.insert(v);
    if (const auto* tuple = e.as<TupleNode>()) {
      for (const Expr& field : tuple->fields) AddResults(field);
    }
  }
};

template <typename T>
bool SetOutDtype(const Attrs& attrs, Attrs* result) {
  const auto* old = attrs.as<T>();
  if (old == nullptr) return false;
  auto copy = ffi::make_object<T>(*old);
  copy->out_dtype = kWide;
  *result = Attrs(copy);
  return true;
}
Attrs InWide(const CallNode* call) {
  Attrs result;
  const bool known = SetOutDtype<MatmulAttrs>(call->attrs, &result) ||
                     SetOutDtype<Conv1DAttrs>(call->attrs, &result) ||
                     SetOutDtype<Conv2DAttrs>(call->attrs, &result) ||
                     SetOutDtype<Conv3DAttrs>(call->attrs, &result) ||
                     SetOutDtype<Conv1DTransposeAttrs>(call->attrs, &result) ||
                     SetOutDtype<Conv2DTransposeAttrs>(call->attrs, &result) ||
                     SetOutDtype<Conv3DTransposeAttrs>(call->attrs, &result);
  TVM_FFI_ICHECK(known) << "NarrowProducts: " << call->op << " has no output dtype to set";
  return result;
}

class Narrower : public ExprMutator {
 public:
  using ExprMutator::ExprMutator;

  Function Run(const Function& func) {
    wanted_.wide = WideProducts(func);
    wanted_.VisitExpr(func);
    return Downcast<Function>(VisitExpr(func));
  }

  BindingBlock VisitBindingBlock(const BindingBlock& block) override {
    BindingBlock result = ExprMutator::VisitBindingBlock(block);
    // What was made in this block may not be seen in the next.
    narrow_.clear();
    narrow_only_.clear();
    return result;
  }

  void VisitVarBinding(const VarBindingNode* b) override {
    const auto* call = b->value.as<CallNode>();
    const bool wanted = wanted_.vars.count(b->var.get()) != 0 && IsWide(b->var->ty);
    // What leaves the block keeps its type.
    const bool leaves = !b->var.as<DataflowVarNode>() || wanted_.results.count(b->var.get()) != 0;
    if (call != nullptr && wanted && !leaves && Moves(call)) {
      Array<Expr> args = call->args.Map([this](const Expr& a) { return NarrowAll(a); });
      SetNarrow(b->var, builder_->Emit(CallWithArgs(call, args), b->var->name));
      return;
    }
    const auto* item = b->value.as<TupleGetItemNode>();
    if (item != nullptr && !leaves && narrow_only_.count(item->tuple.get())) {
      const Expr& tuple = narrow_.at(item->tuple.get());
      SetNarrow(b->var, builder_->Emit(TupleGetItem(tuple, item->index), b->var->name));
      return;
    }
    if (call != nullptr && IsProduct(call) && !wanted_.wide.count(call)) {
      if (IsOneRow(call)) return Store(b, RowProduct(call), wanted && !leaves);
      Expr data = Narrow(call->args[0]);
      Expr weight = IsDepthwise(call) ? VisitExpr(call->args[1]) : Narrow(call->args[1]);
      Call product(call->op, {data, weight}, InWide(call), call->ty_args, call->span);
      return Store(b, builder_->Normalize(product), wanted && !leaves);
    }
    const bool stream = IsNorm(call) && wanted_.summed.count(b->var.get()) != 0;
    if (!wanted || leaves || stream || !HasType(b->var->ty, kWide)) {
      return ExprMutator::VisitVarBinding(b);
    }
    Expr value = VisitExpr(b->value);
    SetNarrow(b->var, Cast(builder_->Emit(value, b->var->name), kNarrow));
  }

  using ExprMutator::VisitExpr_;
  Expr VisitExpr_(const VarNode* op) override {
    // A cast of its own for each reader, so that it becomes part of the reader's kernel.
    if (narrow_only_.count(op)) return Widened(narrow_.at(op));
    return ExprMutator::VisitExpr_(op);
  }
  Expr VisitExpr_(const DataflowVarNode* op) override {
    if (narrow_only_.count(op)) return Widened(narrow_.at(op));
    return ExprMutator::VisitExpr_(op);
  }
  Expr VisitExpr_(const IfNode* op) override {
    // A cast made inside of a branch is not known outside.
    auto saved = narrow_;
    auto saved_only = narrow_only_;
    Expr result = ExprMutator::VisitExpr_(op);
    narrow_ = std::move(saved);
    narrow_only_ = std::move(saved_only);
    return result;
  }

 private:
  void Store(const VarBindingNode* b, const Expr& value, bool narrow) {
    if (!narrow) return ReEmit(b, value);
    SetNarrow(b->var, Cast(builder_->Emit(value, b->var->name), kNarrow));
  }
  /// x W as the sum of the rows of [x rounded; x - x rounded] W.
  Expr RowProduct(const CallNode* call) {
    auto op = [&](const char* name, const Array<Expr>& args) {
      return builder_->Emit(MakeOp(name, args));
    };
    const auto dims = call->args[0]->ty.as<TensorTypeNode>()->GetStaticShape().value();
    const int64_t k = dims.back();
    Expr row = op("reshape", {VisitExpr(call->args[0]), ShapeExpr(Dims({1, k}))});
    Expr x = op("broadcast_to", {row, ShapeExpr(Dims({2, k}))});
    Expr rounded = Cast(Cast(x, kNarrow), kWide);
    // Not infinity - infinity.
    Expr rest = op("where", {op("equal", {x, rounded}), ScalarConst(0.0, kWide),
                             op("subtract", {x, rounded})});
    ffi::Tensor second = NewHostTensor({2, 1}, DataType::Bool());
    for (int64_t i = 0; i < 2; ++i) StoreScalar(TensorBytes(second) + i, DataType::Bool(), i);
    Expr rows = Cast(op("where", {Constant(second), rest, x}), kNarrow);
    Call product(call->op, {rows, Narrow(call->args[1])}, InWide(call), call->ty_args, call->span);
    Expr sum = builder_->Emit(MakeOp("sum", {builder_->Emit(product)}, {{"axis", Ints{0}}}));
    return builder_->Normalize(
        MakeOp("reshape", {sum, call->ty.as<TensorTypeNode>()->shape.value()}));
  }
  Expr Cast(const Expr& e, DataType dtype) {
    return builder_->Emit(MakeOp("astype", {e}, {{"dtype", ffi::Any(dtype)}}));
  }
  Expr Widened(const Expr& e) {
    const auto* type = e->ty.as<TupleTypeNode>();
    if (type == nullptr) return Cast(e, kWide);
    Array<Expr> fields;
    for (size_t i = 0; i < type->fields.size(); ++i) {
      fields.push_back(Cast(builder_->Emit(TupleGetItem(e, static_cast<int>(i))), kWide));
    }
    return builder_->Emit(Tuple(fields));
  }
  void SetNarrow(const Var& var, const Expr& value) {
    narrow_[var.get()] = value;
    narrow_only_.insert(var.get());
  }
  Expr Narrow(const Expr& e) {
    auto known = narrow_.find(e.get());
    if (known != narrow_.end()) return known->second;
    Expr value = Cast(VisitExpr(e), kNarrow);
    narrow_[e.get()] = value;
    return value;
  }
  /// Operand 0 of something that moves elements, and what says where to.
  Expr NarrowAll(const Expr& e) {
    if (const auto* tuple = e.as<TupleNode>()) {
      return Tuple(tuple->fields.Map([this](const Expr& f) { return NarrowAll(f); }));
    }
    return HasType(e->ty, kWide) ? Narrow(e) : VisitExpr(e);
  }

  Wanted wanted_;
  std::unordered_map<const ffi::Object*, Expr> narrow_;
  std::unordered_set<const ffi::Object*> narrow_only_;
};

Function Run(Function func, const IRModule& mod, const PassContext&) {
  return Narrower(mod).Run(func);
}
const FunctionPassRegistration kPass({"relax.NarrowProducts",
                                      "Operands of products in bfloat16, sums in float32.", Run});

}  // namespace

Pass NarrowProducts() { return kPass(); }

}  // namespace transform
}  // namespace relax
}  // namespace tvm
