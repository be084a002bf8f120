// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#ifndef TVM_SRC_RELAX_TRANSFORM_CONST_MATH_H_
#define TVM_SRC_RELAX_TRANSFORM_CONST_MATH_H_

#include <tvm/relax/expr.h>

#include <string_view>

namespace tvm {
namespace relax {

/// Element-wise operators, casts and `where` on constants, computed as the machine would.
Optional<Expr> EvalElementwise(const Call& call, std::string_view op_name);

}  // namespace relax
}  // namespace tvm

#endif  // TVM_SRC_RELAX_TRANSFORM_CONST_MATH_H_
