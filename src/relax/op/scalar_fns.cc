// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "relax/op/scalar_fns.h"

namespace tvm {
namespace relax {
namespace ex {

namespace {

/// Half types compute through float32 where a formula has several steps.
PrimExpr Const(const PrimExpr& like, double v) { return make_const(like.dtype(), v); }
bool IsUnsigned(const PrimExpr& x) { return x.dtype().is_uint() || x.dtype().is_bool(); }
bool IsFloat(const PrimExpr& x) { return x.dtype().is_any_float(); }
PrimExpr ToBool(const PrimExpr& x) {
  return x.dtype().is_bool() ? x : tvm::not_equal(x, make_zero(x.dtype()));
}

}  // namespace

#define RX_FORWARD(Name, fn) \
  PrimExpr Name(PrimExpr x) { return tvm::fn(x); }
RX_FORWARD(Acos, acos)
RX_FORWARD(Acosh, acosh)
RX_FORWARD(Asin, asin)
RX_FORWARD(Asinh, asinh)
RX_FORWARD(Atan, atan)
RX_FORWARD(Atanh, atanh)
RX_FORWARD(Cos, cos)
RX_FORWARD(Cosh, cosh)
RX_FORWARD(Sin, sin)
RX_FORWARD(Sinh, sinh)
RX_FORWARD(Tan, tan)
RX_FORWARD(Tanh, tanh)
RX_FORWARD(Exp, exp)
RX_FORWARD(Log, log)
RX_FORWARD(Sqrt, sqrt)
RX_FORWARD(Rsqrt, rsqrt)
RX_FORWARD(Sigmoid, sigmoid)
RX_FORWARD(Erf, erf)
#undef RX_FORWARD

PrimExpr Gelu(PrimExpr x) {
  PrimExpr half = Const(x, 0.5);
  return x * (half + half * tvm::erf(x * Const(x, 0.70710678118654752440)));
}
PrimExpr GeluTanh(PrimExpr x) {
  PrimExpr inner = Const(x, 0.79788456080286535588) * (x + Const(x, 0.044715) * x * x * x);
  return Const(x, 0.5) * x * (Const(x, 1.0) + tvm::tanh(inner));
}
PrimExpr Selu(PrimExpr x) {
  constexpr double kAlpha = 1.67326324235437728481, kScale = 1.05070098735548049342;
  PrimExpr zero = make_zero(x.dtype());
  PrimExpr negative = Const(x, kAlpha * kScale) * (tvm::exp(x) - Const(x, 1.0));
  // A NaN fails the comparison and passes through exp.
  return tvm::select(x > zero, Const(x, kScale) * x, negative);
}
PrimExpr Silu(PrimExpr x) { return x * tvm::sigmoid(x); }

PrimExpr Abs(PrimExpr x) { return IsUnsigned(x) ? x : tvm::abs(x); }
PrimExpr Negative(PrimExpr x) { return IsFloat(x) ? tvm::neg(x) : make_zero(x.dtype()) - x; }
PrimExpr Sign(PrimExpr x) {
  PrimExpr zero = make_zero(x.dtype());
  PrimExpr one = make_const(x.dtype(), 1);
  if (IsUnsigned(x)) return tvm::select(x > zero, one, zero);
  // Neither branch is taken by zero or NaN, which stay themselves.
  return tvm::select(x > zero, one, tvm::select(x < zero, make_const(x.dtype(), -1), x));
}
PrimExpr Square(PrimExpr x) { return x * x; }
PrimExpr Round(PrimExpr x) { return IsFloat(x) ? tvm::nearbyint(x) : x; }
PrimExpr Floor(PrimExpr x) { return IsFloat(x) ? tvm::floor(x) : x; }
PrimExpr Ceil(PrimExpr x) { return IsFloat(x) ? tvm::ceil(x) : x; }
PrimExpr Trunc(PrimExpr x) { return IsFloat(x) ? tvm::trunc(x) : x; }
PrimExpr BitwiseNot(PrimExpr x) {
  return x.dtype().is_bool() ? tvm::logical_not(x) : tvm::bitwise_neg(x);
}
PrimExpr LogicalNot(PrimExpr x) {
  if (x.dtype().is_bool()) return tvm::logical_not(x);
  return tvm::cast(x.dtype(), tvm::equal(x, make_zero(x.dtype())));
}
PrimExpr Relu(PrimExpr x) { return tvm::max(x, make_zero(x.dtype())); }
PrimExpr IsFinite(PrimExpr x) { return IsFloat(x) ? tvm::isfinite(x) : const_true(); }
PrimExpr IsInf(PrimExpr x) { return IsFloat(x) ? tvm::isinf(x) : const_false(); }
PrimExpr IsNan(PrimExpr x) { return IsFloat(x) ? tvm::isnan(x) : const_false(); }

PrimExpr Add(PrimExpr a, PrimExpr b) {
  return a.dtype().is_bool() ? tvm::logical_or(a, b) : tvm::add(a, b);
}
PrimExpr Subtract(PrimExpr a, PrimExpr b) { return tvm::sub(a, b); }
PrimExpr Multiply(PrimExpr a, PrimExpr b) {
  return a.dtype().is_bool() ? tvm::logical_and(a, b) : tvm::mul(a, b);
}
PrimExpr Divide(PrimExpr a, PrimExpr b) { return tvm::div(a, b); }
PrimExpr FloorDivide(PrimExpr a, PrimExpr b) {
  return IsFloat(a) ? tvm::floor(tvm::div(a, b)) : tvm::floordiv(a, b);
}
/// base to the power of a literal.
PrimExpr LiteralPower(const PrimExpr& base, int64_t exponent) {
  if (exponent == 0) return make_const(base.dtype(), 1);
  if (exponent == 1) return base;
  Var half("half", base.dtype());
  PrimExpr square = PrimExpr(half) * PrimExpr(half);
  if (exponent % 2 != 0) square = square * base;
  return tirx::Let(half, LiteralPower(base, exponent / 2), square);
}

/// Integer power by squaring, which wraps around as products do; 1 / base^|n| toward zero.
PrimExpr IntPower(const PrimExpr& base, const PrimExpr& exponent) {
  const DataType dtype = base.dtype(), e = exponent.dtype();
  const PrimExpr one = make_const(dtype, 1), zero = make_zero(dtype);
  if (const auto* imm = exponent.as<IntImmNode>(); imm != nullptr && imm->value >= 0) {
    return LiteralPower(base, imm->value);
  }
  auto bit = [&](int i) {
    PrimExpr low = tvm::bitwise_and(tvm::right_shift(exponent, make_const(e, i)), make_const(e, 1));
    return tvm::equal(low, make_const(e, 1));
  };
  // Each square is bound once: the expression is a chain, not a tree.
  const int bits = e.bits() - (e.is_int() ? 1 : 0);
  std::vector<Var> square, product;
  for (int i = 0; i < bits; ++i) {
    square.emplace_back("s" + std::to_string(i), dtype);
    product.emplace_back("p" + std::to_string(i), dtype);
  }
  PrimExpr result = PrimExpr(product[bits - 1]);
  for (int i = bits; i-- > 0;) {
    const PrimExpr before = i == 0 ? one : PrimExpr(product[i - 1]);
    const PrimExpr value = i == 0 ? base : PrimExpr(square[i - 1]) * PrimExpr(square[i - 1]);
    result = tirx::Let(product[i], before * tvm::select(bit(i), PrimExpr(square[i]), one), result);
    result = tirx::Let(square[i], value, result);
  }
  if (!e.is_int()) return result;
  PrimExpr inverse = tvm::select(tvm::equal(base, one), one, zero);
  if (dtype.is_int()) {
    const PrimExpr minus = make_const(dtype, -1);
    inverse = tvm::select(tvm::equal(base, minus), tvm::select(bit(0), minus, one), inverse);
  }
  return tvm::select(exponent < make_zero(e), inverse, result);
}

PrimExpr Power(PrimExpr a, PrimExpr b) {
  if (IsFloat(a)) {
    // Small literal exponents are products.
    if (const auto* imm = b.as<FloatImmNode>()) {
      if (imm->value == 2.0) return a * a;
      if (imm->value == 3.0) return a * a * a;
      if (imm->value == 1.0) return a;
      if (imm->value == 0.5) return tvm::sqrt(a);
    }
    return tvm::pow(a, b);
  }
  return IntPower(a, b);
}
PrimExpr Mod(PrimExpr a, PrimExpr b) { return IsFloat(a) ? tvm::fmod(a, b) : tvm::truncmod(a, b); }
PrimExpr FloorMod(PrimExpr a, PrimExpr b) {
  return IsFloat(a) ? a - tvm::floor(tvm::div(a, b)) * b : tvm::floormod(a, b);
}
PrimExpr Maximum(PrimExpr a, PrimExpr b) { return tvm::max(a, b); }
PrimExpr Minimum(PrimExpr a, PrimExpr b) { return tvm::min(a, b); }
PrimExpr LogAddExp(PrimExpr a, PrimExpr b) { return tvm::logaddexp(a, b); }
PrimExpr Atan2(PrimExpr a, PrimExpr b) { return tvm::atan2(a, b); }
PrimExpr BitwiseAnd(PrimExpr a, PrimExpr b) {
  return a.dtype().is_bool() ? tvm::logical_and(a, b) : tvm::bitwise_and(a, b);
}
PrimExpr BitwiseOr(PrimExpr a, PrimExpr b) {
  return a.dtype().is_bool() ? tvm::logical_or(a, b) : tvm::bitwise_or(a, b);
}
PrimExpr BitwiseXor(PrimExpr a, PrimExpr b) {
  return a.dtype().is_bool() ? tvm::not_equal(a, b) : tvm::bitwise_xor(a, b);
}
PrimExpr LeftShift(PrimExpr a, PrimExpr b) { return tvm::left_shift(a, b); }
PrimExpr RightShift(PrimExpr a, PrimExpr b) { return tvm::right_shift(a, b); }
PrimExpr LogicalAnd(PrimExpr a, PrimExpr b) { return tvm::logical_and(ToBool(a), ToBool(b)); }
PrimExpr LogicalOr(PrimExpr a, PrimExpr b) { return tvm::logical_or(ToBool(a), ToBool(b)); }
PrimExpr LogicalXor(PrimExpr a, PrimExpr b) { return tvm::not_equal(ToBool(a), ToBool(b)); }
PrimExpr Equal(PrimExpr a, PrimExpr b) { return tvm::equal(a, b); }
PrimExpr NotEqual(PrimExpr a, PrimExpr b) { return tvm::not_equal(a, b); }
PrimExpr Less(PrimExpr a, PrimExpr b) { return tvm::less(a, b); }
PrimExpr LessEqual(PrimExpr a, PrimExpr b) { return tvm::less_equal(a, b); }
PrimExpr Greater(PrimExpr a, PrimExpr b) { return tvm::greater(a, b); }
PrimExpr GreaterEqual(PrimExpr a, PrimExpr b) { return tvm::greater_equal(a, b); }

}  // namespace ex
}  // namespace relax
}  // namespace tvm
