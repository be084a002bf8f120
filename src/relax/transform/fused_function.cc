// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "relax/transform/fused_function.h"

#include <tvm/relax/analysis.h>
#include <tvm/relax/expr_functor.h>

#include <functional>
#include <unordered_map>

#include "relax/op/call_like.h"
#include "relax/transform/utils.h"

namespace tvm {
namespace relax {

namespace {

/// Copies values into the new function: outer variables by their parameters.
class Copier : public transform::TypeKeepingMutator {
 public:
  std::unordered_map<const ffi::Object*, Expr> map;

  Expr VisitExpr(const Expr& e) override {
    auto it = map.find(e.get());
    return it != map.end() ? it->second : TypeKeepingMutator::VisitExpr(e);
  }
};

/// The outer values that an expression reads, in order.
class OperandFinder : public ExprVisitor {
 public:
  OperandFinder(const std::unordered_set<const VarNode*>& bound, bool lift_constants)
      : bound_(bound), lift_(lift_constants) {}
  std::vector<Expr> operands;

  using ExprVisitor::VisitExpr_;
  void VisitExpr_(const VarNode* op) override {
    // Scalar variables are symbols, which types define.
    if (!bound_.count(op) && !op->ty.as<PrimTypeNode>()) Add(GetRef<Expr>(op));
  }
  void VisitExpr_(const ConstantNode* op) override {
    if (lift_) Add(GetRef<Expr>(op));
  }

 private:
  void Add(const Expr& e) {
    if (seen_.insert(e.get()).second) operands.push_back(e);
  }
  const std::unordered_set<const VarNode*>& bound_;
  bool lift_;
  std::unordered_set<const ffi::Object*> seen_;
};

/// Symbolic variables of the bindings that the parameters' types do not define.
Array<PrimExpr> UndefinedSymbols(const std::vector<VarBinding>& bindings,
                                 const Array<Var>& params) {
  std::unordered_set<const VarNode*> defined;
  for (const Var& p : params) {
    for (const Var& s : DefinableSymbolicVarsInType(p->ty)) defined.insert(s.get());
  }
  Array<PrimExpr> missing;
  auto need = [&](const Array<Var>& vars) {
    for (const Var& v : vars) {
      if (defined.insert(v.get()).second) missing.push_back(Downcast<PrimExpr>(v));
    }
  };
  for (const Var& p : params) need(SymbolicVarsInType(p->ty));
  for (const VarBinding& b : bindings) {
    need(FreeSymbolicVars(b->value));
    need(SymbolicVarsInType(b->var->ty));
  }
  return missing;
}

}  // namespace

FusedFunction MakeFusedFunction(const std::vector<VarBinding>& bindings,
                                const std::unordered_set<const VarNode*>& outputs,
                                bool lift_constants, Map<String, ffi::Any> attrs) {
  std::unordered_set<const VarNode*> bound;
  for (const VarBinding& b : bindings) bound.insert(b->var.get());
  OperandFinder finder(bound, lift_constants);
  for (const VarBinding& b : bindings) finder.VisitExpr(b->value);

  FusedFunction result;
  Copier copier;
  Array<Var> params;
  int constants = 0;
  for (const Expr& e : finder.operands) {
    const auto* var = e.as<VarNode>();
    Var param(var != nullptr ? var->name : String("param_" + std::to_string(constants++)), e->ty);
    copier.map[e.get()] = param;
    params.push_back(param);
    result.args.push_back(e);
  }
  Array<PrimExpr> symbols = UndefinedSymbols(bindings, params);
  if (!symbols.empty()) {
    params.push_back(Var(String("tir_vars"), ShapeType(symbols)));
    result.args.push_back(ShapeExpr(symbols));
  }

  Array<Binding> body;
  Array<Expr> results;
  for (const VarBinding& b : bindings) {
    const bool output = outputs.count(b->var.get()) != 0;
    Expr value = copier.VisitExpr(b->value);
    Var var = output ? Var(b->var->name, b->var->ty)
                     : static_cast<Var>(DataflowVar(b->var->name, b->var->ty));
    copier.map[b->var.get()] = var;
    body.push_back(VarBinding(var, value));
    if (!output) continue;
    results.push_back(var);
    result.outputs.push_back(b->var);
  }
  TVM_FFI_ICHECK(!results.empty()) << "a fused function needs an output";
  Expr out = results.size() == 1 ? results[0] : static_cast<Expr>(Tuple(results));
  SeqExpr seq({DataflowBlock(body)}, out);
  UpdateType(seq, out->ty);
  Function func(params, seq, std::nullopt, /*is_pure=*/true, DictAttrs(attrs));
  result.call_type = func->ret_ty;
  result.func = transform::RenewSymbolicVars(func);
  return result;
}

std::string FusedName(const std::vector<VarBinding>& bindings, const std::string& prefix) {
  constexpr size_t kMaxLength = 80;
  std::string name = prefix;
  for (const VarBinding& b : bindings) {
    const auto* call = b->value.as<CallNode>();
    if (call == nullptr) continue;
    std::string part;
    if (call->op.same_as(TVM_RX_OP("call_tir"))) {
      part = std::string(Downcast<GlobalVar>(call->args[0])->name_hint);
    } else if (const auto* op = call->op.as<OpNode>()) {
      part = std::string(op->name);
      if (part.rfind("relax.", 0) == 0) part = part.substr(6);
      for (char& c : part) c = c == '.' ? '_' : c;
    } else if (const auto* gv = call->op.as<GlobalVarNode>()) {
      part = std::string(gv->name_hint);
    } else {
      continue;
    }
    name += "_" + part;
  }
  if (name.size() <= kMaxLength) return name;
  return name.substr(0, kMaxLength) + "_" + std::to_string(std::hash<std::string>{}(name) % 100000);
}

}  // namespace relax
}  // namespace tvm
