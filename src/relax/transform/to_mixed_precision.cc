// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief ToMixedPrecision: products in float16, what is sensitive in float32.
///
///   y = matmul(x, w)                =>  y = matmul(astype(x, f16), astype(wrap_param(w), f16),
///                                                  out_dtype)
///
/// Products and convolutions always take float16 and give `out_dtype`. Calls that depend element by
/// element on their operands follow: they compute in float16 if every float operand is float16
/// already. Everything else (reductions, norms, exponentials) is given float32. Parameters named in
/// `fp16_input_names` come as float16. Results keep their type.
#include <tvm/ffi/reflection/registry.h>
#include <tvm/relax/analysis.h>
#include <tvm/relax/attrs.h>
#include <tvm/relax/expr_functor.h>
#include <tvm/relax/op_row.h>

#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "relax/op/call_like.h"
#include "relax/transform/utils.h"

namespace tvm {
namespace relax {
namespace transform {

namespace {

enum class Policy { kAlways, kFollow, kNever };

const DataType kHalf = DataType::Float(16);
const DataType kSingle = DataType::Float(32);

Policy PolicyOf(const OpRow* row) {
  if (row == nullptr) return Policy::kNever;
  const std::string_view name = row->name;
  if (name == "matmul" || name.substr(0, 7) == "nn.conv") return Policy::kAlways;
  // Their range or their rounding needs float32.
  for (std::string_view wide : {"exp", "log", "power", "sinh", "cosh", "tan", "erf", "rsqrt",
                                "nn.softplus", "log_add_exp", "astype", "wrap_param"}) {
    if (name == wide) return Policy::kNever;
  }
  return row->pattern <= OpPattern::kInjective ? Policy::kFollow : Policy::kNever;
}

template <typename T>
bool SetOutDtype(const Attrs& attrs, DataType dtype, Attrs* result) {
  const auto* old = attrs.as<T>();
  if (old == nullptr) return false;
  auto copy = ffi::make_object<T>(*old);
  copy->out_dtype = dtype;
  *result = Attrs(copy);
  return true;
}

Attrs WithOutDtype(const CallNode* call, DataType dtype) {
  Attrs result;
  const bool known = SetOutDtype<MatmulAttrs>(call->attrs, dtype, &result) ||
                     SetOutDtype<Conv1DAttrs>(call->attrs, dtype, &result) ||
                     SetOutDtype<Conv2DAttrs>(call->attrs, dtype, &result) ||
                     SetOutDtype<Conv3DAttrs>(call->attrs, dtype, &result) ||
                     SetOutDtype<Conv1DTransposeAttrs>(call->attrs, dtype, &result) ||
                     SetOutDtype<Conv2DTransposeAttrs>(call->attrs, dtype, &result) ||
                     SetOutDtype<Conv3DTransposeAttrs>(call->attrs, dtype, &result);
  TVM_FFI_CHECK(known, ValueError)
      << "ToMixedPrecision: operator " << call->op << " has no output dtype to set";
  return result;
}

bool IsFloat(const Type& ty, DataType dtype) {
  const auto* tensor = ty.as<TensorTypeNode>();
  return tensor != nullptr && !tensor->IsUnknownDtype() && tensor->ElementType() == dtype;
}

class Rewriter : public ExprMutator {
 public:
  Rewriter(const IRModule& mod, DataType out_dtype,
           const std::unordered_set<std::string>& half_inputs)
      : ExprMutator(mod), out_dtype_(out_dtype), half_inputs_(half_inputs) {}

  Function Run(const Function& func) {
    Array<Var> params;
    for (const Var& p : func->params) {
      const auto* ty = p->ty.as<TensorTypeNode>();
      if (!half_inputs_.count(std::string(p->name)) || !IsFloat(p->ty, kSingle)) {
        params.push_back(p);
        continue;
      }
      TVM_FFI_CHECK(ty->shape.has_value(), ValueError)
          << "ToMixedPrecision: the shape of `" << p->name << "` is unknown";
      Var half(p->name, TensorType(ty->shape.value(), kHalf));
      var_remap_[p.get()] = half;
      params.push_back(half);
    }
    SeqExpr body = VisitWithNewScope(func->body, params);
    return Function(params, body, func->ret_ty, func->is_pure, func->attrs, func->span);
  }

  BindingBlock VisitBindingBlock(const BindingBlock& block) override {
    // Casts are visible in their own block only.
    auto outer = std::move(halves_);
    halves_.clear();
    BindingBlock result = ExprMutator::VisitBindingBlock(block);
    halves_ = std::move(outer);
    return result;
  }

  void VisitVarBinding(const VarBindingNode* binding) override {
    Expr value = Rewrite(binding->value);
    // What is visible outside of the block keeps its type.
    if (!binding->var.as<DataflowVarNode>()) value = Restore(value, binding->var->ty);
    value = builder_->Normalize(value);
    ReEmit(binding, value);
  }

