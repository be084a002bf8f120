// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief relax::Build: from graph functions to an executable of the virtual machine.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/relax/analysis.h>
#include <tvm/relax/build.h>
#include <tvm/relax/expr_functor.h>
#include <tvm/tirx/function.h>

#include "relax/backend/pipeline.h"
#include "relax/backend/vm/codegen_vm.h"
#include "relax/backend/vm/signature.h"
#include "relax/ir/mapped_tensor.h"

namespace tvm {
namespace relax {

namespace {

FBuildPrimFuncs& BuilderSlot() {
  static FBuildPrimFuncs& slot = *new FBuildPrimFuncs();
  return slot;
}

bool HasFunctions(const IRModule& mod) { return !mod->functions.empty(); }

/// Weights in a mapped file have been read to pack them; neighbours of what each reader released
/// may have come in again.
void ReleaseModelPages(const IRModule& mod) {
  struct Visitor : public ExprVisitor {
    void VisitExpr_(const ConstantNode* op) override { ReleasePages(op->data); }
  };
  for (const auto& [gv, base] : mod->functions) {
    if (auto func = base.as<Function>()) Visitor().VisitExpr(func.value());
  }
}

}  // namespace

void SetPrimFuncBuilder(FBuildPrimFuncs builder) { BuilderSlot() = std::move(builder); }
const FBuildPrimFuncs& GetPrimFuncBuilder() {
  TVM_FFI_CHECK(BuilderSlot() != nullptr, RuntimeError)
      << "no builder of kernels is registered: the driver layer is not linked in";
  return BuilderSlot();
}

ffi::Module Build(IRModule mod, Target target, BuildOptions options) {
  TVM_FFI_CHECK(target.defined(), ValueError) << "relax.build needs a target";
  const ExecMode exec_mode = ParseExecMode(options.exec_mode);
  // Kernels without a generator must not quietly become code for the host.
  const std::string generator = "target.build." + std::string(target->kind->name);
  TVM_FFI_CHECK(ffi::Function::GetGlobal(generator).has_value(), ValueError)
      << "this build has no code generator for target kind `" << target->kind->name
      << "` (no global function `" << generator << "`)";
  TargetScope scope(target);
  const IRModule given = mod;
  if (!options.params.empty()) {
    Map<ffi::Any, ffi::ObjectRef> params;
    for (const auto& [name, value] : options.params) {
      params.Set(ffi::Any(name), value.cast<ffi::ObjectRef>());
    }
    mod = transform::BindParams("main", params)(mod);
  }
  if (!options.relax_pipeline.empty()) {
    for (const transform::Pass& pass :
         GetPipeline(options.relax_pipeline, target, options.precision)) {
      mod = pass(mod);
    }
  }
  ReleaseModelPages(given);
  ExecBuilder builder = ExecBuilder::Create();
  IRModule kernels = VMCodeGen(builder, mod, exec_mode);
  EmitSignatures(builder, given);
  Array<ffi::Module> external;
  if (auto ext = kernels->GetAttr<Array<ffi::Module>>(tvm::attr::kExternalMods)) {
    external = ext.value();
    kernels = tvm::WithoutAttr(kernels, tvm::attr::kExternalMods);
  }
  ffi::Module exec(ffi::ObjectPtr<ffi::ModuleObj>(builder->Get()));
  if (HasFunctions(kernels)) {
    exec->ImportModule(GetPrimFuncBuilder()(kernels, target, options.tir_pipeline));
  }
  for (const ffi::Module& m : external) exec->ImportModule(m);
  return exec;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("relax.Build",
           [](IRModule mod, Target target, Optional<Map<String, ffi::Any>> params,
              Optional<String> relax_pipeline, Optional<String> tir_pipeline,
              Optional<String> exec_mode, Optional<String> precision) {
             BuildOptions o;
             if (params.has_value()) o.params = params.value();
             if (relax_pipeline.has_value()) o.relax_pipeline = relax_pipeline.value();
             if (tir_pipeline.has_value()) o.tir_pipeline = tir_pipeline.value();
             if (exec_mode.has_value()) o.exec_mode = exec_mode.value();
             if (precision.has_value()) o.precision = precision.value();
             return Build(mod, target, o);
           })
      .def("relax.GetPipeline",
           [](String name, Target target, String precision) {
             return GetPipeline(name, target, precision);
           })
      .def("relax.ListPipelines", [] { return ListPipelines(); });
}

}  // namespace relax
}  // namespace tvm
