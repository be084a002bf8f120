// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Element-wise operators as functions of scalars.
///
/// Float rules (src/ir/const_fold.h): max and min propagate NaN, comparisons with NaN are false.
#ifndef TVM_SRC_RELAX_OP_SCALAR_FNS_H_
#define TVM_SRC_RELAX_OP_SCALAR_FNS_H_

#include <tvm/ir/scalar_op.h>

namespace tvm {
namespace relax {
namespace ex {

// clang-format off: the formatter takes chains of macros for casts
#define TVM_RX_EX_UNARY(X) \
  X(Acos) X(Acosh) X(Asin) X(Asinh) X(Atan) X(Atanh) X(Cos) X(Cosh) X(Sin) X(Sinh) X(Tan) \
  X(Tanh) X(Exp) X(Log) X(Sqrt) X(Rsqrt) X(Sigmoid) X(Erf) X(Gelu) X(GeluTanh) X(Selu) \
  X(Silu) X(Abs) X(Negative) X(Sign) X(Square) X(Round) X(Floor) X(Ceil) X(Trunc) \
  X(BitwiseNot) X(LogicalNot) X(Relu) X(IsFinite) X(IsInf) X(IsNan)
// clang-format on
// clang-format off: the formatter takes chains of macros for casts
#define TVM_RX_EX_BINARY(X) \
  X(Add) X(Subtract) X(Multiply) X(Divide) X(FloorDivide) X(Power) X(Mod) X(FloorMod) \
  X(Maximum) X(Minimum) X(LogAddExp) X(Atan2) X(BitwiseAnd) X(BitwiseOr) X(BitwiseXor) \
  X(LeftShift) X(RightShift) X(LogicalAnd) X(LogicalOr) X(LogicalXor) X(Equal) X(NotEqual) \
  X(Less) X(LessEqual) X(Greater) X(GreaterEqual)
// clang-format on
#define TVM_RX_DECL1(Name) PrimExpr Name(PrimExpr x);
#define TVM_RX_DECL2(Name) PrimExpr Name(PrimExpr a, PrimExpr b);
TVM_RX_EX_UNARY(TVM_RX_DECL1)
TVM_RX_EX_BINARY(TVM_RX_DECL2)
#undef TVM_RX_DECL1
#undef TVM_RX_DECL2

}  // namespace ex
}  // namespace relax
}  // namespace tvm

#endif  // TVM_SRC_RELAX_OP_SCALAR_FNS_H_
