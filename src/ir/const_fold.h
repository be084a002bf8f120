// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Folding of constants, and the one table of numeric semantics that the folder, the simplifier
/// and the code generators share:
///
/// | operation        | integers of width w           | floats                                   |
/// |------------------|-------------------------------|------------------------------------------|
/// | + - *            | wrap around at w bits         | IEEE, rounded to the type; NaN spreads   |
/// | truncdiv/truncmod| toward zero; by 0: error      | a / b IEEE; fmod                         |
/// | floordiv/floormod| toward -inf; by 0: error      | floor(a / b); a - b * floor(a / b)       |
/// | min, max         |                               | NaN if either operand is NaN             |
/// | == < <= > >=     |                               | false if either operand is NaN           |
/// | !=               |                               | true if either operand is NaN            |
/// | float -> int cast|                               | toward zero, saturating; NaN gives 0     |
///
/// Without a fast-math flag no algebra is done on floats: x - x, x * 0, x + 0 and x == x stay.
/// Kept are the exact identities x * 1, x / 1 and x - 0.
#ifndef TVM_SRC_IR_CONST_FOLD_H_
#define TVM_SRC_IR_CONST_FOLD_H_

#include <tvm/ir/scalar.h>

#include <cstdint>
#include <optional>

namespace tvm {

enum class BinaryKind : int {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMod,
  kFloorDiv,
  kFloorMod,
  kMin,
  kMax,
  kEQ,
  kNE,
  kLT,
  kLE,
  kGT,
  kGE,
  kAnd,
  kOr,
};

inline constexpr bool IsCompare(BinaryKind kind) {
  return kind >= BinaryKind::kEQ && kind <= BinaryKind::kGE;
}

/// Low bits of `value`, read as a value of that integer type. nullopt when a uint64 value does not
/// fit in the int64 that a literal holds.
TVM_DLL std::optional<int64_t> WrapToType(DataType dtype, uint64_t value);
/// The value of that float type nearest to `value` (ties to even; too large gives infinity).
TVM_DLL double RoundToType(DataType dtype, double value);
/// True for the float types that RoundToType knows: IEEE half, single, double, and bfloat16.
TVM_DLL bool IsFoldableFloat(DataType dtype);

/// Result of an operation on constants of one dtype (comparisons and logic give 0 or 1). nullopt
/// when it is not representable; ValueError for a division by zero.
TVM_DLL std::optional<int64_t> FoldInt(BinaryKind kind, DataType dtype, int64_t a, int64_t b);
TVM_DLL std::optional<double> FoldFloat(BinaryKind kind, DataType dtype, double a, double b);
TVM_DLL bool FoldFloatCompare(BinaryKind kind, double a, double b);

/// ValueError for a division, truncating or flooring, by the integer 0, alone or in every lane.
TVM_DLL void CheckDivisor(BinaryKind kind, const PrimExpr& a, const PrimExpr& b);

/// Constant, or an operand, that equals the operation; a null reference when nothing folds.
TVM_DLL PrimExpr TryFold(BinaryKind kind, const PrimExpr& a, const PrimExpr& b);
/// Cast of a literal; null when value is no literal or the result is not representable.
TVM_DLL PrimExpr TryFoldCast(DataType dtype, const PrimExpr& value);

/// Quotient and remainder with the divisor's sign; b != 0. The one overflow, min / -1, wraps.
inline int64_t FloorDivInt(int64_t a, int64_t b) {
  if (b == -1) return static_cast<int64_t>(uint64_t{0} - static_cast<uint64_t>(a));
  int64_t q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}
inline int64_t FloorModInt(int64_t a, int64_t b) {
  if (b == -1) return 0;
  int64_t r = a % b;
  return (r != 0 && ((r < 0) != (b < 0))) ? r + b : r;
}

}  // namespace tvm
#endif  // TVM_SRC_IR_CONST_FOLD_H_
