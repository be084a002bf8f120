// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief LambdaLift: local functions become private functions of the module.
///
///   def main(x, y):                       def main_inner(a, x): return add(a, x)
///     def inner(a): return add(a, x) =>   def main(x, y):
///     return inner(y)                       inner = make_closure(main_inner, (x,))
///                                           return invoke_pure_closure(inner, (y,))
///
/// A local function that uses nothing of the outer one is called directly.
#include <tvm/ffi/reflection/registry.h>
#include <tvm/relax/analysis.h>
#include <tvm/relax/expr_functor.h>

#include <unordered_map>
#include <unordered_set>

#include "relax/op/call_like.h"
#include "relax/transform/utils.h"

namespace tvm {
namespace relax {
namespace transform {

namespace {

/// How a variable that was bound to a local function is used now.
struct Lifted {
  GlobalVar gv;
  /// Values of the outer function, passed after the arguments.
  Array<Expr> captured;
};

class Lifter : public ExprMutator {
 public:
  explicit Lifter(const IRModule& mod) : ExprMutator(mod), mod_(mod) {}

  IRModule Run() {
    for (const auto& [gv, base] : mod_->SortedFunctions()) {
      auto func = base.as<Function>();
      if (!func.has_value()) continue;
      outer_name_ = std::string(gv->name_hint);
      Function updated = Downcast<Function>(VisitExpr(func.value()));
      if (!updated.same_as(func.value())) builder_->UpdateFunction(gv, updated);
    }
    return builder_->GetModule();
  }

  void VisitVarBinding(const VarBindingNode* binding) override {
    const auto* local = binding->value.as<FunctionNode>();
    if (local == nullptr) return ExprMutator::VisitVarBinding(binding);
    Lift(binding->var, GetRef<Function>(local));
  }

  using ExprMutator::VisitExpr_;
  Expr VisitExpr_(const CallNode* op) override {
    const auto* callee = op->op.as<VarNode>();
    auto it = callee == nullptr ? lifted_.end() : lifted_.find(callee);
    if (it == lifted_.end()) return ExprMutator::VisitExpr_(op);
    Array<Expr> args = op->args.Map([this](const Expr& a) { return VisitExpr(a); });
    const Lifted& known = it->second;
    if (known.captured.empty() || inside_.count(callee)) {
      // Nothing captured, or a call of itself, which has the captured values as parameters.
      for (const Expr& c : known.captured) args.push_back(VisitExpr(c));
      return Call(op->ty, known.gv, args, op->attrs, op->ty_args, op->span);
    }
    const auto* type = callee->ty.as<FuncTypeNode>();
    const bool pure = type == nullptr || type->purity;
    static const Op& pure_op = *new Op(Op::Get("relax.invoke_pure_closure"));
    static const Op& impure_op = *new Op(Op::Get("relax.invoke_closure"));
    return Call(op->ty, pure ? pure_op : impure_op, {closures_.at(callee), Tuple(args)}, Attrs(),
                {op->ty}, op->span);
  }
  /// The function as a value.
  Expr VisitExpr_(const VarNode* op) override {
    auto it = lifted_.find(op);
    if (it == lifted_.end()) return ExprMutator::VisitExpr_(op);
    TVM_FFI_CHECK(!inside_.count(op), ValueError) << "LambdaLift: the local function `" << op->name
                                                  << "` uses itself as a value, not only in calls";
    auto closure = closures_.find(op);
    if (closure != closures_.end()) return closure->second;
    return builder_->Emit(MakeClosure(it->second), op->name);
  }
  Expr VisitExpr_(const DataflowVarNode* op) override {
    if (lifted_.count(op)) return VisitExpr_(static_cast<const VarNode*>(op));
    return ExprMutator::VisitExpr_(op);
  }

 private:
  static Call MakeClosure(const Lifted& l) {
    return Call(AnyType(), TVM_RX_OP("make_closure"), {l.gv, Tuple(l.captured)});
  }

