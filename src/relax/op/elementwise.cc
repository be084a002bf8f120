// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file
/// \brief Unary, binary and ternary element-wise operators.
#include "relax/op/common.h"
#include "relax/op/lower.h"

namespace tvm {
namespace relax {

namespace {

Type InferSame(const Call& call, const BlockBuilder&) {
  TensorArg(call, 0);
  return call->args[0]->ty;
}
Type InferSameFloat(const Call& call, const BlockBuilder&) {
  CheckFloat(call, TensorArg(call, 0));
  return call->args[0]->ty;
}
Type InferTest(const Call& call, const BlockBuilder&) {
  return WithDtype(TensorArg(call, 0), DataType::Bool());
}
Type InferClip(const Call& call, const BlockBuilder&) {
  PrimArg(call, 1);
  PrimArg(call, 2);
  TensorArg(call, 0);
  return call->args[0]->ty;
}

DataType ArithDtype(const Call& call, DataType a, DataType b) {
  if (a.is_void() || b.is_void()) return DataType::Void();
  if (a == b) return a;
  // A boolean operand takes the other one's type; a scalar adapts to the tensor.
  if (a.is_bool()) return b;
  if (b.is_bool()) return a;
  if (IsPrim(call->args[1]) && !IsPrim(call->args[0])) return a;
  if (IsPrim(call->args[0]) && !IsPrim(call->args[1])) return b;
  TVM_FFI_THROW(TypeError) << "Binary operators must have the same datatype for both operands.  "
                           << "However, " << call->op << " uses datatype " << a
                           << " on the LHS and datatype " << b << " on the RHS";
}
DataType CompareDtype(const Call& call, DataType a, DataType b) {
  ArithDtype(call, a, b);
  return DataType::Bool();
}
Type InferArith(const Call& call, const BlockBuilder& ctx) {
  return InferBroadcast(call, ctx, ArithDtype);
}
Type InferCompare(const Call& call, const BlockBuilder& ctx) {
  return InferBroadcast(call, ctx, CompareDtype);
}
Type InferFma(const Call& call, const BlockBuilder& ctx) {
  const auto* a = TensorArg(call, 0);
  for (int i = 1; i < 3; ++i) {
    const auto* b = TensorArg(call, i);
    TVM_FFI_CHECK(a->ElementType() == b->ElementType(), TypeError)
        << "relax.ewise_fma expects all inputs to have the same dtype, but got " << a->ElementType()
        << " and " << b->ElementType();
    TVM_FFI_CHECK(TypeBaseCheck(call->args[0]->ty, call->args[i]->ty) != BaseCheckResult::kFailL0,
                  ValueError)
        << "relax.ewise_fma expects all inputs to have the same shape";
  }
  return call->args[0]->ty;
}

}  // namespace

#define RX_UNARY(NAME, INFER, FN, SAMPLES, DOC) \
  {.name = NAME,                                \
   .args = "x",                                 \
   .infer = INFER,                              \
   .pattern = OpPattern::kElemWise,             \
   .lower = LowerUnary<FN>,                     \
   .layout = LayoutRule::kElemWise,             \
   .samples = SAMPLES,                          \
   .doc = DOC}
#define RX_BINARY(NAME, INFER, FN, SAMPLES, DOC) \
  {.name = NAME,                                 \
   .args = "x1:any, x2:any",                     \
   .infer = INFER,                               \
   .pattern = OpPattern::kBroadcast,             \
   .lower = LowerBinary<FN>,                     \
   .layout = LayoutRule::kElemWise,              \
   .samples = SAMPLES,                           \
   .doc = DOC}

static const OpRow kElementwiseRows[] = {
    // unary, floating point only
    RX_UNARY("acos", InferSameFloat, ex::Acos, "f32[2,3]", "Arc cosine."),
    RX_UNARY("acosh", InferSameFloat, ex::Acosh, "f32[2,3]", "Inverse hyperbolic cosine."),
    RX_UNARY("asin", InferSameFloat, ex::Asin, "f32[2,3]", "Arc sine."),
    RX_UNARY("asinh", InferSameFloat, ex::Asinh, "f32[2,3]", "Inverse hyperbolic sine."),
    RX_UNARY("atan", InferSameFloat, ex::Atan, "f32[2,3]", "Arc tangent."),
    RX_UNARY("atanh", InferSameFloat, ex::Atanh, "f32[2,3]", "Inverse hyperbolic tangent."),
    RX_UNARY("cos", InferSameFloat, ex::Cos, "f32[2,3]", "Cosine."),
    RX_UNARY("cosh", InferSameFloat, ex::Cosh, "f32[2,3]", "Hyperbolic cosine."),
    RX_UNARY("sin", InferSameFloat, ex::Sin, "f32[2,3]", "Sine."),
    RX_UNARY("sinh", InferSameFloat, ex::Sinh, "f32[2,3]", "Hyperbolic sine."),
    RX_UNARY("tan", InferSameFloat, ex::Tan, "f32[2,3]", "Tangent."),
    RX_UNARY("tanh", InferSameFloat, ex::Tanh, "f32[2,3]", "Hyperbolic tangent."),
    RX_UNARY("exp", InferSameFloat, ex::Exp, "f32[2,3]", "Exponential."),
    RX_UNARY("log", InferSameFloat, ex::Log, "f32[2,3]", "Natural logarithm."),
    RX_UNARY("sqrt", InferSameFloat, ex::Sqrt, "f32[2,3]", "Square root."),
    RX_UNARY("rsqrt", InferSameFloat, ex::Rsqrt, "f32[2,3]", "Reciprocal of the square root."),
    RX_UNARY("sigmoid", InferSameFloat, ex::Sigmoid, "f32[2,3]", "Logistic function."),
    RX_UNARY("erf", InferSameFloat, ex::Erf, "f32[2,3]", "Error function."),
    RX_UNARY("nn.gelu", InferSameFloat, ex::Gelu, "f32[2,3]", "x * Phi(x), by erf."),
    RX_UNARY("nn.gelu_tanh", InferSameFloat, ex::GeluTanh, "f32[2,3]",
             "x * Phi(x), by the tanh approximation."),
    RX_UNARY("nn.selu", InferSameFloat, ex::Selu, "f32[2,3]",
             "Scaled exponential linear unit (alpha 1.6732632, scale 1.0507010)."),
    RX_UNARY("nn.silu", InferSameFloat, ex::Silu, "f32[2,3]", "x * sigmoid(x)."),
    // unary, any type
    RX_UNARY("abs", InferSame, ex::Abs, "f32[2,3] | i32[4]", "Absolute value."),
    RX_UNARY("negative", InferSame, ex::Negative, "f32[2,3] | i32[4]", "Negation."),
    RX_UNARY("sign", InferSame, ex::Sign, "f32[2,3] | i32[4]", "-1, 0 or 1; NaN stays NaN."),
    RX_UNARY("square", InferSame, ex::Square, "f32[2,3] | i32[4]", "x * x."),
    RX_UNARY("round", InferSame, ex::Round, "f32[2,3]", "Nearest integer, ties to even."),
    RX_UNARY("floor", InferSame, ex::Floor, "f32[2,3]", "Largest integer not above."),
    RX_UNARY("ceil", InferSame, ex::Ceil, "f32[2,3]", "Smallest integer not below."),
    RX_UNARY("trunc", InferSame, ex::Trunc, "f32[2,3]", "Integer part."),
    RX_UNARY("bitwise_not", InferSame, ex::BitwiseNot, "i32[4]", "Complement of the bits."),
    RX_UNARY("logical_not", InferSame, ex::LogicalNot, "bool[4]", "Negation of a truth value."),
    RX_UNARY("nn.relu", InferSame, ex::Relu, "f32[2,3] | i32[4]", "max(x, 0); NaN stays NaN."),
    // tests
    RX_UNARY("isfinite", InferTest, ex::IsFinite, "f32[2,3]", "Neither infinite nor NaN."),
    RX_UNARY("isinf", InferTest, ex::IsInf, "f32[2,3]", "Whether infinite."),
    RX_UNARY("isnan", InferTest, ex::IsNan, "f32[2,3]", "Whether NaN."),
    {.name = "clip",
     .args = "x, min:prim, max:prim",
     .infer = InferClip,
     .pattern = OpPattern::kElemWise,
     .lower = LowerClip,
     .layout = LayoutRule::kElemWise,
     .doc = "Elements limited to [min, max]."},

    // binary arithmetic
    RX_BINARY("add", InferArith, ex::Add, "f32[2,3] f32[3] | i64[2,1] i64[1,3]", "x1 + x2."),
    RX_BINARY("subtract", InferArith, ex::Subtract, "f32[2,3] f32[3]", "x1 - x2."),
    RX_BINARY("multiply", InferArith, ex::Multiply, "f32[2,3] f32[2,1]", "x1 * x2."),
    RX_BINARY("divide", InferArith, ex::Divide, "f32[2,3] f32[3]",
              "x1 / x2; toward zero for integers."),
    RX_BINARY("floor_divide", InferArith, ex::FloorDivide, "f32[2,3] f32[3]",
              "Quotient rounded down."),
    RX_BINARY("power", InferArith, ex::Power, "f32[2,3] f32[3]", "x1 to the power x2."),
    RX_BINARY("mod", InferArith, ex::Mod, "f32[2,3] f32[3] | i32[4] i32[4]",
              "Remainder with the sign of the dividend."),
    RX_BINARY("floor_mod", InferArith, ex::FloorMod, "i32[4] i32[4]",
              "Remainder with the sign of the divisor."),
    RX_BINARY("maximum", InferArith, ex::Maximum, "f32[2,3] f32[3]", "Larger; NaN wins."),
    RX_BINARY("minimum", InferArith, ex::Minimum, "f32[2,3] f32[3]", "Smaller; NaN wins."),
    RX_BINARY("log_add_exp", InferArith, ex::LogAddExp, "f32[2,3] f32[3]",
              "log(exp(x1) + exp(x2))."),
    RX_BINARY("atan2", InferArith, ex::Atan2, "f32[2,3] f32[3]", "Angle of the point (x2, x1)."),
    RX_BINARY("bitwise_and", InferArith, ex::BitwiseAnd, "i32[4] i32[4]", "Bits set in both."),
    RX_BINARY("bitwise_or", InferArith, ex::BitwiseOr, "i32[4] i32[4]", "Bits set in either."),
    RX_BINARY("bitwise_xor", InferArith, ex::BitwiseXor, "i32[4] i32[4]", "Bits set in one."),
    RX_BINARY("left_shift", InferArith, ex::LeftShift, "", "x1 shifted left by x2 bits."),
    RX_BINARY("right_shift", InferArith, ex::RightShift, "", "x1 shifted right by x2 bits."),
    RX_BINARY("logical_and", InferArith, ex::LogicalAnd, "bool[4] bool[4]", "Both true."),
    RX_BINARY("logical_or", InferArith, ex::LogicalOr, "bool[4] bool[4]", "Either true."),
    RX_BINARY("logical_xor", InferArith, ex::LogicalXor, "bool[4] bool[4]", "Exactly one true."),
    // comparison
    RX_BINARY("equal", InferCompare, ex::Equal, "f32[2,3] f32[3]", "x1 == x2."),
    RX_BINARY("not_equal", InferCompare, ex::NotEqual, "f32[2,3] f32[3]", "x1 != x2."),
    RX_BINARY("less", InferCompare, ex::Less, "f32[2,3] f32[3]", "x1 < x2."),
    RX_BINARY("less_equal", InferCompare, ex::LessEqual, "f32[2,3] f32[3]", "x1 <= x2."),
    RX_BINARY("greater", InferCompare, ex::Greater, "f32[2,3] f32[3]", "x1 > x2."),
    RX_BINARY("greater_equal", InferCompare, ex::GreaterEqual, "f32[2,3] f32[3]", "x1 >= x2."),
    {.name = "ewise_fma",
     .args = "x1, x2, x3",
     .infer = InferFma,
     .pattern = OpPattern::kElemWise,
     .lower = LowerFma,
     .layout = LayoutRule::kElemWise,
     .samples = "f32[2,3] f32[2,3] f32[2,3]",
     .doc = "x1 * x2 + x3."},
};
TVM_RELAX_REGISTER_OPS(kElementwiseRows)

#undef RX_UNARY
#undef RX_BINARY

}  // namespace relax
}  // namespace tvm
