// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Substitution, erasure and symbolic variables of types; result types of calls.
#include "relax/analysis/type_rewrite.h"

#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/expr_functor.h>

#include <unordered_set>

#include "relax/ir/utils.h"

namespace tvm {
namespace relax {

Type TypeRewriter::Rewrite(const Type& ty) {
  if (const auto* t = ty.as<TensorTypeNode>()) {
    if (!t->shape.has_value()) return ty;
    Expr shape = t->shape.value();
    if (const auto* literal = shape.as<ShapeExprNode>()) {
      Optional<Array<PrimExpr>> dims = RewriteDims(literal->values);
      if (!dims.has_value()) return TensorType(t->ElementType(), t->ndim, t->vdevice, t->span);
      if (dims.value().same_as(literal->values)) return ty;
      return TensorType(ShapeExpr(dims.value()), t->ElementType(), t->vdevice, t->span);
    }
    Optional<Expr> replaced = RewriteShapeVar(Downcast<Var>(shape));
    if (!replaced.has_value()) return TensorType(t->ElementType(), t->ndim, t->vdevice, t->span);
    if (replaced.value().same_as(shape)) return ty;
    return TensorType(replaced.value(), t->ElementType(), t->vdevice, t->span);
  }
  if (const auto* t = ty.as<ShapeTypeNode>()) {
    if (!t->values.has_value()) return ty;
    Optional<Array<PrimExpr>> dims = RewriteDims(t->values.value());
    if (!dims.has_value()) return ShapeType(t->ndim, t->span);
    return dims.value().same_as(t->values.value()) ? ty : Type(ShapeType(dims.value(), t->span));
  }
  if (const auto* t = ty.as<TupleTypeNode>()) {
    Array<Type> fields;
    bool changed = false;
    for (const Type& f : t->fields) {
      Type n = Rewrite(f);
      changed = changed || !n.same_as(f);
      fields.push_back(n);
    }
    return changed ? Type(TupleType(fields, t->span)) : ty;
  }
  if (const auto* t = ty.as<FuncTypeNode>()) return RewriteFunc(t);
  return ty;
}

Type TypeRewriter::RewriteFunc(const FuncTypeNode* t) {
  Type ty = GetRef<Type>(t);
  if (t->IsOpaque()) return ty;
  Array<Type> params;
  bool changed = false;
  for (const Type& p : t->params.value()) {
    Type n = Rewrite(p);
    changed = changed || !n.same_as(p);
    params.push_back(n);
  }
  Type ret = Rewrite(t->ret);
  if (!changed && ret.same_as(t->ret)) return ty;
  return FuncType(params, ret, t->purity, t->span);
}

void ForEachShapeVar(const Type& ty, const std::function<void(const VarNode*)>& f) {
  if (const auto* t = ty.as<TensorTypeNode>()) {
    const auto* var = t->shape.has_value() ? t->shape.value().as<VarNode>() : nullptr;
    if (var != nullptr) f(var);
  } else if (const auto* t = ty.as<TupleTypeNode>()) {
    for (const Type& field : t->fields) ForEachShapeVar(field, f);
  }
}

void ForEachDim(const Type& ty, const std::function<void(const PrimExpr&)>& f) {
  if (const auto* t = ty.as<TensorTypeNode>()) {
    if (auto dims = t->GetShape()) {
      for (const PrimExpr& d : dims.value()) f(d);
    }
  } else if (const auto* t = ty.as<ShapeTypeNode>()) {
    if (t->values.has_value()) {
      for (const PrimExpr& d : t->values.value()) f(d);
    }
  } else if (const auto* t = ty.as<TupleTypeNode>()) {
    for (const Type& field : t->fields) ForEachDim(field, f);
  }
}

namespace {

/// Ordered set of variables.
struct VarSet {
  Array<Var> order;
  std::unordered_set<const VarNode*> seen;
  void Add(const Var& v) {
    if (seen.insert(v.get()).second) order.push_back(v);
  }
};

void CollectVars(const PrimExpr& e, VarSet* out) {
  if (e.as<IntImmNode>()) return;
  if (auto v = e.as<Var>()) return out->Add(v.value());
  tvm::PostOrderVisitExpr(e, [out](const Expr& sub) {
    if (auto v = sub.as<Var>()) out->Add(v.value());
  });
}

class Substituter : public TypeRewriter {
 public:
  explicit Substituter(const Map<Var, PrimExpr>& map) : map_(map) {}

