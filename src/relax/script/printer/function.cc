// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Text of graph-level functions.
#include <tvm/relax/analysis.h>
#include <tvm/relax/expr_functor.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "relax/script/printer/utils.h"

namespace tvm::script::printer {

namespace {

/// Variables that are used, and whether functions of the module are.
class UseCollector : public rx::ExprVisitor {
 public:
  using ExprVisitor::VisitExpr_;
  void VisitExpr_(const VarNode* op) final { used.insert(op); }
  void VisitExpr_(const rx::DataflowVarNode* op) final { used.insert(op); }
  void VisitExpr_(const GlobalVarNode*) final { uses_module = true; }

  std::unordered_set<const ffi::Object*> used;
  bool uses_module = false;
};

/// Attributes as the program states them: the global symbol is the name unless it differs.
void PushAttrs(const rx::FunctionNode* func, const String& name, const AccessPath& p,
               IRDocsifier& d) {
  if (!func->attrs.defined()) return;
  Map<String, ffi::Any> shown = func->attrs->dict;
  if (auto symbol = func->GetAttr<String>(tvm::attr::kGlobalSymbol)) {
    if (symbol.value() == name) shown.erase(tvm::attr::kGlobalSymbol);
  }
  if (shown.empty()) return;
  AccessPath path = p->Attr("attrs");
  ExprDoc dict = DictOf(shown, path->Attr("__dict__"), d);
  d.Push(Doc::At(ExprStmtDoc(RelaxName(d, "func_attr").Call({dict})), path));
}

/// `cls = Module`, when functions of the module are used.
void PushModuleAlias(RelaxFunctionScope* scope, bool uses_module, bool nested, IRDocsifier& d) {
  if (nested && scope->outer != nullptr) {
    scope->module_doc = scope->outer->module_doc;
    return;
  }
  if (d.module == nullptr || !uses_module) return;
  const String& module = d.module_name;
  const String& alias = d.cfg->module_alias;
  if (alias.empty()) {
    scope->module_doc = ExprDoc(IdDoc(module));
    return;
  }
  scope->module_doc = ExprDoc(IdDoc(alias));
  d.Push(AssignDoc(IdDoc(alias), ExprDoc(IdDoc(module))));
}

Array<AssignDoc> Params(const rx::FunctionNode* func, RelaxFunctionScope* scope,
                        const AccessPath& p, IRDocsifier& d) {
  Array<AssignDoc> docs;
  AccessPath path = p->Attr("params");
  // Symbols and scalar parameters first: any parameter may use them.
  for (const Var& param : func->params) {
    if (rx::IsPrim(param)) d.Define(param, std::string(param->name), scope->frame);
  }
  for (const Var& param : func->params) {
    for (const Var& symbol : rx::DefinableSymbolicVarsInType(param->ty)) {
      DeclareTypeVar(symbol, scope);
    }
  }
  for (size_t i = 0; i < func->params.size(); ++i) {
    const Var& param = func->params[i];
    AccessPath item = path->ArrayItem(static_cast<int64_t>(i));
    ExprDoc annotation = TypeDoc(param->ty, item->Attr("ty"), d);
    IdDoc name = d.Define(param, std::string(param->name), scope->frame);
    docs.push_back(Doc::At(AssignDoc(name, std::nullopt, annotation), item));
  }
  return docs;
}

ExprDoc Decorator(const rx::FunctionNode* func, bool nested, IRDocsifier& d) {
  Kwargs kwargs;
  if (!func->is_pure) kwargs.Add("pure", LiteralDoc::Boolean(false));
  bool is_private = !func->GetAttr<String>(tvm::attr::kGlobalSymbol).has_value();
  if (is_private && !nested) kwargs.Add("private", LiteralDoc::Boolean(true));
  ExprDoc name = RelaxName(d, "function");
  return kwargs.keys.empty() ? name : name.Call({}, kwargs.keys, kwargs.values);
}

Array<Doc> TypeParams(const RelaxFunctionScope& scope, IRDocsifier& d) {
  if (!UsePep695(d) || scope.type_vars.empty()) return {};
  std::vector<String> names;
  for (const Var& var : scope.type_vars) {
    names.push_back(d.VarDoc(var).value().as<IdDocNode>()->name);
  }
  std::sort(names.begin(), names.end());
  d.NeedHeader(kFutureHeaderRank, "# from __future__ import annotations");
  Array<Doc> docs;
  for (const String& name : names) docs.push_back(IdDoc(name));
  return docs;
}

Doc PrintFunction(const rx::FunctionNode* func, const AccessPath& p, IRDocsifier& d) {
  String name = func->GetAttr<String>(tvm::attr::kGlobalSymbol).value_or("main");
  GlobalVar member = std::exchange(d.function_var, GlobalVar());
  name = member.defined() ? d.global_names.at(member.get()) : BindingName(d, name);
  return RelaxFunctionDoc(func, name, false, p, d);
}

}  // namespace

FunctionDoc RelaxFunctionDoc(const rx::FunctionNode* func, const String& name, bool nested,
                             const AccessPath& p, IRDocsifier& d) {
  CheckStackDepth();
  FrameScope frame(d, kRelax, GetRef<rx::Function>(func), /*takes_free_vars=*/true);
  RelaxFunctionScope scope(d, frame.get());
  UseCollector uses;
  for (const rx::BindingBlock& block : func->body->blocks) uses.VisitBindingBlock(block);
  uses.VisitExpr(func->body->body);
  scope.used = std::move(uses.used);

  scope.in_signature = true;
  Array<AssignDoc> params = Params(func, &scope, p, d);
  Optional<ExprDoc> ret;
  if (!func->ret_ty.IsMissing()) ret = TypeDoc(func->ret_ty, p->Attr("ret_ty"), d);
  scope.in_signature = false;

  PushAttrs(func, name, p, d);
  PushModuleAlias(&scope, uses.uses_module, nested, d);
  AccessPath body = p->Attr("body");
  PushBlocks(func->body->blocks, body->Attr("blocks"), d);
  AccessPath result = body->Attr("body");
  d.Push(Doc::At(ReturnDoc(ValueDoc(func->body->body, result, d)), result));
  return FunctionDoc(IdDoc(name), params, {Decorator(func, nested, d)}, ret, frame->stmts,
                     TypeParams(scope, d));
}

TVM_FFI_STATIC_INIT_BLOCK() { RegisterPrinter<rx::FunctionNode, PrintFunction>(""); }

}  // namespace tvm::script::printer
