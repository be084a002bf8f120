// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Builders of math calls and of reductions.
#include <tvm/ffi/error.h>
#include <tvm/ir/scalar_op.h>

#include <cmath>
#include <limits>

#include "ir/const_fold.h"

namespace tvm {

using namespace tirx;  // NOLINT(build/namespaces): builders of the scalar nodes

namespace {

PrimExpr MathCall(const Op& op, ffi::Array<Expr> args, const Span& span) {
  Type ty = args[0]->ty;
  return Call(ty, op, std::move(args), Attrs(), {}, span);
}

/// Math functions are defined on floats: integers are converted to single precision.
PrimExpr ToFloat(PrimExpr x, const char* name) {
  TVM_FFI_CHECK(x.defined(), ValueError) << name << " of an undefined expression";
  DataType dtype = x.dtype();
  if (dtype.is_any_float() || dtype.code() >= DataType::kCustomBegin) return x;
  TVM_FFI_CHECK(dtype.is_int() || dtype.is_uint() || dtype.is_bool(), TypeError)
      << name << " needs a number, found dtype " << dtype;
  return cast(DataType::Float(32).with_lanes(dtype.lanes()), std::move(x));
}

bool IsIntLike(const PrimExpr& x) {
  DataType dtype = x.dtype();
  return dtype.is_int() || dtype.is_uint() || dtype.is_bool();
}

/// Folds a rounding function of a literal, which is exact in every float type.
template <double (*F)(double)>
PrimExpr Rounding(const char* op_name, PrimExpr x, const Span& span) {
  TVM_FFI_CHECK(x.defined(), ValueError) << op_name << " of an undefined expression";
  if (IsIntLike(x)) return x;
  if (const auto* imm = x.as<FloatImmNode>(); imm != nullptr && IsFoldableFloat(x.dtype())) {
    return FloatImm(x.dtype(), F(RoundToType(x.dtype(), imm->value)), span);
  }
  return MathCall(Op::Get(op_name), {std::move(x)}, span);
}

}  // namespace

#define TVM_DEFINE_FLOAT_MATH(Name)                            \
  PrimExpr Name(PrimExpr x, Span span) {                       \
    static const Op op = Op::Get("tirx." #Name);               \
    return MathCall(op, {ToFloat(std::move(x), #Name)}, span); \
  }
TVM_DEFINE_FLOAT_MATH(exp)
TVM_DEFINE_FLOAT_MATH(exp2)
TVM_DEFINE_FLOAT_MATH(exp10)
TVM_DEFINE_FLOAT_MATH(erf)
TVM_DEFINE_FLOAT_MATH(tanh)
TVM_DEFINE_FLOAT_MATH(sigmoid)
TVM_DEFINE_FLOAT_MATH(sqrt)
TVM_DEFINE_FLOAT_MATH(rsqrt)
TVM_DEFINE_FLOAT_MATH(log)
TVM_DEFINE_FLOAT_MATH(log10)
TVM_DEFINE_FLOAT_MATH(log1p)
TVM_DEFINE_FLOAT_MATH(tan)
TVM_DEFINE_FLOAT_MATH(cos)
TVM_DEFINE_FLOAT_MATH(cosh)
TVM_DEFINE_FLOAT_MATH(sin)
TVM_DEFINE_FLOAT_MATH(sinh)
TVM_DEFINE_FLOAT_MATH(asin)
TVM_DEFINE_FLOAT_MATH(acos)
TVM_DEFINE_FLOAT_MATH(atan)
TVM_DEFINE_FLOAT_MATH(acosh)
TVM_DEFINE_FLOAT_MATH(asinh)
TVM_DEFINE_FLOAT_MATH(atanh)
#undef TVM_DEFINE_FLOAT_MATH

PrimExpr log2(PrimExpr x, Span span) {
  x = ToFloat(std::move(x), "log2");
  if (const auto* imm = x.as<FloatImmNode>()) {
    // Exact powers of two fold; other values would depend on the library.
    int exponent = 0;
    if (imm->value > 0 && std::frexp(imm->value, &exponent) == 0.5) {
      return FloatImm(x.dtype(), exponent - 1, span);
    }
  }
  return MathCall(builtin_scalar::log2(), {std::move(x)}, span);
}

PrimExpr popcount(PrimExpr x, Span span) {
  TVM_FFI_CHECK(IsIntLike(x), TypeError) << "popcount needs an integer, found " << x.dtype();
  if (const auto* imm = x.as<IntImmNode>()) {
    uint64_t bits = static_cast<uint64_t>(imm->value);
    int width = x.dtype().bits();
    if (width < 64) bits &= (uint64_t{1} << width) - 1;
    return IntImm(x.dtype(), __builtin_popcountll(bits), span);
  }
  return MathCall(builtin_scalar::popcount(), {std::move(x)}, span);
}

PrimExpr clz(PrimExpr x, Span span) {
  TVM_FFI_CHECK(IsIntLike(x), TypeError) << "clz needs an integer, found " << x.dtype();
  DataType result = DataType::Int(32).with_lanes(x.dtype().lanes());
  if (const auto* imm = x.as<IntImmNode>()) {
    uint64_t bits = static_cast<uint64_t>(imm->value);
    int width = x.dtype().bits();
    if (width < 64) bits &= (uint64_t{1} << width) - 1;
    return IntImm(result, bits == 0 ? width : __builtin_clzll(bits) - (64 - width), span);
  }
  return Call(result, builtin_scalar::clz(), {std::move(x)}, Attrs(), {}, span);
}

PrimExpr abs(PrimExpr x, Span span) {
  TVM_FFI_CHECK(x.defined(), ValueError) << "abs of an undefined expression";
  DataType dtype = x.dtype();
  if (dtype.is_uint() || dtype.is_bool()) return x;
  if (dtype.is_int()) {
    if (const auto* imm = x.as<IntImmNode>()) {
      uint64_t bits = static_cast<uint64_t>(imm->value);
      auto value = WrapToType(dtype, imm->value < 0 ? uint64_t{0} - bits : bits);
      if (value.has_value()) return IntImm(dtype, *value, span);
    }
    return select(greater_equal(x, make_zero(dtype), span), x, neg(x, span), span);
  }
  if (const auto* imm = x.as<FloatImmNode>()) return FloatImm(dtype, std::fabs(imm->value), span);
  static const Op op = Op::Get("tirx.fabs");
  return MathCall(op, {std::move(x)}, span);
}

PrimExpr floor(PrimExpr x, Span span) {
  return Rounding<std::floor>("tirx.floor", std::move(x), span);
}
PrimExpr ceil(PrimExpr x, Span span) {
  return Rounding<std::ceil>("tirx.ceil", std::move(x), span);
}
PrimExpr round(PrimExpr x, Span span) {
  return Rounding<std::nearbyint>("tirx.round", std::move(x), span);
}
PrimExpr nearbyint(PrimExpr x, Span span) {
  return Rounding<std::nearbyint>("tirx.nearbyint", std::move(x), span);
}
PrimExpr trunc(PrimExpr x, Span span) {
  return Rounding<std::trunc>("tirx.trunc", std::move(x), span);
}

PrimExpr isnan(PrimExpr x, Span span) {
  DataType dtype = x.dtype();
  DataType result = DataType::Bool().with_lanes(dtype.lanes());
  if (IsIntLike(x)) return make_const(result, 0, span);
  TVM_FFI_CHECK(dtype.is_any_float(), TypeError)
      << "Data type " << dtype << " not supported for isnan op. Skipping isnan op...";
  if (const auto* imm = x.as<FloatImmNode>()) return IntImm::Bool(std::isnan(imm->value), span);
  return Call(result, builtin_scalar::isnan(), {std::move(x)}, Attrs(), {}, span);
}

PrimExpr isinf(PrimExpr x, Span span) {
  DataType dtype = x.dtype();
  DataType result = DataType::Bool().with_lanes(dtype.lanes());
  if (IsIntLike(x)) return make_const(result, 0, span);
  TVM_FFI_CHECK(dtype.is_float() || dtype.is_bfloat16(), TypeError)
      << "Data type " << dtype << " not supported for finiteness ops.";
  if (const auto* imm = x.as<FloatImmNode>()) return IntImm::Bool(std::isinf(imm->value), span);
  return equal(abs(std::move(x), span), infinity(dtype, span), span);
}

PrimExpr isfinite(PrimExpr x, Span span) {
  return logical_and(logical_not(isinf(x, span), span), logical_not(isnan(x, span), span), span);
}

namespace {

PrimExpr FloatBinaryCall(const char* op_name, PrimExpr x, PrimExpr y, const Span& span) {
  BinaryOpMatchTypes(x, y, span);
  return MathCall(Op::Get(op_name), {std::move(x), std::move(y)}, span);
}

}  // namespace

PrimExpr pow(PrimExpr x, PrimExpr y, Span span) {
  BinaryOpMatchTypes(x, y, span);
  TVM_FFI_CHECK(x.dtype().is_any_float(), TypeError)
      << "power only applies to float, found " << x.dtype();
  static const Op op = Op::Get("tirx.pow");
  return MathCall(op, {std::move(x), std::move(y)}, span);
}

PrimExpr fmod(PrimExpr x, PrimExpr y, Span span) {
  BinaryOpMatchTypes(x, y, span);
  TVM_FFI_CHECK(x.dtype().is_any_float(), TypeError)
      << "fmod only applies to float, found " << x.dtype();
  static const Op op = Op::Get("tirx.fmod");
  return MathCall(op, {std::move(x), std::move(y)}, span);
}

PrimExpr atan2(PrimExpr x, PrimExpr y, Span span) {
  return FloatBinaryCall("tirx.atan2", std::move(x), std::move(y), span);
}
PrimExpr nextafter(PrimExpr x, PrimExpr y, Span span) {
  return FloatBinaryCall("tirx.nextafter", std::move(x), std::move(y), span);
}
PrimExpr copysign(PrimExpr x, PrimExpr y, Span span) {
  return FloatBinaryCall("tirx.copysign", std::move(x), std::move(y), span);
}
PrimExpr hypot(PrimExpr x, PrimExpr y, Span span) {
  return FloatBinaryCall("tirx.hypot", std::move(x), std::move(y), span);
}

PrimExpr ldexp(PrimExpr x, PrimExpr exponent, Span span) {
  static const Op op = Op::Get("tirx.ldexp");
  return MathCall(op, {std::move(x), std::move(exponent)}, span);
}

PrimExpr fma(PrimExpr x, PrimExpr y, PrimExpr z, Span span) {
  BinaryOpMatchTypes(x, y, span);
  BinaryOpMatchTypes(x, z, span);
  BinaryOpMatchTypes(y, z, span);
  static const Op op = Op::Get("tirx.fma");
  return MathCall(op, {std::move(x), std::move(y), std::move(z)}, span);
}

PrimExpr q_multiply_shift(PrimExpr x, PrimExpr y, PrimExpr q, PrimExpr s, Span span) {
  static const Op op = Op::Get("tirx.q_multiply_shift");
  return Call(DataType::Int(32).with_lanes(x.dtype().lanes()), op,
              {std::move(x), std::move(y), std::move(q), std::move(s)}, Attrs(), {}, span);
}

// ---------------------------------------------------------------------------------------------
// Reductions

namespace {

PrimExpr MakeReduce(PrimExpr source, ffi::Array<IterVar> axis, ffi::Array<PrimExpr> init,
                    PrimExpr identity, PrimExpr (*combine)(PrimExpr, PrimExpr, Span),
                    const Span& span) {
  Var x("x", source->ty, span), y("y", source->ty, span);
  PrimExpr result = combine(x, y, span);
  CommReducer combiner({x}, {y}, {result}, {std::move(identity)}, span);
  return Reduce(std::move(combiner), {std::move(source)}, std::move(axis), const_true(), 0,
                std::move(init), span);
}

}  // namespace

PrimExpr sum(PrimExpr source, ffi::Array<IterVar> axis, ffi::Array<PrimExpr> init, Span span) {
  PrimExpr identity = make_zero(source.dtype(), span);
  return MakeReduce(std::move(source), std::move(axis), std::move(init), identity, add, span);
}

PrimExpr prod(PrimExpr source, ffi::Array<IterVar> axis, ffi::Array<PrimExpr> init, Span span) {
  PrimExpr identity = make_const(source.dtype(), 1, span);
  return MakeReduce(std::move(source), std::move(axis), std::move(init), identity, mul, span);
}

namespace {

/// Identity of max (sign -1) or min (sign +1): infinity where the type has one, so that a reduction
/// over an empty axis or over infinities is right.
PrimExpr ExtremeIdentity(DataType dtype, int sign, const Span& span) {
  if (dtype.is_float() || dtype.is_bfloat16()) {
    return make_const(dtype, sign * std::numeric_limits<double>::infinity(), span);
  }
  return sign < 0 ? min_value(dtype, span) : max_value(dtype, span);
}

}  // namespace

PrimExpr max(PrimExpr source, ffi::Array<IterVar> axis, ffi::Array<PrimExpr> init, Span span) {
  PrimExpr identity = ExtremeIdentity(source.dtype(), -1, span);
  return MakeReduce(std::move(source), std::move(axis), std::move(init), identity, max, span);
}

PrimExpr min(PrimExpr source, ffi::Array<IterVar> axis, ffi::Array<PrimExpr> init, Span span) {
  PrimExpr identity = ExtremeIdentity(source.dtype(), 1, span);
  return MakeReduce(std::move(source), std::move(axis), std::move(init), identity, min, span);
}

PrimExpr all(PrimExpr source, ffi::Array<IterVar> axis, ffi::Array<PrimExpr> init, Span span) {
  PrimExpr identity = make_const(source.dtype(), 1, span);
  return MakeReduce(std::move(source), std::move(axis), std::move(init), identity, logical_and,
                    span);
}

PrimExpr any(PrimExpr source, ffi::Array<IterVar> axis, ffi::Array<PrimExpr> init, Span span) {
  PrimExpr identity = make_const(source.dtype(), 0, span);
  return MakeReduce(std::move(source), std::move(axis), std::move(init), identity, logical_or,
                    span);
}

}  // namespace tvm
