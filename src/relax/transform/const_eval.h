// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Evaluation of operators on constants without compiling: moves and element-wise maths.
#ifndef TVM_SRC_RELAX_TRANSFORM_CONST_EVAL_H_
#define TVM_SRC_RELAX_TRANSFORM_CONST_EVAL_H_

#include <tvm/relax/expr.h>

#include <vector>

namespace tvm {
namespace relax {

/// Value of a call whose tensor operands are constants: a Constant, or a Tuple of them. Undefined
/// when the operator, or its element type, is not covered.
Optional<Expr> EvalOnHost(const Call& call);
/// Whether EvalOnHost is sure of a value, whatever the elements: the moves, casts and products that
/// a weight goes through on its way from the model into a kernel.
bool IsHostStep(const Call& call, DataType from, DataType to);

/// Elements of `src` at `offset + sum(i[d] * stride[d])` (in elements) as a new compact tensor.
ffi::Tensor CopyStrided(const ffi::Tensor& src, const std::vector<int64_t>& shape,
                        const std::vector<int64_t>& strides, int64_t offset);
/// The same bytes with other dimensions.
ffi::Tensor ReshapeTensor(const ffi::Tensor& src, const std::vector<int64_t>& shape);
/// A weight [k, groups * n] (row-major with the given strides) as panels [groups * ceil(n / panel),
/// k, panel], those of each group together.
ffi::Tensor PackPanels(const ffi::Tensor& src, int64_t k, int64_t n, int64_t stride_k,
                       int64_t stride_n, int64_t panel, int64_t groups = 1);

}  // namespace relax
}  // namespace tvm

#endif  // TVM_SRC_RELAX_TRANSFORM_CONST_EVAL_H_