 protected:
  Optional<Array<PrimExpr>> RewriteDims(const Array<PrimExpr>& dims) override {
    Array<PrimExpr> result;
    bool changed = false;
    for (const PrimExpr& d : dims) {
      PrimExpr n = d;
      if (const auto* v = d.as<VarNode>()) {
        auto it = map_.find(GetRef<Var>(v));
        if (it != map_.end()) n = (*it).second;
      } else if (!d.as<IntImmNode>()) {
        n = tvm::Substitute(d, map_);
      }
      changed = changed || !n.same_as(d);
      result.push_back(n);
    }
    return changed ? result : dims;
  }

 private:
  const Map<Var, PrimExpr>& map_;
};

class Eraser : public TypeRewriter {
 public:
  Eraser(std::function<Optional<PrimExpr>(const Var&)> shape_map,
         std::function<Optional<Expr>(const Var&)> var_map)
      : shape_map_(std::move(shape_map)), var_map_(std::move(var_map)) {}

 protected:
  Optional<Array<PrimExpr>> RewriteDims(const Array<PrimExpr>& dims) override {
    Map<Var, PrimExpr> subst;
    bool replaced = false;
    for (const PrimExpr& d : dims) {
      if (d.as<IntImmNode>()) continue;
      VarSet vars;
      CollectVars(d, &vars);
      for (const Var& v : vars.order) {
        Optional<PrimExpr> to = shape_map_ ? shape_map_(v) : Optional<PrimExpr>();
        if (!to.has_value()) return std::nullopt;
        replaced = replaced || !to.value().same_as(v);
        subst.Set(v, to.value());
      }
    }
    if (!replaced) return dims;
    Array<PrimExpr> result;
    for (const PrimExpr& d : dims) {
      result.push_back(d.as<IntImmNode>() ? d : tvm::Substitute(d, subst));
    }
    return result;
  }
  Optional<Expr> RewriteShapeVar(const Var& var) override {
    if (!var_map_) return std::nullopt;
    Optional<Expr> to = var_map_(var);
    if (!to.has_value()) return std::nullopt;
    bool usable = to.value().as<VarNode>() || to.value().as<ShapeExprNode>();
    return usable ? to : Optional<Expr>();
  }
  /// A function type defines its own variables: only free ones would need erasing.
  Type RewriteFunc(const FuncTypeNode* ty) override { return GetRef<Type>(ty); }

 private:
  std::function<Optional<PrimExpr>(const Var&)> shape_map_;
  std::function<Optional<Expr>(const Var&)> var_map_;
};

class RankOnly : public TypeRewriter {
 protected:
  Optional<Array<PrimExpr>> RewriteDims(const Array<PrimExpr>& dims) override {
    return std::nullopt;
  }
  Optional<Expr> RewriteShapeVar(const Var&) override { return std::nullopt; }
};

/// Binds the bare variables of a parameter's type to what an argument's type has there.
class ParamMatcher {
 public:
  ParamMatcher(Map<Var, PrimExpr>* symbols, arith::Analyzer* ana) : symbols_(symbols), ana_(ana) {}

  BaseCheckResult Match(const Type& param, const Type& arg) {
    if (const auto* p = param.as<TensorTypeNode>()) {
      const auto* a = arg.as<TensorTypeNode>();
      if (a != nullptr) {
        auto pd = p->GetShape();
        auto ad = a->GetShape();
        if (pd.has_value() && ad.has_value()) Bind(pd.value(), ad.value());
      }
    } else if (const auto* p = param.as<ShapeTypeNode>()) {
      const auto* a = arg.as<ShapeTypeNode>();
      if (a != nullptr && p->values.has_value() && a->values.has_value()) {
        Bind(p->values.value(), a->values.value());
      }
    } else if (const auto* p = param.as<TupleTypeNode>()) {
      const auto* a = arg.as<TupleTypeNode>();
      if (a != nullptr && a->fields.size() == p->fields.size()) {
        BaseCheckResult result = BaseCheckResult::kPass;
        for (size_t i = 0; i < p->fields.size(); ++i) {
          result = std::min(result, Match(p->fields[i], a->fields[i]));
        }
        return result;
      }
    }
    return TypeBaseCheck(SubstituteType(param, *symbols_), arg, ana_);
  }

