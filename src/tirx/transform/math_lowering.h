// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Float32 functions as polynomials on scalars or vectors.
#ifndef TVM_SRC_TIRX_TRANSFORM_MATH_LOWERING_H_
#define TVM_SRC_TIRX_TRANSFORM_MATH_LOWERING_H_

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
PrimExpr LowerExp(const PrimExpr& x, const MathOptions& options);
PrimExpr LowerExp2(const PrimExpr& x, const MathOptions& options);
PrimExpr LowerExp10(const PrimExpr& x, const MathOptions& options);
PrimExpr LowerLog(const PrimExpr& x, const MathOptions& options);
PrimExpr LowerLog2(const PrimExpr& x, const MathOptions& options);
PrimExpr LowerLog10(const PrimExpr& x, const MathOptions& options);
PrimExpr LowerLog1p(const PrimExpr& x, const MathOptions& options);
PrimExpr LowerTanh(const PrimExpr& x, const MathOptions& options);
PrimExpr LowerSigmoid(const PrimExpr& x, const MathOptions& options);
PrimExpr LowerErf(const PrimExpr& x, const MathOptions& options);
PrimExpr LowerRsqrt(const PrimExpr& x, const MathOptions& options);
PrimExpr LowerPow(const PrimExpr& x, const PrimExpr& y, const MathOptions& options);

}  // namespace tirx
}  // namespace tvm

#endif  // TVM_SRC_TIRX_TRANSFORM_MATH_LOWERING_H_
