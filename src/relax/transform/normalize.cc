// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Small passes over the form of functions: Normalize, NormalizeGlobalVar, ToNonDataflow,
/// RemovePurityChecking, AttachGlobalSymbol.
#include <tvm/relax/analysis.h>
#include <tvm/relax/expr_functor.h>
#include <tvm/tirx/function.h>

#include <string>
#include <unordered_set>

#include "relax/op/call_like.h"
#include "relax/transform/utils.h"

namespace tvm {
namespace relax {
namespace transform {

namespace {

Function NormalizeFunction(Function func, const IRModule& mod, const PassContext&) {
  return Downcast<Function>(BlockBuilder::Create(mod)->Normalize(func));
}
const FunctionPassRegistration kNormalize({"relax.Normalize",
                                           "A-normal form with a type on every expression.",
                                           NormalizeFunction});

/// Renames functions so that a public one is called by its global symbol.
IRModule RunNormalizeGlobalVar(IRModule mod, const PassContext&) {
  std::unordered_set<std::string> taken;
  Map<GlobalVar, GlobalVar> renamed;
  auto text = [](const String& s) { return std::string(s.data(), s.size()); };
  for (const auto& [gv, func] : mod->SortedFunctions()) {
    auto symbol = func->GetAttr<String>(tvm::attr::kGlobalSymbol);
    if (!symbol.has_value()) continue;
    TVM_FFI_CHECK(taken.insert(text(symbol.value())).second, ValueError)
        << "two public functions have the global symbol " << symbol.value();
    if (symbol.value() != gv->name_hint) renamed.Set(gv, GlobalVar(symbol.value(), gv->ty));
  }
  for (const auto& [gv, func] : mod->SortedFunctions()) {
    if (func->GetAttr<String>(tvm::attr::kGlobalSymbol).has_value()) continue;
    std::string name = text(gv->name_hint);
    int n = 0;
    while (!taken.insert(name).second) name = text(gv->name_hint) + "_" + std::to_string(++n);
    if (gv->name_hint != name) renamed.Set(gv, GlobalVar(name, gv->ty));
  }
  if (renamed.empty()) return mod;
  struct Renamer : public ExprMutatorBase {
    const Map<GlobalVar, GlobalVar>* map;
    Expr VisitExpr_(const GlobalVarNode* op) override {
      auto it = map->find(GetRef<GlobalVar>(op));
      return it == map->end() ? GetRef<Expr>(op) : Expr((*it).second);
    }
  };
  Renamer renamer;
  renamer.map = &renamed;
  Map<GlobalVar, BaseFunc> functions;
  for (const auto& [gv, func] : mod->SortedFunctions()) {
    BaseFunc f = func;
    if (auto fn = func.as<Function>()) f = Downcast<BaseFunc>(renamer.VisitExpr(fn.value()));
    functions.Set(renamed.Get(gv).value_or(gv), f);
  }
  return IRModule(functions, mod->source_map, mod->attrs, mod->global_infos);
}
const tvm::transform::ModulePassRegistration kNormalizeGlobalVar(
    {"relax.NormalizeGlobalVar", "Public functions are named by their global symbol.",
     RunNormalizeGlobalVar});

class NonDataflow : public ExprMutatorBase {
 public:
  Expr VisitExpr_(const DataflowVarNode* op) override {
    auto it = map_.find(op);
    if (it != map_.end()) return it->second;
    Var v(op->name, op->ty, op->span);
    map_.emplace(op, v);
    return v;
  }
  BindingBlock VisitBindingBlock(const BindingBlock& block) override {
    bool dataflow = block.as<DataflowBlockNode>() != nullptr;
    Array<Binding> bindings;
    bool same = !dataflow;
    for (const Binding& b : block->bindings) {
      Var var = b->var;
      if (const auto* dv = var.as<DataflowVarNode>()) var = Downcast<Var>(VisitExpr_(dv));
      Binding n = b;
      if (const auto* vb = b.as<VarBindingNode>()) {
        Expr value = VisitExpr(vb->value);
        // A rebuilt call keeps its type: only variables changed.
        if (value->ty.IsMissing()) UpdateType(value, vb->value->ty);
        if (!var.same_as(b->var) || !value.same_as(vb->value)) n = VarBinding(var, value, vb->span);
      } else {
        const auto* mc = b.as<MatchCastNode>();
        Expr value = VisitExpr(mc->value);
        if (!var.same_as(b->var) || !value.same_as(mc->value)) {
          n = MatchCast(var, value, mc->ty, mc->span);
        }
      }
      same = same && n.same_as(b);
      bindings.push_back(n);
    }
    return same ? block : BindingBlock(bindings, block->span);
  }

