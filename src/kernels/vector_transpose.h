// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Squares of elements in registers: turned, or their rows added up.
#ifndef TVM_KERNELS_VECTOR_TRANSPOSE_H_
#define TVM_KERNELS_VECTOR_TRANSPOSE_H_

#include <functional>
#include <vector>

#include "kernels/group.h"

namespace tvm {
namespace kernels {

inline bool IsPowerOfTwo(int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

/// Lanes from the concatenation of a and b, vectors of `lanes`; lane i is `pick(i)`.
PrimExpr ShuffleTwo(const PrimExpr& a, const PrimExpr& b, int64_t lanes,
                    const std::function<int64_t(int64_t)>& pick);

/// Appends the statements that turn rows into columns; `rows`, as many as each has lanes, are then
/// the columns. Each round merges rows i and i + n/2 lane by lane, which moves one bit of the lane
/// number into the row's.
void TransposeVectors(std::vector<Var>* rows, ffi::Array<tirx::Stmt>* seq);

/// The sums of the lanes of each vector side by side, zeros after them; no more vectors than each
/// has lanes, a power of two. Neighbouring lanes are added up and vectors joined in pairs, until
/// one vector has all sums. What is needed for that is appended to `seq`.
PrimExpr SumsOfLanes(std::vector<PrimExpr> vectors, ffi::Array<tirx::Stmt>* seq);

}  // namespace kernels
}  // namespace tvm

#endif  // TVM_KERNELS_VECTOR_TRANSPOSE_H_
