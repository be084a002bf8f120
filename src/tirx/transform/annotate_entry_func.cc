// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Marks the entry of a module: its only PrimFunc, or else its only exported one.
#include <tvm/tirx/transform.h>

#include <vector>

namespace tvm {
namespace tirx {

namespace {

IRModule Run(IRModule mod, const tvm::transform::PassContext&) {
  std::vector<std::pair<GlobalVar, PrimFunc>> all, exported;
  for (const auto& [var, base] : mod->functions) {
    auto func = base.as<PrimFunc>();
    if (!func.has_value()) continue;
    all.emplace_back(var, *func);
    if ((*func)->GetLinkageType() == LinkageType::kExternal) exported.emplace_back(var, *func);
  }
  const auto& candidates = all.size() == 1 ? all : exported;
  if (candidates.size() != 1) return mod;
  auto [var, func] = candidates[0];
  if (func->HasNonzeroAttr(attr::kIsEntryFunc)) return mod;
  mod.CopyOnWrite()->Update(var, WithAttr(func, attr::kIsEntryFunc, true));
  return mod;
}

const tvm::transform::ModulePassRegistration kPass{{
    .name = "tirx.AnnotateEntryFunc",
    .summary = "Mark the only function of a module as its entry",
    .run = Run,
}};

}  // namespace

namespace transform {
Pass AnnotateEntryFunc() { return CreateModulePass(Run, 0, "tirx.AnnotateEntryFunc"); }
}  // namespace transform

}  // namespace tirx
}  // namespace tvm
