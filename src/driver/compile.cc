// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/driver/driver.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/relax/build.h>
#include <tvm/relax/expr.h>

namespace tvm {
namespace driver {

ffi::Module Compile(IRModule mod, Target target, const ffi::String& relax_pipeline,
                    const ffi::String& tir_pipeline) {
  bool has_relax = false;
  for (const auto& [var, base] : mod->SortedFunctions()) {
    has_relax = has_relax || base.as<relax::FunctionNode>() != nullptr;
  }
  if (!has_relax) return TirxBuild(std::move(mod), std::move(target), tir_pipeline);
  if (!target.defined()) target = Target::Current(/*allow_not_defined=*/true);
  if (!target.defined()) target = Target("llvm");
  relax::BuildOptions options;
  options.relax_pipeline = relax_pipeline;
  options.tir_pipeline = tir_pipeline;
  return relax::Build(std::move(mod), std::move(target), std::move(options));
}

namespace {

// Relax lies below this layer and reaches native code through a hook of its own.
const bool kHookInstalled = [] {
  relax::SetPrimFuncBuilder([](IRModule mod, const Target& target, const ffi::String& pipeline) {
    return TirxBuild(std::move(mod), target, pipeline);
  });
  return true;
}();

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  refl::GlobalDef().def("driver.Compile", [](IRModule mod, ffi::Optional<Target> target,
                                             ffi::Optional<ffi::String> relax_pipeline,
                                             ffi::Optional<ffi::String> tir_pipeline) {
    auto name = [](const ffi::Optional<ffi::String>& given) {
      return given.has_value() ? *given : ffi::String("default");
    };
    return Compile(std::move(mod), target.has_value() ? *target : Target(), name(relax_pipeline),
                   name(tir_pipeline));
  });
}

}  // namespace driver
}  // namespace tvm
