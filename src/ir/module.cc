// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/ffi/extra/structural_hash.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/module.h>
#include <tvm/ir/name_supply.h>

#include <algorithm>
#include <string>

namespace tvm {

void IRModuleNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<IRModuleNode>()
      .def_ro("functions", &IRModuleNode::functions)
      .def_ro("global_var_map_", &IRModuleNode::global_var_map_)
      .def_ro("source_map", &IRModuleNode::source_map, refl::default_value(nullptr))
      .def_ro("attrs", &IRModuleNode::attrs, refl::default_factory([] { return DictAttrs(); }))
      .def_ro("global_infos", &IRModuleNode::global_infos);
}

IRModule::IRModule() : IRModule(ffi::Map<GlobalVar, BaseFunc>()) {}

IRModule::IRModule(ffi::Map<GlobalVar, BaseFunc> functions, SourceMap source_map, DictAttrs attrs,
                   ffi::Map<ffi::String, ffi::Array<GlobalInfo>> global_infos)
    : ffi::ObjectRef(ffi::UnsafeInit{}) {
  auto node = ffi::make_object<IRModuleNode>();
  for (const auto& [var, func] : functions) {
    TVM_FFI_CHECK(var.defined() && func.defined(), ValueError)
        << "IRModule functions need a name and a body";
    TVM_FFI_CHECK(node->global_var_map_.count(var->name_hint) == 0, ValueError)
        << "Duplicate global function name " << var->name_hint;
    node->global_var_map_.Set(var->name_hint, var);
  }
  node->functions = std::move(functions);
  node->source_map =
      source_map.defined() ? std::move(source_map) : SourceMap(ffi::Map<SourceName, Source>());
  node->attrs = std::move(attrs);
  node->global_infos = std::move(global_infos);
  data_ = std::move(node);
}

IRModule IRModule::FromExpr(const Expr& expr, const ffi::Map<GlobalVar, BaseFunc>& functions) {
  TVM_FFI_CHECK(expr.defined(), TypeError) << "IRModule.from_expr expects a function, found None";
  auto func = expr.as<BaseFunc>();
  TVM_FFI_CHECK(func.has_value(), TypeError)
      << "IRModule.from_expr expects a function, found " << expr.GetTypeKey();
  IRModule mod{functions};
  ffi::Optional<ffi::String> symbol = (*func)->GetAttr<ffi::String>(attr::kGlobalSymbol);
  ffi::String name = "main";
  if (symbol.has_value()) {
    name = symbol.value();
  } else {
    UniqueNameSupply names{ffi::String("")};
    for (const auto& [var, other] : functions) names->ReserveName(var->name_hint);
    name = names->FreshName(name);
  }
  mod.CopyOnWrite()->Add(GlobalVar(name, (*func)->ty), *func);
  return mod;
}

void IRModuleNode::Add(const GlobalVar& var, const BaseFunc& func, bool update) {
  TVM_FFI_CHECK(var.defined() && func.defined(), ValueError)
      << "IRModule functions need a name and a body";
  auto it = global_var_map_.find(var->name_hint);
  if (it != global_var_map_.end()) {
    GlobalVar existing = (*it).second;
    TVM_FFI_CHECK(update, ValueError) << "Duplicate global function name " << var->name_hint;
    if (!existing.same_as(var)) functions.erase(existing);
  }
  functions.Set(var, func);
  global_var_map_.Set(var->name_hint, var);
}

void IRModuleNode::Update(const GlobalVar& var, const BaseFunc& func) { Add(var, func, true); }

void IRModuleNode::Update(const IRModule& other) {
  for (const auto& [var, func] : other->SortedFunctions()) Update(var, func);
  for (const auto& [name, source] : other->source_map->source_map) {
    source_map.Add(source);
  }
}

void IRModuleNode::Remove(const GlobalVar& var) {
  TVM_FFI_CHECK(functions.count(var) != 0, ValueError)
      << "There is no definition of " << var->name_hint;
  functions.erase(var);
  global_var_map_.erase(var->name_hint);
}

void IRModuleNode::UpdateGlobalInfo(const ffi::String& name, const ffi::Array<GlobalInfo>& infos) {
  global_infos.Set(name, infos);
}

bool IRModuleNode::ContainGlobalVar(const ffi::String& name) const {
  return global_var_map_.count(name) != 0;
}

