// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Passes of the graph level. Each is described in its own file under src/relax/transform.
#ifndef TVM_RELAX_TRANSFORM_H_
#define TVM_RELAX_TRANSFORM_H_

#include <tvm/ir/transform.h>
#include <tvm/relax/expr.h>
#include <tvm/target/target.h>

namespace tvm {
namespace relax {
namespace transform {

using tvm::transform::Pass;
using tvm::transform::PassContext;

TVM_DLL Pass CreateFunctionPass(std::function<Function(Function, IRModule, PassContext)> body,
                                int opt_level, String name, Array<String> required = {});

TVM_DLL Pass Normalize();
TVM_DLL Pass NormalizeGlobalVar();
TVM_DLL Pass CanonicalizeBindings();
TVM_DLL Pass EliminateCommonSubexpr(bool call_only = false);
TVM_DLL Pass DeadCodeElimination(Array<String> entry_functions = {});
/// With `weights_later`, moves and scales of large constants stay calls, for LowerGroups to
/// evaluate one weight at a time.
TVM_DLL Pass FoldConstant(bool weights_later = false);
TVM_DLL Pass LegalizeOps();
TVM_DLL Pass DecomposeOpsForInference(Optional<String> func_name = std::nullopt);
TVM_DLL Pass ToNonDataflow();
TVM_DLL Pass RemovePurityChecking();
TVM_DLL Pass BindParams(String func_name, Map<ffi::Any, ffi::ObjectRef> params);
TVM_DLL Pass BindSymbolicVars(Map<ffi::Any, PrimExpr> binding, Optional<String> func_name);

/// Attribute `op_pattern` of every PrimFunc, from its accesses.
TVM_DLL Pass AnnotateTIROpPattern();
/// Groups of kernel calls as primitive functions; -1 takes the level of the context.
TVM_DLL Pass FuseOps(int fuse_opt_level = -1);
/// Primitive functions as one PrimFunc each.
TVM_DLL Pass FuseTIR();
TVM_DLL Pass ConvertToDataflow(int64_t min_size = 2);
TVM_DLL Pass LambdaLift();
TVM_DLL Pass RemoveUnusedParameters();
TVM_DLL Pass LiftTransformParams(bool shared_transform = false);
/// Products in float16; `out_dtype` (float32 or float16) is what they give.
TVM_DLL Pass ToMixedPrecision(DataType out_dtype,
                              Optional<Array<String>> fp16_input_names = std::nullopt);

/// Arithmetic between dequantize and quantize on integers.
TVM_DLL Pass LowerQuantization();
/// Algebraic clean-up of inference graphs: batch norm into convolution, scale chains.
TVM_DLL Pass SimplifyInference();
/// Operands of products and convolutions in bfloat16, sums in float32.
TVM_DLL Pass NarrowProducts();
/// Convolution chains in the layouts that the target's kernel rules want.
TVM_DLL Pass PlanLayout(Target target);
/// Groups of operators around anchors, each lowered to one PrimFunc, called by call_tir.
TVM_DLL Pass LowerGroups(Target target);
/// Attribute `tirx.flush_subnormals` of all functions of blocks.
TVM_DLL Pass FlushSubnormals();
/// The loops of the kernel rules for all functions of blocks.
TVM_DLL Pass DispatchKernels(Target target);

TVM_DLL Pass CallTIRRewrite();
TVM_DLL Pass StaticPlanBlockMemory();
TVM_DLL Pass LowerAllocTensor();
TVM_DLL Pass KillAfterLastUse();
TVM_DLL Pass LowerRuntimeBuiltin();
TVM_DLL Pass ComputePrimValue();
TVM_DLL Pass VMShapeLower(bool emit_err_ctx = true);
TVM_DLL Pass AttachGlobalSymbol();

}  // namespace transform
}  // namespace relax
}  // namespace tvm

#endif  // TVM_RELAX_TRANSFORM_H_
