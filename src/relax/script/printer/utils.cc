// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "relax/script/printer/utils.h"

#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/relax/analysis.h>
#include <tvm/script/printer/doc_printer.h>
#include <tvm/target/target.h>

#include <algorithm>
#include <string>

namespace tvm::script::printer {

namespace {

thread_local RelaxFunctionScope* current_scope = nullptr;

}  // namespace

RelaxFunctionScope::RelaxFunctionScope(IRDocsifier& d, Frame* frame)
    : d(d), frame(frame), outer(current_scope) {
  current_scope = this;
}
RelaxFunctionScope::~RelaxFunctionScope() { current_scope = outer; }

RelaxFunctionScope* RelaxFunctionScope::Current(const IRDocsifier& d) {
  // A printer may run while another one is half way, for the text of an error.
  if (current_scope == nullptr || &current_scope->d != &d) return nullptr;
  return current_scope;
}

ExprDoc RelaxName(IRDocsifier& d, std::string_view name) {
  size_t dot = name.find('.');
  ExprDoc doc = d.Dialect("relax", name.substr(0, dot));
  while (dot != std::string_view::npos) {
    name.remove_prefix(dot + 1);
    dot = name.find('.');
    doc = doc.Attr(String(std::string(name.substr(0, dot))));
  }
  return doc;
}

bool ShowAllTypes(const IRDocsifier& d) { return d.cfg->GetExtra<bool>("relax.show_all_ty", true); }

bool UsePep695(const IRDocsifier& d) {
  return d.cfg->GetExtra<bool>("relax.use_pep695",
                               d.cfg->GetExtra<bool>("script.use_pep695", false));
}

ExprDoc DeclareTypeVar(const Var& var, RelaxFunctionScope* scope) {
  IRDocsifier& d = scope->d;
  if (auto known = d.VarDoc(var)) return *known;
  IdDoc name = d.Define(var, std::string(var->name), scope->frame);
  scope->type_vars.push_back(var);
  scope->type_var_set.insert(var.get());
  if (!UsePep695(d)) {
    d.NeedHeader(kTypeVarHeaderRank, "# from typing import TypeVar");
    d.DeclareTypeVar(name->name);
  }
  return name;
}

ExprDoc DimDoc(const PrimExpr& dim, const AccessPath& path, IRDocsifier& d) {
  if (const auto* imm = dim.as<IntImmNode>()) return LiteralDoc::Int(imm->value, path);
  RelaxFunctionScope* scope = RelaxFunctionScope::Current(d);
  if (scope == nullptr || !scope->in_signature) return d.AsExpr(dim, path);
  if (auto var = dim.as<Var>()) {
    bool plain = !d.IsDefined(*var) || scope->type_var_set.count(var->get());
    if (plain) return Doc::At(DeclareTypeVar(*var, scope), path);
  }
  // Python evaluates a signature when the function is defined: what it cannot know yet is text.
  scope->in_signature = false;
  ExprDoc doc = d.AsExpr(dim, path);
  scope->in_signature = true;
  return LiteralDoc::Str(DocToPythonScript(doc, PrinterConfig::Default()), path);
}

Array<ExprDoc> DimDocs(const Array<PrimExpr>& dims, const AccessPath& path, IRDocsifier& d) {
  Array<ExprDoc> docs;
  for (size_t i = 0; i < dims.size(); ++i) {
    docs.push_back(DimDoc(dims[i], path->ArrayItem(static_cast<int64_t>(i)), d));
  }
  return docs;
}

ExprDoc TypeDoc(const Type& ty, const AccessPath& path, IRDocsifier& d) {
  if (d.top().token == kRelax) return d.AsExpr(ty, path);
  FrameScope frame(d, kRelax);
  return d.AsExpr(ty, path);
}

namespace {

/// Position of a device among those of its kind that the module declares; -1 when it is not there.
int DeclaredIndex(const VDevice& device, const String& kind, const IRModuleNode* module) {
  int index = 0;
  if (auto infos = module->global_infos.Get("vdevice")) {
    for (const GlobalInfo& info : *infos) {
      auto other = info.as<VDevice>();
      if (!other.has_value()) continue;
      const auto* target = other.value()->target.as<TargetNode>();
      if (target == nullptr || target->kind->name != kind) continue;
      if (ffi::StructuralEqual::Equal(*other, device)) return index;
      ++index;
    }
  }
  return -1;
}

}  // namespace

ExprDoc VDeviceDoc(const VDevice& device, const AccessPath& path, IRDocsifier& d) {
  const auto* target = device->target.as<TargetNode>();
  if (target == nullptr) return d.AsExpr(device, path);
  const String kind = target->kind->name;
  // In a module the text names a declared device; elsewhere it is a device of the plain kind.
  int64_t index = -1;
  if (d.module != nullptr) {
    index = DeclaredIndex(device, kind, d.module);
  } else if (ffi::StructuralEqual::Equal(Target(kind), device->target)) {
    index = device->vdevice_id;
  }
  if (index < 0) return d.AsExpr(device, path);
  return LiteralDoc::Str(
      std::string(kind) + ":" + std::to_string(index) + ":" + std::string(device->memory_scope),
      path);
}

}  // namespace tvm::script::printer
