// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief DispatchKernels: each function of blocks becomes the loops of its kernel rule.
#include <tvm/ffi/extra/visit_error_context.h>
#include <tvm/kernels/rule.h>
#include <tvm/relax/expr_functor.h>
#include <tvm/relax/transform.h>
#include <tvm/support/parallel_for.h>
#include <tvm/tirx/function.h>

#include <unordered_map>

namespace tvm {
namespace relax {
namespace transform {

namespace {

/// How often the graph functions of a module name each global variable.
std::unordered_map<std::string, int64_t> CountCalls(const IRModule& mod) {
  struct Counter : public ExprVisitor {
    std::unordered_map<std::string, int64_t> calls;
    void VisitExpr_(const GlobalVarNode* op) override { ++calls[op->name_hint]; }
  };
  Counter counter;
  for (const auto& [gv, base] : mod->functions) {
    if (auto func = base.as<Function>()) counter.VisitExpr(func.value());
  }
  return counter.calls;
}

IRModule Run(IRModule mod, const Target& target) {
  std::vector<std::pair<GlobalVar, tirx::PrimFunc>> work;
  for (const auto& [gv, base] : mod->SortedFunctions()) {
    auto func = base.as<tirx::PrimFunc>();
    if (!func.has_value() || !func.value()->HasNonzeroAttr(tvm::attr::kSTir) ||
        func.value()->HasNonzeroAttr(tirx::attr::kIsScheduled)) {
      continue;
    }
    work.emplace_back(gv, func.value());
  }
  if (work.empty()) return mod;
  const auto calls = CountCalls(mod);
  std::vector<kernels::KernelGroup> groups;
  for (const auto& [gv, f] : work) {
    auto it = calls.find(gv->name_hint);
    groups.push_back({gv->name_hint, f, it == calls.end() ? 1 : it->second});
  }
  const std::vector<kernels::KernelChoice> choices = kernels::ChooseKnobs(groups, target);
  support::ParallelFor(work.size(), [&](size_t i) {
    TargetScope scope(target);
    TVM_FFI_VISIT_BEGIN();
    tirx::PrimFunc f = kernels::EmitChosen(work[i].second, target, choices[i]);
    // The virtual machine passes what the memory plan made: no checks are needed.
    work[i].second = tvm::WithAttr(f, tirx::attr::kNoArgCheck, ffi::Any(true));
    TVM_FFI_VISIT_END(work[i].first);
  });
  auto* node = mod.CopyOnWrite();
  for (const auto& [gv, f] : work) node->Update(gv, f);
  return mod;
}

}  // namespace

Pass DispatchKernels(Target target) {
  return tvm::transform::CreateModulePass(
      [target](IRModule mod, const PassContext&) { return Run(std::move(mod), target); }, 0,
      "DispatchKernels");
}

}  // namespace transform
}  // namespace relax
}  // namespace tvm
