// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Helpers of the arith tests: an independent evaluator and random expressions.
#ifndef TVM_SRC_ARITH_TEST_UTIL_H_
#define TVM_SRC_ARITH_TEST_UTIL_H_

#include <tvm/ir/expr_functor.h>
#include <tvm/ir/scalar_op.h>

#include <cstdint>
#include <optional>
#include <random>
#include <unordered_map>
#include <vector>

namespace tvm::arith::testing {

using Assignment = std::unordered_map<const VarNode*, int64_t>;

/// Value of an integer expression by plain mathematics. nullopt when it divides by zero or a step
/// leaves the dtype: the simplifier promises nothing there.
class Evaluator final : public ExprFunctor<std::optional<int64_t>(const Expr&)> {
 public:
  using Value = std::optional<int64_t>;
  explicit Evaluator(const Assignment& values) : values_(values) {}

  Value VisitExpr_(const IntImmNode* n) final { return n->value; }
  Value VisitExpr_(const VarNode* n) final { return values_.at(n); }
#define TVM_EVAL(Name, Code)                          \
  Value VisitExpr_(const tirx::Name##Node* n) final { \
    Value a = VisitExpr(n->a), b = VisitExpr(n->b);   \
    if (!a || !b) return std::nullopt;                \
    __int128 x = *a, y = *b;                          \
    return Fit(n->dtype(), Code);                     \
  }
  TVM_EVAL(Add, x + y)
  TVM_EVAL(Sub, x - y)
  TVM_EVAL(Mul, x* y)
  TVM_EVAL(Min, x < y ? x : y)
  TVM_EVAL(Max, x > y ? x : y)
  TVM_EVAL(EQ, x == y)
  TVM_EVAL(NE, x != y)
  TVM_EVAL(LT, x < y)
  TVM_EVAL(LE, x <= y)
  TVM_EVAL(GT, x > y)
  TVM_EVAL(GE, x >= y)
  TVM_EVAL(And, x&& y)
  TVM_EVAL(Or, x || y)
  TVM_EVAL(FloorDiv, y == 0 ? kBad : Floor(x, y))
  TVM_EVAL(FloorMod, y == 0 ? kBad : x - y * Floor(x, y))
  TVM_EVAL(Div, y == 0 ? kBad : x / y)
  TVM_EVAL(Mod, y == 0 ? kBad : x % y)
#undef TVM_EVAL
  Value VisitExpr_(const tirx::NotNode* n) final {
    Value a = VisitExpr(n->a);
    if (!a) return std::nullopt;
    return *a == 0;
  }
  Value VisitExpr_(const tirx::SelectNode* n) final {
    Value c = VisitExpr(n->condition), t = VisitExpr(n->true_value), f = VisitExpr(n->false_value);
    if (!c || !t || !f) return std::nullopt;
    return *c != 0 ? t : f;
  }
  Value VisitExpr_(const tirx::CastNode* n) final {
    Value a = VisitExpr(n->value);
    if (!a) return std::nullopt;
    return Fit(n->dtype(), *a);
  }

 private:
  static constexpr __int128 kBad = __int128{1} << 100;
  static __int128 Floor(__int128 x, __int128 y) {
    __int128 q = x / y;
    return x % y != 0 && (x < 0) != (y < 0) ? q - 1 : q;
  }
  static Value Fit(DataType dtype, __int128 value) {
    const int bits = dtype.is_bool() ? 2 : dtype.bits();
    const __int128 limit = __int128{1} << (bits - 1);
    if (value >= limit || value < -limit) return std::nullopt;
    return static_cast<int64_t>(value);
  }
  const Assignment& values_;
};

/// Random integer and bool expressions over given variables.
class Generator {
 public:
  Generator(uint64_t seed, std::vector<Var> vars) : random_(seed), vars_(std::move(vars)) {}

  int64_t Below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  PrimExpr Int(int depth) {
    if (depth == 0 || Below(6) == 0) {
      if (Below(3) == 0) return IntImm(Type(), Below(17) - 4);
      return vars_[Below(static_cast<int64_t>(vars_.size()))];
    }
    PrimExpr a = Int(depth - 1);
    static constexpr int64_t kDivisors[] = {1, 2, 3, 4, 6, 8, 16, -2, -3};
    PrimExpr divisor = IntImm(Type(), kDivisors[Below(9)]);
    switch (Below(14)) {
      case 0:
      case 1:
      case 2:
        return tirx::Add(a, Int(depth - 1));
      case 3:
      case 4:
        return tirx::Sub(a, Int(depth - 1));
      case 5:
        return tirx::Mul(a, IntImm(Type(), Below(13) - 3));
      case 6:
        return tirx::Mul(a, Int(depth - 1));
      case 7:
      case 8:
        return tirx::FloorDiv(a, divisor);
      case 9:
      case 10:
        return tirx::FloorMod(a, divisor);
      case 11:
        return tirx::Min(a, Int(depth - 1));
      case 12:
        return tirx::Max(a, Int(depth - 1));
      default:
        if (Below(2) == 0) return tirx::Select(Bool(depth - 1), a, Int(depth - 1));
        return Below(2) == 0 ? PrimExpr(tirx::Div(a, divisor)) : PrimExpr(tirx::Mod(a, divisor));
    }
  }

  PrimExpr Bool(int depth) {
    if (depth > 1 && Below(3) == 0) {
      PrimExpr a = Bool(depth - 1);
      switch (Below(3)) {
        case 0:
          return tirx::And(a, Bool(depth - 1));
        case 1:
          return tirx::Or(a, Bool(depth - 1));
        default:
          return tirx::Not(a);
      }
    }
    const int inner = depth > 0 ? depth - 1 : 0;
    PrimExpr a = Int(inner), b = Int(inner);
    switch (Below(6)) {
      case 0:
        return tirx::EQ(a, b);
      case 1:
        return tirx::NE(a, b);
      case 2:
        return tirx::LT(a, b);
      case 3:
        return tirx::LE(a, b);
      case 4:
        return tirx::GT(a, b);
      default:
        return tirx::GE(a, b);
    }
  }

 private:
  DataType Type() const { return vars_[0].dtype(); }
  std::mt19937_64 random_;
  std::vector<Var> vars_;
};

}  // namespace tvm::arith::testing
#endif  // TVM_SRC_ARITH_TEST_UTIL_H_