GlobalVar IRModuleNode::GetGlobalVar(const ffi::String& name) const {
  auto it = global_var_map_.find(name);
  if (it == global_var_map_.end()) {
    std::vector<std::string> names;
    for (const auto& [candidate, var] : global_var_map_) names.emplace_back(candidate);
    std::sort(names.begin(), names.end());
    std::string list;
    for (const std::string& candidate : names) {
      list += (list.empty() ? "\"" : ", \"") + candidate + "\"";
    }
    TVM_FFI_THROW(ValueError) << "Cannot find global var \"" << name
                              << "\" in the Module\ncandidates are: [" << list << "]";
  }
  return (*it).second;
}

ffi::Array<GlobalVar> IRModuleNode::GetGlobalVars() const {
  std::vector<GlobalVar> vars;
  for (const auto& [name, var] : global_var_map_) vars.push_back(var);
  std::sort(vars.begin(), vars.end(),
            [](const GlobalVar& a, const GlobalVar& b) { return a->name_hint < b->name_hint; });
  return ffi::Array<GlobalVar>(vars.begin(), vars.end());
}

std::vector<std::pair<GlobalVar, BaseFunc>> IRModuleNode::SortedFunctions() const {
  std::vector<std::pair<GlobalVar, BaseFunc>> items;
  for (const auto& [var, func] : functions) items.emplace_back(var, func);
  std::sort(items.begin(), items.end(),
            [](const auto& a, const auto& b) { return a.first->name_hint < b.first->name_hint; });
  return items;
}

BaseFunc IRModuleNode::Lookup(const GlobalVar& var) const {
  auto it = functions.find(var);
  if (it != functions.end()) return (*it).second;
  TVM_FFI_THROW(ValueError) << "There is no definition of " << var->name_hint;
  TVM_FFI_UNREACHABLE();
}

BaseFunc IRModuleNode::Lookup(const ffi::String& name) const { return Lookup(GetGlobalVar(name)); }

IRModule WithAttr(IRModule mod, const ffi::String& key, ffi::Any value) {
  IRModuleNode* node = mod.CopyOnWrite();
  node->attrs = WithAttr(std::move(node->attrs), key, std::move(value));
  return mod;
}

IRModule WithAttrs(IRModule mod, const ffi::Map<ffi::String, ffi::Any>& values) {
  IRModuleNode* node = mod.CopyOnWrite();
  node->attrs = WithAttrs(std::move(node->attrs), values);
  return mod;
}

IRModule WithoutAttr(IRModule mod, const ffi::String& key) {
  if (!mod->attrs.HasAttr(key)) return mod;
  IRModuleNode* node = mod.CopyOnWrite();
  node->attrs = WithoutAttr(std::move(node->attrs), key);
  return mod;
}