 private:
  std::unordered_map<const VarNode*, Var> map_;
};

Function RunToNonDataflow(Function func, const IRModule&, const PassContext&) {
  return Downcast<Function>(NonDataflow().VisitExpr(func));
}
const FunctionPassRegistration kToNonDataflow(
    {"relax.ToNonDataflow", "Dataflow blocks and variables become ordinary ones.",
     RunToNonDataflow});

/// Functions no longer claim purity that lowering breaks; wrappers for pure calls are removed.
class PurityRemover : public ExprMutatorBase {
 public:
  using ExprMutatorBase::VisitExpr_;
  Expr VisitExpr_(const CallNode* op) override {
    Expr e = ExprMutatorBase::VisitExpr_(op);
    const auto* call = e.as<CallNode>();
    Expr result = e;
    if (call->op.same_as(PurePacked())) {
      Array<Expr> rest(call->args.begin() + 1, call->args.end());
      result = Call(op->ty, call->args[0], rest, call->attrs, call->ty_args, call->span);
    } else if (call->op.same_as(TVM_RX_OP("invoke_pure_closure"))) {
      result = Call(op->ty, TVM_RX_OP("invoke_closure"), call->args, call->attrs, call->ty_args,
                    call->span);
    } else if (e->ty.IsMissing()) {
      UpdateType(e, op->ty);
    }
    return result;
  }

 private:
  static const Op& PurePacked() { return TVM_RX_OP("call_pure_packed"); }
};

Function RunRemovePurity(Function func, const IRModule&, const PassContext&) {
  Function f = Downcast<Function>(PurityRemover().VisitExpr(func));
  if (!f->is_pure || f->HasNonzeroAttr(attr::kForcePure)) return f;
  return Function(f->params, f->body, f->ret_ty, true,
                  tvm::WithAttr(f->attrs, attr::kForcePure, ffi::Any(true)), f->span);
}
const FunctionPassRegistration kRemovePurity(
    {"relax.RemovePurityChecking", "Lets pure functions hold the impure calls of lowering.",
     RunRemovePurity});

IRModule RunAttachGlobalSymbol(IRModule mod, const PassContext&) {
  String prefix = mod->GetAttr<String>(tvm::attr::kSystemLibPrefix).value_or("");
  std::vector<std::pair<GlobalVar, BaseFunc>> updates;
  for (const auto& [gv, func] : mod->SortedFunctions()) {
    if (func->GetAttr<String>(tvm::attr::kGlobalSymbol).has_value() &&
        !func->IsInstance<tirx::PrimFuncNode>()) {
      continue;
    }
    std::string name(gv->name_hint.data(), gv->name_hint.size());
    if (auto f = func.as<tirx::PrimFunc>()) {
      std::string symbol = std::string(prefix.data(), prefix.size()) + name;
      auto old = func->GetAttr<String>(tvm::attr::kGlobalSymbol);
      if (old.has_value() && old.value() == symbol) continue;
      updates.emplace_back(gv, tvm::WithAttr(f.value(), tvm::attr::kGlobalSymbol, String(symbol)));
    } else if (auto f = func.as<Function>()) {
      const Function& r = f.value();
      updates.emplace_back(
          gv, Function(r->params, r->body, r->ret_ty, r->is_pure,
                       tvm::WithAttr(r->attrs, tvm::attr::kGlobalSymbol, String(name)), r->span));
    }
  }
  if (updates.empty()) return mod;
  auto* node = mod.CopyOnWrite();
  for (const auto& [gv, f] : updates) node->Update(gv, f);
  return mod;
}
const tvm::transform::ModulePassRegistration kAttach(
    {"relax.AttachGlobalSymbol", "Every function gets the symbol it is linked by.",
     RunAttachGlobalSymbol});

}  // namespace

Pass Normalize() { return kNormalize(); }
Pass NormalizeGlobalVar() {
  return tvm::transform::CreateModulePass(RunNormalizeGlobalVar, 0, "NormalizeGlobalVar");
}
Pass ToNonDataflow() { return kToNonDataflow(); }
Pass RemovePurityChecking() { return kRemovePurity(); }
Pass AttachGlobalSymbol() {
  return tvm::transform::CreateModulePass(RunAttachGlobalSymbol, 0, "AttachGlobalSymbol");
}

}  // namespace transform
}  // namespace relax
}  // namespace tvm
