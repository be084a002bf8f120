// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Modules, functions by name, operators, ranges and the other objects of the base IR.
#include <tvm/ir/attrs.h>
#include <tvm/ir/global_info.h>
#include <tvm/ir/module.h>
#include <tvm/ir/op.h>
#include <tvm/ir/scalar_op.h>
#include <tvm/script/printer/type_doc.h>
#include <tvm/target/target.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tvm::script::printer {

using ffi::Array;
using ffi::Map;
using ffi::String;

namespace {

/// Position of a function in the text: kinds in a fixed order, `main` last.
int FunctionRank(const GlobalVar& var, const BaseFunc& func) {
  if (var->name_hint == "main") return 1000;
  std::string key = func.GetTypeKey();
  if (key == "tirx.PrimFunc") return 0;
  if (key == "relax.expr.ExternFunc" || key == "relax.ExternFunc") return 1;
  return key == "relax.expr.Function" || key == "relax.Function" ? 2 : 3;
}

std::vector<std::pair<GlobalVar, BaseFunc>> OrderedFunctions(const IRModuleNode* mod) {
  std::vector<std::pair<GlobalVar, BaseFunc>> functions = mod->SortedFunctions();
  std::sort(functions.begin(), functions.end(), [](const auto& a, const auto& b) {
    int rank_a = FunctionRank(a.first, a.second), rank_b = FunctionRank(b.first, b.second);
    return rank_a != rank_b ? rank_a < rank_b : a.first->name_hint < b.first->name_hint;
  });
  return functions;
}

void EmitModuleAttrs(const IRModuleNode* mod, const AccessPath& path, IRDocsifier& d) {
  if (!mod->attrs->dict.empty()) {
    ExprDoc attrs = DictOf(mod->attrs->dict, path->Attr("attrs")->Attr("__dict__"), d);
    d.Push(ExprStmtDoc(d.Dialect("ir", "module_attrs").Call({attrs})));
  }
  if (!mod->global_infos.empty()) {
    ExprDoc infos = d.AsExpr(mod->global_infos, path->Attr("global_infos"));
    d.Push(ExprStmtDoc(d.Dialect("ir", "module_global_infos").Call({infos})));
  }
}

Doc PrintModule(const IRModuleNode* mod, const AccessPath& path, IRDocsifier& d) {
  std::vector<std::pair<GlobalVar, BaseFunc>> functions = OrderedFunctions(mod);
  const IRModuleNode* outer_module = std::exchange(d.module, mod);
  auto outer_names = std::exchange(d.global_names, {});
  ffi::String outer_class = std::exchange(d.module_name, BindingName(d, "Module"));
  Array<ExprDoc> decorators = {d.Dialect("ir", "ir_module")};
  Array<StmtDoc> body;
  {
    FrameScope frame(d, "ir", ffi::GetRef<ffi::ObjectRef>(mod));
    for (const auto& [var, func] : functions) {
      std::string name(var->name_hint);
      d.global_names[var.get()] = IsIdentifier(name) ? name : d.FreshName(name);
    }
    EmitModuleAttrs(mod, path, d);
    AccessPath functions_path = path->Attr("functions");
    for (const auto& [var, func] : functions) {
      d.function_var = var;
      d.Emit(func, functions_path->MapItem(var));
      d.function_var = GlobalVar();
    }
    body = frame->stmts;
  }
  ClassDoc doc(IdDoc(d.module_name), decorators, body);
  d.module = outer_module;
  d.global_names = std::move(outer_names);
  d.module_name = outer_class;
  return doc;
}

Doc PrintGlobalVar(const GlobalVarNode* node, const AccessPath& path, IRDocsifier& d) {
  // Functions of a module are told apart by their names alone.
  if (d.module != nullptr && IsIdentifier(std::string_view(node->name_hint)) &&
      d.module->ContainGlobalVar(node->name_hint)) {
    return IdDoc(d.module_name).Attr(node->name_hint);
  }
  return d.Dialect("ir", "GlobalVar")
      .Call({LiteralDoc::Str(node->name_hint, path->Attr("name_hint"))});
}

Doc PrintOp(const OpNode* node, const AccessPath& path, IRDocsifier& d) {
  return d.Dialect("ir", "Op").Call({LiteralDoc::Str(node->name, path->Attr("name"))});
}

Doc PrintRange(const RangeNode* node, const AccessPath& path, IRDocsifier& d) {
  ExprDoc begin = d.AsExpr(node->min, path->Attr("min"));
  ExprDoc end = d.AsExpr(node->min + node->extent, path->Attr("extent"));
  return d.Dialect("ir", "Range").Call({begin, end});
}

Doc PrintDictAttrs(const DictAttrsNode* node, const AccessPath& path, IRDocsifier& d) {
  return DictOf(node->dict, path->Attr("__dict__"), d);
}

Doc PrintDummyGlobalInfo(const DummyGlobalInfoNode*, const AccessPath&, IRDocsifier& d) {
  return d.Dialect("ir", "dummy_global_info").Call({});
}

/// The configuration of a target as a dictionary; a host is nested under "host".
ExprDoc TargetDict(const Target& target, const AccessPath& path, IRDocsifier& d) {
  const bool was_any = std::exchange(d.in_any, true);
  Map<String, ffi::Any> config;
  for (const auto& [key, value] : target->Export()) config.Set(key, value);
  ExprDoc doc = DictOf(config, path, d);
  d.in_any = was_any;
  return doc;
}

Doc PrintVDevice(const VDeviceNode* node, const AccessPath& path, IRDocsifier& d) {
  ExprDoc target = LiteralDoc::None(path->Attr("target"));
  if (auto known = node->target.as<Target>()) target = TargetDict(*known, path->Attr("target"), d);
  return d.Dialect("ir", "vdevice")
      .Call({target, LiteralDoc::Int(node->vdevice_id, path->Attr("vdevice_id")),
             LiteralDoc::Str(node->memory_scope, path->Attr("memory_scope"))});
}

Doc PrintTarget(const TargetNode* node, const AccessPath& path, IRDocsifier& d) {
  Target target = ffi::GetRef<Target>(node);
  // Alone a target is its configuration.
  if (d.frames().size() <= 1) return ExprStringDoc(String(target->str()));
  return d.Dialect("tirx", "target").Call({TargetDict(target, path, d)});
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  RegisterPrinter<IRModuleNode, PrintModule>("");
  RegisterPrinterAndRepr<GlobalVarNode, PrintGlobalVar>("");
  RegisterPrinter<OpNode, PrintOp>("");
  RegisterPrinterAndRepr<RangeNode, PrintRange>("");
  RegisterPrinterAndRepr<DictAttrsNode, PrintDictAttrs>("");
  RegisterPrinter<VDeviceNode, PrintVDevice>("");
  RegisterPrinter<DummyGlobalInfoNode, PrintDummyGlobalInfo>("");
  RegisterPrinter<TargetNode, PrintTarget>("");
}

}  // namespace tvm::script::printer
