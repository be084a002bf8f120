// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Replaces calls of given functions with the functions' bodies.
#include <tvm/ffi/reflection/registry.h>
#include <tvm/relax/analysis.h>
#include <tvm/relax/expr_functor.h>

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "relax/transform/utils.h"

namespace tvm {
namespace relax {

namespace {

/// Copies values of a body with variables of their own: every definition gets a new variable, so
/// that a function can be inlined any number of times.
class BodyCopier : public ExprMutator {
 public:
  void Replace(const Var& var, const Expr& by) { var_remap_[var.get()] = by; }
  Type CopyType(const Type& ty) { return VisitType(ty); }

  void VisitVarBinding(const VarBindingNode* b) override {
    Expr value = VisitExpr(b->value);
    builder_->EmitNormalized(VarBinding(VisitVarDef(b->var), value, b->span));
  }
  void VisitMatchCast(const MatchCastNode* b) override {
    Expr value = builder_->NormalizeArgument(VisitExpr(b->value));
    builder_->EmitNormalized(MatchCast(VisitVarDef(b->var), value, VisitType(b->ty), b->span));
  }
  Var VisitVarDef(const Var& var) override {
    Type ty = VisitType(var->ty);
    Var fresh = var.as<DataflowVarNode>() ? Var(DataflowVar(var->name, ty, var->span))
                                          : Var(var->name, ty, var->span);
    var_remap_[var.get()] = fresh;
    return fresh;
  }
};

class FunctionInliner : public ExprMutator {
 public:
  explicit FunctionInliner(const Array<Array<ffi::Any>>& entries) {
    for (const Array<ffi::Any>& entry : entries) {
      Function func = entry[1].cast<Function>();
      if (auto name = entry[0].as<String>()) {
        by_name_[std::string(*name)] = func;
      } else {
        by_var_[entry[0].cast<GlobalVar>().get()] = func;
      }
    }
  }

  using ExprMutator::VisitExpr_;
  Expr VisitExpr_(const CallNode* op) override {
    Expr visited = ExprMutator::VisitExpr_(op);
    const auto* call = visited.as<CallNode>();
    const auto* gv = call == nullptr ? nullptr : call->op.as<GlobalVarNode>();
    if (gv == nullptr) return visited;
    Optional<Function> callee = Find(gv);
    if (!callee.has_value()) return visited;
    TVM_FFI_CHECK(call->args.size() == callee.value()->params.size(), ValueError)
        << "function " << gv->name_hint << " takes " << callee.value()->params.size()
        << " arguments, but is called with " << call->args.size();
    TVM_FFI_CHECK(open_.insert(gv).second, ValueError)
        << "function " << gv->name_hint << " calls itself, so that it cannot be inlined";
    Expr result =
        Inline(BindSymbols(transform::RenewSymbolicVars(callee.value()), call->args), call->args);
    open_.erase(gv);
    return result;
  }

 private:
  /// Adds the bindings of the body to the current block; returns the result.
  Expr Inline(const Function& func, const Array<Expr>& args) {
    BodyCopier copier;
    for (size_t i = 0; i < args.size(); ++i) copier.Replace(func->params[i], args[i]);
    for (const BindingBlock& block : func->body->blocks) {
      for (const Binding& binding : block->bindings) {
        const Var& var = binding->var;
        if (const auto* b = binding.as<VarBindingNode>()) {
          Expr value = VisitExpr(copier.VisitExpr(b->value));
          copier.Replace(var, builder_->Emit(value, var->name));
        } else {
          const auto* cast = binding.as<MatchCastNode>();
          Expr value = VisitExpr(copier.VisitExpr(cast->value));
          Type ty = copier.CopyType(cast->ty);
          copier.Replace(var, builder_->EmitMatchCast(value, ty, var->name));
        }
      }
    }
    return copier.VisitExpr(func->body->body);
  }

  Optional<Function> Find(const GlobalVarNode* gv) const {
    if (auto it = by_var_.find(gv); it != by_var_.end()) return it->second;
    auto it = by_name_.find(std::string(gv->name_hint));
    if (it != by_name_.end()) return it->second;
    return std::nullopt;
  }

  /// The function with its symbols replaced by the dimensions of the arguments.
  static Function BindSymbols(const Function& func, const Array<Expr>& args) {
    static const ffi::Function bind =
        ffi::Function::GetGlobalRequired("relax.FunctionBindSymbolicVars");
    Map<ffi::Any, PrimExpr> values;
    for (size_t i = 0; i < args.size(); ++i) Match(func->params[i]->ty, args[i]->ty, &values);
    if (values.empty()) return func;
    return bind(func, values).cast<Function>();
  }

  static void Match(const Type& param, const Type& arg, Map<ffi::Any, PrimExpr>* values) {
    auto pair = [values](const Optional<Array<PrimExpr>>& want,
                         const Optional<Array<PrimExpr>>& have) {
      if (!want.has_value() || !have.has_value()) return;
      if (want.value().size() != have.value().size()) return;
      for (size_t i = 0; i < want.value().size(); ++i) {
        if (auto var = want.value()[i].as<Var>()) values->Set(*var, have.value()[i]);
      }
    };
    if (const auto* p = param.as<TensorTypeNode>()) {
      if (const auto* a = arg.as<TensorTypeNode>()) pair(p->GetShape(), a->GetShape());
    } else if (const auto* p = param.as<ShapeTypeNode>()) {
      if (const auto* a = arg.as<ShapeTypeNode>()) pair(p->values, a->values);
    } else if (const auto* p = param.as<TupleTypeNode>()) {
      const auto* a = arg.as<TupleTypeNode>();
      if (a == nullptr || a->fields.size() != p->fields.size()) return;
      for (size_t i = 0; i < p->fields.size(); ++i) Match(p->fields[i], a->fields[i], values);
    }
  }

  std::unordered_map<const GlobalVarNode*, Function> by_var_;
  std::unordered_map<std::string, Function> by_name_;
  std::unordered_set<const GlobalVarNode*> open_;
};

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef().def(
      "relax.FunctionInlineFunctions",
      [](const Function& func, const Array<Array<ffi::Any>>& functions) {
        return Downcast<Function>(FunctionInliner(functions).VisitExpr(func));
      });
}

}  // namespace relax
}  // namespace tvm
