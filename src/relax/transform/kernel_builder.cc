// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "relax/transform/kernel_builder.h"

#include <tvm/ir/expr_functor.h>
#include <tvm/relax/analysis.h>
#include <tvm/te/create_prim_func.h>

#include <unordered_set>

#include "relax/analysis/type_rewrite.h"
#include "relax/ir/utils.h"
#include "relax/op/call_like.h"
#include "relax/op/lower.h"

namespace tvm {
namespace relax {

namespace {

bool ShapesKnown(const Type& ty) {
  if (const auto* t = ty.as<TensorTypeNode>()) {
    return t->GetShape().has_value() && !t->IsUnknownDtype();
  }
  if (const auto* t = ty.as<TupleTypeNode>()) {
    for (const Type& f : t->fields) {
      if (!ShapesKnown(f)) return false;
    }
    return true;
  }
  if (const auto* s = ty.as<ShapeTypeNode>()) return s->values.has_value();
  return true;
}

/// A one-element constant becomes part of the code.
te::Tensor InlineScalar(const ConstantNode* c) {
  DataType dtype(c->data.dtype());
  const char* src = TensorBytes(c->data);
  PrimExpr value = dtype.is_any_float() ? make_const(dtype, LoadScalarAsDouble(src, dtype))
                                        : make_const(dtype, LoadScalarAsInt(src, dtype));
  Array<PrimExpr> shape = c->ty.as<TensorTypeNode>()->GetShape().value();
  return te::compute(shape, te::FCompute([&](const Array<Var>&) { return value; }), "const");
}

bool HasHostForm(DataType t) {
  if (t.lanes() != 1) return false;
  if (t.is_bool() || t.is_bfloat16()) return true;
  if (t.is_float()) return t.bits() >= 16;
  return (t.is_int() || t.is_uint()) && t.bits() >= 8;
}

void CollectSymbols(const PrimExpr& e, std::vector<Var>* order,
                    std::unordered_set<const VarNode*>* seen) {
  if (e.as<IntImmNode>()) return;
  PostOrderVisitExpr(e, [&](const Expr& sub) {
    if (const auto* v = sub.as<VarNode>()) {
      if (seen->insert(v).second) order->push_back(GetRef<Var>(v));
    }
  });
}

}  // namespace

bool CanLower(const Call& call) {
  const OpRow* row = RowOfCall(call);
  if (row == nullptr || row->lower == nullptr || !ShapesKnown(call->ty)) return false;
  for (const Expr& a : call->args) {
    if (!ShapesKnown(a->ty)) return false;
  }
  return true;
}

int KernelBuilder::NumTensors(const Type& ty) {
  const auto* tuple = ty.as<TupleTypeNode>();
  return tuple == nullptr ? 1 : static_cast<int>(tuple->fields.size());
}

bool KernelBuilder::IsInternal(const Expr& expr) const {
  return expr.as<VarNode>() && values_.count(expr.get());
}

te::Tensor KernelBuilder::Input(const Expr& expr, const TensorTypeNode* ty) {
  TVM_FFI_ICHECK(ty != nullptr && ty->GetShape().has_value())
      << "kernel operand " << expr << " has no known shape";
  te::Tensor t = te::placeholder(ty->GetShape().value(), ty->ElementType(),
                                 "p" + std::to_string(inputs_.size()));
  inputs_.push_back(t);
  args_.push_back(expr);
  return t;
}

void KernelBuilder::BindInput(const Expr& expr, const Expr& actual, const te::Tensor& tensor) {
  inputs_.push_back(tensor);
  args_.push_back(actual);
  values_[expr.get()] = {tensor};
}

std::vector<te::Tensor> KernelBuilder::TensorsOf(const Expr& expr) {
  auto it = values_.find(expr.get());
  if (it != values_.end()) return it->second;
  std::vector<te::Tensor> result;
  if (const auto* tuple = expr.as<TupleNode>()) {
    for (const Expr& f : tuple->fields) {
      std::vector<te::Tensor> t = TensorsOf(f);
      result.insert(result.end(), t.begin(), t.end());
    }
    return result;  // the fields are memoised, not the tuple
  }
  if (const auto* c = expr.as<ConstantNode>()) {
    bool scalar = c->data.numel() == 1 && HasHostForm(DataType(c->data.dtype()));
    result = {scalar ? InlineScalar(c) : Input(expr, c->ty.as<TensorTypeNode>())};
  } else if (const auto* ty = expr->ty.as<TensorTypeNode>()) {
    result = {Input(expr, ty)};
  } else if (const auto* ty = expr->ty.as<TupleTypeNode>()) {
    for (size_t i = 0; i < ty->fields.size(); ++i) {
      result.push_back(
          Input(TupleGetItem(expr, static_cast<int>(i)), ty->fields[i].as<TensorTypeNode>()));
    }
  } else {
    return result;  // shapes, scalars, strings
  }
  values_[expr.get()] = result;
  return result;
}

void KernelBuilder::Add(const Var& var, const Call& call, Map<String, ffi::Any> anchor_attrs) {
  const OpRow* row = RowOfCall(call);
  TVM_FFI_ICHECK(row != nullptr && row->lower != nullptr)
      << "no lowering for the call of " << call->op;
  LowerArgs args;
  args.call = call.get();
  args.row = row;
  args.target = target_;
  args.anchor_attrs = std::move(anchor_attrs);
  for (const Expr& a : call->args) {
    args.tensors.push_back(TensorsOf(a));
    if (IsPrim(a)) scalars_.push_back(Downcast<PrimExpr>(a));
    if (const auto* t = a.as<TupleNode>()) {
      for (const Expr& f : t->fields) {
        if (IsPrim(f)) scalars_.push_back(Downcast<PrimExpr>(f));
      }
    }
    if (const auto* s = a.as<ShapeExprNode>()) {
      for (const PrimExpr& v : s->values) scalars_.push_back(v);
    }
  }
  row->lower(args);
  int n = NumTensors(call->ty);
  TVM_FFI_ICHECK(static_cast<int>(args.out.size()) == n)
      << "the lowering of relax." << row->name << " made " << args.out.size()
      << " outputs, its type has " << n;
  values_[var.get()] = std::vector<te::Tensor>(args.out.begin(), args.out.end());
  std::string part(args.BlockName().data(), args.BlockName().size());
  if (++num_ops_ <= 6) name_ += (name_.empty() ? "" : "_") + part;
}

void KernelBuilder::AddGetItem(const Var& var, const TupleGetItemNode* item) {
  std::vector<te::Tensor> tuple = TensorsOf(item->tuple);
  values_[var.get()] = {tuple[item->index]};
}

Kernel KernelBuilder::Finish(const std::vector<Var>& outputs) {
  Kernel kernel;
  Array<ffi::ObjectRef> params;
  for (const te::Tensor& t : inputs_) params.push_back(t);
  Array<Type> out_types;
  std::unordered_set<const ffi::Object*> used_as_output;
  for (const Var& v : outputs) {
    for (te::Tensor t : values_.at(v.get())) {
      // An input, or the same tensor twice, needs a copy of its own.
      bool input = t->op->IsInstance<te::PlaceholderOpNode>();
      bool again = !used_as_output.insert(t->op.get()).second && t->op->num_outputs() == 1;
      if (input || again) {
        te::Tensor src = t;
        t = te::compute(src.shape(), te::FCompute([&](const Array<Var>& i) { return src(i); }),
                        "copy", "injective");
      }
      params.push_back(t);
    }
    if (const auto* tuple = v->ty.as<TupleTypeNode>()) {
      for (const Type& f : tuple->fields) out_types.push_back(f);
    } else {
      out_types.push_back(v->ty);
    }
  }
  kernel.out_ty = out_types.size() == 1 ? out_types[0] : Type(TupleType(out_types));

  // Symbols that are no bare dimension of an input must be passed as values.
  std::unordered_set<const VarNode*> given, seen;
  for (const te::Tensor& t : inputs_) {
    for (const PrimExpr& d : t.shape()) {
      if (const auto* v = d.as<VarNode>()) given.insert(v);
    }
  }
  std::vector<Var> used;
  for (const te::Tensor& t : inputs_) {
    for (const PrimExpr& d : t.shape()) CollectSymbols(d, &used, &seen);
  }
  for (const Type& t : out_types) {
    ForEachDim(t, [&](const PrimExpr& d) { CollectSymbols(d, &used, &seen); });
  }
  for (const PrimExpr& e : scalars_) CollectSymbols(e, &used, &seen);
  Array<PrimExpr> extra;
  for (const Var& v : used) {
    if (given.count(v.get())) continue;
    extra.push_back(Downcast<PrimExpr>(v));
    params.push_back(v);
  }
  if (!extra.empty()) kernel.symbols = ShapeExpr(extra);

  tirx::PrimFunc func = te::CreatePrimFuncFromArgs(params);
  kernel.func = tvm::WithoutAttr(func, tvm::attr::kGlobalSymbol);
  kernel.args = args_;
  kernel.name = num_ops_ > 1 ? "fused_" + name_ : name_;
  return kernel;
}

Expr CallKernel(const BlockBuilder& builder, const Kernel& kernel) {
  GlobalVar gv = builder->AddFunction(kernel.func, kernel.name);
  Array<Expr> args = kernel.args.Map([&](const Expr& a) { return builder->NormalizeArgument(a); });
  return MakeCallTIR(gv, args, kernel.out_ty, kernel.symbols);
}

}  // namespace relax
}  // namespace tvm