namespace {

/// Compares functions of one name; neither the order of insertion nor the identity of the variables
/// matters. `equal(lhs, rhs, region kind, field name)` is the comparer of the caller.
bool ModuleEqual(const IRModule& lhs, const IRModule& rhs, const ffi::Function& equal) {
  auto same = [&](const auto& a, const auto& b, const char* field) {
    constexpr int kNoRegion = 0;
    return equal(a, b, kNoRegion, ffi::String(field)).template cast<bool>();
  };
  if (!same(lhs->attrs, rhs->attrs, "attrs")) return false;
  if (!same(lhs->global_infos, rhs->global_infos, "global_infos")) return false;
  // Functions of the right side under the variables of the left, so that the maps have one key.
  ffi::Map<GlobalVar, BaseFunc> left, right;
  for (const auto& [var, func] : lhs->SortedFunctions()) left.Set(var, func);
  for (const auto& [var, func] : rhs->SortedFunctions()) {
    auto it = lhs->global_var_map_.find(var->name_hint);
    right.Set(it == lhs->global_var_map_.end() ? var : (*it).second, func);
  }
  return same(left, right, "functions");
}

int64_t ModuleHash(const IRModule& mod, int64_t init, const ffi::Function& hash) {
  constexpr int kNone = 0;
  int64_t value = hash(mod->attrs, init, kNone).cast<int64_t>();
  value = hash(mod->global_infos, value, kNone).cast<int64_t>();
  std::vector<std::pair<GlobalVar, BaseFunc>> items = mod->SortedFunctions();
  value = hash(static_cast<int64_t>(items.size()), value, kNone).cast<int64_t>();
  for (const auto& [var, func] : items) {
    value = hash(var->name_hint, value, kNone).cast<int64_t>();
    value = hash(func, value, kNone).cast<int64_t>();
  }
  return value;
}

/// The object itself: what Python calls changes it without a copy.
IRModuleNode* Shared(const IRModule& mod) { return const_cast<IRModuleNode*>(mod.operator->()); }

/// The variable that a key of {name or variable: function} stands for.
GlobalVar AsGlobalVar(const IRModule& mod, const ffi::Any& key) {
  if (auto var = key.as<GlobalVar>()) return *var;
  ffi::String name = key.cast<ffi::String>();
  return mod->ContainGlobalVar(name) ? mod->GetGlobalVar(name) : GlobalVar(name);
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  IRModuleNode::RegisterReflection();
  refl::TypeAttrDef<IRModuleNode>().def("__s_equal__", ModuleEqual).def("__s_hash__", ModuleHash);
  refl::GlobalDef()
      .def("ir.IRModule",
           [](ffi::Map<GlobalVar, BaseFunc> functions, ffi::Optional<ffi::ObjectRef> attrs,
              ffi::Map<ffi::String, ffi::Array<GlobalInfo>> global_infos) {
             DictAttrs dict;
             if (attrs.has_value()) dict = Downcast<DictAttrs>(attrs.value());
             return IRModule(functions, SourceMap(), dict, global_infos);
           })
      .def("ir.Module_Clone",
           [](const IRModule& mod) {
             return IRModule(ffi::make_object<IRModuleNode>(*Shared(mod)));
           })
      .def("ir.Module_Add",
           [](IRModule mod, const ffi::Any& key, const BaseFunc& func, bool update) {
             Shared(mod)->Add(AsGlobalVar(mod, key), func, update);
             return mod;
           })
      .def("ir.Module_Remove",
           [](IRModule mod, const ffi::Any& key) {
             GlobalVar var;
             if (auto given = key.as<GlobalVar>()) {
               var = *given;
             } else {
               var = mod->GetGlobalVar(key.cast<ffi::String>());
             }
             Shared(mod)->Remove(var);
             return mod;
           })
      .def("ir.Module_Contains",
           [](const IRModule& mod, const ffi::Any& key) {
             if (auto var = key.as<GlobalVar>()) return mod->functions.count(*var) != 0;
             return mod->ContainGlobalVar(key.cast<ffi::String>());
           })
      .def("ir.Module_ContainGlobalVar",
           [](const IRModule& mod, const ffi::String& name) { return mod->ContainGlobalVar(name); })
      .def("ir.Module_GetGlobalVar",
           [](const IRModule& mod, const ffi::String& name) { return mod->GetGlobalVar(name); })
      .def("ir.Module_GetGlobalVars", [](const IRModule& mod) { return mod->GetGlobalVars(); })
      .def("ir.Module_Lookup",
           [](const IRModule& mod, const GlobalVar& var) { return mod->Lookup(var); })
      .def("ir.Module_Lookup_str",
           [](const IRModule& mod, const ffi::String& name) { return mod->Lookup(name); })
      .def("ir.Module_FromExpr",
           [](const Expr& expr, ffi::Optional<ffi::Map<GlobalVar, BaseFunc>> functions) {
             return IRModule::FromExpr(expr, functions.value_or(ffi::Map<GlobalVar, BaseFunc>()));
           })
      .def("ir.Module_Update",
           [](IRModule mod, const IRModule& other) { Shared(mod)->Update(other); })
      .def("ir.Module_UpdateFunction", [](IRModule mod, const GlobalVar& var,
                                          const BaseFunc& func) { Shared(mod)->Update(var, func); })
      .def("ir.Module_UpdateGlobalInfo",
           [](IRModule mod, const ffi::String& name, const ffi::Array<GlobalInfo>& infos) {
             Shared(mod)->UpdateGlobalInfo(name, infos);
           })
      .def("ir.Module_GetAttrs", [](const IRModule& mod) { return mod->attrs; })
      .def("ir.Module_GetAttr",
           [](const IRModule& mod, const ffi::String& key) {
             auto it = mod->attrs->dict.find(key);
             return it == mod->attrs->dict.end() ? ffi::Any() : ffi::Any((*it).second);
           })
      .def("ir.Module_WithAttr",
           [](IRModule mod, const ffi::String& key, ffi::Any value) {
             return WithAttr(std::move(mod), key, std::move(value));
           })
      .def("ir.Module_WithAttrs",
           [](IRModule mod, const ffi::Map<ffi::String, ffi::Any>& values) {
             return WithAttrs(std::move(mod), values);
           })
      .def("ir.Module_WithoutAttr",
           [](IRModule mod, const ffi::String& key) { return WithoutAttr(std::move(mod), key); });
}

}  // namespace tvm
