// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief From a module of graph functions to an executable.
#ifndef TVM_RELAX_BUILD_H_
#define TVM_RELAX_BUILD_H_

#include <tvm/ffi/extra/module.h>
#include <tvm/relax/transform.h>

#include <functional>

namespace tvm {
namespace relax {

struct BuildOptions {
  /// Weights by parameter name, bound before compilation.
  Map<String, ffi::Any> params;
  /// Pipeline name (`default`, `zero`, ...); empty: the module is already lowered.
  String relax_pipeline = "default";
  String tir_pipeline = "default";
  /// `bytecode` or `compiled`.
  String exec_mode = "bytecode";
  /// Of the operands of products: `float32`, or `bf16`, which also sums in float32.
  String precision = "float32";
  bool system_lib = false;
};

/// Compile `mod` for `target`. Returns a module of kind `relax.VMExecutable`.
TVM_DLL ffi::Module Build(IRModule mod, Target target, BuildOptions options = {});

/// Passes of a named pipeline for a target and a precision (see BuildOptions). ValueError for an
/// unknown name.
TVM_DLL Array<transform::Pass> GetPipeline(const String& name, const Target& target,
                                           const String& precision = "float32");

/// Compiles a module of PrimFuncs to native code. The driver layer sets it.
using FBuildPrimFuncs =
    std::function<ffi::Module(IRModule mod, const Target& target, const String& pipeline)>;
TVM_DLL void SetPrimFuncBuilder(FBuildPrimFuncs builder);
TVM_DLL const FBuildPrimFuncs& GetPrimFuncBuilder();

}  // namespace relax
}  // namespace tvm

#endif  // TVM_RELAX_BUILD_H_