 private:
  Expr Rewrite(const Expr& value) {
    const auto* call = value.as<CallNode>();
    const auto* op = call == nullptr ? nullptr : call->op.as<OpNode>();
    if (op == nullptr) {
      // Functions and other values have float32 in their types.
      if (call != nullptr) return WithOperands(call, [this](const Expr& a) { return Wide(a); });
      return VisitExpr(value);
    }
    switch (PolicyOf(RowOfCall(value))) {
      case Policy::kAlways: {
        if (!IsFloat(call->ty, kSingle)) break;
        Call half = WithOperands(call, [this](const Expr& a) { return Narrow(a); });
        return Call(half->op, half->args, WithOutDtype(call, out_dtype_), half->ty_args);
      }
      case Policy::kFollow: {
        bool any = false, all = true;
        for (const Expr& a : call->args) Inspect(a, &any, &all);
        if (any && all) return WithOperands(call, [this](const Expr& a) { return Narrow(a); });
        break;
      }
      case Policy::kNever:
        break;
    }
    return WithOperands(call, [this](const Expr& a) { return Wide(a); });
  }

  /// Whether float operands that are not constants are float16 by now.
  void Inspect(const Expr& a, bool* any, bool* all) {
    if (const auto* tuple = a.as<TupleNode>()) {
      for (const Expr& f : tuple->fields) Inspect(f, any, all);
      return;
    }
    if (a.as<ConstantNode>() || !IsFloat(a->ty, kSingle)) return;
    const bool half = IsFloat(VisitExpr(a)->ty, kHalf);
    *any = *any || half;
    *all = *all && half;
  }

  template <typename F>
  Call WithOperands(const CallNode* call, F convert) {
    Array<Expr> args = call->args.Map([&](const Expr& a) -> Expr {
      if (const auto* tuple = a.as<TupleNode>()) {
        return Tuple(tuple->fields.Map([&](const Expr& f) { return convert(f); }));
      }
      return convert(a);
    });
    return Call(call->op, args, call->attrs, call->ty_args, call->span);
  }

  Expr Cast(const Expr& e, DataType dtype) {
    return builder_->Emit(MakeOp("astype", {e}, {{"dtype", ffi::Any(dtype)}}));
  }
  Expr Narrow(const Expr& e) {
    Expr value = VisitExpr(e);
    if (!IsFloat(value->ty, kSingle)) return value;
    auto known = halves_.find(value.get());
    if (known != halves_.end()) return known->second;
    Expr source = value;
    if (value.as<ConstantNode>()) {
      source = builder_->Emit(MakeOp("wrap_param", {value}, {{"dtype", ffi::Any(kSingle)}}));
    }
    Expr half = Cast(source, kHalf);
    halves_.emplace(value.get(), half);
    keep_.push_back(value);
    return half;
  }
  Expr Wide(const Expr& e) {
    Expr value = VisitExpr(e);
    return IsFloat(e->ty, kSingle) && IsFloat(value->ty, kHalf) ? Cast(value, kSingle) : value;
  }
  Expr Restore(const Expr& value, const Type& wanted) {
    Expr normal = builder_->Normalize(value);
    if (IsFloat(wanted, kSingle) && IsFloat(normal->ty, kHalf)) {
      return MakeOp("astype", {builder_->NormalizeArgument(normal)},
                    {{"dtype", ffi::Any(kSingle)}});
    }
    const auto* tuple = normal.as<TupleNode>();
    if (tuple == nullptr) return normal;
    const auto* ty = wanted.as<TupleTypeNode>();
    Array<Expr> fields;
    for (size_t i = 0; i < tuple->fields.size(); ++i) {
      fields.push_back(builder_->NormalizeArgument(Restore(tuple->fields[i], ty->fields[i])));
    }
    return Tuple(fields);
  }

  DataType out_dtype_;
  const std::unordered_set<std::string>& half_inputs_;
  std::unordered_map<const ffi::Object*, Expr> halves_;
  std::vector<Expr> keep_;
};

}  // namespace

Pass ToMixedPrecision(DataType out_dtype, Optional<Array<String>> fp16_input_names) {
  TVM_FFI_CHECK(out_dtype == kSingle || out_dtype == kHalf, ValueError)
      << "ToMixedPrecision: out_dtype must be float32 or float16, got " << out_dtype;
  std::unordered_set<std::string> names;
  for (const String& n : fp16_input_names.value_or({})) names.insert(std::string(n));
  return CreateFunctionPass(
      [out_dtype, names](Function func, IRModule mod, PassContext) {
        return Rewriter(mod, out_dtype, names).Run(func);
      },
      0, "ToMixedPrecision");
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef().def("relax.transform.ToMixedPrecision", ToMixedPrecision);
}

}  // namespace transform
}  // namespace relax
}  // namespace tvm
