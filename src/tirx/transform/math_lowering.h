// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Float32 functions as polynomials on scalars or vectors.
#ifndef TVM_SRC_TIRX_TRANSFORM_MATH_LOWERING_H_
#define TVM_SRC_TIRX_TRANSFORM_MATH_LOWERING_H_

#include <tvm/runtime/base.h>
#include <tvm/tirx/expr.h>

namespace tvm {
namespace tirx {

/// How the target multiplies and adds.
struct MathOptions {
  /// The machine has a fused multiply-add.
  bool has_fma = false;
};

/// Each function takes and gives float32 of any lanes. Errors stay within 2 ulp over the whole
/// range; infinities, NaN, signed zeros and denormals behave as in C. Only additions,
/// multiplications, divisions, selects and bit moves are used, so vectors stay vectors.
TVM_DLL PrimExpr LowerExp(const PrimExpr& x, const MathOptions& options);
TVM_DLL PrimExpr LowerExp2(const PrimExpr& x, const MathOptions& options);
TVM_DLL PrimExpr LowerExp10(const PrimExpr& x, const MathOptions& options);
TVM_DLL PrimExpr LowerLog(const PrimExpr& x, const MathOptions& options);
TVM_DLL PrimExpr LowerLog2(const PrimExpr& x, const MathOptions& options);
TVM_DLL PrimExpr LowerLog10(const PrimExpr& x, const MathOptions& options);
TVM_DLL PrimExpr LowerLog1p(const PrimExpr& x, const MathOptions& options);
TVM_DLL PrimExpr LowerTanh(const PrimExpr& x, const MathOptions& options);
TVM_DLL PrimExpr LowerSigmoid(const PrimExpr& x, const MathOptions& options);
TVM_DLL PrimExpr LowerErf(const PrimExpr& x, const MathOptions& options);
/// erf for results that are rounded to bfloat16, in a third of the time: its absolute error is
/// 1.1e-5 at most, relative to the result 1e-4, and from |x| = 3.125 on it is 1.
TVM_DLL PrimExpr LowerShortErf(const PrimExpr& x, const MathOptions& options);
TVM_DLL PrimExpr LowerRsqrt(const PrimExpr& x, const MathOptions& options);
TVM_DLL PrimExpr LowerPow(const PrimExpr& x, const PrimExpr& y, const MathOptions& options);

}  // namespace tirx
}  // namespace tvm

#endif  // TVM_SRC_TIRX_TRANSFORM_MATH_LOWERING_H_
