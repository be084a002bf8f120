// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// What compute_inline and reverse_compute_inline share.
#ifndef TVM_SRC_S_TIR_SCHEDULE_PRIMITIVE_INLINE_UTIL_H_
#define TVM_SRC_S_TIR_SCHEDULE_PRIMITIVE_INLINE_UTIL_H_

#include "s_tir/schedule/primitive_registry.h"
#include "s_tir/schedule/rewrite.h"

namespace tvm {
namespace s_tir {

/// The primitives themselves, for sampled locations.
void ComputeInline(State* state, const StmtSRef& block);
void ReverseComputeInline(State* state, const StmtSRef& consumer);

/// The one buffer that `block` writes, which has to be allocated by its scope.
tirx::Buffer SingleIntermediateBuffer(State* state, const StmtSRef& block,
                                      const StmtSRef& scope_root);
/// Fails if `buffer` is used below `scope_root` other than by loads, stores and regions.
void CheckNoOpaqueUse(const StmtSRef& scope_root, const tirx::Buffer& buffer);

/// The realize of a block whose body uses loops around it: these become iteration variables of the
/// block, data parallel if all that is inside uses them so, opaque otherwise. Regions are found
/// anew.
tirx::SBlockRealize CloseOverLoops(tirx::SBlock block, const ffi::Map<tirx::Var, Range>& loops,
                                   BlockReuse* reuse);

/// Reads and writes of `block` found anew where its body changed; what the block states about other
/// buffers is kept in order.
tirx::SBlock RefreshRegions(tirx::SBlock block);

}  // namespace s_tir
}  // namespace tvm

#endif  // TVM_SRC_S_TIR_SCHEDULE_PRIMITIVE_INLINE_UTIL_H_
