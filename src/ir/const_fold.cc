// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "ir/const_fold.h"

#include <tvm/ffi/error.h>
#include <tvm/ir/scalar_op.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/dtype_range.h"

namespace tvm {

std::optional<int64_t> WrapToType(DataType dtype, uint64_t value) {
  int bits = dtype.bits();
  if (dtype.is_bool()) return value != 0 ? 1 : 0;
  if (bits < 64) {
    value &= (uint64_t{1} << bits) - 1;
    if (dtype.is_int() && (value >> (bits - 1)) != 0) value |= ~uint64_t{0} << bits;
    return static_cast<int64_t>(value);
  }
  if (dtype.is_uint() && value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return std::nullopt;
  }
  return static_cast<int64_t>(value);
}

bool IsFoldableFloat(DataType dtype) {
  if (dtype.is_bfloat16()) return true;
  return dtype.is_float() && (dtype.bits() == 16 || dtype.bits() == 32 || dtype.bits() == 64);
}

double RoundToType(DataType dtype, double value) {
  if (!std::isfinite(value) || value == 0) return value;
  if (dtype.is_float() && dtype.bits() == 64) return value;
  if (dtype.is_float() && dtype.bits() == 32) return static_cast<double>(static_cast<float>(value));
  // Half: 11 significant bits, exponents from -14. Bfloat16: 8 bits, exponents from -126.
  const bool half = dtype.is_float16();
  const int digits = half ? 11 : 8, min_exponent = half ? -14 : -126;
  // The machine rounds to single first.
  value = static_cast<double>(static_cast<float>(value));
  if (!std::isfinite(value) || value == 0) return value;
  int exponent = std::max(std::ilogb(value), min_exponent);
  double unit = std::ldexp(1.0, exponent - digits + 1);
  double rounded = std::nearbyint(value / unit) * unit;
  if (std::fabs(rounded) > MaxFiniteOf(dtype)) {
    return std::copysign(std::numeric_limits<double>::infinity(), rounded);
  }
  return rounded;
}

std::optional<int64_t> FoldInt(BinaryKind kind, DataType dtype, int64_t a, int64_t b) {
  const uint64_t ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  auto require_divisor = [&] {
    TVM_FFI_CHECK(b != 0, ValueError) << "Divide by zero in a constant of dtype " << dtype;
  };
  switch (kind) {
    case BinaryKind::kAdd:
      return WrapToType(dtype, ua + ub);
    case BinaryKind::kSub:
      return WrapToType(dtype, ua - ub);
    case BinaryKind::kMul: {
      if (dtype.is_uint() && dtype.bits() == 64) {
        unsigned __int128 product = static_cast<unsigned __int128>(ua) * ub;
        return WrapToType(dtype, static_cast<uint64_t>(product));
      }
      return WrapToType(dtype, ua * ub);
    }
    case BinaryKind::kDiv:
      require_divisor();
      return b == -1 ? WrapToType(dtype, uint64_t{0} - ua) : WrapToType(dtype, a / b);
    case BinaryKind::kMod:
      require_divisor();
      return b == -1 ? 0 : a % b;
    case BinaryKind::kFloorDiv:
      require_divisor();
      return WrapToType(dtype, static_cast<uint64_t>(FloorDivInt(a, b)));
    case BinaryKind::kFloorMod:
      require_divisor();
      return FloorModInt(a, b);
    case BinaryKind::kMin:
      return std::min(a, b);
    case BinaryKind::kMax:
      return std::max(a, b);
    case BinaryKind::kEQ:
      return a == b;
    case BinaryKind::kNE:
      return a != b;
    case BinaryKind::kLT:
      return a < b;
    case BinaryKind::kLE:
      return a <= b;
    case BinaryKind::kGT:
      return a > b;
    case BinaryKind::kGE:
      return a >= b;
    case BinaryKind::kAnd:
      return (a != 0) && (b != 0);
    case BinaryKind::kOr:
      return (a != 0) || (b != 0);
  }
  return std::nullopt;
}

std::optional<double> FoldFloat(BinaryKind kind, DataType dtype, double a, double b) {
  if (!IsFoldableFloat(dtype)) return std::nullopt;
  a = RoundToType(dtype, a);
  b = RoundToType(dtype, b);
  switch (kind) {
    case BinaryKind::kAdd:
      return RoundToType(dtype, a + b);
    case BinaryKind::kSub:
      return RoundToType(dtype, a - b);
    case BinaryKind::kMul:
      return RoundToType(dtype, a * b);
    case BinaryKind::kDiv:
      return RoundToType(dtype, a / b);
    case BinaryKind::kMod:
      return RoundToType(dtype, std::fmod(a, b));
    case BinaryKind::kFloorDiv:
      return RoundToType(dtype, std::floor(RoundToType(dtype, a / b)));
    case BinaryKind::kFloorMod: {
      double quotient = std::floor(RoundToType(dtype, a / b));
      return RoundToType(dtype, a - RoundToType(dtype, b * quotient));
    }
    case BinaryKind::kMin:
      if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
      return a == b ? (std::signbit(a) ? a : b) : std::min(a, b);
    case BinaryKind::kMax:
      if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
      return a == b ? (std::signbit(a) ? b : a) : std::max(a, b);
    default:
      return std::nullopt;
  }
}

bool FoldFloatCompare(BinaryKind kind, double a, double b) {
  switch (kind) {
    case BinaryKind::kEQ:
      return a == b;
    case BinaryKind::kNE:
      return a != b;
    case BinaryKind::kLT:
      return a < b;
    case BinaryKind::kLE:
      return a <= b;
    case BinaryKind::kGT:
      return a > b;
    default:
      return a >= b;
  }
}

namespace {

/// a op b for an integer literal on one side that leaves the other side or absorbs it.
PrimExpr FoldIntIdentity(BinaryKind kind, const PrimExpr& a, const PrimExpr& b) {
  const int64_t* ca = as_const_int(a);
  const int64_t* cb = as_const_int(b);
  switch (kind) {
    case BinaryKind::kAdd:
      if (ca && *ca == 0) return b;
      if (cb && *cb == 0) return a;
      break;
    case BinaryKind::kSub:
      if (cb && *cb == 0) return a;
      break;
    case BinaryKind::kMul:
      if (ca && *ca == 1) return b;
      if (cb && *cb == 1) return a;
      if (ca && *ca == 0) return a;
      if (cb && *cb == 0) return b;
      break;
    case BinaryKind::kDiv:
    case BinaryKind::kFloorDiv:
      if (cb && *cb == 1) return a;
      if (ca && *ca == 0) return a;
      break;
    case BinaryKind::kMod:
    case BinaryKind::kFloorMod:
      if (cb && *cb == 1) return make_zero(a.dtype());
      if (ca && *ca == 0) return a;
      break;
    case BinaryKind::kMin:
    case BinaryKind::kMax:
      if (a.same_as(b)) return a;
      break;
    case BinaryKind::kAnd:
      if (ca) return *ca != 0 ? b : a;
      if (cb) return *cb != 0 ? a : b;
      break;
    case BinaryKind::kOr:
      if (ca) return *ca != 0 ? a : b;
      if (cb) return *cb != 0 ? b : a;
      break;
    default:
      break;
  }
  return PrimExpr();
}

}  // namespace

void CheckDivisor(BinaryKind kind, const PrimExpr& a, const PrimExpr& b) {
  const bool is_quotient = kind == BinaryKind::kDiv || kind == BinaryKind::kFloorDiv;
  if (!is_quotient && kind != BinaryKind::kMod && kind != BinaryKind::kFloorMod) return;
  const auto* lanes = b.as<tirx::BroadcastNode>();
  const auto* divisor = lanes != nullptr ? lanes->value.as<IntImmNode>() : b.as<IntImmNode>();
  TVM_FFI_CHECK(divisor == nullptr || divisor->value != 0, ValueError)
      << "Divide by zero: " << Expr(a) << (is_quotient ? " / 0" : " % 0");
}

PrimExpr TryFold(BinaryKind kind, const PrimExpr& a, const PrimExpr& b) {
  CheckDivisor(kind, a, b);
  const auto* ia = a.as<IntImmNode>();
  const auto* ib = b.as<IntImmNode>();
  if (ia != nullptr && ib != nullptr) {
    DataType dtype = a.dtype();
    std::optional<int64_t> value = FoldInt(kind, dtype, ia->value, ib->value);
    if (!value.has_value()) return PrimExpr();
    return IntImm(IsCompare(kind) ? DataType::Bool() : dtype, *value);
  }
  if (ia != nullptr || ib != nullptr) return FoldIntIdentity(kind, a, b);
  const auto* fa = a.as<FloatImmNode>();
  const auto* fb = b.as<FloatImmNode>();
  if (fa != nullptr && fb != nullptr) {
    DataType dtype = a.dtype();
    if (IsCompare(kind)) {
      if (!IsFoldableFloat(dtype)) return PrimExpr();
      return IntImm::Bool(
          FoldFloatCompare(kind, RoundToType(dtype, fa->value), RoundToType(dtype, fb->value)));
    }
    std::optional<double> value = FoldFloat(kind, dtype, fa->value, fb->value);
    return value.has_value() ? PrimExpr(FloatImm(dtype, *value)) : PrimExpr();
  }
  if (fb != nullptr) {
    const bool is_product = kind == BinaryKind::kMul || kind == BinaryKind::kDiv;
    if (is_product && fb->value == 1) return a;
    if (kind == BinaryKind::kSub && fb->value == 0 && !std::signbit(fb->value)) return a;
  }
  if (fa != nullptr && kind == BinaryKind::kMul && fa->value == 1) return b;
  return PrimExpr();
}

PrimExpr TryFoldCast(DataType dtype, const PrimExpr& value) {
  if (!dtype.is_scalar()) return PrimExpr();
  const bool to_int = dtype.is_int() || dtype.is_uint() || dtype.is_bool();
  if (const auto* imm = value.as<IntImmNode>()) {
    if (to_int) {
      std::optional<int64_t> wrapped = WrapToType(dtype, static_cast<uint64_t>(imm->value));
      return wrapped.has_value() ? PrimExpr(IntImm(dtype, *wrapped)) : PrimExpr();
    }
    if (IsFoldableFloat(dtype)) {
      return FloatImm(dtype, RoundToType(dtype, static_cast<double>(imm->value)));
    }
    return PrimExpr();
  }
  if (const auto* imm = value.as<FloatImmNode>()) {
    double number = imm->value;
    if (IsFoldableFloat(value.dtype())) number = RoundToType(value.dtype(), number);
    if (IsFoldableFloat(dtype)) return FloatImm(dtype, RoundToType(dtype, number));
    if (dtype.is_bool()) return IntImm::Bool(number != 0);
    if (to_int) {
      if (std::isnan(number)) return IntImm(dtype, 0);
      // Out of range saturates; the bounds are powers of two and hence exact as doubles.
      double low = static_cast<double>(MinIntOf(dtype));
      double high = std::ldexp(1.0, dtype.is_uint() ? dtype.bits() : dtype.bits() - 1);
      if (number <= low) return IntImm(dtype, MinIntOf(dtype));
      if (number >= high) {
        if (dtype.is_uint() && dtype.bits() == 64) return PrimExpr();
        return IntImm(dtype, MaxIntOf(dtype));
      }
      if (number >= 0x1p63) return PrimExpr();
      return IntImm(dtype, static_cast<int64_t>(number));
    }
  }
  return PrimExpr();
}

}  // namespace tvm
