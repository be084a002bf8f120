// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// Modules of PrimFuncs to runnable modules.
#include <tvm/codegen/codegen.h>
#include <tvm/driver/driver.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/s_tir/transform.h>
#include <tvm/support/parallel_for.h>
#include <tvm/tirx/function.h>
#include <tvm/tirx/stmt_functor.h>
#include <tvm/tirx/transform.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string_view>
#include <thread>

#include "driver/kernel_reuse.h"

namespace tvm {
namespace driver {
namespace {

bool IsHostKind(const Target& target) {
  return target->kind->name == "llvm" || target->kind->name == "c";
}

Target DefaultHost() {
  return codegen::TryGetLLVMHooks() != nullptr ? Target("llvm") : Target("c");
}

/// The target to compile for, with its host set.
Target Complete(Target target, const IRModule& mod) {
  if (!target.defined()) target = Target::Current(/*allow_not_defined=*/true);
  if (!target.defined()) {
    for (const auto& [var, base] : mod->SortedFunctions()) {
      if (auto bound = base->GetAttr<Target>(attr::kTarget)) {
        target = *bound;
        break;
      }
    }
  }
  if (!target.defined()) target = DefaultHost();
  if (target->GetHost().has_value()) return target;
  return Target::WithHost(target, IsHostKind(target) ? target : DefaultHost());
}

/// The lowering of a pipeline name: functions as written to packed, split functions.
IRModule Lower(IRModule mod, const ffi::String& pipeline) {
  // One list serves the three names: it accepts functions of blocks and of plain loops.
  if (pipeline == "default" || pipeline == "s_tir" || pipeline == "tirx") {
    return s_tir::transform::CpuPipeline()(std::move(mod));
  }
  // A backend or a user registered it: a function from target to [lowering, host, device] passes.
  auto registered = ffi::Function::GetGlobal("driver.tir_pipeline." + std::string(pipeline));
  TVM_FFI_CHECK(registered.has_value(), ValueError)
      << "unknown TIR pipeline `" << pipeline << "`; known are default, s_tir, tirx and those "
      << "registered by register_tir_pipeline";
  return (*registered)().cast<tvm::transform::Pass>()(std::move(mod));
}

}  // namespace

SplitModules SplitHostDeviceModules(const IRModule& mod) {
  SplitModules split;
  std::map<std::string, size_t> index;
  auto like = [&] {
    return IRModule(ffi::Map<GlobalVar, BaseFunc>(), mod->source_map, mod->attrs,
                    mod->global_infos);
  };
  split.host = like();
  for (const auto& [var, base] : mod->SortedFunctions()) {
    auto target = base->GetAttr<Target>(attr::kTarget);
    if (!target.has_value() || IsHostKind(*target)) {
      split.host.CopyOnWrite()->Add(var, base);
      continue;
    }
    const Target device = (*target).WithoutHost();
    auto [it, fresh] = index.emplace(device->str(), split.devices.size());
    if (fresh) split.devices.emplace_back(device, like());
    split.devices[it->second].second.CopyOnWrite()->Add(var, base);
  }
  return split;
}

namespace {

SplitModules LowerSerially(IRModule mod, const ffi::String& pipeline) {
  SplitModules split = SplitHostDeviceModules(Lower(std::move(mod), pipeline));
  split.host = s_tir::transform::FinalizeHost()(std::move(split.host));
  return split;
}

/// True if functions can be lowered apart from each other: the graph compiler made them, none names
/// another, all are for the host and exported, and nobody watches the passes.
bool AreIndependent(const IRModule& mod) {
  struct Names : public tirx::StmtExprVisitor {
    bool found = false;
    using tirx::StmtExprVisitor::VisitExpr_;
    void VisitExpr_(const CallNode* op) override {
      found = found || op->op.as<GlobalVarNode>() != nullptr;
      tirx::StmtExprVisitor::VisitExpr_(op);
    }
    void VisitExpr_(const GlobalVarNode*) override { found = true; }
  };
  const char* timing = std::getenv("TVM_TIME_PASSES");
  if (timing != nullptr && std::string_view(timing) != "0") return false;
  if (PassOptionsText().empty()) return false;
  for (const auto& [var, base] : mod->functions) {
    auto func = base.as<tirx::PrimFunc>();
    auto target = base->GetAttr<Target>(attr::kTarget);
    const bool plain = func.has_value() && target.has_value() && IsHostKind(*target) &&
                       (*func)->GetLinkageType() == LinkageType::kExternal &&
                       ((*func)->HasNonzeroAttr(tirx::attr::kNoArgCheck) ||
                        (*func)->HasNonzeroAttr(tirx::attr::kIsHostFunc));
    if (!plain) return false;
    Names names;
    names(func.value()->body);
    if (names.found) return false;
  }
  return true;
}

/// The functions in modules of at least two each, as a module's only function is its entry.
std::vector<IRModule> Parts(const IRModule& mod) {
  const auto functions = mod->SortedFunctions();
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  // Several to a core, as functions differ in size.
  const size_t count = std::clamp<size_t>(functions.size() / 2, 1, 4 * cores);
  std::vector<IRModule> parts(count);
  for (IRModule& part : parts) {
    part =
        IRModule(ffi::Map<GlobalVar, BaseFunc>(), mod->source_map, mod->attrs, mod->global_infos);
  }
  for (size_t i = 0; i < functions.size(); ++i) {
    parts[i % count].CopyOnWrite()->Add(functions[i].first, functions[i].second);
  }
  return parts;
}

SplitModules LowerAndSplit(IRModule mod, const Target& target, const ffi::String& pipeline) {
  mod = tirx::transform::BindTarget(target)(std::move(mod));
  if (mod->functions.size() < 4 || !AreIndependent(mod)) {
    return LowerSerially(std::move(mod), pipeline);
  }
  std::vector<IRModule> parts = Parts(mod);
  const auto context = tvm::transform::PassContext::Current();
  support::ParallelFor(parts.size(), [&](size_t i) {
    TargetScope target_scope(target);
    tvm::transform::PassContextScope context_scope(context);
    parts[i] = LowerSerially(std::move(parts[i]), pipeline).host;
  });
  // Functions that passes added stand in the part of their origin.
  SplitModules split;
  split.host =
      IRModule(ffi::Map<GlobalVar, BaseFunc>(), mod->source_map, mod->attrs, mod->global_infos);
  auto* host = split.host.CopyOnWrite();
  for (const IRModule& part : parts) {
    for (const auto& [var, func] : part->functions) host->Add(var, func);
  }
  return split;
}

}  // namespace

ffi::Module TirxBuild(IRModule mod, Target target, const ffi::String& pipeline) {
  for (const auto& [var, base] : mod->SortedFunctions()) {
    TVM_FFI_CHECK(base.as<tirx::PrimFuncNode>() != nullptr, ValueError)
        << "tirx.build takes PrimFuncs, but `" << var->name_hint << "` is a " << base->GetTypeKey();
  }
  target = Complete(std::move(target), mod);
  const Target host = *target->GetHost();
  TargetScope scope(target);
  // What is known already is neither lowered nor compiled.
  KernelReuse known{mod, {}};
  if (IsHostKind(target)) known = PlanKernelReuse(mod, target, pipeline);
  SplitModules split = LowerAndSplit(std::move(known.compile), target, pipeline);
  if (!known.reuse.empty()) {
    known.reuse.whole = [mod, target, pipeline] {
      TargetScope scope(target);
      return LowerAndSplit(mod, target, pipeline).host;
    };
  }
  ffi::Module result = codegen::Build(std::move(split.host), host.WithoutHost(), known.reuse);
  for (auto& [device, functions] : split.devices) {
    result->ImportModule(codegen::Build(std::move(functions), device));
  }
  return result;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  refl::GlobalDef()
      .def("driver.TirxBuild",
           [](IRModule mod, ffi::Optional<Target> target, ffi::Optional<ffi::String> pipeline) {
             return TirxBuild(std::move(mod), target.has_value() ? *target : Target(),
                              pipeline.has_value() ? *pipeline : ffi::String("default"));
           })
      .def("driver.SplitHostDeviceModules", [](IRModule mod) {
        SplitModules split = SplitHostDeviceModules(mod);
        ffi::Map<Target, IRModule> devices;
        for (const auto& [target, functions] : split.devices) devices.Set(target, functions);
        return ffi::Array<ffi::Any>{split.host, devices};
      });
}

}  // namespace driver
}  // namespace tvm
