// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/structural_mutate.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/module.h>

namespace tvm {

IRModule ReplaceGlobalVars(const IRModule& mod,
                           const ffi::Map<GlobalVar, GlobalVar>& replacements) {
  if (replacements.empty()) return mod;
  auto rename = [&](const GlobalVar& var) -> GlobalVar {
    auto it = replacements.find(var);
    return it == replacements.end() ? var : (*it).second;
  };
  ffi::Map<GlobalVar, BaseFunc> functions;
  for (const auto& [var, func] : mod->SortedFunctions()) {
    BaseFunc updated =
        ffi::StructuralMap(ffi::Any(func), [&](GlobalVar use) -> ffi::UnchangedOr<ffi::Any> {
          GlobalVar renamed = rename(use);
          if (renamed.same_as(use)) return ffi::Unchanged();
          return ffi::Any(renamed);
        }).cast<BaseFunc>();
    GlobalVar name = rename(var);
    // A symbol that was the name of the function follows it.
    auto symbol = updated->GetAttr<ffi::String>(attr::kGlobalSymbol);
    if (!name.same_as(var) && symbol.has_value() && symbol.value() == var->name_hint) {
      updated = WithAttrsOnCopy(updated, {{attr::kGlobalSymbol, name->name_hint}});
    }
    functions.Set(name, updated);
  }
  return IRModule(functions, mod->source_map, mod->attrs, mod->global_infos);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef().def("ir.Module_ReplaceGlobalVars", ReplaceGlobalVars);
}

}  // namespace tvm
