// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Passes that lower functions of blocks, and the CPU pipeline made of them.
#ifndef TVM_S_TIR_TRANSFORM_H_
#define TVM_S_TIR_TRANSFORM_H_

#include <tvm/tirx/transform.h>

namespace tvm {
namespace s_tir {
namespace transform {

using tvm::transform::Pass;

// From blocks to loops.
TVM_DLL Pass CanonicalizeLoop();
TVM_DLL Pass LowerInitBlock();
TVM_DLL Pass PlanAndUpdateBufferAllocationLocation();
TVM_DLL Pass ConvertBlocksToOpaque();
TVM_DLL Pass CompactBufferAllocation(bool is_strict = true);
TVM_DLL Pass LowerMatchBuffer();
TVM_DLL Pass LowerOpaqueBlock();

// On loops.
TVM_DLL Pass HoistIfThenElse();
TVM_DLL Pass RewriteUnsafeSelect();

/// Everything between scheduled functions and code generation for a CPU: functions of blocks or of
/// loops to packed, flat, vectorized code. The target is bound by BindTarget beforehand.
TVM_DLL Pass LowerCpu();
/// The two halves of LowerCpu under the names of the public pipelines: up to MakePackedAPI, and the
/// host finalizer.
TVM_DLL Pass CpuPipeline();
TVM_DLL Pass FinalizeHost();

}  // namespace transform
}  // namespace s_tir
}  // namespace tvm

#endif  // TVM_S_TIR_TRANSFORM_H_
