// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief LiftTransformParams: what depends on weights alone is computed ahead of time.
///
///   def main(x, w):  (num_input = 1)         def main_transform_params(params):
///     wt = permute_dims(w)               =>    return (permute_dims(params[0]),)
///     return matmul(x, wt)                   def main(x, wt): return matmul(x, wt)
///
/// Parameters from num_input on are weights. builtin.stop_lift_params ends what is lifted.
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

class Reads : public ExprVisitor {
 public:
  std::vector<const VarNode*> vars;
  bool stops = false;
  using ExprVisitor::VisitExpr_;
  void VisitExpr_(const VarNode* op) override { vars.push_back(op); }
  void VisitExpr_(const CallNode* op) override {
    stops = stops || op->op.same_as(TVM_RX_OP("builtin.stop_lift_params"));
    ExprVisitor::VisitExpr_(op);
  }
};

/// Renames variables in bindings that move to the new function.
class Mover : public TypeKeepingMutator {
 public:
  std::unordered_map<const VarNode*, Expr> map;
  using ExprMutatorBase::VisitExpr_;
  Expr VisitExpr_(const VarNode* op) override {
    auto it = map.find(op);
    return it == map.end() ? GetRef<Expr>(op) : it->second;
  }
  Expr VisitExpr_(const DataflowVarNode* op) override {
    return VisitExpr_(static_cast<const VarNode*>(op));
  }
};

/// Drops the lifted bindings.
class Dropper : public ExprMutatorBase {
 public:
  explicit Dropper(const std::unordered_set<const VarNode*>& lifted, Mover* mover)
      : lifted_(lifted), mover_(mover) {}
  SeqExpr Run(const SeqExpr& seq) {
    Array<BindingBlock> blocks;
    for (const BindingBlock& block : seq->blocks) {
      Array<Binding> kept;
      for (const Binding& b : block->bindings) {
        if (lifted_.count(b->var.get())) continue;
        if (const auto* vb = b.as<VarBindingNode>()) {
          kept.push_back(VarBinding(vb->var, mover_->VisitExpr(vb->value), vb->span));
        } else {
          const auto* mc = b.as<MatchCastNode>();
          kept.push_back(MatchCast(mc->var, mover_->VisitExpr(mc->value), mc->ty, mc->span));
        }
      }
      if (kept.empty()) continue;
      blocks.push_back(block.as<DataflowBlockNode>() ? BindingBlock(DataflowBlock(kept))
                                                     : BindingBlock(kept));
    }
    SeqExpr result(blocks, mover_->VisitExpr(seq->body), seq->span);
    UpdateType(result, seq->ty);
    return result;
  }

 private:
  const std::unordered_set<const VarNode*>& lifted_;
  Mover* mover_;
};

struct Split {
  Function main;
  Function transform;
};

