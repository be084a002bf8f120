// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief DeadCodeElimination: unused pure bindings and unreachable private functions.
///
///   lv = R.add(x, x); lv1 = R.multiply(x, x); return lv1   =>   lv1 = R.multiply(x, x); return lv1
#include <tvm/ffi/reflection/registry.h>
#include <tvm/relax/analysis.h>
#include <tvm/relax/expr_functor.h>

#include <unordered_map>
#include <unordered_set>

#include "relax/analysis/type_rewrite.h"
#include "relax/transform/utils.h"

namespace tvm {
namespace relax {
namespace transform {

namespace {

/// Marks what is needed, from the results backwards.
class Liveness : public ExprVisitor {
 public:
  std::unordered_set<const VarNode*> live;

  void Run(const Function& func) {
    Index(func->body.get());
    Seq(func->body.get());
  }

  void VisitExpr_(const VarNode* op) override {
    if (!live.insert(op).second) return;
    auto it = values_.find(op);
    if (it != values_.end()) VisitExpr(it->second);
    // Dimensions of the type may be what a MatchCast defined.
    for (const Var& s : SymbolicVarsInType(op->ty)) {
      if (!s.same_as(GetRef<Var>(op))) VisitExpr_(s.get());
    }
    ForEachShapeVar(op->ty, [this](const VarNode* shape) { VisitExpr_(shape); });
  }
  void VisitExpr_(const SeqExprNode* op) override { Seq(op); }
  void VisitExpr_(const FunctionNode* op) override { Seq(op->body.get()); }

 private:
  void Index(const SeqExprNode* seq) {
    for (const BindingBlock& block : seq->blocks) {
      for (const Binding& b : block->bindings) {
        if (const auto* vb = b.as<VarBindingNode>()) {
          values_[vb->var.get()] = vb->value;
          if (const auto* i = vb->value.as<IfNode>()) {
            Index(i->true_branch.get());
            Index(i->false_branch.get());
          } else if (const auto* f = vb->value.as<FunctionNode>()) {
            Index(f->body.get());
          }
        } else {
          const auto* mc = b.as<MatchCastNode>();
          values_[mc->var.get()] = mc->value;
        }
      }
    }
  }
  void Seq(const SeqExprNode* seq) {
    for (const BindingBlock& block : seq->blocks) {
      for (const Binding& b : block->bindings) {
        // Checks at run time and effects stay.
        if (b.as<MatchCastNode>()) {
          VisitExpr_(b->var.get());
        } else if (ContainsImpureCall(b.as<VarBindingNode>()->value)) {
          VisitExpr_(b->var.get());
        }
      }
    }
    VisitExpr(seq->body);
  }
  std::unordered_map<const VarNode*, Expr> values_;
};

class Remover : public ExprMutatorBase {
 public:
  explicit Remover(const std::unordered_set<const VarNode*>& live) : live_(live) {}

  BindingBlock VisitBindingBlock(const BindingBlock& block) override {
    Array<Binding> kept;
    bool same = true;
    for (const Binding& b : block->bindings) {
      if (!live_.count(b->var.get())) {
        same = false;
        continue;
      }
      Binding n = b;
      if (const auto* vb = b.as<VarBindingNode>()) {
        if (vb->value.as<IfNode>() || vb->value.as<FunctionNode>()) {
          Expr value = VisitExpr(vb->value);
          if (!value.same_as(vb->value)) {
            if (value->ty.IsMissing()) UpdateType(value, vb->value->ty);
            n = VarBinding(vb->var, value, vb->span);
          }
        }
      }
      same = same && n.same_as(b);
      kept.push_back(n);
    }
    if (same) return block;
    if (block.as<DataflowBlockNode>()) return DataflowBlock(kept, block->span);
    return BindingBlock(kept, block->span);
  }

 private:
  const std::unordered_set<const VarNode*>& live_;
};

Function RemoveUnused(const Function& func) {
  Liveness live;
  live.Run(func);
  return Downcast<Function>(Remover(live.live).VisitExpr(func));
}

IRModule RemoveUnreachable(IRModule mod, const Array<String>& entries) {
  std::vector<GlobalVar> work;
  std::unordered_set<const GlobalVarNode*> reached;
  auto reach = [&](const GlobalVar& gv) {
    if (mod->functions.count(gv) && reached.insert(gv.get()).second) work.push_back(gv);
  };
  for (const String& name : entries) reach(mod->GetGlobalVar(name));
  for (const auto& [gv, func] : mod->functions) {
    if (func->GetAttr<String>(tvm::attr::kGlobalSymbol).has_value()) reach(gv);
  }
  // Without an entry nothing can be said to be unreachable.
  if (reached.empty()) return mod;
  while (!work.empty()) {
    BaseFunc func = mod->Lookup(work.back());
    work.pop_back();
    if (auto f = func.as<Function>()) {
      for (const GlobalVar& gv : AllGlobalVars(f.value())) reach(gv);
    }
  }
  std::vector<GlobalVar> dead;
  for (const auto& [gv, func] : mod->functions) {
    if (!reached.count(gv.get())) dead.push_back(gv);
  }
  if (dead.empty()) return mod;
  auto* node = mod.CopyOnWrite();
  for (const GlobalVar& gv : dead) node->Remove(gv);
  return mod;
}

IRModule RunDCE(IRModule mod, const Array<String>& entries) {
  mod = tvm::transform::MapFunctions<Function>(
      std::move(mod),
      [](const IRModule&, const GlobalVar&, const Function& f) { return RemoveUnused(f); });
  return RemoveUnreachable(std::move(mod), entries);
}

}  // namespace

Pass DeadCodeElimination(Array<String> entry_functions) {
  return tvm::transform::CreateModulePass(
      [entry_functions](IRModule mod, const PassContext&) { return RunDCE(mod, entry_functions); },
      1, "DeadCodeElimination");
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("relax.transform.DeadCodeElimination", DeadCodeElimination)
      .def("relax.analysis.remove_all_unused", RemoveUnused);
}

}  // namespace transform
}  // namespace relax
}  // namespace tvm
