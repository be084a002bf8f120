// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Visitors and mutators over graph-level expressions.
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/ir/expr_functor.h>
#include <tvm/relax/analysis.h>
#include <tvm/relax/expr_functor.h>

#include <vector>

#include "relax/analysis/type_rewrite.h"

namespace tvm {
namespace relax {

ExprKind KindOf(const Expr& expr) {
  // Type indices are small and dense enough for a flat table.
  static const std::vector<uint8_t>& table = *[] {
    auto* t = new std::vector<uint8_t>();
    auto put = [t](int32_t index, ExprKind kind) {
      if (static_cast<size_t>(index) >= t->size()) t->resize(index + 1, 0);
      (*t)[index] = static_cast<uint8_t>(kind);
    };
    put(ConstantNode::RuntimeTypeIndex(), ExprKind::kConstant);
    put(ShapeExprNode::RuntimeTypeIndex(), ExprKind::kShapeExpr);
    put(StringImmNode::RuntimeTypeIndex(), ExprKind::kStringImm);
    put(DataTypeImmNode::RuntimeTypeIndex(), ExprKind::kDataTypeImm);
    put(TupleNode::RuntimeTypeIndex(), ExprKind::kTuple);
    put(TupleGetItemNode::RuntimeTypeIndex(), ExprKind::kTupleGetItem);
    put(VarNode::RuntimeTypeIndex(), ExprKind::kVar);
    put(DataflowVarNode::RuntimeTypeIndex(), ExprKind::kDataflowVar);
    put(GlobalVarNode::RuntimeTypeIndex(), ExprKind::kGlobalVar);
    put(OpNode::RuntimeTypeIndex(), ExprKind::kOp);
    put(ExternFuncNode::RuntimeTypeIndex(), ExprKind::kExternFunc);
    put(FunctionNode::RuntimeTypeIndex(), ExprKind::kFunction);
    put(CallNode::RuntimeTypeIndex(), ExprKind::kCall);
    put(SeqExprNode::RuntimeTypeIndex(), ExprKind::kSeqExpr);
    put(IfNode::RuntimeTypeIndex(), ExprKind::kIf);
    return t;
  }();
  size_t index = static_cast<size_t>(expr->type_index());
  ExprKind kind = index < table.size() ? static_cast<ExprKind>(table[index]) : ExprKind::kPrim;
  if (kind == ExprKind::kCall) {
    // A call of a scalar operator (tirx.exp, ...) is a primitive expression.
    const auto* call = static_cast<const CallNode*>(expr.get());
    const auto* op = call->op.as<OpNode>();
    if (op != nullptr && call->ty.as<PrimTypeNode>() &&
        std::string_view(op->name.data(), op->name.size()).substr(0, 6) != "relax.") {
      return ExprKind::kPrim;
    }
  }
  return kind;
}

bool IsLeafOrTuple(const Expr& expr) {
  switch (KindOf(expr)) {
    case ExprKind::kCall:
    case ExprKind::kSeqExpr:
    case ExprKind::kIf:
    case ExprKind::kFunction:
    case ExprKind::kTupleGetItem:
      return false;
    case ExprKind::kTuple:
      for (const Expr& f : static_cast<const TupleNode*>(expr.get())->fields) {
        if (!IsLeafOrTuple(f)) return false;
      }
      return true;
    default:
      return true;
  }
}

// ---- visitor ----
void ExprVisitor::VisitExpr_(const ConstantNode*) {}
void ExprVisitor::VisitExpr_(const ShapeExprNode* op) {
  for (const PrimExpr& v : op->values) VisitExpr(v);
}
void ExprVisitor::VisitExpr_(const StringImmNode*) {}
void ExprVisitor::VisitExpr_(const DataTypeImmNode*) {}
void ExprVisitor::VisitExpr_(const TupleNode* op) {
  for (const Expr& f : op->fields) VisitExpr(f);
}
void ExprVisitor::VisitExpr_(const TupleGetItemNode* op) { VisitExpr(op->tuple); }
void ExprVisitor::VisitExpr_(const VarNode*) {}
void ExprVisitor::VisitExpr_(const DataflowVarNode* op) {
  VisitExpr_(static_cast<const VarNode*>(op));
}
void ExprVisitor::VisitExpr_(const GlobalVarNode*) {}
void ExprVisitor::VisitExpr_(const OpNode*) {}
void ExprVisitor::VisitExpr_(const ExternFuncNode*) {}
void ExprVisitor::VisitExpr_(const FunctionNode* op) {
  for (const Var& p : op->params) VisitVarDef(p);
  VisitExpr(op->body);
}
void ExprVisitor::VisitExpr_(const CallNode* op) {
  VisitExpr(op->op);
  for (const Expr& a : op->args) VisitExpr(a);
}
void ExprVisitor::VisitExpr_(const SeqExprNode* op) {
  for (const BindingBlock& b : op->blocks) VisitBindingBlock(b);
  VisitExpr(op->body);
}
void ExprVisitor::VisitExpr_(const IfNode* op) {
  VisitExpr(op->cond);
  VisitExpr(op->true_branch);
  VisitExpr(op->false_branch);
}
void ExprVisitor::VisitPrim(const Expr& e) {
  if (e.as<IntImmNode>()) return;
  tvm::PostOrderVisitExpr(e, [this](const Expr& sub) {
    if (const auto* v = sub.as<VarNode>()) VisitExpr_(v);
  });
}
void ExprVisitor::VisitBindingBlock(const BindingBlock& block) {
  for (const Binding& b : block->bindings) VisitBinding(b);
}
void ExprVisitor::VisitBinding(const Binding& binding) {
  TVM_FFI_VISIT_BEGIN();
  if (const auto* b = binding.as<VarBindingNode>()) return VisitVarBinding(b);
  VisitMatchCast(binding.as<MatchCastNode>());
  TVM_FFI_VISIT_END(binding);
}
void ExprVisitor::VisitVarBinding(const VarBindingNode* b) {
  VisitExpr(b->value);
  VisitVarDef(b->var);
}
void ExprVisitor::VisitMatchCast(const MatchCastNode* b) {
  VisitExpr(b->value);
  VisitVarDef(b->var);
}
void ExprVisitor::VisitVarDef(const Var&) {}

// ---- structure-preserving mutator ----
Expr ExprMutatorBase::VisitExpr_(const ConstantNode* op) { return GetRef<Expr>(op); }
Expr ExprMutatorBase::VisitExpr_(const ShapeExprNode* op) {
  Array<PrimExpr> values = op->values.Map([this](const PrimExpr& v) {
    return v.as<IntImmNode>() ? v : Downcast<PrimExpr>(VisitExpr(v));
  });
  return values.same_as(op->values) ? GetRef<Expr>(op) : Expr(ShapeExpr(values, op->span));
}
Expr ExprMutatorBase::VisitExpr_(const StringImmNode* op) { return GetRef<Expr>(op); }
Expr ExprMutatorBase::VisitExpr_(const DataTypeImmNode* op) { return GetRef<Expr>(op); }
Expr ExprMutatorBase::VisitExpr_(const TupleNode* op) {
  Array<Expr> fields = op->fields.Map([this](const Expr& f) { return VisitExpr(f); });
  return fields.same_as(op->fields) ? GetRef<Expr>(op) : Expr(Tuple(fields, op->span));
}
Expr ExprMutatorBase::VisitExpr_(const TupleGetItemNode* op) {
  Expr tuple = VisitExpr(op->tuple);
  if (tuple.same_as(op->tuple)) return GetRef<Expr>(op);
  return TupleGetItem(tuple, op->index, op->span);
}
Expr ExprMutatorBase::VisitExpr_(const VarNode* op) { return GetRef<Expr>(op); }
Expr ExprMutatorBase::VisitExpr_(const DataflowVarNode* op) { return GetRef<Expr>(op); }
Expr ExprMutatorBase::VisitExpr_(const GlobalVarNode* op) { return GetRef<Expr>(op); }
Expr ExprMutatorBase::VisitExpr_(const OpNode* op) { return GetRef<Expr>(op); }
Expr ExprMutatorBase::VisitExpr_(const ExternFuncNode* op) { return GetRef<Expr>(op); }
Expr ExprMutatorBase::VisitExpr_(const FunctionNode* op) {
  Expr body = VisitExpr(op->body);
  if (body.same_as(op->body)) return GetRef<Expr>(op);
  return Function(op->params, body, op->ret_ty, op->is_pure, op->attrs, op->span);
}
Expr ExprMutatorBase::VisitExpr_(const CallNode* op) {
  Expr callee = VisitExpr(op->op);
  Array<Expr> args = op->args.Map([this](const Expr& a) { return VisitExpr(a); });
  Array<Type> ty_args = op->ty_args.Map([this](const Type& t) { return VisitType(t); });
  if (callee.same_as(op->op) && args.same_as(op->args) && ty_args.same_as(op->ty_args)) {
    return GetRef<Expr>(op);
  }
  return Call(callee, args, op->attrs, ty_args, op->span);
}
Expr ExprMutatorBase::VisitExpr_(const SeqExprNode* op) {
  Array<BindingBlock> blocks;
  bool same = true;
  for (const BindingBlock& b : op->blocks) {
    BindingBlock n = VisitBindingBlock(b);
    same = same && n.same_as(b);
    if (!n->bindings.empty()) blocks.push_back(n);
  }
  Expr body = VisitExpr(op->body);
  if (same && body.same_as(op->body)) return GetRef<Expr>(op);
  return SeqExpr(blocks, body, op->span);
}
Expr ExprMutatorBase::VisitExpr_(const IfNode* op) {
  Expr cond = VisitExpr(op->cond);
  Expr t = VisitExpr(op->true_branch);
  Expr f = VisitExpr(op->false_branch);
  if (cond.same_as(op->cond) && t.same_as(op->true_branch) && f.same_as(op->false_branch)) {
    return GetRef<Expr>(op);
  }
  return If(cond, t, f, op->span);
}
Expr ExprMutatorBase::VisitPrim(const Expr& e) { return e; }

BindingBlock ExprMutatorBase::VisitBindingBlock(const BindingBlock& block) {
  Array<Binding> bindings;
  bool same = true;
  for (const Binding& b : block->bindings) {
    Binding n = b;
    if (const auto* vb = b.as<VarBindingNode>()) {
      Expr value = VisitExpr(vb->value);
      if (!value.same_as(vb->value)) n = VarBinding(vb->var, value, vb->span);
    } else {
      const auto* mc = b.as<MatchCastNode>();
      Expr value = VisitExpr(mc->value);
      Type ty = VisitType(mc->ty);
      if (!value.same_as(mc->value) || !ty.same_as(mc->ty)) {
        n = MatchCast(mc->var, value, ty, mc->span);
      }
    }
    same = same && n.same_as(b);
    bindings.push_back(n);
  }
  if (same) return block;
  if (block.as<DataflowBlockNode>()) return DataflowBlock(bindings, block->span);
  return BindingBlock(bindings, block->span);
}

void PostOrderVisit(const Expr& e, std::function<void(const Expr&)> fvisit) {
  struct Visitor : public ExprVisitor {
    std::function<void(const Expr&)> f;
    void VisitExpr(const Expr& e) override {
      ExprVisitor::VisitExpr(e);
      f(e);
    }
  };
  Visitor v;
  v.f = std::move(fvisit);
  v.VisitExpr(e);
}

// ---- builder-backed mutator ----
ExprMutator::ExprMutator(Optional<IRModule> mod) : builder_(BlockBuilder::Create(mod)) {}

Expr ExprMutator::VisitExpr(const Expr& e) {
  Expr result = ExprDispatch::VisitExpr(e);
  ExprKind kind = KindOf(result);
  // Bodies were normalised binding by binding.
  if (kind == ExprKind::kSeqExpr || kind == ExprKind::kFunction) return result;
  return builder_->Normalize(result);
}

Expr ExprMutator::VisitExprPostOrder(const ExprNode* op) {
  Expr e = GetRef<Expr>(op);
  // The base's own handlers: they visit the children through the virtual entry.
  switch (KindOf(e)) {
    case ExprKind::kCall:
      return builder_->Normalize(ExprMutatorBase::VisitExpr_(static_cast<const CallNode*>(op)));
    case ExprKind::kTuple:
      return builder_->Normalize(ExprMutatorBase::VisitExpr_(static_cast<const TupleNode*>(op)));
    case ExprKind::kTupleGetItem:
      return builder_->Normalize(
          ExprMutatorBase::VisitExpr_(static_cast<const TupleGetItemNode*>(op)));
    case ExprKind::kShapeExpr:
      return ExprMutatorBase::VisitExpr_(static_cast<const ShapeExprNode*>(op));
    case ExprKind::kIf:
      return builder_->Normalize(ExprMutator::VisitExpr_(static_cast<const IfNode*>(op)));
    case ExprKind::kSeqExpr:
      return ExprMutator::VisitExpr_(static_cast<const SeqExprNode*>(op));
    case ExprKind::kFunction:
      return ExprMutator::VisitExpr_(static_cast<const FunctionNode*>(op));
    default:
      return e;
  }
}

Expr ExprMutator::VisitExpr_(const VarNode* op) {
  auto it = var_remap_.find(op);
  return it == var_remap_.end() ? GetRef<Expr>(op) : it->second;
}
Expr ExprMutator::VisitExpr_(const DataflowVarNode* op) {
  return ExprMutator::VisitExpr_(static_cast<const VarNode*>(op));
}

namespace {
/// Scalar variables inside dimensions may have been renamed by a mutator.
Map<Var, PrimExpr> PrimRemap(const std::unordered_map<const VarNode*, Expr>& remap) {
  Map<Var, PrimExpr> result;
  for (const auto& [from, to] : remap) {
    if (to->ty.as<PrimTypeNode>()) result.Set(GetRef<Var>(from), Downcast<PrimExpr>(to));
  }
  return result;
}
}  // namespace

Expr ExprMutator::VisitPrim(const Expr& e) {
  if (var_remap_.empty() || e.as<IntImmNode>() || !e->ty.as<PrimTypeNode>()) return e;
  Map<Var, PrimExpr> map = PrimRemap(var_remap_);
  return map.empty() ? e : Expr(tvm::Substitute(Downcast<PrimExpr>(e), map));
}

Expr ExprMutator::VisitExpr_(const ShapeExprNode* op) { return ExprMutatorBase::VisitExpr_(op); }

Type ExprMutator::VisitType(const Type& ty) {
  if (var_remap_.empty()) return ty;
  struct Rewriter : public TypeRewriter {
    ExprMutator* self;
    Optional<Array<PrimExpr>> RewriteDims(const Array<PrimExpr>& dims) override {
      return dims.Map([this](const PrimExpr& d) {
        return d.as<IntImmNode>() ? d : Downcast<PrimExpr>(self->VisitExpr(d));
      });
    }
    Optional<Expr> RewriteShapeVar(const Var& var) override { return self->VisitExpr(var); }
  };
  Rewriter rewriter;
  rewriter.self = this;
  return rewriter.Rewrite(ty);
}

Expr ExprMutator::VisitExpr_(const FunctionNode* op) {
  Array<Var> params = op->params.Map([this](const Var& p) { return VisitVarDef(p); });
  Expr body = VisitWithNewScope(op->body, params);
  if (params.same_as(op->params) && body.same_as(op->body)) return GetRef<Expr>(op);
  return Function(params, body, VisitType(op->ret_ty), op->is_pure, op->attrs, op->span);
}

SeqExpr ExprMutator::VisitWithNewScope(const Expr& body, Optional<Array<Var>> params) {
  if (params.has_value()) {
    builder_->BeginScope(params);
  } else {
    builder_->BeginInnerScope();
  }
  // What the body emits outside its own blocks lands in a block of its own.
  builder_->BeginBindingBlock();
  Expr result = VisitExpr(body);
  SeqExpr seq = SeqExpr::Wrap(result);
  BindingBlock prologue = builder_->EndBlock();
  if (!prologue->bindings.empty()) {
    Array<BindingBlock> blocks{prologue};
    for (const BindingBlock& b : seq->blocks) blocks.push_back(b);
    seq = Downcast<SeqExpr>(builder_->Normalize(SeqExpr(blocks, seq->body)));
  }
  builder_->EndScope();
  return seq;
}

Expr ExprMutator::VisitExpr_(const SeqExprNode* op) {
  Array<BindingBlock> blocks;
  bool same = true;
  for (const BindingBlock& b : op->blocks) {
    BindingBlock n = VisitBindingBlock(b);
    same = same && n.same_as(b);
    if (!n->bindings.empty()) blocks.push_back(n);
  }
  builder_->BeginBindingBlock();
  Expr body = builder_->NormalizeArgument(VisitExpr(op->body));
  BindingBlock tail = builder_->EndBlock();
  if (!tail->bindings.empty()) {
    blocks.push_back(tail);
    same = false;
  }
  if (same && body.same_as(op->body)) return GetRef<Expr>(op);
  return SeqExpr(blocks, body, op->span);
}

Expr ExprMutator::VisitExpr_(const IfNode* op) {
  Expr cond = builder_->NormalizeArgument(VisitExpr(op->cond));
  SeqExpr t = VisitWithNewScope(op->true_branch);
  SeqExpr f = VisitWithNewScope(op->false_branch);
  if (cond.same_as(op->cond) && t.same_as(op->true_branch) && f.same_as(op->false_branch)) {
    return GetRef<Expr>(op);
  }
  return If(cond, t, f, op->span);
}

BindingBlock ExprMutator::VisitBindingBlock(const BindingBlock& block) {
  bool dataflow = block.as<DataflowBlockNode>() != nullptr;
  if (dataflow) {
    builder_->BeginDataflowBlock();
  } else {
    builder_->BeginBindingBlock();
  }
  for (const Binding& b : block->bindings) VisitBinding(b);
  BindingBlock result = builder_->EndBlock();
  bool same = result->bindings.size() == block->bindings.size();
  for (size_t i = 0; same && i < block->bindings.size(); ++i) {
    same = result->bindings[i].same_as(block->bindings[i]);
  }
  return same ? block : result;
}

void ExprMutator::VisitBinding(const Binding& binding) {
  TVM_FFI_VISIT_BEGIN();
  if (const auto* b = binding.as<VarBindingNode>()) return VisitVarBinding(b);
  VisitMatchCast(binding.as<MatchCastNode>());
  TVM_FFI_VISIT_END(binding);
}

void ExprMutator::VisitVarBinding(const VarBindingNode* binding) {
  Expr value = VisitExpr(binding->value);
  ReEmit(binding, value);
}

IRModule ExprMutator::VisitFunctions(const IRModule& mod) {
  for (const auto& [gv, base] : mod->SortedFunctions()) {
    auto func = base.as<Function>();
    if (!func.has_value() || func.value()->HasNonzeroAttr(attr::kPrimitive)) continue;
    Expr updated = VisitExpr(func.value());
    if (!updated.same_as(func.value())) {
      builder_->UpdateFunction(gv, Downcast<BaseFunc>(updated));
    }
  }
  return builder_->GetModule();
}

void ExprMutator::ReEmit(const VarBindingNode* binding, const Expr& value) {
  if (value.same_as(binding->value) && !var_remap_.count(binding->var.get())) {
    return builder_->EmitNormalized(GetRef<VarBinding>(binding));
  }
  Var var = WithType(VisitVarDef(binding->var), value->ty);
  if (!var.same_as(binding->var)) var_remap_[binding->var.get()] = var;
  builder_->EmitNormalized(VarBinding(var, value, binding->span));
}

void ExprMutator::VisitMatchCast(const MatchCastNode* binding) {
  Expr value = builder_->NormalizeArgument(VisitExpr(binding->value));
  Type ty = VisitType(binding->ty);
  for (const Var& v : DefinableSymbolicVarsInType(ty)) builder_->AddDefinition(v);
  Var var = WithType(VisitVarDef(binding->var), ty);
  if (var.same_as(binding->var) && value.same_as(binding->value) && ty.same_as(binding->ty)) {
    return builder_->EmitNormalized(GetRef<MatchCast>(binding));
  }
  if (!var.same_as(binding->var)) var_remap_[binding->var.get()] = var;
  builder_->EmitNormalized(MatchCast(var, value, ty, binding->span));
}

Var ExprMutator::VisitVarDef(const Var& var) {
  Type ty = VisitType(var->ty);
  if (ty.same_as(var->ty)) return var;
  Var result = WithType(var, ty);
  var_remap_[var.get()] = result;
  return result;
}

Var ExprMutator::WithType(const Var& var, const Type& ty) {
  if (var->ty.same_as(ty)) return var;
  if (!var->ty.IsMissing() && ffi::StructuralEqual::Equal(var->ty, ty)) return var;
  if (var.as<DataflowVarNode>()) return DataflowVar(var->name, ty, var->span);
  return Var(var->name, ty, var->span);
}

}  // namespace relax
}  // namespace tvm
