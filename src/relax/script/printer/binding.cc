// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Text of bindings and blocks.
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/ir/scalar.h>
#include <tvm/relax/expr_functor.h>

#include <string>

#include "relax/script/printer/utils.h"

namespace tvm::script::printer {

namespace {

bool IsVoid(const Type& ty) {
  const auto* tuple = ty.as<TupleTypeNode>();
  return tuple != nullptr && tuple->fields.empty();
}

/// Calls whose text has their type already.
bool StatesItsType(const Expr& value) {
  const auto* call = value.as<CallNode>();
  const auto* op = call == nullptr ? nullptr : call->op.as<OpNode>();
  if (op == nullptr || call->ty_args.size() != 1) return false;
  const String& name = op->name;
  return name == "relax.call_tir" || name == "relax.call_tir_with_grad" ||
         name == "relax.call_tir_inplace" || name == "relax.call_dps_packed";
}

/// Plain numbers become constant tensors when read, unless an annotation says otherwise.
bool IsNumber(const Expr& value) {
  return value.as<IntImmNode>() != nullptr || value.as<FloatImmNode>() != nullptr;
}

Optional<ExprDoc> Annotation(const Var& var, const Expr& value, const AccessPath& p,
                             IRDocsifier& d) {
  if (var->ty.IsMissing()) return std::nullopt;
  bool implied = ffi::StructuralEqual::Equal(var->ty, value->ty);
  bool hidden = StatesItsType(value) || !ShowAllTypes(d);
  if (implied && hidden && !IsNumber(value)) return std::nullopt;
  return TypeDoc(var->ty, p->Attr("ty"), d);
}

/// The statements of a branch; the last one gives its value the name of the choice.
Array<StmtDoc> BranchBody(const rx::SeqExpr& branch, const Var& var, const ExprDoc& name,
                          const AccessPath& p, IRDocsifier& d) {
  FrameScope frame(d, kRelax);
  PushBlocks(branch->blocks, p->Attr("blocks"), d);
  AccessPath path = p->Attr("body");
  ExprDoc value = ValueDoc(branch->body, path, d);
  Optional<ExprDoc> annotation;
  const Type& ty = branch->body->ty.IsMissing() ? var->ty : branch->body->ty;
  if (!ty.IsMissing() && (ShowAllTypes(d) || IsNumber(branch->body))) {
    annotation = TypeDoc(ty, path->Attr("ty"), d);
  }
  d.Push(Doc::At(AssignDoc(name, value, annotation), path));
  return frame->stmts;
}

void PushChoice(const Var& var, const rx::IfNode* choice, const AccessPath& p, IRDocsifier& d) {
  CheckStackDepth();
  ExprDoc condition = ValueDoc(choice->cond, p->Attr("cond"), d);
  IdDoc name = d.Define(var, std::string(var->name));
  Array<StmtDoc> then_body = BranchBody(choice->true_branch, var, name, p->Attr("true_branch"), d);
  Array<StmtDoc> else_body =
      BranchBody(choice->false_branch, var, name, p->Attr("false_branch"), d);
  d.Push(Doc::At(IfDoc(condition, then_body, else_body), p));
}

void PushVarBinding(const rx::VarBindingNode* binding, const AccessPath& p, IRDocsifier& d) {
  AccessPath path = p->Attr("value");
  const Var& var = binding->var;
  if (const auto* choice = binding->value.as<rx::IfNode>()) {
    PushChoice(var, choice, path, d);
    return;
  }
  if (const auto* func = binding->value.as<rx::FunctionNode>()) {
    CheckStackDepth();
    IdDoc name = d.Define(var, std::string(var->name));
    d.Push(Doc::At(RelaxFunctionDoc(func, name->name, true, path, d), p));
    return;
  }
  RelaxFunctionScope* scope = RelaxFunctionScope::Current(d);
  bool unused = scope != nullptr && scope->used.count(var.get()) == 0;
  if (d.cfg->syntax_sugar && unused && binding->value.as<CallNode>() && IsVoid(var->ty) &&
      IsVoid(binding->value->ty)) {
    d.Push(Doc::At(ExprStmtDoc(ValueDoc(binding->value, path, d)), p));
    return;
  }
  ExprDoc value = ValueDoc(binding->value, path, d);
  Optional<ExprDoc> annotation = Annotation(var, binding->value, p->Attr("var"), d);
  d.Push(Doc::At(AssignDoc(d.Define(var, std::string(var->name)), value, annotation), p));
}

void PushMatchCast(const rx::MatchCastNode* binding, const AccessPath& p, IRDocsifier& d) {
  ExprDoc value = ValueDoc(binding->value, p->Attr("value"), d);
  ExprDoc ty = TypeDoc(binding->ty, p->Attr("ty"), d);
  ExprDoc cast = RelaxName(d, "match_cast").Call({value, ty});
  const Var& var = binding->var;
  Optional<ExprDoc> annotation;
  bool implied = ffi::StructuralEqual::Equal(var->ty, binding->ty);
  if (!var->ty.IsMissing() && (ShowAllTypes(d) || !implied)) {
    annotation = TypeDoc(var->ty, p->Attr("var")->Attr("ty"), d);
  }
  d.Push(Doc::At(AssignDoc(d.Define(var, std::string(var->name)), cast, annotation), p));
}

/// Adds a block: its bindings, in a `with` when it is a dataflow block.
void PushBlock(const rx::BindingBlock& block, const AccessPath& p, IRDocsifier& d) {
  AccessPath path = p->Attr("bindings");
  auto push_all = [&] {
    for (size_t i = 0; i < block->bindings.size(); ++i) {
      PushBinding(block->bindings[i], path->ArrayItem(static_cast<int64_t>(i)), d);
    }
  };
  if (block.as<rx::DataflowBlockNode>() == nullptr) {
    push_all();
    return;
  }
  Frame* outer = &d.top();
  // Names of outputs outlive the block.
  for (const rx::Binding& binding : block->bindings) {
    if (binding->var.as<rx::DataflowVarNode>() == nullptr) {
      d.Define(binding->var, std::string(binding->var->name), outer);
    }
  }
  FrameScope frame(d, kRelax);
  push_all();
  Array<ExprDoc> outputs;
  for (const rx::Binding& binding : block->bindings) {
    if (binding->var.as<rx::DataflowVarNode>() == nullptr) {
      outputs.push_back(d.VarDoc(binding->var).value());
    }
  }
  d.Push(ExprStmtDoc(RelaxName(d, "output").Call(outputs)));
  outer->stmts.push_back(Doc::At(ScopeDoc(RelaxName(d, "dataflow").Call({}), frame->stmts), p));
}

/// A binding or block on its own.
template <typename PushFn>
Doc Standalone(IRDocsifier& d, PushFn push) {
  FrameScope frame(d, kRelax, {}, true);
  push();
  return StmtBlockDoc(frame->stmts);
}

Doc PrintVarBinding(const rx::VarBindingNode* node, const AccessPath& p, IRDocsifier& d) {
  return Standalone(d, [&] { PushBinding(GetRef<rx::Binding>(node), p, d); });
}
Doc PrintMatchCast(const rx::MatchCastNode* node, const AccessPath& p, IRDocsifier& d) {
  return Standalone(d, [&] { PushBinding(GetRef<rx::Binding>(node), p, d); });
}
Doc PrintBindingBlock(const rx::BindingBlockNode* node, const AccessPath& p, IRDocsifier& d) {
  return Standalone(d, [&] { PushBlock(GetRef<rx::BindingBlock>(node), p, d); });
}
Doc PrintDataflowBlock(const rx::DataflowBlockNode* node, const AccessPath& p, IRDocsifier& d) {
  return Standalone(d, [&] { PushBlock(GetRef<rx::BindingBlock>(node), p, d); });
}

}  // namespace

void PushBinding(const rx::Binding& binding, const AccessPath& p, IRDocsifier& d) {
  if (const auto* bound = binding.as<rx::VarBindingNode>()) {
    PushVarBinding(bound, p, d);
  } else {
    PushMatchCast(binding.as<rx::MatchCastNode>(), p, d);
  }
}

void PushBlocks(const Array<rx::BindingBlock>& blocks, const AccessPath& p, IRDocsifier& d) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    PushBlock(blocks[i], p->ArrayItem(static_cast<int64_t>(i)), d);
  }
}

TVM_FFI_STATIC_INIT_BLOCK() {
  RegisterRelaxPrinter<rx::VarBindingNode, PrintVarBinding>();
  RegisterRelaxPrinter<rx::MatchCastNode, PrintMatchCast>();
  RegisterRelaxPrinter<rx::BindingBlockNode, PrintBindingBlock>();
  RegisterRelaxPrinter<rx::DataflowBlockNode, PrintDataflowBlock>();
}

}  // namespace tvm::script::printer
