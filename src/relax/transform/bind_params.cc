// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief BindParams and BindSymbolicVars: parameters become constants, symbols become values.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/expr_functor.h>
#include <tvm/relax/analysis.h>
#include <tvm/relax/expr_functor.h>

#include <unordered_map>
#include <unordered_set>

#include "relax/analysis/type_rewrite.h"
#include "relax/ir/utils.h"
#include "relax/transform/utils.h"

namespace tvm {
namespace relax {
namespace transform {

namespace {

/// Replaces variables by values and symbols by expressions, everywhere, and types anew.
class Binder : public ExprMutator {
 public:
  Binder(std::unordered_map<const VarNode*, Expr> values, Map<Var, PrimExpr> symbols)
      : values_(std::move(values)), symbols_(std::move(symbols)) {}

  Function Run(const Function& func, const Array<Var>& keep) {
    Array<Var> params = keep.Map([this](const Var& p) {
      Type ty = SubstituteType(p->ty, symbols_);
      if (ty.same_as(p->ty)) return p;
      Var v(p->name, ty, p->span);
      var_remap_[p.get()] = v;
      return v;
    });
    SeqExpr body = VisitWithNewScope(func->body, params);
    return Function(params, body, SubstituteType(func->ret_ty, symbols_), func->is_pure,
                    func->attrs, func->span);
  }

  using ExprMutator::VisitExpr_;
  Expr VisitExpr_(const VarNode* op) override {
    auto it = values_.find(op);
    if (it != values_.end()) return it->second;
    if (auto s = symbols_.Get(GetRef<Var>(op))) return s.value();
    return ExprMutator::VisitExpr_(op);
  }
  Expr VisitPrim(const Expr& e) override {
    if (!e->ty.as<PrimTypeNode>() || e.as<IntImmNode>()) return e;
    return tvm::Substitute(Downcast<PrimExpr>(e), symbols_);
  }
  Type VisitType(const Type& ty) override {
    return SubstituteType(ExprMutator::VisitType(ty), symbols_);
  }

 private:
  std::unordered_map<const VarNode*, Expr> values_;
  Map<Var, PrimExpr> symbols_;
};

/// Symbols of a parameter's type matched against the type of the value bound to it.
void MatchSymbols(const Type& param, const Type& value, Map<Var, PrimExpr>* symbols) {
  const auto* p = param.as<TensorTypeNode>();
  const auto* v = value.as<TensorTypeNode>();
  if (p == nullptr || v == nullptr) return;
  auto pd = p->GetShape(), vd = v->GetShape();
  if (!pd.has_value() || !vd.has_value() || pd.value().size() != vd.value().size()) return;
  for (size_t i = 0; i < pd.value().size(); ++i) {
    auto s = pd.value()[i].as<Var>();
    if (s.has_value() && !symbols->count(s.value())) symbols->Set(s.value(), vd.value()[i]);
  }
}

Expr ToExpr(const ffi::Any& value) {
  if (auto t = value.as<ffi::Tensor>()) return Constant(t.value());
  return value.cast<Expr>();
}

Function BindFunctionParams(const Function& func, const Map<ffi::Any, ffi::ObjectRef>& params) {
  std::unordered_map<const VarNode*, Expr> values;
  for (const auto& [key, value] : params) {
    Optional<Var> target;
    if (auto name = key.as<String>()) {
      int found = 0;
      for (const Var& p : func->params) {
        if (p->name == name.value()) {
          target = p;
          ++found;
        }
      }
      TVM_FFI_CHECK(found <= 1, ValueError)
          << "the parameter name " << name.value() << " is used " << found << " times";
      if (found == 0) continue;
    } else {
      target = key.cast<Var>();
    }
    values[target.value().get()] = ToExpr(ffi::Any(value));
  }
  Array<Var> keep;
  Map<Var, PrimExpr> symbols;
  for (const Var& p : func->params) {
    auto it = values.find(p.get());
    if (it == values.end()) {
      keep.push_back(p);
      continue;
    }
    MatchSymbols(p->ty, it->second->ty, &symbols);
    TVM_FFI_CHECK(
        TypeBaseCheck(SubstituteType(p->ty, symbols), it->second->ty) != BaseCheckResult::kFailL0,
        TypeError)
        << "parameter " << p->name << " has type " << p->ty << ", the value bound to it has type "
        << it->second->ty;
  }
  if (values.empty()) return func;
  return Binder(std::move(values), symbols).Run(func, keep);
}

Function BindFunctionSymbols(const Function& func, const Map<ffi::Any, PrimExpr>& binding) {
  Map<Var, PrimExpr> symbols;
  Array<Var> all = DefinedSymbolicVars(func);
  for (const auto& [key, value] : binding) {
    PrimExpr v = value;
    if (const auto* imm = v.as<IntImmNode>()) v = Int64(imm->value);
    auto name = key.as<String>();
    if (!name.has_value()) {
      symbols.Set(key.cast<Var>(), v);
      continue;
    }
    for (const Var& s : all) {
      if (s->name == name.value()) symbols.Set(s, v);
    }
  }
  if (symbols.empty()) return func;
  return Binder({}, symbols).Run(func, func->params);
}

}  // namespace

Function RenewSymbolicVars(const Function& func) {
  Map<Var, PrimExpr> fresh;
  auto renew = [&](const Array<Var>& vars) {
    for (const Var& v : vars) {
      if (!fresh.count(v)) fresh.Set(v, Downcast<PrimExpr>(Var(v->name, v->ty)));
    }
  };
  renew(DefinedSymbolicVars(func));
  renew(FreeSymbolicVars(func));
  for (const Var& p : func->params) renew(SymbolicVarsInType(p->ty));
  // A scalar parameter is a value, not a symbol of a shape.
  for (const Var& p : func->params) fresh.erase(p);
  return fresh.empty() ? func : Binder({}, fresh).Run(func, func->params);
}

Pass BindParams(String func_name, Map<ffi::Any, ffi::ObjectRef> params) {
  return tvm::transform::CreateModulePass(
      [func_name, params](IRModule mod, const PassContext&) {
        return tvm::transform::MapFunctions<Function>(
            std::move(mod), [&](const IRModule&, const GlobalVar& gv, const Function& f) {
              return gv->name_hint == func_name ? BindFunctionParams(f, params) : f;
            });
      },
      0, "BindParams");
}

Pass BindSymbolicVars(Map<ffi::Any, PrimExpr> binding, Optional<String> func_name) {
  return tvm::transform::CreateModulePass(
      [binding, func_name](IRModule mod, const PassContext&) {
        return tvm::transform::MapFunctions<Function>(
            std::move(mod), [&](const IRModule&, const GlobalVar& gv, const Function& f) {
              bool wanted = !func_name.has_value() || gv->name_hint == func_name.value();
              return wanted ? BindFunctionSymbols(f, binding) : f;
            });
      },
      0, "BindSymbolicVars");
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("relax.transform.BindParams", BindParams)
      .def("relax.transform.BindSymbolicVars", BindSymbolicVars)
      .def("relax.FunctionBindParams", BindFunctionParams)
      .def("relax.FunctionBindSymbolicVars", BindFunctionSymbols);
}

}  // namespace transform
}  // namespace relax
}  // namespace tvm
