// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Linear forms of expressions.
#ifndef TVM_ARITH_PATTERN_H_
#define TVM_ARITH_PATTERN_H_

#include <tvm/ir/expr_functor.h>

namespace tvm::arith {

/// [c_0, ..., c_n-1, base] with expr = sum c_i * vars[i] + base; empty if it is not linear.
TVM_DLL ffi::Array<PrimExpr> DetectLinearEquation(const PrimExpr& expr,
                                                  const ffi::Array<Var>& vars);
/// [lo_0, hi_0, lo_1, hi_1, ...] from a conjunction of bounds on vars; a null element where there
/// is no bound; empty if the condition has another form.
TVM_DLL ffi::Array<PrimExpr> DetectClipBound(const PrimExpr& expr, const ffi::Array<Var>& vars);

}  // namespace tvm::arith
#endif  // TVM_ARITH_PATTERN_H_