 private:
  void Bind(const Array<PrimExpr>& params, const Array<PrimExpr>& args) {
    if (params.size() != args.size()) return;
    for (size_t i = 0; i < params.size(); ++i) {
      if (const auto* v = params[i].as<VarNode>()) {
        Var var = GetRef<Var>(v);
        if (!symbols_->count(var)) symbols_->Set(var, args[i]);
      }
    }
  }

  Map<Var, PrimExpr>* symbols_;
  arith::Analyzer* ana_;
};

}  // namespace

Type SubstituteType(const Type& ty, const Map<Var, PrimExpr>& map) {
  if (map.empty()) return ty;
  return Substituter(map).Rewrite(ty);
}

Type EraseToWellDefined(const Type& ty, std::function<Optional<PrimExpr>(const Var&)> shape_map,
                        std::function<Optional<Expr>(const Var&)> var_map) {
  return Eraser(std::move(shape_map), std::move(var_map)).Rewrite(ty);
}

Type GetStaticType(const Type& ty) { return RankOnly().Rewrite(ty); }

Array<Var> SymbolicVarsInType(const Type& ty) {
  VarSet vars;
  ForEachDim(ty, [&](const PrimExpr& d) { CollectVars(d, &vars); });
  return vars.order;
}

Array<Var> DefinableSymbolicVarsInType(const Type& ty) {
  VarSet vars;
  ForEachDim(ty, [&](const PrimExpr& d) {
    if (auto v = d.as<Var>()) vars.Add(v.value());
  });
  return vars.order;
}

Type DeriveCallRetType(const FuncType& func_ty, const Call& call, const BlockBuilder& ctx) {
  if (func_ty->derive_func.has_value()) {
    return func_ty->derive_func.value()(call, ctx).template cast<Type>();
  }
  if (func_ty->IsOpaque()) return func_ty->ret;
  const Array<Type>& params = func_ty->params.value();
  TVM_FFI_CHECK(params.size() == call->args.size(), ValueError)
      << "Number of arguments and parameters mismatch: function " << call->op << " has "
      << params.size() << " parameters, but is called with " << call->args.size() << " arguments";
  arith::Analyzer local;
  arith::Analyzer* ana = ctx.defined() ? &ctx->GetAnalyzer() : &local;
  Map<Var, PrimExpr> symbols;
  // Scalar parameters are themselves symbols of the signature; they have no name in a FuncType.
  ParamMatcher matcher(&symbols, ana);
  for (size_t i = 0; i < params.size(); ++i) {
    BaseCheckResult r = matcher.Match(params[i], call->args[i]->ty);
    TVM_FFI_CHECK(r != BaseCheckResult::kFailL0, TypeError)
        << "Argument " << i << " of the call to " << call->op << " has type " << call->args[i]->ty
        << ", but the parameter has type " << params[i];
  }
  return EraseToWellDefined(
      func_ty->ret, [&](const Var& v) -> Optional<PrimExpr> { return symbols.Get(v); },
      [&](const Var&) -> Optional<Expr> { return std::nullopt; });
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("relax.analysis.GetStaticType", GetStaticType)
      .def("relax.analysis.SymbolicVarsInType", SymbolicVarsInType)
      .def("relax.analysis.DefinableSymbolicVarsInType", DefinableSymbolicVarsInType)
      .def("relax.analysis.SubstituteType", SubstituteType)
      .def("relax.analysis.DeriveCallRetType",
           [](const FuncTypeNode* func_ty, const CallNode* call, const BlockBuilder& ctx) {
             return DeriveCallRetType(ffi::GetRef<FuncType>(func_ty), ffi::GetRef<Call>(call), ctx);
           })
      .def("relax.analysis.EraseToWellDefined",
           [](const Type& ty, const Map<Var, PrimExpr>& shape_map, const Map<Var, Expr>& var_map) {
             return EraseToWellDefined(
                 ty, [&](const Var& v) { return shape_map.Get(v); },
                 [&](const Var& v) { return var_map.Get(v); });
           });
}

}  // namespace relax
}  // namespace tvm
