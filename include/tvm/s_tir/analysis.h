// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Questions about functions of blocks.
#ifndef TVM_S_TIR_ANALYSIS_H_
#define TVM_S_TIR_ANALYSIS_H_

#include <tvm/ir/module.h>
#include <tvm/s_tir/stmt.h>
#include <tvm/target/target.h>
#include <tvm/tirx/transform.h>

namespace tvm {
namespace s_tir {

/// Arithmetic operations on values (not indices). ValueError if a loop's extent is no constant.
TVM_DLL double EstimateTIRFlops(const tirx::Stmt& stmt);
TVM_DLL double EstimateTIRFlops(const IRModule& mod);

/// The block that does most of the work: of those that reduce, the one with the most operations,
/// else of all. Null if there is no block.
TVM_DLL ffi::Optional<tirx::SBlock> FindAnchorSBlock(const IRModule& mod);

/// Whether a function only computes: it writes none of its parameters and calls nothing impure.
TVM_DLL bool IsPureFunction(const tirx::PrimFunc& func);

/// Bytes that a function allocates, by storage scope; buffers of blocks do not count.
TVM_DLL ffi::Map<ffi::String, int64_t> CalculateAllocatedBytes(const tirx::PrimFunc& func);

/// Whether a function respects limits of a GPU: max_local_memory_per_block,
/// max_shared_memory_per_block, max_threads_per_block, max_thread_{x,y,z}, max_vthread,
/// max_vector_bytes, max_kernels. ValueError for other keys.
TVM_DLL bool VerifyGPUCode(const tirx::PrimFunc& func,
                           const ffi::Map<ffi::String, int64_t>& constraints);

namespace transform {
/// Raises ScheduleError if an access can be shown to be outside of its buffer.
TVM_DLL tvm::transform::Pass OOBChecker();
}  // namespace transform

}  // namespace s_tir
}  // namespace tvm

#endif  // TVM_S_TIR_ANALYSIS_H_
