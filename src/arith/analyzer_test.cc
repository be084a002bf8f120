// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <gtest/gtest.h>
#include <tvm/arith/analyzer.h>
#include <tvm/arith/bound.h>
#include <tvm/arith/pattern.h>

#include <cmath>
#include <limits>
#include <string>

namespace tvm::arith {
namespace {

using namespace tirx;  // NOLINT(build/namespaces): the scalar nodes

class Arith : public ::testing::Test {
 protected:
  Analyzer analyzer;
  Var x{"x"}, y{"y"}, z{"z"}, n{"n"};

  void InRange(const Var& var, int64_t min, int64_t extent) {
    analyzer->Bind(var,
                   Range::FromMinExtent(IntImm(var.dtype(), min), IntImm(var.dtype(), extent)));
  }
  void Same(const PrimExpr& from, const PrimExpr& to) {
    PrimExpr simple = analyzer->Simplify(from);
    EXPECT_TRUE(ExprDeepEqual()(simple, to))
        << Expr(from) << "\n  became   " << Expr(simple) << "\n  expected " << Expr(to);
  }
  PrimExpr C(int64_t value) { return IntImm::Int32(value); }
};

TEST_F(Arith, Sums) {
  Same(x * 4 + y + x * 2 + 3 + y, Add(Add(Mul(x, C(6)), Mul(y, C(2))), C(3)));
  Same((x + y * 2) * 3 - x * 2 + 4, Add(Add(Mul(y, C(6)), x), C(4)));
  Same(x - 3, Add(x, C(-3)));
  Same(x - x, C(0));
  Same(C(3) - x, Sub(C(3), x));
  Same(x * y - y * x, C(0));
  PrimExpr same = Add(x, C(1));
  EXPECT_TRUE(analyzer->Simplify(same).same_as(same));
}

TEST_F(Arith, DivMod) {
  Same(floordiv(x * 6 + 4, 4), Add(FloorDiv(Mul(x, C(6)), C(4)), C(1)));
  Same(floordiv(floordiv(x, 2), 3), FloorDiv(x, C(6)));
  Same(floordiv(x, 8) * 8 + floormod(x, 8), x);
  Same(floordiv(x * 4, 8), FloorDiv(x, C(2)));
  Same(floormod(x * 4, 8), Mul(FloorMod(x, C(2)), C(4)));
  Same(floormod(floordiv(x, 4), 8) * 4 + floormod(x, 4), FloorMod(x, C(32)));
  Same(floormod(x + 8, 8), FloorMod(x, C(8)));
  Same(floormod(floormod(x, 16), 8), FloorMod(x, C(8)));
  // The residue of a division by a symbol is unknown; asking for it has to end.
  Same(floormod(floormod(x, y), 2), FloorMod(FloorMod(x, y), C(2)));
  Same(floormod(floordiv(x, y), 2), FloorMod(FloorDiv(x, y), C(2)));
  InRange(y, 0, 8);
  Same(floordiv(x * 8 + y, 8), x);
  Same(floormod(x * 8 + y, 8), y);
  Same(floordiv(y, 8), C(0));
  Same(floordiv(x * 16 + y, 8), Mul(x, C(2)));
  Same(floormod(x * 16 + y, 32), Add(Mul(FloorMod(x, C(2)), C(16)), y));
  EXPECT_THROW(analyzer->Simplify(FloorDiv(x, C(0))), ffi::Error);
}

TEST_F(Arith, SymbolicDivMod) {
  analyzer->Bind(n, Range::FromMinExtent(C(1), C(1000)));
  analyzer->Bind(y, Range::FromMinExtent(C(0), n));
  Same(floordiv(x * n + y, n), x);
  Same(floormod(x * n + y, n), y);
  Same(floordiv(x, n) * n + floormod(x, n), x);
  EXPECT_TRUE(analyzer->CanProve(y < n));
  EXPECT_TRUE(analyzer->CanProve(y + 1 <= n));
  EXPECT_FALSE(analyzer->CanProve(y + 2 <= n));
  EXPECT_TRUE(analyzer->CanProveEqual((x + 1) * n, x * n + n));
}

TEST_F(Arith, Comparisons) {
  Same(x - 1 < y, LE(x, y));
  Same(x >= y, LE(y, x));
  Same(x + 1 <= y, LT(x, y));
  Same(x + y < y + z, LT(x, z));
  Same(x * 4 < 10, LT(x, C(3)));
  Same(x * 4 == 10, IntImm::Bool(false));
  Same(x < x + 1, IntImm::Bool(true));
  Same(x <= 5, LE(x, C(5)));
  InRange(y, 0, 8);
  Same(x * 8 + y < 16, LT(x, C(2)));
  Same(y < 8, IntImm::Bool(true));
  Same(y == 8, IntImm::Bool(false));
}

TEST_F(Arith, MinMax) {
  Same(min(x + y, x + z), Add(Min(y, z), x));
  Same(min(x, x + 1), x);
  Same(max(min(x, 5), 7), C(7));
  Same(min(min(x, 5), 3), Min(x, C(3)));
  Same(min(C(3) - x, 2), Sub(C(3), Max(x, C(1))));
  Same(min(max(x, y), x), x);
}

TEST_F(Arith, Logic) {
  Same(x < 5 && x >= 5, IntImm::Bool(false));
  Same(x < 5 || x >= 5, IntImm::Bool(true));
  Same(x < 5 && x < 3, LT(x, C(3)));
  Same(floordiv(x, 8) == 3 && floormod(x, 8) == 4, EQ(x, C(28)));
  Same(!(x < y), LE(y, x));
  Same(select(x < 5, select(x < 5, y, z), z), Select(LT(x, C(5)), y, z));
  Same(select(x < 5, y, y), y);
  Var f("f", DataType::Float(32));
  // NaN: not (f < 1) is not f >= 1.
  EXPECT_TRUE(analyzer->Simplify(!(f < 1.0f)).as<NotNode>() != nullptr);
}

TEST_F(Arith, FloatsAreLeftAlone) {
  Var f("f", DataType::Float(32));
  PrimExpr value = f;
  for (const PrimExpr& e : {PrimExpr(Sub(f, f)), PrimExpr(Mul(f, FloatImm(DataType::Float(32), 0))),
                            PrimExpr(Add(f, FloatImm(DataType::Float(32), 0))), PrimExpr(EQ(f, f)),
                            PrimExpr(Max(f, FloatImm(DataType::Float(32), 1)))}) {
    EXPECT_TRUE(analyzer->Simplify(e).same_as(e)) << Expr(e);
  }
}

TEST_F(Arith, OverflowProvesNothing) {
  Var i("i", DataType::Int(64));
  PrimExpr quarter = IntImm::Int64(int64_t{1} << 62);
  PrimExpr sum = Add(Add(i, quarter), quarter);
  EXPECT_FALSE(analyzer->CanProve(GE(sum, IntImm::Int64(0))));
  EXPECT_FALSE(analyzer->CanProve(GT(sum, i)));
  analyzer->Bind(i, Range::FromMinExtent(IntImm::Int64(0), IntImm::Int64(100)));
  EXPECT_FALSE(analyzer->CanProve(GE(sum, IntImm::Int64(0))));
  ConstIntBound bound = analyzer->GetConstIntBound(sum);
  EXPECT_EQ(bound->min_value, ConstIntBound::kNegInf);
  // A loop whose end overflows.
  Var j("j");
  const int64_t top = std::numeric_limits<int32_t>::max();
  analyzer->Bind(j, Range::FromMinExtent(C(100), C(top)));
  EXPECT_FALSE(analyzer->CanProve(j >= 100));
  EXPECT_FALSE(analyzer->CanProve(j < 0));
  // int8 arithmetic wraps.
  Var b("b", DataType::Int(8));
  EXPECT_FALSE(analyzer->CanProve(GT(Add(b, IntImm(DataType::Int(8), 1)), b)));
}

TEST_F(Arith, Bounds) {
  InRange(x, 2, 10);
  auto check = [&](const PrimExpr& e, int64_t lo, int64_t hi) {
    ConstIntBound bound = analyzer->GetConstIntBound(e);
    EXPECT_EQ(bound->min_value, lo) << Expr(e);
    EXPECT_EQ(bound->max_value, hi) << Expr(e);
  };
  check(x + 1, 3, 12);
  check(x * -2, -22, -4);
  check(floordiv(x, 3), 0, 3);
  check(floormod(x, 4), 0, 3);
  check(x * x, 4, 121);
  check(min(x, 5), 2, 5);
  check(cast(DataType::Int(64), Var("s", DataType::Int(8))), -128, 127);
  check(bitwise_and(y, 15), 0, 15);
  check(right_shift(x, 1), 1, 5);
  ModularSet set = analyzer->GetModularSet(y * 4 + 3);
  EXPECT_EQ(set->coeff, 4);
  EXPECT_EQ(set->base, 3);
  analyzer->Update(z, ModularSet(8, 4));
  Same(floormod(z, 4), C(0));
  Same(floormod(z + 1, 4), C(1));
}

TEST_F(Arith, ConstraintScope) {
  {
    ConstraintScope outer(analyzer, x > 5);
    EXPECT_TRUE(analyzer->CanProve(x >= 6));
    {
      ConstraintScope inner(analyzer, x <= 6);
      EXPECT_TRUE(analyzer->CanProve(x == 6));
    }
    EXPECT_FALSE(analyzer->CanProve(x == 6));
    ConstraintScope order(analyzer, x < y);
    ConstraintScope next(analyzer, y < z);
    EXPECT_TRUE(analyzer->CanProve(x < z));
    EXPECT_EQ(analyzer->TryCompare(x, z), CompareResult::kLT);
  }
  EXPECT_FALSE(analyzer->CanProve(x >= 6));
  EXPECT_EQ(analyzer->TryCompare(x, z), CompareResult::kUnknown);
  ConstraintScope parity(analyzer, floormod(x, 4) == 2);
  Same(floormod(x, 2), C(0));
}

TEST_F(Arith, BindAgain) {
  analyzer->Bind(x, C(5));
  Same(x + 1, C(6));
  EXPECT_THROW(analyzer->Bind(x, C(6)), ffi::Error);
  analyzer->Bind(x, C(6), /*allow_override=*/true);
  Same(x + 1, C(7));
  Analyzer copy = analyzer.Clone();
  EXPECT_EQ(*as_const_int(copy->Simplify(x)), 6);
}

TEST_F(Arith, RebindForgetsOldFacts) {
  analyzer->Bind(x, Range::FromMinExtent(C(0), n));
  EXPECT_TRUE(analyzer->CanProve(x < n));
  analyzer->Bind(x, Range::FromMinExtent(C(0), y), /*allow_override=*/true);
  EXPECT_FALSE(analyzer->CanProve(x < n));
  EXPECT_TRUE(analyzer->CanProve(x < y));
}

TEST_F(Arith, Vectors) {
  auto ramp = [&](PrimExpr base, int64_t stride) { return Ramp(base, C(stride), C(4)); };
  auto broad = [&](PrimExpr value) { return Broadcast(value, C(4)); };
  Same(Add(ramp(x, 1), broad(y)), ramp(Add(x, y), 1));
  Same(Mul(ramp(x, 1), broad(C(2))), ramp(Mul(x, C(2)), 2));
  Same(FloorDiv(ramp(Mul(x, C(8)), 1), broad(C(8))), broad(x));
  Same(FloorMod(ramp(Mul(x, C(8)), 1), broad(C(8))), ramp(C(0), 1));
  Same(Sub(ramp(x, 1), ramp(y, 1)), broad(Sub(x, y)));
  Same(LT(ramp(C(0), 1), broad(C(4))), Broadcast(IntImm::Bool(true), C(4)));
}

TEST_F(Arith, Cast) {
  InRange(x, 0, 100);
  InRange(y, 0, 100);
  PrimExpr wide = cast(DataType::Int(64), PrimExpr(x) * 4 + y);
  PrimExpr parts = cast(DataType::Int(64), x) * IntImm::Int64(4) + cast(DataType::Int(64), y);
  EXPECT_TRUE(analyzer->CanProveEqual(wide, parts));
  Var free("free");
  PrimExpr kept = Cast(DataType::Int(64), Add(free, C(1)));
  EXPECT_TRUE(analyzer->Simplify(kept).as<CastNode>() != nullptr);
}

TEST_F(Arith, Sets) {
  ffi::Map<Var, IntSet> dom{{x, IntSet::FromMinExtent(C(0), C(8))},
                            {y, IntSet::FromMinExtent(C(0), n)}};
  auto check = [&](const PrimExpr& e, const PrimExpr& lo, const PrimExpr& hi) {
    IntSet set = EvalSet(e, dom);
    EXPECT_TRUE(analyzer->CanProveEqual(set.min(), lo)) << Expr(e) << " from " << Expr(set.min());
    EXPECT_TRUE(analyzer->CanProveEqual(set.max(), hi)) << Expr(e) << " to " << Expr(set.max());
  };
  check(x + 1, C(1), C(8));
  check(z + x * 2, z, z + 14);
  check(x + y, C(0), n + 6);
  check(floordiv(x, 4), C(0), C(1));
  check(z, z, z);
  EXPECT_TRUE(EvalSet(x * y, dom).HasLowerBound());
  IntSet joined = Union({IntSet::Interval(C(0), C(3)), IntSet::Interval(C(2), C(9))});
  EXPECT_EQ(*as_const_int(joined.max()), 9);
  EXPECT_TRUE(Intersect({IntSet::Interval(C(0), C(3)), IntSet::Interval(C(5), C(9))}).IsNothing());
}

TEST_F(Arith, Deduce) {
  IntSet set = DeduceBound(x, x * 3 + y <= 20, {}, {{y, IntSet::Interval(C(0), C(5))}});
  EXPECT_EQ(*as_const_int(set.max()), 5);
  set = DeduceBound(x, floordiv(x, 4) >= 3, {}, {});
  EXPECT_EQ(*as_const_int(set.min()), 12);
  EXPECT_TRUE(DeduceBound(x, x * x < 5, {}, {}).IsNothing());
  EXPECT_TRUE(DeduceBound(x, x * 2 == 3, {}, {}).IsNothing());
}

TEST_F(Arith, LinearForms) {
  ffi::Array<PrimExpr> form = DetectLinearEquation(x * n + y * 2 - 3, {x, y});
  ASSERT_EQ(form.size(), 3u);
  EXPECT_TRUE(form[0].same_as(n) || analyzer->CanProveEqual(form[0], n));
  EXPECT_EQ(*as_const_int(form[1]), 2);
  EXPECT_EQ(*as_const_int(form[2]), -3);
  EXPECT_TRUE(DetectLinearEquation(x * x, {x}).empty());
  ffi::Array<PrimExpr> clip = DetectClipBound(x >= 3 && x * 2 < 20 && y <= n, {x, y});
  ASSERT_EQ(clip.size(), 4u);
  EXPECT_EQ(*as_const_int(clip[0]), 3);
  EXPECT_EQ(*as_const_int(clip[1]), 9);
  EXPECT_FALSE(clip[2].defined());
  EXPECT_TRUE(analyzer->CanProveEqual(clip[3], n));
}

TEST_F(Arith, DeepAndWideExpressions) {
  PrimExpr sum = x;
  for (int i = 0; i < 100000; ++i) sum = Add(sum, i % 2 == 0 ? PrimExpr(x) : PrimExpr(y));
  Same(sum, Add(Mul(x, C(50001)), Mul(y, C(50000))));
  PrimExpr wide = C(0);
  for (int i = 0; i < 20000; ++i) wide = Add(wide, Var("v" + std::to_string(i)));
  EXPECT_TRUE(analyzer->Simplify(wide).defined());
  PrimExpr deep = x;
  for (int i = 0; i < 100000; ++i) deep = FloorDiv(Max(deep, y), C(3));
  try {
    analyzer->Simplify(deep);
  } catch (const ffi::Error& error) {
    EXPECT_NE(std::string(error.message()).find("nested too deeply"), std::string::npos);
  }
}

}  // namespace
}  // namespace tvm::arith
