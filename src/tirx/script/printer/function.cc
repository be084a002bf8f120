// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// PrimFunc: decorators, parameters, attributes.
#include <tvm/ir/expr_functor.h>
#include <tvm/script/printer/doc_printer.h>
#include <tvm/tirx/stmt_functor.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tirx/script/printer/block.h"
#include "tirx/script/printer/utils.h"

namespace tvm::script::printer {

using namespace tirx;  // NOLINT(build/namespaces): the nodes

namespace {

/// The header line that layouts in buffer declarations need.
constexpr int kAxisHeaderRank = 40;
constexpr int kTypeVarHeaderRank = 10;
constexpr int kFutureHeaderRank = 0;

/// Variables that only the types of the parameters define, and how they are introduced.
class SignatureVars {
 public:
  SignatureVars(const PrimFuncNode* func, IRDocsifier& d) : d_(d) {
    for (const Var& param : func->params) params_.insert(param.get());
    for (const Var& param : func->params) {
      const auto* type = param->ty.as<BufferTypeNode>();
      if (type == nullptr) continue;
      for (const PrimExpr& value : type->shape) Collect(value);
      for (const PrimExpr& value : type->strides) Collect(value);
      Collect(type->elem_offset);
    }
    pep695_ = d.cfg->GetExtra<bool>("script.use_pep695", false);
  }

  /// Names the int64 ones as type variables, in alphabetical order.
  Array<Doc> DefineTypeVars() {
    std::vector<Var> vars;
    for (const Var& var : free_) {
      if (IsTypeVar(var.get())) vars.push_back(var);
    }
    std::sort(vars.begin(), vars.end(),
              [](const Var& a, const Var& b) { return a->name < b->name; });
    Array<Doc> type_params;
    for (const Var& var : vars) {
      IdDoc name = d_.Define(var, std::string_view(var->name));
      known_.insert(var.get());
      if (pep695_) {
        type_params.push_back(name);
        d_.NeedHeader(kFutureHeaderRank, "# from __future__ import annotations");
      } else {
        d_.NeedHeader(kTypeVarHeaderRank, "# from typing import TypeVar");
        d_.DeclareTypeVar(name->name);
      }
    }
    return type_params;
  }

  void Introduce(const Var& param) { known_.insert(param.get()); }

  /// A dimension, stride or offset: in quotes where it mentions a name for the first time, or
  /// computes with a type variable.
  ExprDoc Index(const PrimExpr& value, const AccessPath& path) {
    bool quoted = false, compound = value.as<VarNode>() == nullptr;
    for (const Var& var : FreeVars(value)) {
      if (IsTypeVar(var.get())) quoted = quoted || (compound && !pep695_);
      if (known_.count(var.get()) != 0) continue;
      const bool later_param = params_.count(var.get()) != 0;
      if (!later_param && free_set_.count(var.get()) == 0) continue;  // defined outside
      quoted = true;
      d_.Define(var, std::string_view(var->name));
      if (!later_param) known_.insert(var.get());
    }
    ExprDoc doc = d_.AsExpr(value, path);
    if (!quoted) return doc;
    LiteralDoc text = LiteralDoc::Str(DocToPythonScript(doc, PrinterConfig::Default()), path);
    return text;
  }

  /// `m = T.int32()` for the variables that are no type variables.
  void EmitDeclarations() {
    for (const Var& var : free_) {
      if (IsTypeVar(var.get())) continue;
      ExprDoc value = TypeDeclDoc(var->ty, AccessPath::Root(), d_);
      d_.Push(AssignDoc(d_.Define(var, std::string_view(var->name)), value));
    }
  }

 private:
  bool IsTypeVar(const VarNode* var) const {
    return free_set_.count(var) != 0 && var->dtype() == DataType::Int(64);
  }
  void Collect(const PrimExpr& value) {
    for (const Var& var : FreeVars(value)) {
      if (params_.count(var.get()) != 0 || d_.IsDefined(var)) continue;
      if (free_set_.insert(var.get()).second) free_.push_back(var);
    }
  }

