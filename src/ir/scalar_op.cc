// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/error.h>
#include <tvm/ir/expr_functor.h>
#include <tvm/ir/scalar_op.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "ir/const_fold.h"
#include "ir/dtype_range.h"

namespace tvm {

using namespace tirx;  // NOLINT(build/namespaces): builders of the scalar nodes

namespace {

bool IsIntLike(DataType dtype) { return dtype.is_int() || dtype.is_uint() || dtype.is_bool(); }

PrimExpr BroadcastTo(PrimExpr value, DataType like) {
  if (like.is_scalable_vector()) {
    PrimExpr lanes = Mul(IntImm::Int32(like.vscale_factor()),
                         PrimExpr(Call(DataType::Int(32), builtin_scalar::vscale(), {})));
    return Broadcast(std::move(value), lanes);
  }
  return Broadcast(std::move(value), IntImm::Int32(like.lanes()));
}

/// dtype of the literal itself: the default int32 and float32 give way to the other operand.
bool IsDefaultLiteral(const PrimExpr& value) {
  if (value.as<IntImmNode>() != nullptr) return value.dtype() == DataType::Int(32);
  if (value.as<FloatImmNode>() != nullptr) return value.dtype() == DataType::Float(32);
  return false;
}

/// Takes the dtype of the other operand if the literal's value survives.
bool AdoptType(PrimExpr& literal, DataType other) {
  if (!IsDefaultLiteral(literal) || !other.is_scalar() || other.is_bool()) return false;
  if (const auto* imm = literal.as<IntImmNode>()) {
    if (IsIntLike(other)) {
      if (imm->value < MinIntOf(other) || imm->value > MaxIntOf(other)) return false;
      literal = IntImm(other, imm->value, imm->span);
      return true;
    }
    if (other.is_any_float()) {
      literal = cast(other, literal);
      return true;
    }
    return false;
  }
  const auto* imm = literal.as<FloatImmNode>();
  if (!other.is_any_float()) return false;
  if (std::isfinite(imm->value) &&
      (imm->value > MaxFiniteOf(other) || imm->value < MinFiniteOf(other))) {
    return false;
  }
  literal = FloatImm(other, imm->value, imm->span);
  return true;
}

/// Element type that both convert to.
DataType CommonElementType(DataType a, DataType b) {
  if (a == b) return a;
  if (a.is_bool()) return b;
  if (b.is_bool()) return a;
  const bool float_a = a.is_any_float(), float_b = b.is_any_float();
  if (float_a != float_b) return float_a ? a : b;
  if (float_a) {
    if (a.bits() != b.bits()) return a.bits() > b.bits() ? a : b;
    // Formats of one width that do not contain each other meet in single precision.
    return DataType::Float(32);
  }
  if (a.code() == b.code()) return a.bits() >= b.bits() ? a : b;
  return DataType::Int(std::max(a.bits(), b.bits()));
}

void RequireNumeric(const PrimExpr& value, const char* what) {
  TVM_FFI_CHECK(value.defined(), ValueError) << what << " of an undefined expression";
  DataType dtype = value.dtype();
  TVM_FFI_CHECK(!dtype.is_handle() && !dtype.is_void(), TypeError)
      << what << " needs a number, found an expression of dtype " << dtype << ": " << Expr(value);
}

}  // namespace

void BinaryOpMatchTypes(PrimExpr& lhs, PrimExpr& rhs, const Span& span) {
  RequireNumeric(lhs, "arithmetic");
  RequireNumeric(rhs, "arithmetic");
  if (lhs.dtype() == rhs.dtype()) return;
  DataType a = lhs.dtype(), b = rhs.dtype();
  // Literals first, so that a scalar literal becomes a broadcast of the right element.
  if (a.element_of() != b.element_of()) {
    const bool literal_a = IsDefaultLiteral(lhs), literal_b = IsDefaultLiteral(rhs);
    if (literal_a && !literal_b) AdoptType(lhs, b.element_of());
    if (literal_b && !literal_a) AdoptType(rhs, a.element_of());
    a = lhs.dtype();
    b = rhs.dtype();
  }
  DataType element = CommonElementType(a.element_of(), b.element_of());
  auto with_element = [&](const PrimExpr& value) {
    DataType dtype = value.dtype();
    DataType wanted = dtype.is_scalable_vector()
                          ? element.with_scalable_vscale_factor(dtype.vscale_factor())
                          : element.with_lanes(dtype.lanes());
    return dtype == wanted ? value : cast(wanted, value, span);
  };
  lhs = with_element(lhs);
  rhs = with_element(rhs);
  a = lhs.dtype();
  b = rhs.dtype();
  if (a == b) return;
  if (a.is_scalar()) {
    lhs = BroadcastTo(std::move(lhs), b);
  } else if (b.is_scalar()) {
    rhs = BroadcastTo(std::move(rhs), a);
  }
  TVM_FFI_CHECK(lhs.dtype() == rhs.dtype(), TypeError) << "Cannot match type " << a << " vs " << b;
}

// ---------------------------------------------------------------------------------------------
// Arithmetic and comparison

namespace {

template <typename Node>
PrimExpr BuildBinary(BinaryKind kind, PrimExpr a, PrimExpr b, const Span& span) {
  BinaryOpMatchTypes(a, b, span);
  if (PrimExpr folded = TryFold(kind, a, b); folded.defined()) return folded;
  return Node(std::move(a), std::move(b), span);
}

void RequireIntegers(const PrimExpr& a, const PrimExpr& b, const char* what) {
  TVM_FFI_CHECK(IsIntLike(a.dtype()) && IsIntLike(b.dtype()), TypeError)
      << what << " needs integer operands, found " << a.dtype() << " and " << b.dtype();
}

}  // namespace

#define TVM_DEFINE_BUILDER(Func, Node)                                               \
  PrimExpr Func(PrimExpr a, PrimExpr b, Span span) {                                 \
    return BuildBinary<Node>(BinaryKind::k##Node, std::move(a), std::move(b), span); \
  }
TVM_DEFINE_BUILDER(add, Add)
TVM_DEFINE_BUILDER(sub, Sub)
TVM_DEFINE_BUILDER(mul, Mul)
TVM_DEFINE_BUILDER(div, Div)
TVM_DEFINE_BUILDER(floordiv, FloorDiv)
TVM_DEFINE_BUILDER(floormod, FloorMod)
TVM_DEFINE_BUILDER(max, Max)
TVM_DEFINE_BUILDER(min, Min)
TVM_DEFINE_BUILDER(equal, EQ)
TVM_DEFINE_BUILDER(not_equal, NE)
TVM_DEFINE_BUILDER(less, LT)
TVM_DEFINE_BUILDER(less_equal, LE)
TVM_DEFINE_BUILDER(greater, GT)
TVM_DEFINE_BUILDER(greater_equal, GE)
#undef TVM_DEFINE_BUILDER

PrimExpr neg(PrimExpr a, Span span) {
  RequireNumeric(a, "negation");
  if (const auto* imm = a.as<FloatImmNode>()) return FloatImm(a.dtype(), -imm->value, span);
  if (a.dtype().is_any_float()) {
    // 0 - x would lose the sign of zero.
    PrimExpr minus_one = make_const(a.dtype(), -1.0);
    return mul(std::move(minus_one), std::move(a), span);
  }
  if (a.dtype().is_bool()) a = cast(DataType::Int(32), a);
  PrimExpr zero = make_zero(a.dtype());
  return sub(std::move(zero), std::move(a), span);
}

PrimExpr truncdiv(PrimExpr a, PrimExpr b, Span span) {
  RequireIntegers(a, b, "truncdiv");
  return div(std::move(a), std::move(b), std::move(span));
}

PrimExpr truncmod(PrimExpr a, PrimExpr b, Span span) {
  BinaryOpMatchTypes(a, b, span);
  RequireIntegers(a, b, "truncmod");
  return BuildBinary<Mod>(BinaryKind::kMod, std::move(a), std::move(b), span);
}

PrimExpr indexdiv(PrimExpr a, PrimExpr b, Span span) {
  RequireIntegers(a, b, "indexdiv");
  return floordiv(std::move(a), std::move(b), std::move(span));
}

PrimExpr indexmod(PrimExpr a, PrimExpr b, Span span) {
  RequireIntegers(a, b, "indexmod");
  return floormod(std::move(a), std::move(b), std::move(span));
}

PrimExpr shapediv(PrimExpr a, PrimExpr b, Span span) {
  return ceildiv(std::move(a), std::move(b), std::move(span));
}

PrimExpr ceildiv(PrimExpr a, PrimExpr b, Span span) {
  RequireIntegers(a, b, "ceildiv");
  BinaryOpMatchTypes(a, b, span);
  const int64_t* divisor = as_const_int(b);
  PrimExpr slack = divisor != nullptr ? make_const(b.dtype(), *divisor - 1)
                                      : sub(b, make_const(b.dtype(), 1), span);
  return floordiv(add(std::move(a), slack, span), b, span);
}

PrimExpr operator/(const PrimExpr& a, const PrimExpr& b) {
  TVM_FFI_CHECK(a.dtype().is_any_float() || b.dtype().is_any_float(), TypeError)
      << "integer division is ambiguous, please call div, truncdiv, floordiv or indexdiv; "
      << "found " << a.dtype() << " / " << b.dtype();
  return div(a, b);
}

PrimExpr logaddexp(PrimExpr a, PrimExpr b, Span span) {
  PrimExpr high = max(a, b, span), low = min(std::move(a), std::move(b), span);
  return add(high, log1p(exp(sub(low, high, span), span), span), span);
}

// ---------------------------------------------------------------------------------------------
// Logic

namespace {

void RequireBool(const PrimExpr& value, const char* what) {
  TVM_FFI_CHECK(value.defined(), ValueError) << what << " of an undefined expression";
  TVM_FFI_CHECK(value.dtype().is_predicate_dtype(), TypeError)
      << "Expected boolean argument for " << what << ", but received " << Expr(value) << " of type "
      << value.dtype();
}

}  // namespace

PrimExpr logical_and(PrimExpr a, PrimExpr b, Span span) {
  RequireBool(a, "and");
  RequireBool(b, "and");
  return BuildBinary<And>(BinaryKind::kAnd, std::move(a), std::move(b), span);
}

PrimExpr logical_or(PrimExpr a, PrimExpr b, Span span) {
  RequireBool(a, "or");
  RequireBool(b, "or");
  return BuildBinary<Or>(BinaryKind::kOr, std::move(a), std::move(b), span);
}

PrimExpr logical_not(PrimExpr a, Span span) {
  RequireBool(a, "not");
  if (const int64_t* value = as_const_int(a)) return IntImm::Bool(*value == 0, span);
  return Not(std::move(a), std::move(span));
}

// ---------------------------------------------------------------------------------------------
// Bits

namespace {

PrimExpr BitCall(const Op& op, PrimExpr a, PrimExpr b, const Span& span) {
  Type ty = a->ty;
  return Call(ty, op, {std::move(a), std::move(b)}, Attrs(), {}, span);
}

/// Number of bits to shift by, checked against the width when it is a constant.
const int64_t* ShiftAmount(const PrimExpr& a, const PrimExpr& b) {
  const int64_t* amount = as_const_int(b);
  TVM_FFI_CHECK(amount == nullptr || (*amount >= 0 && *amount < a.dtype().bits()), ValueError)
      << "Shift amount must be non-negative and less than " << a.dtype().bits() << " for type "
      << a.dtype() << ", found " << *amount;
  return amount;
}

}  // namespace

PrimExpr left_shift(PrimExpr a, PrimExpr b, Span span) {
  RequireIntegers(a, b, "left_shift");
  BinaryOpMatchTypes(a, b, span);
  const int64_t* amount = ShiftAmount(a, b);
  if (amount != nullptr) {
    if (*amount == 0) return a;
    if (const int64_t* value = as_const_int(a)) {
      auto wrapped = WrapToType(a.dtype(), static_cast<uint64_t>(*value) << *amount);
      if (wrapped.has_value()) return IntImm(a.dtype(), *wrapped, span);
    }
  }
  return BitCall(builtin_scalar::shift_left(), std::move(a), std::move(b), span);
}

PrimExpr right_shift(PrimExpr a, PrimExpr b, Span span) {
  RequireIntegers(a, b, "right_shift");
  BinaryOpMatchTypes(a, b, span);
  const int64_t* amount = ShiftAmount(a, b);
  if (amount != nullptr) {
    if (*amount == 0) return a;
    if (const int64_t* value = as_const_int(a)) return IntImm(a.dtype(), *value >> *amount, span);
  }
  return BitCall(builtin_scalar::shift_right(), std::move(a), std::move(b), span);
}

#define TVM_DEFINE_BITWISE(Func, Op_)                                             \
  PrimExpr Func(PrimExpr a, PrimExpr b, Span span) {                              \
    RequireIntegers(a, b, #Func);                                                 \
    BinaryOpMatchTypes(a, b, span);                                               \
    const int64_t* x = as_const_int(a);                                           \
    const int64_t* y = as_const_int(b);                                           \
    if (x != nullptr && y != nullptr) return IntImm(a.dtype(), *x Op_ * y, span); \
    return BitCall(builtin_scalar::Func(), std::move(a), std::move(b), span);     \
  }
TVM_DEFINE_BITWISE(bitwise_and, &)
TVM_DEFINE_BITWISE(bitwise_or, |)
TVM_DEFINE_BITWISE(bitwise_xor, ^)
#undef TVM_DEFINE_BITWISE

PrimExpr bitwise_neg(PrimExpr a, Span span) {
  TVM_FFI_CHECK(IsIntLike(a.dtype()), TypeError)
      << "bitwise_not needs an integer, found " << a.dtype();
  if (const int64_t* value = as_const_int(a)) {
    auto wrapped = WrapToType(a.dtype(), ~static_cast<uint64_t>(*value));
    if (wrapped.has_value() && !a.dtype().is_bool()) return IntImm(a.dtype(), *wrapped, span);
  }
  Type ty = a->ty;
  return Call(ty, builtin_scalar::bitwise_not(), {std::move(a)}, Attrs(), {}, span);
}

// ---------------------------------------------------------------------------------------------
// Choice and conversion

PrimExpr if_then_else(PrimExpr cond, PrimExpr true_value, PrimExpr false_value, Span span) {
  TVM_FFI_CHECK(cond.defined() && cond.dtype().is_predicate_dtype() && cond.dtype().is_scalar(),
                TypeError)
      << "if_then_else only accept the condition to be boolean type.";
  BinaryOpMatchTypes(true_value, false_value, span);
  if (const int64_t* value = as_const_int(cond)) return *value != 0 ? true_value : false_value;
  Type ty = true_value->ty;
  return Call(ty, builtin_scalar::if_then_else(),
              {std::move(cond), std::move(true_value), std::move(false_value)}, Attrs(), {}, span);
}

PrimExpr select(PrimExpr cond, PrimExpr true_value, PrimExpr false_value, Span span) {
  BinaryOpMatchTypes(true_value, false_value, span);
  if (const int64_t* value = as_const_int(cond)) return *value != 0 ? true_value : false_value;
  return Select(std::move(cond), std::move(true_value), std::move(false_value), span);
}

PrimExpr likely(PrimExpr cond, Span span) {
  if (is_const_int(cond)) return cond;
  Type ty = cond->ty;
  return Call(ty, builtin_scalar::likely(), {std::move(cond)}, Attrs(), {}, span);
}

PrimExpr cast(DataType dtype, PrimExpr value, Span span) {
  TVM_FFI_CHECK(value.defined(), ValueError) << "cast of an undefined expression";
  if (value.dtype() == dtype) return value;
  DataType from = value.dtype();
  if (dtype.is_scalar()) {
    TVM_FFI_CHECK(from.is_scalar(), TypeError)
        << "cannot cast the vector type " << from << " to the scalar type " << dtype;
    if (PrimExpr folded = TryFoldCast(dtype, value); folded.defined()) return folded;
    return Cast(dtype, std::move(value), span);
  }
  if (from.is_scalar()) {
    if (from != dtype.element_of()) value = cast(dtype.element_of(), std::move(value), span);
    return BroadcastTo(std::move(value), dtype);
  }
  if (const auto* broadcast = value.as<BroadcastNode>()) {
    return Broadcast(cast(dtype.element_of(), broadcast->value, span), broadcast->lanes, span);
  }
  return Cast(dtype, std::move(value), span);
}

PrimExpr reinterpret(DataType dtype, Expr value, Span span) {
  DataType from = value.dtype();
  if (from == dtype && IsPrimExpr(value)) return PrimExpr(value);
  if (from.is_scalar() && dtype.is_scalar() && !from.is_handle() && !dtype.is_handle()) {
    TVM_FFI_CHECK(from.bits() == dtype.bits(), TypeError)
        << "Bitcast requires size match " << dtype << " vs " << from;
  }
  return Call(dtype, builtin_scalar::reinterpret(), {std::move(value)}, Attrs(), {}, span);
}

// ---------------------------------------------------------------------------------------------
// Constants

PrimExpr MakeConstInt(DataType dtype, int64_t value, Span span) {
  if (!dtype.is_scalar()) {
    return BroadcastTo(MakeConstInt(dtype.element_of(), value, span), dtype);
  }
  if (dtype.is_any_float() || dtype.code() >= DataType::kCustomBegin) {
    return FloatImm(dtype, static_cast<double>(value), span);
  }
  return IntImm(dtype, value, span);
}

PrimExpr MakeConstFloat(DataType dtype, double value, Span span) {
  if (!dtype.is_scalar()) {
    return BroadcastTo(MakeConstFloat(dtype.element_of(), value, span), dtype);
  }
  if (dtype.is_int() || dtype.is_uint() || dtype.is_bool()) {
    TVM_FFI_CHECK(value == std::trunc(value), ValueError)
        << "constant " << value << " is not a value of dtype " << dtype;
    return IntImm(dtype, static_cast<int64_t>(value), span);
  }
  return FloatImm(dtype, value, span);
}

PrimExpr max_value(DataType dtype, Span span) {
  DataType element = dtype.element_of();
  if (IsIntLike(element)) {
    if (element.is_uint() && element.bits() == 64) {
      // 2^64-1 does not fit in a literal: the two halves are given to an op.
      static const Op op = Op::Get("tirx.large_uint_imm");
      PrimExpr half = make_const(DataType::UInt(32), int64_t{0xFFFFFFFF});
      return cast(dtype, Call(element, op, {half, half}, Attrs(), {}, span));
    }
    return make_const(dtype, MaxIntOf(element), span);
  }
  return make_const(dtype, MaxFiniteOf(element), span);
}

PrimExpr min_value(DataType dtype, Span span) {
  DataType element = dtype.element_of();
  if (IsIntLike(element)) return make_const(dtype, MinIntOf(element), span);
  return make_const(dtype, MinFiniteOf(element), span);
}

PrimExpr infinity(DataType dtype, Span span) {
  TVM_FFI_CHECK(dtype.is_float() || dtype.is_bfloat16(), TypeError)
      << "Cannot decide infinity for type " << dtype;
  return make_const(dtype, std::numeric_limits<double>::infinity(), span);
}

namespace {

const IntImmNode* AsIntLiteral(const Expr& expr) {
  if (const auto* imm = expr.as<IntImmNode>()) return imm;
  if (const auto* broadcast = expr.as<BroadcastNode>()) return broadcast->value.as<IntImmNode>();
  return nullptr;
}

}  // namespace

bool is_const_int(const Expr& expr, int64_t value) {
  const IntImmNode* imm = AsIntLiteral(expr);
  return imm != nullptr && imm->value == value;
}

bool is_const_int(const Expr& expr) { return AsIntLiteral(expr) != nullptr; }

bool is_const_number(const Expr& expr) {
  if (AsIntLiteral(expr) != nullptr || expr.as<FloatImmNode>() != nullptr) return true;
  const auto* broadcast = expr.as<BroadcastNode>();
  return broadcast != nullptr && broadcast->value.as<FloatImmNode>() != nullptr;
}

bool is_positive_const(const Expr& expr) {
  const IntImmNode* imm = AsIntLiteral(expr);
  return imm != nullptr && imm->value > 0;
}

bool is_negative_const(const Expr& expr) {
  const IntImmNode* imm = AsIntLiteral(expr);
  return imm != nullptr && imm->value < 0;
}

bool is_const_power_of_two_integer(const Expr& expr, int* shift) {
  const IntImmNode* imm = AsIntLiteral(expr);
  if (imm == nullptr || imm->value <= 0 || (imm->value & (imm->value - 1)) != 0) return false;
  *shift = __builtin_ctzll(static_cast<uint64_t>(imm->value));
  return true;
}

bool is_same_value(const PrimExpr& a, const PrimExpr& b) {
  if (a.same_as(b)) return true;
  const auto* x = a.as<IntImmNode>();
  const auto* y = b.as<IntImmNode>();
  return x != nullptr && y != nullptr && x->value == y->value && a.dtype() == b.dtype();
}

}  // namespace tvm
