// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Builders of scalar expressions: operands are promoted to a common dtype, constants are folded as
/// the machine computes them (see src/ir/const_fold.h).
///
/// Promotion (BinaryOpMatchTypes): a scalar is broadcast to the other operand's lanes; a literal
/// takes the dtype of the other operand when it fits; float wins over int; the wider float or int
/// wins; int and uint of one width give int.
#ifndef TVM_IR_SCALAR_OP_H_
#define TVM_IR_SCALAR_OP_H_

#include <tvm/ir/op.h>
#include <tvm/ir/scalar.h>

#include <limits>
#include <type_traits>

namespace tvm {

/// Brings two operands to one dtype, adding casts and broadcasts. TypeError when there is none.
TVM_DLL void BinaryOpMatchTypes(PrimExpr& lhs, PrimExpr& rhs, const Span& span = Span());

// Arithmetic.
TVM_DLL PrimExpr add(PrimExpr a, PrimExpr b, Span span = Span());
TVM_DLL PrimExpr sub(PrimExpr a, PrimExpr b, Span span = Span());
TVM_DLL PrimExpr mul(PrimExpr a, PrimExpr b, Span span = Span());
TVM_DLL PrimExpr neg(PrimExpr a, Span span = Span());
/// Div: quotient toward zero for integers.
TVM_DLL PrimExpr div(PrimExpr a, PrimExpr b, Span span = Span());
TVM_DLL PrimExpr truncdiv(PrimExpr a, PrimExpr b, Span span = Span());
TVM_DLL PrimExpr truncmod(PrimExpr a, PrimExpr b, Span span = Span());
/// Division of index values that are known to be non-negative; a FloorDiv.
TVM_DLL PrimExpr indexdiv(PrimExpr a, PrimExpr b, Span span = Span());
TVM_DLL PrimExpr indexmod(PrimExpr a, PrimExpr b, Span span = Span());
TVM_DLL PrimExpr floordiv(PrimExpr a, PrimExpr b, Span span = Span());
TVM_DLL PrimExpr floormod(PrimExpr a, PrimExpr b, Span span = Span());
TVM_DLL PrimExpr ceildiv(PrimExpr a, PrimExpr b, Span span = Span());
/// floordiv(a, b) of shape values: a and b are at least 0 and 1.
TVM_DLL PrimExpr shapediv(PrimExpr a, PrimExpr b, Span span = Span());
TVM_DLL PrimExpr logaddexp(PrimExpr a, PrimExpr b, Span span = Span());
TVM_DLL PrimExpr max(PrimExpr a, PrimExpr b, Span span = Span());
TVM_DLL PrimExpr min(PrimExpr a, PrimExpr b, Span span = Span());
/// Largest / smallest finite value of a dtype.
TVM_DLL PrimExpr max_value(DataType dtype, Span span = Span());
TVM_DLL PrimExpr min_value(DataType dtype, Span span = Span());
TVM_DLL PrimExpr infinity(DataType dtype, Span span = Span());

// Comparison: bool results. Operators == and != build expressions; use same_as for identity.
TVM_DLL PrimExpr equal(PrimExpr a, PrimExpr b, Span span = Span());
TVM_DLL PrimExpr not_equal(PrimExpr a, PrimExpr b, Span span = Span());
TVM_DLL PrimExpr less(PrimExpr a, PrimExpr b, Span span = Span());
TVM_DLL PrimExpr less_equal(PrimExpr a, PrimExpr b, Span span = Span());
TVM_DLL PrimExpr greater(PrimExpr a, PrimExpr b, Span span = Span());
TVM_DLL PrimExpr greater_equal(PrimExpr a, PrimExpr b, Span span = Span());

// Logic on bool values.
TVM_DLL PrimExpr logical_and(PrimExpr a, PrimExpr b, Span span = Span());
TVM_DLL PrimExpr logical_or(PrimExpr a, PrimExpr b, Span span = Span());
TVM_DLL PrimExpr logical_not(PrimExpr a, Span span = Span());

// Bits.
TVM_DLL PrimExpr left_shift(PrimExpr a, PrimExpr b, Span span = Span());
TVM_DLL PrimExpr right_shift(PrimExpr a, PrimExpr b, Span span = Span());
TVM_DLL PrimExpr bitwise_and(PrimExpr a, PrimExpr b, Span span = Span());
TVM_DLL PrimExpr bitwise_or(PrimExpr a, PrimExpr b, Span span = Span());
TVM_DLL PrimExpr bitwise_xor(PrimExpr a, PrimExpr b, Span span = Span());
TVM_DLL PrimExpr bitwise_neg(PrimExpr a, Span span = Span());

// Choice.
/// Evaluates only the chosen value.
TVM_DLL PrimExpr if_then_else(PrimExpr cond, PrimExpr true_value, PrimExpr false_value,
                              Span span = Span());
/// Evaluates both values.
TVM_DLL PrimExpr select(PrimExpr cond, PrimExpr true_value, PrimExpr false_value,
                        Span span = Span());
/// Marks a condition as mostly true, e.g. the guard of a tail.
TVM_DLL PrimExpr likely(PrimExpr cond, Span span = Span());

// Conversion.
TVM_DLL PrimExpr cast(DataType dtype, PrimExpr value, Span span = Span());
TVM_DLL PrimExpr reinterpret(DataType dtype, Expr value, Span span = Span());

// Functions of one value.
// clang-format off: the formatter takes chains of macros for casts
#define TVM_IR_FOR_EACH_UNARY_MATH(X) \
  X(exp) X(exp2) X(exp10) X(erf) X(tanh) X(sigmoid) X(sqrt) X(rsqrt) X(log) X(log2) X(log10) \
  X(log1p) X(tan) X(cos) X(cosh) X(sin) X(sinh) X(asin) X(acos) X(atan) X(acosh) X(asinh) \
  X(atanh) X(popcount) X(clz)
// clang-format on
#define TVM_IR_DECLARE_UNARY_MATH_(Name) TVM_DLL PrimExpr Name(PrimExpr x, Span span = Span());
TVM_IR_FOR_EACH_UNARY_MATH(TVM_IR_DECLARE_UNARY_MATH_)
#undef TVM_IR_DECLARE_UNARY_MATH_
TVM_DLL PrimExpr abs(PrimExpr x, Span span = Span());
TVM_DLL PrimExpr floor(PrimExpr x, Span span = Span());
TVM_DLL PrimExpr ceil(PrimExpr x, Span span = Span());
TVM_DLL PrimExpr round(PrimExpr x, Span span = Span());
TVM_DLL PrimExpr nearbyint(PrimExpr x, Span span = Span());
TVM_DLL PrimExpr trunc(PrimExpr x, Span span = Span());
TVM_DLL PrimExpr isnan(PrimExpr x, Span span = Span());
TVM_DLL PrimExpr isinf(PrimExpr x, Span span = Span());
TVM_DLL PrimExpr isfinite(PrimExpr x, Span span = Span());

// Functions of two and three values.
TVM_DLL PrimExpr pow(PrimExpr x, PrimExpr y, Span span = Span());
TVM_DLL PrimExpr fmod(PrimExpr x, PrimExpr y, Span span = Span());
TVM_DLL PrimExpr atan2(PrimExpr x, PrimExpr y, Span span = Span());
TVM_DLL PrimExpr nextafter(PrimExpr x, PrimExpr y, Span span = Span());
TVM_DLL PrimExpr copysign(PrimExpr x, PrimExpr y, Span span = Span());
TVM_DLL PrimExpr hypot(PrimExpr x, PrimExpr y, Span span = Span());
TVM_DLL PrimExpr ldexp(PrimExpr x, PrimExpr exponent, Span span = Span());
TVM_DLL PrimExpr fma(PrimExpr x, PrimExpr y, PrimExpr z, Span span = Span());
/// Fixed point product: round(x * y * 2^-q) >> s, the rounding half up.
TVM_DLL PrimExpr q_multiply_shift(PrimExpr x, PrimExpr y, PrimExpr q, PrimExpr s,
                                  Span span = Span());

// Reductions over axes (te).
TVM_DLL PrimExpr sum(PrimExpr source, ffi::Array<tirx::IterVar> axis,
                     ffi::Array<PrimExpr> init = {}, Span span = Span());
TVM_DLL PrimExpr prod(PrimExpr source, ffi::Array<tirx::IterVar> axis,
                      ffi::Array<PrimExpr> init = {}, Span span = Span());
TVM_DLL PrimExpr max(PrimExpr source, ffi::Array<tirx::IterVar> axis,
                     ffi::Array<PrimExpr> init = {}, Span span = Span());
TVM_DLL PrimExpr min(PrimExpr source, ffi::Array<tirx::IterVar> axis,
                     ffi::Array<PrimExpr> init = {}, Span span = Span());
TVM_DLL PrimExpr all(PrimExpr source, ffi::Array<tirx::IterVar> axis,
                     ffi::Array<PrimExpr> init = {}, Span span = Span());
TVM_DLL PrimExpr any(PrimExpr source, ffi::Array<tirx::IterVar> axis,
                     ffi::Array<PrimExpr> init = {}, Span span = Span());

// Constants.
/// Literal (or broadcast of it) of any numeric dtype; the value is checked against its range.
TVM_DLL PrimExpr MakeConstInt(DataType dtype, int64_t value, Span span = Span());
TVM_DLL PrimExpr MakeConstFloat(DataType dtype, double value, Span span = Span());
template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
inline PrimExpr make_const(DataType dtype, T value, Span span = Span()) {
  if constexpr (std::is_floating_point_v<T>) {
    return MakeConstFloat(dtype, static_cast<double>(value), std::move(span));
  } else {
    return MakeConstInt(dtype, static_cast<int64_t>(value), std::move(span));
  }
}
inline PrimExpr make_zero(DataType dtype, Span span = Span()) {
  return make_const(dtype, 0, std::move(span));
}
inline PrimExpr const_true(int lanes = 1, Span span = Span()) {
  return make_const(DataType::Bool().with_lanes(lanes), 1, std::move(span));
}
inline PrimExpr const_false(int lanes = 1, Span span = Span()) {
  return make_const(DataType::Bool().with_lanes(lanes), 0, std::move(span));
}

/// Value of an integer literal, else null.
inline const int64_t* as_const_int(const Expr& expr) {
  const auto* imm = expr.as<IntImmNode>();
  return imm == nullptr ? nullptr : &imm->value;
}
/// True for an integer literal (or a broadcast of one) of that value.
TVM_DLL bool is_const_int(const Expr& expr, int64_t value);
/// True for any integer literal, or a broadcast of one.
TVM_DLL bool is_const_int(const Expr& expr);
TVM_DLL bool is_const_number(const Expr& expr);
inline bool is_zero(const Expr& expr) { return is_const_int(expr, 0); }
inline bool is_one(const Expr& expr) { return is_const_int(expr, 1); }
TVM_DLL bool is_positive_const(const Expr& expr);
TVM_DLL bool is_negative_const(const Expr& expr);
/// Exponent when the expression is a positive power-of-two literal.
TVM_DLL bool is_const_power_of_two_integer(const Expr& expr, int* shift);
/// Same object, or literals of one dtype and value.
TVM_DLL bool is_same_value(const PrimExpr& a, const PrimExpr& b);
/// bool (vector) dtype?
inline bool is_bool_expr(const Expr& expr) { return expr.dtype().is_predicate_dtype(); }

/// Left fold of values with a binary builder; `init` for an empty list.
template <typename F>
inline PrimExpr foldl(F reduce, PrimExpr init, const ffi::Array<PrimExpr>& values,
                      Span span = Span()) {
  for (const PrimExpr& value : values) init = reduce(init, value, span);
  return init;
}

// Operators. Integer / and % need the rounding in their name: use truncdiv, floordiv, ...
#define TVM_IR_DEFINE_OPERATOR_(Op, Func) \
  inline PrimExpr operator Op(const PrimExpr& a, const PrimExpr& b) { return Func(a, b); }
TVM_IR_DEFINE_OPERATOR_(+, add)
TVM_IR_DEFINE_OPERATOR_(-, sub)
TVM_IR_DEFINE_OPERATOR_(*, mul)
TVM_IR_DEFINE_OPERATOR_(<=, less_equal)
TVM_IR_DEFINE_OPERATOR_(>, greater)
TVM_IR_DEFINE_OPERATOR_(>=, greater_equal)
TVM_IR_DEFINE_OPERATOR_(&&, logical_and)
TVM_IR_DEFINE_OPERATOR_(||, logical_or)
TVM_IR_DEFINE_OPERATOR_(<<, left_shift)
TVM_IR_DEFINE_OPERATOR_(>>, right_shift)
TVM_IR_DEFINE_OPERATOR_(&, bitwise_and)
TVM_IR_DEFINE_OPERATOR_(|, bitwise_or)
TVM_IR_DEFINE_OPERATOR_(^, bitwise_xor)
#undef TVM_IR_DEFINE_OPERATOR_
// ObjectRef compares by identity and address; the overloads on Var keep ==, != and < expressions.
#define TVM_IR_DEFINE_EQUALITY_(Op, Func)                                                  \
  inline PrimExpr operator Op(const PrimExpr& a, const PrimExpr& b) { return Func(a, b); } \
  inline PrimExpr operator Op(const Var& a, const PrimExpr& b) { return Func(a, b); }      \
  inline PrimExpr operator Op(const PrimExpr& a, const Var& b) { return Func(a, b); }      \
  inline PrimExpr operator Op(const Var& a, const Var& b) { return Func(a, b); }
TVM_IR_DEFINE_EQUALITY_(==, equal)
TVM_IR_DEFINE_EQUALITY_(!=, not_equal)
TVM_IR_DEFINE_EQUALITY_(<, less)
#undef TVM_IR_DEFINE_EQUALITY_
inline PrimExpr operator-(const PrimExpr& a) { return neg(a); }
inline PrimExpr operator!(const PrimExpr& a) { return logical_not(a); }
inline PrimExpr operator~(const PrimExpr& a) { return bitwise_neg(a); }
inline PrimExpr& operator+=(PrimExpr& a, const PrimExpr& b) { return a = add(a, b); }
inline PrimExpr& operator-=(PrimExpr& a, const PrimExpr& b) { return a = sub(a, b); }
inline PrimExpr& operator*=(PrimExpr& a, const PrimExpr& b) { return a = mul(a, b); }
/// Float division only: TypeError for integers, whose rounding must be named.
TVM_DLL PrimExpr operator/(const PrimExpr& a, const PrimExpr& b);

/// Names of the ops that the simplifier and folder know, each resolved once.
namespace builtin_scalar {
TVM_DLL const Op& if_then_else();
TVM_DLL const Op& likely();
TVM_DLL const Op& shift_left();
TVM_DLL const Op& shift_right();
TVM_DLL const Op& bitwise_and();
TVM_DLL const Op& bitwise_or();
TVM_DLL const Op& bitwise_xor();
TVM_DLL const Op& bitwise_not();
TVM_DLL const Op& reinterpret();
TVM_DLL const Op& buffer_data();
TVM_DLL const Op& vscale();
TVM_DLL const Op& clz();
TVM_DLL const Op& popcount();
TVM_DLL const Op& log2();
TVM_DLL const Op& ceil();
TVM_DLL const Op& isnan();
}  // namespace builtin_scalar

}  // namespace tvm

// The same builders inside tirx and te code that names them with its own prefix.
namespace tvm::tirx {
using tvm::as_const_int;
using tvm::const_false;
using tvm::const_true;
using tvm::is_const_int;
using tvm::is_one;
using tvm::is_zero;
using tvm::make_const;
using tvm::make_zero;
}  // namespace tvm::tirx
#endif  // TVM_IR_SCALAR_OP_H_