  IRDocsifier& d_;
  std::unordered_set<const VarNode*> params_, free_set_, known_;
  std::vector<Var> free_;
  bool pep695_ = false;
};

ExprDoc ParamAnnotation(const Var& param, const AccessPath& path, SignatureVars* vars,
                        IRDocsifier& d) {
  AccessPath type_path = path->Attr("ty");
  if (const auto* type = param->ty.as<BufferTypeNode>()) {
    BufferStyle style;
    style.always_dtype = true;
    style.index = [vars](const PrimExpr& value, const AccessPath& p) {
      return vars->Index(value, p);
    };
    return BufferCall(T(d, "Buffer"), {}, type, type_path, style, d);
  }
  return d.AsExpr(param->ty, type_path);
}

Array<AssignDoc> Params(const PrimFuncNode* func, const AccessPath& path, SignatureVars* vars,
                        IRDocsifier& d) {
  Array<AssignDoc> args;
  AccessPath params_path = path->Attr("params");
  for (size_t i = 0; i < func->params.size(); ++i) {
    const Var& param = func->params[i];
    AccessPath p = params_path->ArrayItem(static_cast<int64_t>(i));
    ExprDoc annotation = ParamAnnotation(param, p, vars, d);
    vars->Introduce(param);
    IdDoc name = d.Define(param, std::string_view(param->name));
    args.push_back(AssignDoc(Doc::At(name, p), std::nullopt, annotation));
  }
  return args;
}

/// Counts how often each thread axis is launched.
class LaunchCounter : public StmtVisitor {
 public:
  std::vector<IterVar> repeated;

  void Count(const Stmt& stmt) { VisitStmt(stmt); }

 private:
  using StmtVisitor::VisitStmt_;
  void VisitStmt_(const AttrStmtNode* node) final {
    if (node->attr_key == tirx::attr::thread_extent) {
      if (auto axis = node->node.as<IterVar>()) {
        if (++launches_[(*axis)->var.get()] == 2) repeated.push_back(*axis);
      }
    }
    StmtVisitor::VisitStmt_(node);
  }

