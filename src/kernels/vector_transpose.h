// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Squares of elements in registers, turned.
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

}  // namespace kernels
}  // namespace tvm

#endif  // TVM_KERNELS_VECTOR_TRANSPOSE_H_
