// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief RemoveUnusedParameters: private functions lose parameters that they do not read.
///
///   def f(a, b): return exp(a); main: f(x, y)  =>  def f(a): return exp(a); main: f(x)
///
/// A function that is used other than in calls keeps its signature, and so does a parameter whose
/// type alone defines a symbolic variable of the body.
#include <tvm/ffi/reflection/registry.h>
#include <tvm/relax/analysis.h>
#include <tvm/relax/expr_functor.h>

#include <unordered_map>
#include <unordered_set>

#include "relax/transform/utils.h"

namespace tvm {
namespace relax {
namespace transform {

namespace {

class UseFinder : public ExprVisitor {
 public:
  std::unordered_set<const VarNode*> vars;
  std::unordered_set<const GlobalVarNode*> values;  // used other than as a callee

  using ExprVisitor::VisitExpr_;
  void VisitExpr_(const VarNode* op) override { vars.insert(op); }
  void VisitExpr_(const GlobalVarNode* op) override { values.insert(op); }
  void VisitExpr_(const CallNode* op) override {
    if (!op->op.as<GlobalVarNode>()) VisitExpr(op->op);
    for (const Expr& a : op->args) VisitExpr(a);
  }
};

/// Which parameters stay.
std::vector<bool> Needed(const Function& func) {
  UseFinder uses;
  uses.VisitExpr(func->body);
  std::unordered_set<const VarNode*> symbols;
  for (const Var& s : FreeSymbolicVars(func->body)) symbols.insert(s.get());
  for (const Var& s : SymbolicVarsInType(func->ret_ty)) symbols.insert(s.get());
  std::vector<bool> needed;
  std::unordered_set<const VarNode*> defined;
  auto keep = [&](const Var& p) {
    for (const Var& s : DefinableSymbolicVarsInType(p->ty)) defined.insert(s.get());
    for (const Var& s : SymbolicVarsInType(p->ty)) symbols.insert(s.get());
  };
  for (const Var& p : func->params) {
    needed.push_back(uses.vars.count(p.get()) || symbols.count(p.get()));
    if (needed.back()) keep(p);
  }
  // Symbols that only an unused parameter defines keep it.
  for (size_t i = 0; i < needed.size(); ++i) {
    if (needed[i]) continue;
    for (const Var& s : DefinableSymbolicVarsInType(func->params[i]->ty)) {
      if (symbols.count(s.get()) && !defined.count(s.get())) needed[i] = true;
    }
    if (needed[i]) keep(func->params[i]);
  }
  return needed;
}

struct Trimmed {
  GlobalVar gv;
  std::vector<bool> needed;
};
using TrimMap = std::unordered_map<const GlobalVarNode*, Trimmed>;

class CallTrimmer : public TypeKeepingMutator {
 public:
  explicit CallTrimmer(const TrimMap& trimmed) : trimmed_(trimmed) {}
  using ExprMutatorBase::VisitExpr_;
  Expr VisitExpr_(const CallNode* op) override {
    const auto* gv = op->op.as<GlobalVarNode>();
    auto it = gv == nullptr ? trimmed_.end() : trimmed_.find(gv);
    if (it == trimmed_.end()) return ExprMutatorBase::VisitExpr_(op);
    Array<Expr> args;
    for (size_t i = 0; i < op->args.size(); ++i) {
      if (it->second.needed[i]) args.push_back(VisitExpr(op->args[i]));
    }
    return Call(op->ty, it->second.gv, args, op->attrs, op->ty_args, op->span);
  }

 private:
  const TrimMap& trimmed_;
};

IRModule Run(IRModule mod, const PassContext&) {
  std::unordered_set<const GlobalVarNode*> values;
  for (const auto& [gv, base] : mod->functions) {
    auto func = base.as<Function>();
    if (!func.has_value()) continue;
    UseFinder uses;
    uses.VisitExpr(func.value());
    values.insert(uses.values.begin(), uses.values.end());
  }
  TrimMap trimmed;
  for (const auto& [gv, base] : mod->SortedFunctions()) {
    auto func = base.as<Function>();
    if (!func.has_value() || values.count(gv.get())) continue;
    if (func.value()->GetAttr<String>(tvm::attr::kGlobalSymbol).has_value()) continue;
    std::vector<bool> needed = Needed(func.value());
    Array<Type> types;
    for (size_t i = 0; i < needed.size(); ++i) {
      if (needed[i]) types.push_back(func.value()->params[i]->ty);
    }
    if (types.size() == needed.size()) continue;
    GlobalVar fresh(gv->name_hint, FuncType(types, func.value()->ret_ty, func.value()->is_pure));
    trimmed.emplace(gv.get(), Trimmed{fresh, needed});
  }
  if (trimmed.empty()) return mod;
  CallTrimmer trimmer(trimmed);
  Map<GlobalVar, BaseFunc> functions;
  for (const auto& [gv, base] : mod->SortedFunctions()) {
    auto func = base.as<Function>();
    if (!func.has_value()) {
      functions.Set(gv, base);
      continue;
    }
    Function updated = Downcast<Function>(trimmer.VisitExpr(func.value()));
    auto it = trimmed.find(gv.get());
    if (it == trimmed.end()) {
      functions.Set(gv, updated);
      continue;
    }
    Array<Var> params;
    for (size_t i = 0; i < it->second.needed.size(); ++i) {
      if (it->second.needed[i]) params.push_back(updated->params[i]);
    }
    functions.Set(it->second.gv, Function(params, updated->body, updated->ret_ty, updated->is_pure,
                                          updated->attrs, updated->span));
  }
  return IRModule(functions, mod->source_map, mod->attrs, mod->global_infos);
}

const tvm::transform::ModulePassRegistration kPass{
    {"relax.RemoveUnusedParameters", "Private functions lose parameters they do not read.", Run}};

}  // namespace

Pass RemoveUnusedParameters() {
  return tvm::transform::CreateModulePass(Run, 0, "RemoveUnusedParameters");
}

}  // namespace transform
}  // namespace relax
}  // namespace tvm