  std::unordered_map<const VarNode*, int> launches_;
};

/// An axis that is launched more than once is declared beforehand.
void EmitEnvThreads(const PrimFuncNode* func, IRDocsifier& d) {
  LaunchCounter counter;
  counter.Count(func->body);
  for (const IterVar& axis : counter.repeated) {
    ExprDoc value = T(d, "env_thread").Call({LiteralDoc::Str(axis->thread_tag)});
    d.Push(AssignDoc(d.Define(axis->var, std::string_view(axis->var->name)), value));
  }
}

bool IsTrue(const ffi::Any& value) {
  return value.type_index() == ffi::TypeIndex::kTVMFFIBool && value.cast<bool>();
}

bool HasBlock(const Stmt& body) {
  bool found = false;
  PreOrderVisit(body, [&found](const ffi::ObjectRef& node) {
    found = found || node->IsInstance<SBlockRealizeNode>() || node->IsInstance<SBlockNode>();
    return !found && !node->IsInstance<ExprNode>();
  });
  return found;
}

/// The attributes that decorators and the name of the function do not express.
struct FunctionHead {
  String name;
  Kwargs decorator;
  Map<String, ffi::Any> attrs;
  bool s_tir = false;
};

FunctionHead HeadOf(const PrimFuncNode* func, IRDocsifier& d) {
  FunctionHead head;
  head.attrs = func->attrs->dict;
  GlobalVar var = std::exchange(d.function_var, GlobalVar());
  Optional<ffi::Any> symbol = head.attrs.Get(tvm::attr::kGlobalSymbol);
  Optional<String> symbol_text =
      symbol.has_value() ? symbol.value().as<String>() : std::optional<String>();
  String default_name = symbol_text.has_value() && IsIdentifier(std::string_view(*symbol_text))
                            ? symbol_text.value()
                            : String("main");
  head.name = var.defined() ? d.global_names[var.get()] : BindingName(d, default_name);
  if (symbol_text.has_value() && symbol_text.value() == head.name) {
    head.attrs.erase(tvm::attr::kGlobalSymbol);
  }
  if (!symbol.has_value()) head.decorator.Add("private", LiteralDoc::Boolean(true));
  auto take = [&](const char* key) {
    Optional<ffi::Any> value = head.attrs.Get(key);
    if (!value.has_value() || !IsTrue(*value)) return false;
    head.attrs.erase(key);
    return true;
  };
  // Written as s_tir, a function with blocks gets a root block around them when it is read.
  bool readable = HasRootBlock(func) || !HasBlock(func->body);
  if (readable && take(tvm::attr::kSTir)) {
    head.s_tir = true;
    head.decorator.Add("s_tir", LiteralDoc::Boolean(true));
  }
  if (take(tirx::attr::persistent_kernel)) {
    head.decorator.Add("persistent", LiteralDoc::Boolean(true));
  }
  if (var.defined() && head.name != var->name_hint) head.attrs.Set("__name__", var->name_hint);
  return head;
}

bool ReturnsNothing(const PrimFuncNode* func) {
  const auto* tuple = func->ret_type.as<TupleTypeNode>();
  return tuple != nullptr && tuple->fields.empty();
}

void EmitHead(FunctionHead* head, const AccessPath& path, IRDocsifier& d) {
  if (auto name = head->attrs.Get("__name__")) {
    d.Push(ExprStmtDoc(T(d, "func_name").Call({LiteralDoc::Str(name->cast<String>())})));
    head->attrs.erase("__name__");
  }
  if (head->attrs.empty()) return;
  AccessPath p = path->Attr("attrs");
  ExprDoc attrs = DictOf(head->attrs, p->Attr("__dict__"), d);
  d.Push(Doc::At(ExprStmtDoc(T(d, "func_attr").Call({attrs})), p));
}

Doc PrintPrimFunc(const PrimFuncNode* func, const AccessPath& path, IRDocsifier& d) {
  FunctionHead head = HeadOf(func, d);
  FrameScope frame(d, "tirx", ffi::GetRef<ffi::ObjectRef>(func), /*takes_free_vars=*/true);
  frame->s_tir = head.s_tir;
  ExprDoc decorator = T(d, "prim_func");
  d.NeedHeader(kAxisHeaderRank, "# from tvm.tirx.layout import Axis");
  if (!head.decorator.keys.empty()) {
    decorator = decorator.Call({}, head.decorator.keys, head.decorator.values);
  }
  SignatureVars vars(func, d);
  Array<Doc> type_params = vars.DefineTypeVars();
  Array<AssignDoc> args = Params(func, path, &vars, d);
  Optional<ExprDoc> ret_type;
  if (!ReturnsNothing(func)) ret_type = d.AsExpr(func->ret_type, path->Attr("ret_type"));
  EmitHead(&head, path, d);
  vars.EmitDeclarations();
  EmitEnvThreads(func, d);
  AccessPath body_path = path->Attr("body");
  const SBlockRealizeNode* root = ImplicitRoot(func);
  if (root != nullptr && head.s_tir && d.cfg->syntax_sugar &&
      (!root->block->alloc_buffers.empty() || HasBlock(root->block->body))) {
    EmitImplicitRoot(root, body_path, d);
  } else {
    EmitFunctionBody(func->body, body_path, d);
  }
  return FunctionDoc(IdDoc(head.name), args, {decorator}, ret_type, frame->stmts, type_params);
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() { RegisterPrinter<PrimFuncNode, PrintPrimFunc>(""); }

}  // namespace tvm::script::printer