std::optional<Split> LiftFrom(const Function& func) {
  auto num_input = func->GetAttr<int64_t>(attr::kNumInput);
  if (!num_input.has_value()) return std::nullopt;
  const auto inputs = static_cast<size_t>(num_input.value());
  TVM_FFI_CHECK(inputs <= func->params.size(), ValueError)
      << "LiftTransformParams: num_input is " << inputs << ", but the function has "
      << func->params.size() << " parameters";

  // Values known before any input is.
  std::unordered_set<const VarNode*> early, lifted;
  std::vector<VarBinding> moved;
  for (size_t i = inputs; i < func->params.size(); ++i) early.insert(func->params[i].get());
  std::unordered_set<const VarNode*> open;  // symbols of inputs
  for (size_t i = 0; i < inputs; ++i) {
    for (const Var& s : SymbolicVarsInType(func->params[i]->ty)) open.insert(s.get());
  }
  for (const BindingBlock& block : func->body->blocks) {
    if (!block.as<DataflowBlockNode>()) continue;
    for (const Binding& b : block->bindings) {
      const auto* vb = b.as<VarBindingNode>();
      if (vb == nullptr || vb->value.as<FunctionNode>()) continue;
      Reads reads;
      reads.VisitExpr(vb->value);
      bool known = !reads.stops && !reads.vars.empty();
      for (const VarNode* v : reads.vars) known = known && early.count(v);
      for (const Var& s : FreeSymbolicVars(vb->value)) known = known && !open.count(s.get());
      for (const Var& s : SymbolicVarsInType(vb->var->ty)) known = known && !open.count(s.get());
      if (!known) continue;
      early.insert(vb->var.get());
      lifted.insert(vb->var.get());
      moved.push_back(GetRef<VarBinding>(vb));
    }
  }
  // Of those, the ones that what stays behind reads.
  std::unordered_set<const VarNode*> wanted;
  Reads rest;
  for (const BindingBlock& block : func->body->blocks) {
    for (const Binding& b : block->bindings) {
      if (!lifted.count(b->var.get())) rest.VisitBinding(b);
    }
  }
  rest.VisitExpr(func->body->body);
  for (const VarNode* v : rest.vars) {
    if (early.count(v)) wanted.insert(v);
  }

  std::vector<Var> outputs;
  for (size_t i = inputs; i < func->params.size(); ++i) {
    if (wanted.count(func->params[i].get())) outputs.push_back(func->params[i]);
  }
  for (const VarBinding& b : moved) {
    if (wanted.count(b->var.get())) outputs.push_back(b->var);
  }

  Array<Type> weight_types;
  for (size_t i = inputs; i < func->params.size(); ++i) weight_types.push_back(func->params[i]->ty);
  Var weights(String("params"), TupleType(weight_types));
  Mover into;
  Array<Binding> body;
  for (size_t i = inputs; i < func->params.size(); ++i) {
    const Var& p = func->params[i];
    DataflowVar item(p->name, p->ty);
    body.push_back(VarBinding(item, TupleGetItem(weights, static_cast<int>(i - inputs))));
    into.map[p.get()] = item;
  }
  for (const VarBinding& b : moved) {
    DataflowVar var(b->var->name, b->var->ty);
    body.push_back(VarBinding(var, into.VisitExpr(b->value)));
    into.map[b->var.get()] = var;
  }
  Array<Expr> fields;
  for (const Var& v : outputs) fields.push_back(into.VisitExpr(v));
  Tuple tuple(fields);
  Var result(String("gv"), tuple->ty);
  body.push_back(VarBinding(result, tuple));
  SeqExpr seq({DataflowBlock(body)}, result);
  UpdateType(seq, result->ty);
  Map<String, ffi::Any> attrs{{attr::kNumInput, ffi::Any(int64_t{0})}};
  Function transform({weights}, seq, std::nullopt, /*is_pure=*/true, DictAttrs(attrs));

  Mover onto;
  Array<Var> params;
  for (size_t i = 0; i < inputs; ++i) params.push_back(func->params[i]);
  int index = 0;
  for (const Var& v : outputs) {
    Var p(String("transformed_param_" + std::to_string(index++)), v->ty);
    onto.map[v.get()] = p;
    params.push_back(p);
  }
  SeqExpr main_body = Dropper(lifted, &onto).Run(func->body);
  Function main(params, main_body, func->ret_ty, func->is_pure, func->attrs, func->span);
  return Split{main, RenewSymbolicVars(transform)};
}

IRModule Run(IRModule mod, const PassContext&) {
  BlockBuilder builder = BlockBuilder::Create(mod);
  for (const auto& [gv, base] : mod->SortedFunctions()) {
    auto func = base.as<Function>();
    if (!func.has_value()) continue;
    auto split = LiftFrom(func.value());
    if (!split.has_value()) continue;
    builder->UpdateFunction(gv, Downcast<Function>(builder->Normalize(split->main)));
    std::string name = std::string(gv->name_hint) + "_transform_params";
    Function t = Downcast<Function>(builder->Normalize(split->transform));
    DictAttrs attrs = tvm::WithAttr(t->attrs, tvm::attr::kGlobalSymbol, ffi::Any(String(name)));
    builder->AddFunction(Function(t->params, t->body, t->ret_ty, t->is_pure, attrs), name);
  }
  return builder->GetModule();
}

}  // namespace

Pass LiftTransformParams(bool shared_transform) {
  TVM_FFI_CHECK(!shared_transform, ValueError)
      << "LiftTransformParams: one transform shared by several functions is not supported";
  return tvm::transform::Sequential(
      {tvm::transform::CreateModulePass(Run, 1, "LiftTransformParamsInner"),
       DeadCodeElimination({})},
      "LiftTransformParams");
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef().def("relax.transform.LiftTransformParams", LiftTransformParams);
}

}  // namespace transform
}  // namespace relax
}  // namespace tvm
