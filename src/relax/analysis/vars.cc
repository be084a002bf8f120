// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Variables, function references and effects of expressions.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/expr_functor.h>
#include <tvm/relax/analysis.h>
#include <tvm/relax/expr_functor.h>

#include <unordered_set>

#include "relax/analysis/type_rewrite.h"
#include "relax/ir/infer.h"
#include "relax/ir/utils.h"

namespace tvm {
namespace relax {

namespace {

struct OrderedVars {
  Array<Var> list;
  std::unordered_set<const VarNode*> seen;
  void Add(const Var& v) {
    if (seen.insert(v.get()).second) list.push_back(v);
  }
};

/// Collects definitions and uses of graph-level variables and of symbolic ones.
class VarCollector : public ExprVisitor {
 public:
  OrderedVars bound, used, all, symbols_defined, symbols_used;
  Array<GlobalVar> globals;
  std::unordered_set<const GlobalVarNode*> globals_seen;

  void VisitExpr_(const VarNode* op) override {
    Var v = GetRef<Var>(op);
    if (op->ty.as<PrimTypeNode>()) symbols_used.Add(v);
    used.Add(v);
    all.Add(v);
  }
  void VisitExpr_(const GlobalVarNode* op) override {
    if (globals_seen.insert(op).second) globals.push_back(GetRef<GlobalVar>(op));
  }
  void VisitPrim(const Expr& e) override {
    if (!e->ty.as<PrimTypeNode>()) return;
    Symbols(Downcast<PrimExpr>(e));
  }
  void VisitExpr_(const ShapeExprNode* op) override {
    for (const PrimExpr& v : op->values) Symbols(v);
  }
  void VisitExpr_(const CallNode* op) override {
    ExprVisitor::VisitExpr_(op);
    for (const Type& t : op->ty_args) TypeUses(t);
  }
  void VisitExpr_(const FunctionNode* op) override {
    for (const Var& p : op->params) DefineType(p->ty);
    ExprVisitor::VisitExpr_(op);
    TypeUses(op->ret_ty);
  }
  void VisitMatchCast(const MatchCastNode* b) override {
    ExprVisitor::VisitMatchCast(b);
    DefineType(b->ty);
  }
  void VisitVarDef(const Var& v) override {
    bound.Add(v);
    all.Add(v);
    if (v->ty.as<PrimTypeNode>()) symbols_defined.Add(v);
  }

 private:
  void Symbols(const PrimExpr& e) {
    if (e.as<IntImmNode>()) return;
    PostOrderVisitExpr(e, [this](const Expr& sub) {
      if (const auto* v = sub.as<VarNode>()) symbols_used.Add(GetRef<Var>(v));
    });
  }
  void TypeUses(const Type& ty) {
    ForEachDim(ty, [this](const PrimExpr& d) { Symbols(d); });
  }
  void DefineType(const Type& ty) {
    TypeUses(ty);
    for (const Var& v : DefinableSymbolicVarsInType(ty)) symbols_defined.Add(v);
  }
};

Array<Var> Difference(const OrderedVars& a, const OrderedVars& b) {
  Array<Var> r;
  for (const Var& v : a.list) {
    if (!b.seen.count(v.get())) r.push_back(v);
  }
  return r;
}

VarCollector Collect(const Expr& e) {
  VarCollector c;
  c.VisitExpr(e);
  return c;
}

}  // namespace

Array<Var> DefinedSymbolicVars(const Expr& e) { return Collect(e).symbols_defined.list; }
Array<Var> FreeSymbolicVars(const Expr& e) {
  VarCollector c = Collect(e);
  return Difference(c.symbols_used, c.symbols_defined);
}
Array<Var> BoundVars(const Expr& e) { return Collect(e).bound.list; }
Array<Var> FreeVars(const Expr& e) {
  VarCollector c = Collect(e);
  return Difference(c.used, c.bound);
}
Array<Var> AllVars(const Expr& e) { return Collect(e).all.list; }
Array<GlobalVar> AllGlobalVars(const Expr& e) { return Collect(e).globals; }

Map<Var, Expr> VarToValue(const Function& func) {
  struct Visitor : public ExprVisitor {
    Map<Var, Expr> map;
    void VisitVarBinding(const VarBindingNode* b) override {
      map.Set(b->var, b->value);
      ExprVisitor::VisitVarBinding(b);
    }
    void VisitMatchCast(const MatchCastNode* b) override {
      map.Set(b->var, b->value);
      ExprVisitor::VisitMatchCast(b);
    }
  };
  Visitor v;
  v.VisitExpr(func);
  return v.map;
}

bool IsImpureCall(const Call& call) {
  if (const auto* op = call->op.as<OpNode>()) return !IsPureOp(GetRef<Op>(op));
  const auto* func = call->op->ty.as<FuncTypeNode>();
  return func == nullptr || !func->purity;
}

bool ContainsImpureCall(const Expr& e, Optional<Var> own_name) {
  struct Visitor : public ExprVisitor {
    Optional<Var> own_name;
    bool impure = false;
    void VisitExpr_(const FunctionNode* op) override {
      // An inner function is only a value here.
      if (depth++ == 0) ExprVisitor::VisitExpr_(op);
      --depth;
    }
    void VisitExpr_(const CallNode* op) override {
      bool self = own_name.has_value() && op->op.same_as(own_name.value());
      if (!self && IsImpureCall(GetRef<Call>(op))) impure = true;
      ExprVisitor::VisitExpr_(op);
    }
    int depth = 0;
  };
  Visitor v;
  v.own_name = own_name;
  v.VisitExpr(e);
  return v.impure;
}

std::optional<int64_t> NumElements(const Array<PrimExpr>& shape) {
  int64_t n = 1;
  for (const PrimExpr& d : shape) {
    auto v = AsInt(d);
    if (!v || __builtin_mul_overflow(n, *v, &n)) return std::nullopt;
  }
  return n;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("relax.analysis.defined_symbolic_vars", DefinedSymbolicVars)
      .def("relax.analysis.free_symbolic_vars", FreeSymbolicVars)
      .def("relax.analysis.bound_vars", BoundVars)
      .def("relax.analysis.free_vars", FreeVars)
      .def("relax.analysis.all_vars", AllVars)
      .def("relax.analysis.used_vars", [](const Expr& e) { return Collect(e).used.list; })
      .def("relax.analysis.all_global_vars", AllGlobalVars)
      .def("relax.analysis.get_var2val", VarToValue)
      .def("relax.analysis.contains_impure_call",
           [](const ExprNode* e, Optional<Var> own_name) {
             return ContainsImpureCall(ffi::GetRef<Expr>(e), own_name);
           })
      .def("relax.analysis.post_order_visit",
           [](const Expr& e, ffi::Function f) { PostOrderVisit(e, [&](const Expr& x) { f(x); }); });
}

}  // namespace relax
}  // namespace tvm