  void Lift(const Var& var, const Function& local) {
    Lifted result;
    Array<Var> params = local->params;
    std::unordered_map<const VarNode*, Var> inner;
    for (const Var& v : relax::FreeVars(local)) {
      if (v.same_as(var) || v->ty.as<PrimTypeNode>()) continue;
      auto known = lifted_.find(v.get());
      // Another lifted function without captured values is reached by its name.
      if (known != lifted_.end() && known->second.captured.empty()) continue;
      Var param(v->name, known != lifted_.end() ? Type(AnyType()) : v->ty);
      params.push_back(param);
      inner.emplace(v.get(), param);
      result.captured.push_back(VisitExpr(v));
    }
    Array<PrimExpr> symbols = MissingSymbols(local, params);
    if (!symbols.empty()) {
      params.push_back(Var(String("tir_vars"), ShapeType(symbols)));
      result.captured.push_back(ShapeExpr(symbols));
    }
    std::string hint = outer_name_ + "_" + std::string(var->name);
    Array<Type> types = params.Map([](const Var& p) { return p->ty; });
    result.gv = builder_->AddFunction(
        Function::CreateEmpty(params, local->ret_ty, local->is_pure, local->attrs), hint);
    UpdateTypeOf(result.gv, FuncType(types, local->ret_ty, local->is_pure));
    // Inside of it, captured values are parameters.
    Lifted self{result.gv, {}};
    for (size_t i = local->params.size(); i < params.size(); ++i) {
      if (params[i]->ty.as<ShapeTypeNode>() && params[i]->name == "tir_vars") {
        self.captured.push_back(ShapeExpr(symbols));
      } else {
        self.captured.push_back(params[i]);
      }
    }
    lifted_[var.get()] = self;
    inside_.insert(var.get());
    auto saved_remap = var_remap_;
    auto saved_closures = closures_;
    for (const auto& [outer, param] : inner) {
      var_remap_[outer] = param;
      if (lifted_.count(outer)) closures_[outer] = param;
    }
    SeqExpr body = VisitWithNewScope(local->body, params);
    var_remap_ = saved_remap;
    closures_ = saved_closures;
    inside_.erase(var.get());
    builder_->UpdateFunction(result.gv, RenewSymbolicVars(Function(params, body, local->ret_ty,
                                                                   local->is_pure, local->attrs)));
    lifted_[var.get()] = result;
    if (!result.captured.empty()) {
      closures_[var.get()] = builder_->Emit(MakeClosure(result), var->name);
    }
  }

  static void UpdateTypeOf(const GlobalVar& gv, const Type& ty) {
    if (gv->ty.IsMissing()) UpdateType(gv, ty);
  }

  /// Symbols that the local function takes from the outer one and no parameter defines.
  static Array<PrimExpr> MissingSymbols(const Function& local, const Array<Var>& params) {
    std::unordered_set<const VarNode*> defined;
    for (const Var& p : params) {
      for (const Var& s : DefinableSymbolicVarsInType(p->ty)) defined.insert(s.get());
    }
    Array<PrimExpr> missing;
    for (const Var& s : FreeSymbolicVars(local)) {
      if (defined.insert(s.get()).second) missing.push_back(Downcast<PrimExpr>(s));
    }
    return missing;
  }

  IRModule mod_;
  std::string outer_name_;
  std::unordered_map<const VarNode*, Lifted> lifted_;
  /// The closure that stands for a lifted function with captured values.
  std::unordered_map<const VarNode*, Expr> closures_;
  /// Local functions whose bodies are being visited.
  std::unordered_set<const VarNode*> inside_;
};

IRModule Run(IRModule mod, const PassContext&) { return Lifter(mod).Run(); }

const tvm::transform::ModulePassRegistration kPass{
    {"relax.LambdaLift", "Local functions become private functions of the module.", Run}};

}  // namespace

Pass LambdaLift() { return tvm::transform::CreateModulePass(Run, 1, "LambdaLift"); }

}  // namespace transform
}  // namespace relax
}  // namespace tvm
